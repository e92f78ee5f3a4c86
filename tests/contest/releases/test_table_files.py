"""The tables of a release as PostgreSQL writes them: the same bytes as from Python (R39)."""

import json
from pathlib import Path

import pytest
from django.db import connection

from adjudication.schema import release_format as form
from contest.releases import derived_files, services, table_files
from contest.releases.files import ReleaseFolder
from labeling.geometry import canonical_json
from labeling.models import Image, Response, VoidedResponse, Voiding
from labeling.voiding import responses_void
from policy.calendar import Week, week_named
from tests.contest import release_fixtures as cast
from tests.outlines import star
from tests.scoring import cast as scoring_cast

WEEK = week_named("2026-W47", "UTC")
# Texts that a writer of CSV may treat in its own way, and those that a spreadsheet takes for formulas.
TEXTS = [
    *("=1+1", "+1", "-1", "@a", "\tb", "|c", "'d", "''", " =e"),
    *('a "b", c', '"', ",", "\\.", "\\N", "NULL", "null", "''", " ", "ends ", "%s %"),
    *("two\nlines", "two\r\nlines\r\n", "\rold\rmac", "\r\n=f", "\n", "\u2028é\U0001f6b2", "\x0b\x0c"),
]


@pytest.mark.postgres("it writes the tables itself")
def test_postgresql_writes_every_table_as_python_does(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest = cast.a_week()
    texts = (TEXTS[::3], TEXTS[1::3], TEXTS[2::3])
    for image, author, licence, source in zip(contest.images.values(), *texts, strict=True):
        Image.objects.filter(pk=image.pk).update(author=author, licence=licence, source_id=source)
    responses_void(tasker=contest.taskers[0], since=None, reason=TEXTS[9], by=None, now=cast.MONDAY)
    folders = []
    for able in (table_files._can_be_copied, lambda _: False):
        monkeypatch.setattr(table_files, "_can_be_copied", able)
        out = tmp_path / able.__name__
        folders.append(services.release_week(WEEK, out=out, now=cast.AFTER, incomplete=True).folder)
    copied, written = ({file.name: file.read_bytes() for file in each.iterdir() if file.is_file()} for each in folders)
    assert written == copied


OUTLINES = [
    canonical_json(rings)
    for rings in (
        [[(500, 500), (3500, 500), (3500, 3500)]],  # whole pixels
        [[(501, 500), (3510, 507), (3500, 3500), (5, 90)]],  # tenths and hundredths
        [[(0, 0), (1050, 0), (1050, 1000)], [(2000, 2000), (2001, 2000), (2001, 2001)]],  # two rings, half a unit
        [[(0, 0), (300, 300), (500, 500)]],  # no area
        [star(22)],
    )
]


def _a_week_of_every_kind() -> None:
    """`a_week`, and a picture that nobody was asked about, three without a ruling, of which one has a void answer
    and one a panel with room, and one that the board found valid by two of its answers."""
    contest = cast.a_week()
    cast.picture(50)
    said = [cast.drawn(cast.LARGE), cast.drawn(cast.ROUGH), cast.bicycle(cast.LARGE)]
    for number, answers in ((51, said), (52, said), (53, said[:2])):
        cast.labeled(contest, f"without a ruling {number}", cast.picture(number), answers)
    void = Response.objects.filter(panel=contest.panels["without a ruling 52"]).latest("pk")
    voiding = Voiding.objects.create(tasker=void.tasker, reason="careless", voided_at=cast.SATURDAY)
    VoidedResponse.objects.create(response=void, voiding=voiding)
    image = contest.images["depiction"]
    counted = sorted(Response.objects.filter(image=image).values_list("pk", flat=True))[:2]
    by_board = {"decided_by": "board", "explanation": "It is one.", "response_ids": counted}
    scoring_cast.ruled(image, number=2, **by_board)


@pytest.mark.postgres("it writes the lines itself")
def test_postgresql_writes_the_derived_files_as_python_does(db: None, tmp_path: Path) -> None:
    _a_week_of_every_kind()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # answers are never changed otherwise
        # Whole pixels, tenths and hundredths, and a width of each kind.
        cursor.execute(
            "UPDATE labeling_response SET box_xmin = id, box_xmax = 1000 + 3 * id, box_ymin = 10 * id, "
            "box_ymax = 100 * id + 1000, outline = (%s::text[])[1 + id %% %s] WHERE outline <> ''",
            [OUTLINES, len(OUTLINES)],
        )
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    number, coco = _written_both_ways(tmp_path, WEEK)
    assert number == 9, "rows of three: those of 8 rulings that counted three, and of a panel without one"
    outlines = {json.dumps(each["segmentation"]) for each in json.loads(coco)["annotations"]}
    assert len(outlines) == len(OUTLINES), "an annotation with each"


@pytest.mark.postgres("it writes the lines itself")
def test_postgresql_writes_the_derived_files_of_an_empty_week(db: None, tmp_path: Path) -> None:
    number, coco = _written_both_ways(tmp_path, WEEK)
    assert (number, json.loads(coco)["annotations"]) == (0, [])


def _written_both_ways(place: Path, week: Week) -> tuple[int, str]:
    """Have both files written by PostgreSQL and by Python; return the number of rows, and the annotations."""
    written = []
    for write in (derived_files._copy_derived_files, derived_files._write_derived_files):
        (out := place / write.__name__).mkdir()
        folder = ReleaseFolder(out)
        number = write(folder, week)
        written.append((number, folder.hashes, (out / form.TASKER_DATA).read_text(), (out / form.COCO).read_text()))
    assert written[0] == written[1]
    number, _, _, coco = written[0]
    return number, coco


@pytest.mark.parametrize(
    ("name", "can"),
    [
        (form.IMAGES, True),
        (form.RESPONSES, True),
        (form.RULINGS, True),
        (form.PANELS, True),
        (form.PROVENANCE, True),
        (form.PREDICTIONS, False),  # shortest texts of floats differ
        (form.AUDIT, False),  # JSON with sorted keys
    ],
)
def test_postgresql_writes_the_tables_that_grow_with_the_pictures(name: str, can: bool) -> None:
    assert table_files._can_be_copied(name) is can
