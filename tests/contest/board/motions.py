"""One of each kind of motion: how it is moved, what its decision says, how one sees that it is done, and what makes it
impossible meanwhile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User

from contest.board import motions
from contest.core.enums import AccountKind
from contest.core.models import Award, Case, Stake, Team
from contest.defenses.selectors import open_stake_of
from contest.ledger.models import Account
from contest.ledger.services import ledger_account, move
from contest.ledger.withholding import forfeited_of_award, money_return, money_withhold, withheld_amounts
from contest.prizes.awards import award_give
from contest.prizes.forfeits import award_forfeit, award_withhold, withholdable
from contest.teams.entitlements import entitlement_grant, grant_revoke
from contest.teams.models import Association, Entitlement
from contest.teams.selectors import is_entitled
from policy.numbers import Policy
from tests.contest.ledger import cast
from tests.contest.ledger.cast import BEFORE, MONDAY, balance
from tests.contest.prizes.test_awards import run_again
from tests.factories import mandate

NOW = MONDAY + timedelta(days=120)
GIFT = 1_000_000
HALF = GIFT // 2
WON = 700
REASON = "We looked at it together, and it is fair."


@dataclass(frozen=True)
class Motion:
    """`team` is whose affair it is; `subject` and `details` are those of the decision that is made."""

    kind: str
    team: Team
    move: Callable[[User], Case]
    done: Callable[[], bool]
    spoil: Callable[[], object]
    refused: str
    subject: Mapping[str, list[int]]
    details: Mapping[str, Any]


Make = Callable[[User, User], Motion]


def _makers(olga: User) -> Team:
    cast.deposit(GIFT, olga)
    return cast.team("makers")


def _paid(team: Team) -> Account:
    """An account on which a prize lies."""
    of = ledger_account(AccountKind.TEAM, team=team)
    move(ledger_account(AccountKind.ATTACKERS), of, WON, rule="R35", why="A prize.", causes={}, now=MONDAY)
    return of


def staking(rita: User, olga: User) -> Motion:
    """A published defense is to be staked, and breaks."""
    team = _makers(olga)
    defense = cast.defense("net", team)
    return Motion(
        kind="stake",
        team=team,
        move=lambda by: motions.stakes_move([defense], "open source", REASON, by=by, now=NOW),
        done=lambda: open_stake_of(defense) is not None and balance(AccountKind.ATTACKERS) == HALF - 100_000,
        spoil=lambda: cast.broken(defense, cast.attack(cast.team("red"))),
        refused="broken",
        subject={"defense": [defense.pk]},
        details={"criteria": "open source"},
    )


def _returning(olga: User, granted: bool, done: Callable[[Stake], bool]) -> Motion:
    team = _makers(olga)
    stake = cast.staked(cast.defense("net", team))
    Stake.objects.update(return_asked_at=MONDAY, return_reason="We erred.")
    return Motion(
        kind="return",
        team=team,
        move=lambda by: motions.answer_move(stake, granted=granted, reason=REASON, by=by, now=NOW),
        done=lambda: done(Stake.objects.get(pk=stake.pk)),
        spoil=lambda: Stake.objects.update(return_asked_at=None, return_reason=""),
        refused="not_requested",
        subject={"stake": [stake.pk], "defense": [stake.defense_id]},
        details={"granted": granted},
    )


def returning(rita: User, olga: User) -> Motion:
    """A team is to have its defense back."""
    return _returning(olga, True, lambda stake: stake.end == "withdrawn" and balance(AccountKind.ATTACKERS) == HALF)


def keeping(rita: User, olga: User) -> Motion:
    """A team is to have its defense not back."""
    return _returning(olga, False, lambda stake: stake.ended_at is None and stake.return_asked_at is None)


def ending(rita: User, olga: User) -> Motion:
    """A stake that can never win is to be ended."""
    team = _makers(olga)
    stake = cast.staked(cast.defense("net", team))
    tied = Association.objects.create(team=team, reason="x", since=BEFORE, declared_at=BEFORE)
    return Motion(
        kind="end",
        team=team,
        move=lambda by: motions.end_move(stake, reason=REASON, by=by, now=NOW),
        done=lambda: Stake.objects.get(pk=stake.pk).end == "withdrawn",
        spoil=lambda: Association.objects.filter(pk=tied.pk).update(until=BEFORE + timedelta(1)),
        refused="may_win",
        subject={"stake": [stake.pk], "defense": [stake.defense_id]},
        details={"end": "withdrawn"},
    )


def granting(rita: User, olga: User) -> Motion:
    """A team is to attack without a paper."""
    team = cast.team("lab")
    return Motion(
        kind="grant",
        team=team,
        move=lambda by: motions.grant_move(team, reason=REASON, by=by, now=NOW),
        done=lambda: is_entitled(team, NOW),
        spoil=lambda: entitlement_grant(team=team, reason="x", by=mandate("grant", rita, NOW), now=NOW),
        refused="entitled_already",
        subject={"team": [team.pk]},
        details={},
    )


def revoking(rita: User, olga: User) -> Motion:
    """A grant is to be taken back."""
    team = cast.team("lab")
    grant = entitlement_grant(team=team, reason="A lab.", by=mandate("grant", rita, MONDAY), now=MONDAY)
    return Motion(
        kind="revoke",
        team=team,
        move=lambda by: motions.revoke_move(grant, reason=REASON, by=by, now=NOW),
        done=lambda: Entitlement.objects.get(pk=grant.pk).state == "revoked",
        spoil=lambda: grant_revoke(number=grant.pk, reason="x", by=mandate("revoke", rita, NOW), now=NOW),
        refused="not_accepted",
        subject={"team": [team.pk]},
        details={},
    )


def awarding(rita: User, olga: User) -> Motion:
    """A defense that stood is to have the prize, and a rejected picture turns up that nobody looked at."""
    team = _makers(olga)
    stake = cast.staked(cast.defense("net", team))
    run_again(stake)
    return Motion(
        kind="award",
        team=team,
        move=lambda by: motions.award_move(stake, statement="It stood.", reason=REASON, by=by, now=NOW),
        done=lambda: Award.objects.filter(stake=stake).exists() and balance(team) == HALF,
        spoil=lambda: cast.ruled(cast.attack(cast.team("red")).image, ""),
        refused="not_yet",
        subject={"stake": [stake.pk], "defense": [stake.defense_id]},
        details={"statement": "It stood."},
    )


def withholding(rita: User, olga: User) -> Motion:
    """Money on a team's account is to be taken aside, and is paid out meanwhile."""
    team = _makers(olga)
    of = _paid(team)
    return Motion(
        kind="withhold",
        team=team,
        move=lambda by: motions.withhold_move(of, 500, reason=REASON, by=by, now=NOW),
        done=lambda: [each.cents for each in withheld_amounts()] == [500] and balance(team) == WON - 500,
        spoil=lambda: cast.paid_out(team, WON, now=NOW),
        refused="not_enough",
        subject={"team": [team.pk]},
        details={"cents": 500},
    )


