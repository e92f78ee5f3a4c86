"""A stranger's copy of everything published: fetched from a server, resumed, checked, and told what differs (R39)."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
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

pytestmark = pytest.mark.django_db
Run = Callable[[], tuple[int, list[str]]]


@pytest.fixture
def url(parts: list[Released]) -> Iterator[str]:
    """Where the contest is served, with three releases."""
    with cast.served() as address:
        yield address


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture
def run(url: str, here: Path, capsys: Any) -> Run:
    """Mirror quietly; returns the exit status and the differences."""
    return lambda: (mirror.main([url, str(here), "--quiet"]), capsys.readouterr().out.splitlines())


def test_all_is_fetched_once_and_checked_each_time(
    parts: list[Released], here: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run() == (mirror.NOTHING_DIFFERS, [])
    for part in parts:
        assert same_folder(part.folder, here / part.folder.name)
        assert (here / part.archive.name).read_bytes() == part.archive.read_bytes()
    assert [path.name for path in here.iterdir() if not path.name.startswith("release-")] == [mirror.LIST]
    assert len(json.loads((here / mirror.LIST).read_text())["releases"]) == 3

    monkeypatch.setattr(mirror, "_fetch", lambda *_: pytest.fail("fetched again"))
    assert run() == (0, [])
    (here / "release-2026-W48" / "breaks.csv").write_text("")
    status, differences = run()
    assert status == mirror.DIFFERENT
    assert any(line.startswith("release-2026-W48: breaks.csv: ") for line in differences)


def test_the_command_is_the_same(url: str, here: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as over:
        call_command("release_mirror", f"{url}/", str(here))
    told = capsys.readouterr()
    assert (over.value.code, told.out) == (0, "Nothing differs.\n")
    assert "release-2026-W47 unpacked: " in told.err and "releases checked: 3" in told.err


def test_a_stranger_needs_only_python(url: str, here: Path) -> None:
    """Isolated from every installed package."""
    command = [sys.executable, "-S", "-c", "import sys; from adjudication.mirror import main; sys.exit(main())"]
    done = subprocess.run([*command, url, str(here)], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "Nothing differs.\n"), done.stderr


class _Wire:
    """Cuts the first answers after some bytes, and counts what the server sent of files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cuts, self.after, self.sent = 0, 0, 0
        self._read = serving.Part.read
        monkeypatch.setattr(serving.Part, "read", lambda part, size=-1: self.read(part, size))

    def read(self, part: serving.Part, size: int) -> bytes:
        data = self._read(part, min(size, 1_000) if size > 0 else 1_000)
        self.sent += len(data)
        if self.cuts and self.sent >= self.after:
            self.cuts -= 1
            raise ConnectionResetError("the wire is cut")
        return data


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> _Wire:
    return _Wire(monkeypatch)


def test_a_cut_wire_costs_only_what_was_in_flight(parts: list[Released], wire: _Wire, run: Run) -> None:
    wire.cuts, wire.after = 3, 4_000
    assert run() == (0, [])
    whole = sum(part.archive.stat().st_size for part in parts)
    assert wire.cuts == 0
    assert whole <= wire.sent <= whole + 3 * 1_000, "each byte once, but for those that were lost"


def test_an_interrupted_run_goes_on(parts: list[Released], here: Path, wire: _Wire, run: Run) -> None:
    wire.cuts, wire.after = 100, 5_000
    status, differences = run()
    assert status == 1 and "not fetched" in differences[0]
    kept, wire.cuts, wire.sent = (here / "release-2026-W47.zip.part").stat().st_size, 0, 0
    assert 0 < kept < parts[0].archive.stat().st_size
    assert run() == (0, [])
    whole = sum(each.archive.stat().st_size for each in parts)
    assert whole - 3 * 6_000 < wire.sent < whole, "not from the beginning"
    assert not list(here.glob("*.part")) and not list(here.glob("*.etag"))


def test_what_lay_here_and_is_of_no_use_is_fetched_anew(here: Path, run: Run) -> None:
    """A part of a file that changed meanwhile at once; a damaged zip is told, and fetched by the next run."""
    here.mkdir()
    (here / "release-2026-W47.zip.part").write_bytes(b"other bytes")
    (here / "release-2026-W47.zip.etag").write_text('"another"')
    (here / "release-2026-W48.zip").write_bytes(b"no zip")
    status, differences = run()
    assert status == 1 and len(differences) == 1 and "release-2026-W48: the zip is damaged" in differences[0]
    assert run() == (0, [])


def test_a_past_that_was_rewritten_is_found(parts: list[Released], run: Run) -> None:
    run()
    Release.objects.filter(pk=parts[1].release.pk).update(manifest_sha256="0" * 64)
    for _ in range(2):  # and stays found
        status, differences = run()
        assert status == 1
        assert any(
            "list: release-2026-W48: recorded 000" in line and "as it was before" in line for line in differences
        )
        assert any("list: release-2026-W47-errata-1: recorded previous" in line for line in differences)
        assert any("list: release-2026-W48: recorded manifest 000" in line for line in differences)
    Release.objects.filter(pk=parts[1].release.pk).update(manifest_sha256=parts[1].release.manifest_sha256)
    parts[2].release.delete()
    status, differences = run()
    assert (status, len(differences)) == (1, 1), "one that is taken back"
    assert "list: release-2026-W47-errata-1: recorded nothing" in differences[0]


def test_a_release_whose_file_is_not_there_is_told(parts: list[Released], here: Path, run: Run) -> None:
    parts[1].archive.unlink()
    status, differences = run()
    assert status == 1 and differences[0].startswith("release-2026-W48: not fetched: HTTP Error 404")
    assert not (here / mirror.LIST).exists(), "the list is kept once everything agrees"


def test_who_does_not_answer_is_told(here: Path, capsys: Any) -> None:
    assert mirror.main(["http://127.0.0.1:9", str(here)]) == mirror.NOT_ASKED
    assert "does not answer" in capsys.readouterr().err
