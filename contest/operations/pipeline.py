"""The list of all sweeps (periodic jobs), in pipeline order. Each is idempotent.

`./unanimous settle` uses this list and, where no broker is installed, the worker of `./unanimous work`, which runs it
after every commit of another process and every 15 seconds. With a broker, Celery's beat asks for each by its task.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

from django.db.models import Count, Max

from accounts import tasks as accounts
from adjudication import tasks as adjudication
from common import tasks as common
from common.audit.origin import audit_origin
from common.queues import Sweep
from common.times import to_the_second
from contest.operations import tasks as contest
from labeling import tasks as labeling
from monitoring import tasks as monitoring
from scoring import tasks as scoring
from scoring.enums import RunState
from scoring.models import Run, Trial

SWEEPS: tuple[Sweep, ...] = (
    labeling.lapse_leases,
    labeling.deal_panels,
    labeling.remove_drafts,
    adjudication.settle_panels,
    scoring.reclaim_runs,
    scoring.plan_runs,
    scoring.prepare_reruns,
    scoring.reclaim_trials,
    scoring.plan_trials,
    contest.record_breaks,
    contest.end_stakes,
    contest.settle_prizes,
    contest.publish_defenses,
    monitoring.watch_taskers,
    contest.update_cases,
    common.seal_audit_trail,
    scoring.work_runs,
    contest.write_messages,
    contest.send_letters,
    contest.release_weeks,
    monitoring.look_for_copies,
    scoring.look_for_copied_defenses,
    contest.look_for_near_duplicates,
    contest.look_for_same_persons,
    contest.find_conflicts,
    contest.make_leaderboards,
    contest.check_leaderboards,
    contest.check_ledger,
    common.check_audit_trail,
    accounts.purge_credentials,
)
QUEUES = tuple(dict.fromkeys(each.queue for each in SWEEPS))
_MAX_ROUNDS = 1_000


def run_sweep(sweep: Sweep) -> int:
    """Run one sweep; the audit trail names the sweep as the origin of its actions."""
    with audit_origin(f"sweep {sweep.name}"):
        return sweep.run()


def run_all_sweeps(begin: Callable[[str], object] = lambda _: None) -> Iterator[tuple[str, int]]:
    """Run every sweep, round after round, until a round has nothing left to do; yields each that did something.

    `begin` is called with the name of each sweep before it runs.
    """
    for _ in range(_MAX_ROUNDS):
        busy = False
        for sweep in SWEEPS:
            begin(sweep.name)
            if done := run_sweep(sweep):
                busy = True
                yield sweep.name, done
        if not busy:
            return


def is_locked_elsewhere(*, now: datetime) -> str:
    """Return in words the work that other scorers hold at `now`, which no sweep of this process can continue; empty for
    none."""
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
