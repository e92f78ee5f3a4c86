"""The verifier finds every change to a release, also by somebody who adjusts the manifest's hashes (R39)."""

import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adjudication.schema import release_format as form
from adjudication.verifier.breaks import check_complete
from adjudication.verifier.findings import Findings
from adjudication.verifier.policies import RecordedPolicies, RecordedPolicy
from adjudication.verifier.release import CheckedRelease, EarlierReleases
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.rows import Columns, Row
from adjudication.verifier.untrusted_files import NotARelease
from adjudication.verify import DIFFERENT, NO_RELEASE, NOTHING_DIFFERS, main, verify
from contest.core.models import Attack
from contest.releases import services
from picture_files.png import encode_png
from policy.calendar import week_named
from policy.numbers import Policy
from tests import factories
from tests.contest import release_fixtures as cast
from tests.contest.pages import lacking

ROOT = Path(__file__).resolve().parents[2]
WEEK = week_named("2026-W47", "UTC")


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Forger:
    """Somebody who changes a published release and, being clever, the hashes in its manifest too."""

    def __init__(self, folder: Path, contest: cast.Contest) -> None:
        self.folder, self.contest = folder, contest
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


def test_an_honest_release_has_no_difference(forger: Forger, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(forger.folder)]) == NOTHING_DIFFERS
    told = ("responses: 28 read, 27 of them counted", "rulings: 9 read, 9 of them derived again", "pictures: 9 decoded")
    said = capsys.readouterr().out
    assert lacking(said, *told) == [] and said.endswith("Nothing differs.\n")
    assert (main([str(forger.folder), "--quiet"]), capsys.readouterr().out) == (NOTHING_DIFFERS, "")


def test_a_report_that_cannot_be_written_is_told_after_what_was_found(
    forger: Forger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(forger.folder), "--json", str(forger.folder / "no" / "report.json")]) == NO_RELEASE
    said = capsys.readouterr()
    assert "Nothing differs." in said.out and "report.json cannot be written" in said.err


def test_it_needs_nothing_but_python_and_a_checkout(forger: Forger) -> None:
    """Isolated from every installed package, only this project and the standard library are imported."""
    code = (
        f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r})\n"
        f"sys.argv = ['verify', {str(forger.folder)!r}, '--quiet']\n"
        "try: runpy.run_module('adjudication.verify', run_name='__main__')\n"
        "except SystemExit as over: status = over.code\n"
        "own = {'adjudication', 'labeling', 'policy', 'picture_files', 'common', '__main__', '__mp_main__'}\n"
        "other = {m.split('.')[0] for m in sys.modules} - own - set(sys.stdlib_module_names)\n"
        "print(status, sorted(m for m in other if not m.startswith('_sysconfigdata_')))\n"  # Python's own, by platform
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0 []\n", "")


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


def of(case: str, file: str, /, **values: str) -> Callable[[Forger], object]:
    """Change cells of the first row of a picture."""
    return lambda forger: forger.cell(file, {"image_id": forger.id_of[case]}, **values)


def cells(file: str, where: dict[str, str], /, **values: str) -> Callable[[Forger], object]:
    return lambda forger: forger.cell(file, where, **values)


def rows(file: str, change: Callable[[list[dict[str, str]]], Any]) -> Callable[[Forger], object]:
    return lambda forger: forger.rows(file, change)


def policy(**numbers: Any) -> Callable[[Forger], object]:
    return lambda forger: forger.manifest(lambda values: values["policy"]["1"].update(numbers))


def text(file: str, old: bytes, new: bytes) -> Callable[[Forger], object]:
    """Write something else in a file, wherever it stands."""
    return lambda forger: (forger.folder / file).write_bytes((forger.folder / file).read_bytes().replace(old, new))


def fault(**values: str) -> Callable[[Forger], object]:
    """A fault that never was, on the valid bird unless another picture is named."""

    def forge(forger: Forger) -> None:
        told = {"defense_id": "D-00001", "image_id": forger.id_of["valid bird"], "round": "1", "fault": "crashed",
                "attempt": "1", "at": "2026-11-16T10:30:00.000000Z"}  # fmt: skip
        forger.rows("faults.csv", lambda rows: rows.append(told | values))

    return forge


