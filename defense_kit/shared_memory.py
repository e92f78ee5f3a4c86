"""Memory in which a defense finds its batches where the contest wrote them: nobody copies them through a socket.

The contest makes it, and its file descriptor comes to the defense with READY. It never shrinks nor grows: the contest
would be killed for touching what a defense cut off. Batches lie in its places in turn.

A participant's program runs this file: Python 3.8 or later, the standard library and NumPy.
"""

import array
import mmap
import os
import socket
from collections import deque
from typing import Any, List, Optional, Tuple, Union

import numpy as np

try:
    import fcntl
except ImportError:  # on Windows, where nothing is shared
    fcntl = None  # type: ignore[assignment]

PLACES = 3  # two batches are under way, and the next one is written
AVAILABLE = hasattr(os, "memfd_create") and hasattr(fcntl, "F_ADD_SEALS")
_PAGE = 4096  # bytes; each place begins on a page of its own
_DESCRIPTOR_BYTES = array.array("i").itemsize


class SharedBatches:
    """The contest's end. What a defense writes to the memory changes pictures of its own, which nobody reads again."""

    def __init__(self, memory: mmap.mmap, shape: Tuple[int, ...], pixels: Any) -> None:
        self._places = deque(places(memory, shape, pixels))

    @classmethod
    def create(cls, shape: Tuple[int, ...], pixels: Any) -> "Tuple[SharedBatches, int]":
        """Return memory for batches of this shape and its file descriptor, the caller's to close; OSError without."""
        descriptor = os.memfd_create("batches", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, PLACES * _place_bytes(shape, pixels))
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            return cls(mmap.mmap(descriptor, 0), shape, pixels), descriptor
        except BaseException:
            os.close(descriptor)
            raise

    @property
    def place(self) -> np.ndarray:
        """Where the next batch is written: none of the two that may be under way."""
        return self._places[0]

    def put(self, images: np.ndarray) -> None:
        """Have the next batch be these images, which may have been written to `place`, and go on to another place."""
        place = self.place[: len(images)]
        if images.ctypes.data != place.ctypes.data:
            place[:] = images
        self._places.rotate(-1)


def opened(descriptor: int) -> mmap.mmap:
    """Return the memory behind a descriptor, which is closed."""
    try:
        return mmap.mmap(descriptor, 0)
    finally:
        os.close(descriptor)


def places(memory: mmap.mmap, shape: Tuple[int, ...], pixels: Any) -> List[np.ndarray]:
    """Return the arrays in which batches lie in turn; ValueError where the memory is smaller."""
    values, size = int(np.prod(shape)), _place_bytes(shape, pixels)
    return [np.frombuffer(memory, pixels, values, number * size).reshape(shape) for number in range(PLACES)]


def _place_bytes(shape: Tuple[int, ...], pixels: Any) -> int:
    size = int(np.prod(shape)) * int(np.dtype(pixels).itemsize)
    return -(-size // _PAGE) * _PAGE


def send_descriptor(connection: socket.socket, data: Union[bytes, memoryview], descriptor: int) -> int:
    """Send data with a descriptor beside it; return how many bytes went."""
    beside = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))
    return connection.sendmsg([data], [beside])


def receive_descriptor(connection: socket.socket, most: int) -> Tuple[bytes, Optional[int]]:
    """Return at most so many bytes, and the descriptor beside them if there is one."""
    data, beside, _, _ = connection.recvmsg(most, socket.CMSG_SPACE(_DESCRIPTOR_BYTES))
    found = array.array("i")
    for level, kind, content in beside:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(content[: len(content) - len(content) % _DESCRIPTOR_BYTES])
    for descriptor in found:
        os.set_inheritable(descriptor, False)
    return data, found[0] if found else None
