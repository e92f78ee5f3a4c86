"""This machine: its name, its free memory, and the exclusive use of one of its devices.

A slot is a locked file in the folder that the scorers of a machine share. The system lets go of the lock when a process
ends, however it ends, so that no slot stays taken.
"""

import fcntl
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from defense_kit.machine import processor_name as processor_name


def free_memory_mib() -> int | None:
    """Return how much memory programs can still have without swapping; None where the system does not tell."""
    meminfo = Path("/proc/meminfo")
    lines = meminfo.read_text().splitlines() if meminfo.exists() else []
    told = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(told[0]) >> 10 if told else None


@dataclass(frozen=True, slots=True)
class Slot:
    """`device` is cpu or cuda, `number` which of them; `folder` is for its scorer's temporary files.

    `identity` is the same as long as the folder is kept, even if the machine is renamed.
    """

    device: str
    number: int
    folder: Path
    identity: str
    lock: IO[str]

    @property
    def name(self) -> str:
        """Return its name, unique on this machine and the same after a restart."""
        return f"{self.device}-{self.number}"


def take_slot(parent: Path, device: str, count: int) -> Slot | None:
    """Return the first of the `count` devices of a kind that no process has; None when all are taken.

    `parent` is the folder that the scorers of this machine share. The processor counts as one device.
    """
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in range(count):
        lock = open(parent / f"{device}-{number}.lock", "w")  # noqa: SIM115 - held as long as the slot is
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        folder = parent / f"{device}-{number}"
        folder.mkdir(exist_ok=True, mode=0o700)
        return Slot(device, number, folder, _identity(folder), lock)
    return None


def _identity(folder: Path) -> str:
    """Return the identity in a slot's folder, or create it; the caller holds the lock."""
    path = folder / "identity"
    known = path.read_text() if path.exists() else ""
    if not known:
        known = secrets.token_hex(8)
        path.write_text(known)
    return known
