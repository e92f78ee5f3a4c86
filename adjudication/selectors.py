"""Queries for panels that wait for a ruling, and for the rulings on pictures."""

from collections.abc import Iterable

from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet

from adjudication.models import Ruling
from common.database.lookups import Parameter, PreparedLookup
from labeling.enums import PanelState
from labeling.models import Image, Panel


def panels_to_settle(limit: int) -> list[int]:
    """Return ids of full panels without a ruling, longest full first."""
    full = Panel.objects.filter(state=PanelState.FULL)
    return list(full.order_by("full_at", "id").values_list("pk", flat=True)[:limit])


def newest_rulings(images: Iterable[int]) -> dict[int, Ruling]:
    """Return image id -> the ruling in force, for images that have one."""
    return {each.image_id: each for each in Ruling.objects.filter(image_id__in=list(images)).order_by("number")}


def rulings_on(image: Image) -> QuerySet[Ruling]:
    """Return every ruling on a picture, the first one first."""
    return Ruling.objects.filter(image=image).order_by("number")


def rulings_with_panels(image: Image) -> list[Ruling]:
    """Return every ruling on a picture with its panel and its policy, the first one first."""
    return _rulings_with_panels(image=image.pk)


_rulings_with_panels = PreparedLookup(
    "rulings_with_panels",
    lambda: (
        Ruling.objects.filter(image=Parameter("image", BigIntegerField()))
        .select_related("panel", "policy")
        .order_by("number")
    ),
)


def rulings_in_force() -> QuerySet[Ruling]:
    """Return the rulings in force: the newest one of each image (R16)."""
    newer = Ruling.objects.filter(image=OuterRef("image"), number__gt=OuterRef("number"))
    return Ruling.objects.filter(~Exists(newer))
