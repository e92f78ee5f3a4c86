"""The scorer's side of the protocol with a defense (docs/defenses.md), safe against a hostile peer.

Nothing here waits without a deadline on the monotonic clock, and no length is believed before it was checked. A peer
that does anything but answer the batches it was sent, one after the other, is a RunnerFault (R30).

Both directions are served at once: while a batch is written, the answer to the one before is read. So a defense may
read the next batch before or after it answers, and only its own time counts.
"""

import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defense_kit import frames, protocol
from defense_kit.faults import Fault, RunnerFault
from defense_kit.protocol import BatchAnswers, Frame, Hello
from defense_kit.shared_batches import SharedBatches, own_places

Over = Callable[[], tuple[Fault, str] | None]
"""Says why a program is over, None while it runs."""

MAX_OUTSTANDING = 2
TICK_SECONDS = 0.5  # how often a wait looks whether the program is over
GRACE_SECONDS = 5.0  # from a hang-up until the reason for it is known
# Less than a batch: what is written is read while the processor's caches hold it (docs/decisions/0037). The kernel
# gives twice as much, or less where it must.
BUFFER_BYTES = 256 << 10
SOCKET_NAME = "defense.sock"
MAX_PATH_BYTES = 107  # bytes, what the address of a UNIX socket can hold
_PEER = struct.Struct("3i")  # process id, user id, group id


@dataclass(frozen=True, slots=True)
class ConversationDeadlines:
    """Seconds until a defense connects, until its HELLO from there, and for each batch (R30)."""

    start: float
    hello: float
    batch: float


class PeerSocket(AbstractContextManager["PeerSocket"]):
    """A listening socket in a folder that nobody else may enter; one peer is let in, once."""

    def __init__(self, parent: Path | None = None) -> None:
        self._folder = Path(mkdtemp(prefix="gate-", dir=parent))
        self.path = self._folder / SOCKET_NAME
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if len(bytes(self.path)) > MAX_PATH_BYTES:
                raise RunnerFault(Fault.PLATFORM, f"the path of the socket is longer than {MAX_PATH_BYTES} bytes")
            self._listener.bind(str(self.path))
            self.path.chmod(0o666)  # a container's user is nobody here; the folder keeps all others away
            self._listener.listen(1)
        except BaseException:
            self.close()
            raise

    def accept(self, deadline: float, over: Over, uid: int | None = None) -> socket.socket:
        """Return the first connection of `uid` (None: of anybody) and take no other; RunnerFault when none comes.

        `deadline` is a time of `time.monotonic`.
        """
        try:
            while True:
                self._await_peer(deadline, over)
                connection, _ = self._listener.accept()
                if uid is None or _user_of(connection) == uid:
                    return connection
                connection.close()
        finally:
            self.close()

    def _await_peer(self, deadline: float, over: Over) -> None:
        while not _ready(self._listener, select.POLLIN, deadline):
            reason = over()
            if reason:
                raise RunnerFault(*reason)
            if time.monotonic() >= deadline:
                raise RunnerFault(Fault.START_TIMEOUT, "the program did not connect to the socket in time")

    def close(self) -> None:
        """Stop listening and remove the folder; safe to call twice."""
        self._listener.close()
        rmtree(self._folder, ignore_errors=True)

    def __exit__(self, *_: object) -> None:
        self.close()


def _user_of(connection: socket.socket) -> int:
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, user, _ = _PEER.unpack(peer)
    return int(user)


def _ready(waited_for: socket.socket, events: int, deadline: float) -> int:
    """Wait for `events`, a tick at most and never past the deadline; return those that happened."""
    poll = select.poll()
    poll.register(waited_for, events)
    seconds = min(max(deadline - time.monotonic(), 0.0), TICK_SECONDS)
    happened = poll.poll(seconds * 1000)
    return happened[0][1] if happened else 0


class _Incoming:
    """One frame on its way in: first its header, then as many bytes as the checked header allows."""

    def __init__(self) -> None:
        self.frame: Frame | None = None
        self.payload = bytearray()
        self._header = bytearray(frames.HEADER.size)
        self._missing = memoryview(self._header)

    def read(self, connection: socket.socket) -> bool:
        """Read what is there; True when the part being read, header or payload, is whole. EOFError on a hang-up."""
        got = connection.recv_into(self._missing)
        if got == 0:
            raise EOFError
        self._missing = self._missing[got:]
        return not self._missing

    def open_header(self) -> Frame:
        """Check the header that has arrived, and return it."""
        self.frame = protocol.read_header(self._header)
        return self.frame

    def await_payload(self, frame: Frame) -> bool:
        """Make room for the payload of an allowed frame; True when it has none."""
        self.payload = bytearray(frame.payload_bytes)
        self._missing = memoryview(self.payload)
        return not self._missing


