"""Services by which two organizers correct wrong deposits and payments, and record repayments of teams.

No ledger entry is ever changed: a correction is a new entry, which names the entry that it takes back (R34).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet, Sum

from common.audit.trail import Subject, audit
from common.database.grouping import grouped
from common.errors import Conflict, InvalidInput, NotAllowed, NotFound, required
from common.typed import clean_words
from contest.core.enums import AccountKind, StakeEnd
from contest.core.models import Team
from contest.core.teams import final_team
from contest.defenses.stake_ends import lock_stake, stake_end, stake_refresh
from contest.ledger.letters import notify_posted
from contest.ledger.models import Correction, LedgerEntry
from contest.ledger.services import HALVES, MAX_CENTS, MAX_ENTRY_CHARACTERS, ledger_account, lock_accounts, move
from contest.payments.statements import TeamDebt, debts
from contest.prizes.settlement import accounts_of_teams

_SIDES = ("source__team", "source__stake__defense", "target__team", "target__stake__defense")
_ASK = "Say what was wrong: the reason is public."
_ASK_TRANSFER = "Say which transfer it was: it is public."


class MovementKind(StrEnum):
    """The kinds of movements of money from or to outside."""

    DEPOSIT = "deposit"
    RECEIPT = "receipt"
    REPAYMENT = "repayment"
    PAYMENT = "payment"


@dataclass(frozen=True, slots=True)
class Movement:
    """A ledger entry from or to outside, and how much of it was not taken back."""

    entry: LedgerEntry
    left: int

    @property
    def kind(self) -> MovementKind:
        """Return what kind of movement it is."""
        if self.entry.target.kind == AccountKind.OUTSIDE:
            return MovementKind.PAYMENT
        kinds = {AccountKind.STAKE: MovementKind.RECEIPT, AccountKind.TEAM: MovementKind.REPAYMENT}
        return kinds.get(AccountKind(self.entry.target.kind), MovementKind.DEPOSIT)


def movements(limit: int) -> list[Movement]:
    """Return the newest movements that can be corrected."""
    return _measured(_outside().order_by("-pk")[:limit])


def movement(number: int) -> Movement | None:
    """Return the movement with this entry number; None for another entry, or for a correction."""
    return next(iter(_measured(_outside().filter(pk=number))), None)


def _outside() -> QuerySet[LedgerEntry]:
    ends = Q(source__kind=AccountKind.OUTSIDE) | Q(target__kind=AccountKind.OUTSIDE)
    return LedgerEntry.objects.filter(ends, corrects=None).select_related(*_SIDES)


def _measured(rows: Iterable[LedgerEntry]) -> list[Movement]:
    entries = list(rows)
    back = LedgerEntry.objects.filter(corrects__in=[row.pk for row in entries]).order_by()
    taken = dict(back.values_list("corrects").annotate(cents=Sum("cents")))
    return [Movement(row, row.cents - taken.get(row.pk, 0)) for row in entries]


def visible_corrections() -> QuerySet[Correction]:
    """Return all corrections, the newest first."""
    people = ("asked_by", "confirmed_by", "cancelled_by")
    sides = [f"corrects__{side}" for side in _SIDES]
    return Correction.objects.select_related("team", *people, *sides).order_by("-pk")


def corrections_open() -> QuerySet[Correction]:
    """Return the corrections that wait for another organizer, the newest first."""
    return visible_corrections().filter(confirmed_at=None, cancelled_at=None)


def owed_by_teams() -> list[TeamDebt]:
    """Return the sum that each team owes, by team name; `stake` is that of its oldest debt."""
    by_team = grouped((final_team(each.team), each) for each in debts())
    in_all = [TeamDebt(team, rows[0].stake, sum(row.cents for row in rows)) for team, rows in by_team.items()]
    return sorted(in_all, key=lambda each: each.team.name)


# Asking ---------------------------------------------------------------------------------------------------------------


def correction_request(*, entry: int, cents: int, reason: str, by: User, now: datetime) -> Correction:
    """Request to take back `cents` of a movement; another organizer confirms it.

    Raises InvalidInput for an entry that is no movement, without a reason and for more than is left of it, Conflict
    (`correction_open`) while another correction of it is open, and if it can no longer be taken back.
    """
    said = clean_words(reason, field="reason", ask=_ASK, max_length=MAX_ENTRY_CHARACTERS)
    found = required(
        movement(entry),
        InvalidInput(
            "Give the number of an entry that came in or went out, and is no correction itself.",
            "invalid",
            field="entry",
        ),
    )
    _refuse_sum(found, cents)
    return _save_request(Correction(corrects=found.entry, cents=cents, reason=said, asked_by=by, asked_at=now))


def _refuse_sum(found: Movement, cents: int) -> None:
    if not found.left:
        raise Conflict("All of this entry was taken back before.", "corrected_before")
    if not 0 < cents <= found.left:
        raise InvalidInput(
            "Give a sum of one cent at least, and no more than what is left of the entry.", "invalid", field="cents"
        )
    if found.kind is MovementKind.RECEIPT and cents != found.entry.cents:
        raise InvalidInput("A stake is taken back whole: give the sum of the entry.", "invalid", field="cents")


def repayment_request(*, team: Team, cents: int, reason: str, by: User, now: datetime) -> Correction:
    """Request to record that a team repaid what it owes, or a part of it; another organizer confirms it.

    Raises InvalidInput without a reason, Conflict for more than it owes (`less_owed`) and while another repayment of
    the team is under way (`correction_open`).
    """
    said = clean_words(reason, field="reason", ask=_ASK_TRANSFER, max_length=MAX_ENTRY_CHARACTERS)
    if not 0 < cents <= MAX_CENTS:
        raise InvalidInput("Give the sum in whole cents, more than none.", "invalid", field="cents")
    team = final_team(team)
    _refuse_more_than_owed(team, cents)
    return _save_request(Correction(team=team, cents=cents, reason=said, asked_by=by, asked_at=now))


def _refuse_more_than_owed(team: Team, cents: int) -> None:
    if sum(each.cents for each in owed_by_teams() if each.team == team) < cents:
        raise Conflict(f"Team {team.name} owes less than that. Reload the page for what it owes.", "less_owed")


def _save_request(correction: Correction) -> Correction:
    try:
        with transaction.atomic():
            correction.save()
            assert correction.asked_by is not None
            _record("correction.ask", correction, correction.asked_by, correction.asked_at)
    except IntegrityError:
        raise Conflict(
            "A correction of this is under way already. Confirm it or call it off first.", "correction_open"
        ) from None
    return correction


# Confirming -----------------------------------------------------------------------------------------------------------


@transaction.atomic
def correction_confirm(*, correction_id: int, by: User, now: datetime) -> Correction:
    """Post the correction: the second organizer's part.

    Raises NotAllowed for the organizer who requested it, Conflict when it is over, if an account has too little by now
    (`not_enough`), and if the facts have changed (`corrected_before`, `stake_over`, `less_owed`).
    """
    correction = _open_under_lock(correction_id)
    if correction.asked_by_id == by.pk:
        raise NotAllowed("You asked for this correction: another organizer confirms it.", "same_person")
    correction.entry = _post(correction, by, now)
    correction.confirmed_by, correction.confirmed_at = by, now
    correction.save(update_fields=["entry", "confirmed_by", "confirmed_at"])
    notify_posted([correction.entry], now=now)
    _record("correction.confirm", correction, by, now)
    return correction


def _post(correction: Correction, by: User, now: datetime) -> LedgerEntry:
    if correction.team is not None:
        return _repaid(correction, correction.team, by, now)
    assert correction.corrects_id is not None
    found = movement(correction.corrects_id)
    assert found is not None
    if found.kind is MovementKind.RECEIPT:
        return _receipt_back(correction, found, by, now)
    needed = [found.entry.source, found.entry.target]
    if found.kind is MovementKind.DEPOSIT:
        lock_accounts([*needed, *map(ledger_account, HALVES)])
        _join_pool(correction, found.entry, by, now)
    lock_accounts(needed)
    return _back(correction, found, by, now)


def _back(correction: Correction, found: Movement, by: User, now: datetime) -> LedgerEntry:
    """Move the sum back from the target of the entry to its source; the caller has locked both accounts."""
    again = movement(found.entry.pk)
    assert again is not None
    _refuse_sum(again, correction.cents)
    return move(
        found.entry.target,
        found.entry.source,
        correction.cents,
        rule="R34",
        why=f"Correction of a {found.kind}: {correction.reason}",
        causes={"correction": [correction.pk]},
        corrects=found.entry,
        by=by,
        now=now,
    )


def _join_pool(correction: Correction, deposit: LedgerEntry, by: User, now: datetime) -> None:
    """Move what is missing in the pool back from its halves, equally from both; an odd cent stays in the pool."""
    pool = ledger_account(AccountKind.POOL)
    each = -(-max(correction.cents - pool.balance_cents, 0) // 2)
    for side in HALVES:
        if each:
            why = f"Correction of a deposit: half of it comes back from the {side.value}."
            causes = {"correction": [correction.pk], "ledger_entry": [deposit.pk]}
            move(ledger_account(side), pool, each, rule="R34", why=why, causes=causes, by=by, now=now)


def _receipt_back(correction: Correction, found: Movement, by: User, now: datetime) -> LedgerEntry:
    """Take a payment off the wrong stake: that stake is over, and the payment can be recorded for the right one."""
    assert found.entry.target.stake_id is not None
    stake = lock_stake(found.entry.target.stake_id)
    stake_refresh(stake, now=now)
    if stake.ended_at is not None:
        raise Conflict(
            f"The stake on {stake.defense.name} is over: {stake.end}. Its money follows from that.", "stake_over"
        )
    lock_accounts([found.entry.source, found.entry.target])
    entry = _back(correction, found, by, now)
    stake_end(stake, StakeEnd.WITHDRAWN, now=now, by=by)
    return entry


def _repaid(correction: Correction, team: Team, by: User, now: datetime) -> LedgerEntry:
    """Put a team's repayment on its account, from which the next sweep takes what it owes.

    That includes debts of teams merged into it.
    """
    team = final_team(team)
    outside, own = ledger_account(AccountKind.OUTSIDE), ledger_account(AccountKind.TEAM, team=team)
    lock_accounts([outside, own, *accounts_of_teams([team])])
    _refuse_more_than_owed(team, correction.cents)
    why = f"Team {team.name} gave back what it owes: {correction.reason}"
    causes = {"correction": [correction.pk], "team": [team.pk]}
    return move(outside, own, correction.cents, rule="R34", why=why, causes=causes, by=by, now=now)


@transaction.atomic
def correction_cancel(*, correction_id: int, by: User, now: datetime) -> Correction:
    """Cancel a correction before it is confirmed; Conflict when it is over."""
    correction = _open_under_lock(correction_id)
    correction.cancelled_at, correction.cancelled_by = now, by
    correction.save(update_fields=["cancelled_at", "cancelled_by"])
    _record("correction.cancel", correction, by, now)
    return correction


def _record(action: str, correction: Correction, by: User, now: datetime) -> None:
    subject: Subject = {
        "correction": [correction.pk],
        "ledger_entry": [correction.corrects_id] if correction.corrects_id else [],
        "team": [correction.team.public_id] if correction.team else [],
    }
    audit(action, by=by, subject=subject, why=correction.reason, now=now, private={"cents": correction.cents})


def _open_under_lock(correction_id: int) -> Correction:
    rows = Correction.objects.select_for_update(of=("self",)).select_related("team", "asked_by")
    missing = NotFound("There is no correction with this number.", "not_found")
    correction = required(rows.filter(pk=correction_id).first(), missing)
    if correction.confirmed_at is not None:
        raise Conflict("This correction is confirmed already. Nothing was recorded twice.", "correction_over")
    if correction.cancelled_at is not None:
        raise Conflict("This correction was called off. Ask for another one.", "correction_over")
    return correction
