"""What keeps the rooms small and apart, beside the import contracts of pyproject.toml."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources import ROOT, sources

PAGES = re.compile(r"(?:contest/(?:pages|api|web|templatetags)|labeling/pages|accounts/pages|monitoring/pages)/")
CONTEST_ROOM = re.compile(r"contest/(?!pages|api|web|templatetags|demo|simulation|management|migrations)\w+/")
MAX_MODULES, MAX_LINES, MAX_SHARE = 25, 400, 0.12
MAX_COLUMNS = 160
# A room may answer that something is not there.
ALLOWED = {"Http404"}
WEB = ("django.http", "django.shortcuts", "django.views", "rest_framework")


def trees(where: re.Pattern[str]) -> Iterator[tuple[str, ast.Module]]:
    for name, path in sources().items():
        if where.match(name):
            yield name, ast.parse(path.read_text())


@pytest.mark.slow("it reads the tree of every page")
def test_no_page_asks_the_database_by_itself() -> None:
    """What is read is a selector of the room that owns it, so that each question is asked in one way."""
    asked = {"objects", "_default_manager", "_base_manager", "get_model"}
    found = {
        f"{name}:{node.lineno}"
        for name, tree in trees(PAGES)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in asked
    }
    assert not found


@pytest.mark.slow("it reads the tree of every room")
def test_no_room_of_the_contest_below_its_pages_sees_a_request() -> None:
    found = {
        f"{name}: {each.name}"
        for name, tree in trees(CONTEST_ROOM)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(WEB)
        for each in node.names
        if each.name not in ALLOWED
    }
    assert not found


def lines_of(path: Path) -> int:
    return len(path.read_bytes().splitlines())


def test_folders_and_modules_stay_small() -> None:
    code = {name: path for name, path in sources().items() if "/migrations/" not in name}
    folders = Counter(path.parent for path in code.values())
    assert not {str(folder.relative_to(ROOT)): most for folder, most in folders.items() if most > MAX_MODULES + 1}
    assert not {name for name, path in code.items() if lines_of(path) > MAX_LINES}


def test_lines_of_templates_stay_short() -> None:
    files = (ROOT / "templates").rglob("*.html")
    long = {
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if len(line) > MAX_COLUMNS
    }
    assert not long


def test_no_room_holds_an_eighth_of_the_application() -> None:
    rooms: Counter[str] = Counter()
    for name, path in sources().items():
        first, second, *_ = Path(name).parts
        rooms[f"{first}/{second}" if first == "contest" else first] += 0 if "migrations" in name else lines_of(path)
    assert not {room: lines for room, lines in rooms.items() if lines > MAX_SHARE * rooms.total()}


def asked_for(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith(("#", "-r "))]


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_every_requirement_has_a_reason_and_every_pin_a_hash(name: str) -> None:
    wanted = asked_for((ROOT / f"{name}.in").read_text())
    assert all(re.fullmatch(r"\S+(?:; .+)?  # .+", line) for line in wanted), "say beside each line why it is there"
    pins = re.split(r"^(?=\w)", (ROOT / f"{name}.txt").read_text(), flags=re.MULTILINE)[1:]
    assert all(re.match(r"[\w.-]+==\S+.*\\\n    --hash=sha256:[0-9a-f]{64}", each) for each in pins)
    pinned = {re.split(r"[=\[ ]", each)[0] for each in pins}
    assert {re.split(r"[~=\[]", line)[0].lower() for line in wanted} <= pinned, "run `make lock`"
