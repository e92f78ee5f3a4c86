"""The sweeps in the order in which a picture meets them. Each is idempotent; running one twice changes nothing.

`./unanimous settle` uses this list and, where no broker is installed, the worker of `./unanimous work`, which runs it
after every commit of another process and every 15 seconds. With a broker, Celery's beat (config/celery.py) asks for the
same services, each by a task.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from random import SystemRandom

from django.db.models import Count, Max
from django.utils import timezone

from accounts.credentials import credentials_purge
from adjudication import services as adjudication
from common.audit.origin import acting_from
from common.audit.seals import chain_check_now_and_then, entries_seal
from common.domain_clock import domain_now
from common.times import to_the_second
from contest.attacks.near import near_duplicates_find
from contest.board.conflicts import conflicts_find
from contest.board.tending import cases_tend_now_and_then
from contest.core import breaks
from contest.defenses.entries import defenses_publish
from contest.defenses.stake_ends import stakes_end
from contest.ledger.nightly_check import ledger_check_now_and_then
from contest.notifications.sweeps import messages_tell_now_and_then
from contest.outbox.sending import messages_send
from contest.prizes.sweeps import prizes_settle
from contest.record.leaderboard import snapshots
from contest.releases import announcements, builds
from contest.teams.same_person import same_persons_find_now_and_then
from labeling import leases as labeling
from labeling.dealing import panels_deal
from monitoring.check_taskers import watch_now_and_then
from monitoring.links import copies_look_now_and_then
from policy.selectors import policy_in_force
from scoring import services as scoring
from scoring.enums import RunState
from scoring.models import Run, Trial
from scoring.rerun_preparation import reruns_prepare
from scoring.scorers import this_scorer
from scoring.trials import services as trials
from scoring.trials.copies import copies_flag

Sweep = Callable[[], int]


def lapse_leases() -> int:
    """End the leases that ran out (R8)."""
    return labeling.leases_lapse(now=domain_now())


def deal_panels() -> int:
    """Deal panels to the pictures that are due (R7)."""
    now = domain_now()
    return panels_deal(policy=policy_in_force(now).policy, now=now)


def settle_panels() -> int:
    """Rule on full panels (R13-R16)."""
    return adjudication.panels_settle(policy_at=policy_in_force, now=domain_now())


def reclaim_runs() -> int:
    """Give runs whose worker is gone back to the queue."""
    return scoring.runs_reclaim(now=domain_now())


def plan_runs() -> int:
    """Plan the official runs of valid pictures (R29)."""
    now = domain_now()
    return scoring.runs_plan(policy=policy_in_force(now).policy, now=now, rng=SystemRandom())


def prepare_reruns() -> int:
    """Plan the runs of re-runs that were asked for."""
    return reruns_prepare(now=domain_now(), rng=SystemRandom())


def reclaim_trials() -> int:
    """Give trials whose worker is gone back to the queue."""
    return trials.trials_reclaim(now=domain_now())


def plan_trials() -> int:
    """Queue the trials that defenses before their publication have come to (R31)."""
    now = domain_now()
    return trials.trials_plan(policy=policy_in_force(now).policy, now=now, rng=SystemRandom())


def score() -> int:
    """Work off one run or trial, if one waits."""
    return int(this_scorer().work_one())


def record_breaks() -> int:
    """Turn confident mistakes into breaks (R29)."""
    return breaks.breaks_record(now=domain_now())


def settle_prizes() -> int:
    """Post what the facts make due and was not posted (R35, R36); a stake that cannot be settled holds up no award."""
    return prizes_settle(now=domain_now())


def check_ledger() -> int:
    """Add up the ledger, once a day; returns how many things are wrong (R34)."""
    return ledger_check_now_and_then(now=domain_now())


def publish_defenses() -> int:
    """Publish the defenses that are eligible (R32)."""
    now = domain_now()
    return defenses_publish(policy=policy_in_force(now).policy, now=now)


def end_stakes() -> int:
    """Let stakes end with the first break, and come back where its ruling was overruled (R22, R36)."""
    return stakes_end(now=domain_now())


def release_weeks() -> int:
    """Publish the ended weeks that have nothing open any more, and tell who asked to be told (R39)."""
    return builds.due_weeks_release(clock=domain_now) + announcements.letters_send(clock=domain_now)


def tell_messages() -> int:
    """Write down what people are to be told because of facts (R18, R26)."""
    return messages_tell_now_and_then(now=domain_now())


def send_letters() -> int:
    """Send the messages that people want by e-mail, at once or once a day."""
    return messages_send(clock=domain_now)


def tend_cases() -> int:
    """Follow the facts with the board's cases: closed panels, parties, quorum, clocks (R19, R21)."""
    return cases_tend_now_and_then(now=domain_now())


