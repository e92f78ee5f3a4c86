"""Rules: the verdict on a picture with its reasons (R13-R15, R17); whether a prediction is a confident mistake (R29).

Pure: standard library only, integers and fractions, the policy as an argument. The same responses and policy always
give the same verdict; the public release verifier calls this same module.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from adjudication.enums import Reason, Verdict
from labeling.enums import Answer, Label
from labeling.geometry import Box
from labeling.outline_gate import class_to_outline
from policy.enums import OutlineGate
from policy.numbers import Policy as ContestPolicy

_T = TypeVar("_T")
# Boxes are in hundredths of a pixel, so one square pixel is this many units of area.
UNITS_PER_SQUARE_PIXEL = 100 * 100


_DECIDED: dict[str, Any] = {field.name: field.default for field in fields(ContestPolicy)}


@dataclass(frozen=True, slots=True)
class VerdictPolicy:
    """The numbers of the policy that a verdict depends on. Their default values are in policy.numbers alone."""

    name: str = _DECIDED["name"]
    min_box_fraction: Fraction = _DECIDED["min_box_fraction"]
    outline_gate: OutlineGate = _DECIDED["outline_gate"]
    occlusion_allowed: bool = _DECIDED["occlusion_allowed"]

    @classmethod
    def of(cls, policy: ContestPolicy) -> "VerdictPolicy":
        """Return the numbers of the contest's policy that a verdict depends on."""
        return cls(**{each.name: getattr(policy, each.name) for each in fields(cls)})


# R17: boxes over 16 %, strictly; occlusion allowed; the first reason only.
DATASET_POLICY_NAME = "bird-or-bicycle-0.0.4"
DATASET_MIN_BOX_FRACTION = Fraction(16, 100)


@dataclass(frozen=True, slots=True)
class CountedOpinion:
    """One counted response as input of the rules. `box` is in hundredths of a pixel; None without an outline."""

    bird: Answer
    bicycle: Answer
    box: Box | None = None
    complete: bool | None = None
    unoccluded: bool | None = None
    real: bool | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say: a class exactly when valid, reasons exactly when rejected.

    `smallest_box` is the exact share of the image of the smallest box any tasker gave; None when nobody gave one.
    """

    verdict: Verdict
    label: Label | None = None
    reasons: tuple[Reason, ...] = ()
    smallest_box: Fraction | None = None


def adjudicate(opinions: Sequence[CountedOpinion], policy: VerdictPolicy, *, width: int, height: int) -> Decision:
    """Decide what a `width` x `height` pixel image shows, or why it is not unambiguous (R13-R15).

    Questions 3 and 4 count only for taskers who had to answer them (R10): the answers of the others to questions 1
    and 2 make the image fail by themselves. A required question without an answer counts as false (R12).
    """
    if not opinions:
        raise ValueError("a verdict needs at least one counted response")
    share = smallest_box_share(opinions, width=width, height=height)
    small = share is not None and share < policy.min_box_fraction
    answers = (
        _Answers(each.bird, each.bicycle, each.box is not None, each.complete, each.unoccluded, each.real)
        for each in opinions
    )
    reasons = _reasons(tuple(answers), policy, small)
    if reasons:
        return Decision(Verdict.REJECTED, reasons=reasons, smallest_box=share)
    return Decision(Verdict.VALID, label=_class_of(opinions[0]), smallest_box=share)


def smallest_box_share(opinions: Sequence[CountedOpinion], *, width: int, height: int) -> Fraction | None:
    """Return the smallest given box as an exact share of the image (R14), None without any box."""
    areas = [opinion.box.area for opinion in opinions if opinion.box is not None]
    return Fraction(min(areas), width * height * UNITS_PER_SQUARE_PIXEL) if areas else None


def is_confident_mistake(label: Label, answer: Label | None) -> bool:
    """Say whether a defense predicted the other class than the ruling's; an abstention, None, is no mistake (R29)."""
    return answer is not None and answer is not label


def _class_of(opinion: CountedOpinion) -> Label | None:
    """Return the one class of which the tasker is sure while excluding the other; None without one."""
    if opinion.bird is Answer.DEFINITELY_YES and opinion.bicycle is Answer.DEFINITELY_NO:
        return Label.BIRD
    if opinion.bicycle is Answer.DEFINITELY_YES and opinion.bird is Answer.DEFINITELY_NO:
        return Label.BICYCLE
    return None


class _Answers(NamedTuple):
    """The answers of a counted response without the position of its box."""

    bird: Answer
    bicycle: Answer
    outlined: bool
    complete: bool | None
    unoccluded: bool | None
    real: bool | None


@lru_cache(1 << 12)
def _reasons(answers: "_AllAnswers", policy: VerdictPolicy, small: bool) -> tuple[Reason, ...]:
    """Return each reason to reject; `small` says whether the smallest box is too small. Cached: answers repeat."""
    return tuple(reason for reason, applies in _OBJECTIONS if applies(answers, policy, small))


