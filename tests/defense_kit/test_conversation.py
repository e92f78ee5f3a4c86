"""The scorer's end against peers that break each rule of defense protocol v1, over a socketpair."""

import json
import os
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defense_kit import conversation as module
from defense_kit import frames
from defense_kit.conversation import Conversation, ConversationDeadlines, PeerSocket
from defense_kit.faults import Fault, RunnerFault
from tests.refusals import faulted

SIZE = 4
ROWS = 3
DEADLINES = ConversationDeadlines(start=0.4, hello=0.4, batch=0.4)
ENDED = (Fault.CRASHED, "it ended with exit status 0")
HELLO = {"name": "peer", "protocol": 1}
IMAGES = np.arange(ROWS * SIZE * SIZE * 3, dtype=np.uint8).reshape(ROWS, SIZE, SIZE, 3)

Act = Callable[["Peer"], object]


class Peer:
    """The other end of a socketpair, in a thread: a defense that does exactly what a test wants, rightly by default."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.raw = connection, connection.sendall

    def hello(self, said: object = HELLO, then: bytes = b"") -> None:
        payload = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.raw(frames.pack_header(frames.HELLO, 0, 0, len(payload)) + payload + then)

    def read(self) -> tuple[int, int, int, bytes]:
        """Read one frame; return kind, request id, rows and payload."""
        _, _, kind, request_id, rows, size, _ = frames.HEADER.unpack(self._exactly(frames.HEADER.size))
        return kind, request_id, rows, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = self.connection.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionError
        return data

    def greet(self) -> dict[str, object]:
        """HELLO and READY; return what READY says."""
        self.hello()
        return dict(json.loads(self.read()[3]))

    def answer(self, request_id: int = 1, payload: bytes | None = None, rows: int = ROWS) -> None:
        payload = answers(rows) if payload is None else payload
        self.raw(frames.pack_header(frames.ANSWER, request_id, rows, len(payload)) + payload)


def answers(rows: int = ROWS, label: int = 1, scores: tuple[float, float] = (0.25, 0.75)) -> bytes:
    """Return the payload of an ANSWER that says the same in every row."""
    return frames.pack_answers(np.full(rows, label, np.int8), np.tile(np.float32(scores), (rows, 1)))


@contextmanager
def talking_to(act: Act, deadlines: ConversationDeadlines = DEADLINES) -> Iterator[Conversation]:
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


BIG = np.zeros((256, 200, 200, 3), np.uint8)  # more than a socket's buffers hold
DEADLINE_SLACK = 1.0  # seconds; the machine may be busy
STAY = 3.0  # seconds that a peer stays connected unless it is hung up on


def stay(peer: Peer) -> None:
    """Keep the connection until the other side hangs up."""
    peer.connection.settimeout(STAY)
    while peer.connection.recv(1 << 16):
        continue


def header(**changed: object) -> bytes:
    """Return the header of a right ANSWER to request 1, with some fields changed."""
    right = {"magic": frames.MAGIC, "version": frames.VERSION, "kind": frames.ANSWER, "request_id": 1}
    return frames.HEADER.pack(*(right | {"rows": ROWS, "size": 12 * ROWS, "reserved": 0} | changed).values())


greet, read = Peer.greet, Peer.read


def answer(request_id: int, **values: int) -> Act:
    return lambda peer: peer.answer(request_id, **values)


def drip(data: bytes) -> Act:
    """Send it one byte at a time, each soon enough to look alive."""

    def act(peer: Peer) -> None:
        for number in data:
            peer.raw(bytes([number]))
            time.sleep(0.05)

    return act


def drink(peer: Peer) -> None:
    """Read one byte at a time, past the deadline."""
    until = time.monotonic() + DEADLINES.batch * 2
    while time.monotonic() < until and peer.connection.recv(1):
        time.sleep(0.05)


def sleep(seconds: float) -> Act:
    return lambda peer: time.sleep(seconds)


def raw(data: bytes) -> Act:
    return lambda peer: peer.raw(data)


def first_bytes(peer: Peer) -> bytes:
    return peer.connection.recv(frames.HEADER.size)


def hello(said: object) -> Act:
    return lambda peer: peer.hello(said)


def peer_that(*acts: Act) -> Act:
    """Do one after the other, then hang up."""

    def act(peer: Peer) -> None:
        for each in acts:
            each(peer)

    return act


def opening(first: Act | bytes) -> Act:
    """Begin with this, and stay."""
    return peer_that(raw(first) if isinstance(first, bytes) else first, stay)


def answered(frame: bytes) -> Act:
    """Greet, read the batch, send `frame`, and stay."""
    return peer_that(greet, read, raw(frame), stay)


def error(text: bytes) -> Act:
    return answered(frames.pack_header(frames.ERROR, 0, 0, len(text)) + text)


RIGHT = header() + answers()

TOO_SOON = peer_that(greet, first_bytes, answer(1, rows=len(BIG)), sleep(0.2), stay)
LONG_TEXT = b"x" * 4096

HOSTILE: list[tuple[str, Act, Fault, str]] = [
    # HELLO
    ("sleeps before HELLO", sleep(1), Fault.HELLO_TIMEOUT, "HELLO did not come"),
    ("hangs up before HELLO", lambda peer: None, Fault.CRASHED, "exit status"),
    (
        "HELLO one byte at a time",
        drip(frames.pack_header(frames.HELLO, 0, 0, 4000)),
        Fault.HELLO_TIMEOUT,
        "HELLO did not come",
    ),
    ("half a header, then silence", opening(b"DEF1\1\0"), Fault.HELLO_TIMEOUT, "HELLO did not come"),
    ("half a header, then gone", raw(b"DEF1\1\0"), Fault.CRASHED, "exit status"),
    ("HELLO is a list", opening(hello([1])), Fault.PROTOCOL, "not a JSON object"),
    ("HELLO is not JSON", opening(hello(b"{")), Fault.PROTOCOL, "not JSON"),
    ("HELLO is not UTF-8", opening(hello(b"\xff\xfe")), Fault.PROTOCOL, "not JSON"),
    ("HELLO is nested deep", opening(hello(b"[" * 4096)), Fault.PROTOCOL, "not JSON"),
    ("HELLO is empty", opening(hello(b"")), Fault.PROTOCOL, "not JSON"),
    ("HELLO is over 4 KiB", opening(hello(b" " * 4097)), Fault.PROTOCOL, "at most 4096"),
    ("HELLO says protocol 2", opening(hello({**HELLO, "protocol": 2})), Fault.PROTOCOL, "protocol 1"),
    ("HELLO says protocol true", opening(hello({**HELLO, "protocol": True})), Fault.PROTOCOL, "protocol 1"),
    ("HELLO says no protocol", opening(hello({"name": "x"})), Fault.PROTOCOL, "protocol 1"),
    ("HELLO takes no 8 bits", opening(hello({**HELLO, "pixels": ["float32"]})), Fault.PROTOCOL, "uint8"),
    ("HELLO names pixels alone", opening(hello({**HELLO, "pixels": "uint8"})), Fault.PROTOCOL, "uint8"),
    ("HELLO states no name", opening(hello({"protocol": 1})), Fault.PROTOCOL, "name"),
    ("HELLO with rows", opening(frames.pack_header(1, 0, 1, 0)), Fault.PROTOCOL, "have to be 0"),
    ("HELLO with a request id", opening(frames.pack_header(1, 7, 0, 0)), Fault.PROTOCOL, "have to be 0"),
    ("an ANSWER first", opening(header()), Fault.PROTOCOL, "expected 1"),
    ("HELLO twice", peer_that(hello(HELLO), hello(HELLO), stay), Fault.PROTOCOL, "type 1"),
    (
        "an answer before anything was asked",
        opening(lambda peer: peer.hello(then=RIGHT)),
        Fault.PROTOCOL,
        "nothing was asked",
    ),
    # headers
    ("wrong magic", answered(header(magic=b"DEF2")), Fault.PROTOCOL, "began with"),
    ("wrong version", answered(header(version=2)), Fault.PROTOCOL, "version 2"),
    ("reserved is not 0", answered(header(reserved=1)), Fault.PROTOCOL, "reserved"),
    ("type of the scorer's", answered(header(kind=frames.BATCH)), Fault.PROTOCOL, "type 3"),
    ("unknown type", answered(header(kind=77)), Fault.PROTOCOL, "type 77"),
    ("HELLO in the place of an answer", answered(header(kind=1, size=0)), Fault.PROTOCOL, "expected 4"),
    ("payload of 4 GiB", answered(header(size=2**32 - 1)), Fault.PROTOCOL, "expected 36"),
    ("rows and payload of 4 GiB", answered(header(rows=2**32 // 12, size=2**32 - 4)), Fault.PROTOCOL, "rows"),
    ("too few rows", answered(header(rows=ROWS - 1, size=24) + answers(ROWS - 1)), Fault.PROTOCOL, "2 rows"),
    ("too many rows", answered(header(rows=ROWS + 1, size=48) + answers(ROWS + 1)), Fault.PROTOCOL, "4 rows"),
    ("no rows", answered(header(rows=0, size=0)), Fault.PROTOCOL, "0 rows"),
    ("payload one byte short", answered(header(size=35)), Fault.PROTOCOL, "35 bytes"),
    ("another request's answer", answered(header(request_id=2)), Fault.PROTOCOL, "request 2"),
    ("request id 0", answered(header(request_id=0)), Fault.PROTOCOL, "request 0"),
    (
        "answers out of order",
        peer_that(greet, read, read, answer(2), answer(1), stay),
        Fault.PROTOCOL,
        "in their order",
    ),
    ("an answer before the whole batch was sent", TOO_SOON, Fault.PROTOCOL, "before all of it"),
    ("an answer twice", peer_that(greet, read, answer(1), answer(1), stay), Fault.PROTOCOL, "request 1, expected 2"),
    # payloads
    ("label 7", answered(header() + answers(label=7)), Fault.PROTOCOL, "a label is 7"),
    ("label -2", answered(header() + answers(label=-2)), Fault.PROTOCOL, "a label is -2"),
    ("bytes after the label", answered(header() + b"\1\0\0\1" + answers()[4:]), Fault.PROTOCOL, "three bytes"),
    ("NaN", answered(header() + answers(scores=(float("nan"), 0))), Fault.NONFINITE, "NaN"),
    ("infinity", answered(header() + answers(scores=(0, float("inf")))), Fault.NONFINITE, "NaN"),
    ("minus infinity", answered(header() + answers(scores=(float("-inf"), 0))), Fault.NONFINITE, "NaN"),
    # time
    ("never reads", peer_that(greet, sleep(DEADLINES.batch * 2)), Fault.BATCH_TIMEOUT, "batch 1"),
    ("reads one byte at a time", peer_that(greet, drink), Fault.BATCH_TIMEOUT, "batch 1"),
    ("never answers", answered(b""), Fault.BATCH_TIMEOUT, "batch 1"),
    ("answers one byte at a time", peer_that(greet, read, drip(RIGHT)), Fault.BATCH_TIMEOUT, "batch 1"),
    # endings
    ("hangs up after READY", greet, Fault.CRASHED, "exit status"),
    ("hangs up in a batch", peer_that(greet, read), Fault.CRASHED, "exit status"),
    ("hangs up in an answer", peer_that(greet, read, raw(RIGHT[:-1])), Fault.CRASHED, "exit status"),
    ("an ERROR", error(b"ValueError: my fault"), Fault.CRASHED, "my fault"),
    ("an ERROR with control characters", error(b"\x1b[2Jred\x00\n\xff"), Fault.CRASHED, "[2Jred"),
    ("an ERROR without a text", error(b""), Fault.CRASHED, "without a text"),
    ("an ERROR of 4 KiB", error(LONG_TEXT), Fault.CRASHED, "xxx"),
    ("an ERROR over 4 KiB", error(LONG_TEXT + b"x"), Fault.PROTOCOL, "at most 4096"),
    ("out of memory, in its own words", error(b"MemoryError: no"), Fault.OUT_OF_MEMORY, "MemoryError"),
    ("the card's memory", error(b"torch.OutOfMemoryError: CUDA out of memory"), Fault.GPU_OUT_OF_MEMORY, "CUDA"),
    ("disk full, in its own words", error(b"OSError: No space left on device"), Fault.DISK, "No space"),
]


def begin(conversation: Conversation, size: int = SIZE, rows: int = ROWS) -> None:
    """Hear HELLO and say READY."""
    conversation.hello()
    conversation.ready(size, rows, 5)


def converse(conversation: Conversation) -> None:
    """Do what a scorer does, with two batches under way, until a fault ends it."""
    begin(conversation)
    conversation.send(1, IMAGES)
    conversation.send(2, IMAGES)
    conversation.receive()
    conversation.receive()


def converse_big(conversation: Conversation) -> None:
    """Send a batch that does not fit into the socket."""
    begin(conversation, 200, len(BIG))
    conversation.send(1, BIG)
    conversation.receive()


NEEDS_BIG = {"never reads", "reads one byte at a time", "an answer before the whole batch was sent"}


@pytest.mark.parametrize(("reason", "act", "fault", "words"), HOSTILE, ids=[row[0] for row in HOSTILE])
def test_each_way_to_break_the_protocol_has_its_fault_in_time(reason: str, act: Act, fault: Fault, words: str) -> None:
    began = time.monotonic()
    with talking_to(act) as conversation:
        found = faulted(fault, converse_big if reason in NEEDS_BIG else converse, conversation)
    assert words in found.text and not any(letter < " " and letter != "\n" for letter in found.text)
    assert time.monotonic() - began < DEADLINES.hello + 2 * DEADLINES.batch + DEADLINE_SLACK


def test_a_length_of_4_gib_is_refused_without_making_room_for_it() -> None:
    with talking_to(answered(header(size=2**32 - 1))) as conversation:
        tracemalloc.start()
        assert "expected 36" in faulted(Fault.PROTOCOL, converse, conversation).text
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1 << 20


def honest(peer: Peer) -> None:
    """Answer every batch; the label of a row is its first byte's remainder."""
    peer.greet()
    while True:
        _, request_id, rows, pixels = peer.read()
        table = np.frombuffer(pixels, np.uint8).reshape(rows, -1)
        labels = (table[:, 0] % 3).astype(np.int8) - 1
        peer.answer(request_id, frames.pack_answers(labels, np.zeros((rows, 2), np.float32)), rows)


