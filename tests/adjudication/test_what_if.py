"""What other numbers would have made of the responses there are: which verdicts turn, and that nothing is written."""

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from adjudication.enums import DecidedBy, Reason, Verdict
from adjudication.models import Ruling
from adjudication.rules import Policy
from adjudication.services import panels_settle
from adjudication.what_if import Numbers, pictures_decided, try_out
from labeling.enums import Answer, Label, OutlineGate
from labeling.models import Panel
from labeling.selectors import policy_in_force
from tests import factories

pytestmark = pytest.mark.django_db

AS_IT_IS = Numbers(Policy(), 3)
FIFTH = (0, 0, 13450, 13450)  # 20.2 % of the picture
NOTHING_THERE: dict[str, Any] = {"bird": Answer.DEFINITELY_NO, "box": None, "complete": None, "unoccluded": None}
NOTHING_THERE["real"] = None


def picture(now: datetime, *said: dict[str, Any], size: int = 3) -> Panel:
    """A picture that was ruled on by what three taskers said; who says nothing says that there is a fine bird."""
    panel = factories.panel(size=size)
    for n in range(size):
        factories.response(factories.tasker(f"{panel.pk}-{n}"), panel, **(said[n] if n < len(said) else {}))
    panels_settle(policy_at=policy_in_force, now=now)
    return panel


@pytest.mark.parametrize(
    ("said", "numbers", "label", "reasons"),
    [
        ({"box": FIFTH}, Policy(min_box_fraction=Fraction(1, 5)), Label.BIRD, ()),
        ({"unoccluded": False}, Policy(occlusion_allowed=True), Label.BIRD, ()),
        ({"box": (0, 0, 20000, 20000)}, Policy(min_box_fraction=Fraction(1, 2)), None, (Reason.TOO_SMALL,)),
        ({"box": FIFTH, "unoccluded": False}, Policy(occlusion_allowed=True), None, (Reason.TOO_SMALL,)),
        (
            {"bird": Answer.UNSURE_NO, "box": None, "complete": None, "unoccluded": None, "real": None},
            Policy(outline_gate=OutlineGate.NOT_EXCLUDED),
            None,
            (Reason.UNCERTAIN, Reason.NO_OUTLINE, Reason.DEPICTION, Reason.OCCLUDED, Reason.TRUNCATED),
        ),
    ],
)
def test_what_would_be_different(
    said: dict[str, Any], numbers: Policy, label: Label | None, reasons: tuple[Reason, ...], now: datetime
) -> None:
    factories.policy_version()
    panel = picture(now, said)
    before = Ruling.objects.values().get()
    [change] = try_out(Numbers(numbers, 3)).changes
    assert change.image == panel.image
    assert change.after is not None
    assert (change.after.label, change.after.reasons) == (label, reasons)
    assert change.turns == (change.before != label)
    assert Ruling.objects.values().get() == before, "nothing is written"


@pytest.mark.parametrize(
    ("said", "asked", "missing"),
    [
        ({}, 4, True),  # valid by three: a fourth might have disagreed
        (NOTHING_THERE, 4, False),  # another answer never makes a rejected picture valid
    ],
)
def test_more_taskers(said: dict[str, Any], asked: int, missing: bool, now: datetime) -> None:
    factories.policy_version()
    picture(now, said)
    found = try_out(Numbers(Policy(), asked))
    assert found.looked == 1
    assert [change.after for change in found.changes] == ([None] if missing else [])
    assert not any(change.turns for change in found.changes)


def test_fewer_taskers_are_the_first_ones(now: datetime) -> None:
    factories.policy_version()
    picture(now, {}, {}, {}, NOTHING_THERE, size=4)
    [change] = try_out(AS_IT_IS).changes
    assert (change.before, change.after and change.after.label) == (None, Label.BIRD)


def test_the_numbers_that_were_in_force_change_nothing(now: datetime) -> None:
    factories.policy_version()
    for said in ({}, {"box": FIFTH}, NOTHING_THERE, {"unoccluded": False}):
        picture(now, said)
    assert (try_out(AS_IT_IS).looked, try_out(AS_IT_IS).changes) == (4, ())


def test_parts_follow_each_other_until_nothing_is_left(now: datetime) -> None:
    factories.policy_version()
    panels = [picture(now, {"box": FIFTH}) for _ in range(3)]
    wider = Numbers(Policy(min_box_fraction=Fraction(1, 5)), 3)
    first = try_out(wider, most=2)
    second = try_out(wider, behind=first.through or 0, most=2)
    last = try_out(wider, behind=second.through or 0, most=2)
    assert [each.image_id for part in (first, second) for each in (c.ruling for c in part.changes)] == [
        panel.image_id for panel in panels
    ]
    assert (first.looked, second.looked, last) == (2, 1, replace(last, looked=0, through=None, changes=()))
    assert pictures_decided() == 3


def test_what_the_board_decided_is_left_out(now: datetime) -> None:
    factories.policy_version()
    panel = picture(now, {"box": FIFTH})
    ruling = Ruling.objects.get()
    Ruling.objects.create(
        image=panel.image,
        number=2,
        panel=panel,
        verdict=Verdict.VALID,
        label="bird",
        policy=ruling.policy,
        response_ids=ruling.response_ids,
        decided_at=now + timedelta(1),
        decided_by=DecidedBy.BOARD,
        explanation="The box of one tasker misses the tail.",
    )
    assert pictures_decided() == 0
    assert try_out(Numbers(Policy(min_box_fraction=Fraction(1, 5)), 3)).looked == 0
