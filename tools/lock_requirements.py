"""Pins requirements.in and requirements-dev.in with all their dependencies: `make lock`.

Writes requirements.txt and requirements-dev.txt with the hash of every file that the package index has of each version.
torch and the libraries of its CUDA build are left out: see requirements-torch.txt.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_COMPILE = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--generate-hashes"]
_OPTIONS = ["--python-version=3.11", "--no-header", "--no-emit-index-url", "--no-emit-find-links"]
_WITH_TORCH = re.compile(r"(torch|triton|nvidia-|cuda-)")
HEADER = "# Made by `make lock` from {}; do not edit.\n"


def lock(asked: Path, pinned: Path, *, within: Path | None = None) -> None:
    """Write the pins for `asked`; versions that `within` pins stay the same."""
    bounds = ["--constraint", within.name] if within is not None else []
    run = [*_COMPILE, *_OPTIONS, *bounds, asked.name]
    found = subprocess.run(run, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    pins = re.split(r"^(?=\S)", found, flags=re.MULTILINE)
    pinned.write_text(HEADER.format(asked.name) + "".join(each for each in pins if not _WITH_TORCH.match(each)))


def main() -> int:
    """Rewrite both files."""
    try:
        lock(ROOT / "requirements.in", ROOT / "requirements.txt")
        lock(ROOT / "requirements-dev.in", ROOT / "requirements-dev.txt", within=ROOT / "requirements.txt")
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
