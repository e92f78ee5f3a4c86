# expect: out_of_memory when memory
# expect: disk when disk
# expect: crashed when processes
"""Takes whatever it can get of one thing, and never stops trying."""

import os
import sys
import tempfile

from raw import greet


def memory():
    """Takes it and writes to it."""
    held = []
    while True:
        held.append(bytearray(b"x") * (1 << 20))


def disk():
    """Writes files until there is no room."""
    while True:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(bytes(1 << 20))


def processes():
    """Makes processes that make processes; the first one gives up when it may have no more."""
    first = os.getpid()
    while True:
        try:
            os.fork()
        except OSError:
            if os.getpid() == first:
                raise


greet()
{"memory": memory, "disk": disk, "processes": processes}[sys.argv[1]]()
