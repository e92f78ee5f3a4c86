"""Writes the derived files of a release, `annotations.coco.json` and `tasker_data.csv` (R39).

All functions run inside `contest.releases.snapshot.snapshot`. On PostgreSQL the database writes the lines of
`tasker_data.csv` itself, as in `table_files`; a test compares both byte by byte.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.schema import release_format as form
from adjudication.selectors import rulings_in_force
from adjudication.verifier.derived import (
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
from contest.releases.files import ReleaseFolder
from contest.releases.table_files import Row, by_bytes, query_text, stream
from contest.releases.tables import published_responses
from labeling.enums import Label
from labeling.geometry import Box
from labeling.models import Image, Response, VoidedResponse
from policy.calendar import Week

_PICTURE = ("public_id", "pixels_sha256", "width", "height")
_VALID = rulings_in_force().filter(verdict=Verdict.VALID)


def write_tasker_data(folder: ReleaseFolder, week: Week) -> dict[str, int]:
    """Write `tasker_data.csv`. Returns table -> number of rows, for the manifest."""
    write = _copy_tasker_data if connection.vendor == "postgresql" else _write_tasker_data
    return {form.TASKER_DATA: write(folder, week)}


def _write_tasker_data(folder: ReleaseFolder, week: Week) -> int:
    rows = (tasker_data_row(*each) for each in _with_responses(_pictures(week), _counted_responses(week)))
    return folder.table(form.TASKER_DATA, TASKER_DATA_HEADINGS, filter(None, rows))


def write_annotations(folder: ReleaseFolder, week: Week) -> dict[str, int]:
    """Write `annotations.coco.json`, of which the manifest counts nothing."""
    valid = _pictures(week).filter(Exists(_VALID.filter(image=OuterRef("pk"))))
    outlined = _counted_responses(week).filter(Exists(_VALID.filter(image=OuterRef("image")))).exclude(outline="")
    listed = (ReleasedPicture(*row) for row in stream(valid.values_list(*_PICTURE)))
    annotations = Annotations()
    with folder.text(form.COCO) as coco:
        coco.writelines(coco_head(week.name, form.RULE_BOOK_VERSION, listed))
        coco.writelines(annotations.of(*each) for each in _with_responses(valid, outlined))
        coco.write(COCO_TAIL)
    return {}


def _pictures(week: Week) -> QuerySet[Image, Row]:
    """Return the pictures with what their newest ruling says, by image id."""
    newest = Ruling.objects.filter(image=OuterRef("pk")).order_by("-number")
    ruled = {column: Subquery(newest.values(column)[:1]) for column in ("label", "response_ids")}
    rows = images_of_week(week).annotate(**ruled).order_by(by_bytes("public_id"))
    return rows.values_list("pk", *_PICTURE, *ruled)


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


def _pixels(hundredths: str) -> str:
    return f"trim_scale(({hundredths})::numeric / 100)"


def _flag(column: str) -> str:
    return f"CASE {column} WHEN true THEN 'TRUE' WHEN false THEN 'FALSE' ELSE '' END"


_YES = ", ".join(f"'{answer}'" for answer in YES)
_BOX = f"""
    CASE WHEN outline = '' THEN '{{}}' ELSE
    '"{{""x"": ' || {_pixels("xmin")} || ', ""y"": ' || {_pixels("ymin")} ||
    ', ""width"": ' || {_pixels("xmax - xmin")} || ', ""height"": ' || {_pixels("ymax - ymin")} || '}}"' END
"""


def _tasker_data(pictures: str, responses: str) -> str:
    """Return the query for the rows of `tasker_data_row`, each a line of CSV in one text."""
    return f"""
        WITH picture (id, name, sha256, width, height, label, heard) AS MATERIALIZED ({pictures})
        SELECT '{form.PICTURES}/' || sha256 || '.png,/' ||
            CASE WHEN count(*) FILTER (WHERE bird IN ({_YES})) >= count(*) FILTER (WHERE bicycle IN ({_YES}))
                THEN '{Label.BIRD}' ELSE '{Label.BICYCLE}' END ||
            '/' || left(sha256, {LONG_ID_DIGITS}) || '.png,' || string_agg(cells, ',')
        FROM (
            SELECT name COLLATE "C" AS name, sha256, response.id, bird, bicycle, concat_ws(
                ',', tasker, bird, bicycle, {_BOX}, {_flag("complete")}, {_flag("unoccluded")}, {_flag('"real"')}
            ) AS cells
            FROM ({responses}) AS response (
                picture, id, panel, tasker, bird, bicycle, xmin, ymin, xmax, ymax, complete, unoccluded, "real", outline
            )
            JOIN picture ON picture.id = response.picture
            -- A case, because the planner takes what contains a value to be rare, and plans for few rows.
            WHERE CASE WHEN heard IS NULL THEN true ELSE heard @> to_jsonb(response.id) END
            ORDER BY 1, 3
        ) AS answers
        GROUP BY name, sha256
        HAVING count(*) = {TASKERS_IN_A_ROW}
        ORDER BY name
    """


def _copy_tasker_data(folder: ReleaseFolder, week: Week) -> int:
    rows = (_pictures(week), _counted_responses(week))
    copy = f"COPY ({_tasker_data(*(query_text(each.order_by()) for each in rows))}) TO STDOUT"
    with connection.cursor() as cursor:
        return folder.lines(form.TASKER_DATA, TASKER_DATA_HEADINGS, lambda lines: cursor.copy_expert(copy, lines))
