"""Defense protocol v1 by hand: what the hostile programs share. Not the kit: they send what the kit never would."""

import os
import socket
import struct
import sys

HEADER = struct.Struct("<4sHHIIII")
ROW = struct.Struct("<bxxxff")
HELLO, READY, BATCH, ANSWER, ERROR = 1, 2, 3, 4, 5


def connect():
    """Return a connection to the scorer."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(os.environ["DEFENSE_SOCKET"])
    return connection


def frame(kind, request_id=0, rows=0, payload=b"", *, magic=b"DEF1", version=1, length=None):
    """Return the bytes of a frame, right or wrong."""
    length = len(payload) if length is None else length
    return HEADER.pack(magic, version, kind, request_id, rows, length, 0) + payload


def greet():
    """Connect, say HELLO and hear READY; return the connection."""
    connection = connect()
    connection.sendall(frame(HELLO, payload=b'{"name": "hostile", "protocol": 1}'))
    _read_frame(connection)
    return connection


def read_batch(connection):
    """Return the next batch: its request id, its number of rows and its pixels. Ends the program when there is none."""
    _, request_id, rows, pixels = _read_frame(connection)
    return request_id, rows, pixels


def rows_of(labels, scores=(0.0, 0.0)):
    """Return the payload that answers `labels`."""
    return b"".join(ROW.pack(label, *scores) for label in labels)


def answer(connection, request_id, labels):
    """Answer a batch as the protocol wants it."""
    connection.sendall(frame(ANSWER, request_id, len(labels), rows_of(labels)))


def serve(label_rows):
    """Answer every batch with `label_rows(pixels of the batch, rows)` until the scorer hangs up."""
    connection = greet()
    while True:
        request_id, rows, pixels = read_batch(connection)
        answer(connection, request_id, label_rows(pixels, rows))


def birds(pixels, rows):
    """Call everything a bird."""
    return [1] * rows


def _read_frame(connection):
    header = _read(connection, HEADER.size)
    _, _, kind, request_id, rows, length, _ = HEADER.unpack(header)
    return kind, request_id, rows, _read(connection, length)


def _read(connection, length):
    parts = []
    while length:
        part = connection.recv(min(length, 1 << 20))
        if not part:
            sys.exit(0)
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
