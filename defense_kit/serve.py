"""The participant's side of defense protocol v1: connect, greet, answer batches."""

import json
import mmap
import os
import queue
import socket
import sys
import threading
import traceback
from functools import partial
from itertools import cycle
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from defense_kit import frames, shared_memory
from defense_kit.classifiers import scores_of

BUFFERS = 2  # one is predicted on while the other is read into


class ContestReady(NamedTuple):
    """What the contest says before the first batch."""

    image_size: int  # pictures are image_size x image_size
    batch_size: int  # the most rows of a batch
    classes: Tuple[str, ...]  # the order of the scores
    seed: int  # 0 to 2^63 - 1, another one in each official round
    pixels: str = frames.CONTEST_PIXELS  # "uint8", or in the warm-up "float32"


class ServedBatch(NamedTuple):
    """Pictures to answer, which stay as they are until then."""

    request_id: int
    images: np.ndarray


Predict = Callable[[np.ndarray], Any]
OnReady = Callable[[ContestReady], None]


def serve(
    predict: Predict,
    *,
    name: str = "defense",
    on_ready: Optional[OnReady] = None,
    classify: Optional[Predict] = None,
) -> None:
    """Answer batches with `predict` until the contest hangs up; then return.

    `predict` takes uint8 images [N, S, S, 3] (RGB, C order, valid until it returns) and returns N answers: "bird",
    "bicycle" or "abstain", or 1, 0, -1; or a pair of such answers and scores [N, 2] = [bicycle, bird], which are
    informative. `on_ready` is called once with the contest's `ContestReady` before the first batch; seed generators
    there.

    `classify` is for the fixed attacks of the warm-up, which change pictures by less than an 8-bit step: it takes
    float32 images [N, 224, 224, 3] in 0..1 and returns float [N, 2] = [bicycle, bird]. `from_warmup` brings it along.

    An error in `predict` or `on_ready` is reported to the contest as the fault `crashed` and ends the program with
    exit status 1; so does an answer that is not one per picture.
    """
    classify = classify or getattr(predict, "classify", None)
    takes = [frames.CONTEST_PIXELS] if classify is None else list(frames.PIXELS)
    hello = {
        "name": name,
        "protocol": frames.VERSION,
        "pixels": takes,
        "shared_memory": shared_memory.AVAILABLE,
    }
    with _connect() as connection:
        _send(connection, frames.HELLO, 0, 0, json.dumps(hello).encode())
        said = _read_ready(connection)
        if said is not None:
            ready, memory = said
            warmup = classify is not None and ready.pixels != frames.CONTEST_PIXELS
            answering = partial(_classified, classify) if warmup else predict
            _answer_all(connection, ready, memory, answering, on_ready)


def _connect() -> socket.socket:
    path = os.environ.get("DEFENSE_SOCKET")
    if not path:
        raise SystemExit("DEFENSE_SOCKET is not set: start this with `python -m defense_kit check` or in the contest")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    return connection


def _answer_all(
    connection: socket.socket,
    ready: ContestReady,
    memory: Optional[mmap.mmap],
    predict: Predict,
    on_ready: Optional[OnReady],
) -> None:
    try:
        if on_ready is not None:
            on_ready(ready)
        batches = _read_batches(connection, ready) if memory is None else _shared_batches(connection, ready, memory)
        for batch in batches:
            labels, scores = _checked(predict(batch.images), len(batch.images))
            payload = frames.pack_answers(labels, scores)
            _send(connection, frames.ANSWER, batch.request_id, len(labels), payload)
    except (BrokenPipeError, ConnectionResetError):
        return  # the contest hung up: it has what it wanted, or has said why not
    except Exception:
        text = traceback.format_exc()
        sys.stdout.flush()  # what was printed before comes before it in the log
        sys.stderr.write(text)
        sys.stderr.flush()
        _send_error(connection, text)
        raise SystemExit(1) from None


def _shared_batches(connection: socket.socket, ready: ContestReady, memory: mmap.mmap) -> Iterator[ServedBatch]:
    """Yield each batch as it lies in the shared memory."""
    shape = (ready.batch_size, ready.image_size, ready.image_size, frames.CHANNELS)
    for place in cycle(shared_memory.places(memory, shape, frames.PIXELS[ready.pixels])):
        header = _read_header(connection, frames.BATCH)
        if header is None:
            return
        request_id, rows, payload_bytes = header
        if payload_bytes or not 1 <= rows <= ready.batch_size:
            raise ValueError(f"a batch of {rows} rows in shared memory has {payload_bytes} bytes")
        yield ServedBatch(request_id, place[:rows])


def _read_batches(connection: socket.socket, ready: ContestReady) -> Iterator[ServedBatch]:
    """Yield each batch; the next one is read meanwhile."""
    free: queue.SimpleQueue[bytearray] = queue.SimpleQueue()
    full: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for _ in range(BUFFERS):
        free.put(bytearray(_bytes_of(ready, ready.batch_size)))
    reader = threading.Thread(target=_read_all, args=(connection, ready, free, full), daemon=True)
    reader.start()
    while True:
        read = full.get()
        if read is None:
            return
        if isinstance(read, Exception):
            raise read
        batch, buffer = read
        yield batch
        free.put(buffer)


def _bytes_of(ready: ContestReady, rows: int) -> int:
    values = rows * ready.image_size * ready.image_size * frames.CHANNELS
    return values * int(frames.PIXELS[ready.pixels].itemsize)


def _read_all(
    connection: socket.socket, ready: ContestReady, free: "queue.SimpleQueue[bytearray]", full: "queue.SimpleQueue[Any]"
) -> None:
    """Read batches until the other side hangs up (None) or something is wrong (the error itself)."""
    try:
        while True:
            read = _read_batch(connection, ready, free)
            full.put(read)
            if read is None:
                return
    except Exception as error:
        full.put(error)


