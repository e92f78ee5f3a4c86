"""A stranger's copy of everything published: fetched from a server, resumed, checked, and told what differs (R39)."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from adjudication import mirror
from contest.exports.folders import same_folder
from contest.models import Release
from contest.record import serving
from contest.releases import Released
from tests.contest.record import cast
from tests.processes import ROOT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def parts(settings: Any) -> list[Released]:
    cast.two_weeks()
    return cast.released(settings.RELEASE_DIR)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


def _run(url: str, here: Path, capsys: Any) -> tuple[int, list[str]]:
    """Mirror quietly; returns the exit status and the differences."""
    status = mirror.main([url, str(here), "--quiet"])
    return status, capsys.readouterr().out.splitlines()


def test_everything_is_fetched_and_nothing_differs(
    parts: list[Released], here: Path, live_server: Any, capsys: Any
) -> None:
    assert _run(live_server.url, here, capsys) == (mirror.NOTHING_DIFFERS, [])
    for part in parts:
        assert same_folder(part.folder, here / part.folder.name)
        assert (here / part.archive.name).read_bytes() == part.archive.read_bytes()
    assert sorted(path.name for path in here.iterdir() if not path.name.startswith("release-")) == [mirror.LIST]
    assert len(json.loads((here / mirror.LIST).read_text())["releases"]) == 3


def test_a_second_run_fetches_nothing_and_checks_all(
    parts: list[Released], here: Path, live_server: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(live_server.url, here, capsys)
    monkeypatch.setattr(mirror, "_fetch", lambda *_: pytest.fail("fetched again"))
    assert _run(live_server.url, here, capsys) == (0, [])
    (here / "release-2026-W48" / "breaks.csv").write_text("")
    status, differences = _run(live_server.url, here, capsys)
    assert status == mirror.DIFFERENT
    assert any(line.startswith("release-2026-W48: breaks.csv: ") for line in differences)


def test_the_command_is_the_same(parts: list[Released], here: Path, live_server: Any, capsys: Any) -> None:
    with pytest.raises(SystemExit) as over:
        call_command("release_mirror", live_server.url + "/", str(here))
    told = capsys.readouterr()
    assert (over.value.code, told.out) == (0, "Nothing differs.\n")
    assert "release-2026-W47 unpacked: " in told.err and "releases checked: 3" in told.err


def test_a_stranger_needs_only_python(parts: list[Released], here: Path, live_server: Any) -> None:
    """Isolated from every installed package."""
    command = [sys.executable, "-S", "-c", "import sys; from adjudication.mirror import main; sys.exit(main())"]
    done = subprocess.run([*command, live_server.url, str(here)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "Nothing differs.\n"), done.stderr


class _Wire:
    """Cuts the first answers after some bytes, and counts what the server sent of files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cuts, self.after, self.sent = 0, 0, 0
        self._read = serving.Part.read
        wire = self

        def read(part: serving.Part, size: int = -1) -> bytes:
            return wire.read(part, size)

        monkeypatch.setattr(serving.Part, "read", read)

    def read(self, part: serving.Part, size: int) -> bytes:
        data = self._read(part, min(size, 1_000) if size > 0 else 1_000)
        self.sent += len(data)
        if self.cuts and self.sent >= self.after:
            self.cuts -= 1
            raise ConnectionResetError("the wire is cut")
        return data


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Wire]:
    yield _Wire(monkeypatch)


def test_a_cut_wire_costs_only_what_was_in_flight(
    parts: list[Released], here: Path, live_server: Any, capsys: Any, wire: _Wire
) -> None:
    wire.cuts, wire.after = 3, 4_000
    assert _run(live_server.url, here, capsys) == (0, [])
    whole = sum(part.archive.stat().st_size for part in parts)
    assert wire.cuts == 0
    assert whole <= wire.sent <= whole + 3 * 1_000, "each byte once, but for those that were lost"


