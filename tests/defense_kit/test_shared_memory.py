"""Batches in shared memory: who gets it, what a defense can do to it, and the same answers as through the socket."""

import errno
import fcntl
import gc
import itertools
import mmap
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from defense_kit import frames, shared_memory
from defense_kit.conversation import Conversation, ConversationDeadlines
from defense_kit.faults import Fault, RunnerFault
from defense_kit.harness import DefenseSession, open_defense
from defense_kit.shared_batches import SharedBatches
from scoring.plan import PlannedBatch, picture_batches
from scoring.runner import Pixels, converse
from tests.defense_kit.programs import DEADLINES, ROWS, SIZE, launch_of, write
from tests.defense_kit.test_conversation import HELLO, IMAGES, Peer, talking_to
from tests.refusals import faulted

SHAPE = (ROWS, SIZE, SIZE, 3)
# Its scores are the first value of each picture, and whether the pictures lie in shared memory; then it writes to them.
PROGRAM = """
from defense_kit import serve

def predict(images):
    shared = "/memfd:batches" in open("/proc/self/maps").read()
    scores = [[float(image[0, 0, 0]), float(shared)] for image in images]
    images[:] = 255
    return ["bird"] * len(images), scores

serve(predict)
"""


@contextmanager
def opened(folder: Path, program: str = PROGRAM, *, can_share: bool = True, **options: Any) -> Iterator[DefenseSession]:
    launch = launch_of(write(folder / "program", program), can_share=can_share)
    given: dict[str, Any] = {"image_size": SIZE, "batch_size": ROWS, "seed": 1, "deadlines": DEADLINES} | options
    with open_defense(launch, **given) as session:
        yield session


def numbered(number: int, rows: int) -> np.ndarray:
    return np.full((rows, *SHAPE[1:]), number, np.uint8)


@pytest.mark.parametrize("share", [True, False])
def test_a_defense_answers_the_same_wherever_its_batches_lie(tmp_path: Path, share: bool) -> None:
    found = []
    with opened(tmp_path, can_share=share) as session:
        for number in range(9):
            images = numbered(number, 1 + number % ROWS)
            if number % 2:
                place = session.places[0]
                place[: len(images)] = images
                images = place[: len(images)]
            session.send(images)
            if number:
                found.append(session.receive().scores)
        found.append(session.receive().scores)
    assert [len(scores) for scores in found] == [1 + number % ROWS for number in range(9)]
    assert all((scores == [number, share]).all() for number, scores in enumerate(found))


def test_what_was_sent_is_the_callers_own(tmp_path: Path) -> None:
    """A defense may write to its pictures, and cannot reach those of who sent them."""
    images = numbered(7, ROWS)
    with opened(tmp_path) as session:
        session.send(images)
        session.receive()
    assert (images == 7).all()


def test_the_warm_ups_frames_are_shared_as_well(tmp_path: Path) -> None:
    program = PROGRAM.replace('return ["bird"] * len(images), scores', "return scores")
    program = program.replace("serve(predict)", "serve(lambda images: [], classify=predict)")
    rows = np.full(SHAPE, 0.25, np.float32)
    with opened(tmp_path, program, pixels="float32") as session:
        for _ in range(2 * shared_memory.PLACES):
            session.send(rows)
            assert (session.receive().scores == [0.25, 1]).all()


@pytest.mark.parametrize("said", [{}, {"shared_memory": False}, {"shared_memory": 1}, {"shared_memory": "true"}])
def test_memory_is_for_who_says_that_it_finds_batches_there(said: dict[str, object]) -> None:
    def act(peer: Peer) -> None:
        peer.hello(HELLO | said)

    with talking_to(act) as conversation:
        assert conversation.hello().shared_memory is False


class Sharing:
    """A peer with the memory that it was sent."""

    def __init__(self, peer: Peer) -> None:
        peer.hello(HELLO | {"shared_memory": True})
        self.ready, self.descriptor = shared_memory.receive_descriptor(peer.connection, 1 << 12)
        assert self.descriptor is not None
        self.peer, self.memory = peer, mmap.mmap(self.descriptor, 0)

    def close(self) -> None:
        assert self.descriptor is not None
        os.close(self.descriptor)


def sharing(conversation: Conversation) -> None:
    """Hear HELLO and say READY with memory."""
    assert conversation.hello().shared_memory
    conversation.ready(IMAGES.shape[1], len(IMAGES), 5, share=True)


def test_a_batch_is_its_header_alone_and_lies_in_its_turn() -> None:
    found = []

    def act(peer: Peer) -> None:
        sharing = Sharing(peer)
        assert b'"shared_memory": true' in sharing.ready
        places = shared_memory.places(sharing.memory, IMAGES.shape, np.uint8)
        for number in range(5):
            kind, request_id, rows, payload = peer.read()
            found.append((kind, request_id, rows, payload, places[number % len(places)][0].tolist()))
            peer.answer(request_id, rows=rows)
        sharing.close()

    with talking_to(act) as conversation:
        sharing(conversation)
        for number in range(1, 6):
            conversation.send(number, np.full_like(IMAGES[:2], number))
            conversation.receive()
    expected = [np.full_like(IMAGES[0], number).tolist() for number in range(1, 6)]
    assert found == [(frames.BATCH, number, 2, b"", expected[number - 1]) for number in range(1, 6)]


def cut_off(descriptor: int) -> None:
    os.ftruncate(descriptor, 1)


