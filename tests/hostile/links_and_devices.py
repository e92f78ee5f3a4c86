# expect: no fault
"""Leaves links, devices, pipes and sockets wherever it can write, and tries to put one in the place of the socket."""

import json
import os
import socket
import stat
from pathlib import Path

from raw import birds, serve

made = []
places = (
    os.path.dirname(os.environ["DEFENSE_SOCKET"]),
    os.environ.get("HOME", "/tmp"),
    "/",
    "/tmp",
    "/dev/shm",
    "/run",
)


def attempt(what, place, how):
    path = Path(place) / f"left-{what}"
    try:
        how(path)
    except (OSError, ValueError):
        return
    made.append([what, place])


def listen(path):
    socket.socket(socket.AF_UNIX).bind(str(path))


def set_user(path):
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(0o6777)


for place in dict.fromkeys(places):
    if os.access(place, os.W_OK) and place != "/":
        attempt("link", place, lambda path: path.symlink_to("/etc/shadow"))
        attempt("loop", place, lambda path: path.symlink_to(path))
        attempt("pipe", place, os.mkfifo)
        attempt("socket", place, listen)
        attempt("setuid", place, set_user)
        attempt("disk", place, lambda path: os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(8, 0)))
        attempt("memory", place, lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 1)))
print("PROBE", json.dumps({"made": made, "socket_folder_writable": os.access(places[0], os.W_OK)}), flush=True)
serve(birds)
