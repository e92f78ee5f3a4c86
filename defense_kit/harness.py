"""Opens, runs and closes a defense, for the contest and for `python -m defense_kit check`."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import numpy as np

from defense_kit.conversation import Conversation, ConversationDeadlines, Over, PeerSocket
from defense_kit.faults import Fault, RunnerFault
from defense_kit.frames import LONGEST_ID
from defense_kit.protocol import BatchAnswers, Pixels

Cancelled = Callable[[], bool]
LAST_WORDS_SECONDS = 1.0


def never_stopped() -> bool:
    """Return that nobody wants it to stop."""
    return False


class LaunchedDefense(Protocol):
    """A running defense. `uid` is who must be at the other end of the socket, None where any user may be."""

    uid: int | None

    def ended(self) -> tuple[Fault, str] | None:
        """Return None while it runs, then why it is over: `out_of_memory`, `disk` or `crashed`, and a text."""

    def log(self) -> str:
        """Return the end of what it printed."""

    def stop(self) -> None:
        """Kill it with all its children, reap them and remove what it left; safe to call twice."""


Launch = Callable[[Path], LaunchedDefense]
"""Starts a defense that shall connect to the socket at this path; RunnerFault when it cannot be started."""


class DefenseSession(AbstractContextManager["DefenseSession"]):
    """A defense that said HELLO. Close it, whatever happened; `with` does.

    `name` is what the defense calls itself: a stranger's words, for showing only. `device` is for whoever opened it to
    say where it runs.
    """

    device = ""

    def __init__(
        self, launched: LaunchedDefense, conversation: Conversation, name: str, image_size: int, rows: int
    ) -> None:
        self.name = name
        self._launched, self._conversation = launched, conversation
        self._shape, self._most_rows = (image_size, image_size, 3), rows
        self._sent = 0

    def send(self, images: Pixels) -> None:
        """Start the work on uint8 images [N, S, S, 3], N at most the batch size; RunnerFault when it cannot be sent.

        Two batches at most may be between `send` and `receive`.
        """
        if images.dtype != np.uint8 or images.shape[1:] != self._shape or not 1 <= len(images) <= self._most_rows:
            raise ValueError(
                f"a batch is {images.dtype} {images.shape}, expected uint8 [1..{self._most_rows}, S, S, 3]"
            )
        self._sent += 1
        try:
            self._conversation.send((self._sent - 1) % LONGEST_ID + 1, images)
        except RunnerFault as fault:
            raise self._with_log(fault) from None

    def receive(self) -> BatchAnswers:
        """Return the answers to the oldest batch not yet received; RunnerFault when they do not come or are wrong."""
        try:
            return self._conversation.receive()
        except RunnerFault as fault:
            raise self._with_log(fault) from None

    def log(self) -> str:
        """Return the end of what the defense printed."""
        return self._launched.log()

    def close(self) -> None:
        """Hang up and end the program with all that belongs to it; safe to call twice."""
        self._conversation.close()
        self._launched.stop()

    def _with_log(self, fault: RunnerFault) -> RunnerFault:
        """Give the fault what the program printed, its last words too: one that crashed is about to say them."""
        until = time.monotonic() + LAST_WORDS_SECONDS
        while fault.fault is Fault.CRASHED and not self._launched.ended() and time.monotonic() < until:
            time.sleep(0.02)
        self._launched.stop()
        fault.log = self._launched.log()
        return fault

    def __exit__(self, *_: object) -> None:
        self.close()


def open_defense(
    launch: Launch,
    *,
    image_size: int,
    batch_size: int,
    seed: int,
    deadlines: ConversationDeadlines,
    folder: Path | None = None,
    cancelled: Cancelled = never_stopped,
) -> DefenseSession:
    """Start a defense, let it in, hear its HELLO and tell it READY; every way to fail is a RunnerFault.

    `seed` is 0 to 2^63 - 1. The socket lies in a folder of its own inside `folder` (default: the system's temporary
    folder). `cancelled` is asked about twice a second while the harness waits: True ends the run as `cancelled`.
    """
    with PeerSocket(folder) as gate:
        launched = _start(launch, gate.path)
        try:
            return _greet(gate, launched, image_size, batch_size, seed, deadlines, cancelled)
        except BaseException as error:
            launched.stop()
            if isinstance(error, RunnerFault):
                error.log = launched.log()
            raise


def _start(launch: Launch, path: Path) -> LaunchedDefense:
    try:
        return launch(path)
    except RunnerFault:
        raise
    except Exception as error:
        raise RunnerFault(Fault.PLATFORM, f"could not start it: {type(error).__name__}: {error}") from error


def _greet(
    gate: PeerSocket,
    launched: LaunchedDefense,
    image_size: int,
    batch_size: int,
    seed: int,
    deadlines: ConversationDeadlines,
    stop: Cancelled,
) -> DefenseSession:
    over = _over(launched, stop)
    connection = gate.accept(time.monotonic() + deadlines.start, over, launched.uid)
    conversation = Conversation(connection, deadlines, over)
    try:
        name = conversation.hello()
        conversation.ready(image_size, batch_size, seed)
    except BaseException:
        conversation.close()
        raise
    return DefenseSession(launched, conversation, name, image_size, batch_size)


def _over(launched: LaunchedDefense, cancelled: Cancelled) -> Over:
    """Return what a wait looks at: whether somebody wants it to stop, and whether the program is still there."""

    def over() -> tuple[Fault, str] | None:
        if cancelled():
            return Fault.CANCELLED, "the run was stopped"
        return launched.ended()

    return over
