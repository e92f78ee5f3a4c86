"""Queries for the review board's tables in a release: cases, decisions and votes (R18-R21, R37, R39).

A decision about a picture is in the release of the picture's week, whenever it was made; one made after that release
causes errata. A case appears only once it is closed: while more taskers answer about the picture, none of them shall
read the arguments (R8). Motions and examinations belong to the week in which they were made. No table says who voted.
"""

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from adjudication.schema import release_format as form
from contest.board.models import Appeal, AppealStatement, CaseDecision
from contest.core.enums import RELEASED_ORIGINS, CaseKind, CaseState
from contest.core.models import Case
from contest.core.week_pictures import images_of_week
from contest.prizes.models import Examination
from contest.releases.table_files import Row, by_bytes
from policy.calendar import Week

Rows = Iterable[Row]
# How a decision is counted, in the columns of cases and of motions.
_COUNTED = ("votes", "quorum", "recused")
# Pictures that are in the release of their week.
_RELEASABLE = Q(image__origin__in=RELEASED_ORIGINS, image__label_from__isnull=False)


def board_rows(week: Week) -> dict[str, Rows]:
    """Return the rows of each of these files."""
    return {
        form.APPEALS: _appeal_rows(week),
        form.STATEMENTS: _statement_rows(week),
        form.CASES: _case_rows(week),
        form.MOTIONS: _motion_rows(week),
        form.EXAMINATIONS: _examination_rows(week),
    }


def within(week: Week, moment: str) -> Q:
    """The rows of whose column `moment` says that they are of the week."""
    return Q(**{f"{moment}__gte": week.start, f"{moment}__lt": week.end})


def decisions_on_pictures(week: Week) -> QuerySet[CaseDecision]:
    """Return what was decided about the pictures of the week, at any time."""
    return CaseDecision.objects.filter(case__state=CaseState.CLOSED, case__image__in=images_of_week(week))


def decided_motions() -> QuerySet[CaseDecision]:
    """Return the decisions on motions: carried, lost, or taken back."""
    return CaseDecision.objects.filter(case__kind=CaseKind.MOTION)


def motions_of(week: Week) -> QuerySet[CaseDecision]:
    """Return the decisions of the week on motions."""
    return decided_motions().filter(within(week, "decided_at"))


def examinations() -> QuerySet[Examination]:
    """Return the confirmations of rejected pictures that are released."""
    return Examination.objects.filter(_RELEASABLE)


def cases_of_pictures() -> QuerySet[Case]:
    """Return the cases of pictures that are released."""
    return Case.objects.filter(_RELEASABLE)


def teams_named_by_board(week: Week) -> set[int]:
    """Return the teams that appealed, that answered, or that motions of the week are about."""
    cases = decisions_on_pictures(week).values("case")
    named = {
        *Appeal.objects.filter(case__in=cases).values_list("team", flat=True),
        *AppealStatement.objects.filter(case__in=cases).values_list("team", flat=True),
    }
    subjects = motions_of(week).values_list("case__subject", flat=True)
    return named.union(*(subject.get("team", ()) for subject in subjects))


def _appeal_rows(week: Week) -> Rows:
    rows = Appeal.objects.filter(case__in=decisions_on_pictures(week).values("case")).order_by(by_bytes("public_id"))
    return rows.values_list(
        "public_id", "image__public_id", "ruling__number", "side", "team__public_id", "defense__public_id", "sent_at",
        "argument", "marks", "case__public_id",
    )  # fmt: skip


def _statement_rows(week: Week) -> Rows:
    rows = AppealStatement.objects.filter(case__in=decisions_on_pictures(week).values("case"))
    ordered = rows.order_by(by_bytes("case__public_id"), by_bytes("team__public_id"))
    return ordered.values_list("case__public_id", "team__public_id", "sent_at", "words")


def _case_rows(week: Week) -> Rows:
    return decisions_on_pictures(week).order_by(by_bytes("case__public_id")).values_list(
        "case__public_id", "case__image__public_id", "case__ruling__number", "case__opened_at",
        "case__policy__version", "decided_at", "policy__version", "outcome", "label", "reasons", "explanation",
        *_COUNTED, "ruling__number", "panel__number", "case__closed_at", "case__result__number",
    )  # fmt: skip


def _motion_rows(week: Week) -> Rows:
    return motions_of(week).order_by(by_bytes("case__public_id")).values_list(
        "case__public_id", "case__motion", "case__subject", "case__details", "case__reason", "case__opened_at",
        "case__policy__version", "decided_at", "policy__version", "outcome", "explanation", *_COUNTED,
    )  # fmt: skip


def _examination_rows(week: Week) -> Rows:
    """Say what was confirmed for whose award and when; by how many members follows, by whom is nowhere."""
    rows = examinations().filter(within(week, "at")).order_by("pk")
    return rows.values_list("pk", "defense__public_id", "image__public_id", "ruling__number", "at")
