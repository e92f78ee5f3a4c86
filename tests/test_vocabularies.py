"""Every table keyed by the members of an enum names each of them, or says why not: no page ends in a KeyError. Every
word a tasker reads is in every language: nothing missing, nothing guessed, nothing left unpacked."""

import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from adjudication.rules import REASONS
from contest.record.certificate import NEEDED
from tests.sources import FOLDERS

ROOMS = [importlib.import_module(name) for name in (*FOLDERS, "defense_kit") if name != "config"]
# Tables that leave members out, each with the reason; what is left out is never looked up there.
PARTIAL = {
    "contest.record.certificate.NEEDED": "the rules give no others: KNOWN_BAD and AMBIGUOUS are of the dataset (R17)",
    "contest.record.certificate._STATEMENT": "the reasons that come of question 4; others are asked for by `in`",
    "contest.pages.team.appeal_rows.OUTCOMES": "a team reads cases of pictures; the others are of motions",
    "contest.pages.team.appeal_rows.VOTES": "a team reads cases of pictures; the others are of motions",
    "contest.pages.board.conflict_forms.DECLARED": "what members declare; that they were in a team is found",
    "contest.record.leaderboard.tables._GROUPS": "the first two groups; .get gives the third to all others",
    "contest.payments.statements.ACCOUNT_WORDS": "the accounts of a team or stake are named after it",
    "accounts.invitations._GROUPS": "taskers are no group, and teams invite their own",
    "labeling.learning.wording._STATEMENT_OF": "the topics of question 4; .get leaves out the others",
    "monitoring.actions._AFTER": "a warning changes no state; asked for by `in`",
    "scoring.trials.selectors._MEETS": "a trial decides these; the framework is a check of the board",
    "scoring.reference.train._CLASSES": "the truth of a drawn picture is a class, never an abstention",
    "scoring.rules._NAMED": ".get gives nothing for an abstention",
}


def modules() -> Iterator[Any]:
    for room in ROOMS:
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if not re.search(r"\.migrations|__main__$|\.demo\.defense", found.name):
                yield importlib.import_module(found.name)


def tables() -> Iterator[tuple[str, type[Enum], set[Enum]]]:
    """The mappings with members of one enum as keys, where they are made: name, the enum, and the keys."""
    for module in modules():
        for name, value in vars(module).items():
            kinds = {type(key) for key in value} if isinstance(value, Mapping) else set()
            made_here = re.compile(rf"^{name}\b[^\n]*=", re.MULTILINE)
            if (
                len(kinds) == 1
                and issubclass(kind := kinds.pop(), Enum)
                and made_here.search(inspect.getsource(module))
            ):
                yield f"{module.__name__}.{name}", kind, set(value)


KINDS = {
    value
    for module in modules()
    if module.__name__.endswith("enums")
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum
}
FOUND = {name: (kind, keys) for name, kind, keys in tables()}


@pytest.mark.parametrize("name", sorted(FOUND))
def test_a_table_names_every_member_or_says_why_not(name: str) -> None:
    kind, keys = FOUND[name]
    missing = {str(member.name) for member in set(kind) - keys}
    assert not missing or name in PARTIAL, f"{name} lacks {', '.join(sorted(missing))} of {kind.__name__}"


def test_what_is_said_to_leave_members_out_does_and_no_other_table_is_missed() -> None:
    total = {name for name, (kind, keys) in FOUND.items() if keys == set(kind)}
    assert set(PARTIAL) <= set(FOUND) - total, "declared without need"
    assert "adjudication.wording.REASON_WORDS" in FOUND and len(FOUND) > 30, "the tables are found"
    assert set(REASONS) == set(NEEDED), "every reason that the rules give has its line in the certificate"


def test_no_table_of_words_hides_behind_plain_strings() -> None:
    """A table keyed by an enum's values as text is one of its members: type it so, and it is found above."""
    tables = [(f"{module.__name__}.{name}", value) for module in modules() for name, value in vars(module).items()]
    texts = {
        name: set(value)
        for name, value in tables
        if isinstance(value, Mapping) and len(value) >= 4 and all(type(key) is str for key in value)
    }
    values = {kind: {str(member.value) for member in kind} for kind in KINDS}
    assert [(name, kind) for name, keys in texts.items() for kind in KINDS if keys <= values[kind]] == []


ROOT = Path(settings.BASE_DIR)
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))
_FIELD = re.compile(r"%\([a-z_]+\)[sd]|\{[a-z_]*\}|%[sd]")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def messages(po: Path) -> dict[str, list[str]]:
    """Return message -> its translations, read from the packed form of a catalogue; the heading left out."""
    listed = output("msgattrib", "--no-obsolete", "--no-wrap", str(po))
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
    for name in ("templates", "locale"):  # it writes beside these
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in (*(room.__name__ for room in ROOMS), "config", "manage.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    run = [sys.executable, "manage.py", "makemessages", "-l", "de", "--no-location", "--no-obsolete", "--symlinks"]
    own = {"DEMO": "1", "DATA_DIR": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run(run, check=True, cwd=tmp_path, capture_output=True, env=os.environ | own)
    fresh = messages(tmp_path / PO.relative_to(ROOT))
    assert sorted(fresh) == sorted(messages(PO)), "run make messages, and translate what is new"


@pytest.mark.parametrize("chosen", ["--untranslated", "--only-fuzzy"])
def test_nothing_is_untranslated_or_guessed(chosen: str) -> None:
    left = output("msgattrib", chosen, "--no-obsolete", str(PO))
    assert "msgid" not in left.partition('msgid ""')[2], left[-1500:]


def test_what_is_filled_in_stands_in_every_translation() -> None:
    for message, translations in messages(PO).items():
        wanted, *found = (set(_FIELD.findall(words)) for words in (message, *translations))
        assert found == [wanted] or len(found) > 1 and all(each <= wanted for each in found), message


def test_the_packed_catalogue_is_that_of_the_text(tmp_path: Path) -> None:
    packed = tmp_path / "django.mo"
    output("msgfmt", "--check", "-o", str(packed), str(PO))
    assert PO.with_suffix(".mo").read_bytes() == packed.read_bytes(), "run make messages"
