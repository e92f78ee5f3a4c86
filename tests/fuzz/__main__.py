"""`python -m tests.fuzz [--inputs N] [--seed S] [--input FILE] [TARGET …]`: what reads a stranger's release, fuzzed.

Exit status 1 when an input raises what is not expected, prints what is no text, takes more than a second of CPU time,
or more than 512 MiB. It is kept in `var/fuzz`; `--input` reads it again.
"""

import argparse
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "var" / "fuzz"
SEED = 2026
AT_ONCE = 2
# Target -> the inputs of `make test-all`, the longest run first.
INPUTS = {
    "verifier": 2_500,
    "zip": 8_000,
    "table": 32_000,
    "audit": 10_000,
    "picture": 12_000,
    "manifest": 15_000,
    "list": 20_000,
    "text": 10_000,
}
_STATISTICS = ("stat::number_of_executed_units", "stat::peak_rss_mb")


def main(arguments: list[str]) -> int:
    """Fuzz, and print what each target took."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: {', '.join(INPUTS)}")
    parser.add_argument("--inputs", type=int, metavar="N", help="of each target; default: those of `make test-all`")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--input", type=Path, metavar="FILE", help="read this input of one target again")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.targets) - INPUTS.keys():
        parser.error(f"no target: {', '.join(sorted(unknown))}")
    if importlib.util.find_spec("atheris") is None:
        print("Left out: Atheris is not installed, as it has builds for Linux on x86-64 alone.")
        return int(sys.platform == "linux" and platform.machine() == "x86_64")
    start, names = time.monotonic(), asked.targets or list(INPUTS)
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unanimous-fuzz-") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        subprocess.run([sys.executable, "-m", "tests.fuzz.release", folder], cwd=ROOT, check=True)
        read = {name: str(asked.input or asked.inputs or INPUTS[name]) for name in names}
        tried = list(pool.map(partial(_fuzzed, Path(folder) / "releases", asked.seed), names, read.values()))
    print(f"{sum(filter(None, tried)):,} inputs in {time.monotonic() - start:.0f} s")
    return 1 if None in tried else 0


def _fuzzed(releases: Path, seed: int, target: str, inputs: str) -> int | None:
    """Fuzz one target in a process of its own; return how many inputs it read, None where one is kept."""
    start = time.monotonic()
    command = [sys.executable, "-m", "tests.fuzz.worker", target, str(releases), str(KEPT), inputs, str(seed)]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace")
    words = f"{done.stdout}\n{done.stderr}"
    figures = [line.rpartition(" ")[2] for name in _STATISTICS for line in words.splitlines() if line.startswith(name)]
    if done.returncode:
        print(f"{target}: FAILED\n{words[-6000:]}", flush=True)
        return None
    if len(figures) < len(_STATISTICS):
        return 1  # an input that was read again
    number, memory = map(int, figures)
    print(f"{target}: {number:,} inputs, {time.monotonic() - start:.0f} s, {memory} MiB", flush=True)
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
