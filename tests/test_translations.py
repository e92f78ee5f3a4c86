"""Every word a tasker reads is in every language: nothing missing, nothing guessed, nothing left unpacked."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))
SOURCES = (
    "defense_kit",
    "adjudication",
    "common",
    "config",
    "contest",
    "labeling",
    "scoring",
    "templates",
    "locale",
    "manage.py",
)
_FIELD = re.compile(r"%\([a-z_]+\)[sd]|\{[a-z_]*\}|%[sd]")


def messages(po: Path) -> dict[str, list[str]]:
    """Return message -> its translations, read from the packed form of a catalogue; the heading left out."""
    listed = subprocess.run(
        ["msgattrib", "--no-obsolete", "--no-wrap", str(po)], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, list[str]] = {}
    for block in listed.split("\n\n")[1:]:
        ids = re.findall(r'^(?:msgid|msgid_plural|msgctxt) "(.*)"$', block, re.M)
        words = [*re.findall(r'^msgstr(?:\[\d\])? "(.*)"((?:\n".*")*)', block, re.M)]
        found["|".join(ids) or block] = [first + rest for first, rest in words]
    return found


def test_there_is_a_language_beside_english() -> None:
    assert [po.parent.parent.name for po in CATALOGUES] == ["de"]
    assert {code for code, _ in settings.LANGUAGES} == {"en", "de"}


@pytest.mark.parametrize("po", CATALOGUES, ids=lambda po: po.parent.parent.name)
def test_every_message_of_the_sources_is_in_the_catalogue(po: Path, tmp_path: Path) -> None:
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("*.png", "*.jpg", "__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    language = po.parent.parent.name
    run = [sys.executable, "manage.py", "makemessages", "-l", language, "--no-location", "--no-obsolete"]
    subprocess.run(run, check=True, cwd=tmp_path, capture_output=True, env=_environment(tmp_path))
    fresh = messages(tmp_path / po.relative_to(ROOT))
    assert sorted(fresh) == sorted(messages(po)), "run make messages, and translate what is new"


def _environment(tmp_path: Path) -> dict[str, str]:
    import os

    return os.environ | {"DEMO": "1", "DATA_DIR": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "config.settings"}


@pytest.mark.parametrize("po", CATALOGUES, ids=lambda po: po.parent.parent.name)
def test_nothing_is_untranslated_or_guessed(po: Path) -> None:
    for chosen in ("--untranslated", "--only-fuzzy"):
        left = subprocess.run(
            ["msgattrib", chosen, "--no-obsolete", str(po)], check=True, capture_output=True, text=True
        )
        assert "msgid" not in left.stdout.partition('msgid ""')[2], f"{chosen}: {left.stdout[-1500:]}"


@pytest.mark.parametrize("po", CATALOGUES, ids=lambda po: po.parent.parent.name)
def test_what_is_filled_in_stands_in_every_translation(po: Path) -> None:
    for message, translations in messages(po).items():
        wanted = set(_FIELD.findall(message))
        for words in translations:
            assert set(_FIELD.findall(words)) <= wanted, message
            if len(translations) == 1:
                assert set(_FIELD.findall(words)) == wanted, message


@pytest.mark.parametrize("po", CATALOGUES, ids=lambda po: po.parent.parent.name)
def test_the_packed_catalogue_is_that_of_the_text(po: Path, tmp_path: Path) -> None:
    packed = tmp_path / "django.mo"
    subprocess.run(["msgfmt", "--check", "-o", str(packed), str(po)], check=True, capture_output=True)
    committed = po.with_suffix(".mo")
    assert committed.read_bytes() == packed.read_bytes(), "run make messages"