def test_answers_come_back_in_order_with_two_batches_under_way() -> None:
    batches = [np.full_like(IMAGES, number) for number in range(20)]
    with talking_to(honest) as conversation:
        assert conversation.hello().name == "peer"
        conversation.ready(SIZE, ROWS, 5)
        conversation.send(1, batches[0])
        labels = []
        for number, batch in enumerate(batches[1:], 2):
            conversation.send(number, batch)
            labels.append(conversation.receive().labels.tolist())
        labels.append(conversation.receive().labels.tolist())
        assert labels == [[number % 3 - 1] * ROWS for number in range(20)]
        assert conversation.outstanding == 0


def test_a_peer_that_reads_the_next_batch_only_after_its_answer_is_no_slower_than_its_answers() -> None:
    """Sending the second batch has to wait for the answer to the first, and counts against neither."""
    each = [act for number in (1, 2, 3) for act in (read, sleep(0.5), answer(number, rows=len(BIG)))]
    with talking_to(peer_that(greet, *each, stay), ConversationDeadlines(start=5, hello=5, batch=0.9)) as conversation:
        begin(conversation, 200, len(BIG))
        conversation.send(1, BIG)
        for number in (2, 3):
            conversation.send(number, BIG)
            assert len(conversation.receive().labels) == len(BIG)
        assert len(conversation.receive().labels) == len(BIG)


