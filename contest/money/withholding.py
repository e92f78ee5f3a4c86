"""Prizes that the board withholds for cheating, with a public reason, and gives back (R38).

Of a stake the share of one team is withheld, so that the others who broke it have theirs whole (R35). How much that can
be changes with the facts: what is aside follows the decisions and the share, in the sweep of prizes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict, InvalidInput
from contest.decisions import decide
from contest.enums import AccountKind, DecisionKind
from contest.models import Account, BoardDecision, LedgerEntry, Team
from contest.money.ledger import account, hold, move
from contest.money.letters import posted_tell
from contest.teams.selectors import final_team

# Whose money: the stake, or None for what lies on a team's account, and the team.
_Whose = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Withheld:
    """What is withheld of a team's account or of its share of a stake, and the decisions about it, oldest first.

    `decided` is what the board withholds at most, `cents` what is aside now: of a stake never more than the share.
    """

    account: Account
    team: Team | None
    cents: int
    decided: int
    decisions: tuple[BoardDecision, ...]


def withheld() -> list[Withheld]:
    """Return what is withheld now, the oldest first."""
    return [each for each in withholdings() if each.cents]


def withholdings() -> list[Withheld]:
    """Return what the board withholds, the oldest first; also where nothing is aside, as the team has no share now."""
    return [each for each in _all() if each.cents or each.decided]


def withheld_of(of: Account, team: Team | None = None) -> Withheld | None:
    """Return what the board withholds of a team's account, or of the share of `team` of a stake; None for nothing."""
    whose = _named(of, team)
    return next((each for each in withholdings() if _named(each.account, each.team) == whose), None)


def withheld_of_stakes() -> dict[int, list[Withheld]]:
    """Return stake -> what is or was withheld of the shares of teams, each team once."""
    of_stakes: dict[int, list[Withheld]] = {}
    for each in _all():
        if each.account.stake_id is not None and each.team is not None:
            of_stakes.setdefault(each.account.stake_id, []).append(each)
    return of_stakes


def _all() -> Iterator[Withheld]:
    kinds = (DecisionKind.WITHHOLD, DecisionKind.RETURN, DecisionKind.FORFEIT)
    by_whose: dict[_Whose, list[BoardDecision]] = {}
    teams = Team.objects.select_related("merged_into").in_bulk()
    for decision in BoardDecision.objects.filter(kind__in=kinds).select_related("decided_by").order_by("pk"):
        if "defense" not in decision.subject:  # one that returns a defense returns no money that was withheld
            by_whose.setdefault(_whose(decision.subject, teams), []).append(decision)
    aside = _aside(teams)
    accounts = _accounts(by_whose)
    for whose, decisions in by_whose.items():
        team = teams[whose[1]] if whose[1] is not None else None
        yield Withheld(accounts[whose], team, aside.get(whose, 0), _decided(decisions), tuple(decisions))


def _whose(rows: Mapping[str, list[int]], teams: Mapping[int, Team]) -> _Whose:
    """Return whose money the rows name. A share belongs to the team that another one was merged into."""
    stake, team = next(iter(rows.get("stake", [])), None), next(iter(rows.get("team", [])), None)
    return stake, final_team(teams[team]).pk if stake is not None and team is not None else team


def _aside(teams: Mapping[int, Team]) -> dict[_Whose, int]:
    """Return what is aside now, by whose it is."""
    aside: dict[_Whose, int] = {}
    rows = LedgerEntry.objects.filter(rule="R38").values_list("causes", "cents", "target__kind")
    for causes, cents, target in rows:
        whose = _whose(causes, teams)
        aside[whose] = aside.get(whose, 0) + (cents if target == AccountKind.WITHHELD else -cents)
    return aside


def _accounts(wanted: Iterable[_Whose]) -> dict[_Whose, Account]:
    related = Account.objects.select_related("team", "stake__defense")
    stakes = {row.stake_id: row for row in related.filter(stake__in={stake for stake, _ in wanted if stake})}
    teams = {row.team_id: row for row in related.filter(team__in={team for stake, team in wanted if not stake})}
    return {(stake, team): stakes[stake] if stake else teams[team] for stake, team in wanted}


def _decided(decisions: Iterable[BoardDecision]) -> int:
    """Return what decisions add up to; giving back ends all that came before, and what is taken for good is gone."""
    signs = {DecisionKind.WITHHOLD: 1, DecisionKind.FORFEIT: -1}
    cents = 0
    for each in decisions:
        sign = signs.get(DecisionKind(each.kind))
        cents = cents + sign * int(each.details["cents"]) if sign else 0
    return cents


@transaction.atomic
def money_withhold(
    *, of: Account, cents: int, reason: str, by: User, now: datetime, team: Team | None = None
) -> LedgerEntry:
    """Take money of a team, or of the share of `team` of a stake, aside by a decision of the board.

    Raises NotAllowed for who is not on the board, InvalidInput without a reason, for another account, and for a stake
    without a team, Conflict (`not_enough`) where less is there.
    """
    subject = _subject(of, team)
    target = account(AccountKind.WITHHELD)
    hold([of, target])
    decision = decide(DecisionKind.WITHHOLD, subject=subject, reason=reason, by=by, now=now, cents=cents)
    why = "Withheld by the board."
    entry = move(of, target, cents, rule="R38", why=why, causes=subject, by=by, decision=decision, now=now)
    posted_tell([entry], now=now)
    return entry


@transaction.atomic
def money_return(*, of: Account, reason: str, by: User, now: datetime, team: Team | None = None) -> BoardDecision:
    """Give back all that is withheld of a team, or of its share of a stake, by a decision of the board.

    Raises errors as `money_withhold` does, and Conflict (`nothing_withheld`). Where nothing is aside, the decision
    alone ends it.
    """
    subject = _subject(of, team)
    source = account(AccountKind.WITHHELD)
    hold([of, source])
    found = withheld_of(of, team)
    if found is None:
        raise Conflict("Nothing of this account is withheld any more. Reload the page.", "nothing_withheld")
    decision = decide(DecisionKind.RETURN, subject=subject, reason=reason, by=by, now=now, cents=found.cents)
    if found.cents:
        why = "Given back by the board."
        entry = move(source, of, found.cents, rule="R38", why=why, causes=subject, by=by, decision=decision, now=now)
        posted_tell([entry], now=now)
    return decision


def _named(of: Account, team: Team | None) -> _Whose:
    return of.stake_id, (team.pk if team is not None else None) if of.stake_id is not None else of.team_id


def _subject(of: Account, team: Team | None) -> dict[str, list[int]]:
    if of.team_id is not None:
        return {"team": [of.team_id]}
    if of.stake_id is None:
        raise InvalidInput("Only the money of a team or of a stake can be withheld.", "invalid", field="account")
    if team is None:
        words = "Choose the team whose share of the stake it is: all others have theirs whole."
        raise InvalidInput(words, "invalid", field="team")
    return {"stake": [of.stake_id], "team": [final_team(team).pk]}
