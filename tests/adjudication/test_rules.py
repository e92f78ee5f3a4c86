"""The rule book's sections C and D, and what votes decide, as tables: each row says what happens and why."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudication.counting import CHOICES, ON_A_TIE, Ballot, agrees, decided_by, is_tie
from adjudication.enums import CaseKind, Reason, Verdict, VoteChoice
from adjudication.rules import (
    CountedOpinion,
    VerdictPolicy,
    adjudicate,
    adjudicate_dataset,
    equal_shares,
    passes_private_set,
)
from labeling.enums import Answer, Label
from labeling.geometry import Box
from labeling.outline_gate import class_to_outline
from policy.enums import OutlineGate
from policy.numbers import Policy

YES, MAYBE, DOUBT, NO = Answer
SIDE = 299
WHOLE = Box(0, 0, 29900, 29900)


# Half of each side is a quarter of the area; 149.5 pixels are 14950 hundredths.
QUARTER = Box(0, 0, 14950, 14950)


def bird(**changes: object) -> CountedOpinion:
    """A perfect bird, with what the row changes."""
    values: dict[str, object] = {
        "bird": YES,
        "bicycle": NO,
        "box": WHOLE,
        "complete": True,
        "unoccluded": True,
        "real": True,
    }
    return CountedOpinion(**(values | changes))  # type: ignore[arg-type]


def bicycle(**changes: object) -> CountedOpinion:
    return bird(**({"bird": NO, "bicycle": YES} | changes))


unasked = CountedOpinion  # two answers with which questions 3 and 4 are not asked


VALID = [
    ([bird()] * 3, Label.BIRD, "three perfect birds"),
    ([bicycle()] * 3, Label.BICYCLE, "three perfect bicycles"),
    ([bird()] * 5, Label.BIRD, "a larger panel is as unanimous"),
    ([bird(), bird(box=QUARTER), bird()], Label.BIRD, "the smallest box is exactly a quarter (R14, inclusive)"),
]


@pytest.mark.parametrize(("opinions", "label", "why"), VALID, ids=[row[2] for row in VALID])
def test_valid(opinions: list[CountedOpinion], label: Label, why: str) -> None:
    decision = adjudicate(opinions, VerdictPolicy(), width=SIDE, height=SIDE)
    assert (decision.verdict, decision.label, decision.reasons) == (Verdict.VALID, label, ()), why


R = Reason
REJECTED = [
    ([bird(), bird(), bird(bird=MAYBE)], [R.UNCERTAIN], "one tasker is unsure it is a bird"),
    ([bird(), bird(), unasked(DOUBT, NO)], [R.UNCERTAIN], "one tasker's best guess is no bird"),
    ([bird(), bird(), unasked(YES, DOUBT)], [R.UNCERTAIN, R.BOTH_CLASSES], "a bicycle is not excluded"),
    ([bird(), bird(), unasked(MAYBE, MAYBE)], [R.UNCERTAIN, R.BOTH_CLASSES], "unsure of both"),
    ([unasked(YES, YES)] * 3, [R.BOTH_CLASSES], "all see both"),
    ([bird(), bird(), unasked(YES, YES)], [R.BOTH_CLASSES, R.TASKERS_DISAGREE], "one sees both"),
    ([unasked(NO, NO)] * 3, [R.NEITHER_CLASS], "all see neither"),
    ([bird(), bird(), unasked(NO, NO)], [R.NEITHER_CLASS, R.TASKERS_DISAGREE], "one sees neither"),
    ([bird(), bird(), bicycle()], [R.TASKERS_DISAGREE], "one sees the other class"),
    (
        [unasked(YES, YES), unasked(NO, NO), bird()],
        [R.BOTH_CLASSES, R.NEITHER_CLASS, R.TASKERS_DISAGREE],
        "three different certainties",
    ),
    ([bird(), bicycle(bicycle=MAYBE)], [R.UNCERTAIN], "an unsure panel does not also count as disagreeing"),
    ([bird(), bird(), bird(box=None)], [R.NO_OUTLINE], "an asked outline is missing"),
    ([bird(), bird(), bird(box=Box(0, 0, 14950, 14949))], [R.TOO_SMALL], "one unit under a quarter"),
    ([bird(), bird(), bird(real=False)], [R.DEPICTION], "one says it is a painting"),
    ([bird(), bird(), bird(unoccluded=False)], [R.OCCLUDED], "one says a branch hides it"),
    ([bird(), bird(), bird(complete=False)], [R.TRUNCATED], "one says it leaves the picture"),
    ([bird(), bird(), bird(complete=None)], [R.TRUNCATED], "a missing answer counts as false (R12)"),
    (
        [bird(bird=MAYBE, box=Box(0, 0, 100, 100), complete=False, unoccluded=False, real=False), bicycle(), bird()],
        [R.UNCERTAIN, R.TOO_SMALL, R.DEPICTION, R.OCCLUDED, R.TRUNCATED],
        "all that apply, in the order of R15",
    ),
    (
        [unasked(NO, NO), bird(box=None, complete=None, unoccluded=None, real=None)],
        [R.NEITHER_CLASS, R.TASKERS_DISAGREE, R.NO_OUTLINE, R.DEPICTION, R.OCCLUDED, R.TRUNCATED],
        "who was not asked adds no reason of questions 3 and 4; who was asked and left all open adds each",
    ),
]


@pytest.mark.parametrize(("opinions", "reasons", "why"), REJECTED, ids=[row[2] for row in REJECTED])
def test_rejected(opinions: list[CountedOpinion], reasons: list[Reason], why: str) -> None:
    decision = adjudicate(opinions, VerdictPolicy(), width=SIDE, height=SIDE)
    assert (decision.verdict, decision.label, list(decision.reasons)) == (Verdict.REJECTED, None, reasons), why


BORDER = [
    (300, 300, Box(0, 0, 15000, 15000), Verdict.VALID, "exactly a quarter"),
    (300, 300, Box(0, 0, 15000, 14999), Verdict.REJECTED, "one unit under"),
    (300, 300, Box(0, 0, 15000, 15001), Verdict.VALID, "one unit over"),
    (299, 299, Box(0, 0, 29900, 7475), Verdict.VALID, "exactly a quarter, as a strip"),
    (299, 299, Box(7, 3, 29907 - 7, 7475 + 3), Verdict.REJECTED, "a strip a little narrower"),
    (1, 3, Box(0, 0, 75, 100), Verdict.VALID, "75/300 of a picture that is not square"),
    (1, 3, Box(0, 0, 75, 99), Verdict.REJECTED, "one unit under there"),
]


@pytest.mark.parametrize(("width", "height", "box", "verdict", "why"), BORDER, ids=[row[4] for row in BORDER])
def test_quarter_border_is_exact(width: int, height: int, box: Box, verdict: Verdict, why: str) -> None:
    decision = adjudicate([bird(box=box)] * 3, VerdictPolicy(), width=width, height=height)
    share = Fraction(box.area, width * height * 10_000)
    assert (decision.verdict, decision.smallest_box) == (verdict, share), why


# R10: rows are question 1 (bird), columns question 2 (bicycle), in the order yes, unsure yes, unsure no, no.
B, C = Label.BIRD, Label.BICYCLE
GATE = {
    OutlineGate.BEST_GUESS_YES: [
        [None, None, None, B],
        [None, None, None, B],
        [None, None, None, None],
        [C, C, None, None],
    ],
    OutlineGate.NOT_EXCLUDED: [
        [None, None, None, B],
        [None, None, None, B],
        [None, None, None, B],
        [C, C, C, None],
    ],
}


@pytest.mark.parametrize("gate", list(OutlineGate))
def test_gate_of_questions_3_and_4(gate: OutlineGate) -> None:
    for (row, bird_answer), (column, bicycle_answer) in product(enumerate(Answer), enumerate(Answer)):
        expected = GATE[gate][row][column]
        assert class_to_outline(bird_answer, bicycle_answer, gate) == expected, (bird_answer, bicycle_answer)


DATASET = [
    ([bird()] * 3, Label.BIRD, False, None, "a perfect bird from the bird folder"),
    ([bird(unoccluded=False)] * 3, Label.BIRD, False, None, "occlusion was allowed"),
    ([bird(unoccluded=None)] * 3, Label.BIRD, False, None, "and a blank occlusion flag is not asked for"),
    ([bird(box=Box(0, 0, 11961, 11961))] * 3, Label.BIRD, False, None, "just over 16 %"),
    ([bird(box=Box(0, 0, 11960, 11960))] * 3, Label.BIRD, False, R.TOO_SMALL, "exactly 16 % is not over it"),
    ([bird(), bird(), bird(box=None)], Label.BIRD, False, R.TOO_SMALL, "a missing box has area 0"),
    ([bird()] * 3, Label.BIRD, True, R.KNOWN_BAD, "the list of known bad pictures comes first"),
    ([bird(box=None, real=False)] * 3, Label.BIRD, False, R.TOO_SMALL, "the first reason only"),
    ([bird(real=None)] * 3, Label.BIRD, False, R.DEPICTION, "a blank flag is a problem"),
    ([bird(complete=False, real=False)] * 3, Label.BIRD, False, R.DEPICTION, "depiction before truncation"),
    ([bird(complete=None)] * 3, Label.BIRD, False, R.TRUNCATED, "blank again"),
    ([bird(), bird(), bird(bird=MAYBE)], Label.BIRD, False, R.AMBIGUOUS, "one unsure"),
    ([bird()] * 3, Label.BICYCLE, False, R.AMBIGUOUS, "a unanimous bird from the bicycle folder"),
    ([bird(), bird(), bird(real=False)], Label.BIRD, False, R.DEPICTION, "no photograph to one of three"),
    ([bird(), bird(), bird(complete=False)], Label.BIRD, False, R.TRUNCATED, "cut off to one of three"),
    ([bicycle(bicycle=MAYBE)] * 3, Label.BICYCLE, False, R.AMBIGUOUS, "surely no bird is not surely a bicycle"),
]


@pytest.mark.parametrize(("opinions", "folder", "known_bad", "reason", "why"), DATASET, ids=[row[4] for row in DATASET])
def test_dataset_policy(
    opinions: list[CountedOpinion], folder: Label, known_bad: bool, reason: Reason | None, why: str
) -> None:
    decision = adjudicate_dataset(opinions, width=SIDE, height=SIDE, folder=folder, known_bad=known_bad)
    expected = ((), folder) if reason is None else ((reason,), None)
    assert (decision.reasons, decision.label) == expected, why


def test_so_many_opinions_make_no_verdict() -> None:
    with pytest.raises(ValueError, match="at least one"):
        adjudicate([], VerdictPolicy(), width=SIDE, height=SIDE)
    with pytest.raises(ValueError, match="exactly three"):
        adjudicate_dataset([bird()] * 4, width=SIDE, height=SIDE, folder=Label.BIRD)


boxes = st.none() | st.builds(
    lambda x, y, w, h: Box(x, y, x + w, y + h),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
    st.integers(1, 19_900),
    st.integers(1, 19_900),
)


flags = st.sampled_from([True, False, None])
opinions_strategy = st.lists(
    st.builds(CountedOpinion, st.sampled_from(Answer), st.sampled_from(Answer), boxes, flags, flags, flags)
    | st.builds(bird, box=boxes)
    | st.builds(bird),
    min_size=1,
    max_size=6,
)


def slow_verdict(opinions: list[CountedOpinion], gate: OutlineGate, occlusion: bool) -> tuple[str | None, set[str]]:
    """The rule book written out a second time, sentence by sentence, without looking at the first."""
    said = [(str(o.bird), str(o.bicycle)) for o in opinions]
    reasons = set()
    if any(answer.startswith("unsure") for pair in said for answer in pair):
        reasons.add("uncertain")
    if any("definitely_no" not in pair for pair in said):
        reasons.add("both_classes")
    if ("definitely_no", "definitely_no") in said:
        reasons.add("neither_class")
    if "uncertain" not in reasons and len(set(said)) != 1:
        reasons.add("taskers_disagree")
    guesses = {"definitely_yes", "unsure_yes"} | ({"unsure_no"} if gate is OutlineGate.NOT_EXCLUDED else set())
    for o, pair in zip(opinions, said, strict=True):
        asked = (pair[0] == "definitely_no" and pair[1] in guesses) or (
            pair[1] == "definitely_no" and pair[0] in guesses
        )
        if not asked:
            continue
        reasons |= {"no_outline"} if o.box is None else set()
        reasons |= {"depiction"} if o.real is not True else set()
        reasons |= {"occluded"} if o.unoccluded is not True and not occlusion else set()
        reasons |= {"truncated"} if o.complete is not True else set()
    for o in opinions:
        if o.box and 4 * (o.box.xmax - o.box.xmin) * (o.box.ymax - o.box.ymin) < SIDE * SIDE * 10_000:
            reasons.add("too_small")
    if reasons:
        return None, reasons
    return ("bird" if said[0] == ("definitely_yes", "definitely_no") else "bicycle"), set()


def test_a_verdict_goes_by_the_numbers_of_the_contests_policy() -> None:
    contest = Policy(
        name="strict",
        min_box_fraction=Fraction(1, 3),
        outline_gate=OutlineGate.NOT_EXCLUDED,
        occlusion_allowed=True,
    )
    assert VerdictPolicy.of(contest) == VerdictPolicy("strict", Fraction(1, 3), OutlineGate.NOT_EXCLUDED, True)
    assert VerdictPolicy.of(Policy()) == VerdictPolicy()


@settings(max_examples=250)
@given(opinions_strategy, st.sampled_from(OutlineGate), st.booleans())
def test_agrees_with_an_independent_slow_implementation(
    opinions: list[CountedOpinion], gate: OutlineGate, occlusion: bool
) -> None:
    policy = VerdictPolicy(outline_gate=gate, occlusion_allowed=occlusion)
    decision = adjudicate(opinions, policy, width=SIDE, height=SIDE)
    label, reasons = slow_verdict(opinions, gate, occlusion)
    assert (decision.label, set(decision.reasons)) == (label, reasons)
    assert list(decision.reasons) == sorted(decision.reasons, key=list(Reason).index), "the order of R15"


@settings(max_examples=60)
@given(opinions_strategy, st.randoms())
def test_the_order_of_taskers_never_matters(opinions: list[CountedOpinion], rng: Random) -> None:
    shuffled = rng.sample(opinions, len(opinions))
    one, other = (adjudicate(each, VerdictPolicy(), width=SIDE, height=SIDE) for each in (opinions, shuffled))
    assert one == other


@settings(max_examples=60)
@given(opinions_strategy, st.builds(CountedOpinion, st.sampled_from(Answer), st.sampled_from(Answer), boxes))
def test_another_tasker_never_makes_a_rejected_image_valid(
    opinions: list[CountedOpinion], more: CountedOpinion
) -> None:
    before = adjudicate(opinions, VerdictPolicy(), width=SIDE, height=SIDE)
    after = adjudicate([*opinions, more], VerdictPolicy(), width=SIDE, height=SIDE)
    assert after.verdict == Verdict.REJECTED or before.verdict == Verdict.VALID


# Votes (R19) ----------------------------------------------------------------------------------------------------------

UP, MORE_TASKERS = Ballot(VoteChoice.UPHOLD), Ballot(VoteChoice.MORE_TASKERS)
BIRD = Ballot(VoteChoice.OVERRULE, label="bird")
HIDDEN = Ballot(VoteChoice.OVERRULE, reasons=("occluded",))
SMALL = Ballot(VoteChoice.OVERRULE, reasons=("too_small",))
SMALL_AND_HIDDEN = Ballot(VoteChoice.OVERRULE, reasons=("too_small", "occluded"))
FOR, AGAINST = Ballot(VoteChoice.IN_FAVOUR), Ballot(VoteChoice.AGAINST)


@pytest.mark.parametrize(
    ("ballots", "decides", "why"),
    [
        ([], UP, "nobody voted: the ruling holds"),
        ([BIRD], BIRD, "one vote, one outcome"),
        ([UP, BIRD], UP, "a tie upholds"),
        ([MORE_TASKERS, BIRD], UP, "a tie upholds, also where nobody is for it"),
        ([MORE_TASKERS, MORE_TASKERS, BIRD], MORE_TASKERS, "the most"),
        ([HIDDEN, SMALL], SMALL_AND_HIDDEN, "both reject it: the reasons are put together, in the order of the rules"),
        ([HIDDEN, SMALL, UP], SMALL_AND_HIDDEN, "two reject it, one upholds"),
        ([HIDDEN, SMALL, BIRD, BIRD, BIRD], BIRD, "three are more than two"),
        ([HIDDEN, HIDDEN, UP, UP], UP, "two and two is a tie"),
        ([HIDDEN, HIDDEN, UP, MORE_TASKERS], HIDDEN, "two are more than either one"),
        ([BIRD, BIRD, HIDDEN, HIDDEN, UP], UP, "a tie between two overrules upholds as well"),
    ],
)
def test_a_picture(ballots: list[Ballot], decides: Ballot, why: str) -> None:
    assert decided_by(ballots, CaseKind.PICTURE) == decides, why


@pytest.mark.parametrize(
    ("ballots", "decides", "why"),
    [
        ([], AGAINST, "nobody voted: nothing changes"),
        ([FOR, FOR], FOR, "all are for it"),
        ([FOR, AGAINST], AGAINST, "a tie drops the motion"),
        ([FOR, FOR, AGAINST], FOR, "two of three"),
        ([FOR, AGAINST, AGAINST], AGAINST, "two of three against"),
    ],
)
def test_a_motion(ballots: list[Ballot], decides: Ballot, why: str) -> None:
    assert decided_by(ballots, CaseKind.MOTION) == decides, why


@given(st.lists(st.sampled_from([UP, MORE_TASKERS, BIRD, HIDDEN, SMALL])))
def test_what_is_decided_has_more_votes_than_anything_else_or_is_the_tie(ballots: list[Ballot]) -> None:
    decides = decided_by(ballots, CaseKind.PICTURE)
    votes = sum(agrees(each, decides) for each in ballots)
    rivals = [sum(agrees(each, other) for each in ballots) for other in ballots if not agrees(other, decides)]
    assert is_tie(ballots) or not ballots or all(votes > each for each in rivals)
    assert not is_tie(ballots) or decides == ON_A_TIE[CaseKind.PICTURE]
    assert set(decides.reasons) == {reason for each in ballots for reason in each.reasons if agrees(each, decides)}
    assert decided_by(ballots[::-1], CaseKind.PICTURE) == decides, "the order of voting decides nothing"


def test_each_kind_has_its_own_choices() -> None:
    assert not set(CHOICES[CaseKind.PICTURE]) & set(CHOICES[CaseKind.MOTION])
    assert set(CHOICES[CaseKind.PICTURE]) | set(CHOICES[CaseKind.MOTION]) == set(VoteChoice)


@pytest.mark.parametrize(
    ("cents", "order", "follows", "why"),
    [
        (7, "abc", {"a": 3, "b": 2, "c": 2}, "the odd cent to the first"),
        (8, "abc", {"a": 3, "b": 3, "c": 2}, "two odd cents, one each"),
        (9, "abc", {"a": 3, "b": 3, "c": 3}, "none is odd"),
        (5, "", {}, "nobody shares"),
    ],
)
def test_shares_are_equal_but_for_odd_cents(cents: int, order: str, follows: dict[str, int], why: str) -> None:
    """R35."""
    assert equal_shares(cents, list(order)) == follows, why


@pytest.mark.parametrize(
    ("pictures", "right", "mistakes", "strict", "passes", "why"),
    [
        (0, 0, 0, False, False, "no pictures are never enough"),
        (1, 1, 0, True, True, "one is"),
        (10, 8, 0, True, True, "exactly 80 %"),
        (10, 7, 0, True, False, "less"),
        (10, 9, 1, True, False, "a mistake in the strict reading"),
        (10, 9, 1, False, True, "a mistake in the other"),
        (101, 80, 0, True, False, "integers: 79.2 %"),
        (99, 80, 0, True, True, "80.8 %"),
    ],
)
def test_the_private_set_is_passed(
    pictures: int, right: int, mistakes: int, strict: bool, passes: bool, why: str
) -> None:
    """R31, 1."""
    told = {"pictures": pictures, "right": right, "mistakes": mistakes, "percent": 80, "strict": strict}
    assert passes_private_set(**told) is passes, why
