"""The memory that the contest shares with a defense: three places for batches, which are used in turn.

Its file descriptor comes to a defense with READY. A participant's program runs this file: Python 3.8 or later, the
standard library and NumPy.
"""

import array
import mmap
import os
import socket
from typing import Any, List, Optional, Tuple

import numpy as np

PLACES = 3  # two batches are under way, and the next one is written
AVAILABLE = hasattr(socket, "SCM_RIGHTS")
_PAGE = 4096  # bytes; each place begins on a page of its own
_DESCRIPTOR_BYTES = array.array("i").itemsize


def receive_descriptor(connection: socket.socket, max_bytes: int) -> Tuple[bytes, Optional[int]]:
    """Return at most so many bytes, and the descriptor beside them if there is one."""
    data, beside, _, _ = connection.recvmsg(max_bytes, socket.CMSG_SPACE(_DESCRIPTOR_BYTES))
    for level, kind, content in beside:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            (descriptor,) = array.array("i", content)
            os.set_inheritable(descriptor, False)
            return data, descriptor
    return data, None


def opened(descriptor: int) -> mmap.mmap:
    """Return the memory behind a descriptor, which is closed."""
    try:
        return mmap.mmap(descriptor, 0)
    finally:
        os.close(descriptor)


def places(memory: mmap.mmap, shape: Tuple[int, ...], pixels: Any) -> List[np.ndarray]:
    """Return the arrays of this shape in which batches lie in turn; ValueError where the memory is smaller."""
    values, size = int(np.prod(shape)), place_bytes(shape, pixels)
    return [np.frombuffer(memory, pixels, values, number * size).reshape(shape) for number in range(PLACES)]


def place_bytes(shape: Tuple[int, ...], pixels: Any) -> int:
    """Return how many bytes a place takes."""
    size = int(np.prod(shape)) * int(np.dtype(pixels).itemsize)
    return -(-size // _PAGE) * _PAGE
