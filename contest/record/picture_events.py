"""What a picture's story is made of: events, their evidence, and what the public may know of them."""

from dataclasses import dataclass
from datetime import datetime

from contest.board.models import Appeal, CaseDecision, Statement
from contest.board.public_decisions import PublicDecision
from contest.core.models import Case
from contest.record.closed_cases import public_appeals, public_cases, public_decisions, public_statements
from contest.record.picture_answers import AppealShown, MarkShown, RulingShown, marks_of
from labeling.models import Image


@dataclass(frozen=True, slots=True)
class Evidence:
    """A link of an entry."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened: a sentence, its permanent anchor, and its evidence.

    `kind` is one of _ORDER or `release`; the rest is there for the kinds that show it.
    """

    at: datetime
    kind: str
    anchor: str
    words: str
    look: str = ""
    evidence: tuple[Evidence, ...] = ()
    text: str = ""
    marks: tuple[MarkShown, ...] = ()
    ruling: RulingShown | None = None
    decision: PublicDecision | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What was argued and decided about a picture, as far as everybody may know of it."""

    appeals: tuple[Appeal, ...]
    statements: tuple[Statement, ...]
    decisions: tuple[CaseDecision, ...]
    cases: tuple[Case, ...]

    @classmethod
    def about(cls, image: Image) -> "Said":
        """Read all of it."""
        return cls(
            tuple(public_appeals(image)),
            tuple(public_statements(image)),
            tuple(public_decisions().filter(case__image=image)),
            tuple(public_cases().filter(image=image).select_related("ruling")),
        )

    def marks(self) -> list[MarkShown]:
        """Return what the appeals draw on the picture, lettered in their order."""
        return marks_of(AppealShown(each, 0, 0, 0) for each in self.appeals)
