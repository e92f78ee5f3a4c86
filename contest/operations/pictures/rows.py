"""Queries of all pictures with the stage of each, for organizers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q, QuerySet

from adjudication.models import Ruling
from adjudication.schema import cells
from adjudication.selectors import newest_rulings, rulings_in_force
from labeling.enums import PanelState
from labeling.models import Image, Panel

COLUMNS = (
    *("picture", "file", "source", "licence", "author", "origin", "received_at", "state", "answers", "places"),
    *("verdict", "label", "reasons", "width", "height", "sha256_pixels", "sha256_original"),
)


class Stage(StrEnum):
    """The stage of a picture. UNLABELED: it is never labeled; WAITING: it has no panel yet; OPEN: taskers answer;
    HELD: a report waits for an organizer; FULL: it has every answer and no ruling yet; SETTLED: it has a ruling."""

    UNLABELED = "unlabeled"
    WAITING = "waiting"
    OPEN = "open"
    HELD = "held"
    FULL = "full"
    SETTLED = "settled"


STAGE_WORDS = {
    Stage.UNLABELED: "not for labeling",
    Stage.WAITING: "waiting for its panel",
    Stage.OPEN: "being labeled",
    Stage.HELD: "held by a report",
    Stage.FULL: "waiting for its ruling",
    Stage.SETTLED: "ruled",
}


@dataclass(frozen=True, slots=True)
class PictureRow:
    """One picture with its newest panel and the ruling in force, if any."""

    image: Image
    panel: Panel | None
    ruling: Ruling | None

    @property
    def stage(self) -> Stage:
        """Return the stage of the picture."""
        if self.panel is not None:
            return Stage(self.panel.state)
        return Stage.UNLABELED if self.image.label_from is None else Stage.WAITING

    @property
    def stage_words(self) -> str:
        """Return the stage in words."""
        return STAGE_WORDS[self.stage]


def pictures_received() -> QuerySet[Image]:
    """Return every picture, newest first."""
    return Image.objects.order_by("-pk")


def pictures_named(rows: QuerySet[Image], text: str) -> QuerySet[Image]:
    """Return the rows whose ID begins with `text`, or whose file name or source contains it."""
    words = text.strip()
    return rows.filter(Q(public_id__istartswith=words) | Q(source_id__icontains=words) | Q(source__icontains=words))


def pictures_at(rows: QuerySet[Image], stage: str) -> QuerySet[Image]:
    """Return the rows at a stage."""
    if stage == Stage.UNLABELED:
        return rows.filter(dealt_at__isnull=True, label_from__isnull=True)
    if stage == Stage.WAITING:
        return rows.filter(dealt_at__isnull=True, label_from__isnull=False)
    panels = Panel.objects.filter(image=OuterRef("pk"))
    if stage == Stage.SETTLED:
        return rows.filter(Exists(panels), ~Exists(panels.exclude(state=PanelState.SETTLED)))
    return rows.filter(Exists(panels.filter(state=PanelState(stage))))


def pictures_ruled(rows: QuerySet[Image], verdict: str) -> QuerySet[Image]:
    """Return the rows whose ruling in force has a verdict."""
    return rows.filter(Exists(rulings_in_force().filter(image=OuterRef("pk"), verdict=verdict)))


def picture_rows(images: Sequence[Image]) -> list[PictureRow]:
    """Return the pictures with the stage of each, in two queries."""
    keys = [image.pk for image in images]
    panels = {panel.image_id: panel for panel in Panel.objects.filter(image__in=keys).order_by("number")}
    rulings = newest_rulings(keys)
    return [PictureRow(image, panels.get(image.pk), rulings.get(image.pk)) for image in images]


def picture_columns(images: Sequence[Image]) -> Iterator[tuple[object, ...]]:
    """Yield the pictures as rows of a CSV file, in the order of COLUMNS."""
    for row in picture_rows(images):
        image, panel, ruling = row.image, row.panel, row.ruling
        yield (
            *(image.public_id, *map(cells.text, (image.source_id, image.source, image.licence, image.author))),
            *(image.origin, cells.time(image.received_at), row.stage.value),
            *((panel.answered, panel.size) if panel else ("", "")),
            *((ruling.verdict, ruling.label, ";".join(ruling.reasons)) if ruling else ("", "", "")),
            *(image.width, image.height, image.pixels_sha256, image.original_sha256),
        )
