"""Carries out a motion of the board: calls the service for its kind, with a mandate (R21).

A motion stores row numbers and plain values (`motions` says which, by kind); this module makes the call from them.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from common.errors import Conflict
from contest.core.decisions import MotionMandate, rows_named
from contest.core.enums import AccountKind, DecisionKind
from contest.core.models import Award, Case, Stake, Team
from contest.defenses import staking as stakes
from contest.defenses.staking import batch_check, return_decide, stake_batch
from contest.ledger import withholding
from contest.ledger.dry_run import LEDGER, DryRun, Ledger
from contest.ledger.models import Account
from contest.ledger.withholding import money_return, money_withhold
from contest.prizes import forfeits
from contest.prizes.awards import award_check, award_give, ending_check, race_close
from contest.prizes.forfeits import award_forfeit, award_withhold
from contest.teams.entitlements import entitlement_grant, grant_check, grant_revoke, revoke_check
from policy.selectors import policy_in_force
from scoring.models import Defense

_Carrier = Callable[[MotionMandate, datetime], object]


@transaction.atomic
def carry_out(case: Case, *, by: User, now: datetime) -> None:
    """Carry out an open motion; `by` is the member who confirms the count.

    Raises the errors of the service of its kind if it cannot be carried out: then nothing is done.
    """
    CARRIERS[DecisionKind(case.motion)](MotionMandate(case, by), now)


def dry_run(case: Case, *, by: User, now: datetime) -> None:
    """Carry out a motion and roll it back: raises the same errors at once if it could not be carried out now."""
    with transaction.atomic():
        carry_out(case, by=by, now=now)
        transaction.set_rollback(True)


def _stake(by: MotionMandate, now: datetime) -> None:
    defenses = list(rows_named(by.motion.subject, Defense).order_by("pk"))
    stake_batch(defenses, by.motion.details["criteria"], by.motion.reason, by=by, now=now)


def _return(by: MotionMandate, now: datetime) -> None:
    """Give withheld money back, or answer a team that wants its defense back."""
    motion = by.motion
    if "defense" in motion.subject:
        return_decide(_stake_of(motion), granted=motion.details["granted"], reason=motion.reason, by=by, now=now)
    else:
        of, team = _money(motion, LEDGER)
        money_return(of=of, team=team, award=_award_of(motion), reason=motion.reason, by=by, now=now)


def _stake_of(motion: Case) -> Stake:
    return rows_named(motion.subject, Stake).select_related("defense").get()


def _award(by: MotionMandate, now: datetime) -> None:
    motion = by.motion
    told = {"statement": motion.details["statement"], "reason": motion.reason}
    given = award_give(stake=_winner(motion), **told, policy=policy_in_force(now).policy, by=by, now=now)
    _refuse_other_group(motion, [each.stake_id for each in given])


def _winner(motion: Case) -> Stake:
    return Stake.objects.select_related("defense").get(pk=motion.details["stake"])


def _refuse_other_group(motion: Case, stakes: Iterable[int]) -> None:
    if sorted(stakes) != motion.subject["stake"]:
        raise Conflict(
            "Nothing was awarded: others share the prize now than when this was moved. Move the award again.",
            "others_share",
        )


def _withhold(by: MotionMandate, now: datetime) -> None:
    motion = by.motion
    if award := _award_of(motion):
        award_withhold(award=award, reason=motion.reason, by=by, now=now)
    else:
        of, team = _money(motion, LEDGER)
        money_withhold(of=of, team=team, cents=motion.details["cents"], reason=motion.reason, by=by, now=now)


def _awards_of(motion: Case) -> QuerySet[Award]:
    return rows_named(motion.subject, Award).select_related("decision", "stake__defense__entry__team")


def _award_of(motion: Case) -> Award | None:
    """Return the award that a motion about money names, if it names one."""
    return _awards_of(motion).get() if "award" in motion.subject else None


def _money(motion: Case, book: Ledger) -> tuple[Account, Team | None]:
    """Return the account that a motion about money names, of a stake or of a team, and the team whose share of the
    stake is meant. With a dry run no account is made: a missing one counts as empty."""
    team = rows_named(motion.subject, Team).get()
    if "stake" in motion.subject:
        return book.account(AccountKind.STAKE, stake=_stake_of(motion)), team
    return book.account(AccountKind.TEAM, team=team), None


CARRIERS: Mapping[DecisionKind, _Carrier] = {
    DecisionKind.STAKE: _stake,
    DecisionKind.GRANT: lambda by, now: entitlement_grant(
        team=rows_named(by.motion.subject, Team).get(), reason=by.motion.reason, by=by, now=now
    ),
    DecisionKind.REVOKE: lambda by, now: grant_revoke(
        number=by.motion.details["grant"], reason=by.motion.reason, by=by, now=now
    ),
    DecisionKind.WITHHOLD: _withhold,
    DecisionKind.AWARD: _award,
    DecisionKind.RETURN: _return,
    DecisionKind.END: lambda by, now: race_close(stake=_stake_of(by.motion), reason=by.motion.reason, by=by, now=now),
    DecisionKind.FORFEIT: lambda by, now: award_forfeit(
        award=_awards_of(by.motion).get(), reason=by.motion.reason, by=by, now=now
    ),
}


# What would be refused ------------------------------------------------------------------------------------------------


def motion_check(motion: Case, *, now: datetime) -> None:
    """Raise the error that carrying out an open motion would raise now, for display on a page: nothing is locked or
    written. `carry_out` checks the same again under its locks."""
    CHECKS[DecisionKind(motion.motion)](motion, now)


def _check_return(motion: Case, now: datetime) -> None:
    if "defense" in motion.subject:
        stakes.require_return_request(_stake_of(motion))
    else:
        withholding.withheld_to_return(*_money(motion, DryRun()), _award_of(motion))


def _check_award(motion: Case, now: datetime) -> None:
    group = award_check(_winner(motion), policy=policy_in_force(now).policy, now=now)
    _refuse_other_group(motion, [each.pk for each in group])


def _check_withhold(motion: Case, now: datetime) -> None:
    if award := _award_of(motion):
        forfeits.amounts_to_withhold(award)
    else:
        withholding.require_enough_to_withhold(_money(motion, DryRun())[0], motion.details["cents"])


CHECKS: Mapping[DecisionKind, Callable[[Case, datetime], object]] = {
    DecisionKind.STAKE: lambda motion, now: batch_check(
        list(rows_named(motion.subject, Defense).order_by("pk")), now=now
    ),
    DecisionKind.GRANT: lambda motion, now: grant_check(rows_named(motion.subject, Team).get(), now=now),
    DecisionKind.REVOKE: lambda motion, _: revoke_check(motion.details["grant"]),
    DecisionKind.WITHHOLD: _check_withhold,
    DecisionKind.AWARD: _check_award,
    DecisionKind.RETURN: _check_return,
    DecisionKind.END: lambda motion, now: ending_check(_stake_of(motion), now=now),
    DecisionKind.FORFEIT: lambda motion, _: forfeits.forfeit_check(_awards_of(motion).get()),
}
