"""What is written once: the balances that the database keeps (R34), and what the board decided beside pictures."""

from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, transaction

from contest.board.motions import motion_open
from contest.core.decisions import MAX_REASON_CHARACTERS, MotionMandate, record_decision
from contest.core.enums import AccountKind, DecisionKind
from contest.core.models import BoardDecision, Case
from contest.ledger.models import Account, LedgerEntry
from tests import factories
from tests.at_once import refusals_at_once
from tests.refusals import refused

pytestmark = pytest.mark.django_db


def accounts() -> list[Account]:
    """The outside, the pool and the attackers' half."""
    kinds = (AccountKind.OUTSIDE, AccountKind.POOL, AccountKind.ATTACKERS)
    return [Account.objects.create(kind=kind) for kind in kinds]


def move(source: Account, target: Account, cents: int, now: datetime) -> LedgerEntry:
    return LedgerEntry.objects.create(
        source=source, target=target, cents=cents, rule="R34", why="a test", causes={}, made_at=now
    )


def balances() -> list[int]:
    return list(Account.objects.order_by("pk").values_list("balance_cents", flat=True))


@pytest.mark.both("a trigger moves the balances, and a constraint keeps them")
def test_an_entry_moves_both_balances_and_nothing_but_the_outside_is_overdrawn(now: datetime) -> None:
    outside, pool, attackers = accounts()
    move(outside, pool, 1000, now)
    move(pool, attackers, 400, now)
    with pytest.raises(IntegrityError), transaction.atomic():
        move(pool, attackers, 601, now)
    assert (balances(), LedgerEntry.objects.count()) == ([-1000, 600, 400], 2)


@pytest.mark.parametrize(("cents", "to_itself"), [(0, False), (-5, False), (5, True)])
def test_an_entry_moves_something_between_two(cents: int, to_itself: bool, now: datetime) -> None:
    outside, pool, _ = accounts()
    with pytest.raises(IntegrityError), transaction.atomic():
        move(outside, outside if to_itself else pool, cents, now)


@pytest.mark.both("a trigger refuses it")
def test_an_entry_is_never_changed(now: datetime) -> None:
    outside, pool, _ = accounts()
    entry = LedgerEntry.objects.filter(pk=move(outside, pool, 100, now).pk)
    for change in (partial(entry.update, cents=1), entry.delete):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_many_at_once_spend_what_is_there_and_no_more(now: datetime) -> None:
    outside, pool, attackers = accounts()
    move(outside, pool, 500, now)
    there, back = partial(move, pool, attackers, 100, now), partial(move, attackers, pool, 100, now)
    done = refusals_at_once(*[back, there, there, there] * 2).count("")
    assert sum(balances()) == 0 and min(balances()[1:]) >= 0
    assert LedgerEntry.objects.count() == done + 1


# What the board decided -----------------------------------------------------------------------------------------------


def decided(by: User, now: datetime, reason: str = "Reproducible and easy to run.", **details: Any) -> BoardDecision:
    return decided_by(factories.mandate("stake", by, now), now, reason, **details)


def decided_by(by: MotionMandate, now: datetime, reason: str = "Reproducible.", **details: Any) -> BoardDecision:
    return record_decision(DecisionKind.STAKE, subject={"defense": [4, 3]}, reason=reason, by=by, now=now, **details)


def test_who_decided_what_and_why_is_on_record(rita: User, now: datetime) -> None:
    made = decided(rita, now, cents=500)
    made.refresh_from_db()
    assert (made.kind, made.subject, made.details) == ("stake", {"defense": [3, 4]}, {"cents": 500})
    assert (made.reason, made.decided_by, made.decided_at) == ("Reproducible and easy to run.", rita, now)
    assert made.policy.version == 1 and made.case is not None and made.case.motion == "stake"


MANDATES = [
    ("grant", "open", "the board carried something else"),
    ("stake", "closed", "this was decided before"),
    ("stake", "panel", "nothing of a motion is"),
]


@pytest.mark.parametrize(("kind", "state", "why"), MANDATES, ids=[row[2] for row in MANDATES])
def test_an_open_motion_of_that_kind_is_needed(kind: str, state: str, why: str, rita: User, now: datetime) -> None:
    by = factories.mandate(kind, rita, now)
    by.motion.state = state
    assert "by its votes" in refused("no_mandate", decided_by, by, now).message
    assert not BoardDecision.objects.exists()


def test_only_the_board_moves(olga: User, stan: User, now: datetime) -> None:
    for who in (olga, stan):
        told = {"subject": {"team": []}, "reason": "Why not.", "by": who, "now": now}
        assert "review board" in refused("not_on_board", motion_open, DecisionKind.GRANT, **told).message
    assert not Case.objects.exists()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("", "Give the reason"),
        (" \n", "Give the reason"),
        ("\x00", "Give the reason"),
        ("x" * (MAX_REASON_CHARACTERS + 1), "Write at most 4,000 characters"),
    ],
)
def test_a_reason_is_needed_and_bounded(reason: str, words: str, rita: User, now: datetime) -> None:
    assert words in refused("invalid", decided, rita, now, reason=reason).message


@pytest.mark.both("a trigger refuses it")
def test_a_decision_is_never_changed_and_stays_when_who_decided_is_forgotten(rita: User, now: datetime) -> None:
    by = factories.mandate("stake", rita, now)
    made = decided_by(by, now)
    assert decided_by(by, now).pk != made.pk, "a motion may take several"
    kept = BoardDecision.objects.filter(pk=made.pk)
    for change in (partial(kept.update, reason="another"), kept.delete):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()
    rita.delete()
    made.refresh_from_db()
    assert made.decided_by is None and made.reason