def picture(change: Callable[[Path], object]) -> Callable[[Forger], object]:
    return lambda forger: change(forger.folder / f"images/{forger.sha_of['valid bird']}.png")


def one_tasker_twice(forger: Forger) -> None:
    first, second, *_ = (r for r in table(forger.folder, ANSWERS) if r["image_id"] == forger.id_of["too_small"])
    forger.cell(ANSWERS, second, tasker_id=first["tasker_id"])


def swapped_by_a_link(path: Path) -> None:
    other = next(each for each in sorted(path.parent.iterdir()) if each != path)
    path.unlink()
    path.symlink_to(other)


def a_round_lost(forger: Forger) -> None:
    """A prediction goes, and a fault of another round comes."""
    forger.rows("predictions.csv", lambda rows: rows.remove(rows[0]))
    fault(round="9")(forger)


ANSWERS, RULINGS, BREAKS, MANIFEST = "responses.csv", "rulings.csv", "breaks.csv", "manifest.json"
ONE_DARK_PIXEL = encode_png(cast.SIDE, cast.SIDE, bytes(cast.SIDE * cast.SIDE * 3 - 1) + b"\x01")
VERDICT_TURNED = of("occluded", RULINGS, verdict="valid", label="bird", reasons="")
RULING_REMOVED = rows(RULINGS, lambda rows: rows.remove(rows[-1]))
# What is changed -> how, and where a difference must show.
FORGERIES: dict[str, tuple[Callable[[Forger], object], str]] = {
    "an answer": (of("valid bird", ANSWERS, contains_bird="unsure_yes"), RULINGS),
    "a statement": (
        lambda forger: forger.cell(ANSWERS, {"image_id": forger.id_of["depiction"], "real": "false"}, real="true"),
        RULINGS,
    ),
    "an outline": (of("valid bird", ANSWERS, outline="[[[5,5],[35,5],[35,34],[5,34]]]"), ANSWERS),
    "an outline and its box": (
        of("valid bird", ANSWERS, outline="[[[5,5],[15,5],[15,15],[5,15]]]", box_xmax="15.00", box_ymax="15.00"),
        RULINGS,
    ),
    "an outline inside its box": (
        of("valid bird", ANSWERS, outline="[[[5,5],[35,5],[35,35],[5,34],[5,35]]]"), "annotations.coco.json",
    ),
    "an outline to one outside the image": (
        of("occluded", ANSWERS, outline="[[[5,5],[41,5],[41,35],[5,35]]]", box_xmax="41.00"), ANSWERS,
    ),
    "an outline to no text of rings": (of("valid bird", ANSWERS, outline="[" * 5_000), ANSWERS),
    "how an outline is written": (of("valid bird", ANSWERS, outline="[[[5.00,5],[35,5],[35,35],[5,35]]]"), ANSWERS),
    "a box": (of("valid bird", ANSWERS, box_xmin="4.99"), ANSWERS),
    "a surplus answer to one that counts": (cells(ANSWERS, {"counted": "false"}, counted="true"), ANSWERS),
    "one that counts to a surplus answer": (of("neither_class", ANSWERS, counted="false"), RULINGS),
    "a tasker": (one_tasker_twice, ANSWERS),
    "a response left out": (rows(ANSWERS, lambda rows: rows.remove(rows[4])), RULINGS),
    "a response added": (
        rows(ANSWERS, lambda rows: rows.append(
            rows[0] | {"response_id": str(int(rows[-1]["response_id"]) + 1), "tasker_id": "T-NEW99"})),
        ANSWERS,
    ),
    "the order of responses": (rows(ANSWERS, lambda rows: rows.reverse()), ANSWERS),
    "a verdict": (VERDICT_TURNED, RULINGS),
    "a label": (of("valid bird", RULINGS, label="bicycle"), RULINGS),
    "a reason left out": (of("occluded", RULINGS, reasons="occluded"), RULINGS),
    "the order of reasons": (of("occluded", RULINGS, reasons="truncated;occluded"), RULINGS),
    "a share": (of("too_small", RULINGS, smallest_box_fraction="1/4"), RULINGS),
    "how a share is written": (of("too_small", RULINGS, smallest_box_fraction="2/32"), RULINGS),
    "the policy of a ruling": (of("too_small", RULINGS, policy_version="2"), RULINGS),
    "a ruling to one of the board": (of("too_small", RULINGS, decided_by="board"), RULINGS),
    "a ruling left out": (RULING_REMOVED, RULINGS),
    "a ruling twice": (rows(RULINGS, lambda rows: rows.insert(1, rows[0] | {"number": "3"})), RULINGS),
    "an image left out": (rows("images.csv", lambda rows: rows.remove(rows[0])), "images.csv"),
    "an image to one of another week": (
        cells("images.csv", {"week": "2026-W47"}, received_at="2026-11-21T00:00:00.000000Z"), "images.csv",
    ),
    "the size of an image": (of("neither_class", "images.csv", width="41"), "images.csv"),
    "a pixel": (picture(lambda path: path.write_bytes(ONE_DARK_PIXEL)), "images/"),
    "a picture cut off": (picture(lambda path: path.write_bytes(path.read_bytes()[:-30])), "images/"),
    "a picture to a link to another": (picture(swapped_by_a_link), "images/"),
    "a picture left out": (picture(Path.unlink), "images.csv"),
    "a picture added": (
        picture(lambda path: path.with_stem("0" * 64).write_bytes(encode_png(2, 2, bytes(12)))), "images.csv",
    ),
    "a number of the policy": (policy(min_box_fraction="3/4"), RULINGS),
    "the size of panels": (policy(panel_size=5), "panels.csv"),
    "the number of rounds": (policy(evaluation_runs=4), "predictions.csv"),
    "a share to one of nothing": (policy(min_box_fraction="1/0"), MANIFEST),
    "a share to one of a billion digits": (policy(min_box_fraction="1e999999999"), MANIFEST),
    "rounds without end": (policy(evaluation_runs=10**10), MANIFEST),
    "panels without end": (policy(panel_size=10**10), MANIFEST),
    "a number to a truth": (policy(evaluation_runs=True), MANIFEST),
    "what is counted": (lambda forger: forger.count(ANSWERS, 27), MANIFEST),
    "the part": (lambda forger: forger.manifest(lambda values: values.update(part=1)), MANIFEST),
    "a break left out": (rows(BREAKS, lambda rows: rows.clear()), BREAKS),
    "a break added": (
        rows(BREAKS, lambda rows: rows.append(rows[0] | {"break_id": "99", "defense_id": "D-00001"})), BREAKS,
    ),
    "a break twice": (rows(BREAKS, lambda rows: rows.append(rows[0] | {"break_id": "99"})), BREAKS),
    "the round of a break": (cells(BREAKS, {"round": "2"}, round="1"), BREAKS),
    "a mistake to an abstention": (
        cells("predictions.csv", {"defense_id": "D-00002", "answer": "bicycle"}, answer="abstain"), BREAKS,
    ),
    "an abstention to a mistake": (
        lambda forger: forger.cell(
            "predictions.csv", {"defense_id": "D-00001", "image_id": forger.id_of["valid bicycle"]}, answer="bird"),
        "mistakes.csv",
    ),
    "a prediction left out": (rows("predictions.csv", lambda rows: rows.remove(rows[0])), "predictions.csv"),
    "a fault beside a prediction": (fault(), "faults.csv"),
    "a prediction to a fault of another round": (a_round_lost, "predictions.csv"),
    "a fault of nobody": (fault(defense_id="D-NOBODY"), "faults.csv"),
    "a fault on nothing": (fault(image_id="P-NOTHING"), "faults.csv"),
    "a digest": (cells("predictions.csv", {"defense_id": "D-00001"}, defense_digest="sha256:x"), "predictions.csv"),
    "a defense left out": (rows("defenses.csv", lambda rows: rows.remove(rows[0])), "predictions.csv"),
    "a flag of the taskers' data": (text("tasker_data.csv", b"TRUE", b"FALSE"), "tasker_data.csv"),
    "an area": (text("annotations.coco.json", b'"area": 900', b'"area": 901'), "annotations.coco.json"),
    "the ends of lines": (text(BREAKS, b"\n", b"\r\n"), BREAKS),
    "the quotes of cells": (text(BREAKS, b"bicycle", b'"bicycle"'), BREAKS),
    "the encoding": (text("defenses.csv", b"defense 1", b"d\xe9fense 1"), "defenses.csv"),
    "a name to a formula": (cells("defenses.csv", {"defense_id": "D-00001"}, name="=HYPERLINK(1)"), "defenses.csv"),
}  # fmt: skip


