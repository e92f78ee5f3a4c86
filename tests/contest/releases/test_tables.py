"""What is in each file of a release, and how it is written (docs/release-format.md)."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.conf import settings
from hypothesis import example, given
from hypothesis import strategies as st
from pycocotools.coco import COCO

from adjudication.enums import Reason
from adjudication.schema import cells, release_tables
from adjudication.schema import release_format as form
from adjudication.verifier.derived import (
    COCO_TAIL,
    Annotations,
    CountedResponse,
    ReleasedPicture,
    coco_head,
    outline_sides,
    tasker_data_row,
)
from adjudication.verify import verify
from contest.core.models import Attack, Team
from contest.releases import services
from contest.releases.archive import Archive, deflate, stored_file
from labeling.enums import Label
from labeling.geometry import Box, canonical_json, doubled_area, quantise
from labeling.models import Image, Response
from labeling.voiding import responses_void
from policy.calendar import week_named
from scoring.enums import DefenseAnswer, Fault, RunState
from tests import factories
from tests.contest import release_fixtures as cast
from tests.outlines import star

WEEK = week_named("2026-W47", "UTC")

# As docs/release-format.md fixes them; release_format is what is tested here, so they are written out again.
COLUMNS = {
    "images.csv": "image_id,sha256_pixels,width,height,file,origin,week,team,received_at",
    "responses.csv": "response_id,image_id,panel,tasker_id,submitted_at,contains_bird,contains_bicycle,outline,"
    "box_xmin,box_ymin,box_xmax,box_ymax,complete,unoccluded,real,seconds,counted,void_reason",
    "rulings.csv": "image_id,number,decided_at,decided_by,panel,verdict,label,reasons,smallest_box_fraction,"
    "policy_version,explanation,response_ids",
    "predictions.csv": "prediction_id,defense_id,defense_digest,image_id,round,answer,score_bicycle,score_bird,"
    "device,batch_size,batch,row,seed,attempt,latency_us,predicted_at,run",
    "faults.csv": "defense_id,image_id,round,fault,attempt,at",
    "breaks.csv": "break_id,defense_id,image_id,ruling_number,round,answer,found_at",
    "defenses.csv": "defense_id,name,digest,demo,published_at,retired_at,number,description,reference,image,created_at,"
    "archive,weights,source,team_id,received_at,due_at,licence,training_code,opened_at,withdrawn_at",
}


def test_the_description_names_the_revision_that_is_written() -> None:
    words = (settings.BASE_DIR / "docs" / "release-format.md").read_text()
    assert f'its revision {form.REVISION} (`"revision": {form.REVISION}`)' in words


@pytest.fixture(scope="module")
def published_week(module_world: Path) -> cast.Contest:
    contest = cast.a_week()
    services.release_week(WEEK, out=module_world / "releases", now=cast.AFTER)
    return contest


@pytest.fixture
def contest(published_week: cast.Contest, db: None) -> cast.Contest:
    """A week, and its release; each test has its own copy."""
    return deepcopy(published_week)


@pytest.fixture
def folder(contest: cast.Contest, settings: Any) -> Path:
    return Path(settings.RELEASE_DIR) / "release-2026-W47"


def _release(out: Path, **options: Any) -> Path:
    return services.release_week(WEEK, out=out, now=cast.AFTER, **options).folder


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_table_has_the_columns_of_the_contract_and_is_plain_csv_with_lf(folder: Path) -> None:
    assert {name: (folder / name).read_text().split("\n")[0] for name in COLUMNS} == COLUMNS
    for name in (*COLUMNS, "tasker_data.csv"):
        text, written = (folder / name).read_bytes().decode("utf-8"), io.StringIO(newline="")
        csv.writer(written, lineterminator="\n").writerows(csv.reader(io.StringIO(text, newline="")))
        assert written.getvalue() == text and "\r" not in text


def test_images_are_those_of_the_week_by_id(contest: cast.Contest, tmp_path: Path) -> None:
    instant = timedelta(microseconds=1)
    inside = cast.picture(70, received_at=WEEK.end - instant, label_from=WEEK.end)
    cast.ruled(cast.labeled(contest, "inside", inside, [cast.EXCLUDED] * 3))
    elsewhere: list[dict[str, Any]] = [{"received_at": WEEK.end}, {"received_at": WEEK.start - instant}]
    elsewhere += [{"origin": "gold"}, {"origin": "example", "label_from": None}, {"label_from": None}]
    for number, values in enumerate(elsewhere, start=71):
        cast.picture(number, **values)
    rows = _rows(_release(tmp_path), "images.csv")
    assert [row["image_id"] for row in rows] == sorted(image.public_id for image in contest.images.values())
    row = next(row for row in rows if row["image_id"] == inside.public_id)
    assert (row["received_at"], row["file"]) == ("2026-11-20T23:59:59.999999Z", f"images/{inside.pixels_sha256}.png")


def _sent(name: str, image: Image, at: datetime) -> str:
    team = Team.objects.create(name=name, created_at=cast.MONDAY)
    Attack.objects.create(team=team, image=image, received_at=at)
    return team.public_id


def test_the_team_is_the_one_with_the_first_receipt_of_the_week(contest: cast.Contest, tmp_path: Path) -> None:
    """An attack of a later week may be under embargo, also when the picture is one of this week (R24)."""
    sent, known, other = (contest.images[case] for case in ("valid bird", "occluded", "uncertain"))
    _sent("late", known, WEEK.end)
    assert not services.release_week(WEEK, out=tmp_path, now=cast.AFTER).new
    early = _sent("early", known, WEEK.end - timedelta(microseconds=1))
    _sent("slower", sent, cast.MONDAY + timedelta(seconds=1))
    teams = {row["image_id"]: row["team"] for row in _rows(_release(tmp_path), "images.csv")}
    red = Team.objects.get(name="=red").public_id
    assert [teams[each.public_id] for each in (sent, known, other)] == [red, early, ""]


def test_answers_of_an_open_panel_stay_out(contest: cast.Contest, tmp_path: Path) -> None:
    """Whoever is still to answer must not read what others said (R8), also the surplus and where five are asked."""
    panel = factories.panel(cast.picture(80), size=5, dealt_at=cast.MONDAY)
    for tasker in contest.taskers[:3]:
        factories.response(tasker, panel, now=cast.MONDAY, **cast.EXCLUDED)
    factories.response(contest.taskers[3], panel, now=cast.MONDAY, counted=False, **cast.EXCLUDED)
    full = cast.labeled(contest, "full", cast.picture(81), [cast.EXCLUDED] * 3)
    folder = _release(tmp_path, incomplete=True)
    answered, listed = ({row["image_id"] for row in _rows(folder, name)} for name in ("responses.csv", "images.csv"))
    assert panel.image.public_id in listed - answered and full.image.public_id in answered
    assert panel.image.pixels_sha256 not in (folder / "tasker_data.csv").read_text()
    assert (pq.read_table(folder / "responses.parquet").num_rows, verify(folder).differences) == (31, [])


def test_faults_of_the_defense_itself_are_told_and_not_waited_for(contest: cast.Contest, tmp_path: Path) -> None:
    """They are final, so waiting would never end (R30)."""
    image, late = contest.images["valid bird"], cast.defense(3)
    cast.scored(late, contest.images["valid bicycle"], [DefenseAnswer.ABSTAIN] * 3)
    cast.scored(late, image, [DefenseAnswer.ABSTAIN] * 2)
    cast.faulted(late, image, 3, Fault.BATCH_TIMEOUT, cast.SATURDAY + timedelta(hours=2))
    cast.faulted(cast.defense(5, published_at=None), image, 1, Fault.CRASHED)
    folder = _release(tmp_path)
    told = {"round": "3", "fault": "batch_timeout", "attempt": "1", "at": "2026-11-21T11:30:00.000000Z"}
    told |= {"defense_id": "D-00003", "image_id": image.public_id}
    assert (_rows(folder, "faults.csv"), verify(folder).differences) == ([told], [])


def test_retired_defenses_are_listed_and_owe_no_answers(contest: cast.Contest, tmp_path: Path) -> None:
    cast.scored(cast.defense(3, retired_at=cast.MONDAY), contest.images["valid bird"], [DefenseAnswer.ABSTAIN])
    cast.defense(4, retired_at=cast.MONDAY)
    folder, retired = _release(tmp_path), "2026-11-16T09:30:00.000000Z"
    listed = {row["defense_id"]: row["retired_at"] for row in _rows(folder, "defenses.csv")}
    assert listed == {"D-00001": "", "D-00002": "", "D-00003": retired, "D-00004": retired}
    assert verify(folder).differences == []


def test_a_response_is_written_in_full(folder: Path, contest: cast.Contest) -> None:
    response, rows = contest.images["valid bird"].responses.order_by("pk")[1], _rows(folder, "responses.csv")
    numbers = [int(row["response_id"]) for row in rows]
    assert numbers == sorted(numbers) and len(numbers) == 28, "by number, not by text"
    assert [row["tasker_id"] for row in rows if row["counted"] == "false"] == [contest.taskers[3].public_id]
    not_asked = next(row for row in rows if row["image_id"] == contest.images["neither_class"].public_id)
    asked = ("outline", "box_xmin", "box_ymin", "box_xmax", "box_ymax", "complete", "unoccluded", "real")
    assert {not_asked[name] for name in asked} == {""}
    assert rows[1] == {
        "response_id": str(response.pk),
        "image_id": response.image.public_id,
        "panel": "1",
        "tasker_id": response.tasker.public_id,
        "submitted_at": "2026-11-21T09:31:00.000001Z",
        "contains_bird": "definitely_yes",
        "contains_bicycle": "definitely_no",
        "outline": "[[[5.25,5],[30.5,5.01],[35,35.75],[5,35]]]",
        "box_xmin": "5.00",
        "box_ymin": "5.00",
        "box_xmax": "35.00",
        "box_ymax": "35.75",
        "complete": "true",
        "unoccluded": "true",
        "real": "true",
        "seconds": "4.200",
        "counted": "true",
        "void_reason": "",
    }


def test_a_voided_answer_is_published_with_its_reason(contest: cast.Contest, tmp_path: Path) -> None:
    """It does not count, and who came in its place does; the verifier finds the same (R6)."""
    panel = factories.panel(cast.picture(80), dealt_at=cast.MONDAY)
    for tasker in contest.taskers[:2]:
        factories.response(tasker, panel, now=cast.MONDAY, **cast.EXCLUDED)
    reason = 'Clicks at random, "as fast as can be",\n=see the figures.'
    responses_void(tasker=contest.taskers[0], since=None, reason=reason, by=None, now=cast.MONDAY)
    panel.refresh_from_db()
    for tasker in contest.taskers[2:4]:
        factories.response(tasker, panel, now=cast.MONDAY, **cast.EXCLUDED)
    cast.ruled(panel)
    folder = _release(tmp_path)
    rows = [row for row in _rows(folder, "responses.csv") if row["image_id"] == panel.image.public_id]
    told = [("false", reason), ("true", ""), ("true", ""), ("true", "")]
    assert [(row["counted"], row["void_reason"]) for row in rows] == told
    (typed,) = (row for row in pq.read_table(folder / "responses.parquet").to_pylist() if row["void_reason"])
    assert (typed["void_reason"], typed["counted"], verify(folder).differences) == (reason, False, [])


@pytest.mark.parametrize(("retired", "published"), [(False, 0), (True, 1)])
def test_answers_on_gold_come_out_when_it_is_gold_no_more(
    retired: bool, published: int, contest: cast.Contest, tmp_path: Path
) -> None:
    values = {"retired_at": cast.AFTER, "retired_because": "Known by now."} if retired else {}
    panel, ines = contest.panels["valid bird"], factories.tasker("ines")
    full_at = panel.full_at
    gold = factories.gold(panel, **values)
    type(panel).objects.filter(pk=panel.pk).update(full_at=full_at)
    factories.response(ines, panel, now=cast.SATURDAY, counted=False, known=gold, **cast.EXCLUDED)
    folder = _release(tmp_path)
    counted = [row["counted"] for row in _rows(folder, "responses.csv") if row["tasker_id"] == ines.public_id]
    assert (counted, verify(folder).differences) == (["false"] * published, [])


def test_rulings_list_reasons_in_order_and_an_exact_share(folder: Path, contest: cast.Contest) -> None:
    rows = {row["image_id"]: row for row in _rows(folder, "rulings.csv")}
    of = {case: rows[image.public_id] for case, image in contest.images.items()}
    assert (of["valid bird"]["verdict"], of["valid bird"]["label"]) == ("valid", "bird")
    assert (of["occluded"]["reasons"], of["too_small"]["smallest_box_fraction"]) == ("occluded;truncated", "1/16")
    assert of["neither_class"]["smallest_box_fraction"] == ""
    assert all(Reason(case) in of[case]["reasons"].split(";") for case in cast.CASES if "valid" not in case)
    assert Fraction(of["valid bird"]["smallest_box_fraction"]) == Fraction(9, 16)


def test_predictions_are_those_of_assessed_runs_of_published_defenses(contest: cast.Contest, tmp_path: Path) -> None:
    image = contest.images["valid bird"]
    cast.scored(cast.defense(3, published_at=None), image, [DefenseAnswer.BICYCLE] * 3)
    cast.scored(cast.defense(4), image, [DefenseAnswer.BICYCLE] * 3, state=RunState.FINISHED)
    folder = _release(tmp_path, incomplete=True)
    rows = _rows(folder, "predictions.csv")
    assert {row["defense_id"] for row in rows} == {"D-00001", "D-00002"}
    assert (rows[0]["answer"], rows[0]["score_bicycle"], rows[0]["score_bird"]) == ("abstain", "0.1", "-1e-07")
    assert [row["defense_id"] for row in _rows(folder, "defenses.csv")] == ["D-00001", "D-00002", "D-00004"]


@pytest.mark.parametrize(
    ("value", "cell", "why"),
    [
        ("plain", "plain", "nothing to do"),
        ("", "", "nothing there"),
        ("=1+1", "'=1+1", "a formula"),
        ("+1", "'+1", "a formula in some spreadsheets"),
        ("-1", "'-1", "likewise"),
        ("@cmd", "'@cmd", "likewise"),
        ("\t=1", "'\t=1", "a tab may be skipped"),
        ("'quoted", "''quoted", "so that one apostrophe always goes away"),
        ("a\r\nb\rc", "a\nb\nc", "one kind of line end"),
    ],
)
def test_free_text_is_no_formula(value: str, cell: str, why: str) -> None:
    assert cells.text(value) == cell, why


@given(st.text(alphabet="='+-@|\t ab\n"))
def test_free_text_can_be_read_back(value: str) -> None:
    assert cells.text(value).removeprefix("'") == value


def test_tasker_data_has_the_original_layout(folder: Path, contest: cast.Contest) -> None:
    with (folder / "tasker_data.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    names = "worker_id bird_label bicycle_label bounding_box_json is_not_truncated is_not_occluded is_not_depiction"
    assert (lines[1], {len(line) for line in lines}) == (["url", "long_image_id", *names.split() * 3], {23})
    assert len(lines) == 2 + len(cast.CASES)
    answers = {"definitely_yes", "unsure_yes", "unsure_no", "definitely_no"}
    for line in lines[2:]:
        assert (folder / line[0]).is_file()
        for start in (2, 9, 16):
            _, bird, bicycle, box, *flags = line[start : start + 7]
            assert {bird, bicycle} <= answers and set(json.loads(box)) in (set(), {"x", "y", "width", "height"})
            assert set(flags) <= {"TRUE", "FALSE"} or flags == ["", "", ""]


def _counted(number: int, **values: Any) -> CountedResponse:
    return CountedResponse(**({
        "response_id": number, "panel": 1, "tasker_id": f"T-{number}", "bird": "definitely_yes",
        "bicycle": "definitely_no", "box": Box(1250, 0, 3300, 101), "complete": True, "unoccluded": False,
        "real": None, "outline": "[[[12.5,0],[33,0],[33,1.01]]]",
    } | values))  # fmt: skip


def test_a_row_of_tasker_data() -> None:
    picture = ReleasedPicture("P-1", "0123456789abcdef" * 4, 40, 40)
    row = tasker_data_row(picture, [_counted(1), _counted(2, box=None), _counted(3)])
    assert row is not None and row[:2] == [f"images/{'0123456789abcdef' * 4}.png", "/bird/0123456789abcdef.png"]
    box = '{"x": 12.5, "y": 0, "width": 20.5, "height": 1.01}'
    assert (row[2:9], row[12]) == (["T-1", "definitely_yes", "definitely_no", box, "TRUE", "FALSE", ""], "{}")


@pytest.mark.parametrize("number", [0, 2, 4])
def test_tasker_data_is_for_three_counted_responses_alone(number: int) -> None:
    assert tasker_data_row(ReleasedPicture("P-1", "0" * 64, 40, 40), [_counted(each) for each in range(number)]) is None


def test_annotations_load_in_pycocotools(folder: Path, contest: cast.Contest) -> None:
    coco = COCO(str(folder / "annotations.coco.json"))
    assert {each["name"] for each in coco.loadCats(coco.getCatIds())} == {"bicycle", "bird"}
    assert {each["image_id"] for each in coco.loadImgs(coco.getImgIds())} == {
        contest.images[case].public_id for case in ("valid bird", "valid bicycle")
    }
    annotations = coco.loadAnns(coco.getAnnIds())
    valid = Response.objects.filter(image__rulings__verdict="valid", place__isnull=False)
    said = {(each.pk, each.tasker.public_id) for each in valid}
    assert {(each["id"], each["tasker_id"]) for each in annotations} == said
    square = next(each for each in annotations if each["segmentation"] == [[5, 5, 35, 5, 35, 35, 5, 35]])
    assert (square["area"], square["bbox"], square["iscrowd"]) == (900, [5, 5, 30, 30], 0)
    assert coco.annToMask(square).sum() == 900


def test_an_annotation_of_two_rings_and_decimals() -> None:
    outline = "[[[0,0],[10.5,0],[10.5,10]],[[20,20],[20.01,20],[20.01,20.01]]]"
    picture = ReleasedPicture("P-1", "0" * 64, 40, 40, Label.BICYCLE, frozenset({7}))
    counted = [_counted(7, outline=outline, box=Box(0, 0, 2001, 2001)), _counted(8, panel=2)]  # a later panel's
    text = "".join([*coco_head("2026-W47", "2", [picture]), Annotations().of(picture, counted), COCO_TAIL])
    [annotation] = json.loads(text)["annotations"]
    assert annotation["segmentation"] == [[0, 0, 10.5, 0, 10.5, 10], [20, 20, 20.01, 20, 20.01, 20.01]]
    assert '"area": 52.50005,' in text
    assert (annotation["id"], annotation["category_id"], annotation["bbox"]) == (7, 1, [0, 0, 20.01, 20.01])


_coordinates = st.integers(0, 409_600)
_rings = st.lists(st.lists(st.tuples(_coordinates, _coordinates), min_size=1, max_size=30), min_size=1, max_size=4)


_in_the_far_corner = st.builds(star, st.integers(min_value=0, max_value=2**16))


@example([star(22)]).via("the rounding of an ordinary sum of floats shows before Python 3.12")
@given(_rings | st.lists(_in_the_far_corner, min_size=1, max_size=1))
def test_box_and_area_from_the_text_are_exact(rings: list[list[tuple[int, int]]]) -> None:
    """They are read by hand for speed; the geometry module is the judge."""
    outline = canonical_json(rings)
    assert Box(*outline_sides(outline)) == Box.from_rings(rings)
    counted = _counted(1, outline=outline, box=Box.from_rings(rings))
    picture = ReleasedPicture("P-1", "0" * 64, 1, 1, Label.BIRD, frozenset({1}))
    area = Fraction(json.loads(Annotations().of(picture, [counted]), parse_float=str)["area"]) * 2 * 100 * 100
    assert area == sum(abs(doubled_area(ring)) for ring in rings)


_near_outlines = st.lists(
    st.sampled_from(["[", "]", "]],[[", "],[", ",", "0", "1", "20", "0.5", "3.07", "1.50", "01", ".5", "-1", "1e3"]),
    max_size=14,
).map("".join)


def _is_canonical(text: str) -> bool:
    try:
        read = json.loads(text, parse_float=Decimal)
        rings = [[(quantise(x), quantise(y)) for x, y in ring] for ring in read]
    except (TypeError, ValueError):
        return False
    return bool(rings) and all(rings) and "-" not in text and canonical_json(rings) == text


@given(st.one_of(_rings.map(canonical_json), _near_outlines, _near_outlines.map("[[[{}]]]".format)))
def test_the_form_of_an_outline_is_the_canonical_one(text: str) -> None:
    fits = release_tables.TABLES["responses.csv"]["outline"].kind.form.fullmatch(text) is not None
    assert fits == (text == "" or _is_canonical(text))


def test_parquet_has_the_rows_of_the_table_typed(folder: Path) -> None:
    table = pq.read_table(folder / "responses.parquet")
    assert table.column_names == COLUMNS["responses.csv"].split(",")
    assert [str(table.schema.field(name).type) for name in ("response_id", "submitted_at", "box_xmin", "complete")] == [
        "int64",
        "timestamp[us, tz=UTC]",
        "decimal128(19, 2)",
        "bool",
    ]
    shown: dict[type, Callable[[Any], str]] = {type(None): lambda _: "", bool: cells.boolean}
    for typed, row in zip(table.to_pylist(), _rows(folder, "responses.csv"), strict=True):
        typed["submitted_at"] = cells.time(typed["submitted_at"])
        assert {name: shown.get(type(value), str)(value) for name, value in typed.items()} == row


def test_the_zip_holds_the_same_folder(folder: Path) -> None:
    with zipfile.ZipFile(folder.with_name(f"{folder.name}.zip")) as archive:
        assert archive.testzip() is None
        files = sorted(path.relative_to(folder.parent).as_posix() for path in folder.rglob("*") if path.is_file())
        assert archive.namelist() == files
        assert all(archive.read(name) == (folder.parent / name).read_bytes() for name in files)
        told = {(info.date_time, info.external_attr >> 16) for info in archive.infolist()}
        assert told == {((1980, 1, 1, 0, 0, 0), 0o100644)}
        packed = {info.filename.rpartition(".")[2]: info.compress_type for info in archive.infolist()}
    assert packed == {"json": 8, "csv": 8, "png": 0, "parquet": 0}


MANY = [(5, 7), pytest.param(0xFFFF, 70_000, marks=pytest.mark.long("more files than the old format of zips counts"))]


@pytest.mark.parametrize(("most", "number"), MANY)
def test_a_zip_of_more_files_than_the_old_format_counts(
    most: int, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contest.releases.archive._MANY", most)
    (tmp_path / "one").write_bytes(b"x" * 10_000)
    whole, packed = stored_file(tmp_path / "one"), deflate(tmp_path / "one", tmp_path / "packed")
    with Archive(tmp_path / "many.zip") as archive:
        for each in range(number):
            archive.add(f"{each:05d}", whole if each == 5 else packed)
    with zipfile.ZipFile(tmp_path / "many.zip") as read:
        assert len(read.namelist()) == number
        assert [len(read.read(f"{each:05d}")) for each in (0, 5, number - 1)] == [10_000] * 3
