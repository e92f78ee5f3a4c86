"""Writes the derived files of a release, `annotations.coco.json` and `tasker_data.csv` (R39).

All functions run inside `contest.releases.snapshot.snapshot`. On PostgreSQL the database writes the lines of both
files itself, as in `table_files`, out of one pass over the responses; a test compares them byte by byte with those of
`adjudication.verifier.derived`.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import BinaryIO, TextIO

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.schema import release_format as form
from adjudication.selectors import rulings_in_force
from adjudication.verifier.derived import (
    AREA_UNITS,
    CATEGORIES,
    COCO_TAIL,
    LONG_ID_DIGITS,
    TASKER_DATA_HEADINGS,
    TASKERS_IN_A_ROW,
    YES,
    Annotations,
    CountedResponse,
    ReleasedPicture,
    coco_head,
    tasker_data_row,
)
from contest.core.week_pictures import images_of_week
from contest.releases.files import Lines, ReleaseFolder
from contest.releases.table_files import Row, by_bytes, query_text, stream
from contest.releases.tables import published_responses
from labeling.enums import Label
from labeling.geometry import Box
from labeling.models import Image, Response, VoidedResponse
from policy.calendar import Week

_PICTURE = ("public_id", "pixels_sha256", "width", "height")
_VALID = rulings_in_force().filter(verdict=Verdict.VALID)


def write_derived_files(folder: ReleaseFolder, week: Week) -> dict[str, int]:
    """Write both files. Returns table -> number of rows, for the manifest, which counts no annotations."""
    write = _copy_derived_files if connection.vendor == "postgresql" else _write_derived_files
    return {form.TASKER_DATA: write(folder, week)}


def _write_derived_files(folder: ReleaseFolder, week: Week) -> int:
    with folder.text(form.COCO) as coco:
        coco.writelines(_coco_head(week))
        number = folder.table(form.TASKER_DATA, TASKER_DATA_HEADINGS, _tasker_rows(week, coco))
        coco.write(COCO_TAIL)
    return number


def _tasker_rows(week: Week, coco: TextIO) -> Iterator[list[str]]:
    """Yield the rows of `tasker_data.csv`, and write the annotations of each picture meanwhile."""
    annotations = Annotations()
    for picture, responses in _with_responses(_pictures(week), _counted_responses(week)):
        coco.write(annotations.of(picture, responses))
        row = tasker_data_row(picture, responses)
        if row is not None:
            yield row


def _coco_head(week: Week) -> Iterator[str]:
    valid = _pictures(week).filter(Exists(_VALID.filter(image=OuterRef("pk")))).values_list(*_PICTURE)
    return coco_head(week.name, form.RULE_BOOK_VERSION, (ReleasedPicture(*row) for row in stream(valid)))


def _pictures(week: Week) -> QuerySet[Image, Row]:
    """Return the pictures with what their newest ruling says, by image id."""
    newer = Ruling.objects.filter(image=OuterRef("pk"), number__gt=OuterRef("rulings__number"))
    rows = images_of_week(week).filter(~Exists(newer)).order_by(by_bytes("public_id"))
    return rows.values_list("pk", *_PICTURE, "rulings__label", "rulings__response_ids")


def _counted_responses(week: Week) -> QuerySet[Response, Row]:
    """Return the responses that count, by the image ids of their pictures and response id."""
    columns = (
        "image_id", "pk", "panel__number", "tasker__public_id", "contains_bird", "contains_bicycle",
        "box_xmin", "box_ymin", "box_xmax", "box_ymax", "complete", "unoccluded", "real", "outline",
    )  # fmt: skip
    voided = VoidedResponse.objects.filter(response=OuterRef("pk"))
    rows = published_responses(week).filter(~Exists(voided), place__isnull=False)
    return rows.order_by(by_bytes("image__public_id"), "pk").values_list(*columns)


def _with_responses(
    pictures: QuerySet[Image, Row], responses: QuerySet[Response, Row]
) -> Iterator[tuple[ReleasedPicture, list[CountedResponse]]]:
    """Yield every picture with those of the responses that are of it."""
    groups = groupby(stream(responses), key=itemgetter(0))
    number, group = next(groups, (None, iter(())))
    for row in stream(pictures):
        # Both come in the same order, so the next responses are this picture's or a later one's.
        if row[0] != number:
            yield _picture(row), []
            continue
        yield _picture(row), [_counted_response(each) for each in group]
        number, group = next(groups, (None, iter(())))


def _picture(row: Row) -> ReleasedPicture:
    _, name, sha, width, height, label, ids = row
    counted = None if ids is None else frozenset(ids)
    return ReleasedPicture(name, sha, width, height, Label(label) if label else None, counted)


def _counted_response(row: Row) -> CountedResponse:
    _, pk, panel, tasker, bird, bicycle, xmin, ymin, xmax, ymax, complete, unoccluded, real, outline = row
    box = Box(xmin, ymin, xmax, ymax) if outline else None
    return CountedResponse(pk, panel, tasker, bird, bicycle, box, complete, unoccluded, real, outline)


def _copy_derived_files(folder: ReleaseFolder, week: Week) -> int:
    rows = (_pictures(week), _counted_responses(week))
    copy = f"COPY ({_derived_lines(*(query_text(each.order_by()) for each in rows))}) TO STDOUT"
    with folder.file(form.COCO) as coco:
        coco.writelines(text.encode() for text in _coco_head(week))

        def write_lines(lines: Lines) -> None:
            with connection.cursor() as cursor:
                cursor.copy_expert(copy, _DerivedLines(lines, coco))

        number = folder.lines(form.TASKER_DATA, TASKER_DATA_HEADINGS, write_lines)
        coco.write(COCO_TAIL.encode())
    return number


class _DerivedLines:
    """Takes the rows of `_derived_lines` and writes each of their cells into its file."""

    def __init__(self, tasker_data: Lines, coco: BinaryIO) -> None:
        self._tasker_data, self._coco = tasker_data, coco
        self._comma = b"\n"

    def write(self, row: bytes) -> None:
        """Write the lines of one picture."""
        line, _, annotations = row.rstrip(b"\n").partition(b"\t")
        if line != _NULL:
            self._tasker_data.write(line + b"\n")
        if annotations != _NULL:
            self._coco.write(self._comma + annotations.replace(_BETWEEN.encode(), b",\n"))
            self._comma = b",\n"


_NULL = rb"\N"  # as COPY writes it
_BETWEEN = "\x1e"  # between the annotations of a picture; COPY writes it as it is


def _pixels(hundredths: str) -> str:
    return f"trim_scale(({hundredths})::numeric / 100)"


def _flag(column: str) -> str:
    return f"CASE {column} WHEN true THEN 'TRUE' WHEN false THEN 'FALSE' ELSE '' END"


_YES = ", ".join(f"'{answer}'" for answer in YES)
_BOX = """
    CASE WHEN outline = '' THEN '{}' ELSE
    '"{""x"": ' || x || ', ""y"": ' || y || ', ""width"": ' || width || ', ""height"": ' || height || '}"' END
