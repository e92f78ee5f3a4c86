"""The verifier as one file: the same bytes everywhere, nothing in it that is not needed, and it checks zips (R39)."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from adjudication import zipapp
from adjudication.verifier import release_zip
from adjudication.verify import DIFFERENT, NO_RELEASE, NOTHING_DIFFERS, main
from tests.adjudication.test_verify import Forger

UPDATE = "run `.venv/bin/python -m adjudication.zipapp --docs` and commit docs/release-format.md"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file as a stranger has it, in a folder of its own."""
    path = tmp_path_factory.mktemp("stranger") / zipapp.NAME
    assert zipapp.main([str(path)]) == 0
    return path


def run(program: Path, *arguments: object, begin: str = "") -> tuple[int, str, str]:
    """Run it without this project and without any installed package; `begin` is run before it."""
    words = [sys.executable, "-I", "-S", "-B"]
    start = f"{begin}\nimport runpy, sys\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
    words += ["-c", start, str(program)] if begin else [str(program)]
    done = subprocess.run([*words, *map(str, arguments)], cwd=program.parent, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def zip_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.zip")


def packed(folder: Path) -> Path:
    """Pack a folder again, as whoever forged it would."""
    with zipfile.ZipFile(zip_of(folder), "w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")
    return zip_of(folder)


# How it is built ------------------------------------------------------------------------------------------------------


def test_it_has_the_same_bytes_from_another_folder_and_at_another_time(tmp_path: Path) -> None:
    for name, content in reversed(zipapp.sources().items()):
        path = tmp_path / "elsewhere" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    (tmp_path / "elsewhere" / "adjudication" / "notes.py").write_text("unused = True\n")
    assert zipapp.build_zipapp(tmp_path / "elsewhere") == zipapp.build_zipapp()


def test_it_holds_what_the_program_imports_and_no_more(program: Path) -> None:
    """What Python loads of it while a check is prepared is what lies in it."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import adjudication.verify\n"
        "files = {m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)}\n"
        "print('\\n'.join(sorted(f.removeprefix(sys.argv[1] + '/') for f in files if f.startswith(sys.argv[1]))))"
    )
    words = [sys.executable, "-I", "-S", "-B", "-c", code, str(program)]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    with zipfile.ZipFile(program) as archive:
        assert sorted(archive.namelist()) == archive.namelist() == sorted(["__main__.py", *loaded])
        assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_documentation_says_its_hash(program: Path) -> None:
    recorded = zipapp.RECORDED.findall(zipapp.DOCUMENT.read_text("utf-8"))
    assert recorded == [hashlib.sha256(program.read_bytes()).hexdigest()], f"the verifier has changed: {UPDATE}"


def test_the_command_writes_the_hash_where_it_is_said(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text(f"SHA-256 of `verify.pyz`: `{'0' * 64}`, of this version.\n")
    zipapp.record_hash("a" * 64, document)
    assert document.read_text() == f"SHA-256 of `verify.pyz`: `{'a' * 64}`, of this version.\n"
    document.write_text("Nothing is said.\n")
    with pytest.raises(ValueError, match="0 times"):
        zipapp.record_hash("a" * 64, document)


def test_an_old_python_is_told_what_is_missing(program: Path) -> None:
    status, said, error = run(program, begin="import sys; sys.version_info = (3, 9, 18)")
    assert (status, said, error) == (2, "", "This needs Python 3.11 or newer, and this is Python 3.9.\n")


# What it does ---------------------------------------------------------------------------------------------------------


def test_it_checks_a_folder_and_a_zip(program: Path, forger: Forger) -> None:
    for release in (forger.folder, zip_of(forger.folder)):
        status, said, error = run(program, release)
        assert (status, error) == (NOTHING_DIFFERS, "") and said.endswith("Nothing differs.\n")
        assert f"{forger.folder.name}: SHA-256 of the manifest " in said


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_it_looks_at_pictures_in_several_processes(method: str, program: Path, forger: Forger) -> None:
    """However the machine starts them: each imports from the one file."""
    begin = (
        f"import multiprocessing, os, sys; multiprocessing.set_start_method({method!r})\n"
        "sys.path.insert(0, sys.argv[1]); os.sched_getaffinity = lambda pid: {0, 1}\n"
        "from adjudication.verifier import pictures; pictures._FEW = 2"
    )
    status, said, error = run(program, zip_of(forger.folder), begin=begin)
    assert (status, error) == (NOTHING_DIFFERS, "") and "pictures: 9 decoded" in said


FORGERIES: dict[str, tuple[Callable[[Forger], object], str]] = {
    "a verdict": (
        lambda forger: forger.cell("rulings.csv", {"image_id": forger.id_of["too_small"]}, verdict="valid"),
        "rulings.csv",
    ),
    "a table left out": (lambda forger: (forger.folder / "teams.csv").unlink(), "teams.csv"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_zip_differs_as_its_folder_does(what: str, forger: Forger, capsys: pytest.CaptureFixture[str]) -> None:
    change, named = FORGERIES[what]
    change(forger)
    assert main([str(forger.folder), "--quiet"]) == DIFFERENT
    of_folder = capsys.readouterr().out
    assert main([str(packed(forger.folder)), "--quiet"]) == DIFFERENT
    assert (named in of_folder, capsys.readouterr().out) == (True, of_folder)


def test_the_release_before_is_found_beside_a_zip(
    forger: Forger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a folder or a zip, or named; one that is no release is passed over, and another manifest is a difference."""
    before = forger.folder.with_name("release-2026-W46")
    shutil.copytree(forger.folder, before)
    sha = Forger.__new__(Forger)
    sha.folder = before
    sha.manifest(lambda values: values.update(name="release-2026-W46", week="2026-W46"))
    follows = hashlib.sha256((before / "manifest.json").read_bytes()).hexdigest()
    named = {"previous_name": "release-2026-W46", "previous_sha256": follows}
    forger.manifest(lambda values: values.update(named))
    archive = packed(forger.folder)

    def told(*arguments: str) -> str:
        main([str(archive), *arguments])
        return capsys.readouterr().out

    assert "chain: follows release-2026-W46" in told()
    elsewhere = packed(before).rename(tmp_path / "before.zip")
    shutil.rmtree(before)
    assert "chain: release-2026-W46 is not here to compare with" in told()
    assert "chain: follows release-2026-W46" in told("--previous", str(elsewhere))
    beside = before.with_suffix(".zip")
    beside.write_bytes(b"no zip")
    assert "chain: release-2026-W46 is not here to compare with" in told()
    shutil.copyfile(elsewhere, beside)
    assert "chain: follows release-2026-W46" in told()
    forger.manifest(lambda values: values.update(previous_sha256="0" * 64))
    packed(forger.folder)
    assert "manifest.json: previous: recorded " in told()


def _with_file(name: str) -> Callable[[Path], object]:
    def change(archive: Path) -> None:
        with zipfile.ZipFile(archive, "a") as more:
            more.writestr(name, "x")

    return change


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no zip": (lambda archive: archive.write_text("words"), "BadZipFile"),
    "an empty zip": (lambda archive: zipfile.ZipFile(archive, "w").close(), "it holds no release"),
    "a path that leads out": (_with_file("release-2026-W47/../../out.txt"), "which no release has"),
    "another release beside": (_with_file("release-2026-W48/teams.csv"), "which no release has"),
    "a strange file": (_with_file("release-2026-W47/run.py"), "which no release has"),
    "a cut zip": (lambda archive: archive.write_bytes(archive.read_bytes()[:-30]), "BadZipFile"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_zip_of_a_release_is_refused(
    what: str, forger: Forger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change, words = REFUSED[what]
    change(zip_of(forger.folder))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "room"))
    (tmp_path / "room").mkdir()
    assert main([str(zip_of(forger.folder))]) == NO_RELEASE
    error = capsys.readouterr().err
    assert "cannot be unpacked" in error and words in error
    assert list((tmp_path / "room").iterdir()) == [], "what was unpacked is removed"


def test_without_room_it_says_so(
    forger: Forger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("adjudication.verifier.release_zip._SPARE_BYTES", 1 << 62)
    assert main([str(zip_of(forger.folder))]) == NO_RELEASE
    assert "0 can be taken on this disk" in capsys.readouterr().err


def test_a_folder_is_checked_where_it_lies(forger: Forger) -> None:
    with release_zip.release_folders(forger.folder, None, lambda *_: None) as places:
        assert places == (forger.folder, None)
