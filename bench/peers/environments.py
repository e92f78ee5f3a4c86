"""An environment for each peer of the warm-up: the peer alone, over this environment's torch and NumPy.

pip resolves nothing there: it would take another torch, and torchvision with it.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from bench.machine import ROOT
from defense_kit.limits import DefenseLimits, library_settings

# What a peer imports beside torch, NumPy, SciPy and what else the contest has.
PEERS = {
    "foolbox": ("foolbox==3.3.4", "eagerpy==0.30.0", "GitPython==3.1.45", "gitdb==4.0.12", "smmap==5.0.2"),
    "art": (
        *("adversarial-robustness-toolbox==1.20.1", "scikit-learn==1.7.2", "joblib==1.5.2"),
        *("threadpoolctl==3.6.0", "tqdm==4.67.1", "six==1.17.0"),
    ),
    "cleverhans": ("cleverhans==4.0.0",),
    "torchattacks": ("torchattacks==3.5.1", "requests==2.32.5"),
}


class NoPeer(Exception):
    """A peer that cannot be installed; the message is the end of what pip wrote."""


def python_of(peer: str, folder: Path) -> Path:
    """Return the Python of a peer's environment inside `folder`, which is made where it is missing."""
    place, packages = folder / peer, PEERS[peer]
    python, complete = place / "bin" / "python", place / "complete"
    if complete.exists() and complete.read_text().split() == list(packages):
        return python
    _run([sys.executable, "-m", "venv", "--clear", str(place)])
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # Behind the environment's own packages, so that a peer may bring another version of one.
    shared = place / "lib" / version / "site-packages" / "shared.pth"
    shared.write_text(f"{sysconfig.get_path('purelib')}\n")
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *packages])
    complete.write_text("\n".join(packages))
    return python


def run_peer(python: Path, arguments: list[str]) -> str:
    """Run a module of `bench.peers` in a peer's environment; return what it prints."""
    return _run([str(python), "-m", *arguments])


def _run(command: list[str]) -> str:
    # What our own defense has: threads that spin while they wait would make a peer look slow.
    settings = library_settings(DefenseLimits().cpus) | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True)
    if done.returncode:
        raise NoPeer((done.stderr or done.stdout).strip()[-600:])
    return done.stdout