def lengthen(descriptor: int) -> None:
    os.ftruncate(descriptor, 1 << 30)


def seal(descriptor: int) -> None:
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


@pytest.mark.parametrize("reach", [cut_off, lengthen, seal])
def test_a_defense_cannot_take_the_memory_away(reach: Callable[[int], None]) -> None:
    """The contest would be killed for writing to what is cut off."""
    found: list[object] = []

    def act(peer: Peer) -> None:
        sharing = Sharing(peer)
        with pytest.raises(PermissionError):
            reach(sharing.descriptor or 0)
        found.append(reach)
        _, request_id, rows, _ = peer.read()
        peer.answer(request_id, rows=rows)
        sharing.close()

    with talking_to(act) as conversation:
        sharing(conversation)
        conversation.send(1, IMAGES)
        assert len(conversation.receive().labels) == len(IMAGES)
    assert found == [reach]


def test_a_batch_that_is_written_ahead_is_none_of_those_under_way() -> None:
    def act(peer: Peer) -> None:
        sharing = Sharing(peer)
        for _ in range(2):
            peer.read()
        sharing.close()

    with talking_to(act) as conversation:
        sharing(conversation)
        places = []
        for number in (1, 2):
            places.append(conversation.places[0])
            conversation.send(number, places[-1])
        places.append(conversation.places[0])
        assert not any(np.shares_memory(*pair) for pair in itertools.combinations(places, 2))


def test_without_such_memory_batches_go_through_the_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EACCES, "memory files are forbidden here")

    monkeypatch.setattr(os, "memfd_create", refuse)
    with opened(tmp_path) as session:
        session.send(numbered(3, ROWS))
        assert (session.receive().scores == [3, False]).all()


WORDS = b"ValueError: bad weights"
LAST_WORDS = frames.pack_header(frames.ERROR, 0, 0, len(WORDS)) + WORDS


def hangs_up_while_memory_is_made(last_words: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a peer say HELLO, and this when the contest has looked for what it says unasked; then hang up."""
    made, gone = threading.Event(), threading.Event()
    create = SharedBatches.__init__

    def waiting(*given: Any) -> None:
        create(*given)
        made.set()
        assert gone.wait(5)

    def act(peer: Peer) -> None:
        peer.hello(HELLO | {"shared_memory": True})
        made.wait(5)
        peer.raw(last_words)
        peer.connection.close()
        gone.set()

    monkeypatch.setattr(SharedBatches, "__init__", waiting)
    with talking_to(act) as conversation:
        sharing(conversation)


@pytest.mark.parametrize(("last_words", "expected"), [(b"", "exit status"), (LAST_WORDS, "bad weights")])
def test_a_defense_that_hangs_up_before_ready_has_its_own_reason(
    last_words: bytes, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert expected in faulted(Fault.CRASHED, hangs_up_while_memory_is_made, last_words, monkeypatch).text


def test_memory_that_cannot_be_sent_is_the_platforms_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ETOOMANYREFS, "too many references")

    def act(peer: Peer) -> None:
        peer.hello(HELLO | {"shared_memory": True})
        peer.connection.recv(1)

    monkeypatch.setattr(socket, "send_fds", refuse)
    with talking_to(act) as conversation:
        assert "could not be shared" in faulted(Fault.PLATFORM, sharing, conversation).text


def test_a_defense_whose_memory_does_not_arrive_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As under a runtime that passes no descriptors."""
    monkeypatch.setattr(socket, "send_fds", lambda connection, data, _: connection.send(data[0]))

    def ask() -> None:
        with opened(tmp_path) as session:  # which may end before READY is known to be read, or after
            session.send(numbered(1, ROWS))
            session.receive()

    assert "did not arrive" in faulted(Fault.CRASHED, ask).log


def late(folder: Path) -> None:
    with opened(folder, "import time\nfrom defense_kit import serve\nserve(lambda images: time.sleep(60))",
                deadlines=ConversationDeadlines(start=20, hello=10, batch=0.2)) as session:  # fmt: skip
        session.send(numbered(1, ROWS))
        session.receive()


def answered(folder: Path) -> None:
    with opened(folder) as session:
        session.send(numbered(1, ROWS))
        session.receive()


def ended_in_between(folder: Path, program: str = PROGRAM, **options: Any) -> None:
    """A conversation whose second batch cannot be read."""

    def read(batch: PlannedBatch[int], out: Pixels) -> None:
        if batch.number:
            raise RunnerFault(Fault.PLATFORM, "no such picture")

    with opened(folder, program, **options) as session:
        list(converse(session, picture_batches(range(2 * ROWS), batch_size=ROWS), read, lambda: None))


def ended_late(folder: Path) -> None:
    slow = "import time\nfrom defense_kit import serve\nserve(lambda images: time.sleep(60))"
    ended_in_between(folder, slow, deadlines=ConversationDeadlines(start=20, hello=10, batch=0.2))


@pytest.mark.parametrize("end", [answered, late, ended_in_between, ended_late])
def test_nothing_stays_open(end: Callable[[Path], None], tmp_path: Path) -> None:
    gc.collect()
    before = sorted(os.listdir("/proc/self/fd"))
    gc.disable()  # what only a look for circles would free stays as long as nothing else happens
    try:
        with suppress(RunnerFault):
            end(tmp_path)
        assert "/memfd:batches" not in Path("/proc/self/maps").read_text()
        assert sorted(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()
