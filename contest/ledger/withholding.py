"""Queries and services for prize money that the board withholds for cheating, returns, or takes for good (R38).

Of a stake, only the share of one team is withheld, so that the other teams that broke it keep theirs whole (R35). The
share changes with the facts: the sweep of prizes adjusts the withheld sum to the decisions and the share.

On a team's account prizes lie together. A withholding from an award names it, so that it is never confused with one
from another award (contest.prizes.forfeits).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from common.database.grouping import grouped
from common.errors import Conflict, InvalidInput, required
from contest.core.decisions import MotionMandate, record_decision
from contest.core.enums import AccountKind, DecisionKind
from contest.core.models import Award, BoardDecision, Team
from contest.core.teams import final_team, teams_by_number
from contest.ledger.letters import notify_posted
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import ledger_account, lock_accounts, move

# Owner of money: the stake, or None for a team's account; the team; the award that it is of, if it names one.
_Whose = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class WithheldAmount:
    """Money withheld of a team's account, of its `award` there, or of its share of a stake, and the decisions about it,
    oldest first.

    `decided` is the most that the board withholds, `cents` what is withheld now: of a stake at most the share.
    """

    account: Account
    team: Team | None
    cents: int
    decided: int
    decisions: tuple[BoardDecision, ...]
    award: Award | None = None


def withheld_amounts() -> list[WithheldAmount]:
    """Return what is withheld now, the oldest first."""
    return [each for each in withholdings() if each.cents]


def withholdings() -> list[WithheldAmount]:
    """Return what the board withholds, the oldest first; also with nothing withheld now, as the team has no share."""
    return [each for each in ever_withheld() if each.cents or each.decided]


def withheld_of(of: Account, team: Team | None = None, award: Award | None = None) -> WithheldAmount | None:
    """Return what the board withholds of a team's account, of an `award` there, or of the share of `team` of a stake;
    None for nothing."""
    whose = _owner_by_account(of, team, award)
    return next(
        (each for each in withholdings() if _owner_by_account(each.account, each.team, each.award) == whose), None
    )


def withheld_of_stakes(planned: Iterable[LedgerEntry] = ()) -> dict[int, list[WithheldAmount]]:
    """Return stake -> what is or was withheld of the shares of teams, each team once; `planned` entries of a dry run
    count as well."""
    return grouped(
        (each.account.stake_id, each)
        for each in ever_withheld(planned)
        if each.account.stake_id is not None and each.team is not None
    )


def ever_withheld(planned: Iterable[LedgerEntry] = ()) -> Iterator[WithheldAmount]:
    """Yield what the board ever withheld, the oldest first; also what it returned."""
    kinds = (DecisionKind.WITHHOLD, DecisionKind.RETURN, DecisionKind.FORFEIT)
    by_whose: dict[_Whose, list[BoardDecision]] = {}
    teams = teams_by_number()
    for decision in BoardDecision.objects.filter(kind__in=kinds).select_related("decided_by").order_by("pk"):
        if "defense" not in decision.subject:  # a decision that returns a defense returns no withheld money
            by_whose.setdefault(_owner_by_rows(decision.subject, teams), []).append(decision)
    aside, accounts = _withheld_now(teams, planned), _accounts(by_whose)
    awards = Award.objects.select_related("stake__defense").in_bulk({award for *_, award in by_whose if award})
    for whose, decisions in by_whose.items():
        yield WithheldAmount(
            account=accounts[whose],
            team=teams[whose[1]] if whose[1] is not None else None,
            cents=aside[whose],
            decided=_sum_of_decisions(decisions),
            decisions=tuple(decisions),
            award=awards[whose[2]] if whose[2] is not None else None,
        )


def _owner_by_rows(rows: Mapping[str, list[int]], teams: Mapping[int, Team]) -> _Whose:
    """Return the owner of the money that the rows name. A share of a stake belongs to the team that a merged one is
    part of now; an account stays its own team's."""
    stake, team, award = (next(iter(rows.get(table, [])), None) for table in ("stake", "team", "award"))
    return stake, final_team(teams[team]).pk if stake is not None and team is not None else team, award


