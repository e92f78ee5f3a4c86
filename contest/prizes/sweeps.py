"""The sweep that settles stakes and awards (R22, R35-R37).

Stakes and awards are settled in one transaction, until nothing is left to move: what a team wins by one pays what it
owes for another, and no payment to the team can come between the two.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.db import OperationalError, transaction

from common.database.deadlocks import retry_on_deadlock
from contest.core.breaks import SupposedRuling
from contest.core.models import BoardDecision, Stake
from contest.core.settled_weeks import Weeks
from contest.defenses.stake_ends import lock_stakes
from contest.ledger.dry_run import LEDGER, Attempts, Ledger
from contest.ledger.models import Account
from contest.ledger.services import lock_accounts
from contest.prizes.awards import award_change, change_post, decisions_on_awards, may_post
from contest.prizes.prize_facts import begun_stakes, stakes_with_breaks
from contest.prizes.settlement import MAX_ROUNDS, StakeSettlement, stakes_to_settle


@retry_on_deadlock
def prizes_settle(*, now: datetime) -> int:
    """Post what is due and not posted; return how many stakes and awards changed. Idempotent.

    Shares of a week are posted when it is settled. What cannot be settled does not stop the rest: all errors are
    raised together at the end, as one ExceptionGroup.
    """
    if not _is_due(now):
        return 0
    with transaction.atomic():
        lock_stakes(Stake.objects.filter(staked_at__isnull=False).values_list("pk", flat=True))
        lock_accounts(Account.objects.all())
        done = Settlement(LEDGER, begun_stakes(), weeks=Weeks(now), now=now)
        done.settle()
    if failed := [*done.stakes.failed.values(), *done.failed.values()]:
        raise ExceptionGroup(f"{len(failed)} stakes or awards were not settled", failed)
    return len(done.stakes.changed) + len(done.changed)


def _is_due(now: datetime) -> bool:
    """Say whether anything is to be moved, which is rare: checked without locks."""
    weeks = Weeks(now)
    return stakes_to_settle(weeks) or any(_award_is_due(each, weeks) for each in decisions_on_awards())


def _award_is_due(decision: BoardDecision, weeks: Weeks) -> bool:
    try:
        return may_post(award_change(decision), weeks)
    except OperationalError:
        raise
    except Exception:
        # Settling raises the error of this award, after it moved the money of all others.
        return True


class Settlement(Attempts):
    """All stakes and awards, settled together: in the ledger with everything locked, or in a dry run, for a
    hypothetical ruling. `changed` and `failed` are of the decisions on awards; `stakes` has those of the stakes."""

    def __init__(
        self,
        book: Ledger,
        stakes: Sequence[Stake],
        *,
        weeks: Weeks,
        now: datetime,
        supposed: SupposedRuling | None = None,
    ) -> None:
        super().__init__(book, "award_not_settled", "decision")
        self._weeks, self._now, self._supposed = weeks, now, supposed
        self.stakes = StakeSettlement(book, stakes_with_breaks(stakes, supposed), weeks=weeks, now=now)

    def settle(self) -> None:
        """Settle the stakes, then the awards, repeatedly until no award changes."""
        for _ in range(MAX_ROUNDS):
            self.stakes.settle()
            awards = [each for each in decisions_on_awards() if each.pk not in self.failed]
            changed = [self.settle_one(each.pk, partial(self._posted, each)) for each in awards]
            if not any(changed):
                return
        # Everything is rolled back: endless movements would fill the ledger, which never deletes entries.
        raise RuntimeError(f"The money of awards still moves after {MAX_ROUNDS} rounds.")

    def _posted(self, decision: BoardDecision) -> bool:
        change = award_change(decision, book=self.book, supposed=self._supposed)
        if not may_post(change, self._weeks):
            return False
        change_post(change, self.book, now=self._now)
        return True