"""
# As `Annotations` writes one, without the comma before it; `polygons` is NULL where there is none.
_ANNOTATION = f"""
    CASE WHEN polygons IS NOT NULL THEN concat(
        '{{"id": ', id, ', "image_id": ', number,
        ', "category_id": ', CASE label WHEN '{Label.BIRD}' THEN {CATEGORIES[Label.BIRD]}
            WHEN '{Label.BICYCLE}' THEN {CATEGORIES[Label.BICYCLE]} END,
        ', "segmentation": ', polygons, ', "area": ', area / {AREA_UNITS},
        CASE area % {AREA_UNITS} WHEN 0 THEN '' ELSE '.' || lpad((area % {AREA_UNITS} * 5)::text, 5, '0') END,
        ', "bbox": [', x, ',', y, ',', width, ',', height, '], "iscrowd": 0, "tasker_id": "', tasker, '"}}'
    ) END
"""
# With `e2` behind each coordinate the corners are whole hundredths of a pixel. Their products, and all sums on the way,
# are whole numbers that a float holds, so twice the area, in AREA_UNITS of a square pixel, is exact.
_AREA = """(
    SELECT (2 * sum(area((replace(ring, ',', 'e2,') || 'e2')::path)))::bigint
    FROM unnest(string_to_array(replace(btrim(outline, '[]'), '],[', ','), '],[')) AS ring
)"""


def _derived_lines(pictures: str, responses: str) -> str:
    """Return the query for two texts of each picture: its row of `tasker_data_row` as a line of CSV, or NULL, and its
    annotations, or NULL, with _BETWEEN between them.

    `OFFSET 0` keeps the planner from writing what is selected there into each place that uses it.
    """
    return f"""
        WITH picture (id, name, sha256, width, height, label, heard) AS MATERIALIZED ({pictures}),
        numbered AS (
            SELECT id, sha256, NULLIF(label, '') AS label, heard,
                row_number() OVER by_name AS place, count(NULLIF(label, '')) OVER by_name AS number
            FROM picture WINDOW by_name AS (ORDER BY name COLLATE "C")
        ),
        counted AS (
            SELECT place, sha256 COLLATE "C" AS sha256, label, number, response.*
            FROM ({responses}) AS response (
                picture, id, panel, tasker, bird, bicycle, xmin, ymin, xmax, ymax, complete, unoccluded, "real", outline
            )
            JOIN numbered ON numbered.id = response.picture
            -- A case, because the planner takes what contains a value to be rare, and plans for few rows.
            WHERE CASE WHEN heard IS NULL THEN true ELSE heard @> to_jsonb(response.id) END
        ),
        measured AS (
            SELECT *, {_pixels("xmin")} AS x, {_pixels("ymin")} AS y,
                {_pixels("xmax - xmin")} AS width, {_pixels("ymax - ymin")} AS height,
                CASE WHEN label IS NOT NULL AND outline <> '' THEN
                    replace(replace(replace(outline, '],[', ','), '[[[', '[['), ']]]', ']]') END AS polygons,
                CASE WHEN label IS NOT NULL AND outline <> '' THEN {_AREA} END AS area
            FROM counted OFFSET 0
        ),
        written AS (
            SELECT place, id, sha256, bird, bicycle, concat_ws(
                ',', tasker, bird, bicycle, {_BOX}, {_flag("complete")}, {_flag("unoccluded")}, {_flag('"real"')}
            ) AS cells, {_ANNOTATION} AS annotation FROM measured OFFSET 0
        )
        SELECT CASE count(*) WHEN {TASKERS_IN_A_ROW} THEN '{form.PICTURES}/' || min(sha256) || '.png,/' ||
            CASE WHEN count(*) FILTER (WHERE bird IN ({_YES})) >= count(*) FILTER (WHERE bicycle IN ({_YES}))
                THEN '{Label.BIRD}' ELSE '{Label.BICYCLE}' END ||
            '/' || left(min(sha256), {LONG_ID_DIGITS}) || '.png,' || string_agg(cells, ',' ORDER BY id) END,
            string_agg(annotation, '{_BETWEEN}' ORDER BY id)
        FROM written
        GROUP BY place
        ORDER BY place
    """