def _withheld_now(teams: Mapping[int, Team], planned: Iterable[LedgerEntry]) -> Counter[_Whose]:
    """Return what is withheld now, by its owner."""
    aside = Counter[_Whose]()
    rows = list(LedgerEntry.objects.filter(rule="R38").values_list("causes", "cents", "target__kind"))
    rows += [(each.causes, each.cents, each.target.kind) for each in planned if each.rule == "R38"]
    for causes, cents, target in rows:
        aside[_owner_by_rows(causes, teams)] += cents if target == AccountKind.WITHHELD else -cents
    return aside


def _accounts(wanted: Iterable[_Whose]) -> dict[_Whose, Account]:
    related = Account.objects.select_related("team", "stake__defense")
    stakes = {row.stake_id: row for row in related.filter(stake__in={stake for stake, _, _ in wanted if stake})}
    teams = {row.team_id: row for row in related.filter(team__in={team for stake, team, _ in wanted if not stake})}
    return {whose: stakes[whose[0]] if whose[0] else teams[whose[1]] for whose in wanted}


def _sum_of_decisions(decisions: Iterable[BoardDecision]) -> int:
    """Return the sum of the decisions: returning sets it to zero, and forfeited money is subtracted. A part of that may
    have been withheld without a decision, when the award grew."""
    signs = {DecisionKind.WITHHOLD: 1, DecisionKind.FORFEIT: -1}
    cents = 0
    for each in decisions:
        sign = signs.get(DecisionKind(each.kind))
        cents = max(cents + sign * int(each.details["cents"]), 0) if sign else 0
    return cents


@transaction.atomic
def money_withhold(
    *,
    of: Account,
    cents: int,
    reason: str,
    by: MotionMandate,
    now: datetime,
    team: Team | None = None,
    award: Award | None = None,
) -> LedgerEntry:
    """Withhold money of a team, of an `award` on its account, or of the share of `team` of a stake, by a decision of
    the board. `contest.prizes.forfeits` computes how much of an award is left there.

    Raises NotAllowed without a mandate of the board, InvalidInput without a reason, for another account, and for a
    stake without a team, Conflict (`not_enough`) where less is there.
    """
    subject = subject_of(of, team, award)
    target = ledger_account(AccountKind.WITHHELD)
    lock_accounts([of, target])
    decision = record_decision(DecisionKind.WITHHOLD, subject=subject, reason=reason, by=by, now=now, cents=cents)
    why = "Withheld by the board."
    entry = move(of, target, cents, rule="R38", why=why, causes=subject, by=by.member, decision=decision, now=now)
    notify_posted([entry], now=now)
    return entry


@transaction.atomic
def money_return(
    *, of: Account, reason: str, by: MotionMandate, now: datetime, team: Team | None = None, award: Award | None = None
) -> BoardDecision:
    """Return all money withheld of a team without naming an award, of an award, or of its share of a stake, by a
    decision of the board.

    Raises errors as `money_withhold` does, and Conflict (`nothing_withheld`). If no money is withheld now, only the
    decision is recorded, which ends the withholding.
    """
    subject = subject_of(of, team, award)
    source = ledger_account(AccountKind.WITHHELD)
    lock_accounts([of, source])
    found = withheld_to_return(of, team, award)
    decision = record_decision(DecisionKind.RETURN, subject=subject, reason=reason, by=by, now=now, cents=found.cents)
    if found.cents:
        why = "Given back by the board."
        entry = move(
            source, of, found.cents, rule="R38", why=why, causes=subject, by=by.member, decision=decision, now=now
        )
        notify_posted([entry], now=now)
    return decision


def withheld_to_return(of: Account, team: Team | None = None, award: Award | None = None) -> WithheldAmount:
    """Return what the board withholds of it; Conflict (`nothing_withheld`) for nothing."""
    words = "Nothing of this account is withheld any more. Reload the page."
    return required(withheld_of(of, team, award), Conflict(words, "nothing_withheld"))


def require_enough_to_withhold(of: Account, cents: int) -> None:
    """Raise Conflict (`not_enough`) where an account has less than the board is to withhold."""
    if of.balance_cents < cents:
        raise Conflict("The account has less than that. Look at its balance.", "not_enough")


