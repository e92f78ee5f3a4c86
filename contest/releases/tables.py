"""Streams every table of a release from the database, row by row (R39).

All functions run inside `snapshot`, so that the files agree with each other whatever happens meanwhile.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.functions import Cast, Coalesce, Concat

from adjudication.models import Ruling
from adjudication.schema import cells
from adjudication.schema import release_format as form
from contest.core.breaks import all_breaks, mistakes_outside
from contest.core.models import Attack, Break, Release
from contest.core.week_pictures import images_of_week, in_week_release
from contest.releases.files import ReleaseFolder
from contest.releases.table_files import Row, by_bytes, stream, write_table
from labeling.enums import PanelState
from labeling.models import Assignment, Image, PanelPlace, Report, Response
from policy.calendar import Week
from scoring.enums import DefenseAnswer
from scoring.models import Defense, Prediction, RunItem
from scoring.selectors import DEFENSE_FAULT, official_predictions, places_in_force


def published_responses(week: Week) -> QuerySet[Response]:
    """Every response of the week but those that somebody still to answer could read: on panels with room (R8), unless
    an organizer kept the picture out, and on gold pictures in use (R6). What was published before others joined a panel
    (R19) is never taken back."""
    undecided = Report.objects.filter(image=OuterRef("image"), decided_at__isnull=True)
    has_room = Q(panel__state=PanelState.OPEN) | Q(panel__state=PanelState.HELD) & Q(Exists(undecided))
    of_week = Response.objects.filter(in_week_release(week, "image__"))
    rows = of_week.filter(~has_room | _released_before_more_taskers(week))
    gold = Assignment.objects.filter(pk=OuterRef("assignment"), known__retired_at__isnull=True, known__isnull=False)
    return rows.exclude(Exists(gold))


def _released_before_more_taskers(week: Week) -> Q:
    """The answers on a panel that stood in a release of the week, made between a ruling on the panel and the joining of
    others: those that had a place then, and those that had come as surplus."""
    ruled = Ruling.objects.filter(panel=OuterRef(OuterRef("panel")), decided_at__lte=OuterRef("released_at"))
    told = Release.objects.filter(Exists(ruled), week=week.name, released_at__lt=OuterRef("panel__joined_at"))
    ruled_upon = PanelPlace.objects.filter(pk=OuterRef("place"), number__lte=OuterRef("panel__ruled_through"))
    surplus = Q(Exists(told.filter(released_at__gte=OuterRef("submitted_at"))), place__isnull=True)
    return Q(Exists(told), Exists(ruled_upon)) | surplus


def write_pictures(folder: ReleaseFolder, week: Week) -> dict[str, int]:
    """Write the table of pictures. Returns table -> number of rows, for the manifest."""
    return {form.IMAGES: write_table(folder, form.IMAGES, _image_rows(week))}


def write_outcomes(folder: ReleaseFolder, week: Week) -> dict[str, int]:
    """Write what became of the pictures, and the defenses. Returns table -> number of rows, for the manifest."""
    rows = {
        form.RULINGS: _ruling_rows(week),
        form.PREDICTIONS: _prediction_rows(week),
        form.FAULTS: _fault_rows(week),
        form.BREAKS: _break_rows(week),
        form.UNPROVED: _unproved_rows(week),
        form.MISTAKES: _mistake_rows(week),
        form.DEFENSES: _defense_rows(),
    }
    return {name: write_table(folder, name, found) for name, found in rows.items()}


def pixel_hashes_of(week: Week) -> Iterator[str]:
    """Yield the pixel hash of every image of the week, in ascending order."""
    return stream(images_of_week(week).order_by(by_bytes("pixels_sha256")).values_list("pixels_sha256", flat=True))


def _image_rows(week: Week) -> QuerySet[Image, Row]:
    # Attacks of later weeks may still be under embargo, also those on a picture of this one (R24).
    sent = Attack.objects.filter(
        image=OuterRef("pk"), received_at__gte=week.start, received_at__lt=week.end, withdrawn_at__isnull=True
    )
    first = sent.order_by("received_at", "pk")
    file = Concat(Value(f"{form.PICTURES}/"), "pixels_sha256", Value(".png"))
    columns = ("public_id", "pixels_sha256", "width", "height", file, "origin", Value(week.name))
    rows = images_of_week(week).order_by(by_bytes("public_id"))
    return rows.values_list(*columns, Subquery(first.values("team__public_id")[:1]), "received_at")


_RESPONSE = (
    "pk",
    "image__public_id",
    "panel__number",
    "tasker__public_id",
    "submitted_at",
    "contains_bird",
    "contains_bicycle",
    "outline",
    *("box_xmin", "box_ymin", "box_xmax", "box_ymax"),
    *("complete", "unoccluded", "real"),
    "milliseconds",
    "counted",
    "voided__voiding__reason",
)
_COUNTED = Q(place__isnull=False, voided__isnull=True)


def write_responses(folder: ReleaseFolder, week: Week) -> dict[str, int]:
    """Write `responses.csv`, and `responses.parquet` from it. Returns table -> number of rows, for the manifest."""
    # Imported here: pyarrow is large, and the pages only ask this package what a release still waits for.
    from contest.releases.parquet import write_parquet

    rows = published_responses(week).order_by("pk").annotate(counted=_COUNTED).values_list(*_RESPONSE)
    number = write_table(folder, form.RESPONSES, rows)
    write_parquet(folder.path / form.RESPONSES, folder.path / form.PARQUET)
    folder.add(form.PARQUET)
    return {form.RESPONSES: number}


class _ShareField(TextField):  # type: ignore[type-arg]  # Django itself takes no arguments
    """A share in lowest terms as the database writes it: a text there, a fraction here."""

    def from_db_value(self, value: str | None, *_: Any) -> Fraction | None:
        """Read the fraction; None where there is none."""
        return cells.share_from(value or "")


_RULING = (
    "image__public_id",
    "number",
    "decided_at",
    "decided_by",
    "panel__number",
    "verdict",
    "label",
    "reasons",
    "smallest_box_fraction",
    "policy__version",
    "explanation",
    "response_ids",
)


def _ruling_rows(week: Week) -> QuerySet[Ruling, Row]:
    part, whole = (Cast(f"smallest_box_{each}", TextField()) for each in ("numerator", "denominator"))
    share = Concat(part, Value("/"), whole, output_field=_ShareField())
    rows = Ruling.objects.filter(in_week_release(week, "image__")).order_by(by_bytes("image__public_id"), "number")
    return rows.annotate(
        smallest_box_fraction=Case(When(smallest_box_denominator__isnull=False, then=share))
    ).values_list(*_RULING)


def _prediction_rows(week: Week) -> Iterator[Row]:
    columns = (
        "pk", "defense__public_id", "defense_digest", "image__public_id", "round", "answer", "score_bicycle",
        "score_bird", "device", "batch_size", "batch", "row", "seed", "attempt", "latency_us", "predicted_at",
        "item__run",
    )  # fmt: skip
    rows = official_predictions().filter(in_week_release(week, "image__")).order_by("pk")
    for pk, defense, digest, image, turn, answer, *scores_and_plan in stream(rows.values_list(*columns)):
        yield pk, defense, digest, image, turn, _answer(answer), *scores_and_plan


def _answer(value: int) -> str:
    return DefenseAnswer(value).name.lower()


def _fault_rows(week: Week) -> QuerySet[RunItem, Row]:
    columns = ("defense__public_id", "image__public_id", "round", "run__fault", "run__attempt", "run__finished_at")
    rows = places_in_force().filter(
        DEFENSE_FAULT, in_week_release(week, "image__"), defense__published_at__isnull=False
    )
    return rows.order_by(by_bytes("defense__public_id"), by_bytes("image__public_id"), "round").values_list(*columns)


def _break_rows(week: Week) -> Iterator[Row]:
    """A break is proved by an answer of this release. Where a re-run took the place of the one it was found by, the
    first that says the same stands in; where none does, the tables of this release do not prove the break."""
    found_by = official_predictions().filter(pk=OuterRef("prediction")).values("round")
    proof = Coalesce(Subquery(found_by[:1]), _first_alike())
    return _with_proof(_breaks(week).annotate(proof=proof).filter(proof__isnull=False))


def _unproved_rows(week: Week) -> Iterator[Row]:
    """The breaks that no answer in force proves any more, with the round whose answer once did."""
    return _with_proof(_breaks(week).filter(~Exists(_alike())).annotate(proof=F("prediction__round")))


def _mistake_rows(week: Week) -> Iterator[Row]:
    """The mistakes outside the contest (R29), by the first round of the answers in force that made each: one that no
    answer in force makes any more is not published."""
    rows = mistakes_outside().filter(in_week_release(week, "image__"), defense__published_at__isnull=False)
    rows = rows.annotate(proof=_first_alike()).filter(proof__isnull=False)
    columns = ("defense__public_id", "image__public_id", "proof", "ruling__label", "found_at")
    ordered = rows.order_by(by_bytes("defense__public_id"), by_bytes("image__public_id"), "found_at", "pk")
    return (next(same) for _, same in groupby(stream(ordered.values_list(*columns)), key=itemgetter(0, 1)))


def _alike() -> QuerySet[Prediction]:
    """Return the answers in force that make the same mistake as the one by which a break was found."""
    same = {name: OuterRef(name) for name in ("defense", "image")}
    return official_predictions().filter(answer=OuterRef("prediction__answer"), **same)


def _first_alike() -> Subquery:
    """The first round of these answers."""
    return Subquery(_alike().order_by("round").values("round")[:1])


def _breaks(week: Week) -> QuerySet[Break]:
    return all_breaks().filter(in_week_release(week, "image__"), defense__published_at__isnull=False)


def _with_proof(rows: QuerySet[Break]) -> Iterator[Row]:
    columns = (
        "pk", "defense__public_id", "image__public_id", "ruling__number", "proof", "prediction__answer", "found_at",
    )  # fmt: skip
    for *named, answer, found in stream(rows.order_by("pk").values_list(*columns)):
        yield *named, _answer(answer), found


def _defense_rows() -> QuerySet[Defense, Row]:
    """The published defenses, those that are retired too: what a week says of them must not depend on a later one.

    The team's texts are empty for a defense that no team submitted.
    """
    columns = (
        "public_id", "name", "digest", "demo", "published_at", "retired_at", "pk", "description", "reference", "image",
        "created_at", "archive", "weights", "source", "entry__team__public_id", "entry__received_at", "entry__due_at",
        "entry__licence", "entry__training_code", "entry__opened_at", "entry__withdrawn_at",
    )  # fmt: skip
    return Defense.objects.filter(published_at__isnull=False).order_by(by_bytes("public_id")).values_list(*columns)
