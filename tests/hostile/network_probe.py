# expect: no fault
"""Looks for a way out: interfaces, addresses, sockets of every family, abstract sockets of other programs."""

import errno
import json
import socket
from pathlib import Path

from raw import birds, serve

reached = []


def attempt(name, how):
    try:
        how()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    reached.append(name)
    return "reached"


def tcp(address):
    def _connect():
        with socket.create_connection(address, timeout=0.3):
            pass

    return _connect


def datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"hello", ("192.0.2.1", 53))


def family(number, kind=socket.SOCK_STREAM):
    def _open():
        socket.socket(number, kind).close()

    return _open


said = {
    "interfaces": [name for _, name in socket.if_nameindex()],
    "outside": attempt("outside", tcp(("192.0.2.1", 80))),
    "metadata": attempt("metadata", tcp(("169.254.169.254", 80))),
    "datagram": attempt("datagram", datagram),
    "name": attempt("name", lambda: socket.getaddrinfo("example.org", 80)),
    "packets": attempt("packets", family(socket.AF_PACKET, socket.SOCK_RAW)),
    "machine": attempt("machine", family(40)),
    "listening": Path("/proc/net/tcp").read_text().splitlines()[1:],
    "abstract": [line for line in Path("/proc/net/unix").read_text().splitlines() if "@" in line],
    "resolvers": Path("/etc/resolv.conf").read_text() if Path("/etc/resolv.conf").exists() else "",
    "reached": reached,
}
print("PROBE", json.dumps(said), flush=True)
serve(birds)
