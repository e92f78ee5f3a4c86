"""The contest's end of the memory in which a defense finds its batches: nobody copies them through the socket.

The memory never shrinks nor grows: the contest would be killed for touching what a defense cut off. What a defense
writes to it changes pictures of its own, which nobody reads again.
"""

import fcntl
import mmap
import os
import socket
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defense_kit import shared_memory

_SEALS = ("F_SEAL_SHRINK", "F_SEAL_GROW", "F_SEAL_SEAL")


class SharedBatches:
    """Memory for batches of one shape, [N, S, S, 3]. OSError where this machine has none."""

    def __init__(self, shape: tuple[int, ...], pixels: "np.dtype[Any]") -> None:
        if not hasattr(os, "memfd_create"):
            raise OSError("this system has no memory files")
        self._descriptor = os.memfd_create("batches", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._descriptor, shared_memory.PLACES * shared_memory.place_bytes(shape, pixels))
            fcntl.fcntl(self._descriptor, fcntl.F_ADD_SEALS, sum(getattr(fcntl, seal) for seal in _SEALS))
            self._places = deque(shared_memory.places(mmap.mmap(self._descriptor, 0), shape, pixels))
        except BaseException:
            os.close(self._descriptor)
            raise

    def send(self, connection: socket.socket, data: bytes) -> int:
        """Send data with the memory's descriptor beside it, once; return how many bytes went."""
        try:
            return socket.send_fds(connection, [data], [self._descriptor])
        finally:
            os.close(self._descriptor)

    @property
    def place(self) -> NDArray[Any]:
        """Where the next batch is written: none of the two that may be under way."""
        return self._places[0]

    def put(self, images: NDArray[Any]) -> None:
        """Have the next batch be these images, which may have been written to `place`, and go on to another place."""
        place = self.place[: len(images)]
        if (images.ctypes.data, images.strides) != (place.ctypes.data, place.strides):
            place[:] = images
        self._places.rotate(-1)
