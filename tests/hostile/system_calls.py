# expect: no fault
"""Tries the calls into the kernel by which programs have broken out of containers (numbers of x86-64)."""

import ctypes
import errno
import json
import os

from raw import birds, serve

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
tried = {name: how() for name, how in calls.items()} if os.getuid() else {}
print("PROBE", json.dumps({"tried": tried}), flush=True)
serve(birds)
