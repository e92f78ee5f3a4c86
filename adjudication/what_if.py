"""What-if: computes the rulings that other policy numbers would give on existing responses (R7, R10, R13-R15).

Nothing is saved. Pictures that the board ruled on are left out, as no number decides them; so are pictures that are
still being labeled.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Exists, F, OuterRef, QuerySet
from django.db.models.functions import Least

from adjudication.enums import DecidedBy, Verdict
from adjudication.models import Ruling
from adjudication.rules import CountedOpinion, Decision, VerdictPolicy, adjudicate
from adjudication.selectors import rulings_in_force
from labeling.enums import Answer, Label, PanelState
from labeling.geometry import Box
from labeling.models import Image, Panel, Response

BATCH_SIZE = 1000


class TriedNumbers(NamedTuple):
    """The numbers to try: those a verdict depends on, and how many taskers answer about a picture."""

    rules: VerdictPolicy
    panel_size: int


@dataclass(frozen=True, slots=True)
class PictureChange:
    """A picture whose ruling would differ. `after` is None where more responses would be needed first."""

    image: Image
    ruling: Ruling
    after: Decision | None

    @property
    def before(self) -> Label | None:
        """Return the picture's present class; None for a rejected one."""
        return Label(self.ruling.label) if self.ruling.label else None

    @property
    def turns(self) -> bool:
        """Say whether the verdict or the class would differ; else only the reasons do, or responses are missing."""
        return self.after is not None and self.after.label != self.before


@dataclass(frozen=True, slots=True)
class PictureBatch:
    """The result for some pictures. `through` is the last of them, after which to go on; None when none was left."""

    looked: int
    through: int | None
    changes: tuple[PictureChange, ...]


def try_batch(numbers: TriedNumbers, *, behind: int = 0, limit: int = BATCH_SIZE) -> PictureBatch:
    """Decide up to `limit` pictures again, in the order of their primary keys, beginning after `behind`."""
    found = _newest().filter(image__gt=behind).select_related("image").annotate(joined=F("panel__joined"))
    rulings = list(found.order_by("image")[:limit])
    said = _opinions(pk for each in rulings for pk in _responses_of_smaller_panel(each, numbers))
    changes = tuple(_changes(rulings, said, numbers))
    return PictureBatch(len(rulings), rulings[-1].image_id if rulings else None, changes)


def try_on_all(numbers: TriedNumbers) -> Iterator[PictureBatch]:
    """Decide all pictures again, and yield the results batch by batch."""
    behind: int | None = 0
    while behind is not None:
        found = try_batch(numbers, behind=behind)
        yield found
        behind = found.through


def pictures_decided() -> int:
    """Return the number of pictures on which numbers can be tried."""
    return _newest().count()


def box_shares(bins: int) -> list[int]:
    """Return how many rulings in force have a smallest box in each of `bins` equal parts of 0 to 100 % of the image."""
    whole = F("smallest_box_denominator")
    part = Least(F("smallest_box_numerator") * bins / whole, bins - 1)
    boxes = rulings_in_force().filter(smallest_box_numerator__isnull=False, smallest_box_denominator__gt=0)
    counts = dict(boxes.annotate(part=part).order_by().values_list("part").annotate(Count("pk")))
    return [counts.get(at, 0) for at in range(bins)]


def _newest() -> QuerySet[Ruling]:
    asked = Panel.objects.filter(image=OuterRef("image")).exclude(state=PanelState.SETTLED)
    return rulings_in_force().filter(~Exists(asked), decided_by=DecidedBy.RULES)


def _responses_of_smaller_panel(ruling: Ruling, numbers: TriedNumbers) -> Sequence[int]:
    """Return the responses of the first `panel_size` taskers, fewer where the panel was smaller. Responses of taskers
    who joined later at the board's request count whatever the numbers are (R19)."""
    ids: list[int] = ruling.response_ids
    dealt = len(ids) - ruling.joined  # type: ignore[attr-defined]
    return ids[:dealt][: numbers.panel_size] + ids[dealt:]


def _changes(
    rulings: Iterable[Ruling], said: dict[int, CountedOpinion], numbers: TriedNumbers
) -> Iterator[PictureChange]:
    for ruling in rulings:
        opinions = [said[pk] for pk in _responses_of_smaller_panel(ruling, numbers)]
        after = _decide(opinions, ruling.image, numbers)
        if after is None or (ruling.label, ruling.reasons) != (after.label or "", list(after.reasons)):
            yield PictureChange(ruling.image, ruling, after)


def _decide(opinions: Sequence[CountedOpinion], image: Image, numbers: TriedNumbers) -> Decision | None:
    decision = adjudicate(opinions, numbers.rules, width=image.width, height=image.height)
    # Under unanimity another answer never makes a rejected picture valid.
    unfinished = len(opinions) < numbers.panel_size and decision.verdict == Verdict.VALID
    return None if unfinished else decision


_COLUMNS = ("pk", "contains_bird", "contains_bicycle", "complete", "unoccluded", "real")
_BOX = ("box_xmin", "box_ymin", "box_xmax", "box_ymax")


def _opinions(ids: Iterable[int]) -> dict[int, CountedOpinion]:
    rows = Response.objects.filter(pk__in=list(ids)).values_list(*_COLUMNS, *_BOX)
    return {
        pk: CountedOpinion(
            Answer(bird), Answer(bicycle), None if None in box else Box(*box), complete, unoccluded, real
        )
        for pk, bird, bicycle, complete, unoccluded, real, *box in rows.order_by()
    }
