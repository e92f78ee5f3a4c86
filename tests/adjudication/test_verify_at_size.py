"""What the verifier takes for releases of many responses (R39)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What is measured is a process of its own: the peak of its memory, and what it found.
PROGRAM = (
    "import resource, sys; from pathlib import Path; from adjudication.verify import verify; "
    "found = verify(Path(sys.argv[1]), pictures=False); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, found.rows['responses.csv'], found.all_differences())"
)
# Without the list of the picture files. A row held as text would take as much by itself.
MAX_BYTES_EACH = 500


def run(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=300).stdout


def peak_bytes(folder: Path, pictures: int) -> int:
    run("-m", "tests.adjudication.large_release", str(folder), str(pictures))
    peak, responses, differences = run("-c", PROGRAM, str(folder)).strip().split(" ", 2)
    assert (int(responses), differences) == (3 * pictures, "[]")
    return int(peak) * 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="getrusage counts the peak in KiB on Linux alone")
@pytest.mark.long("memory at size")
def test_memory_grows_little_with_the_responses(tmp_path: Path) -> None:
    small, large = (peak_bytes(tmp_path / str(number) / "release", number) for number in (1_000, 10_000))
    assert large - small < MAX_BYTES_EACH * (30_000 - 3_000)
