"""The scorer's reader of defense protocol v1: every limit is checked before a payload is read.

What arrives comes from a stranger's program. Anything that the protocol does not allow is a RunnerFault (R30).
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defense_kit import frames
from defense_kit.faults import MAX_TEXT_CHARACTERS, Fault, RunnerFault
from defense_kit.logs import readable

Pixels = NDArray[np.uint8]
MAX_NAME_CHARACTERS = 100
_SENT = (frames.HELLO, frames.ANSWER, frames.ERROR)  # by a defense
_CARD_MEMORY = ("CUDA out of memory", "CUDA error: out of memory", "OutOfMemoryError", "CUBLAS_STATUS_ALLOC_FAILED")
_MEMORY = ("MemoryError", "bad_alloc", "can't allocate memory", "Cannot allocate memory")
_DISK = ("No space left on device", "File too large", "Disk quota exceeded")


@dataclass(frozen=True, slots=True)
class BatchAnswers:
    """One answer per row: labels int8 [N] of -1, 0, 1 and scores float32 [N, 2] = [bicycle, bird]."""

    labels: NDArray[np.int8]
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hello:
    """What a defense says first: its name, a stranger's words cut for showing, the pixels that it takes, and whether it
    finds them in shared memory."""

    name: str
    pixels: frozenset[str]
    shared_memory: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """A header whose fixed part is right and whose payload is no longer than its kind allows."""

    kind: int
    request_id: int
    rows: int
    payload_bytes: int


def refuse(text: str) -> RunnerFault:
    """Return the fault of a peer that broke the protocol."""
    return RunnerFault(Fault.PROTOCOL, text)


def _refuse_first(*checks: tuple[object, str]) -> None:
    """RunnerFault in the words of the first check that found something wrong."""
    for wrong, words in checks:
        if wrong:
            raise refuse(words)


def read_header(header: bytes | bytearray) -> Frame:
    """Return the frame that 24 bytes announce: a HELLO, ANSWER or ERROR; RunnerFault for all else."""
    magic, version, kind, request_id, rows, payload_bytes, reserved = frames.HEADER.unpack(header)
    too_long = kind != frames.ANSWER and payload_bytes > frames.MAX_TEXT_BYTES
    _refuse_first(
        (magic != frames.MAGIC, f"a frame began with {magic!r}, expected {frames.MAGIC!r}"),
        (version != frames.VERSION, f"a frame has version {version}, expected {frames.VERSION}"),
        (reserved != 0, f"the reserved field of a frame is {reserved}, expected 0"),
        (kind not in _SENT, f"a frame has type {kind}; a defense sends 1 (HELLO), 4 (ANSWER) or 5 (ERROR)"),
        (too_long, f"a frame of type {kind} has {payload_bytes} bytes, at most {frames.MAX_TEXT_BYTES} are allowed"),
    )
    return Frame(kind, request_id, rows, payload_bytes)


def check_hello(frame: Frame) -> None:
    """RunnerFault unless the frame may be the first one."""
    _refuse_first(
        (frame.kind != frames.HELLO, f"the first frame has type {frame.kind}, expected 1 (HELLO)"),
        (frame.request_id or frame.rows, "the request id and the rows of a HELLO have to be 0"),
    )


def check_answer(frame: Frame, request_id: int, rows: int) -> None:
    """RunnerFault unless the frame answers exactly the batch that is to be answered next."""
    came, expected, size = frame.request_id, request_id, rows * frames.ANSWER_ROW.itemsize
    _refuse_first(
        (frame.kind != frames.ANSWER, f"a frame has type {frame.kind}, expected 4 (ANSWER)"),
        (came != expected, f"answered request {came}, expected {expected}: batches are answered in their order"),
        (frame.rows != rows, f"answered {frame.rows} rows, expected {rows}"),
        (frame.payload_bytes != size, f"an ANSWER has {frame.payload_bytes} bytes, expected {size}"),
    )


def read_hello(payload: bytes | bytearray) -> Hello:
    """Return what a HELLO says; a defense that names no pixels takes those of the contest."""
    try:
        hello: Any = json.loads(payload.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise refuse(f"HELLO is not JSON in UTF-8: {error}") from None
    if not isinstance(hello, dict):
        raise refuse("HELLO is not a JSON object")
    version, name = hello.get("protocol"), hello.get("name")
    pixels = hello.get("pixels", [frames.CONTEST_PIXELS])
    if type(version) is not int or version != frames.VERSION:  # True is an int as well, and equals 1
        raise refuse(f"HELLO does not say protocol {frames.VERSION}")
    if not isinstance(name, str):
        raise refuse("HELLO does not state a name")
    if not isinstance(pixels, list) or frames.CONTEST_PIXELS not in pixels:
        raise refuse(f"HELLO does not name the pixels {frames.CONTEST_PIXELS}, which every defense takes")
    taken = frozenset(each for each in frames.PIXELS if each in pixels)
    shown = readable(name, MAX_NAME_CHARACTERS).replace("\n", " ").strip()
    return Hello(shown, taken, hello.get("shared_memory") is True)


def pack_ready(
    image_size: int, batch_size: int, seed: int, pixels: str = frames.CONTEST_PIXELS, *, shared_memory: bool = False
) -> bytes:
    """Return the READY frame, whole."""
    settings: dict[str, Any] = {
        "image_size": image_size,
        "batch_size": batch_size,
        "classes": list(frames.CLASSES),
        "seed": seed,
    }
    if pixels != frames.CONTEST_PIXELS:  # a program that reads READY by itself may know of no other
        settings["pixels"] = pixels
    if shared_memory:
        settings["shared_memory"] = True
    payload = json.dumps(settings).encode()
    return frames.pack_header(frames.READY, 0, 0, len(payload)) + payload


def read_answers(payload: bytes | bytearray, rows: int, pixels: str = frames.CONTEST_PIXELS) -> BatchAnswers:
    """Return the answers of a payload of the right length; `protocol` or `nonfinite` where a row is wrong.

    In the warm-up, whose pixels are others, a score that is not finite is an answer: the attacks count it as wrong.
    """
    if len(payload) != rows * frames.ANSWER_ROW.itemsize:
        raise refuse(f"an ANSWER has {len(payload)} bytes, expected {rows * frames.ANSWER_ROW.itemsize}")
    table = np.frombuffer(payload, frames.ANSWER_ROW)
    labels, scores = table["label"].copy(), table["scores"].astype(np.float32)
    if table["zero"].any():
        raise refuse("the three bytes after a label are not zero")
    if labels.min() < frames.ABSTAIN or labels.max() > frames.BIRD:
        raise refuse(f"a label is {labels[(labels < -1) | (labels > 1)][0]}, expected -1, 0 or 1")
    if pixels == frames.CONTEST_PIXELS and not np.isfinite(scores).all():
        raise RunnerFault(Fault.NONFINITE, "a score is NaN or infinite")
    return BatchAnswers(labels, scores)


def cause(text: str) -> Fault:
    """Name what ended a program, from its last words: `out_of_memory` of either kind, `disk` or `crashed`.

    The defense answers for all of them, so that a program gains nothing by lying here.
    """
    causes = ((Fault.GPU_OUT_OF_MEMORY, _CARD_MEMORY), (Fault.OUT_OF_MEMORY, _MEMORY), (Fault.DISK, _DISK))
    return next((fault for fault, said in causes if any(words in text for words in said)), Fault.CRASHED)


def read_error(payload: bytes | bytearray) -> RunnerFault:
    """Return the fault that an ERROR frame stands for, with its text cleaned for showing."""
    text = readable(payload.decode("utf-8", "replace"), MAX_TEXT_CHARACTERS)
    return RunnerFault(cause(text), text or "the program sent an ERROR without a text")
