"""Template context of the labeling page: questions with values and errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from common.times import to_the_second
from labeling import wording
from labeling.answers import MAX_SECONDS
from labeling.enums import Answer, Label, TieBreak
from labeling.instructions import news_since
from labeling.learning.examples import instruction_examples
from labeling.marking import STATEMENTS
from labeling.models import Tasker
from labeling.notices import notices_json
from labeling.outline_gate import class_to_outline
from labeling.pages.label_words import page_words
from labeling.preferences import (
    ACTIONS,
    LOOKS,
    NAMED_KEYS,
    instructions_read,
    key_bindings,
    key_hints,
    tasker_preferences,
)
from labeling.questions.report_words import KIND_WORDS
from labeling.selectors import HeldByOthers
from policy.enums import OutlineGate
from policy.numbers import Policy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

_CHOOSE = _("Choose one of the four answers.")
_TRUE_OR_FALSE = _("Choose true or false.")
_NOT_ASKED = _("This is not asked with these answers to questions 1 and 2: choose “not asked”.")
_NO_OUTLINE_ASKED = _("No outline is asked with these answers to questions 1 and 2: leave the field empty.")


# How long an answer can be undone before it is sent.
HOLD_SECONDS = 5
# Every module that the page's script needs, so that the browser fetches them side by side and not one after the other.
MODULES = tuple(
    f"js/{name}.js"
    for name in (
        "csrf",
        "dom",
        "geometry",
        "geometry_plane",
        "label_actions",
        "label_answers",
        "label_api",
        "label_bar",
        "label_dialogs",
        "label_draft_keeper",
        "label_drafts",
        "label_empty",
        "label_form",
        "label_keys",
        "label_leases",
        "label_news",
        "label_outbox",
        "label_picture",
        "label_pictures",
        "label_sheet",
        "label_use",
        "label_words",
        "outline_corner_list",
        "outline_drawing",
        "outline_editor",
        "outline_fineness",
        "outline_gestures",
        "outline_hits",
        "outline_keyboard",
        "outline_keys",
        "outline_loupe",
        "outline_minimap",
        "outline_model",
        "outline_mouse",
        "outline_pointers",
        "outline_scene",
        "outline_steps",
        "outline_touch",
        "outline_trace",
        "outline_view",
        "outline_viewport",
        "outline_words",
        "passkeys",
    )
)


@dataclass(frozen=True, slots=True)
class FormChoice:
    """One answer as a button: `action` is what its key does, `hint` that key as printed."""

    value: str
    text: "StrOrPromise"
    short: "StrOrPromise"
    action: str
    hint: str
    checked: bool


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """Question 1 or 2 on the page."""

    question: wording.QuestionWords
    choices: list[FormChoice]
    error: "StrOrPromise"
    open: bool

    @property
    def short(self) -> "StrOrPromise":
        """Return the chosen answer in short, or nothing."""
        return next((choice.short for choice in self.choices if choice.checked), "")


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """One statement of question 4 on the page."""

    field: str
    action: str
    hint: str
    text: "StrOrPromise"
    value: str
    error: "StrOrPromise"


@dataclass(frozen=True, slots=True)
class ShownForm:
    """The whole form. `values` are the posted text fields, `errors` what to change by field, `keys` those in use."""

    values: Mapping[str, str]
    errors: Mapping[str, str]
    gate: OutlineGate
    keys: Mapping[str, str]

    @property
    def asked(self) -> Label | None:
        """Return the class of questions 3 and 4 for the values filled in so far (R10)."""
        bird, bicycle = (_answer(self.values.get(question.field)) for question in wording.QUESTIONS)
        return class_to_outline(bird, bicycle, self.gate) if bird and bicycle else None

    @property
    def questions(self) -> list[ShownQuestion]:
        """Return questions 1 and 2; the first one, and any with an error, is expanded."""
        return [
            ShownQuestion(
                question=question,
                choices=self._choices(question.field),
                error=_CHOOSE if question.field in self.errors else "",
                open=question.field in self.errors or (question.number == 1 and not self.errors),
            )
            for question in wording.QUESTIONS
        ]

    def _choices(self, field: str) -> list[FormChoice]:
        return [
            FormChoice(str(answer), text, short, *self._key(number), checked=self.values.get(field) == answer)
            for number, (answer, text, short) in enumerate(wording.ANSWERS, start=1)
        ]

    def _key(self, number: int) -> tuple[str, str]:
        action = f"choice_{number}"
        return action, self.keys[action]

    @property
    def follow_up(self) -> wording.FollowUp:
        """Return the words of questions 3 and 4: of one class where it is known."""
        return wording.FOLLOW_UPS[self.asked] if self.asked else wording.FOLLOW_UP_OF_EITHER

    @property
    def statements(self) -> list[ShownStatement]:
        """Return the three statements of question 4."""
        return [
            ShownStatement(
                field,
                *self._key(number),
                text=getattr(self.follow_up, field),
                value=self.values.get(field, ""),
                error=self._statement_error(field),
            )
            for number, field in enumerate(STATEMENTS, start=1)
        ]

    def _statement_error(self, field: str) -> "StrOrPromise":
        if field not in self.errors:
            return ""
        return _TRUE_OR_FALSE if self.asked else _NOT_ASKED

    @property
    def outline(self) -> str:
        """Return the outline as typed."""
        return self.values.get("outline", "")

    @property
    def cannot_outline(self) -> bool:
        """Return whether the box "nothing can be outlined" is ticked (R15)."""
        return bool(self.values.get("cannot_outline"))

    @property
    def outline_error(self) -> "StrOrPromise":
        """Return what to change in the outline."""
        if "outline" not in self.errors:
            return ""
        if self.asked is None:
            return _NO_OUTLINE_ASKED
        if self.outline.strip():
            return self.errors["outline"]
        return wording.OUTLINE_IT[self.asked]


def _answer(value: str | None) -> Answer | None:
    return Answer(value) if value in list(Answer) else None


@dataclass(frozen=True, slots=True)
class LabelPage:
    """A page with the form: its API calls, where it posts without a script, its title, and whether it loads ahead.

    The qualification has its own page with the same form (R5). Its API has the same shape under `api`:
    `next/`, `{id}/heartbeat/`, `{id}/response/` and `{id}/release/`.
    """

    api: str
    action: str
    title: "StrOrPromise"
    ahead: bool = True


def labeling_desk() -> LabelPage:
    """Return the page on which pictures are labeled."""
    return LabelPage(
        api=reverse("assignment-next").removesuffix("next/"), action=reverse("label"), title=_("Label a picture")
    )


def label_context(
    assignment: Mapping[str, Any] | None,
    *,
    desk: LabelPage,
    tasker: Tasker,
    policy: Policy,
    now: datetime,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    refused: str = "",
    held: HeldByOthers | None = None,
    retry_after: int = 0,
) -> dict[str, Any]:
    """Return the context of `labeling/label.html`: the form for `assignment`, in the form of the API, or null.

    `values` are the text fields of a plain POST that was refused with `errors` by field and `refused` in words.
    """
    data = page_data(assignment, desk=desk, tasker=tasker, policy=policy, retry_after=retry_after)
    return {
        "assignment": assignment,
        "tie_break": wording.TIE_BREAKS[TieBreak(assignment["tie_break"])] if assignment else "",
        "form": ShownForm(values or {}, errors or {}, _gate(assignment, policy), key_hints(tasker)),
        "hidden": hidden_fields(assignment, now=now),
        "refused": refused,
        "held": held,
        "held_until": to_the_second(held.until, tasker.time_zone or policy.time_zone) if held else "",
        "desk": desk,
        "report_kinds": KIND_WORDS,
        "modules": MODULES,
        "page_data": data,
        **instructions_context(tasker=tasker, policy=policy, now=now),
    }


def instructions_context(*, tasker: Tasker | None, policy: Policy, now: datetime) -> dict[str, Any]:
    """Return the context of the instructions: version, the form's words, the tasker's keys, and the clarifications."""
    news = news_since(0, now=now)
    return {
        "questions": wording.QUESTIONS,
        "answers": wording.ANSWERS,
        "when_asked": wording.WHEN_ASKED,
        "either": wording.FOLLOW_UP_OF_EITHER,
        "cannot_outline": wording.CANNOT_OUTLINE,
        "lease_minutes": policy.lease_seconds // 60,
        "keys": key_hints(tasker),
        "examples": instruction_examples(),
        "version": news[0] if news else None,
        "clarifications": [each for each in news if each.clarification],
    }


def page_data(
    assignment: Mapping[str, Any] | None, *, desk: LabelPage, tasker: Tasker, policy: Policy, retry_after: int
) -> dict[str, Any]:
    """Return the initial data of the page's script: the assignment, URLs, words, gates."""
    return {
        "assignment": assignment,
        "retryAfter": retry_after,
        "ahead": desk.ahead,
        "breakMinutes": policy.break_minutes,
        "holdSeconds": HOLD_SECONDS if desk.ahead else 0,
        "maxSeconds": MAX_SECONDS,
        "gates": {gate: gate_table(gate) for gate in OutlineGate},
        "followUps": {label: _words(follow_up) for label, follow_up in wording.FOLLOW_UPS.items()},
        "tieBreaks": wording.TIE_BREAKS,
        "words": page_words(),
        **_of_tasker(tasker),
        **_addresses(desk),
    }


