"""The kit as a package: its wheel, the page that offers it, and a participant without a checkout."""

import email
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

import defense_kit
from contest.web.kit_wheel import kit_wheel
from defense_kit import check

KIT = Path(defense_kit.__file__).parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed wheel, as built by `make kit`."""
    folder = tmp_path_factory.mktemp("installed")
    built = subprocess.run(
        [sys.executable, "-m", "contest.web.kit_wheel", str(folder / "dist")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"sha256:{kit_wheel().sha256}" in built.stdout, "the site offers the same bytes"
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(folder / "site")]
    wheel = str(folder / "dist" / kit_wheel().name)
    subprocess.run([sys.executable, "-m", "pip", "install", *options, wheel], check=True)
    return folder / "site"


def run(site: Path, folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_participant_begins_and_checks_a_defense_without_a_checkout(installed: Path, tmp_path: Path) -> None:
    begun = run(installed, tmp_path, "-m", "defense_kit", "new", "mine")
    assert (begun.returncode, "python -m defense_kit check mine" in begun.stdout) == (0, True), begun.stderr
    where = run(installed, tmp_path, "-c", "import defense_kit; print(defense_kit.__file__)")
    assert Path(where.stdout.strip()).parent.parent == installed
    checked = run(installed, tmp_path, "-m", "defense_kit", "check", "mine")
    assert (checked.returncode, "Result: accepted" in checked.stdout) == (0, True), checked.stderr
    command = run(installed, tmp_path, str(installed / "bin" / "defense-kit"), "--version")
    assert command.stdout.strip() == defense_kit.__version__


@pytest.mark.parametrize("example", sorted(check.EXAMPLES))
def test_each_example_is_copied_whole(example: str, tmp_path: Path) -> None:
    assert check.main(["new", str(tmp_path / "mine"), "--example", example]) == 0
    kept = {path.name: path.read_bytes() for path in check.EXAMPLES[example].iterdir() if path.is_file()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == kept
    assert {"Dockerfile", "defense.py"} <= kept.keys()


def test_what_somebody_wrote_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "defense.py"
    mine.write_text("my own")
    assert (check.main(["new", str(tmp_path)]), mine.read_text()) == (2, "my own")
    assert "name a new folder" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert check.main(["new", str(tmp_path / "file" / "mine")]) == 2
    assert "could not write" in capsys.readouterr().err


def test_the_wheel_states_what_it_needs() -> None:
    with zipfile.ZipFile(io.BytesIO(kit_wheel().content)) as wheel:
        names = wheel.namelist()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        stated = email.message_from_bytes(wheel.read(metadata))
    assert (stated["Requires-Python"], stated["Version"]) == (">=3.8", defense_kit.__version__)
    needs = [need for need in stated.get_all("Requires-Dist", []) if "extra" not in need]
    assert needs == ["numpy>=1.20"]
    of_the_kit = {str(path.relative_to(KIT.parent)) for path in KIT.rglob("*") if path.is_file()}
    expected = {name for name in of_the_kit if "__pycache__" not in name}
    assert {name for name in names if ".dist-info/" not in name} == expected, "the kit, and nothing of the site"


def test_its_bytes_depend_on_the_source_alone() -> None:
    before = kit_wheel()
    kit_wheel.cache_clear()
    os.utime(KIT / "serve.py")
    assert kit_wheel() == before


def test_the_changelog_tells_of_this_version() -> None:
    assert f"\n## {defense_kit.__version__} (" in (KIT / "CHANGELOG.md").read_text()


@pytest.mark.django_db
def test_the_page_offers_the_wheel(client: Client, settings: Any) -> None:
    settings.PUBLIC_URL = "https://contest.example.org"
    page = client.get("/docs/defenses/").content.decode()
    wheel = kit_wheel()
    assert f"pip install https://contest.example.org/kit/{wheel.name}" in page and wheel.sha256 in page
    answer = client.get(f"/kit/{wheel.name}")
    assert hashlib.sha256(answer.content).hexdigest() == wheel.sha256
    assert answer["Content-Disposition"] == f'attachment; filename="{wheel.name}"'
    assert client.get("/kit/another-1.0.0-py3-none-any.whl").status_code == 404