@dataclass(slots=True)
class _PendingBatch:
    request_id: int
    rows: int
    sent: bool = False


class Conversation:
    """A connection to one defense. Use it from one thread; after a RunnerFault only `close` is left to do."""

    def __init__(self, connection: socket.socket, deadlines: ConversationDeadlines, over: Over) -> None:
        connection.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        self._connection, self._deadlines, self._over = connection, deadlines, over
        self._pending: deque[_PendingBatch] = deque()
        self._answers: deque[BatchAnswers] = deque()
        self._incoming = _Incoming()
        self._greeted, self._pixels = False, frames.CONTEST_PIXELS
        self._shared: SharedBatches | None = None
        self._places = deque[NDArray[Any]]()  # of the next batch, of the one after it, and so on
        self._allow(deadlines.hello, Fault.HELLO_TIMEOUT, "HELLO did not come in time")

    def hello(self) -> Hello:
        """Wait for the first frame and return what it says."""
        while True:
            self._wait(select.POLLIN)
            frame = self._read_some()
            if frame is not None:
                self._greeted = True
                return protocol.read_hello(self._take_payload())

    def ready(
        self,
        image_size: int,
        batch_size: int,
        seed: int,
        pixels: str = frames.CONTEST_PIXELS,
        *,
        share: bool = False,
    ) -> None:
        """Say what the pictures are like and which seed this run has; `share` memory in which batches lie, if the
        defense said that it finds them there."""
        self._refuse_uncalled()
        self._allow(self._deadlines.hello, Fault.HELLO_TIMEOUT, "READY was not read in time")
        self._pixels = pixels
        shape, values = (batch_size, image_size, image_size, frames.CHANNELS), frames.PIXELS[pixels]
        if share:
            self._wait(select.POLLOUT)
            # Without such memory batches go through the socket.
            with suppress(OSError):
                self._shared = SharedBatches(shape, values)
        self._places.extend(self._shared.places if self._shared else own_places(shape, values))
        said = protocol.pack_ready(image_size, batch_size, seed, pixels, shared_memory=self._shared is not None)
        self._write([memoryview(said)[self._share(said) :]])

    @property
    def places(self) -> Sequence[NDArray[Any]]:
        """Where the next PLACES batches can be written, each [batch_size, S, S, 3], so that `send` need not copy them.

        The next one's comes first; the last ones may hold batches that are not answered yet.
        """
        return tuple(self._places)

    @property
    def outstanding(self) -> int:
        """How many batches were sent whose answers were not yet handed out by `receive`."""
        return len(self._pending) + len(self._answers)

    def send(self, request_id: int, images: NDArray[Any]) -> None:
        """Send images [N, S, S, 3] under `request_id`; two batches at most may be outstanding."""
        if self.outstanding >= MAX_OUTSTANDING:
            raise ValueError(f"{self.outstanding} batches are outstanding; receive one first")
        pixels = self._payload(images)
        if not self._pending:
            self._refuse_uncalled()
        batch = _PendingBatch(request_id, len(images))
        self._pending.append(batch)
        if len(self._pending) == 1:
            self._start_clock()
        header = frames.pack_header(frames.BATCH, request_id, len(images), pixels.nbytes)
        self._write([memoryview(header), pixels])
        batch.sent = True

    def receive(self) -> BatchAnswers:
        """Wait for the answers to the oldest batch outstanding, and return them."""
        if not self.outstanding:
            raise ValueError("no batch is outstanding")
        while not self._answers:
            self._wait(select.POLLIN)
            self._read_answer()
        return self._answers.popleft()

    def close(self) -> None:
        """Hang up, which tells the defense to end."""
        self._connection.close()
        self._shared = None
        self._places.clear()

    def _share(self, said: bytes) -> int:
        """Send READY with what is shared, if anything is; return how many bytes went."""
        if self._shared is None:
            return 0
        try:
            return self._shared.send(self._connection, said)
        except (BrokenPipeError, ConnectionResetError):
            raise self._last_words() from None
        except OSError as error:
            raise RunnerFault(Fault.PLATFORM, f"memory for batches could not be shared: {error}") from error

    def _payload(self, images: NDArray[Any]) -> memoryview:
        """Return the bytes of images that go through the socket: none of those in shared memory."""
        place = self._places[0][: len(images)]
        self._places.rotate(-1)
        if not self._shared:
            return np.ascontiguousarray(images, frames.PIXELS[self._pixels]).data.cast("B")
        if (images.ctypes.data, images.strides) != (place.ctypes.data, place.strides):
            place[:] = images
        return memoryview(b"")

    def _allow(self, seconds: float, late: Fault, text: str) -> None:
        self._deadline = time.monotonic() + seconds
        self._late = late, text

    def _start_clock(self) -> None:
        """Give the oldest batch that is not answered its time."""
        text = f"batch {self._pending[0].request_id} was not read and answered in time"
        self._allow(self._deadlines.batch, Fault.BATCH_TIMEOUT, text)

    def _write(self, parts: Sequence[memoryview]) -> None:
        """Write all parts, and read the answers that come meanwhile."""
        left = list(parts)
        while left:
            events = self._wait(select.POLLOUT | select.POLLIN)
            if events & select.POLLIN:
                self._read_answer()
            elif events & select.POLLOUT:
                left = self._write_some(left)
            else:
                raise self._gone()

    def _write_some(self, left: list[memoryview]) -> list[memoryview]:
        try:
            written = self._connection.sendmsg(left)
        except (BlockingIOError, InterruptedError):
            return left
        except OSError:
            raise self._last_words() from None
        while left and written >= len(left[0]):
            written -= len(left.pop(0))
        return [left[0][written:], *left[1:]] if left else left

    def _wait(self, events: int) -> int:
        """Wait until one of `events` happened; RunnerFault when the deadline passes or the program ends first."""
        while not (happened := _ready(self._connection, events, self._deadline)):
            reason = self._over()
            if reason:
                raise RunnerFault(*reason)
            if time.monotonic() >= self._deadline:
                raise RunnerFault(*self._late)
        # What arrived while we were busy elsewhere is not late: the peer's answer waited for us.
        if time.monotonic() >= self._deadline and not happened & select.POLLIN:
            raise RunnerFault(*self._late)
        return happened

    def _read_some(self) -> Frame | None:
        """Read what is there; return the frame once it is whole."""
        try:
            whole = self._incoming.read(self._connection)
        except (BlockingIOError, InterruptedError):
            return None
        except (OSError, EOFError):
            raise self._gone() from None
        if whole and self._incoming.frame is None:
            frame = self._incoming.open_header()
            self._check(frame)
            whole = self._incoming.await_payload(frame)
        return self._incoming.frame if whole else None

    def _check(self, frame: Frame) -> None:
        """RunnerFault unless this frame may come now. An ERROR may always come."""
        if frame.kind == frames.ERROR:
            return
        if not self._greeted:
            protocol.check_hello(frame)
        elif not self._pending:
            raise protocol.refuse(f"a frame of type {frame.kind} came while nothing was asked")
        else:
            protocol.check_answer(frame, self._pending[0].request_id, self._pending[0].rows)
            if not self._pending[0].sent:
                raise protocol.refuse("a batch was answered before all of it had been sent")

    def _take_payload(self) -> bytearray:
        """Return the payload of a whole frame and make ready for the next; RunnerFault when it is an ERROR."""
        done, self._incoming = self._incoming, _Incoming()
        if done.frame is not None and done.frame.kind == frames.ERROR:
            raise protocol.read_error(done.payload)
        return done.payload

    def _read_answer(self) -> None:
        if self._read_some() is None:
            return
        payload = self._take_payload()
        self._answers.append(protocol.read_answers(payload, self._pending.popleft().rows, self._pixels))
        if self._pending:
            self._start_clock()

    def _refuse_uncalled(self) -> None:
        """RunnerFault when the peer sent anything, or hung up, while nothing was asked."""
        while _ready(self._connection, select.POLLIN, 0):
            self._read_uncalled()

    def _read_uncalled(self) -> None:
        self._allow(self._deadlines.hello, Fault.PROTOCOL, "a frame was begun while nothing was asked")
        while self._read_some() is None:
            self._wait(select.POLLIN)
        self._take_payload()

    def _last_words(self) -> RunnerFault:
        """Return why writing failed: what the peer still said, if it did, before it hung up."""
        try:
            while True:
                self._wait(select.POLLIN)
                self._read_answer()
        except RunnerFault as fault:
            return fault

    def _gone(self) -> RunnerFault:
        """Return why the peer hung up; the reason may be known a moment later than the hang-up."""
        until = time.monotonic() + GRACE_SECONDS
        while (reason := self._over()) is None and time.monotonic() < until:
            time.sleep(0.05)
        return RunnerFault(*(reason or (Fault.CRASHED, "the program hung up and went on running")))