def test_an_answer_that_waited_for_a_busy_scorer_is_not_late() -> None:
    with talking_to(honest) as conversation:
        begin(conversation)
        conversation.send(1, IMAGES)
        time.sleep(DEADLINES.batch * 1.5)
        assert len(conversation.receive().labels) == ROWS


def test_what_was_said_before_the_end_is_heard_though_writing_failed() -> None:
    words = b"ValueError: bad weights"
    dies = peer_that(greet, first_bytes, raw(frames.pack_header(frames.ERROR, 0, 0, len(words)) + words))
    with talking_to(dies) as conversation:
        assert "bad weights" in faulted(Fault.CRASHED, converse_big, conversation).text


def test_a_third_batch_and_an_answer_to_nothing_are_the_callers_mistakes() -> None:
    with talking_to(answered(b"")) as conversation:
        begin(conversation)
        with pytest.raises(ValueError, match="no batch"):
            conversation.receive()
        conversation.send(1, IMAGES)
        conversation.send(2, IMAGES)
        with pytest.raises(ValueError, match="receive one first"):
            conversation.send(3, IMAGES)


def test_ready_states_size_rows_classes_and_seed() -> None:
    heard: list[dict[str, object]] = []
    with talking_to(lambda peer: heard.append(peer.greet())) as conversation:
        conversation.hello()
        conversation.ready(299, 16, 2**63 - 1)
    assert heard == [{"image_size": 299, "batch_size": 16, "classes": ["bicycle", "bird"], "seed": 2**63 - 1}]


