"""Awards: given by the board when every condition is met, and derived again when a break is found late (R36-R38)."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum

from common.errors import Conflict
from contest.awards.conditions import Condition, checklist, contenders, ready, sharing
from contest.decisions import decide
from contest.enums import AccountKind, DecisionKind, StakeEnd
from contest.models import Account, Award, BoardDecision, LedgerEntry, Stake, Team
from contest.money.corrections import Flows, Position, flows
from contest.money.deposits import checked_words
from contest.money.facts import Found, found
from contest.money.ledger import account, hold, move
from contest.money.prizes import Outcome, defender_shares, in_order_of_receipt
from contest.money.settlement import Moved, deciding_week, stake_settle, take_back, teams_share
from contest.settled import week_settled
from contest.stakes.ends import locked, stake_end
from contest.stakes.selectors import owner_of
from labeling.policy import Policy
from scoring import reruns
from scoring.models import Rerun
from scoring.rerun_scope import Scope

LOST = (Outcome.BROKEN, Outcome.BEFORE)


@transaction.atomic
def award_give(*, stake: Stake, statement: str, reason: str, policy: Policy, by: User, now: datetime) -> list[Award]:
    """Give the defenders' half to `stake` and to those of its batch that share it (R36), by a decision of the board.

    Raises NotAllowed for who is not on the board, InvalidInput without a statement or a reason, Conflict (`not_yet`)
    where a condition is not met.
    """
    said = checked_words(statement, "statement", "Write the public statement: it is published with the award.")
    winners = _under_lock(stake, now)
    met = {each.pk: _met(each, policy, now) for each in winners}
    half = account(AccountKind.DEFENDERS)
    shares = defender_shares(hold([half])[half.pk].balance_cents, _received(winners))
    subject = {"stake": list(shares), "defense": [each.defense_id for each in winners]}
    decision = decide(DecisionKind.AWARD, subject=subject, reason=reason, by=by, now=now, statement=said)
    given = [_give(each, shares[each.pk], met[each.pk], decision, by, now) for each in winners]
    _post(decision, now=now, by=by)
    return given


def _under_lock(stake: Stake, now: datetime) -> list[Stake]:
    """Lock the stakes that share the prize, in one order always, and return them as they stand."""
    group = sorted(each.pk for each in sharing(stake, now=now))
    rows = [locked(pk) for pk in group]
    over = next((each for each in rows if each.ended_at is not None), None)
    if over is not None:
        raise Conflict(f"The stake on {over.defense.name} is over: {over.end}. Nothing was awarded.", "stake_over")
    return rows


def _met(stake: Stake, policy: Policy, now: datetime) -> list[Condition]:
    conditions = checklist(stake, policy=policy, now=now)
    if not ready(conditions):
        open_ones = "; ".join(each.title for each in conditions if not each.passed)
        raise Conflict(
            f"Nothing was awarded: {stake.defense.name} does not meet every condition ({open_ones}).", "not_yet"
        )
    return conditions


def _received(stakes: Iterable[Stake]) -> dict[int, datetime]:
    return {each.pk: each.defense.entry.received_at for each in stakes}


def _give(
    stake: Stake, cents: int, met: Sequence[Condition], decision: BoardDecision, by: User, now: datetime
) -> Award:
    stake_end(stake, StakeEnd.WON, now=now, by=by, decision=decision)
    award = Award.objects.create(
        stake=stake,
        decision=decision,
        cents=cents,
        statement=decision.details["statement"],
        conditions=[asdict(each) for each in met],
        awarded_at=now,
    )
    stake_settle(stake.pk, now=now)
    return award


def rerun_begin(*, stake: Stake, by: User, now: datetime) -> Rerun:
    """Ask for all attacks to be run again against a defense whose time is over (R37).

    Conflict where its time is not over, and as of `scoring.reruns.rerun_start`.
    """
    if stake.pk not in {each.pk for each in contenders(now=now)}:
        raise Conflict("Its 90 days are not over, or it cannot win: nothing was begun.", "not_due")
    reason = "All attacks are run again before an award."
    return reruns.rerun_start(defense=stake.defense, scope=Scope("All answers."), reason=reason, by=by, now=now)


# What an award asks for now -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """What an award is by the facts of now: which stakes keep it, which lost it, and what is to post."""

    decision: BoardDecision
    kept: tuple[Found, ...]
    lost: tuple[Found, ...]
    flows: Flows


def change_of(decision: BoardDecision) -> Change:
    """Return what the facts make of an award: a break found late takes it from a defense (R37)."""
    stakes = Stake.objects.filter(award__decision=decision).select_related("defense__entry__team", "paid_by")
    rows = found(list(stakes.order_by("pk")))
    kept = tuple(row for row in rows if row.due.outcome not in LOST)
    lost = tuple(row for row in rows if row.due.outcome in LOST)
    total = Award.objects.filter(decision=decision).aggregate(sum=Sum("cents"))["sum"] or 0
    return Change(decision, kept, lost, flows(_due(total, kept), 0, _position(decision, total)))


def _due(total: int, kept: Sequence[Found]) -> dict[int, int]:
    """Return the cents by team, in the order of receipt of their first entries."""
    received = _received(row.stake for row in kept)
    shares = defender_shares(total, received)
    owners = {row.stake.pk: owner_of(row.stake.defense) for row in kept}
    due: dict[int, int] = {}
    for stake in in_order_of_receipt(received):
        if (owner := owners[stake]) is not None:
            due[owner.pk] = due.get(owner.pk, 0) + shares[stake]
    return due


def _position(decision: BoardDecision, total: int) -> Position:
    half = account(AccountKind.DEFENDERS)
    nets: dict[int, int] = {}
    for source, target, cents in _of_half(decision, half):
        other, signed = (target, cents) if source == half.pk else (source, -cents)
        nets[other] = nets.get(other, 0) + signed
    accounts = Account.objects.select_related("team").in_bulk(nets)
    got, there = teams_share(Moved(accounts[number], cents) for number, cents in nets.items())
    return Position(total, got, there, 0, 0, half.balance_cents)


def _of_half(decision: BoardDecision, half: Account) -> list[tuple[int, int, int]]:
    """Return the entries of an award's share; those of the stakes themselves do not touch the defenders' half."""
    rows = LedgerEntry.objects.filter(decision=decision).values_list("source", "target", "cents").order_by("pk")
    return [row for row in rows if half.pk in row[:2]]


def awards_settle(*, now: datetime) -> int:
    """Post what late breaks change of awards; returns how many awards changed. Twice changes nothing."""
    decisions = BoardDecision.objects.filter(awards__isnull=False).distinct().order_by("pk")
    return sum(_award_settle(each, now) for each in decisions if _may_post(change_of(each)))


def _may_post(change: Change) -> bool:
    return bool(change.flows) and all(
        row.due.outcome is Outcome.BEFORE or week_settled(deciding_week(row), of=row.stake.defense)
        for row in change.lost
    )


@transaction.atomic
def _award_settle(decision: BoardDecision, now: datetime) -> bool:
    for pk in Stake.objects.filter(award__decision=decision).order_by("pk").values_list("pk", flat=True):
        locked(pk)
    return _post(decision, now=now)


def _post(decision: BoardDecision, *, now: datetime, by: User | None = None) -> bool:
    half = account(AccountKind.DEFENDERS)
    paid = Account.objects.filter(entries_in__decision=decision, kind=AccountKind.TEAM)
    hold([half, *paid])
    change = change_of(decision)
    causes = {"award": list(Award.objects.filter(decision=decision).values_list("pk", flat=True))}
    broken = {"break": [each.proof.pk for row in change.lost for each in row.deciding]}
    for team, cents in change.flows.taken.items():
        why = f"Correction: {_names(change.lost)} lost the award by a break found late."
        take_back(half, team, cents, rule="R37", why=why, causes=causes | broken, decision=decision, now=now)
    for team, cents in change.flows.given.items():
        target = account(AccountKind.TEAM, team=Team.objects.get(pk=team))
        why = f"Share of the defenders' half for {_names(change.kept)}."
        told = causes | broken if change.lost else causes
        move(half, target, cents, rule="R36", why=why, causes=told, by=by, decision=decision, now=now)
    return bool(change.flows)


def _names(rows: Iterable[Found]) -> str:
    return ", ".join(row.stake.defense.name for row in rows) or "a defense"