def _gate(assignment: Mapping[str, Any] | None, policy: Policy) -> OutlineGate:
    return OutlineGate(assignment["outline_gate"]) if assignment else policy.outline_gate


def _of_tasker(tasker: Tasker) -> dict[str, Any]:
    preferences = tasker_preferences(tasker)
    keys = key_bindings(tasker)
    return {
        "username": tasker.user.get_username() if tasker.user else "",
        "language": get_language(),
        "timeZone": tasker.time_zone,
        "instructionsRead": instructions_read(tasker),
        "looks": {name: preferences[name] for name in LOOKS},
        "keys": {
            "actions": [{"name": each.name, "words": each.words, "key": keys[each.name]} for each in ACTIONS],
            "hints": NAMED_KEYS,
        },
        "notices": notices_json(tasker),
    }


def _addresses(desk: LabelPage) -> dict[str, str]:
    return {
        "api": desk.api,
        "signIn": reverse("sign-in"),
        "newsUrl": reverse("instructions-news"),
        "preferencesUrl": reverse("preferences"),
        "noticesUrl": reverse("notices"),
        "questionsUrl": reverse("question-ask"),
        "myWorkUrl": reverse("my-work"),
    }


def _words(follow_up: wording.FollowUp) -> "dict[str, StrOrPromise]":
    return {field: getattr(follow_up, field) for field in ("outline", *STATEMENTS)}


def gate_table(gate: OutlineGate) -> dict[str, str]:
    """Return `"<bird> <bicycle>" -> class` for each pair of answers that asks questions 3 and 4 (R10).

    The browser looks answers up here, so that the rule is defined in one place.
    """
    pairs = ((bird, bicycle, class_to_outline(bird, bicycle, gate)) for bird in Answer for bicycle in Answer)
    return {f"{bird} {bicycle}": asked.value for bird, bicycle, asked in pairs if asked}


def hidden_fields(assignment: Mapping[str, Any] | None, *, now: datetime) -> dict[str, str]:
    """Return the values of hidden fields: the lease, and when the form was displayed."""
    return {
        "assignment": assignment["id"] if assignment else "",
        "lease_token": assignment["lease_token"] if assignment else "",
        "shown": f"{now.timestamp():.3f}",
    }