def _read_batch(
    connection: socket.socket, ready: ContestReady, free: "queue.SimpleQueue[bytearray]"
) -> Optional[Tuple[ServedBatch, bytearray]]:
    """Return a batch and the buffer in which it lies, None when the other side hung up."""
    header = _read_header(connection, frames.BATCH)
    if header is None:
        return None
    request_id, rows, payload_bytes = header
    buffer = free.get()
    if rows < 1 or payload_bytes != _bytes_of(ready, rows) or payload_bytes > len(buffer):
        raise ValueError(f"a batch of {rows} rows has {payload_bytes} bytes")
    view = memoryview(buffer)[:payload_bytes]
    if not _fill(connection, view):
        return None
    shape = (rows, ready.image_size, ready.image_size, frames.CHANNELS)
    return ServedBatch(request_id, np.frombuffer(view, frames.PIXELS[ready.pixels]).reshape(shape)), buffer


def _read_ready(connection: socket.socket) -> Optional[Tuple[ContestReady, Optional[mmap.mmap]]]:
    """Return what the contest says and the memory that it shares, None when it hung up before."""
    try:
        begun, descriptor = shared_memory.receive_descriptor(connection, frames.HEADER.size)
    except ConnectionResetError:
        return None
    header = _read_header(connection, frames.READY, begun)
    if header is None:
        return None
    payload = bytearray(min(header[2], frames.MAX_TEXT_BYTES))
    if not _fill(connection, memoryview(payload)):
        return None
    said = json.loads(payload.decode("utf-8"))
    ready = ContestReady(
        int(said["image_size"]),
        int(said["batch_size"]),
        tuple(said["classes"]),
        int(said["seed"]),
        str(said.get("pixels", frames.CONTEST_PIXELS)),
    )
    if not said.get("shared_memory"):
        return ready, None
    if descriptor is None:
        raise ValueError("the memory that the contest shares did not arrive")
    return ready, shared_memory.opened(descriptor)


def _read_header(connection: socket.socket, kind: int, begun: bytes = b"") -> Optional[Tuple[int, int, int]]:
    """Return request id, rows and payload bytes of a frame of this kind, of which some bytes may have been read; None
    when the other side hung up."""
    header = bytearray(begun.ljust(frames.HEADER.size, b"\0"))
    if not _fill(connection, memoryview(header)[len(begun) :]):
        return None
    magic, version, came, request_id, rows, payload_bytes, reserved = frames.HEADER.unpack(header)
    if (magic, version, came, reserved) != (frames.MAGIC, frames.VERSION, kind, 0):
        raise ValueError(f"the contest sent a frame of type {came}, version {version}; expected type {kind}")
    return request_id, rows, payload_bytes


def _fill(connection: socket.socket, view: memoryview) -> bool:
    """Read until `view` is full; False when the other side hung up first."""
    while len(view):
        try:
            # In one call where the system can: each wake-up in between would take the predicting thread's time.
            got = connection.recv_into(view, 0, socket.MSG_WAITALL)
        except ConnectionResetError:
            return False
        if got == 0:
            return False
        view = view[got:]
    return True


def _send(connection: socket.socket, kind: int, request_id: int, rows: int, payload: bytes) -> None:
    connection.sendall(frames.pack_header(kind, request_id, rows, len(payload)) + payload)


def _send_error(connection: socket.socket, text: str) -> None:
    """Send the end of a traceback, as much as a frame may hold."""
    payload = text.encode("utf-8", "replace")[-frames.MAX_TEXT_BYTES :]
    payload = payload.decode("utf-8", "ignore").encode("utf-8")  # the cut may have gone through a letter
    try:
        _send(connection, frames.ERROR, 0, 0, payload)
    except OSError:
        sys.stderr.write("the contest had hung up already\n")


def _classified(classify: Any, images: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Answer float32 images with scores alone: in the warm-up nobody looks at the labels."""
    return np.full(len(images), frames.ABSTAIN, np.int8), scores_of(classify, images)


def _checked(answer: Any, rows: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return int8 labels [N] and float32 scores [N, 2] for what `predict` returned; ValueError when it is not that."""
    labels, scores = answer, None
    if isinstance(answer, tuple) and len(answer) == 2 and np.ndim(answer[1]) > 0:
        labels, scores = answer
    numbers = _label_numbers(labels)
    if len(numbers) != rows:
        raise ValueError(f"predict returned {len(numbers)} answers for {rows} images")
    table = np.zeros((rows, len(frames.CLASSES)), np.float32) if scores is None else np.asarray(scores)
    if table.shape != (rows, len(frames.CLASSES)):
        raise ValueError(f"predict returned scores of shape {table.shape}, expected ({rows}, {len(frames.CLASSES)})")
    return np.array(numbers, np.int8), table.astype(np.float32)


def _label_numbers(labels: Any) -> List[int]:
    """Return the numbers of names or numbers; ValueError for anything else."""
    if not isinstance(labels, Iterable):
        raise ValueError(f"predict returned {type(labels).__name__}; return one answer for each image")
    numbers = [frames.LABELS.get(label, label) if isinstance(label, str) else label for label in labels]
    for number in numbers:
        if np.ndim(number) > 0:
            raise ValueError("predict answered an image with several values; return N answers, or (answers, scores)")
        if isinstance(number, (bool, str)) or number not in frames.LABELS.values():
            raise ValueError(f'predict answered {number!r}; an answer is "bird", "bicycle" or "abstain"')
    return [int(number) for number in numbers]
