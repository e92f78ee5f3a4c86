"""Keeps the results of a run in one SQLite file, so that a run that ends early loses none and goes on."""

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from defense_kit.warmup import VERSION
from defense_kit.warmup.attacks import AttackResult

_TABLE = """CREATE TABLE IF NOT EXISTS results (
    defense TEXT, version TEXT, attack TEXT, picture BLOB, scores BLOB, pixels BLOB, queries INTEGER,
    chosen TEXT, PRIMARY KEY (defense, version, attack, picture)
)"""


class InUse(Exception):
    """Another process writes this file."""


class Results:
    """Results by attack and picture, of one defense. Another defense, or version of the attacks, has its own."""

    def __init__(self, connection: sqlite3.Connection, defense: str) -> None:
        self._connection, self._defense = connection, defense

    def add(self, attack: str, picture: bytes, result: AttackResult) -> None:
        """Keep a result; it is on the disk when this returns."""
        values = (attack, picture, result.scores.tobytes(), _packed(result.picture), result.queries)
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO results (defense, version, attack, picture, scores, pixels, queries, chosen) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._defense, VERSION, *values, json.dumps(result.chosen)),
            )

    def of(self, attack: str) -> dict[bytes, AttackResult]:
        """Return the results of an attack by picture."""
        rows = self._connection.execute(
            "SELECT picture, scores, pixels, queries, chosen FROM results "
            "WHERE defense = ? AND version = ? AND attack = ?",
            (self._defense, VERSION, attack),
        )
        return {
            picture: AttackResult(
                _unpacked(pixels), np.frombuffer(scores, np.float32), int(queries), json.loads(chosen)
            )
            for picture, scores, pixels, queries, chosen in rows
        }


@contextmanager
def open_results(path: Path, defense: str, *, resume: bool) -> Iterator[Results]:
    """Open the file alone, empty unless `resume`; InUse while another process has it."""
    connection = sqlite3.connect(path, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            with connection:
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute(_TABLE)
                if not resume:
                    connection.execute("DELETE FROM results")
        except sqlite3.OperationalError as error:
            raise InUse(f"another run writes {path}: {error}") from None
        yield Results(connection, defense)
    finally:
        connection.close()


def _packed(pixels: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, pixels=pixels)
    return file.getvalue()


def _unpacked(packed: bytes) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        pixels: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = file["pixels"]
    return pixels