def _owner_by_account(of: Account, team: Team | None, award: Award | None) -> _Whose:
    if of.stake_id is None:
        return None, of.team_id, award.pk if award is not None else None
    return of.stake_id, team.pk if team is not None else None, None


def subject_of(of: Account, team: Team | None, award: Award | None = None) -> dict[str, list[int]]:
    """Return the rows that name the owner of the money; errors as `money_withhold` for an account without one."""
    if of.team_id is not None:
        return {"team": [of.team_id]} | ({"award": [award.pk]} if award is not None else {})
    if of.stake_id is None:
        raise InvalidInput("Only the money of a team or of a stake can be withheld.", "invalid", field="account")
    if team is None:
        raise InvalidInput(
            "Choose the team whose share of the stake it is: all others have theirs whole.", "invalid", field="team"
        )
    return {"stake": [of.stake_id], "team": [final_team(team).pk]}


# What of an award is withheld or taken for good, by the ledger --------------------------------------------------------


def awards_of(decision: BoardDecision) -> set[int]:
    """Return the numbers of the awards that were given by one decision."""
    return set(Award.objects.filter(decision=decision).values_list("pk", flat=True))


def forfeited_of(decision: BoardDecision) -> dict[int, int]:
    """Return team -> the cents of an award that the board took for good; merged teams count as one."""
    parts = [(entry.causes["team"][0], entry.cents) for entry in _forfeits(awards_of(decision))]
    teams = Team.objects.in_bulk({team for team, _ in parts})
    return _by_team((teams[number], cents) for number, cents in parts)


def forfeited_of_award(award: Award) -> int:
    """Return the cents of one award that the board took for good."""
    return sum(entry.cents for entry in _forfeits({award.pk}))


def first_forfeits(decision: BoardDecision) -> dict[int, LedgerEntry]:
    """Return award -> the first entry by which the board took anything of it for good, the earliest first."""
    first: dict[int, LedgerEntry] = {}
    for entry in _forfeits(awards_of(decision)):
        first.setdefault(entry.causes["award"][0], entry)
    return first


def _forfeits(awards: set[int]) -> list[LedgerEntry]:
    rows = LedgerEntry.objects.filter(source__kind=AccountKind.WITHHELD, target__kind=AccountKind.DEFENDERS)
    return [
        entry for entry in rows.select_related("decision").order_by("pk") if awards.intersection(entry.causes["award"])
    ]


def award_entries(award: Award) -> QuerySet[LedgerEntry]:
    """Return the entries of an award: those by its decision, given or taken back, and those that withhold or forfeit
    it."""
    aside = LedgerEntry.objects.filter(rule="R38").values_list("pk", "causes")
    named = [pk for pk, causes in aside if award.pk in causes.get("award", ())]
    return LedgerEntry.objects.filter(Q(decision=award.decision) | Q(pk__in=named))


def withheld_by_team(decision: BoardDecision) -> dict[int, int]:
    """Return team -> what is withheld of its accounts now that may be of this award; merged teams count as one.

    A withholding that names another award does not count.
    """
    awards = awards_of(decision)
    rows = [each for each in withheld_amounts() if each.award is None or each.award.pk in awards]
    return _by_team((each.account.team, each.cents) for each in rows if each.account.team is not None)


def set_aside_by_award(of: Account) -> Mapping[int, int]:
    """Return award -> what was withheld of it from an account and not returned: withheld still, or forfeited."""
    out_or_back = Q(source=of, target__kind=AccountKind.WITHHELD) | Q(target=of, source__kind=AccountKind.WITHHELD)
    found = Counter[int]()
    rows = LedgerEntry.objects.filter(out_or_back, rule="R38")
    for source, cents, causes in rows.values_list("source", "cents", "causes"):
        for award in causes.get("award", ()):
            found[award] += cents if source == of.pk else -cents
    return found


def _by_team(parts: Iterable[tuple[Team, int]]) -> dict[int, int]:
    found = Counter[int]()
    for team, cents in parts:
        found[final_team(team).pk] += cents
    return found
