"""Services for awards: giving them, correcting them after a late break, ending stakes that lost the race (R36-R38)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from common.errors import Conflict, required
from common.typed import clean_words
from contest.core.breaks import SupposedRuling
from contest.core.decisions import MotionMandate, record_decision
from contest.core.enums import AccountKind, DecisionKind, StakeEnd, StakeKind
from contest.core.models import Award, BoardDecision, Stake, Team
from contest.core.settled_weeks import Weeks
from contest.core.teams import final_team
from contest.defenses.selectors import forfeited_stakes, is_paid_for, owner_of
from contest.defenses.stake_ends import lock_stake, lock_stakes, stake_end
from contest.ledger.dry_run import LEDGER, Ledger
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.selectors import defenders_cents
from contest.ledger.services import MAX_ENTRY_CHARACTERS, Causes, ledger_account, lock_accounts
from contest.ledger.withholding import (
    WithheldAmount,
    first_forfeits,
    forfeited_of,
    forfeited_of_award,
    subject_of,
    withheld_amounts,
    withheld_by_team,
)
from contest.prizes.checklist import award_checklist, contenders, is_ready_for_award, never_reason, sharing
from contest.prizes.conditions import AwardCondition
from contest.prizes.differences import MoneyFlows, MoneyPosition, flows
from contest.prizes.prize_facts import StakeWithBreaks, stakes_with_breaks
from contest.prizes.settlement import (
    accounts_of,
    deciding_week,
    received_by_award,
    stake_settle,
    take_back_money,
    teams_share,
)
from contest.prizes.shares import StakeOutcome, defender_shares
from policy.numbers import Policy
from scoring import reruns
from scoring.models import Rerun
from scoring.rerun_scope import Scope

LOST = (StakeOutcome.BROKEN, StakeOutcome.BEFORE)

ASK_STATEMENT = "Write the public statement: it is published with the award."


@transaction.atomic
def award_give(
    *, stake: Stake, statement: str, reason: str, policy: Policy, by: MotionMandate, now: datetime
) -> list[Award]:
    """Give the defenders' half to `stake` and to the stakes that share it (R36), by a decision of the board.

    Raises NotAllowed without a mandate of the board, InvalidInput without a statement or a reason, Conflict
    (`not_yet`) where a condition is not met.
    """
    said = clean_words(statement, field="statement", ask=ASK_STATEMENT, max_length=MAX_ENTRY_CHARACTERS)
    winners = _under_lock(stake, now)
    weeks = Weeks(now)
    met = {each.pk: _met(each, policy, now, weeks) for each in winners}
    half = ledger_account(AccountKind.DEFENDERS)
    shares = defender_shares(lock_accounts(_accounts(half, winners))[half.pk].balance_cents, _received(winners))
    subject = {"stake": list(shares), "defense": [each.defense_id for each in winners]}
    decision = record_decision(DecisionKind.AWARD, subject=subject, reason=reason, by=by, now=now, statement=said)
    given = [_give(each, shares[each.pk], met[each.pk], decision, by.member, now) for each in winners]
    _post(decision, now=now, by=by.member)
    return given


def _under_lock(stake: Stake, now: datetime) -> list[Stake]:
    """Lock the stakes that share the prize, and return their locked rows.

    Raises Conflict (`others_share`) where a correction changed who shares before they were locked.
    """
    rows = lock_stakes(each.pk for each in sharing(stake, now=now))
    _refuse_over(rows)
    if {each.pk for each in rows} != {each.pk for each in sharing(stake, now=now)}:
        raise Conflict("Nothing was awarded: others share the prize by now. Look at the award again.", "others_share")
    return rows


def award_check(stake: Stake, *, policy: Policy, now: datetime) -> list[Stake]:
    """Return the stakes that share the prize; raise what `award_give` would raise of them now. Nothing is locked."""
    rows, weeks = sharing(stake, now=now), Weeks(now)
    _refuse_over(rows)
    for each in rows:
        _met(each, policy, now, weeks)
    return rows


def _refuse_over(rows: Iterable[Stake]) -> None:
    over = next((each for each in rows if each.ended_at is not None), None)
    if over is not None:
        raise Conflict(f"The stake on {over.defense.name} is over: {over.end}. Nothing was awarded.", "stake_over")


def _met(stake: Stake, policy: Policy, now: datetime, weeks: Weeks) -> list[AwardCondition]:
    conditions = award_checklist(stake, policy=policy, now=now, known=weeks)
    if not is_ready_for_award(conditions):
        open_ones = "; ".join(each.title for each in conditions if not each.passed)
        raise Conflict(
            f"Nothing was awarded: {stake.defense.name} does not meet every condition ({open_ones}).", "not_yet"
        )
    return conditions


def _accounts(half: Account, stakes: Sequence[Stake]) -> list[Account]:
    """Return all accounts that an award for these stakes moves money of, to be locked at once, in one order."""
    return [half, *(of for each in stakes for of in accounts_of(each, _teams_of(each)))]


def _teams_of(stake: Stake) -> set[int]:
    """Return the teams that may get money of a stake: the owner of the defense, and the payer of the stake."""
    teams = (owner_of(stake.defense), final_team(stake.paid_by) if stake.paid_by else None)
    return {team.pk for team in teams if team is not None}


def shares_now(stakes: Iterable[Stake]) -> dict[int, int]:
    """Return stake -> the cents that each would get if the defenders' half were awarded to these now (R36); a defense
    without a team gets nothing."""
    return defender_shares(defenders_cents(), _received(each for each in stakes if owner_of(each.defense)))


def _received(stakes: Iterable[Stake]) -> dict[int, datetime]:
    return {each.pk: each.defense.entry.received_at for each in stakes}


def _give(
    stake: Stake, cents: int, met: Sequence[AwardCondition], decision: BoardDecision, by: User, now: datetime
) -> Award:
    stake_end(stake, StakeEnd.WON, now=now, by=by, decision=decision)
    award = Award.objects.create(
        stake=stake,
        decision=decision,
        cents=cents,
        statement=decision.details["statement"],
        conditions=[each.record() for each in met],
        awarded_at=now,
    )
    stake_settle(stake.pk, now=now)
    return award


def rerun_begin(*, stake: Stake, by: User, now: datetime) -> Rerun:
    """Start a re-run of all attacks against a defense whose time is over (R37).

    Conflict where its time is not over, and as of `scoring.reruns.rerun_start`.
    """
    if stake.pk not in {each.pk for each in contenders(now=now)}:
        raise Conflict("Its 90 days are not over, or it cannot win: nothing was begun.", "not_due")
    reason = "All attacks are run again before an award."
    return reruns.rerun_start(defense=stake.defense, scope=Scope("All answers."), reason=reason, by=by, now=now)


# What of an award is due now -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AwardChange:
    """The state of an award by the present facts: the stakes that keep it or lost it, and the entries to post.

    Stakes in `unpaid` stayed unbroken, but their team turned out to be associated with the contest in that time.
    `shares` are the cents of each stake that keeps it, before anything is withheld. `forfeited`: stake of which the
    board took anything for good -> the cents it had then; it may be kept, and shares nothing that others lose (R38).
    """

    decision: BoardDecision
    kept: tuple[StakeWithBreaks, ...]
    lost: tuple[StakeWithBreaks, ...]
    unpaid: tuple[StakeWithBreaks, ...]
    forfeited: Mapping[int, int]
    shares: Mapping[int, int]
    flows: MoneyFlows

    @property
    def standing(self) -> list[StakeWithBreaks]:
        """Return the stakes that keep the award and forfeited nothing of it."""
        return [row for row in self.kept if row.stake.pk not in self.forfeited]

    def stake_of(self, team: int) -> StakeWithBreaks | None:
        """Return a stake of `team` that lost the award, or else one that keeps it: it was given more while another had
        lost."""
        rows = (*self.lost, *self.unpaid, *self.kept)
        return next((row for row in rows if team in _teams_of(row.stake)), None)


def award_change(
    decision: BoardDecision, *, book: Ledger = LEDGER, supposed: SupposedRuling | None = None
) -> AwardChange:
    """Return the state of an award by the facts: a break found late takes it from a defense (R37), and so does an
    association of its team, whenever it is declared (R27)."""
    rows = stakes_with_breaks(_awarded(decision), supposed)
    lost = tuple(row for row in rows if row.due.outcome in LOST)
    others = [row for row in rows if row.due.outcome not in LOST]
    unpaid = tuple(row for row in others if not is_paid_for(row.stake, now=row.stake.award.awarded_at))
    kept = tuple(row for row in others if row not in unpaid)
    total = sum(row.stake.award.cents for row in rows)
    forfeited = forfeited_of(decision)
    had = _had_when_forfeited(decision, [row.stake for row in rows]) if forfeited else {}
    shares = defender_shares(total, _received(row.stake for row in kept), had)
    at = _position(decision, total, book)
    needed = flows(_due(shares, kept, had), 0, replace(at, got=_less(at.got, forfeited)))
    if needed.owed:  # withheld money was not paid out: it is available if the board gives it back
        owed = {team: cents for team, cents in _less(needed.owed, withheld_by_team(decision)).items() if cents}
        needed = replace(needed, owed=owed)
    return AwardChange(decision, kept, lost, unpaid, had, shares, needed)


def _awarded(decision: BoardDecision) -> list[Stake]:
    stakes = Stake.objects.filter(award__decision=decision).select_related("award", "defense__entry__team", "paid_by")
    return list(stakes.order_by("pk"))


def _had_when_forfeited(decision: BoardDecision, stakes: Sequence[Stake]) -> dict[int, int]:
    """Return stake -> the cents it had of the award when the board first took anything of it for good, the earliest
    first. Decisions of before that was recorded: what a team had belongs to its stakes in equal parts."""
    had: dict[int, int] = {}
    for award, entry in first_forfeits(decision).items():
        stake = next(each for each in stakes if each.award.pk == award)
        if entry.decision and "had" in entry.decision.details:
            had[stake.pk] = entry.decision.details["had"]
            continue
        team = owner_of(stake.defense)
        of_team = [each for each in stakes if owner_of(each.defense) == team]
        got, _ = teams_share(received_by_award(decision, forfeit=entry))
        left = got.get(team.pk if team else 0, 0) - sum(had.get(each.pk, 0) for each in of_team)
        among = _received(each for each in of_team if each.pk not in had)
        had[stake.pk] = defender_shares(max(left, 0), among)[stake.pk]
    return had


def _less(cents: Mapping[int, int], forfeited: Mapping[int, int]) -> dict[int, int]:
    return {team: max(each - forfeited.get(team, 0), 0) for team, each in cents.items()}


def _due(shares: Mapping[int, int], kept: Sequence[StakeWithBreaks], forfeited: Collection[int]) -> dict[int, int]:
    """Return the cents by team less what was forfeited, in the order of receipt of their first entries."""
    stakes = {row.stake.pk: row.stake for row in kept}
    due: dict[int, int] = {}
    for number, cents in shares.items():
        stake = stakes[number]
        less = forfeited_of_award(stake.award) if number in forfeited else 0
        if (owner := owner_of(stake.defense)) is not None:
            due[owner.pk] = due.get(owner.pk, 0) + max(cents - less, 0)
    return due


def _position(decision: BoardDecision, total: int, book: Ledger) -> MoneyPosition:
    got, there = teams_share(received_by_award(decision, book), book)
    return MoneyPosition(total, got, there, 0, 0, book.cents(book.account(AccountKind.DEFENDERS)))


def decisions_on_awards() -> list[BoardDecision]:
    """Return the decisions of the board that gave an award, the oldest first."""
    return list(BoardDecision.objects.filter(awards__isnull=False).distinct().order_by("pk"))


def may_post(change: AwardChange, weeks: Weeks) -> bool:
    """Say whether the award may be corrected now: every week that decides it is settled."""
    return bool(change.flows) and all(
        row.due.outcome is StakeOutcome.BEFORE or weeks.settled(deciding_week(row), of=row.stake.defense)
        for row in change.lost
    )


def _post(decision: BoardDecision, *, now: datetime, by: User | None = None) -> None:
    half = ledger_account(AccountKind.DEFENDERS)
    paid = Account.objects.filter(entries_in__decision=decision, kind=AccountKind.TEAM)
    lock_accounts([*_accounts(half, _awarded(decision)), *paid])
    change_post(award_change(decision), LEDGER, now=now, by=by)


def change_post(change: AwardChange, book: Ledger, *, now: datetime, by: User | None = None) -> None:
    """Post the correction of an award. The caller has locked all accounts that it may move money of."""
    decision, half = change.decision, book.account(AccountKind.DEFENDERS)
    causes = {"award": list(Award.objects.filter(decision=decision).values_list("pk", flat=True))}
    broken = {"break": [each.proof.pk for row in change.lost for each in row.deciding]}
    moved: list[LedgerEntry] = []
    for team, cents in change.flows.taken.items():
        told = _why_taken(change, team, causes | broken)
        moved += take_back_money(half, team, cents, decision=decision, now=now, book=book, **told)
    told = {"rule": "R36", "causes": causes | broken if change.lost else causes}
    standing = {owner.pk for row in change.standing if (owner := owner_of(row.stake.defense)) is not None}
    for team, cents in change.flows.given.items():
        sharing = change.standing if team in standing else change.kept  # what was not forfeited comes back to it
        told["why"] = f"Share of the defenders' half for {_names(sharing)}."
        for held, part in _parts_by_withholding(change, team, cents):
            target = book.account(AccountKind.TEAM, team=Team.objects.get(pk=team)) if held is None else held.account
            moved.append(book.move(half, target, part, by=by, decision=decision, now=now, **told))
            if held is not None:
                moved.append(_withhold_more(held, part, broken if change.lost else {}, now=now, book=book))
    book.notify(moved, now=now)


def _parts_by_withholding(change: AwardChange, team: int, cents: int) -> Iterator[tuple[WithheldAmount | None, int]]:
    """Yield what of a team's `cents` a withheld award misses of its share, with what is withheld; then the rest."""
    owners = ((row.stake, owner_of(row.stake.defense)) for row in change.standing)
    parts = defender_shares(cents, _received(stake for stake, owner in owners if owner and owner.pk == team))
    withheld = withheld_amounts()
    for stake, part in parts.items():
        of_stake = [each for each in withheld if each.award and each.award.stake_id == stake]
        missing = max(change.shares[stake] - sum(each.cents for each in of_stake), 0)
        if of_stake and (more := min(part, missing)):
            yield of_stake[-1], more
            cents -= more
    if cents:
        yield None, cents


