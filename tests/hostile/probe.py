# expect: no fault
"""Looks from inside for whatever a machine gives away: files, devices, processes, a network, the kernel's calls, the
clock, and anything that tells the contest from a trial. It leaves links and devices wherever it can write, and connects
a second time after it was let in."""

import ctypes
import errno
import json
import os
import platform
import socket
import stat
import time
from pathlib import Path

from raw import answer, birds, connect, greet, read_batch


def works(how, *arguments):
    """Says whether something can be done."""
    try:
        how(*arguments)
    except (OSError, ValueError):
        return False
    return True


# Files, processes and devices


def readable(path):
    with open(path, "rb") as file:
        if not file.read(1):
            raise OSError


def writable(path):
    """Opens it for writing and writes nothing: where the seal fails, the machine must not be the worse for the test."""
    if os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY))
    elif not os.access(os.path.dirname(path), os.W_OK):
        raise OSError


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
mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
status = [line for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line]
said = {
    "readable": [path for path in secrets if works(readable, path)],
    "writable": [path for path in knobs if works(writable, path)],
    "root": sorted(os.listdir("/")),
    "processes": [name for name in os.listdir("/proc") if name.isdigit()],
    "first": Path("/proc/1/comm").read_text().strip() if os.path.exists("/proc/1/comm") else "",
    "devices": sorted(os.listdir("/dev")),
    "writable_mounts": sorted(each[4] for each in mounts if "rw" in each[5].split(",") and os.access(each[4], os.W_OK)),
    "user": [os.getuid(), os.getgid(), os.getgroups()],
    "control_groups": Path("/proc/self/cgroup").read_text().split(),
    "status": dict(line.split(":\t", 1) for line in status),
    "environment": dict(os.environ),
    "hostname": platform.node(),
    "turns_clock": works(lambda: time.clock_settime(time.CLOCK_REALTIME, time.time())),
}

# The network: interfaces, addresses, sockets of every family, abstract sockets of other programs


def datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"hello", ("192.0.2.1", 53))


ways_out = {
    "outside": lambda: socket.create_connection(("192.0.2.1", 80), timeout=0.3),
    "metadata": lambda: socket.create_connection(("169.254.169.254", 80), timeout=0.3),
    "datagram": datagram,
    "name": lambda: socket.getaddrinfo("example.org", 80),
    "packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "machine": lambda: socket.socket(40, socket.SOCK_STREAM),
}
said |= {
    "interfaces": [name for _, name in socket.if_nameindex()],
    "reached": [name for name, how in ways_out.items() if works(how)],
    "listening": Path("/proc/net/tcp").read_text().splitlines()[1:],
    "abstract": [line for line in Path("/proc/net/unix").read_text().splitlines() if "@" in line],
    "resolvers": Path("/etc/resolv.conf").read_text() if Path("/etc/resolv.conf").exists() else "",
}

# The calls into the kernel by which programs have broken out of containers (numbers of x86-64)

libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(4096)


def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_void_p(each) for each in arguments))
    return "allowed" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def text(words):
    return ctypes.cast(ctypes.c_char_p(words), ctypes.c_void_p).value


NEW_USER, NEW_NAMESPACES = 0x10000000, 0x00020000
calls = {
    "mount": lambda: call(165, text(b"none"), text(b"/tmp"), text(b"tmpfs"), 0, 0),
    "unmount": lambda: call(166, text(b"/tmp"), 2),
    "pivot_root": lambda: call(155, text(b"/tmp"), text(b"/tmp")),
    "chroot": lambda: call(161, text(b"/tmp")),
    "unshare": lambda: call(272, NEW_USER | NEW_NAMESPACES),
    "trace": lambda: call(101, 16, 1, 0, 0),
    "read_memory": lambda: call(310, 1, 0, 0, 0, 0, 0),
    "keyring": lambda: call(250, 0, -3 & 0xFFFFFFFF, 1),
    "add_key": lambda: call(248, text(b"user"), text(b"name"), text(b"x"), 1, -3 & 0xFFFFFFFF),
    "bpf": lambda: call(321, 0, ctypes.addressof(room), 72),
    "perf": lambda: call(298, ctypes.addressof(room), 0, -1 & 0xFFFFFFFF, -1 & 0xFFFFFFFF, 0),
    "userfault": lambda: call(323, 0),
    "module": lambda: call(175, ctypes.addressof(room), 0, text(b"")),
    "kexec": lambda: call(246, 0, 0, 0, 0),
    "handle": lambda: call(304, 0, ctypes.addressof(room), 0),
    "reboot": lambda: call(169, 0xFEE1DEAD, 672274793, 0, 0),
    "swap": lambda: call(167, text(b"/tmp/x"), 0),
    "hostname": lambda: call(170, text(b"contest"), 7),
    "setuid": lambda: call(105, 0),
    "io_uring": lambda: call(425, 1, ctypes.addressof(room)),
}
said["tried"] = {name: how() for name, how in calls.items()} if os.getuid() else {}

# Links, devices, pipes and sockets, wherever it can write, and one in the place of the socket


def set_user(path):
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(0o6777)


socket_folder = os.path.dirname(os.environ["DEFENSE_SOCKET"])
places = dict.fromkeys((socket_folder, os.environ.get("HOME", "/tmp"), "/tmp", "/dev/shm", "/run"))
left = {
    "link": lambda path: path.symlink_to("/etc/shadow"),
    "loop": lambda path: path.symlink_to(path),
    "pipe": os.mkfifo,
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
    "setuid": set_user,
    "disk": lambda path: os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(8, 0)),
    "memory": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 1)),
}
said["socket_folder_writable"] = os.access(socket_folder, os.W_OK)
said["made"] = [
    [what, place]
    for place in places
    for what, how in left.items()
    if os.access(place, os.W_OK) and works(how, Path(place) / f"left-{what}")
]

connection = greet()
said["connects_again"] = []
for _ in range(3):
    try:
        connect()
    except OSError as error:
        said["connects_again"].append(type(error).__name__)
print("PROBE", json.dumps(said), flush=True)
while True:
    request_id, rows, pixels = read_batch(connection)
    answer(connection, request_id, birds(pixels, rows))
