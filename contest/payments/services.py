"""Services for payments to teams: one organizer requests, another confirms; no provider is called (R34, R38)."""

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from common.audit.trail import Subject, audit
from common.errors import Conflict, InvalidInput, NotAllowed, NotFound, required
from contest.core.enums import AccountKind
from contest.core.models import Team
from contest.ledger.letters import notify_paid
from contest.ledger.models import Payment
from contest.ledger.services import ledger_account, lock_accounts, move
from contest.payments.payable import payable
from contest.prizes.settlement import accounts_of_teams

MAX_REFERENCE_CHARACTERS = 200


def payments_open() -> QuerySet[Payment]:
    """Return the requested payments that are neither paid nor cancelled, the oldest first."""
    rows = Payment.objects.filter(paid_at__isnull=True, cancelled_at__isnull=True)
    return rows.select_related("team", "asked_by").order_by("asked_at", "pk")


def payments_over() -> QuerySet[Payment]:
    """Return the payments that were paid or cancelled, the newest first."""
    over = Payment.objects.exclude(paid_at=None, cancelled_at=None).select_related("team", "asked_by", "paid_by")
    return over.select_related("entry").prefetch_related("entry__corrections").order_by("-pk")


def payments_to(teams: Iterable[Team]) -> QuerySet[Payment]:
    """Return the payments to these teams, under way or over, the newest first."""
    rows = Payment.objects.filter(team__in=teams).select_related("team", "entry").order_by("-pk")
    return rows.prefetch_related("entry__corrections")


def payment_numbered(number: int) -> Payment:
    """Return the payment with this number; NotFound when there is none."""
    rows = Payment.objects.select_related("team", "asked_by", "paid_by").filter(pk=number)
    return required(rows.first(), NotFound("There is no payment with this number.", "not_found"))


def payment_request(*, team: Team, by: User, now: datetime) -> Payment:
    """Request a payment of all that can be paid to a team now; another organizer pays it.

    Raises Conflict when nothing is due, and while a payment to the team is under way.
    """
    due = payable(team, now=now).due
    if not due:
        raise Conflict(f"Nothing is due to team {team.name} now. Reload the page for what waits.", "nothing_due")
    try:
        with transaction.atomic():
            payment = Payment.objects.create(team=team, cents=due, asked_by=by, asked_at=now)
            _record("payment.ask", payment, by, now)
            return payment
    except IntegrityError:
        raise Conflict(
            f"A payment to team {team.name} is under way already. Mark it as paid or cancel it first.", "payment_open"
        ) from None


@transaction.atomic
def payment_pay(*, payment_id: int, reference: str, by: User, now: datetime) -> Payment:
    """Record that the money went out, with the bank's reference: the second organizer's part.

    Raises NotAllowed for the organizer who requested it, InvalidInput without a reference, Conflict when it is over, or
    when the team's account or the payable part of it became less meanwhile.
    """
    said = reference.replace("\x00", "").strip()
    if not said or len(said) > MAX_REFERENCE_CHARACTERS:
        raise InvalidInput(
            f"Give the bank's reference of the payment, in at most {MAX_REFERENCE_CHARACTERS} characters.",
            "invalid",
            field="reference",
        )
    payment = _open_under_lock(payment_id)
    if payment.asked_by_id == by.pk:
        raise NotAllowed("You asked for this payment: another organizer marks it as paid.", "same_person")
    own, outside = ledger_account(AccountKind.TEAM, team=payment.team), ledger_account(AccountKind.OUTSIDE)
    lock_accounts([own, outside, *accounts_of_teams([payment.team])])  # what waits, waits for all of them together
    if payable(payment.team, now=now).due < payment.cents:
        raise Conflict(
            "Nothing was recorded: less is due to this team than was asked for. Cancel the payment and ask again.",
            "less_due",
        )
    causes = {"payment": [payment.pk]}
    why = f"Paid to team {payment.team.name}."
    payment.entry = move(own, outside, payment.cents, rule="R34", why=why, causes=causes, by=by, now=now)
    payment.paid_by, payment.paid_at, payment.reference = by, now, said
    payment.save(update_fields=["entry", "paid_by", "paid_at", "reference"])
    notify_paid(payment, now=now)
    _record("payment.pay", payment, by, now)
    return payment


@transaction.atomic
def payment_cancel(*, payment_id: int, by: User, now: datetime) -> Payment:
    """Cancel a payment before it is paid; Conflict when it is over."""
    payment = _open_under_lock(payment_id)
    payment.cancelled_at, payment.cancelled_by = now, by
    payment.save(update_fields=["cancelled_at", "cancelled_by"])
    _record("payment.cancel", payment, by, now)
    return payment


def _record(action: str, payment: Payment, by: User, now: datetime) -> None:
    told = {"cents": payment.cents, "reference": payment.reference}
    subject: Subject = {"team": [payment.team.public_id], "payment": [payment.pk]}
    audit(action, by=by, subject=subject, now=now, private=told)


def _open_under_lock(payment_id: int) -> Payment:
    rows = Payment.objects.select_for_update(of=("self",)).select_related("team", "asked_by")
    missing = NotFound("There is no payment with this number.", "not_found")
    payment = required(rows.filter(pk=payment_id).first(), missing)
    if payment.paid_at is not None:
        raise Conflict("This payment is marked as paid already. Nothing was recorded twice.", "payment_over")
    if payment.cancelled_at is not None:
        raise Conflict("This payment was cancelled. Ask for another one.", "payment_over")
    return payment
