"""The questions as taskers read them: the task definition of bird-or-bicycle (R1, R9-R12).

The texts are those of the contest's founding document; only question 3 says more, because it names the random choice
among objects of equal size (R11), and because an outline may be impossible (R15). Each sentence is
translated as a whole for each class, since nouns change the words around them in many languages.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from labeling.enums import Answer, Label, TieBreak

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ANSWERS: "tuple[tuple[Answer, StrOrPromise, StrOrPromise], ...]" = (
    (
        Answer.DEFINITELY_YES,
        _('Definitely yes (and I am confident that no other tasker will guess "no")'),
        _("Definitely yes"),
    ),
    (Answer.UNSURE_YES, _("I'm not sure, but my best guess is yes"), _("Not sure, best guess yes")),
    (Answer.UNSURE_NO, _("I'm not sure, but my best guess is no"), _("Not sure, best guess no")),
    (
        Answer.DEFINITELY_NO,
        _('Definitely no (and I am confident that no other tasker will guess "yes")'),
        _("Definitely no"),
    ),
)
WHEN_ASKED = _(
    "If you said that there definitely is not one class, and there maybe is the other class, then move on to the "
    "following additional questions."
)
TIE_BREAKS = {
    TieBreak.LEFTMOST: _("If several are equally large, outline the left-most one."),
    TieBreak.RIGHTMOST: _("If several are equally large, outline the right-most one."),
}
CANNOT_OUTLINE = _("I cannot outline it")
OUTLINE_IT = {
    Label.BIRD: _("Outline the largest single bird, or tick “I cannot outline it”."),
    Label.BICYCLE: _("Outline the largest single bicycle, or tick “I cannot outline it”."),
}


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """One of questions 1 and 2: the field, its number, a short name and the full text."""

    field: str
    number: int
    name: "StrOrPromise"
    text: "StrOrPromise"


QUESTIONS = (
    QuestionWords(
        "contains_bird",
        1,
        _("Bird"),
        _(
            "Does this photo contain a bird, or a depiction of a bird (e.g., a toy bird, a painting of a bird, a "
            "stuffed animal bird, a cartoon bird) anywhere in the image?"
        ),
    ),
    QuestionWords(
        "contains_bicycle",
        2,
        _("Bicycle"),
        _(
            "Does this photo contain a bicycle, or a depiction of a bicycle (e.g., a drawing of a bicycle, a model "
            "bicycle, a toy bicycle) anywhere in the image?"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Questions 3 and 4 about one class, or about either where it is not known yet."""

    outline: "StrOrPromise"
    complete: "StrOrPromise"
    unoccluded: "StrOrPromise"
    real: "StrOrPromise"


FOLLOW_UPS = {
    Label.BIRD: FollowUp(
        outline=_("For the largest single bird in the image, label the pixels of the bird."),
        complete=_("This bird is complete and not truncated. It does not go outside of the image at all."),
        unoccluded=_("This bird is not occluded by anything else. I can see all of the bird."),
        real=_(
            "This is a picture of a real, live bird. It is not a painting, drawing, sculpture, toy, stuffed animal, or "
            "any other sort of depiction. (It is okay if the object is a photorealistic rendering of a bird.)"
        ),
    ),
    Label.BICYCLE: FollowUp(
        outline=_("For the largest single bicycle in the image, label the pixels of the bicycle."),
        complete=_("This bicycle is complete and not truncated. It does not go outside of the image at all."),
        unoccluded=_("This bicycle is not occluded by anything else. I can see all of the bicycle."),
        real=_(
            "This is a picture of a real bicycle. It is not a painting, drawing, sculpture, toy, stuffed animal, or "
            "any other sort of depiction. (It is okay if the object is a photorealistic rendering of a bicycle.)"
        ),
    ),
}
FOLLOW_UP_OF_EITHER = FollowUp(
    outline=_("For the largest single bird/bicycle in the image, label the pixels of the bird/bicycle."),
    complete=_("This bird/bicycle is complete and not truncated. It does not go outside of the image at all."),
    unoccluded=_("This bird/bicycle is not occluded by anything else. I can see all of the bird/bicycle."),
    real=_(
        "This is a picture of a [real, live bird] / [real bicycle]. It is not a painting, drawing, sculpture, toy, "
        "stuffed animal, or any other sort of depiction. (It is okay if the object is a photorealistic rendering of a "
        "bird/bicycle.)"
    ),
)
