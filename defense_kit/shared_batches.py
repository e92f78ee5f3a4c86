"""The contest's side of the memory that it shares with a defense: batches need not go through the socket.

The memory can neither shrink nor grow: the contest would be killed for touching a part that a defense cut off. A
defense that writes to it changes only its own pictures.
"""

import fcntl
import mmap
import os
import socket
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defense_kit import shared_memory

_SEALS = ("F_SEAL_SHRINK", "F_SEAL_GROW", "F_SEAL_SEAL")


class SharedBatches:
    """Memory for batches of one shape, [N, S, S, 3], which lie in its `places` in turn. OSError where this machine has
    none."""

    def __init__(self, shape: tuple[int, ...], pixels: "np.dtype[Any]") -> None:
        if not hasattr(os, "memfd_create"):
            raise OSError("this system has no memory files")
        self._descriptor = os.memfd_create("batches", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._descriptor, shared_memory.PLACES * shared_memory.place_bytes(shape, pixels))
            fcntl.fcntl(self._descriptor, fcntl.F_ADD_SEALS, sum(getattr(fcntl, seal) for seal in _SEALS))
            self.places = shared_memory.places(mmap.mmap(self._descriptor, 0), shape, pixels)
        except BaseException:
            os.close(self._descriptor)
            raise

    def send(self, connection: socket.socket, data: bytes) -> int:
        """Send data with the memory's descriptor beside it, once; return how many bytes went."""
        try:
            return socket.send_fds(connection, [data], [self._descriptor])
        finally:
            os.close(self._descriptor)


def own_places(
    shape: tuple[int, ...], pixels: "np.dtype[Any]", count: int = shared_memory.PLACES
) -> list[NDArray[Any]]:
    """Return arrays in memory that nobody shares."""
    return [np.empty(shape, pixels) for _ in range(count)]
