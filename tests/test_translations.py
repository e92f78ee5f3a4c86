"""Every word a tasker reads is in every language: nothing missing, nothing guessed, nothing left unpacked."""

import os
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


PO = CATALOGUES[0]


def test_there_is_a_language_beside_english() -> None:
    assert [po.parent.parent.name for po in CATALOGUES] == ["de"]
    assert {code for code, _ in settings.LANGUAGES} == {"en", "de"}


def test_every_message_of_the_sources_is_in_the_catalogue(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("*.png", "*.jpg", "__pycache__")
    for name in SOURCES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "manage.py", tmp_path)
    run = [sys.executable, "manage.py", "makemessages", "-l", "de", "--no-location", "--no-obsolete"]
    own = {"DEMO": "1", "DATA_DIR": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run(run, check=True, cwd=tmp_path, capture_output=True, env=os.environ | own)
    fresh = messages(tmp_path / PO.relative_to(ROOT))
    assert sorted(fresh) == sorted(messages(PO)), "run make messages, and translate what is new"


@pytest.mark.parametrize("chosen", ["--untranslated", "--only-fuzzy"])
def test_nothing_is_untranslated_or_guessed(chosen: str) -> None:
    command = ["msgattrib", chosen, "--no-obsolete", str(PO)]
    left = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "msgid" not in left.partition('msgid ""')[2], left[-1500:]


def test_what_is_filled_in_stands_in_every_translation() -> None:
    for message, translations in messages(PO).items():
        wanted = set(_FIELD.findall(message))
        found = [set(_FIELD.findall(words)) for words in translations]
        assert found == [wanted] or len(found) > 1 and all(each <= wanted for each in found), message


def test_the_packed_catalogue_is_that_of_the_text(tmp_path: Path) -> None:
    packed = tmp_path / "django.mo"
    subprocess.run(["msgfmt", "--check", "-o", str(packed), str(PO)], check=True, capture_output=True)
    assert PO.with_suffix(".mo").read_bytes() == packed.read_bytes(), "run make messages"