@pytest.mark.parametrize(("forge", "file"), FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_found_although_the_hashes_fit(
    forge: Callable[[Forger], object], file: str, forger: Forger, capsys: pytest.CaptureFixture[str]
) -> None:
    forge(forger)
    forger.rehash()
    assert main([str(forger.folder), "--quiet"]) == DIFFERENT
    found = capsys.readouterr().out.splitlines()
    assert [line for line in found if line.startswith(file)], found
    assert not [line for line in found if "SHA-256" in line and "link" not in line]


@pytest.mark.parametrize("changed", ["an answer", "a pixel", "a flag of the taskers' data"])
def test_a_clumsy_forger_is_found_by_the_hashes(changed: str, forger: Forger) -> None:
    FORGERIES[changed][0](forger)
    assert any("SHA-256" in line for line in verify(forger.folder).differences)


def test_a_file_more_or_less_is_found(forger: Forger) -> None:
    (forger.folder / "notes.txt").write_text("hello")
    (forger.folder / "responses.parquet").unlink()
    (forger.folder / "more").mkdir()
    found = verify(forger.folder).differences
    assert sorted(line.split(": ")[1] for line in found) == ["more", "notes.txt", "responses.parquet"]
    forger.rehash()
    assert any("responses.parquet" in line for line in verify(forger.folder).differences), "also from the manifest"


def test_a_manifest_in_another_form_is_found(forger: Forger) -> None:
    path = forger.folder / "manifest.json"
    path.write_text(path.read_text().replace('"part": 0', '"part": 1,\n "part": 0'))  # the last one counts
    assert any("canonical" in line for line in verify(forger.folder).differences)


def test_a_difference_names_the_row_what_is_recorded_and_what_follows(forger: Forger) -> None:
    VERDICT_TURNED(forger)
    forger.rehash()
    row = f"rulings.csv: row {forger.id_of['occluded']} number 1"
    [line] = [each for each in verify(forger.folder).differences if each.startswith(f"{row}: recorded verdict valid")]
    assert re.fullmatch(r": recorded verdict valid, follows verdict rejected \[line \d+, R13\]", line.removeprefix(row))


def test_what_was_found_is_written_as_json(forger: Forger, tmp_path: Path) -> None:
    VERDICT_TURNED(forger)
    forger.rehash()
    assert main([str(forger.folder), "--quiet", "--json", str(tmp_path / "found.json")]) == DIFFERENT
    found = json.loads((tmp_path / "found.json").read_text())
    (verdict,) = (each for each in found["differences"] if each["column"] == "verdict")
    assert (verdict["file"], verdict["rule"], verdict["recorded"], verdict["follows"]) == (
        "rulings.csv", "R13", "valid", "rejected",
    )  # fmt: skip
    lines = (forger.folder / "rulings.csv").read_text().split("\n")
    assert lines[verdict["line"] - 1].startswith(forger.id_of["occluded"])
    assert found["checked"]["rulings.csv"]["rows"] == 9
    assert found["checked"]["rulings.csv"]["columns"]["verdict"] == "derived"
    assert "responses.csv seconds" in found["unknowable"] and found["signatures"]["state"] == "unsigned"


@pytest.fixture
def two_weeks(forger: Forger) -> tuple[Path, Path]:
    """The release of the fixture and that of the week after, side by side."""
    next_week = week_named("2026-W48", "UTC")
    later = next_week.start + timedelta(days=2)
    team, policy = Attack.objects.get().team, factories.policy_version()
    image = cast.picture(99, received_at=later, **cast.sent_by(team, next_week.end))
    sent = {"received_at": later, "week": next_week.name, "of_quota": 1, "policy": policy}
    Attack.objects.create(team=team, image=image, **sent)
    cast.labeled(forger.contest, "later", image, [cast.EXCLUDED] * 3, next_week.end)
    cast.ruled(forger.contest.panels["later"])
    return forger.folder, services.release_week(next_week, out=forger.folder.parent, now=next_week.end).folder


def test_the_chain_is_followed_to_the_release_beside_or_named(two_weeks: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = two_weeks
    assert (verify(first).differences, verify(second).differences) == ([], [])
    assert "chain: follows release-2026-W47" in verify(second).figures
    elsewhere = shutil.copytree(first, tmp_path / "elsewhere" / "any-name")
    alone = shutil.copytree(second, tmp_path / "alone" / second.name)
    assert verify(alone, previous=elsewhere).differences == []
    assert verify(alone).notes == ["chain: release-2026-W47 is not here to compare with"]
    with pytest.raises(NotARelease):
        verify(alone, previous=tmp_path)


def test_a_broken_chain_is_found(two_weeks: tuple[Path, Path], forger: Forger) -> None:
    first, second = two_weeks
    text = (second / MANIFEST).read_bytes()
    forger.folder = second
    forger.manifest(lambda values: values.update(previous_sha256="0" * 64))
    assert any(line.startswith("manifest.json: previous") for line in verify(second).differences)
    assert any(line.startswith("manifest.json: previous") for line in verify(second, previous=first).differences)
    assert any("chain to release-2026-W48" in line for line in verify(first).differences)
    forger.manifest(lambda values: values.update(previous_sha256="", previous_name=""))
    assert any("is a first one too" in line for line in verify(second).differences), "a chain cannot begin twice"
    (second / MANIFEST).write_bytes(text)
    forger.folder = first
    policy(lease_seconds=61)(forger)  # from which nothing was derived: only the chain can tell
    assert [line.split(": ")[1] for line in verify(first).differences] == ["chain to release-2026-W48"]


def test_an_incomplete_release_says_what_waited_and_hides_no_ruling(forger: Forger) -> None:
    cast.picture(50)
    panel = factories.panel(cast.picture(51), dealt_at=cast.MONDAY)
    factories.response(forger.contest.taskers[0], panel, now=cast.MONDAY, **cast.EXCLUDED)
    assert cast.labeled(forger.contest, "full", cast.picture(52), [cast.EXCLUDED] * 3).state == "full"
    forger.folder = services.release_week(WEEK, out=forger.folder.parent, now=cast.AFTER, incomplete=True).folder
    findings = verify(forger.folder)
    assert findings.differences == []
    assert "responses: 31 read, 30 of them counted" in findings.figures, "the open panel's answer is not there (R8)"
    assert any("1 for panel, 1 for answers, 1 for ruling" in note for note in findings.notes)
    RULING_REMOVED(forger)
    forger.rehash()
    assert any("no ruling" in line for line in verify(forger.folder).differences)


def test_many_defenses_and_pictures_without_answers_are_counted_quickly() -> None:
    """A hostile release may list both without a single prediction: not every pair is told apart."""
    tables = {
        form.DEFENSES: [{"defense_id": f"D-{at}", "retired_at": ""} for at in range(20_000)],
        form.RULINGS: [{"image_id": f"P-{at}", "label": "bird"} for at in range(20_000)],
    }
    policies, findings = RecordedPolicies({"1": RecordedPolicy("1", Policy(evaluation_runs=9), "")}, {}), Findings()
    manifest, none_before = Manifest({"waiting": {"runs": 0}}, ""), EarlierReleases((), whole=True)
    rows = {
        name: [Row(Columns(each), ",".join(each.values()) + "\n", 2) for each in given]
        for name, given in tables.items()
    }
    release = CheckedRelease(Path(), manifest, rows, none_before, policies)
    check_complete(release, {}, set(), findings)
    assert len(findings.differences) == 20_000
