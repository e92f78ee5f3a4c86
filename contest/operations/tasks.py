"""Sweeps of the contest, as Celery carries them."""

from common.queues import quick_task, slow_task
from contest.operations import pipeline


@quick_task
def record_breaks() -> None:
    """Turn confident mistakes into breaks."""
    pipeline.record_breaks()


@quick_task
def publish_defenses() -> None:
    """Publish the defenses that are eligible."""
    pipeline.publish_defenses()


@quick_task
def end_stakes() -> None:
    """Let stakes end with the first break, or come back into force."""
    pipeline.end_stakes()


@quick_task
def settle_prizes() -> None:
    """Post the shares and corrections that the facts ask for."""
    pipeline.settle_prizes()


@quick_task
def tend_cases() -> None:
    """Follow the facts with the board's cases."""
    pipeline.tend_cases()


@slow_task
def find_conflicts() -> None:
    """Record what ties members of the board to teams."""
    pipeline.find_conflicts()


@slow_task
def check_ledger() -> None:
    """Add up the ledger, once a day."""
    pipeline.check_ledger()


@slow_task
def tell_messages() -> None:
    """Write down what people are to be told because of facts."""
    pipeline.tell_messages()


@slow_task
def send_letters() -> None:
    """Send the messages that people want by e-mail."""
    pipeline.send_letters()


@slow_task
def release_due_weeks() -> None:
    """Publish the ended weeks that are settled."""
    pipeline.release_weeks()


@slow_task
def make_leaderboards() -> None:
    """Make the tables of the leaderboard that are missing or no longer fresh."""
    pipeline.make_leaderboards()


@slow_task
def check_leaderboards() -> None:
    """Compare the leaderboard that is shown with the facts, once a day."""
    pipeline.check_leaderboards()


@slow_task
def look_for_same_persons() -> None:
    """Record the accounts that look like one person."""
    pipeline.look_for_same_persons()


@slow_task
def look_for_near_duplicates() -> None:
    """Flag the attacks whose pictures look like an earlier one."""
    pipeline.look_for_near_duplicates()
