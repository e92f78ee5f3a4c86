"""The parent process of a plain-process defense: limits, watches and cleans up.

It is a program of its own, so that every process the defense makes becomes its child when the parent in between ends
(a subreaper), and so that it ends the defense when whoever started it is gone: the pipe it reads then closes. It runs
without the package, because the standard library is all it needs and it has to start at once.

A plain process is not a wall: the defense has the same user as whoever runs it. Only a container keeps a stranger out.
"""

import ctypes
import errno
import json
import os
import resource
import secrets
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
TICK_SECONDS = 0.2
MAX_ENTRIES = 20_000  # files and folders in the scratch folder
SWEEPS = 200
MIB = 1 << 20
BLOCK_BYTES = 512  # what a file's blocks are counted in
PAGE_BYTES = resource.getpagesize()

Verdict = dict[str, Any]


def scratch_bytes(root: str) -> float:
    """Return what the files under `root` take; infinity for more entries, or deeper folders, than anybody needs."""
    total, seen, folders = 0, 0, [root]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
            sizes = [entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES for entry in entries]
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return float("inf")
            continue  # something went away meanwhile: the next look sees the rest
        total, seen = total + sum(sizes), seen + len(entries)
        if seen > MAX_ENTRIES:
            return float("inf")
        folders += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return total


def remove_tree(root: str) -> None:
    """Remove a folder that a stranger filled: links are not followed, devices not opened, any depth is flattened.

    Nothing may be running any more that writes to it.
    """
    mark, number = secrets.token_hex(8), 0
    while entries := list(os.scandir(root)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, stat.S_IRWXU)
            for child in list(os.scandir(entry.path)):
                if child.is_dir(follow_symlinks=False):
                    os.chmod(child.path, stat.S_IRWXU)  # moving a folder writes to the folder itself
                number += 1
                os.rename(child.path, os.path.join(root, f"{mark}-{number}"))
            os.rmdir(entry.path)
    os.rmdir(root)


def process_ids() -> list[int]:
    """Return every process there is."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return None


def descendants(root: int) -> list[int]:
    """Return the processes below `root`, zombies included."""
    children: dict[int | None, list[int]] = {}
    for pid in process_ids():
        children.setdefault(_parent_of(pid), []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def resident_bytes(pids: list[int]) -> int:
    """Return what the processes hold in memory together; pages that they share count for each."""
    return sum(_resident_bytes(pid) for pid in pids)


def _resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def _threads_of(user: int) -> int:
    """Return how many threads a user has: the limit on processes counts them all, not the defense's alone."""
    count = 0
    for pid in process_ids():
        try:
            if os.stat(f"/proc/{pid}").st_uid == user:
                count += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            continue  # ended meanwhile
    return count


def bounds(limits: Verdict) -> list[tuple[int, int]]:
    """Return the resource limits of each process of the defense."""
    chosen = [
        (resource.RLIMIT_DATA, limits["memory_mib"] * MIB),
        (resource.RLIMIT_FSIZE, limits["scratch_mib"] * MIB),
        (resource.RLIMIT_NOFILE, limits["files"]),
        (resource.RLIMIT_CORE, 0),
    ]
    if os.getuid():  # the kernel does not hold root to it
        chosen.append((resource.RLIMIT_NPROC, _threads_of(os.getuid()) + limits["processes"]))
    return chosen


def _bound(chosen: list[tuple[int, int]]) -> None:
    for kind, wanted in chosen:
        hard = resource.getrlimit(kind)[1]
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (most, most))


def over_limit(limits: Verdict, scratch: str) -> Verdict | None:
    """Return which bound the defense as a whole has passed, if any."""
    pids = descendants(os.getpid())
    if len(pids) > limits["processes"]:
        return {"fault": "crashed", "text": f"it had more than {limits['processes']} processes"}
    if resident_bytes(pids) > limits["memory_mib"] * MIB:
        return {"fault": "out_of_memory", "text": f"it used more than {limits['memory_mib']} MiB of memory"}
    if scratch_bytes(scratch) > limits["scratch_mib"] * MIB:
        return {"fault": "disk", "text": f"it wrote more than {limits['scratch_mib']} MiB"}
    return None


def kill_group(group: int) -> None:
    """Kill and reap every process that is left below this one."""
    for _ in range(SWEEPS):
        kill(group, os.killpg)  # at once for the whole group, so that a fork bomb cannot outrun it
        for pid in descendants(os.getpid()):
            kill(pid)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        time.sleep(0.01)


def kill(target: int, how: Callable[[int, int], None] = os.kill) -> None:
    """Kill a process, or with `os.killpg` a group, that may have ended by itself."""
    with suppress(ProcessLookupError):
        how(target, signal.SIGKILL)


def exit_words(status: int) -> Verdict:
    """Say how the program ended; the log tells the harness more."""
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGXFSZ:
        return {"fault": "disk", "text": "it was ended for writing a file that is too large"}
    if code < 0:
        return {"fault": "crashed", "text": f"it was ended by signal {-code} ({signal.Signals(-code).name})"}
    return {"fault": "crashed", "text": f"it ended with exit status {code}"}


def watch(main: int, limits: Verdict, scratch: str) -> Verdict | None:
    """Wait until the program ends or passes a bound; None when whoever started it wants it to stop."""
    while True:
        readable, _, _ = select.select([sys.stdin.fileno()], [], [], TICK_SECONDS)
        if readable:
            return None
        for pid, status in _reap():
            if pid == main:
                return exit_words(status)
        passed = over_limit(limits, scratch)
        if passed:
            return passed


def _reap() -> list[tuple[int, int]]:
    """Reap the main program and every orphan that became ours."""
    ended = []
    with suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG))[0]:
            ended.append(one)
    return ended


def main() -> None:
    """Run the command that the first argument describes in JSON; write how it ended to standard output."""
    task = json.loads(sys.argv[1])
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    log = sys.stderr.fileno()
    program = subprocess.Popen(
        task["command"],
        cwd=task["folder"],
        env=task["environment"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=partial(_bound, bounds(task["limits"])),
    )
    verdict = watch(program.pid, task["limits"], task["scratch"])
    kill_group(program.pid)
    if verdict:
        print(json.dumps(verdict), flush=True)
    remove_tree(task["scratch"])


if __name__ == "__main__":
    main()
