"""The scorer's reader of defense protocol v1: every limit is checked before a payload is read.

What arrives comes from a stranger's program. Anything that the protocol does not allow is a RunnerFault (R30).
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defense_kit import frames
from defense_kit.faults import Fault, RunnerFault
from defense_kit.logs import readable

LONGEST_NAME = 100
_CARD_MEMORY = ("CUDA out of memory", "CUDA error: out of memory", "OutOfMemoryError", "CUBLAS_STATUS_ALLOC_FAILED")
_MEMORY = ("MemoryError", "bad_alloc", "can't allocate memory", "Cannot allocate memory")
_DISK = ("No space left on device", "File too large", "Disk quota exceeded")


@dataclass(frozen=True, slots=True)
class BatchAnswers:
    """One answer per row: labels int8 [N] of -1, 0, 1 and scores float32 [N, 2] = [bicycle, bird]."""

    labels: NDArray[np.int8]
    scores: NDArray[np.float32]


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


def read_header(header: bytes | bytearray) -> Frame:
    """Return the frame that 24 bytes announce: a HELLO, ANSWER or ERROR; RunnerFault for all else."""
    magic, version, kind, request_id, rows, payload_bytes, reserved = frames.HEADER.unpack(header)
    if magic != frames.MAGIC:
        raise refuse(f"a frame began with {magic!r}, expected {frames.MAGIC!r}")
    if version != frames.VERSION:
        raise refuse(f"a frame has version {version}, expected {frames.VERSION}")
    if reserved != 0:
        raise refuse(f"the reserved field of a frame is {reserved}, expected 0")
    if kind not in (frames.HELLO, frames.ANSWER, frames.ERROR):
        raise refuse(f"a frame has type {kind}; a defense sends 1 (HELLO), 4 (ANSWER) or 5 (ERROR)")
    if kind != frames.ANSWER and payload_bytes > frames.LONGEST_TEXT:
        raise refuse(f"a frame of type {kind} has {payload_bytes} bytes, at most {frames.LONGEST_TEXT} are allowed")
    return Frame(kind, request_id, rows, payload_bytes)


def check_hello(frame: Frame) -> None:
    """RunnerFault unless the frame may be the first one."""
    if frame.kind != frames.HELLO:
        raise refuse(f"the first frame has type {frame.kind}, expected 1 (HELLO)")
    if frame.request_id or frame.rows:
        raise refuse("the request id and the rows of a HELLO have to be 0")


def check_answer(frame: Frame, request_id: int, rows: int) -> None:
    """RunnerFault unless the frame answers exactly the batch that is to be answered next."""
    if frame.kind != frames.ANSWER:
        raise refuse(f"a frame has type {frame.kind}, expected 4 (ANSWER)")
    if frame.request_id != request_id:
        raise refuse(f"answered request {frame.request_id}, expected {request_id}: batches are answered in their order")
    if frame.rows != rows:
        raise refuse(f"answered {frame.rows} rows, expected {rows}")
    if frame.payload_bytes != rows * frames.ANSWER_ROW.itemsize:
        raise refuse(f"an ANSWER has {frame.payload_bytes} bytes, expected {rows * frames.ANSWER_ROW.itemsize}")


def read_hello(payload: bytes | bytearray) -> str:
    """Return the name that a HELLO states; it is a stranger's, cut and cleaned for showing."""
    try:
        hello: Any = json.loads(payload.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise refuse(f"HELLO is not JSON in UTF-8: {error}") from None
    if not isinstance(hello, dict):
        raise refuse("HELLO is not a JSON object")
    version, name = hello.get("protocol"), hello.get("name")
    if type(version) is not int or version != frames.VERSION:  # True is an int as well, and equals 1
        raise refuse(f"HELLO does not say protocol {frames.VERSION}")
    if not isinstance(name, str):
        raise refuse("HELLO does not state a name")
    return readable(name, LONGEST_NAME).replace("\n", " ").strip()


def pack_ready(image_size: int, batch_size: int, seed: int) -> bytes:
    """Return the READY frame, whole."""
    settings = {"image_size": image_size, "batch_size": batch_size, "classes": list(frames.CLASSES), "seed": seed}
    payload = json.dumps(settings).encode()
    return frames.pack_header(frames.READY, 0, 0, len(payload)) + payload


def read_answers(payload: bytes | bytearray, rows: int) -> BatchAnswers:
    """Return the answers of a payload of the right length; `protocol` or `nonfinite` where a row is wrong."""
    if len(payload) != rows * frames.ANSWER_ROW.itemsize:
        raise refuse(f"an ANSWER has {len(payload)} bytes, expected {rows * frames.ANSWER_ROW.itemsize}")
    table = np.frombuffer(payload, frames.ANSWER_ROW)
    labels, scores = table["label"].copy(), table["scores"].astype(np.float32)
    if table["zero"].any():
        raise refuse("the three bytes after a label are not zero")
    if not np.isin(labels, list(frames.LABELS.values())).all():
        raise refuse(f"a label is {labels[(labels < -1) | (labels > 1)][0]}, expected -1, 0 or 1")
    if not np.isfinite(scores).all():
        raise RunnerFault(Fault.NONFINITE, "a score is NaN or infinite")
    return BatchAnswers(labels, scores)


def cause(text: str) -> Fault:
    """Name what ended a program, from its last words: `out_of_memory` of either kind, `disk` or `crashed`.

    The defense answers for all of them, so that a program gains nothing by lying here.
    """
    if any(words in text for words in _CARD_MEMORY):
        return Fault.GPU_OUT_OF_MEMORY
    if any(words in text for words in _MEMORY):
        return Fault.OUT_OF_MEMORY
    return Fault.DISK if any(words in text for words in _DISK) else Fault.CRASHED


def read_error(payload: bytes | bytearray) -> RunnerFault:
    """Return the fault that an ERROR frame stands for, with its text cleaned for showing."""
    text = readable(payload.decode("utf-8", "replace"), frames.LONGEST_TEXT)
    return RunnerFault(cause(text), text or "the program sent an ERROR without a text")