def withholding_a_share(rita: User, olga: User) -> Motion:
    """The share of one team of a stake is to be taken aside; the stake is another one's."""
    owner, team = _makers(olga), cast.team("red")
    stake = cast.staked(cast.defense("net", owner))
    of = ledger_account(AccountKind.STAKE, stake=stake)
    return Motion(
        kind="withhold",
        team=team,
        move=lambda by: motions.withhold_move(of, 500, team=team, reason=REASON, by=by, now=NOW),
        done=lambda: [(each.team, each.cents) for each in withheld_amounts()] == [(team, 500)],
        spoil=lambda: move(
            of, ledger_account(AccountKind.ATTACKERS), cast.PRIZE - 499, rule="R36", why="x", causes={}, now=NOW
        ),
        refused="not_enough",
        subject={"stake": [stake.pk], "team": [team.pk]},
        details={"cents": 500},
    )


def giving_back(rita: User, olga: User) -> Motion:
    """What is withheld of a team is to be given back."""
    team = _makers(olga)
    of = _paid(team)
    money_withhold(of=of, cents=500, reason="It cheated.", by=mandate("withhold", rita, NOW), now=NOW)
    return Motion(
        kind="return",
        team=team,
        move=lambda by: motions.return_move(of, reason=REASON, by=by, now=NOW),
        done=lambda: withheld_amounts() == [] and balance(team) == WON,
        spoil=lambda: money_return(of=of, reason="x", by=mandate("return", rita, NOW), now=NOW),
        refused="nothing_withheld",
        subject={"team": [team.pk]},
        details={"cents": 500},
    )