def _withhold_more(held: WithheldAmount, cents: int, broken: Causes, *, now: datetime, book: Ledger) -> LedgerEntry:
    """Withhold what an award that is withheld got more, so that nobody pays it out (R38)."""
    assert held.award is not None
    causes = {**subject_of(held.account, None, held.award), **broken}
    why = f"Correction: what is withheld of the award for {held.award.stake.defense.name} follows it."
    return book.move(
        held.account, book.account(AccountKind.WITHHELD), cents, rule="R38", why=why, causes=causes, now=now
    )


def _why_taken(change: AwardChange, team: int, causes: Causes) -> dict[str, Any]:
    """Return the rule, the reason and the causing rows for taking an award's money back from a team."""
    if any(team in _teams_of(row.stake) for row in change.unpaid):
        words = f"Correction: the team of {_names(change.unpaid)} was associated with the contest in that time."
        return {"rule": "R27", "why": words, "causes": {"award": causes["award"], "team": [team]}}
    if any(team in _teams_of(row.stake) for row in change.lost):
        words = f"Correction: {_names(change.lost)} lost the award by a break found late."
        return {"rule": "R37", "why": words, "causes": causes}
    words = f"Correction: the award is shared by {_names(change.standing or change.kept)}, as the facts are now."
    return {"rule": "R36", "why": words, "causes": causes}


