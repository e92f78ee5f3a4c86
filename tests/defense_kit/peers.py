"""The other end of a socketpair, in a thread: a defense that does exactly what a test wants, good or bad."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from defense_kit import frames
from defense_kit.conversation import Conversation, Deadlines
from defense_kit.faults import Fault

SIZE = 4
ROWS = 3
DEADLINES = Deadlines(start=0.4, hello=0.4, batch=0.4)
ENDED = (Fault.CRASHED, "it ended with exit status 0")
HELLO = {"name": "peer", "protocol": 1}
IMAGES = np.arange(ROWS * SIZE * SIZE * 3, dtype=np.uint8).reshape(ROWS, SIZE, SIZE, 3)

Act = Callable[["Peer"], None]


class Peer:
    """What a peer can do, rightly by default."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, kind: int, payload: bytes = b"", request_id: int = 0, rows: int = 0) -> None:
        self.raw(frames.pack_header(kind, request_id, rows, len(payload)) + payload)

    def raw(self, data: bytes) -> None:
        self.connection.sendall(data)

    def hello(self, said: object = HELLO) -> None:
        self.send(frames.HELLO, said if isinstance(said, bytes) else json.dumps(said).encode())

    def read(self) -> tuple[int, int, int, bytes]:
        """Read one frame; return kind, request id, rows and payload."""
        _, _, kind, request_id, rows, size, _ = frames.HEADER.unpack(self._exactly(frames.HEADER.size))
        return kind, request_id, rows, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray(size)
        missing = memoryview(data)
        while missing:
            got = self.connection.recv_into(missing)
            if not got:
                raise ConnectionError
            missing = missing[got:]
        return bytes(data)

    def greet(self) -> dict[str, object]:
        """HELLO and READY; return what READY says."""
        self.hello()
        return dict(json.loads(self.read()[3]))

    def answer(self, request_id: int = 1, payload: bytes | None = None, rows: int = ROWS) -> None:
        self.send(frames.ANSWER, answers(rows) if payload is None else payload, request_id, rows)


def answers(rows: int = ROWS, label: int = 1, scores: tuple[float, float] = (0.25, 0.75)) -> bytes:
    """Return the payload of an ANSWER that says the same in every row."""
    return frames.pack_answers(np.full(rows, label, np.int8), np.tile(np.float32(scores), (rows, 1)))


@contextmanager
def talking_to(act: Act, deadlines: Deadlines = DEADLINES) -> Iterator[Conversation]:
    """Yield a conversation with a peer that does `act` and then hangs up."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    finished = threading.Event()

    def run() -> None:
        with theirs, suppress(OSError):  # we may hang up on it at any time
            act(Peer(theirs))
        finished.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    conversation = Conversation(ours, deadlines, lambda: ENDED if finished.is_set() else None)
    try:
        yield conversation
    finally:
        conversation.close()
        thread.join(5)
        assert not thread.is_alive(), "the peer outlived the conversation"