def _award(rita: User, team: Team) -> Award:
    stake = cast.staked(cast.defense("net", team))
    run_again(stake)
    by = mandate("award", rita, NOW)
    return award_give(stake=stake, statement="It stood.", reason="Met.", policy=Policy(), by=by, now=NOW)[0]


def _of_award(award: Award, kind: str, **parts: Any) -> Motion:
    """A motion on the half that an award gave, with the parts that are its own."""
    team = award.stake.defense.entry.team
    details = {"cents": HALF, "had": HALF} if kind == "forfeit" else {"cents": HALF}
    return Motion(kind=kind, team=team, subject={"team": [team.pk], "award": [award.pk]}, details=details, **parts)


def _withheld_award(rita: User, olga: User) -> Award:
    award = _award(rita, _makers(olga))
    award_withhold(award=award, reason="It cheated.", by=mandate("withhold", rita, NOW), now=NOW)
    return award


def withholding_an_award(rita: User, olga: User) -> Motion:
    """An award is to be withheld."""
    award = _award(rita, _makers(olga))
    return _of_award(
        award,
        "withhold",
        move=lambda by: motions.award_withhold_move(award, reason=REASON, by=by, now=NOW),
        done=lambda: withholdable(award) == 0 and [each.award for each in withheld_amounts()] == [award],
        spoil=lambda: award_withhold(award=award, reason="x", by=mandate("withhold", rita, NOW), now=NOW),
        refused="nothing_left",
    )


def giving_an_award_back(rita: User, olga: User) -> Motion:
    """What is withheld of an award is to be given back, and not what is withheld beside it."""
    award = _withheld_award(rita, olga)
    of = ledger_account(AccountKind.TEAM, team=award.stake.defense.entry.team)
    return _of_award(
        award,
        "return",
        move=lambda by: motions.return_move(of, award=award, reason=REASON, by=by, now=NOW),
        done=lambda: withholdable(award) == HALF,
        spoil=lambda: award_forfeit(award=award, reason="x", by=mandate("forfeit", rita, NOW), now=NOW),
        refused="nothing_withheld",
    )


def forfeiting(rita: User, olga: User) -> Motion:
    """What is withheld of an award is to be taken for good."""
    award = _withheld_award(rita, olga)
    of = ledger_account(AccountKind.TEAM, team=award.stake.defense.entry.team)
    return _of_award(
        award,
        "forfeit",
        move=lambda by: motions.forfeit_move(award, reason=REASON, by=by, now=NOW),
        done=lambda: forfeited_of_award(award) == HALF and balance(AccountKind.DEFENDERS) == HALF,
        spoil=lambda: money_return(of=of, award=award, reason="x", by=mandate("return", rita, NOW), now=NOW),
        refused="nothing_withheld",
    )


MOTIONS: list[Make] = [
    staking,
    returning,
    keeping,
    ending,
    granting,
    revoking,
    awarding,
    withholding,
    withholding_a_share,
    giving_back,
    withholding_an_award,
    giving_an_award_back,
    forfeiting,
]
