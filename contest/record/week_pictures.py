"""Queries for the pictures on a week's page: attackers after the week's end, results after its release (R24)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse

from adjudication.models import Ruling
from adjudication.selectors import newest_rulings, rulings_in_force
from contest.core.breaks import broken_by
from contest.core.credit import first_receipts
from contest.core.models import Attack, Release
from contest.core.publication import released
from contest.core.weeks import week_called
from contest.releases import selectors
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from scoring.models import Defense


@dataclass(frozen=True, slots=True)
class WeekPicture:
    """A picture, where it is, its first receipt if it was sent as an attack, its ruling, and what it broke."""

    image: Image
    address: str
    attack: Attack | None
    ruling: Ruling | None
    broke: tuple[Defense, ...]


def released_pictures(week: str, *, origin: str = "", verdict: str = "") -> QuerySet[Image]:
    """Return the pictures of a week in the order of receipt, none before its release; of an origin, or with a verdict
    in force, alone where these are given."""
    span = week_called(week)
    rows = Image.objects.filter(released(), received_at__gte=span.start, received_at__lt=span.end)
    if origin:
        rows = rows.filter(origin=origin)
    if verdict:
        rows = rows.filter(Exists(rulings_in_force().filter(image=OuterRef("pk"), verdict=verdict)))
    return rows.order_by("received_at", "pk")


def week_pictures(images: Sequence[Image], parts: Sequence[Release], *, now: datetime) -> list[WeekPicture]:
    """Return pictures of a week with the public facts of each, with as many queries for many as for one."""
    ids = [image.pk for image in images]
    attacks = first_receipts(ids, unrestricted=False, now=now)
    told = set(Image.objects.filter(released(), pk__in=ids).values_list("pk", flat=True))
    rulings, broke = newest_rulings(told), broken_by(told)
    return [
        WeekPicture(
            each, _address(each, parts, now), attacks.get(each.pk), rulings.get(each.pk), broke.get(each.pk, ())
        )
        for each in images
    ]


def _address(image: Image, parts: Sequence[Release], now: datetime) -> str:
    """Return where the picture is: in the release for ever, before that for an hour."""
    path = f"images/{image.pixels_sha256}.png"
    if parts and selectors.file_of(parts[-1], path)[0].is_file():
        return reverse("release-part", args=[parts[-1].name, path])
    return picture_url(image, now=now)
