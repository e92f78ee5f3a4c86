"""The binary frames of defense protocol v1, shared by both sides.

A participant's program runs this file: Python 3.8 or later, the standard library and NumPy.
"""

import struct
from typing import Any, Dict

import numpy as np

MAGIC = b"DEF1"
VERSION = 1
HEADER = struct.Struct("<4sHHIIII")  # magic, version, kind, request id, rows, payload bytes, reserved (0)

HELLO = 1
READY = 2
BATCH = 3
ANSWER = 4
ERROR = 5

MAX_TEXT_BYTES = 4096  # bytes of a HELLO, READY or ERROR payload
MAX_ID = 2**32 - 1
CHANNELS = 3
# How a value of a picture is sent; float32 is in 0 to 1 (SPSA as published: -0.01 to 1.01).
PIXELS: Dict[str, Any] = {"uint8": np.dtype("u1"), "float32": np.dtype("<f4")}
CONTEST_PIXELS = "uint8"  # what every defense takes
WARMUP_PIXELS = "float32"

ABSTAIN, BICYCLE, BIRD = -1, 0, 1
LABELS = {"abstain": ABSTAIN, "bicycle": BICYCLE, "bird": BIRD}
CLASSES = ("bicycle", "bird")  # the order of the scores

ANSWER_ROW = np.dtype([("label", "i1"), ("zero", "u1", (3,)), ("scores", "<f4", (2,))])


def pack_header(kind: int, request_id: int, rows: int, payload_bytes: int) -> bytes:
    """Return the 24 bytes that come before a payload."""
    return HEADER.pack(MAGIC, VERSION, kind, request_id, rows, payload_bytes, 0)


def pack_answers(labels: np.ndarray, scores: np.ndarray) -> bytes:
    """Return the payload of an ANSWER: int8 labels [N] and float32 scores [N, 2] = [bicycle, bird]."""
    rows = np.zeros(len(labels), ANSWER_ROW)
    rows["label"] = labels
    rows["scores"] = scores
    return rows.tobytes()
