"""Finds near duplicates: pictures that look like an earlier one, flagged for organizers, never refused (R26)."""

from collections.abc import Iterator
from datetime import datetime

import structlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from common.audit.trail import audit
from common.errors import NotFound
from contest.attacks.hashing import Hashes, as_array, as_signed_64_bits, difference_hash, near
from contest.attacks.models import NearDuplicate, PictureHash
from contest.core.models import Attack
from labeling.models import Image
from picture_files.png import PictureDamaged, decode_png
from picture_files.store import PictureMissing, picture_key, picture_store

HASHED_AT_ONCE = 200
# All pictures without structure are near each other: only the nearest ones are flagged.
MAX_PAIRS = 20
log = structlog.get_logger(__name__)


def near_duplicates_find(*, within: int, now: datetime) -> int:
    """Hash the pictures of new attacks and flag those that differ from an earlier one in `within` bits or fewer.

    Returns how many were hashed, HASHED_AT_ONCE at most. A picture that cannot be read is logged and looked at again.
    """
    hashed = list(_rehashed())
    if not hashed:
        return 0
    before = list(PictureHash.objects.order_by("pk").values_list("image", "bits"))
    images = [image.pk for image, _ in hashed]
    known = [image for image, _ in before] + images
    bits = as_array([each for _, each in before] + [as_signed_64_bits(each) for _, each in hashed])
    pairs = [
        pair
        for place, (image, own) in enumerate(hashed, start=len(before))
        for pair in _pairs(image, own, known, bits[:place], within, now)
    ]
    with transaction.atomic():
        rows = [PictureHash(image=image, bits=as_signed_64_bits(own)) for image, own in hashed]
        PictureHash.objects.bulk_create(rows, ignore_conflicts=True)
        NearDuplicate.objects.bulk_create(pairs, ignore_conflicts=True)
    return len(hashed)


def _rehashed() -> Iterator[tuple[Image, int]]:
    new = Attack.objects.filter(image__perceptual_hash__isnull=True).order_by("image").values("image")
    for image in Image.objects.filter(pk__in=new.distinct()[:HASHED_AT_ONCE]).order_by("pk"):
        try:
            yield image, difference_hash(*decode_png(picture_store().get(picture_key(image.pixels_sha256))))
        except (PictureMissing, PictureDamaged, ValueError) as error:
            log.warning("picture not hashed", picture=image.public_id, error=str(error))


def _pairs(
    image: Image, bits: int, known: list[int], others: Hashes, within: int, now: datetime
) -> Iterator[NearDuplicate]:
    for place, distance in near(bits, others, within=within, limit=MAX_PAIRS):
        yield NearDuplicate(image=image, like_id=known[place], distance=distance, found_at=now)


def unreviewed_pairs(*, seen: bool) -> QuerySet[NearDuplicate]:
    """Return the pairs that no organizer has reviewed, the nearest first; with `seen` the reviewed ones."""
    rows = NearDuplicate.objects.filter(seen_at__isnull=not seen).select_related("image", "like", "seen_by")
    rows = rows.prefetch_related("image__attacks__team", "like__attacks__team")
    return rows.order_by("-seen_at", "-pk") if seen else rows.order_by("distance", "pk")


def near_duplicates_of(image: Image) -> list[tuple[Image, int]]:
    """Return the pictures that look like this one, each with the bits in which their hashes differ (R26)."""
    rows = NearDuplicate.objects.filter(Q(image=image) | Q(like=image)).select_related("image", "like")
    return [(row.like if row.image_id == image.pk else row.image, row.distance) for row in rows]


@transaction.atomic
def pair_review(*, pair_id: int, by: User, now: datetime) -> None:
    """Record that an organizer looked at a pair; the first time counts. NotFound for a pair that is not there."""
    rows = NearDuplicate.objects.filter(pk=pair_id)
    if rows.filter(seen_at__isnull=True).update(seen_by=by, seen_at=now):
        audit("near_duplicate.see", by=by, subject={"near_duplicate": [pair_id]}, now=now)
    elif not rows.exists():
        raise NotFound("There is no such pair.", "not_found")
