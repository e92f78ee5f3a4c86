"""Strangers' words are printed as text alone, on every terminal, and by one function (R39)."""

import ast
import io
from pathlib import Path

import pytest

from adjudication.terminal import LONGEST_LINE, encodable, printable, show
from adjudication.verify import NO_RELEASE, main

APP = Path(__file__).resolve().parents[2] / "adjudication"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\x1b[2J", "an escape code clears the screen"),
        ("\x9b2J", "and so does its one-byte form (C1)"),
        ("a\nNothing differs.", "an end of line begins a line of its own"),
        ("a\r\x08b", "what goes back writes over"),
        ("a\u2028b\u2029c\x85d", "other ends of lines"),
        ("\u202eabc\u202c \u2066a\u2069 \u200f", "marks of direction show text the other way round"),
        ("a\u200bb\u200dc\u2060d\ufeff", "marks without width"),
        ("a\u3164b\u115fc\u034fd\ufe0fe\u2800f", "letters that nobody sees"),
        ("\ud800", "half of a surrogate pair has no bytes"),
        ("\0\t\x7f", "control codes"),
        ("\ue000\uffff", "letters of nobody"),
    ],
)
def test_only_text_is_printed(text: str, why: str) -> None:
    said = printable(text)
    assert said.isprintable(), why
    assert "\N{REPLACEMENT CHARACTER}" in said, why
    assert len(said) == len(text), why


def test_text_stays_as_it_is() -> None:
    assert printable("Vögel, 鳥, طائر: 1/4") == "Vögel, 鳥, طائر: 1/4"


def test_a_long_value_is_cut_in_its_middle() -> None:
    said = printable("a" * 10**6 + "b")
    assert len(said) == LONGEST_LINE + 1
    assert said.endswith("b")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp437"])
def test_every_terminal_can_print_it(encoding: str) -> None:
    stream = io.TextIOWrapper(raw := io.BytesIO(), encoding=encoding, write_through=True)
    show("鳥 \ud800 \x1b", stream=stream)
    assert raw.getvalue().endswith(b"\n")
    assert b"\x1b" not in raw.getvalue()


def test_a_terminal_that_names_no_encoding_gets_ascii() -> None:
    assert encodable("ä", None) == "\\xe4"


def test_the_verifier_prints_names_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "\x1b[2J")]) == NO_RELEASE
    assert "\x1b" not in capsys.readouterr().err


def _prints(path: Path) -> list[str]:
    """What in a module writes to a terminal by itself."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name) and node.id in ("print", "input"):
            found.append(f"{path.name}:{node.lineno} {node.id}")
        if isinstance(node, ast.Attribute) and node.attr in ("write", "writelines"):
            target = ast.unparse(node.value)
            if target.endswith(("stdout", "stderr")):
                found.append(f"{path.name}:{node.lineno} {target}.{node.attr}")
    return found


def test_nothing_else_prints() -> None:
    modules = [path for path in APP.glob("*.py") if path.name != "terminal.py"]
    assert len(modules) > 15
    assert [each for path in modules for each in _prints(path)] == []
