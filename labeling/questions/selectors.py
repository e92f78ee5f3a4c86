"""Queries for taskers' reports of pictures and their questions to organizers."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from common.database.grouping import grouped
from labeling.enums import PanelState, ReportKind
from labeling.models import Image, InstructionVersion, KnownPicture, Panel, Question, Report, Tasker

MAX_PICTURES = 50
MAX_DECIDED = 100
MAX_QUESTIONS = 100


@dataclass(frozen=True, slots=True)
class ReportedPicture:
    """A picture with its reports, oldest first, for an organizer.

    `panel_state` is that of its newest panel, empty without one; `gold` says that it is a picture with a known answer.
    """

    image: Image
    reports: tuple[Report, ...]
    panel_state: str
    gold: bool

    @property
    def offensive(self) -> bool:
        """Say whether a tasker reported it as offensive, so that the page displays it only on demand."""
        return any(report.kind == ReportKind.OFFENSIVE for report in self.reports)

    @property
    def full(self) -> bool:
        """Say whether the panel was full before the report could hold it."""
        return self.panel_state in (PanelState.FULL, PanelState.SETTLED) and not self.gold


def open_reports() -> QuerySet[Report]:
    """Return the reports that wait for an organizer, oldest first."""
    return Report.objects.filter(decided_at__isnull=True).select_related("tasker").order_by("reported_at", "pk")


def pictures_waiting() -> int:
    """Return on how many pictures a report waits."""
    return Report.objects.filter(decided_at__isnull=True).values("image").distinct().count()


def reported_pictures() -> list[ReportedPicture]:
    """Return the pictures with open reports, MAX_PICTURES at most, oldest report first."""
    reports = grouped((report.image, report) for report in open_reports().select_related("image"))
    images = list(reports)[:MAX_PICTURES]
    panels = Panel.objects.filter(image__in=images).order_by("number").values_list("image_id", "state")
    newest = dict(panels)
    known = set(KnownPicture.objects.filter(image__in=images).values_list("image_id", flat=True))
    return [
        ReportedPicture(image, tuple(reports[image]), newest.get(image.pk, ""), image.pk in known) for image in images
    ]


def decided_reports() -> list[Report]:
    """Return the reports decided last, newest decision first, MAX_DECIDED at most."""
    decided = Report.objects.filter(decided_at__isnull=False).select_related("tasker", "image", "decided_by")
    return list(decided.order_by("-decided_at", "-pk")[:MAX_DECIDED])


def reported_image(public_id: str) -> Image | None:
    """Return a picture that was ever reported, by its public ID."""
    return Image.objects.filter(public_id=public_id, reports__isnull=False).distinct().first()


def open_questions() -> list[Question]:
    """Return the questions that wait for an organizer, oldest first, MAX_QUESTIONS at most."""
    waiting = Question.objects.filter(answered_at__isnull=True).select_related("tasker")
    return list(waiting.order_by("asked_at", "pk")[:MAX_QUESTIONS])


def open_question_count() -> int:
    """Return how many questions wait for an answer."""
    return Question.objects.filter(answered_at__isnull=True).count()


def answered_questions() -> list[Question]:
    """Return the questions answered last, newest first, MAX_QUESTIONS at most."""
    answered = Question.objects.filter(answered_at__isnull=False).select_related(
        "tasker", "answered_by", "instructions"
    )
    return list(answered.order_by("-answered_at", "-pk")[:MAX_QUESTIONS])


def own_questions(tasker: Tasker) -> list[Question]:
    """Return the tasker's own questions, newest first, MAX_QUESTIONS at most; never anybody else's (R8)."""
    return list(tasker.questions.order_by("-asked_at", "-pk")[:MAX_QUESTIONS])


def clarifications(now: datetime) -> list[InstructionVersion]:
    """Return the clarifications that everybody may read, newest first."""
    in_force = InstructionVersion.objects.filter(in_force_from__lte=now).exclude(clarification="")
    return list(in_force.order_by("-version"))
