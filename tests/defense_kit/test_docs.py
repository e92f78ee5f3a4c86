"""docs/defenses.md says what the code does."""

import re
from pathlib import Path

import numpy as np
import pytest

from defense_kit import check, frames
from defense_kit.faults import WORDS
from defense_kit.limits import Limits
from labeling.policy import Policy
from tests.defense_kit.programs import write

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "defenses.md").read_text()


def rows_under(heading: str) -> list[list[str]]:
    """Return the cells of every table row in a section."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_faults_is_the_closed_list() -> None:
    expected = [[f"`{fault.value}`", words.meaning, words.advice, words.payer.value] for fault, words in WORDS.items()]
    assert rows_under("Faults")[1:] == expected


def test_the_limits_are_those_of_the_policy() -> None:
    stated = {row[2].strip("`"): int(re.findall(r"\d+", row[1])[0]) for row in rows_under("Time and other limits")[1:]}
    stated.pop("")
    policy = Policy()
    assert stated == {name: getattr(policy, name) for name in stated}
    assert len(stated) == 8


def test_the_kits_own_limits_are_those_of_the_policy() -> None:
    policy, limits = Policy(), Limits()
    assert (limits.memory_mib, limits.cpus, limits.processes, limits.scratch_mib) == (
        policy.defense_memory_mib,
        policy.defense_cpus,
        policy.defense_processes,
        policy.defense_scratch_mib,
    )
    defaults = check.parser().parse_args(["check", "x"])
    assert (defaults.batch_size, defaults.seconds_per_picture, defaults.start_seconds) == (
        policy.batch_size,
        policy.seconds_per_picture,
        policy.start_seconds,
    )


def test_the_table_of_frames_has_the_types_and_the_row_of_an_answer() -> None:
    types = {row[1]: int(row[0]) for row in rows_under("The protocol") if row[0].isdecimal()}
    assert types == {name: getattr(frames, name) for name in ("HELLO", "READY", "BATCH", "ANSWER", "ERROR")}
    assert f"{frames.ANSWER_ROW.itemsize} bytes a row" in PAGE
    assert frames.HEADER.size == 24


@pytest.mark.parametrize("number", [1, 2], ids=["of one's own", "of the warm-up contest"])
def test_the_examples_on_the_page_are_accepted(number: int, tmp_path: Path) -> None:
    program = PAGE.split("```python\n")[number].split("```")[0]
    pictures = tmp_path / "pictures.npy"
    np.save(pictures, np.random.default_rng(1).integers(0, 256, (5, 16, 16, 3), dtype=np.uint8))
    assert check.main(["check", str(write(tmp_path / "d", program)), "--pictures", str(pictures)]) == 0
