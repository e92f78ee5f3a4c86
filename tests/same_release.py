"""Compare what two versions publish of the same contest: `python -m tests.same_release BEFORE AFTER`.

Both are folders of checkouts. Each plays the simulated contest of one seed and writes its API's schema; the schema and
every file of the releases are compared byte for byte. Exits with 1 and names each file that differs.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CONTEST = ["--seed=11", "--weeks=4", "--teams=10", "--attacks=80", "--taskers=8"]


def published(checkout: Path, folder: Path) -> dict[str, str]:
    """Return the SHA-256 of everything that the version in `checkout` publishes, by its name."""
    for words in (["simulate", *CONTEST, f"--folder={folder}"], ["spectacular", f"--file={folder / 'schema.yaml'}"]):
        own = {"DEMO": "1", "DATA_DIR": str(folder / "data")}
        run = [sys.executable, "manage.py", *words]
        subprocess.run(run, cwd=checkout, env=os.environ | own, check=True, stdout=subprocess.DEVNULL)
    files = [*folder.rglob("release-*/**/*"), folder / "schema.yaml"]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()
    }


def main() -> int:
    """Play both and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.same_release")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="same-release-") as folder:
        before, after = (
            published(checkout.resolve(), Path(folder, name))
            for checkout, name in ((asked.before, "before"), (asked.after, "after"))
        )
    different = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for name in different:
        print(f"differs: {name}")
    print(f"{len(before)} files before, {len(after)} after, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
