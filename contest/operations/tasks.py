"""Celery sweeps (periodic jobs) of the contest."""

from common.domain_clock import domain_now
from common.queues import sweep
from contest.attacks.near_duplicates import near_duplicates_find
from contest.board.case_sweep import cases_update_periodically
from contest.board.conflicts import conflicts_find
from contest.core import breaks
from contest.defenses.entries import defenses_publish
from contest.defenses.stake_ends import stakes_end
from contest.ledger.services import ledger_check_periodically
from contest.notifications.sweeps import notify_of_facts_periodically
from contest.outbox.sending import messages_send
from contest.prizes.sweeps import prizes_settle
from contest.record.leaderboard import snapshots
from contest.releases import announcements, builds
from contest.teams.same_person import same_persons_find_periodically
from policy.selectors import policy_in_force


@sweep("runs assessed", every=5.0)
def record_breaks() -> int:
    """Turn confident mistakes into breaks (R29)."""
    return breaks.breaks_record(now=domain_now())


@sweep("stakes ended", every=5.0)
def end_stakes() -> int:
    """End stakes at their first break; restore those whose break was overruled (R22, R36)."""
    return stakes_end(now=domain_now())


@sweep("prizes settled", every=30.0)
def settle_prizes() -> int:
    """Post the prizes and refunds that are due (R35, R36)."""
    return prizes_settle(now=domain_now())


@sweep("defenses published", every=30.0)
def publish_defenses() -> int:
    """Publish the defenses that are eligible (R32)."""
    now = domain_now()
    return defenses_publish(policy=policy_in_force(now).policy, now=now)


@sweep("cases updated", every=15.0)
def update_cases() -> int:
    """Update the board's cases: closed panels, parties, quorum, deadlines (R19, R21)."""
    return cases_update_periodically(now=domain_now())


@sweep("messages written", queue="slow", every=300.0)
def write_messages() -> int:
    """Write the messages about verdicts, breaks, cases and deadlines (R18, R26)."""
    return notify_of_facts_periodically(now=domain_now())


@sweep("letters sent", queue="slow", every=15.0)
def send_letters() -> int:
    """Send messages by e-mail, at once or once a day."""
    return messages_send(clock=domain_now)


@sweep("releases", queue="slow", every=60.0)
def release_weeks() -> int:
    """Publish the ended weeks of which no picture waits for a ruling or a run, and write to the subscribers (R39)."""
    return builds.due_weeks_release(clock=domain_now) + announcements.letters_send(clock=domain_now)


@sweep("attacks hashed", queue="slow", every=60.0)
def look_for_near_duplicates() -> int:
    """Flag the attacks whose pictures look like an earlier one (R26)."""
    now = domain_now()
    return near_duplicates_find(within=policy_in_force(now).policy.near_duplicate_bits, now=now)


@sweep("same persons found", queue="slow", every=3600.0)
def look_for_same_persons() -> int:
    """Record the accounts that look like one person, for organizers (R25)."""
    return same_persons_find_periodically(now=domain_now())


@sweep("conflicts found", queue="slow", every=300.0)
def find_conflicts() -> int:
    """Record which members of the board have ties to teams (R21)."""
    return conflicts_find(now=domain_now())


@sweep("leaderboards made", queue="slow", every=60.0)
def make_leaderboards() -> int:
    """Make the tables of the leaderboard that are missing or no longer fresh."""
    return snapshots.leaderboards_make_periodically(now=domain_now())


@sweep("leaderboards checked", queue="slow", every=600.0)
def check_leaderboards() -> int:
    """Compare the tables that are shown with the facts, once a day."""
    return snapshots.leaderboards_check_nightly(now=domain_now())


@sweep("ledger checked", queue="slow", every=600.0)
def check_ledger() -> int:
    """Check once a day that the ledger adds up (R34)."""
    return ledger_check_periodically(now=domain_now())