def test_a_name_is_cut_and_cleaned() -> None:
    with talking_to(opening(hello({"name": "a\x1b[31m\nb" + "c" * 500, "protocol": 1}))) as conversation:
        name = conversation.hello().name
    assert name.startswith("a[31m b") and len(name) == 100


# ------------------------------------------------------------------------------------------------- any bytes at all

QUICK = ConversationDeadlines(start=0.05, hello=0.05, batch=0.05)
GOOD_HELLO = frames.pack_header(frames.HELLO, 0, 0, 30) + b'{"name":"peer", "protocol": 1}'
FIELDS = st.builds(
    lambda magic, version, kind, number, rows, size, reserved: struct.pack(
        "<4sHHIIII", magic, version, kind, number, rows, size, reserved
    ),
    st.sampled_from([frames.MAGIC, b"DEF2"]),
    st.sampled_from([1, 1, 1, 0, 65535]),
    st.integers(0, 6),
    st.integers(0, 3),
    st.sampled_from([0, 1, ROWS, ROWS + 1, 2**32 - 1]),
    st.sampled_from([0, 12 * ROWS, 4096, 4097, 2**32 - 1]),
    st.sampled_from([0, 0, 0, 1]),
)
SENT = st.lists(
    st.one_of(st.binary(max_size=64), FIELDS, st.just(GOOD_HELLO), st.just(header() + answers()), st.just(answers())),
    max_size=6,
).map(b"".join)


