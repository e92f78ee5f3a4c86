"""`python -m tests.mutants [--sample N] [--seed S] [MODULE …]`: which changes to rules no test notices.

Exit status 1 when one survives that `survivors.py` gives no reason for, or, of all, fewer than 95 of 100 are noticed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.making import Mutant, mutants_of
from tests.mutants.survivors import SURVIVORS
from tests.mutants.targets import TARGETS

ROOT = Path(__file__).parents[2]
SEED = 2026
MIN_NOTICED_SHARE = 0.95
AT_ONCE = 2
# Of a module; each process first runs the tests once unchanged.
MUTANTS_PER_PROCESS = 100


def main(arguments: list[str]) -> int:
    """Hunt, and print what survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="default: all of targets.py")
    parser.add_argument("--sample", type=int, metavar="N", help="as many mutants, drawn with the seed")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.one:
        return _hunt(asked.modules[0], set(json.load(sys.stdin)))
    mutants = [each for path in asked.modules or TARGETS for each in mutants_of(ROOT, path)]
    if asked.sample:
        mutants = random.Random(asked.seed).sample(mutants, min(asked.sample, len(mutants)))
    modules = ([each for each in mutants if each.path == path] for path in TARGETS)
    size = MUTANTS_PER_PROCESS
    parts = [mine[at : at + size] for mine in modules for at in range(0, len(mine), size)]
    start = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(_in_process, parts)
    survivors = [name for names in found for name in names]
    unexplained = _report(mutants, survivors, time.monotonic() - start)
    few = not asked.sample and len(survivors) > (1 - MIN_NOTICED_SHARE) * len(mutants)
    return 1 if unexplained or few else 0


def _report(mutants: list[Mutant], survivors: list[str], seconds: float) -> list[str]:
    """Print what survived; return the names without a reason."""
    for name in survivors:
        print(f"unnoticed: {name}\n    {SURVIVORS.get(name, 'NO REASON in tests/mutants/survivors.py')}")
    share = 1 - len(survivors) / len(mutants)
    print(f"{len(mutants)} mutants, {len(survivors)} unnoticed: {share:.1%} noticed in {seconds:.0f} s")
    return [name for name in survivors if name not in SURVIVORS]


def _in_process(mutants: list[Mutant]) -> list[str]:
    """Hunt mutants of one module in a process of its own; return the names of those that survive."""
    path = mutants[0].path
    command = [sys.executable, "-m", "tests.mutants", "--one", path]
    names = json.dumps([each.name for each in mutants])
    # Without DATA_DIR, its data and its database lie in a folder of its own.
    environment = {name: value for name, value in os.environ.items() if name != "DATA_DIR"}
    done = subprocess.run(command, input=names, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{path}:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    survivors: list[str] = json.loads(done.stdout.splitlines()[-1])
    print(f"{path}: {len(mutants)} mutants, {len(survivors)} unnoticed", flush=True)
    return survivors


def _hunt(path: str, names: set[str]) -> int:
    import pytest

    from tests.mutants.hunt import Hunt

    hunt = Hunt([each for each in mutants_of(ROOT, path) if each.name in names])
    chosen = ["-q", "-s", "-p", "no:tests.dear_cases", "-m", "not browser and not long and not postgres"]
    status = pytest.main([*chosen, "tests/mutants/ready.py", *TARGETS[path]], plugins=[hunt])
    print(f"\n{json.dumps(hunt.survivors)}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
