"""The pictures of a week's release, and what they still wait for (R24, R39)."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from contest.core.calendar import Week
from contest.core.enums import RELEASED_ORIGINS
from labeling.enums import PanelState
from labeling.models import Image, Panel, Report

_RELEASABLE = {"origin__in": RELEASED_ORIGINS, "label_from__isnull": False}


def releasable_images() -> QuerySet[Image]:
    """Return the images that the releases of all weeks are about."""
    return Image.objects.filter(**_RELEASABLE)


def images_of_week(week: Week) -> QuerySet[Image]:
    """Return the images a week's release is about: received in it, and meant to be labeled."""
    return Image.objects.filter(received_in(week))


def received_in(week: Week, image: str = "") -> Q:
    """The same as a condition; `image` leads to the picture, for example `image__`."""
    conditions = {"received_at__gte": week.start, "received_at__lt": week.end, **_RELEASABLE}
    return Q(**{image + name: value for name, value in conditions.items()})


def waiting_for_verdicts(images: QuerySet[Image]) -> dict[str, int]:
    """Return how many of `images` wait for a verdict, by what they wait for."""
    panels = Panel.objects.filter(image__in=images)
    return {
        "panel": images.filter(dealt_at__isnull=True).count(),
        "answers": panels.filter(state=PanelState.OPEN).count(),
        # What an organizer kept out is never answered, and so never waited for.
        "report": panels.filter(reported_and_undecided()).count(),
        "ruling": panels.filter(state=PanelState.FULL).count(),
    }


# What pictures of a week wait for: the keys of `waiting_for_verdicts`, and the scoring runs.
WAITING_WORDS = {
    "panel": "for a panel",
    "answers": "for answers",
    "report": "for an organizer to decide on a report",
    "ruling": "for a ruling",
    "runs": "for runs",
}


def reported_and_undecided() -> Q:
    """The panels held by a report that no organizer has decided on yet."""
    undecided = Report.objects.filter(image=OuterRef("image"), decided_at__isnull=True)
    return Q(Exists(undecided), state=PanelState.HELD)