def _names(rows: Iterable[StakeWithBreaks]) -> str:
    return ", ".join(row.stake.defense.name for row in rows) or "a defense"


# Stakes of the board that lost the race, or can no longer win it ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RaceEnding:
    """How the board may end a stake, and why."""

    end: StakeEnd
    why: str


def race_ending(stake: Stake, *, now: datetime) -> RaceEnding | None:
    """Return how the board may end a stake of its own that is in force; None while it may still be the first to win.

    A stake that can never win is withdrawn. One beside which another stake won is overtaken, but only while that award
    is in force: an award that was lost or forfeited can be won again.
    """
    if stake.kind != StakeKind.BOARD or stake.staked_at is None or stake.ended_at is not None:
        return None
    if never := never_reason(stake, now=now):
        return RaceEnding(StakeEnd.WITHDRAWN, never)
    won = awards_in_force(Award.objects.filter(awarded_at__gte=stake.staked_at))
    if not won:
        return None
    return RaceEnding(StakeEnd.OVERTAKEN, f"{won[0].stake.defense.name} was awarded the prize while this was at stake.")


def awards_in_force(among: QuerySet[Award] | None = None) -> list[Award]:
    """Return the awards in force, of all or among these, oldest first: by the present facts neither lost (R27, R37)
    nor forfeited (R38)."""
    given = (Award.objects.all() if among is None else among).exclude(stake__in=forfeited_stakes())
    rows = list(given.select_related("decision", "stake__defense").order_by("awarded_at", "pk"))
    kept = {row.stake for decision in {each.decision for each in rows} for row in award_change(decision).kept}
    return [each for each in rows if each.stake in kept]


def ending_check(stake: Stake, *, now: datetime) -> RaceEnding:
    """Return how the board may end a stake; Conflict (`may_win`) where it may not."""
    words = f"The stake on {stake.defense.name} is not the board's to end: it is over, or it may still win."
    return required(race_ending(stake, now=now), Conflict(words, "may_win"))


@transaction.atomic
def race_close(*, stake: Stake, reason: str, by: MotionMandate, now: datetime) -> Stake:
    """End a stake of the board by a decision; its money goes to the attackers' half, unless it was broken (R36).

    Raises NotAllowed without a mandate of the board, InvalidInput without a reason, Conflict (`may_win`) for a stake
    that is over, that a team paid for, or that may still win.
    """
    found = lock_stake(stake.pk)
    ending = ending_check(found, now=now)
    subject = {"stake": [found.pk], "defense": [found.defense_id]}
    decision = record_decision(DecisionKind.END, subject=subject, reason=reason, by=by, now=now, end=ending.end.value)
    return stake_end(found, ending.end, now=now, by=by.member, decision=decision)
