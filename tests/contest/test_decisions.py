"""What the board decided beside pictures, by a mandate, with a reason that is public."""

from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from common.errors import InvalidInput, NotAllowed
from contest.board.motions import motion_open
from contest.decisions import MOST_REASON_CHARACTERS, Mandate, decide
from contest.enums import DecisionKind
from contest.models import BoardDecision, Case
from tests import factories

pytestmark = pytest.mark.django_db


def decided(by: User, now: datetime, reason: str = "Reproducible and easy to run.", **details: Any) -> BoardDecision:
    return decided_by(factories.mandate("stake", by, now), now, reason, **details)


def decided_by(by: Mandate, now: datetime, reason: str = "Reproducible.", **details: Any) -> BoardDecision:
    return decide(DecisionKind.STAKE, subject={"defense": [4, 3]}, reason=reason, by=by, now=now, **details)


def test_who_decided_what_and_why_is_on_record(rita: User, now: datetime) -> None:
    made = decided(rita, now, cents=500)
    made.refresh_from_db()
    assert (made.kind, made.subject, made.details) == ("stake", {"defense": [3, 4]}, {"cents": 500})
    assert (made.reason, made.decided_by, made.decided_at) == ("Reproducible and easy to run.", rita, now)
    assert made.policy.version == 1
    assert made.case is not None and made.case.motion == "stake"


MANDATES = [
    ("grant", "open", "the board carried something else"),
    ("stake", "closed", "this was decided before"),
    ("stake", "panel", "nothing of a motion is"),
]


@pytest.mark.parametrize(("kind", "state", "why"), MANDATES, ids=[row[2] for row in MANDATES])
def test_an_open_motion_of_that_kind_is_needed(kind: str, state: str, why: str, rita: User, now: datetime) -> None:
    by = factories.mandate(kind, rita, now)
    by.motion.state = state
    with pytest.raises(NotAllowed, match="by its votes") as refused:
        decided_by(by, now)
    assert refused.value.code == "no_mandate", why
    assert not BoardDecision.objects.exists()


def test_a_motion_may_take_several_decisions(rita: User, now: datetime) -> None:
    by = factories.mandate("stake", rita, now)
    assert decided_by(by, now).pk != decided_by(by, now).pk


def test_only_the_board_moves(olga: User, stan: User, now: datetime) -> None:
    for who in (olga, stan):
        with pytest.raises(NotAllowed, match="review board"):
            motion_open(DecisionKind.GRANT, subject={"team": []}, reason="Why not.", by=who, now=now)
    assert not Case.objects.exists()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("", "Give the reason"),
        (" \n", "Give the reason"),
        ("\x00", "Give the reason"),
        ("x" * (MOST_REASON_CHARACTERS + 1), "Write at most 4,000 characters"),
    ],
)
def test_a_reason_is_needed_and_bounded(reason: str, words: str, rita: User, now: datetime) -> None:
    with pytest.raises(InvalidInput, match=words):
        decided(rita, now, reason=reason)


def test_a_decision_is_never_changed(rita: User, now: datetime) -> None:
    made = decided(rita, now)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        BoardDecision.objects.filter(pk=made.pk).update(reason="another")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        BoardDecision.objects.filter(pk=made.pk).delete()


def test_who_decided_can_be_forgotten_and_the_decision_stays(rita: User, now: datetime) -> None:
    made = decided(rita, now)
    rita.delete()
    made.refresh_from_db()
    assert made.decided_by is None and made.reason