@settings(max_examples=150)
@given(SENT, st.booleans())
def test_no_bytes_raise_anything_but_a_fault_or_block_past_the_deadline(sent: bytes, hang_up: bool) -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(sent)
    if hang_up:
        theirs.shutdown(socket.SHUT_WR)
    conversation = Conversation(ours, QUICK, lambda: (Fault.CRASHED, "gone") if hang_up else None)
    began = time.monotonic()
    with ours, theirs:
        try:
            converse(conversation)
        except RunnerFault as fault:
            assert fault.fault in Fault
    assert time.monotonic() - began < QUICK.hello + 2 * QUICK.batch + DEADLINE_SLACK


# --------------------------------------------------------------------------------------------------------- the gate


@pytest.mark.parametrize(
    ("hangs_up", "reason", "fault", "words", "why"),
    [
        (True, (Fault.OUT_OF_MEMORY, "why"), Fault.OUT_OF_MEMORY, "why", "the launcher knows"),
        (True, None, Fault.CRASHED, "went on running", "nobody knows"),
        (False, (Fault.OUT_OF_MEMORY, "killed"), Fault.OUT_OF_MEMORY, "killed", "a child of it holds the socket"),
    ],
)
def test_an_end_has_the_reason_that_the_launcher_knows_long_before_the_deadline(
    hangs_up: bool, reason: Any, fault: Fault, words: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.1)
    ours, theirs = socket.socketpair()
    if hangs_up:
        theirs.close()
    began = time.monotonic()
    with closing(Conversation(ours, ConversationDeadlines(60, 60, 60), lambda: reason)) as conversation, theirs:
        assert words in faulted(fault, conversation.hello).text, why
    assert time.monotonic() - began < 5


def connect(path: Path) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(str(path))
    return peer


def running() -> None:
    """Say that the program runs."""


def test_the_gate_lets_one_peer_in_and_nobody_after_it(tmp_path: Path) -> None:
    gate = PeerSocket(tmp_path)
    folder = gate.path.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    first, second = connect(gate.path), connect(gate.path)
    with gate.accept(time.monotonic() + 1, running) as connection, first, second:
        first.sendall(b"first")
        assert (connection.recv(5), folder.exists()) == (b"first", False)
        with pytest.raises(OSError):
            connect(gate.path)
        second.settimeout(1)
        with pytest.raises(ConnectionResetError):
            second.recv(1)


def test_a_peer_of_another_user_is_sent_away_and_the_right_one_still_let_in(tmp_path: Path) -> None:
    with PeerSocket(tmp_path) as gate, connect(gate.path):
        faulted(Fault.START_TIMEOUT, gate.accept, time.monotonic() + 0.3, running, uid=os.getuid() + 1)
    with PeerSocket(tmp_path) as gate, connect(gate.path):
        gate.accept(time.monotonic() + 1, running, uid=os.getuid()).close()


def test_a_path_that_no_socket_can_have_is_the_platforms_fault(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    faulted(Fault.PLATFORM, PeerSocket, deep)
    assert list(deep.iterdir()) == []
