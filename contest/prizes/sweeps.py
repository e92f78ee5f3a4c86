"""The sweep that settles stakes and awards (R22, R35-R37).

Stakes and awards are settled in one transaction, until nothing is left to move: what a team wins by one sets off what
it owes of another one, and no payment comes between the two.
"""

from collections.abc import Sequence
from datetime import datetime

import structlog
from django.db import OperationalError, transaction

from common.database.deadlocks import retry_on_deadlock
from contest.core.breaks import SupposedRuling
from contest.core.models import BoardDecision, Stake
from contest.core.settled_weeks import Weeks
from contest.defenses.stake_ends import lock_stakes
from contest.ledger.dry_run import LEDGER, Ledger
from contest.ledger.models import Account
from contest.ledger.services import lock_accounts
from contest.prizes.awards import award_change, change_post, decisions_on_awards, may_post
from contest.prizes.prize_facts import begun_stakes, stakes_with_breaks
from contest.prizes.settlement import MOST_ROUNDS, StakeSettlement, stakes_to_settle

log = structlog.get_logger(__name__)


@retry_on_deadlock
def prizes_settle(*, now: datetime) -> int:
    """Post what is due and not posted; return how many stakes and awards changed. Twice changes nothing.

    Shares of a week are posted when it is settled. What cannot be settled holds up nothing else: all errors are raised
    together at the end, as one ExceptionGroup.
    """
    if not _is_due(now):
        return 0
    with transaction.atomic():
        lock_stakes(Stake.objects.filter(staked_at__isnull=False).values_list("pk", flat=True))
        lock_accounts(Account.objects.all())
        done = Settlement(LEDGER, begun_stakes(), weeks=Weeks(now), now=now)
        done.settle()
    if done.failed:
        raise ExceptionGroup(f"{len(done.failed)} stakes or awards were not settled", done.failed)
    return done.changed


def _is_due(now: datetime) -> bool:
    """Say whether anything is to be moved: this locks nothing, and mostly nothing is."""
    weeks = Weeks(now)
    return stakes_to_settle(weeks) or any(_award_is_due(each, weeks) for each in decisions_on_awards())


def _award_is_due(decision: BoardDecision, weeks: Weeks) -> bool:
    try:
        return may_post(award_change(decision), weeks)
    except OperationalError:
        raise
    except Exception:
        # Settling says what is wrong with this award, after the money of all others was moved.
        return True


class Settlement:
    """All stakes and awards, settled together: in the ledger with everything held, or on paper, for a ruling that is
    only supposed."""

    def __init__(
        self,
        book: Ledger,
        stakes: Sequence[Stake],
        *,
        weeks: Weeks,
        now: datetime,
        supposed: SupposedRuling | None = None,
    ) -> None:
        self._book, self._weeks, self._now, self._supposed = book, weeks, now, supposed
        self._stakes = StakeSettlement(book, stakes_with_breaks(stakes, supposed), weeks=weeks, now=now)
        self._awards: set[int] = set()
        self._awards_failed: dict[int, Exception] = {}

    @property
    def changed(self) -> int:
        """Return how many stakes and awards have new entries."""
        return len(self._stakes.changed) + len(self._awards)

    @property
    def failed(self) -> list[Exception]:
        """Return why some could not be settled: nothing was posted for those."""
        return [*self._stakes.failed.values(), *self._awards_failed.values()]

    @property
    def failed_stakes(self) -> set[int]:
        """Return the numbers of the stakes that could not be settled."""
        return set(self._stakes.failed)

    @property
    def failed_awards(self) -> set[int]:
        """Return the numbers of the decisions on awards that could not be settled."""
        return set(self._awards_failed)

    def settle(self) -> None:
        """Settle the stakes, then the awards, again and again until no award changes."""
        for _ in range(MOST_ROUNDS):
            self._stakes.settle()
            changed = [self._try(each) for each in decisions_on_awards() if each.pk not in self._awards_failed]
            if not any(changed):
                return
        # Nothing is kept: what moves for ever would fill a ledger that forgets nothing.
        raise RuntimeError(f"The money of awards still moves after {MOST_ROUNDS} rounds.")

    def _try(self, decision: BoardDecision) -> bool:
        try:
            with self._book.attempt():
                change = award_change(decision, book=self._book, supposed=self._supposed)
                if not may_post(change, self._weeks):
                    return False
                change_post(change, self._book, now=self._now)
        except OperationalError:  # about the database: a deadlock, for one, is for the whole transaction to repeat
            raise
        except Exception as error:  # whatever it is, it is about this award alone, which is undone
            log.exception("award_not_settled", decision=decision.pk)
            self._awards_failed[decision.pk] = error
            return False
        self._awards.add(decision.pk)
        return True
