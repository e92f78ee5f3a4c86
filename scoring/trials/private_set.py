"""Services of the private eligibility set (R31). Its pictures are not Images, so nothing serves or releases them.

They lie under a prefix of their own in the store. A set is filled picture by picture and complete in one moment; from
then on it never changes, and the newest complete one is in force.
"""

from collections.abc import Collection
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max

from common.audit.trail import audit
from common.errors import Conflict, InvalidInput
from labeling.enums import Label
from labeling.models import Image
from picture_files.decoding import read_dataset
from picture_files.png import encode_png
from picture_files.store import picture_store
from picture_files.store_transactions import storing_files
from scoring.models import PrivatePicture, PrivateSet

MAX_SOURCE_CHARACTERS = 200


def private_key(pixels_sha256: str) -> str:
    """Return the key of a private picture in the store."""
    return f"private/{pixels_sha256}.png"


@transaction.atomic
def private_set_begin(*, note: str, path: str = "", by: User | None, now: datetime) -> tuple[PrivateSet, bool]:
    """Return the set into which pictures of `path` are imported, and whether it is new; an unfinished one is continued.

    Raises InvalidInput without a note for a new set, Conflict when another import began one at the same moment, or
    when the unfinished one has another path or note.
    """
    unfinished = _unfinished()
    if unfinished is not None:
        _refuse_other(unfinished, path, note.strip())
        return unfinished, False
    if not note.strip():
        raise InvalidInput("Give a note that says where the pictures come from.", "no_note", field="note")
    number = (PrivateSet.objects.aggregate(most=Max("number"))["most"] or 0) + 1
    try:
        with transaction.atomic():
            begun = PrivateSet.objects.create(
                number=number, note=note.strip(), path=path, imported_by=by, imported_at=now
            )
            audit("private_set.begin", by=by, subject={"private_set": [number]}, why=begun.note, now=now)
            return begun, True
    except IntegrityError:
        message = "Another import began a set at this moment. Run the command again to go on with that one."
        raise Conflict(message, "set_begun") from None


def _unfinished() -> PrivateSet | None:
    return PrivateSet.objects.filter(completed_at=None).order_by("number").first()


def _refuse_other(unfinished: PrivateSet, path: str, note: str) -> None:
    """Refuse to continue a set from another path or with another note: it would mix two imports."""
    if unfinished.path == path and note in {"", unfinished.note}:
        return
    raise Conflict(
        f"Set {unfinished.number} is not finished: it is imported from {unfinished.path or 'an unknown path'} with the "
        f'note "{unfinished.note}". Give that path and no other note to go on with it, or add --start-over to drop its '
        "pictures and begin the set from this path.",
        "other_import",
    )


@transaction.atomic
def private_set_start_over(*, note: str, path: str, by: User | None, now: datetime) -> tuple[PrivateSet, int]:
    """Drop an unfinished set with its pictures, and begin one; return that and how many pictures were dropped.

    Without a note the earlier one is kept, where the path is the same. Raises as `private_set_begin` does; then
    nothing is dropped.
    """
    unfinished, dropped = _unfinished(), 0
    if unfinished is not None:
        _hold_unfinished(unfinished)
        if unfinished.path == path:
            note = note.strip() or unfinished.note
        dropped, _ = PrivatePicture.objects.filter(private_set=unfinished).delete()
        unfinished.delete()
    begun, _ = private_set_begin(note=note, path=path, by=by, now=now)
    return begun, dropped


def private_picture_add(
    private_set: PrivateSet, data: bytes, *, label: Label, source: str, size: int
) -> tuple[PrivatePicture, bool]:
    """Take one photograph into an unfinished set; return its row and whether it is new to the set.

    Raises PictureRefused for the file, Conflict for a picture that the contest knows or that is in the set under the
    other class, and Conflict when the set is complete.
    """
    picture = read_dataset(data, size=size)
    if Image.objects.filter(pixels_sha256=picture.pixels_sha256).exists():
        raise Conflict("The contest has this picture already, so it is not private. Take another one.", "not_private")
    png = encode_png(picture.width, picture.height, picture.pixels)
    with storing_files():
        picture_store().put(private_key(picture.pixels_sha256), png)
        _hold_unfinished(private_set)
        row, new = PrivatePicture.objects.get_or_create(
            private_set=private_set,
            pixels_sha256=picture.pixels_sha256,
            defaults={"label": label.value, "source": source[-MAX_SOURCE_CHARACTERS:]},
        )
    if row.label != label.value:
        raise Conflict(f"The same picture is in the set as a {row.label}. Decide what it shows.", "in_both_classes")
    return row, new


def _hold_unfinished(private_set: PrivateSet) -> None:
    """Lock the set for this transaction; Conflict when it is complete or another import dropped it."""
    held = PrivateSet.objects.select_for_update().filter(pk=private_set.pk).first()
    if held is None:
        raise Conflict(f"Another import dropped {private_set} and began it again.", "set_dropped")
    if held.completed_at is not None:
        raise Conflict(f"{held} is complete and never changes. Import a new set.", "set_complete")


@transaction.atomic
def private_set_complete(private_set: PrivateSet, *, meant: Collection[str], by: User | None, now: datetime) -> None:
    """Put the set in force, all of it at once. `meant` are the hashes of the pictures that belong to it.

    Raises Conflict when it is complete already or holds other pictures, as when the folder changed after an
    interruption, and InvalidInput unless there are pictures of both classes.
    """
    _hold_unfinished(private_set)
    held = dict(PrivatePicture.objects.filter(private_set=private_set).values_list("pixels_sha256", "label"))
    others = len(set(held) - set(meant))
    if others:
        message = f"The set holds {others} pictures of an earlier import that are not among these. Put them back"
        raise Conflict(f"{message}, or drop what is in the set with --start-over.", "other_pictures")
    if set(held.values()) != {label.value for label in Label}:
        message = "A set needs pictures of both classes. Put some into the folders bird and bicycle."
        raise InvalidInput(message, "one_class")
    PrivateSet.objects.filter(pk=private_set.pk).update(completed_at=now)
    told = {"pictures": len(held)}
    audit("private_set.complete", by=by, subject={"private_set": [private_set.number]}, now=now, private=told)
