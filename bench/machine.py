"""The machine a benchmark ran on, and what its processes cost there. Linux only: everything is read from /proc."""

import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_TICKS = os.sysconf("SC_CLK_TCK")
_STAT_PARENT, _STAT_TIMES = 1, slice(11, 15)


def cpu_seconds(root: int) -> float:
    """Return user and system time of process `root`, of all processes below it, and of those of them that ended."""
    parents, times = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (stat := _stat(folder)):
            pid = int(folder.name)
            parents[pid] = int(stat[_STAT_PARENT])
            # Own user and system time, then those of children waited for: an ended worker is in its parent's.
            times[pid] = sum(map(int, stat[_STAT_TIMES]))
    return sum(ticks for pid, ticks in times.items() if _is_below(pid, root, parents)) / _TICKS


def _stat(folder: Path) -> list[str]:
    """Return the fields of /proc/PID/stat after the program's name, none when the process is gone."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _is_below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid != root and pid in parents:
        pid = parents[pid]
    return pid == root


def memory_mb(root: int) -> float:
    """Return what process `root` and all processes below it hold of memory, in MiB; shared pages count once."""
    parents = {int(folder.name): _parent(folder) for folder in Path("/proc").iterdir() if folder.name.isdigit()}
    return sum(_share_kib(pid) for pid in parents if _is_below(pid, root, parents)) / 1024


def _parent(folder: Path) -> int:
    stat = _stat(folder)
    return int(stat[_STAT_PARENT]) if stat else 0


def _share_kib(pid: int) -> int:
    """Return the memory of a process, of shared pages its share; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def parent_of(pid: int) -> int:
    """Return the process that started `pid`."""
    return int(_stat(Path(f"/proc/{pid}"))[_STAT_PARENT])


def peak_memory_mb() -> float:
    """Return the largest resident memory of this process since it began or since `forget_peak_memory`, in MiB."""
    return _status_kib("VmHWM") / 1024


def forget_peak_memory() -> None:
    """Let the peak begin at what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def _status_kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def facts() -> dict[str, str]:
    """Return what a reader has to know to judge absolute numbers."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "commit": commit(),
        "load before": "/".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def commit() -> str:
    """Return the commit that is checked out, and whether anything was changed since."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()

    changed = " with changes" if git("status", "--porcelain") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed
