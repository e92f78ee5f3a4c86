"""Defenses for tests, as programs in a folder."""

import sys
import textwrap
from pathlib import Path

from defense_kit.conversation import ConversationDeadlines
from defense_kit.harness import DefenseSession, Launch, LaunchedDefense, open_defense
from defense_kit.limits import DefenseLimits
from defense_kit.process import start_process

EXAMPLES = Path(__file__).resolve().parents[2] / "defense_kit" / "examples"
LIMITS = DefenseLimits(memory_mib=1024, processes=32, scratch_mib=8, log_kib=64)
DEADLINES = ConversationDeadlines(start=20, hello=10, batch=10)
SIZE, ROWS = 8, 4

CONNECT = """
import json, os, socket, struct, sys, time
peer = socket.socket(socket.AF_UNIX)
peer.connect(os.environ["DEFENSE_SOCKET"])
"""
HELLO = """
said = json.dumps({"name": "raw", "protocol": 1}).encode()
peer.sendall(struct.pack("<4sHHIIII", b"DEF1", 1, 1, 0, 0, len(said), 0) + said)
head = struct.unpack("<4sHHIIII", peer.recv(24, socket.MSG_WAITALL))
peer.recv(head[5], socket.MSG_WAITALL)
"""
GOOD = """
from defense_kit import serve
serve(lambda images: ["bird"] * len(images), name="good")
"""


def write(folder: Path, program: str, *, before: str = "") -> Path:
    """Write `program` as the folder's defense, and return the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "defense.py").write_text(before + textwrap.dedent(program))
    return folder


def launch_of(folder: Path, limits: DefenseLimits = LIMITS, *, can_share: bool = True) -> Launch:
    """Return how the folder's defense is started as a process, whose batches may lie in shared memory."""

    def start(socket: Path) -> LaunchedDefense:
        started = start_process([sys.executable, "defense.py"], folder, socket, limits)
        started.can_share = can_share
        return started

    return start


def opened(
    folder: Path, *, limits: DefenseLimits = LIMITS, deadlines: ConversationDeadlines = DEADLINES, seed: int = 1
) -> DefenseSession:
    """Open the folder's defense."""
    return open_defense(launch_of(folder, limits), image_size=SIZE, batch_size=ROWS, seed=seed, deadlines=deadlines)
