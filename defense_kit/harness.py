"""Opens, runs and closes a defense, for the contest and for `python -m defense_kit check`."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from defense_kit.conversation import Conversation, ConversationDeadlines, PeerSocket
from defense_kit.faults import Fault, RunnerFault
from defense_kit.frames import CONTEST_PIXELS, MAX_ID
from defense_kit.protocol import BatchAnswers

Cancelled = Callable[[], bool]
LAST_WORDS_SECONDS = 1.0
NO_CLASSIFIER = (
    "the program takes 8-bit pictures alone, and the warm-up sends float32: give `serve` a `classify`, or make the "
    "defense with `from_warmup`, and use this version of the kit or a later one in it"
)


def never_stopped() -> bool:
    """Return that nobody wants it to stop."""
    return False


class LaunchedDefense(Protocol):
    """A running defense. `uid` is who must be at the other end of the socket, None where any user may be.

    `can_share` says whether its batches may lie in memory of this machine; otherwise they go through the socket.
    `killed` is true once `ended` has found that it was killed, by itself or from outside.
    """

    uid: int | None
    can_share: bool
    killed: bool

    def ended(self) -> tuple[Fault, str] | None:
        """Return None while it runs, then why it is over: `out_of_memory`, `disk` or `crashed`, and a text."""

    def log(self) -> str:
        """Return the end of what it printed."""

    def stop(self) -> None:
        """Kill it with all its children, reap them and remove what it left; safe to call twice."""


Launch = Callable[[Path], LaunchedDefense]
"""Starts a defense that shall connect to the socket at this path; RunnerFault when it cannot be started."""


class BatchSession(Protocol):
    """An open defense that answers batches in their order; MAX_OUTSTANDING at most are under way."""

    @property
    def places(self) -> Sequence[NDArray[Any]]:
        """Arrays [N, S, S, 3] in which the next batches can be written; the next batch goes into the first."""

    def send(self, images: NDArray[Any]) -> None:
        """Begin with images [N, S, S, 3] of the pixels that it was opened for; they stay as they are until answered."""

    def receive(self) -> BatchAnswers:
        """Return the answers to the oldest batch not yet answered; RunnerFault when there are none to come."""


class DefenseSession(AbstractContextManager["DefenseSession"]):
    """A defense that said HELLO. Close it, whatever happened; `with` does.

    `name` is what the defense calls itself: a stranger's words, for showing only. `device` is for whoever opened it to
    say where it runs.
    """

    device = ""

    def __init__(self, launched: LaunchedDefense, conversation: Conversation, name: str) -> None:
        self.name = name
        self._launched, self._conversation = launched, conversation
        self._sent = 0

    def send(self, images: NDArray[Any]) -> None:
        """Start the work on images [N, S, S, 3] of the pixels that it was opened for, N at most the batch size.

        RunnerFault when they cannot be sent. Two batches at most may be between `send` and `receive`.
        """
        place = self.places[0]
        most, pixels = len(place), place.dtype
        if images.dtype != pixels or images.shape[1:] != place.shape[1:] or not 1 <= len(images) <= most:
            raise ValueError(f"a batch is {images.dtype} {images.shape}, expected {pixels} [1..{most}, S, S, 3]")
        self._sent += 1
        try:
            self._conversation.send((self._sent - 1) % MAX_ID + 1, images)
        except RunnerFault as fault:
            raise self._with_log(fault) from None

    @property
    def places(self) -> Sequence[NDArray[Any]]:
        """Where the next batches can be written, as `Conversation.places` says."""
        return self._conversation.places

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
        fault.log, fault.killed = self._launched.log(), _is_killed(fault, self._launched)
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
    pixels: str = CONTEST_PIXELS,
) -> DefenseSession:
    """Start a defense, let it in, hear its HELLO and tell it READY; every way to fail is a RunnerFault.

    The fault of one that does not take these `pixels` says how it can.
    `seed` is 0 to 2^63 - 1. The socket lies in a folder of its own inside `folder` (default: the system's temporary
    folder). `cancelled` is asked about twice a second while the harness waits: True ends the run as `cancelled`.
    """
    with PeerSocket(folder) as gate:
        launched, conversation = _start(launch, gate.path), None

        def over() -> tuple[Fault, str] | None:
            """Look whether somebody wants it to stop, and whether the program is still there."""
            return (Fault.CANCELLED, "the run was stopped") if cancelled() else launched.ended()

        try:
            connection = gate.accept(time.monotonic() + deadlines.start, over, launched.uid)
            conversation = Conversation(connection, deadlines, over)
            hello = conversation.hello()
            if pixels not in hello.pixels:
                raise RunnerFault(Fault.PROTOCOL, NO_CLASSIFIER)
            share = launched.can_share and hello.shared_memory
            conversation.ready(image_size, batch_size, seed, pixels, share=share)
            return DefenseSession(launched, conversation, hello.name)
        except BaseException as error:
            if conversation is not None:
                conversation.close()
            launched.stop()
            if isinstance(error, RunnerFault):
                error.log, error.killed = launched.log(), _is_killed(error, launched)
            raise


def _is_killed(fault: RunnerFault, launched: LaunchedDefense) -> bool:
    return fault.fault is Fault.PLATFORM and launched.killed


def _start(launch: Launch, path: Path) -> LaunchedDefense:
    try:
        return launch(path)
    except RunnerFault:
        raise
    except Exception as error:
        raise RunnerFault(Fault.PLATFORM, f"could not start it: {type(error).__name__}: {error}") from error
