"""The questions as taskers read them: the task definition of bird-or-bicycle (R1, R9-R12). Pure.

The texts are those of the contest's founding document; only question 3 says more, because the random choice among
objects of one size is drawn by us and told (R11), and because an outline may be impossible (R15).
"""

from dataclasses import dataclass

from labeling.enums import Answer, Label, TieBreak

ANSWERS: tuple[tuple[Answer, str, str], ...] = (
    (
        Answer.DEFINITELY_YES,
        'Definitely yes (and I am confident that no other tasker will guess "no")',
        "Definitely yes",
    ),
    (Answer.UNSURE_YES, "I'm not sure, but my best guess is yes", "Not sure, best guess yes"),
    (Answer.UNSURE_NO, "I'm not sure, but my best guess is no", "Not sure, best guess no"),
    (
        Answer.DEFINITELY_NO,
        'Definitely no (and I am confident that no other tasker will guess "yes")',
        "Definitely no",
    ),
)
WHEN_ASKED = (
    "If you said that there definitely is not one class, and there maybe is the other class, then move on to the "
    "following additional questions."
)
TIE_BREAKS = {
    TieBreak.LEFTMOST: "If several are equally large, outline the left-most one.",
    TieBreak.RIGHTMOST: "If several are equally large, outline the right-most one.",
}
CANNOT_OUTLINE = "I cannot outline it"


@dataclass(frozen=True, slots=True)
class Question:
    """One of questions 1 and 2: the field, its number, a short name and the full text."""

    field: str
    number: int
    name: str
    text: str


QUESTIONS = (
    Question(
        "contains_bird",
        1,
        "Bird",
        "Does this photo contain a bird, or a depiction of a bird (e.g., a toy bird, a painting of a bird, a stuffed "
        "animal bird, a cartoon bird) anywhere in the image?",
    ),
    Question(
        "contains_bicycle",
        2,
        "Bicycle",
        "Does this photo contain a bicycle, or a depiction of a bicycle (e.g., a drawing of a bicycle, a model "
        "bicycle, a toy bicycle) anywhere in the image?",
    ),
)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Questions 3 and 4 about one class, or about either where it is not known yet."""

    outline: str
    complete: str
    unoccluded: str
    real: str


def _follow_up(noun: str, real: str) -> FollowUp:
    return FollowUp(
        outline=f"For the largest single {noun} in the image, label the pixels of the {noun}.",
        complete=f"This {noun} is complete and not truncated. It does not go outside of the image at all.",
        unoccluded=f"This {noun} is not occluded by anything else. I can see all of the {noun}.",
        real=(
            f"This is a picture of a {real}. It is not a painting, drawing, sculpture, toy, stuffed animal, or any "
            f"other sort of depiction. (It is okay if the object is a photorealistic rendering of a {noun}.)"
        ),
    )


FOLLOW_UPS = {
    Label.BIRD: _follow_up("bird", "real, live bird"),
    Label.BICYCLE: _follow_up("bicycle", "real bicycle"),
}
FOLLOW_UP_OF_EITHER = _follow_up("bird/bicycle", "[real, live bird] / [real bicycle]")
