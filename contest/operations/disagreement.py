"""On which questions and pictures taskers disagree (R6, R13)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from adjudication.enums import DecidedBy
from adjudication.models import Ruling
from common import charts
from common.remembered import remembered
from monitoring.answer_rows import AnswerRow, company
from monitoring.gold_choice import USUAL_IOU_PERCENT
from monitoring.rules import QUESTIONS

WEEKS = 2
# At most this many of the newest rulings are read.
MAX_PANELS = 500
MAX_LISTED = 10
FRESH_SECONDS = 300
OUTLINE = "outline"
NAMES = {
    "contains_bird": "1 bird",
    "contains_bicycle": "2 bicycle",
    OUTLINE: "3 outline",
    "complete": "4 complete",
    "unoccluded": "4 unoccluded",
    "real": "4 real",
}


@dataclass(frozen=True, slots=True)
class DisagreedPicture:
    """A picture's panel: the questions on which its members differed, and the overlap in percent of the outline that
    fits the others least; None with fewer than two outlines."""

    public_id: str
    panel_id: int
    questions: tuple[str, ...]
    overlap: float | None

    @property
    def words(self) -> str:
        """Return the questions in words, without their numbers."""
        return ", ".join(NAMES[question][2:] for question in self.questions)


@dataclass(frozen=True, slots=True)
class QuestionDisagreement:
    """For one question: how many panels have two or more answers to it, and in how many the members differed."""

    name: str
    differ: int
    panels: int

    @property
    def share(self) -> float | None:
        """Return the share of panels, 0 to 1; None of none."""
        return self.differ / self.panels if self.panels else None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The panels ruled on in the last WEEKS weeks, MAX_PANELS of them at most."""

    panels: int
    questions: tuple[QuestionDisagreement, ...]
    pictures: tuple[DisagreedPicture, ...]
    chart: charts.Chart


def disagreement(*, now: datetime) -> Disagreement:
    """Return where taskers differ, cached for FRESH_SECONDS."""
    return remembered("disagreement", FRESH_SECONDS, lambda: read_disagreement(now=now))


def read_disagreement(*, now: datetime) -> Disagreement:
    """Return where taskers differ, uncached."""
    since = now - timedelta(weeks=WEEKS)
    rulings = Ruling.objects.filter(decided_at__gt=since, decided_at__lte=now, decided_by=DecidedBy.RULES)
    newest = rulings.order_by("-decided_at", "-pk").values_list("panel_id", "image__public_id")
    pictures = dict(newest[:MAX_PANELS])
    together = company(pictures)
    asked, differing = Counter[str](), list[DisagreedPicture]()
    for panel, public_id in pictures.items():
        members = together.panels.get(panel, [])
        overlap = min([together.overlaps[row.pk] for row in members if row.pk in together.overlaps], default=None)
        said = _answers_in_words(members)
        asked.update([*said, *([] if overlap is None else [OUTLINE])])
        apart = [question for question, answers in said.items() if len(set(answers)) > 1]
        if overlap is not None and overlap < USUAL_IOU_PERCENT:
            apart.append(OUTLINE)
        differing.append(DisagreedPicture(public_id, panel, tuple(apart), overlap))
    counted = Counter(question for each in differing for question in each.questions)
    questions = tuple(QuestionDisagreement(name, counted[key], asked[key]) for key, name in NAMES.items())
    most = sorted((each for each in differing if each.questions), key=_most_first)
    shares = [charts.ChartValue(each.name, round(100 * each.share)) for each in questions if each.share is not None]
    chart = charts.bars("disagreement", "Panels whose members differed, percent", shares)
    return Disagreement(len(pictures), questions, tuple(most[:MAX_LISTED]), chart)


def _answers_in_words(members: Sequence[AnswerRow]) -> dict[str, list[object]]:
    """The answers in words to each question that two or more members answered."""
    forms = zip(QUESTIONS, zip(*(row.form for row in members), strict=True), strict=False)
    given = {question: [value for value in said if value is not None] for question, said in forms}
    return {question: said for question, said in given.items() if len(said) > 1}


def _most_first(each: DisagreedPicture) -> tuple[int, float, str]:
    return -len(each.questions), 100.0 if each.overlap is None else each.overlap, each.public_id
