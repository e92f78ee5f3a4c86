"""Queries for the pictures of a week's release, and counts of those still waiting for a verdict (R24, R39)."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from contest.core.enums import RELEASED_ORIGINS
from labeling.enums import PanelState
from labeling.models import Image, Panel, Report
from policy.calendar import Week

_RELEASABLE = {"origin__in": RELEASED_ORIGINS, "label_from__isnull": False}


def releasable_images() -> QuerySet[Image]:
    """Return the images that the releases of all weeks are about."""
    return Image.objects.filter(**_RELEASABLE)


def images_of_week(week: Week) -> QuerySet[Image]:
    """Return the images a week's release is about: received in it, and meant to be labeled."""
    return Image.objects.filter(in_week_release(week))


def in_week_release(week: Week, image: str = "") -> Q:
    """Return the same as a condition; `image` is the lookup prefix of the picture, for example `image__`."""
    conditions = {"received_at__gte": week.start, "received_at__lt": week.end, **_RELEASABLE}
    return Q(**{image + name: value for name, value in conditions.items()})


def count_waiting_for_verdict(images: QuerySet[Image]) -> dict[str, int]:
    """Return how many of `images` wait for a verdict, by what they wait for."""
    panels = Panel.objects.filter(image__in=images)
    return {
        "panel": images.filter(dealt_at__isnull=True).count(),
        "answers": panels.filter(state=PanelState.OPEN).count(),
        # A picture that an organizer excluded never gets answers, so it does not wait.
        "report": panels.filter(held_by_open_report()).count(),
        "ruling": panels.filter(state=PanelState.FULL).count(),
    }


# Labels of what pictures of a week wait for: the keys of `count_waiting_for_verdict`, and scoring runs.
WAITING_WORDS = {
    "panel": "for a panel",
    "answers": "for answers",
    "report": "for an organizer to decide on a report",
    "ruling": "for a ruling",
    "runs": "for runs",
    "gave_up": "for runs that gave up",
}


def held_by_open_report() -> Q:
    """The panels held by a report that no organizer has decided on yet."""
    return Q(Exists(Report.objects.filter(image=OuterRef("image"), decided_at__isnull=True)), state=PanelState.HELD)
