"""Compare what two versions publish of the same contest: `python -m tests.same_release BEFORE AFTER`.

Both are folders of checkouts. Each plays the simulated contest of one seed and writes its API's schema; every file
of the releases is compared byte for byte, the schema without the order of its lines. Exits with 1 and names each file
that differs.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What is drawn without a seed (public IDs, salts) is drawn from one here, and no answer takes time: then one contest
# gives the same bytes.
SEEDED = """
import random, secrets, time, uuid
drawn = random.Random(11)
secrets.choice, secrets.token_hex = drawn.choice, lambda length=32: drawn.randbytes(length).hex()
random.SystemRandom = lambda: drawn
time.perf_counter_ns = lambda: 0
uuid.uuid4 = lambda: uuid.UUID(int=drawn.getrandbits(128), version=4)
"""
CONTEST = ["--seed=11", "--weeks=4", "--teams=10", "--attacks=80", "--taskers=8"]


def published(checkout: Path, folder: Path) -> dict[str, str]:
    """Return the SHA-256 of everything that the version in `checkout` publishes, by its name."""
    schema, seeded = folder / "schema.yaml", folder / "seeded"
    seeded.mkdir(parents=True)
    (seeded / "sitecustomize.py").write_text(SEEDED)
    for words in (["simulate", *CONTEST, f"--folder={folder / 'own'}"], ["spectacular", f"--file={schema}"]):
        own = {"DEMO": "1", "DATA_DIR": str(folder / "data"), "PYTHONPATH": str(seeded), "PYTHONHASHSEED": "0"}
        run = [sys.executable, "manage.py", *words]
        subprocess.run(run, cwd=checkout, env=os.environ | own, check=True, stdout=subprocess.DEVNULL)
    files = [*folder.rglob("release-*/**/*"), schema]
    schema.write_text("\n".join(sorted(schema.read_text().splitlines())))
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