def find_conflicts() -> int:
    """Record what ties members of the board to teams (R21)."""
    return conflicts_find(now=domain_now())


def make_leaderboards() -> int:
    """Make the tables of the leaderboard that are missing or no longer fresh."""
    return snapshots.boards_make_now_and_then(now=domain_now())


def check_leaderboards() -> int:
    """Compare the tables that are shown with the facts, once a day."""
    return snapshots.boards_check_nightly(now=domain_now())


def purge_credentials() -> int:
    """Delete the sessions and tokens that are over."""
    return credentials_purge(now=timezone.now())


def seal_audit_trail() -> int:
    """Seal what was added to the audit trail."""
    return entries_seal()


def check_audit_trail() -> int:
    """Check the audit trail, once a day; returns whether something is wrong."""
    return chain_check_now_and_then(now=domain_now())


def watch_taskers() -> int:
    """Let the rules of monitoring look at who labels, and at the gold pictures (R6)."""
    now = domain_now()
    return watch_now_and_then(policy=policy_in_force(now).policy, now=now)


def look_for_copies() -> int:
    """Link the taskers whose answers are too much alike (R6)."""
    return copies_look_now_and_then(now=domain_now())


def look_for_copied_defenses() -> int:
    """Flag the defenses before their publication that look like another one (R31)."""
    return copies_flag(now=domain_now())


def look_for_same_persons() -> int:
    """Record the accounts that look like one person, for organizers (R25)."""
    return same_persons_find_now_and_then(now=domain_now())


def look_for_near_duplicates() -> int:
    """Flag the attacks whose pictures look like an earlier one (R26)."""
    now = domain_now()
    return near_duplicates_find(within=policy_in_force(now).policy.near_duplicate_bits, now=now)


QUEUES: dict[str, dict[str, Sweep]] = {
    "quick": {
        "leases lapsed": lapse_leases,
        "panels dealt": deal_panels,
        "rulings": settle_panels,
        "runs reclaimed": reclaim_runs,
        "runs planned": plan_runs,
        "re-runs prepared": prepare_reruns,
        "trials reclaimed": reclaim_trials,
        "trials planned": plan_trials,
        "runs assessed": record_breaks,
        "stakes ended": end_stakes,
        "prizes settled": settle_prizes,
        "defenses published": publish_defenses,
        "taskers watched": watch_taskers,
        "cases tended": tend_cases,
        "audit trail sealed": seal_audit_trail,
    },
    "gpu": {"runs scored": score},
    "slow": {
        "messages told": tell_messages,
        "letters sent": send_letters,
        "releases": release_weeks,
        "copies found": look_for_copies,
        "copied defenses": look_for_copied_defenses,
        "attacks hashed": look_for_near_duplicates,
        "same persons found": look_for_same_persons,
        "conflicts found": find_conflicts,
        "leaderboards made": make_leaderboards,
        "leaderboards checked": check_leaderboards,
        "ledger checked": check_ledger,
        "audit trail checked": check_audit_trail,
        "credentials deleted": purge_credentials,
    },
}
_MOST_ROUNDS = 1_000


def swept(name: str, sweep: Sweep) -> int:
    """Run one sweep; the audit trail says of what it does that this sweep did it."""
    with acting_from(f"sweep {name}"):
        return sweep()


def settle(begin: Callable[[str], object] = lambda _: None) -> Iterator[tuple[str, int]]:
    """Run every sweep, round after round, until a round has nothing left to do; yields each that did something.

    `begin` is called with the name of each sweep before it runs.
    """
    for _ in range(_MOST_ROUNDS):
        busy = False
        for sweeps in QUEUES.values():
            for name, sweep in sweeps.items():
                begin(name)
                if done := swept(name, sweep):
                    busy = True
                    yield name, done
        if not busy:
            return


def held_elsewhere(*, now: datetime) -> str:
    """Return in words what other scorers hold at `now`, which no sweep of this process can go on with; empty for
    nothing."""
    parts, ends = [], []
    for model, one, several in ((Run, "run", "runs"), (Trial, "trial", "trials")):
        held = model._default_manager.filter(state=RunState.RUNNING, lease_until__gt=now)
        found = held.aggregate(count=Count("pk"), until=Max("lease_until"))
        if found["count"]:
            parts.append(f"{found['count']:,} {one if found['count'] == 1 else several}")
            ends.append(found["until"])
    if not parts:
        return ""
    until = to_the_second(max(ends), "UTC")
    held_words = f"held by another scorer until {until} at the latest, unless it goes on"
    return f"{' and '.join(parts)} {held_words}. What follows from them waits: settle again then."
