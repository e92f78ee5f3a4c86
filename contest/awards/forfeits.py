"""What the board takes for good of a prize that it withholds from who won it (R38).

It goes back to the defenders' half, which can then be awarded to who is next.
"""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict
from contest.decisions import decide
from contest.enums import AccountKind, DecisionKind
from contest.models import Account, Award, BoardDecision, LedgerEntry, Team
from contest.money.ledger import account, hold, move
from contest.money.settlement import moved_by_award, teams_share
from contest.money.withholding import withheld, withheld_of
from contest.stakes.selectors import owner_of
from contest.teams.selectors import final_team, teams_counted_together


def forfeited_of(decision: BoardDecision) -> dict[int, int]:
    """Return team -> the cents of an award that the board took for good; merged teams count as one."""
    awards = set(Award.objects.filter(decision=decision).values_list("pk", flat=True))
    rows = LedgerEntry.objects.filter(source__kind=AccountKind.WITHHELD, target__kind=AccountKind.DEFENDERS)
    parts = [
        (*causes["team"], cents)
        for causes, cents in rows.values_list("causes", "cents")
        if awards.intersection(causes["award"])
    ]
    teams = Team.objects.in_bulk({team for team, _ in parts})
    found: dict[int, int] = {}
    for number, cents in parts:
        team = final_team(teams[number]).pk
        found[team] = found.get(team, 0) + cents
    return found


def withheld_by_team() -> dict[int, int]:
    """Return team -> what is withheld of its accounts now; merged teams count as one."""
    found: dict[int, int] = {}
    for each in withheld():
        if each.account.team is not None:
            team = final_team(each.account.team).pk
            found[team] = found.get(team, 0) + each.cents
    return found


def forfeitable(award: Award) -> int:
    """Return how much of an award the board can take for good: what it withholds of its team, and at most the share."""
    return sum(cents for _, cents in _withheld_of(award))


def _withheld_of(award: Award) -> list[tuple[Account, int]]:
    """Return the accounts of the team, with what is withheld of each that came from this award."""
    owner = owner_of(award.stake.defense)
    if owner is None:
        return []
    left = teams_share(moved_by_award(award.decision))[0].get(owner.pk, 0)
    left -= forfeited_of(award.decision).get(owner.pk, 0)
    found: list[tuple[Account, int]] = []
    for of in Account.objects.filter(team__in=teams_counted_together(owner)).order_by("pk"):
        aside = withheld_of(of)
        if aside is not None and (cents := min(aside.cents, left)) > 0:
            found.append((of, cents))
            left -= cents
    return found


@transaction.atomic
def award_forfeit(*, award: Award, reason: str, by: User, now: datetime) -> list[LedgerEntry]:
    """Move what is withheld of a winner's prize to the defenders' half, by a decision of the board.

    Raises NotAllowed for who is not on the board, InvalidInput without a reason, Conflict (`nothing_withheld`) where
    nothing of this award is withheld.
    """
    hold([account(AccountKind.WITHHELD), account(AccountKind.DEFENDERS)])
    parts = _withheld_of(award)
    if not parts:
        words = "Nothing of this award is withheld. Withhold the prize first, with the reason."
        raise Conflict(words, "nothing_withheld")
    return [_forfeit(award, of, cents, reason, by, now) for of, cents in parts]


def _forfeit(award: Award, of: Account, cents: int, reason: str, by: User, now: datetime) -> LedgerEntry:
    assert of.team_id is not None, "an award is given to a team"
    subject = {"team": [of.team_id], "award": [award.pk]}
    decision = decide(DecisionKind.FORFEIT, subject=subject, reason=reason, by=by, now=now, cents=cents)
    source, half = account(AccountKind.WITHHELD), account(AccountKind.DEFENDERS)
    why = f"Withheld for good of the award for {award.stake.defense.name}: it is in the defenders' half again."
    return move(source, half, cents, rule="R38", why=why, causes=subject, by=by, decision=decision, now=now)
