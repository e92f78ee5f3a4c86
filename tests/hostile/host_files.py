# expect: no fault
"""Reads whatever a machine gives away: files, mounts, processes, devices, and writes where it must not."""

import json
import os
from pathlib import Path

from raw import birds, serve


def readable(path):
    try:
        with open(path, "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False


def writable(path):
    """Opens it for writing and writes nothing: where the seal fails, the machine must not be the worse for the test."""
    if not os.path.exists(path):
        return os.access(os.path.dirname(path), os.W_OK)
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True


secrets = (
    *("/etc/shadow", "/root/.bashrc", "/var/run/docker.sock", "/run/docker.sock", "/proc/kcore", "/dev/mem"),
    *("/dev/kmsg", "/dev/sda", "/dev/vda", "/proc/1/root/etc/shadow", "/proc/1/environ", "/proc/keys"),
    *("/proc/timer_list", "/proc/sched_debug", "/sys/firmware/dmi/tables/DMI"),
)
knobs = (
    *("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"),
    *("/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/cgroup.procs"),
    *("/sys/fs/cgroup/memory.max", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/new", "/usr/local/new"),
)
processes = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
writable_mounts = sorted(each[4] for each in mounts if "rw" in each[5].split(",") and os.access(each[4], os.W_OK))
said = {
    "readable": [path for path in secrets if readable(path)],
    "writable": [path for path in knobs if writable(path)],
    "root": sorted(os.listdir("/")),
    "processes": processes,
    "first": Path("/proc/1/comm").read_text().strip() if 1 in processes else "",
    "devices": sorted(os.listdir("/dev")),
    "writable_mounts": writable_mounts,
    "user": [os.getuid(), os.getgid(), os.getgroups()],
    "control_groups": Path("/proc/self/cgroup").read_text().split(),
    "status": dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line
    ),
}
print("PROBE", json.dumps(said), flush=True)
serve(birds)
