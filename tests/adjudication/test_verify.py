"""The verifier finds every change to a release, also by somebody who adjusts the manifest's hashes (R39)."""

import copy
import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adjudication.enums import DecidedBy, Verdict
from adjudication.models import Ruling
from adjudication.rules import Policy
from adjudication.verify import DIFFERENT, NO_RELEASE, NOTHING_DIFFERS, main, verify
from adjudication.verify_breaks import check_complete
from adjudication.verify_reading import Findings, Manifest, NotARelease
from adjudication.verify_rulings import Numbers
from contest import releases
from contest.models import Attack
from contest.rules import week_named
from labeling.png import encode_png
from scoring.enums import Outcome
from tests import factories
from tests.contest import release_fixtures as cast

ROOT = Path(__file__).resolve().parents[2]
WEEK = week_named("2026-W47", "UTC")


class Forger:
    """Somebody who changes a published release and, being clever, the hashes in its manifest too."""

    def __init__(self, folder: Path, contest: cast.Contest) -> None:
        self.folder = folder
        self.id_of = {case: image.public_id for case, image in contest.images.items()}
        self.sha_of = {case: image.pixels_sha256 for case, image in contest.images.items()}

    def rows(self, name: str, change: Callable[[list[dict[str, str]]], None]) -> None:
        """Let `change` edit the rows of a table in place."""
        lines = list(csv.reader(io.StringIO((self.folder / name).read_text(), newline="")))
        rows = [dict(zip(lines[0], cells, strict=True)) for cells in lines[1:]]
        change(rows)
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([lines[0], *(row.values() for row in rows)])
        (self.folder / name).write_text(text.getvalue())
        self.count(name, len(rows))

    def cell(self, file: str, where: dict[str, str], /, **values: str) -> None:
        """Change cells of the first row that has the values of `where`."""

        def change(rows: list[dict[str, str]]) -> None:
            row = next(row for row in rows if where.items() <= row.items())
            assert row | values != row, "a forgery that changes nothing proves nothing"
            row.update(values)

        self.rows(file, change)

    def manifest(self, change: Callable[[dict[str, Any]], None]) -> None:
        path = self.folder / "manifest.json"
        values = json.loads(path.read_text())
        change(values)
        path.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")

    def count(self, name: str, number: int) -> None:
        self.manifest(lambda values: values["counts"].update({name.partition(".")[0]: number}))

    def rehash(self) -> None:
        """Make the manifest agree with whatever files there are."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.name != "manifest.json")
        hashes = {
            path.relative_to(self.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
        }
        self.manifest(lambda values: values.update(files=dict(sorted(hashes.items()))))


@pytest.fixture
def contest(db: None) -> cast.Contest:
    return cast.a_week()


@pytest.fixture
def folder(contest: cast.Contest, tmp_path: Path) -> Path:
    return releases.release_week(WEEK, out=tmp_path / "out", now=cast.AFTER).folder


_published: dict[Callable[[Path], Forger], Forger] = {}


def with_a_copy(publish: Callable[[Path], Forger], folders: pytest.TempPathFactory) -> Forger:
    """A forger with a copy of what `publish` made in the folder it was given; it is asked once in a process."""
    if publish not in _published:
        _published[publish] = publish(folders.mktemp("published"))
    forger = copy.copy(_published[publish])
    all_releases = shutil.copytree(forger.folder.parent, folders.mktemp("copied") / "out")
    forger.folder = all_releases / forger.folder.name
    return forger


def a_week_published(out: Path) -> Forger:
    contest = cast.a_week()
    return Forger(releases.release_week(WEEK, out=out, now=cast.AFTER).folder, contest)


@pytest.fixture
def forger(db: None, tmp_path_factory: pytest.TempPathFactory) -> Forger:
    return with_a_copy(a_week_published, tmp_path_factory)


def test_an_honest_release_has_no_difference(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder)]) == NOTHING_DIFFERS
    said = capsys.readouterr().out
    assert "28 responses read, 27 of them counted" in said
    assert "9 rulings read, 9 of them derived again" in said
    assert "9 pictures decoded" in said
    assert said.endswith("Nothing differs.\n")


def test_quiet_says_nothing_when_nothing_differs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder), "--quiet"]) == NOTHING_DIFFERS
    assert capsys.readouterr().out == ""


def test_it_needs_nothing_but_python_and_a_checkout(folder: Path) -> None:
    program = [sys.executable, "-S", "-E", "-B", "-m", "adjudication.verify", str(folder)]
    done = subprocess.run(program, cwd=ROOT, env={"PATH": os.defpath}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (NOTHING_DIFFERS, "")


def test_no_package_is_loaded(folder: Path) -> None:
    """Isolated from every installed package, only this project and the standard library are imported."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        f"from adjudication.verify import main; status = main([{str(folder)!r}, '--quiet'])\n"
        "own = {'adjudication', 'labeling', 'common', '__main__', '__mp_main__'}\n"
        "other = {m.split('.')[0] for m in sys.modules} - own - set(sys.stdlib_module_names)\n"
        "print(status, sorted(m for m in other if not m.startswith('_sysconfigdata_')))\n"  # Python's own, by platform
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "an empty folder"),
        ("{", "no JSON"),
        ("[]", "no object"),
        ('{"format": "something-else"}', "another format"),
        ('{"format": "unanimous-release-1", "name": 7}', "values of the wrong kind"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_folder_that_is_no_release_is_told_apart(
    content: str | None, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    assert main([str(tmp_path)]) == NO_RELEASE, why
    assert "manifest.json" in capsys.readouterr().err


def answer_changed(forger: Forger) -> None:
    forger.cell("responses.csv", {"image_id": forger.id_of["valid bird"]}, contains_bird="unsure_yes")


def statement_changed(forger: Forger) -> None:
    forger.cell("responses.csv", {"image_id": forger.id_of["depiction"], "real": "false"}, real="true")


def outline_changed(forger: Forger) -> None:
    outline = "[[[5,5],[35,5],[35,34],[5,34]]]"
    forger.cell("responses.csv", {"image_id": forger.id_of["valid bird"]}, outline=outline)


def outline_and_box_changed(forger: Forger) -> None:
    forger.cell(
        "responses.csv",
        {"image_id": forger.id_of["valid bird"]},
        outline="[[[5,5],[15,5],[15,15],[5,15]]]",
        box_xmax="15.00",
        box_ymax="15.00",
    )


def outline_moved_inside_its_box(forger: Forger) -> None:
    outline = "[[[5,5],[35,5],[35,35],[5,34],[5,35]]]"
    forger.cell("responses.csv", {"image_id": forger.id_of["valid bird"]}, outline=outline)


def outline_outside_the_image(forger: Forger) -> None:
    outline = "[[[5,5],[41,5],[41,35],[5,35]]]"
    forger.cell("responses.csv", {"image_id": forger.id_of["occluded"]}, outline=outline, box_xmax="41.00")


def outline_no_text_of_rings(forger: Forger) -> None:
    forger.cell("responses.csv", {"image_id": forger.id_of["valid bird"]}, outline="[" * 5_000)


def outline_written_otherwise(forger: Forger) -> None:
    outline = "[[[5.00,5],[35,5],[35,35],[5,35]]]"
    forger.cell("responses.csv", {"image_id": forger.id_of["valid bird"]}, outline=outline)


def box_changed(forger: Forger) -> None:
    forger.cell("responses.csv", {"image_id": forger.id_of["valid bird"]}, box_xmin="4.99")


def surplus_counted(forger: Forger) -> None:
    forger.cell("responses.csv", {"counted": "false"}, counted="true")


def counted_made_surplus(forger: Forger) -> None:
    forger.cell("responses.csv", {"image_id": forger.id_of["neither_class"]}, counted="false")


def tasker_changed(forger: Forger) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        first, second = [row for row in rows if row["image_id"] == forger.id_of["too_small"]][:2]
        second["tasker_id"] = first["tasker_id"]

    forger.rows("responses.csv", change)


def response_removed(forger: Forger) -> None:
    forger.rows("responses.csv", lambda rows: rows.remove(rows[4]))


def response_added(forger: Forger) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        rows.append(rows[0] | {"response_id": str(int(rows[-1]["response_id"]) + 1), "tasker_id": "T-NEW99"})

    forger.rows("responses.csv", change)


def rows_swapped(forger: Forger) -> None:
    forger.rows("responses.csv", lambda rows: rows.reverse())


def verdict_turned(forger: Forger) -> None:
    where = {"image_id": forger.id_of["occluded"]}
    forger.cell("rulings.csv", where, verdict="valid", label="bird", reasons="")


def label_changed(forger: Forger) -> None:
    forger.cell("rulings.csv", {"image_id": forger.id_of["valid bird"]}, label="bicycle")


def reason_left_out(forger: Forger) -> None:
    forger.cell("rulings.csv", {"image_id": forger.id_of["occluded"]}, reasons="occluded")


def reasons_reordered(forger: Forger) -> None:
    forger.cell("rulings.csv", {"image_id": forger.id_of["occluded"]}, reasons="truncated;occluded")


def fraction_changed(forger: Forger) -> None:
    forger.cell("rulings.csv", {"image_id": forger.id_of["too_small"]}, smallest_box_fraction="1/4")


def fraction_not_reduced(forger: Forger) -> None:
    forger.cell("rulings.csv", {"image_id": forger.id_of["too_small"]}, smallest_box_fraction="2/32")


def policy_of_a_ruling_changed(forger: Forger) -> None:
    forger.cell("rulings.csv", {"image_id": forger.id_of["too_small"]}, policy_version="2")


def ruling_given_to_the_board(forger: Forger) -> None:
    forger.cell("rulings.csv", {"image_id": forger.id_of["too_small"]}, decided_by="board")


def ruling_removed(forger: Forger) -> None:
    forger.rows("rulings.csv", lambda rows: rows.remove(rows[-1]))


def ruling_repeated(forger: Forger) -> None:
    forger.rows("rulings.csv", lambda rows: rows.insert(1, rows[0] | {"number": "3"}))


def image_removed(forger: Forger) -> None:
    forger.rows("images.csv", lambda rows: rows.remove(rows[0]))


def image_of_another_week(forger: Forger) -> None:
    forger.cell("images.csv", {"week": "2026-W47"}, received_at="2026-11-21T00:00:00.000000Z")


def image_size_changed(forger: Forger) -> None:
    forger.cell("images.csv", {"image_id": forger.id_of["neither_class"]}, width="41")


def pixel_changed(forger: Forger) -> None:
    path = forger.folder / f"images/{forger.sha_of['valid bird']}.png"
    pixels = bytes(cast.SIDE * cast.SIDE * 3 - 1) + b"\x01"
    path.write_bytes(encode_png(cast.SIDE, cast.SIDE, pixels))


def picture_damaged(forger: Forger) -> None:
    path = forger.folder / f"images/{forger.sha_of['valid bird']}.png"
    path.write_bytes(path.read_bytes()[:-30])


def picture_swapped_by_a_link(forger: Forger) -> None:
    first, second = sorted((forger.folder / "images").iterdir())[:2]
    first.unlink()
    first.symlink_to(second)


def picture_removed(forger: Forger) -> None:
    (forger.folder / f"images/{forger.sha_of['valid bird']}.png").unlink()


def picture_added(forger: Forger) -> None:
    (forger.folder / f"images/{'0' * 64}.png").write_bytes(encode_png(2, 2, bytes(12)))


def policy_number_changed(forger: Forger) -> None:
    forger.manifest(lambda values: values["policy"]["1"].update(min_box_fraction="3/4"))


def panel_size_changed(forger: Forger) -> None:
    forger.manifest(lambda values: values["policy"]["1"].update(panel_size=5))


def rounds_changed(forger: Forger) -> None:
    forger.manifest(lambda values: values["policy"]["1"].update(evaluation_runs=4))


def policy_made_unreadable(forger: Forger) -> None:
    forger.manifest(lambda values: values["policy"]["1"].update(min_box_fraction="1/0"))


def policy_of_a_billion_digits(forger: Forger) -> None:
    forger.manifest(lambda values: values["policy"]["1"].update(min_box_fraction="1e999999999"))


def rounds_without_end(forger: Forger) -> None:
    forger.manifest(lambda values: values["policy"]["1"].update(evaluation_runs=10**10))


def panels_without_end(forger: Forger) -> None:
    forger.manifest(lambda values: values["policy"]["1"].update(panel_size=10**10))


def a_truth_for_a_number(forger: Forger) -> None:
    forger.manifest(lambda values: values["policy"]["1"].update(evaluation_runs=True))


def counts_changed(forger: Forger) -> None:
    forger.count("responses.csv", 27)


def name_changed(forger: Forger) -> None:
    forger.manifest(lambda values: values.update(part=1))


def break_removed(forger: Forger) -> None:
    forger.rows("breaks.csv", lambda rows: rows.clear())


def break_added(forger: Forger) -> None:
    forger.rows("breaks.csv", lambda rows: rows.append(rows[0] | {"break_id": "99", "defense_id": "D-00001"}))


def break_repeated(forger: Forger) -> None:
    forger.rows("breaks.csv", lambda rows: rows.append(rows[0] | {"break_id": "99"}))


def break_of_another_round(forger: Forger) -> None:
    forger.cell("breaks.csv", {"round": "2"}, round="1")


def mistake_made_right(forger: Forger) -> None:
    forger.cell("predictions.csv", {"defense_id": "D-00002", "answer": "bicycle"}, answer="abstain")


def abstention_made_a_mistake(forger: Forger) -> None:
    where = {"defense_id": "D-00001", "image_id": forger.id_of["valid bicycle"]}
    forger.cell("predictions.csv", where, answer="bird")


def prediction_removed(forger: Forger) -> None:
    forger.rows("predictions.csv", lambda rows: rows.remove(rows[0]))


def prediction_beside_its_fault(forger: Forger) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        rows.append(_fault("D-00001", forger.id_of["valid bird"], 1))

    forger.rows("faults.csv", change)


def fault_of_another_round(forger: Forger) -> None:
    prediction_removed(forger)
    forger.rows("faults.csv", lambda rows: rows.append(_fault("D-00001", forger.id_of["valid bird"], 9)))


def fault_of_nobody(forger: Forger) -> None:
    forger.rows("faults.csv", lambda rows: rows.append(_fault("D-NOBODY", forger.id_of["valid bird"], 1)))


def fault_on_nothing(forger: Forger) -> None:
    forger.rows("faults.csv", lambda rows: rows.append(_fault("D-00001", "P-NOTHING", 1)))


def _fault(defense: str, image: str, number: int) -> dict[str, str]:
    at = "2026-11-16T10:30:00.000000Z"
    return {
        "defense_id": defense,
        "image_id": image,
        "round": str(number),
        "fault": "crashed",
        "attempt": "1",
        "at": at,
    }


def digest_changed(forger: Forger) -> None:
    forger.cell("predictions.csv", {"defense_id": "D-00001"}, defense_digest="sha256:other")


def defense_removed(forger: Forger) -> None:
    forger.rows("defenses.csv", lambda rows: rows.remove(rows[0]))


def tasker_data_changed(forger: Forger) -> None:
    path = forger.folder / "tasker_data.csv"
    path.write_text(path.read_text().replace("TRUE", "FALSE", 1))


def annotation_changed(forger: Forger) -> None:
    path = forger.folder / "annotations.coco.json"
    path.write_text(path.read_text().replace('"area": 900', '"area": 901', 1))


def lines_ended_otherwise(forger: Forger) -> None:
    path = forger.folder / "breaks.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def cells_quoted_otherwise(forger: Forger) -> None:
    path = forger.folder / "breaks.csv"
    path.write_text(path.read_text().replace("bicycle", '"bicycle"'))


def bytes_of_another_encoding(forger: Forger) -> None:
    path = forger.folder / "defenses.csv"
    path.write_bytes(path.read_bytes().replace(b"defense 1", b"d\xe9fense 1"))


def formula_in_a_cell(forger: Forger) -> None:
    forger.cell("defenses.csv", {"defense_id": "D-00001"}, name="=HYPERLINK(1)")


# forgery -> where a difference must show. Each is tried with the manifest's hashes as they were and adjusted.
FORGERIES: list[tuple[Callable[[Forger], None], str]] = [
    (answer_changed, "rulings.csv"),
    (statement_changed, "rulings.csv"),
    (outline_changed, "responses.csv"),
    (outline_and_box_changed, "rulings.csv"),
    (outline_moved_inside_its_box, "annotations.coco.json"),
    (outline_outside_the_image, "responses.csv"),
    (outline_no_text_of_rings, "responses.csv"),
    (outline_written_otherwise, "responses.csv"),
    (box_changed, "responses.csv"),
    (surplus_counted, "responses.csv"),
    (counted_made_surplus, "rulings.csv"),
    (tasker_changed, "responses.csv"),
    (response_removed, "rulings.csv"),
    (response_added, "responses.csv"),
    (rows_swapped, "responses.csv"),
    (verdict_turned, "rulings.csv"),
    (label_changed, "rulings.csv"),
    (reason_left_out, "rulings.csv"),
    (reasons_reordered, "rulings.csv"),
    (fraction_changed, "rulings.csv"),
    (fraction_not_reduced, "rulings.csv"),
    (policy_of_a_ruling_changed, "rulings.csv"),
    (ruling_given_to_the_board, "rulings.csv"),
    (ruling_removed, "rulings.csv"),
    (ruling_repeated, "rulings.csv"),
    (image_removed, "images.csv"),
    (image_of_another_week, "images.csv"),
    (image_size_changed, "images.csv"),
    (pixel_changed, "images/"),
    (picture_damaged, "images/"),
    (picture_swapped_by_a_link, "images/"),
    (picture_removed, "images.csv"),
    (picture_added, "images.csv"),
    (policy_number_changed, "rulings.csv"),
    (panel_size_changed, "panels.csv"),
    (rounds_changed, "predictions.csv"),
    (policy_made_unreadable, "manifest.json"),
    (policy_of_a_billion_digits, "manifest.json"),
    (rounds_without_end, "manifest.json"),
    (panels_without_end, "manifest.json"),
    (a_truth_for_a_number, "manifest.json"),
    (counts_changed, "manifest.json"),
    (name_changed, "manifest.json"),
    (break_removed, "breaks.csv"),
    (break_added, "breaks.csv"),
    (break_repeated, "breaks.csv"),
    (break_of_another_round, "breaks.csv"),
    (mistake_made_right, "breaks.csv"),
    (abstention_made_a_mistake, "mistakes.csv"),
    (prediction_removed, "predictions.csv"),
    (prediction_beside_its_fault, "faults.csv"),
    (fault_of_another_round, "predictions.csv"),
    (fault_of_nobody, "faults.csv"),
    (fault_on_nothing, "faults.csv"),
    (digest_changed, "predictions.csv"),
    (defense_removed, "predictions.csv"),
    (tasker_data_changed, "tasker_data.csv"),
    (annotation_changed, "annotations.coco.json"),
    (lines_ended_otherwise, "breaks.csv"),
    (cells_quoted_otherwise, "breaks.csv"),
    (bytes_of_another_encoding, "defenses.csv"),
    (formula_in_a_cell, "defenses.csv"),
]


@pytest.mark.parametrize(("forgery", "file"), FORGERIES, ids=[forgery.__name__ for forgery, _ in FORGERIES])
def test_a_forgery_is_found_although_the_hashes_fit(
    forgery: Callable[[Forger], None], file: str, forger: Forger, capsys: pytest.CaptureFixture[str]
) -> None:
    forgery(forger)
    forger.rehash()
    assert main([str(forger.folder), "--quiet"]) == DIFFERENT
    found = capsys.readouterr().out.splitlines()
    assert [line for line in found if line.startswith(file)], found
    assert not [line for line in found if "SHA-256" in line and "link" not in line]


@pytest.mark.parametrize(
    "forgery", [answer_changed, verdict_turned, break_removed, pixel_changed, tasker_data_changed, digest_changed]
)
def test_a_clumsy_forger_is_found_by_the_hashes(forgery: Callable[[Forger], None], forger: Forger) -> None:
    forgery(forger)
    assert any("SHA-256" in line for line in verify(forger.folder).differences)


def test_a_file_more_or_less_is_found(forger: Forger) -> None:
    (forger.folder / "notes.txt").write_text("hello")
    (forger.folder / "responses.parquet").unlink()
    (forger.folder / "more").mkdir()
    found = verify(forger.folder).differences
    assert sorted(line.split(": ")[1] for line in found) == ["more", "notes.txt", "responses.parquet"]


def test_a_file_of_every_release_cannot_be_dropped_from_the_manifest(forger: Forger) -> None:
    (forger.folder / "responses.parquet").unlink()
    forger.rehash()
    assert any("responses.parquet" in line for line in verify(forger.folder).differences)


def test_a_manifest_in_another_form_is_found(forger: Forger) -> None:
    path = forger.folder / "manifest.json"
    path.write_text(path.read_text().replace('"part": 0', '"part": 1,\n "part": 0'))  # the last one counts
    assert any("canonical" in line for line in verify(forger.folder).differences)


def test_a_difference_names_the_row_what_is_recorded_and_what_follows(forger: Forger) -> None:
    verdict_turned(forger)
    forger.rehash()
    image = forger.id_of["occluded"]
    assert (
        f"rulings.csv: row {image} number 1: recorded verdict valid, follows verdict rejected"
        in verify(forger.folder).differences
    )


def test_the_board_may_rule_otherwise_with_an_explanation(contest: cast.Contest, tmp_path: Path) -> None:
    image = contest.images["occluded"]
    first = image.rulings.get()
    made = Ruling.objects.create(
        image=image, number=2, panel=first.panel, verdict=Verdict.VALID, label="bird", policy=first.policy,
        response_ids=first.response_ids, decided_at=cast.MONDAY + timedelta(days=1), decided_by=DecidedBy.BOARD,
        explanation="=The twig\r\nhides nothing.",
    )  # fmt: skip
    cast.case_of(made)
    for defense in contest.defenses:
        cast.scored(defense, image, [Outcome.ABSTAIN] * 3)
    folder = releases.release_week(WEEK, out=tmp_path, now=cast.AFTER).folder
    assert verify(folder).differences == []
    assert "'=The twig\nhides nothing." in (folder / "rulings.csv").read_text()


@pytest.fixture
def two_weeks(folder: Path, contest: cast.Contest) -> tuple[Path, Path]:
    """The release of the fixture and that of the week after, side by side."""
    next_week = week_named("2026-W48", "UTC")
    later = next_week.start + timedelta(days=2)
    image = cast.picture(99, received_at=later, label_from=later)
    Attack.objects.create(team=Attack.objects.get().team, image=image, received_at=later)
    cast.labeled(contest, "later", image, [cast.EXCLUDED] * 3)
    cast.ruled(contest.panels["later"])
    second = releases.release_week(next_week, out=folder.parent, now=next_week.end).folder
    return folder, second


def test_the_chain_is_followed_to_the_release_beside(two_weeks: tuple[Path, Path]) -> None:
    first, second = two_weeks
    assert verify(first).differences == []
    findings = verify(second)
    assert findings.differences == []
    assert "chain: follows release-2026-W47" in findings.figures


def test_the_chain_is_followed_to_the_release_named(two_weeks: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = two_weeks
    elsewhere = shutil.copytree(first, tmp_path / "elsewhere" / "any-name")
    alone = shutil.copytree(second, tmp_path / "alone" / second.name)
    assert verify(alone, previous=elsewhere).differences == []
    assert verify(alone).notes == ["chain: release-2026-W47 is not here to compare with"]
    with pytest.raises(NotARelease):
        verify(alone, previous=tmp_path)


def test_a_broken_chain_is_found(two_weeks: tuple[Path, Path], contest: cast.Contest, tmp_path: Path) -> None:
    first, second = two_weeks
    Forger(second, contest).manifest(lambda values: values.update(previous_sha256="0" * 64))
    assert any(line.startswith("manifest.json: previous") for line in verify(second).differences)
    assert any(line.startswith("manifest.json: previous") for line in verify(second, previous=first).differences)
    assert any("chain to release-2026-W48" in line for line in verify(first).differences)


def test_a_release_changed_after_the_next_was_published_is_found(
    two_weeks: tuple[Path, Path], contest: cast.Contest
) -> None:
    """A policy number nothing was derived from: only the chain can tell."""
    first, _ = two_weeks
    Forger(first, contest).manifest(lambda values: values["policy"]["1"].update(lease_seconds=1))
    assert [line.split(": ")[1] for line in verify(first).differences] == ["chain to release-2026-W48"]


def test_a_chain_cannot_begin_twice(two_weeks: tuple[Path, Path], contest: cast.Contest) -> None:
    first, second = two_weeks
    Forger(second, contest).manifest(lambda values: values.update(previous_sha256="", previous_name=""))
    assert any("is a first one too" in line for line in verify(second).differences)


def test_an_incomplete_release_says_what_waited(contest: cast.Contest, tmp_path: Path) -> None:
    cast.picture(50)
    panel = factories.panel(cast.picture(51), dealt_at=cast.MONDAY)
    factories.response(contest.taskers[0], panel, now=cast.MONDAY, **cast.EXCLUDED)
    full = cast.labeled(contest, "full", cast.picture(52), [cast.EXCLUDED] * 3)
    assert full.state == "full"
    folder = releases.release_week(WEEK, out=tmp_path, now=cast.AFTER, incomplete=True).folder
    findings = verify(folder)
    assert findings.differences == []
    assert "31 responses read, 30 of them counted" in findings.figures, "the open panel's answer is not there (R8)"
    assert any("1 for panel, 1 for answers, 1 for ruling" in note for note in findings.notes)


def test_an_incomplete_release_cannot_hide_a_ruling(contest: cast.Contest, tmp_path: Path) -> None:
    cast.picture(50)
    folder = releases.release_week(WEEK, out=tmp_path, now=cast.AFTER, incomplete=True).folder
    forger = Forger(folder, contest)
    ruling_removed(forger)
    forger.rehash()
    assert any("no ruling" in line for line in verify(folder).differences)


def test_many_defenses_and_pictures_without_answers_are_counted_quickly() -> None:
    """A hostile release may list both without a single prediction: not every pair is told apart."""
    defenses = {f"D-{at}": {"retired_at": ""} for at in range(20_000)}
    newest = {f"P-{at}": {"label": "bird"} for at in range(20_000)}
    policies = {"1": Numbers(Policy(), 3, 9)}
    manifest = Manifest({"waiting": {"runs": 0}}, "")
    findings = Findings()
    check_complete({}, set(), defenses, newest, policies, manifest, findings)
    assert len(findings.differences) == 20_000