_AllAnswers = Sequence[_Answers]
_SURE = (Answer.DEFINITELY_YES, Answer.DEFINITELY_NO)


def _asked_to_outline(answers: _AllAnswers, policy: VerdictPolicy) -> list[_Answers]:
    return [each for each in answers if class_to_outline(each.bird, each.bicycle, policy.outline_gate)]


def _uncertain(answers: _AllAnswers) -> bool:
    return any(each.bird not in _SURE or each.bicycle not in _SURE for each in answers)


# Reason -> whether it applies to all answers together; `small`: the smallest box is too small. The order is
# part of the rule (R15). With no objection each of them names the same class, outlined, large enough, complete,
# unoccluded and real, which is R13.
_OBJECTIONS: tuple[tuple[Reason, Callable[[_AllAnswers, VerdictPolicy, bool], bool]], ...] = (
    (Reason.UNCERTAIN, lambda answers, policy, small: _uncertain(answers)),
    (
        Reason.BOTH_CLASSES,
        lambda answers, policy, small: any(Answer.DEFINITELY_NO not in (each.bird, each.bicycle) for each in answers),
    ),
    (
        Reason.NEITHER_CLASS,
        lambda answers, policy, small: any(each.bird is each.bicycle is Answer.DEFINITELY_NO for each in answers),
    ),
    (
        Reason.TASKERS_DISAGREE,
        lambda answers, policy, small: (
            not _uncertain(answers) and len({(each.bird, each.bicycle) for each in answers}) > 1
        ),
    ),
    (
        Reason.NO_OUTLINE,
        lambda answers, policy, small: any(not each.outlined for each in _asked_to_outline(answers, policy)),
    ),
    (Reason.TOO_SMALL, lambda answers, policy, small: small),
    (
        Reason.DEPICTION,
        lambda answers, policy, small: any(each.real is not True for each in _asked_to_outline(answers, policy)),
    ),
    (
        Reason.OCCLUDED,
        lambda answers, policy, small: (
            not policy.occlusion_allowed
            and any(each.unoccluded is not True for each in _asked_to_outline(answers, policy))
        ),
    ),
    (
        Reason.TRUNCATED,
        lambda answers, policy, small: any(each.complete is not True for each in _asked_to_outline(answers, policy)),
    ),
)

# The reasons for which the rules, or the board (R20), reject a picture, in the order of R15.
REASONS = tuple(reason for reason, _ in _OBJECTIONS)


def adjudicate_dataset(
    opinions: Sequence[CountedOpinion], *, width: int, height: int, folder: Label, known_bad: bool = False
) -> Decision:
    """Decide as the original dataset was made (R17, policy `bird-or-bicycle-0.0.4`): the first reason only.

    `folder` is the class of the folder the picture came from: a unanimous picture of the other class is dropped as
    ambiguous, as in the original dataset. A blank flag is a problem; a missing box has area 0; occlusion is allowed.
    """
    if len(opinions) != 3:
        raise ValueError(f"{DATASET_POLICY_NAME} is defined for exactly three taskers, not {len(opinions)}")
    share = smallest_box_share(opinions, width=width, height=height)
    reason = _first_dataset_objection(opinions, share, folder=folder, known_bad=known_bad)
    if reason is not None:
        return Decision(Verdict.REJECTED, reasons=(reason,), smallest_box=share)
    return Decision(Verdict.VALID, label=folder, smallest_box=share)


def _first_dataset_objection(
    opinions: Sequence[CountedOpinion], share: Fraction | None, *, folder: Label, known_bad: bool
) -> Reason | None:
    small = share is None or share <= DATASET_MIN_BOX_FRACTION
    objections = (
        (Reason.KNOWN_BAD, known_bad),
        (Reason.TOO_SMALL, small or any(each.box is None for each in opinions)),
        (Reason.DEPICTION, any(each.real is not True for each in opinions)),
        (Reason.TRUNCATED, any(each.complete is not True for each in opinions)),
        (Reason.AMBIGUOUS, any(_class_of(each) is not folder for each in opinions)),
    )
    return next((reason for reason, applies in objections if applies), None)


def passes_private_set(*, pictures: int, right: int, mistakes: int, percent: int, strict: bool) -> bool:
    """Say whether a defense's predictions on the private set pass (R31, 1); an empty set never passes.

    `mistakes` are wrong answers and faults. In the strict reading there is none.
    """
    return pictures > 0 and 100 * right >= percent * pictures and (mistakes == 0 or not strict)


def equal_shares(cents: int, order: Sequence[_T]) -> dict[_T, int]:
    """Share `cents` equally; the remaining cents go one each to the first in `order` (R35). Empty without anybody."""
    if not order:
        return {}
    share, odd = divmod(cents, len(order))
    return {each: share + (place < odd) for place, each in enumerate(order)}
