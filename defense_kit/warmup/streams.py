"""Random numbers of the fixed attacks: each attack, picture, index, step and purpose has its own stream.

So no result depends on the order in which pictures are attacked, and no generator's state is ever stored.
"""

import hashlib
import threading
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray

_NAMESPACE = b"unanimous-warmup", b"1"  # of the streams: another version of the attacks may draw from the same ones
_WORD_BITS = 64
_BITS_OF_BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little")
_SIGNS_OF_BYTES = _BITS_OF_BYTES * np.float32(2) - np.float32(1)


class Purpose(IntEnum):
    """What a stream is drawn for; corruption number k has 16 + k."""

    MOVE = 0
    RANDOM_START = 1
    SPSA_SIGNS = 2
    BOUNDARY_STARTS = 3
    BOUNDARY_DIRECTION = 4
    CORRUPTION = 16


class _OfThread(threading.local):
    """The source that a thread draws signs from: a new one would ask the system for a seed that nothing uses, and cost
    as much as the words of a whole picture."""

    def __init__(self) -> None:
        self.bits = Philox(key=0)


_of_thread = _OfThread()


class Streams:
    """The streams of one attack on one picture, which is named by the SHA-256 of its pixels, 32 bytes."""

    def __init__(self, attack: str, picture: bytes) -> None:
        named = b"\0".join([*_NAMESPACE, attack.encode(), picture])
        self.key = hashlib.sha256(named).digest()[:16]

    def draws(self, purpose: int, *, step: int = 0, index: int = 0) -> Generator:
        """Return the source of uniform, normal and other numbers."""
        bits = Philox(key=0)
        bits.state = self._state(purpose, step, index)
        return Generator(bits)

    def _state(self, purpose: int, step: int, index: int) -> Any:
        """Return the state of a new source: nothing was drawn."""
        key = np.frombuffer(self.key, "<u8").astype(np.uint64)
        counter = np.array([0, index, step, purpose], np.uint64)
        nothing = {"buffer": np.zeros(4, np.uint64), "buffer_pos": 4, "has_uint32": 0, "uinteger": 0}
        return {"bit_generator": "Philox", "state": {"counter": counter, "key": key}, **nothing}

    def signs(self, purpose: int, count: int, *, step: int, index: int) -> NDArray[np.int8]:
        """Return +1 or -1 for each of so many values."""
        drawn = self._sign_bytes(purpose, count, step=step, index=index)
        bits = np.unpackbits(drawn, count=count, bitorder="little")
        signs = bits.view(np.int8)
        signs *= 2
        signs -= 1
        return signs

    def float_signs(self, purpose: int, count: int, magnitude: float, *, step: int, index: int) -> NDArray[np.float32]:
        """Return the same signs times `magnitude` as float32, 8 of them for each byte that is drawn."""
        drawn = self._sign_bytes(purpose, count, step=step, index=index)
        of_bytes = _SIGNS_OF_BYTES * np.float32(magnitude)
        return np.take(of_bytes, drawn, axis=0).reshape(-1)[:count]

    def _sign_bytes(self, purpose: int, count: int, *, step: int, index: int) -> NDArray[np.uint8]:
        bits = _of_thread.bits
        bits.state = self._state(purpose, step, index)
        words = bits.random_raw(-(-count // _WORD_BITS))
        return words.astype("<u8", copy=False).view(np.uint8)

    def normals(self, count: int, *, step: int, index: int) -> NDArray[np.float32]:
        """Return so many standard normal values: a direction of the published boundary attack."""
        draws = self.draws(Purpose.BOUNDARY_DIRECTION, step=step, index=index)
        return draws.standard_normal(count, dtype=np.float32)