def test_an_interrupted_run_goes_on(
    parts: list[Released], here: Path, live_server: Any, capsys: Any, wire: _Wire
) -> None:
    wire.cuts, wire.after = 100, 5_000
    status, differences = _run(live_server.url, here, capsys)
    assert status == 1 and "not fetched" in differences[0]
    part = here / "release-2026-W47.zip.part"
    kept, wire.cuts, wire.sent = part.stat().st_size, 0, 0
    assert 0 < kept < parts[0].archive.stat().st_size
    assert _run(live_server.url, here, capsys) == (0, [])
    whole = sum(each.archive.stat().st_size for each in parts)
    assert whole - 3 * 6_000 < wire.sent < whole, "not from the beginning"
    assert not list(here.glob("*.part")) and not list(here.glob("*.etag"))


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(
    parts: list[Released], here: Path, live_server: Any, capsys: Any
) -> None:
    here.mkdir()
    (here / "release-2026-W47.zip.part").write_bytes(b"other bytes")
    (here / "release-2026-W47.zip.etag").write_text('"another"')
    assert _run(live_server.url, here, capsys) == (0, [])


def test_a_damaged_zip_is_told_and_fetched_anew_by_the_next_run(
    parts: list[Released], here: Path, live_server: Any, capsys: Any
) -> None:
    here.mkdir()
    (here / "release-2026-W48.zip").write_bytes(b"no zip")
    status, differences = _run(live_server.url, here, capsys)
    assert status == 1 and "release-2026-W48: the zip is damaged" in differences[0]
    assert _run(live_server.url, here, capsys) == (0, [])


def test_a_past_that_was_rewritten_is_found(parts: list[Released], here: Path, live_server: Any, capsys: Any) -> None:
    _run(live_server.url, here, capsys)
    Release.objects.filter(pk=parts[1].release.pk).update(manifest_sha256="0" * 64)
    status, differences = _run(live_server.url, here, capsys)
    assert status == 1
    assert any("list: release-2026-W48: recorded 000" in line and "as it was before" in line for line in differences)
    assert any("list: release-2026-W47-errata-1: recorded previous" in line for line in differences)
    assert any("list: release-2026-W48: recorded manifest 000" in line for line in differences)
    assert _run(live_server.url, here, capsys)[0] == 1, "and stays found"


def test_a_release_that_is_taken_back_is_found(
    parts: list[Released], here: Path, live_server: Any, capsys: Any
) -> None:
    _run(live_server.url, here, capsys)
    parts[2].release.delete()
    status, differences = _run(live_server.url, here, capsys)
    assert (status, len(differences)) == (1, 1)
    assert "list: release-2026-W47-errata-1: recorded nothing" in differences[0]


def test_a_release_whose_file_is_not_there_is_told(
    parts: list[Released], here: Path, live_server: Any, capsys: Any
) -> None:
    parts[1].archive.unlink()
    status, differences = _run(live_server.url, here, capsys)
    assert status == 1 and differences[0].startswith("release-2026-W48: not fetched: HTTP Error 404")
    assert not (here / mirror.LIST).exists(), "the list is kept once everything agrees"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"name": "../../etc/cron.d/x"}, "a path is no name"),
        ({"name": "release-2026-W47/.."}, "nor is this"),
        ({"manifest_sha256": "x"}, "no hash"),
        ({"manifest_sha256": ""}, "nor is nothing"),
        ({"bytes": "many"}, "no size"),
        ({"week": "2026-W47/.."}, "no week"),
        ({"part": -1}, "no part"),
    ],
)
def test_a_hostile_list_is_refused(
    row: dict[str, Any], why: str, here: Path, live_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    good = {"name": "release-2026-W47", "week": "2026-W47", "part": 0, "bytes": 1}
    good |= {"manifest_sha256": "0" * 64, "previous_sha256": ""}
    monkeypatch.setattr("contest.record.api.releases", lambda: [good | row])
    monkeypatch.setattr("contest.record.api.as_listed", lambda each: each)
    assert mirror.main([live_server.url, str(here)]) == mirror.NOT_ASKED, why
    assert "not with a list of releases" in capsys.readouterr().err
    assert os.listdir(here) == []


def test_who_does_not_answer_is_told(here: Path, capsys: Any) -> None:
    assert mirror.main(["http://127.0.0.1:9", str(here)]) == mirror.NOT_ASKED
    assert "does not answer" in capsys.readouterr().err
