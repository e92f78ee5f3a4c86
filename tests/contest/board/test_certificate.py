"""The certificate of a ruling: which rule fails by whose answer, and always what the verdict itself says (R13-R15)."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.enums import Reason
from adjudication.rules import REASONS, CountedOpinion, VerdictPolicy, adjudicate
from contest.record.certificate import QUESTIONS, certificate_of, percent
from labeling.enums import Answer
from labeling.geometry import Box
from policy.enums import OutlineGate

SIDE = 100
LARGE, SMALL = Box(0, 0, 9_000, 9_000), Box(0, 0, 4_000, 4_000)
YES, MAYBE, MAYBE_NOT, NO = Answer.DEFINITELY_YES, Answer.UNSURE_YES, Answer.UNSURE_NO, Answer.DEFINITELY_NO
UNASKED: dict[str, Any] = {"box": None, "complete": None, "unoccluded": None, "real": None}


def said(**more: Any) -> CountedOpinion:
    told: dict[str, Any] = {"bird": YES, "bicycle": NO, "box": LARGE, "complete": True, "unoccluded": True}
    return CountedOpinion(**(told | {"real": True} | more))


# Reason, what the second of three says, whose answers fail it, and the cells that are marked.
TABLE: list[tuple[Reason, CountedOpinion, tuple[int, ...], set[tuple[int, str]]]] = [
    (Reason.UNCERTAIN, said(bird=MAYBE), (1,), {(1, "bird")}),
    (Reason.UNCERTAIN, said(bicycle=MAYBE_NOT, **UNASKED), (1,), {(1, "bicycle")}),
    (Reason.BOTH_CLASSES, said(bicycle=YES, **UNASKED), (1,), {(1, "bird"), (1, "bicycle")}),
    (Reason.NEITHER_CLASS, said(bird=NO, **UNASKED), (1,), {(1, "bird"), (1, "bicycle")}),
    (
        Reason.TASKERS_DISAGREE,
        said(bird=NO, bicycle=YES),
        (0, 1, 2),
        {(place, question) for place in range(3) for question in ("bird", "bicycle")},
    ),
    (Reason.NO_OUTLINE, said(box=None), (1,), {(1, "outline")}),
    (Reason.TOO_SMALL, said(box=SMALL), (1,), {(1, "outline")}),
    (Reason.DEPICTION, said(real=False), (1,), {(1, "real")}),
    (Reason.DEPICTION, said(real=None), (1,), {(1, "real")}),
    (Reason.OCCLUDED, said(unoccluded=False), (1,), {(1, "unoccluded")}),
    (Reason.TRUNCATED, said(complete=False), (1,), {(1, "complete")}),
]


@pytest.mark.parametrize(("reason", "odd", "whose", "cells"), TABLE, ids=[each[0].value for each in TABLE])
def test_each_reason_names_whose_answer_fails_it(
    reason: Reason, odd: CountedOpinion, whose: tuple[int, ...], cells: set[tuple[int, str]]
) -> None:
    found = certificate_of([said(), odd, said()], VerdictPolicy(), width=SIDE, height=SIDE)
    line = next(each for each in found.lines if each.reason is reason)
    assert (line.met, line.whose) == (False, whose)
    assert {cell for cell, reasons in found.cells.items() if reason in reasons} == cells


def test_a_valid_picture_meets_every_rule_and_marks_nothing() -> None:
    found = certificate_of([said()] * 3, VerdictPolicy(), width=SIDE, height=SIDE)
    assert tuple(each.reason for each in found.lines) == REASONS, "in the order of the reasons"
    assert [each.met for each in found.lines] == [True] * len(REASONS)
    assert (found.cells, {each.whose for each in found.lines}) == ({}, {()})


@pytest.mark.parametrize(
    ("opinions", "policy", "reason", "note"),
    [
        (
            [said()] * 3,
            VerdictPolicy(),
            Reason.TOO_SMALL,
            "81.00\N{NO-BREAK SPACE}% of at least 25.00\N{NO-BREAK SPACE}%.",
        ),
        ([said(bird=NO, **UNASKED)] * 3, VerdictPolicy(), Reason.TOO_SMALL, "Nobody outlined anything."),
        ([said(bird=NO, **UNASKED)] * 3, VerdictPolicy(), Reason.OCCLUDED, "Nobody was asked (R10)."),
        (
            [said(unoccluded=False)] * 3,
            VerdictPolicy(occlusion_allowed=True),
            Reason.OCCLUDED,
            "The policy of this panel",
        ),
        (
            [said(), said(bird=MAYBE), said()],
            VerdictPolicy(),
            Reason.TASKERS_DISAGREE,
            "Counts among taskers who are all",
        ),
    ],
    ids=["share", "no outline", "not asked", "allowed", "unsure"],
)
def test_a_line_says_what_the_policy_makes_of_it(
    opinions: list[CountedOpinion], policy: VerdictPolicy, reason: Reason, note: str
) -> None:
    found = certificate_of(opinions, policy, width=SIDE, height=SIDE)
    assert next(each for each in found.lines if each.reason is reason).note.startswith(note)


def test_exactly_the_limit_is_enough_and_the_least_below_it_never_reads_as_the_limit() -> None:
    exact, less = Box(0, 0, 5_000, 5_000), Box(0, 0, 5_000, 4_999)
    for box, met in ((exact, True), (less, False)):
        found = certificate_of([said(box=box)] * 3, VerdictPolicy(), width=SIDE, height=SIDE)
        line = next(each for each in found.lines if each.reason is Reason.TOO_SMALL)
        assert (line.met, line.note.startswith("25.00\N{NO-BREAK SPACE}%")) == (met, met)
    assert percent(Fraction(2_499_999, 10_000_000)) == "24.99\N{NO-BREAK SPACE}%"


ANSWERS = st.sampled_from(list(Answer))
TRUTH = st.sampled_from([True, False, None])
OPINIONS = st.lists(
    st.builds(
        CountedOpinion,
        bird=ANSWERS,
        bicycle=ANSWERS,
        box=st.sampled_from([None, LARGE, SMALL]),
        complete=TRUTH,
        unoccluded=TRUTH,
        real=TRUTH,
    ),
    min_size=3,
    max_size=5,
)
POLICIES = st.builds(VerdictPolicy, outline_gate=st.sampled_from(list(OutlineGate)), occlusion_allowed=st.booleans())


@given(opinions=OPINIONS, policy=POLICIES)
def test_the_certificate_says_what_the_verdict_says(opinions: list[CountedOpinion], policy: VerdictPolicy) -> None:
    found = certificate_of(opinions, policy, width=SIDE, height=SIDE)
    decision = adjudicate(opinions, policy, width=SIDE, height=SIDE)
    assert tuple(line.reason for line in found.lines if not line.met) == decision.reasons
    # Whoever is named made the rule fail: without a failing rule nobody is, with one somebody is, in a marked cell.
    for line in found.lines:
        assert bool(line.whose) is not line.met
        for place in line.whose:
            assert any(line.reason in found.cells.get((place, question), ()) for question in QUESTIONS)
