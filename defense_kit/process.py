"""Runs a defense as a plain process for local trials: limited, but not sealed."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from defense_kit import keeper
from defense_kit.faults import Fault, RunnerFault
from defense_kit.limits import DefenseLimits, library_settings
from defense_kit.logs import LogRing, read_log
from defense_kit.protocol import cause

STOP_SECONDS = 20.0
LAST_LINES = 2000  # characters of the log that may tell why a program ended
_KEPT = ("PATH", "LANG")
_KIT = Path(__file__).resolve().parent


class StartedProcess:
    """A process under its keeper."""

    def __init__(self, running: "subprocess.Popen[bytes]", scratch: Path, mark: str, log_kib: int) -> None:
        assert running.stdin and running.stdout and running.stderr
        self.uid: int | None = os.getuid()
        self.can_share, self.killed = True, False  # a kill is a crash here: no engine restarts
        self._running, self._scratch, self._mark = running, scratch, mark
        self._hold: IO[bytes] = running.stdin
        self._ring = LogRing(log_kib << 10)
        log = (running.stderr, self._ring)
        self._drain = threading.Thread(target=read_log, args=log, name="defense-log", daemon=True)
        self._drain.start()
        self._verdict: tuple[Fault, str] | None = None
        threading.Thread(target=self._hear, args=(running.stdout,), daemon=True).start()
        self._stopping = threading.Lock()
        self._stopped = False

    def _hear(self, said: IO[bytes]) -> None:
        """Wait for the keeper's one line; a keeper that ends without one was killed by its ward."""
        with said:
            line = said.readline()
        self._drain.join(1.0)
        try:
            words = json.loads(line)
            fault, text = Fault(words["fault"]), str(words["text"])
        except (ValueError, KeyError):
            fault, text = Fault.CRASHED, "its keeper ended before it did"
        if fault is Fault.CRASHED:
            fault = cause(self._ring.text()[-LAST_LINES:])
        self._verdict = fault, text

    def ended(self) -> tuple[Fault, str] | None:
        """Return None while it runs, then why it is over."""
        return self._verdict

    def log(self) -> str:
        """Return the end of what it printed."""
        return self._ring.text()

    def stop(self) -> None:
        """End it with all its children and remove its scratch folder; safe to call twice."""
        with self._stopping:
            if self._stopped:
                return
            self._hold.close()
            try:
                self._running.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._running.kill()
                self._running.wait()
            _kill_marked(self._mark)
            self._remove_scratch()
            self._drain.join(STOP_SECONDS)
            self._stopped = True

    def _remove_scratch(self) -> None:
        """Remove what a keeper that was killed could not remove itself."""
        if not self._scratch.exists():
            return
        try:
            keeper.remove_tree(str(self._scratch))
        except OSError as error:
            raise RunnerFault(Fault.PLATFORM, f"could not remove {self._scratch}: {error}") from error


def start_process(command: Sequence[str], folder: Path, socket_path: Path, limits: DefenseLimits) -> StartedProcess:
    """Start `command` in `folder`, told of the socket; RunnerFault `platform` when this machine cannot.

    Its environment is made from a short list, HOME is an empty folder that is removed at the end, and `defense_kit` can
    be imported as it can be where an image holds a copy.
    """
    scratch = Path(mkdtemp(prefix="defense-"))
    site = scratch / ".site"
    site.mkdir()
    (site / _KIT.name).symlink_to(_KIT)
    task = {
        "command": list(command),
        "folder": str(folder.resolve()),
        "environment": _environment(socket_path, scratch, site, limits),
        "limits": asdict(limits),
        "scratch": str(scratch),
    }
    try:
        running = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        keeper.remove_tree(str(scratch))
        raise RunnerFault(Fault.PLATFORM, f"could not start a process: {error}") from error
    return StartedProcess(running, scratch, str(socket_path), limits.log_kib)


def _environment(socket_path: Path, scratch: Path, site: Path, limits: DefenseLimits) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "PYTHONPATH": str(site),
        "DEFENSE_SOCKET": str(socket_path),
        **library_settings(limits.cpus),
    }


def _kill_marked(mark: str) -> None:
    """Kill whoever still has this run's socket in its environment, should the keeper have been killed."""
    until = time.monotonic() + STOP_SECONDS
    while (left := _marked(f"DEFENSE_SOCKET={mark}".encode())) and time.monotonic() < until:
        for pid in left:
            keeper.kill(pid)
        time.sleep(0.01)


def _marked(entry: bytes) -> list[int]:
    return [pid for pid in keeper.process_ids() if entry in _environment_of(pid).split(b"\0")]


def _environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
