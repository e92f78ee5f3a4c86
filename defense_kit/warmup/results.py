"""Stores the results of a run in one SQLite file, so that an interrupted run loses none and can continue."""

import io
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from defense_kit.warmup import DEFAULT, VERSION
from defense_kit.warmup.attacks import AttackResult
from defense_kit.warmup.libraries import libraries

_TABLES = (
    """CREATE TABLE IF NOT EXISTS results (
    defense TEXT, version TEXT, attack TEXT, picture BLOB, scores BLOB, pixels BLOB, queries INTEGER,
    bad_rows INTEGER, chosen TEXT, PRIMARY KEY (defense, version, attack, picture)
)""",
    """CREATE TABLE IF NOT EXISTS states (
    defense TEXT, version TEXT, attack TEXT, picture BLOB, state BLOB, bad_rows INTEGER,
    PRIMARY KEY (defense, version, attack, picture)
)""",
    """CREATE TABLE IF NOT EXISTS made_with (
    defense TEXT, version TEXT, libraries TEXT, PRIMARY KEY (defense, version)
)""",
    """CREATE TABLE IF NOT EXISTS flags (
    defense TEXT, version TEXT, flag TEXT, PRIMARY KEY (defense, version, flag)
)""",
)
_WHICH = "defense = ? AND version = ? AND attack = ?"


class UnusableResults(Exception):
    """A file of results that cannot be written to; the message says what to do."""


class Results:
    """Results by attack and picture, of one defense. Another defense, or version of the attacks, has its own; a version
    includes the mode of a run."""

    def __init__(self, connection: sqlite3.Connection, defense: str, version: str) -> None:
        self._connection, self._run = connection, (defense, version)

    def add(self, attack: str, picture: bytes, result: AttackResult) -> None:
        """Keep a result in place of a state; it is on the disk when this returns."""
        values = (attack, picture, result.scores.tobytes(), _packed(result.picture), result.queries, result.bad_rows)
        with self._connection:
            self._connection.execute(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*self._run, *values, json.dumps(result.chosen)),
            )
            self._connection.execute(
                f"DELETE FROM states WHERE {_WHICH} AND picture = ?", (*self._run, attack, picture)
            )

    def keep_states(self, attack: str, states: Mapping[bytes, tuple[bytes, int]]) -> None:
        """Keep how far an attack is on these pictures: for each its state, and the bad rows until then."""
        rows = [(*self._run, attack, picture, *kept) for picture, kept in states.items()]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?, ?, ?)", rows)

    def state(self, attack: str, picture: bytes) -> tuple[bytes, int] | None:
        """Return the state that was kept last, and the bad rows until then; None where there is none."""
        found: tuple[bytes, int] | None = self._connection.execute(
            f"SELECT state, bad_rows FROM states WHERE {_WHICH} AND picture = ?", (*self._run, attack, picture)
        ).fetchone()
        return found

    def add_flag(self, flag: str) -> None:
        """Keep what was found about the defense: later runs need not find it again."""
        with self._connection:
            self._connection.execute("INSERT OR IGNORE INTO flags VALUES (?, ?, ?)", (*self._run, flag))

    def flags(self) -> set[str]:
        """Return what was found about the defense in this run and in earlier ones."""
        found = self._connection.execute("SELECT flag FROM flags WHERE defense = ? AND version = ?", self._run)
        return {flag for (flag,) in found}

    def pictures(self, attack: str) -> set[bytes]:
        """Return the pictures that an attack is done with."""
        found = self._connection.execute(f"SELECT picture FROM results WHERE {_WHICH}", (*self._run, attack))
        return {picture for (picture,) in found}

    def of(self, attack: str) -> Iterator[tuple[bytes, AttackResult]]:
        """Yield the results of an attack with their pictures."""
        rows = self._connection.execute(
            f"SELECT picture, scores, pixels, queries, chosen, bad_rows FROM results WHERE {_WHICH}",
            (*self._run, attack),
        )
        for picture, scores, pixels, queries, chosen, bad_rows in rows:
            found = np.frombuffer(scores, np.float32)
            yield picture, AttackResult(_unpacked(pixels), found, queries, json.loads(chosen), bad_rows)


@contextmanager
def open_results(path: Path, defense: str, *, resume: bool, mode: str = DEFAULT) -> Iterator[Results]:
    """Open the file for this process alone.

    UnusableResults while another one has it, where it has results of this defense although `resume` is false (they may
    have taken days), and where those were made with other libraries.
    """
    with closing(sqlite3.connect(path, timeout=0)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            with connection:
                connection.execute("BEGIN EXCLUSIVE")
                for table in _TABLES:
                    connection.execute(table)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise UnusableResults(f"another run writes {path}") from None
        which = (defense, VERSION if mode == DEFAULT else f"{VERSION} {mode}")
        (kept,) = connection.execute(
            "SELECT count(*) FROM (SELECT defense, version FROM results UNION ALL SELECT defense, version FROM states) "
            "WHERE defense = ? AND version = ?",
            which,
        ).fetchone()
        if kept and not resume:
            words = "results of this defense: go on with --resume, or name another folder with --out"
            raise UnusableResults(f"{path} has {kept:,} {words}")
        with connection:
            if kept:
                _refuse_other_libraries(connection, path, which)
            connection.execute("INSERT OR REPLACE INTO made_with VALUES (?, ?, ?)", (*which, libraries()))
        yield Results(connection, *which)


def _refuse_other_libraries(connection: sqlite3.Connection, path: Path, which: tuple[str, str]) -> None:
    row = connection.execute("SELECT libraries FROM made_with WHERE defense = ? AND version = ?", which).fetchone()
    made_with = row[0] if row else "versions that it does not name"
    if made_with != libraries():
        raise UnusableResults(
            f"{path} was made with {made_with}, and here are {libraries()}, which may draw and decode otherwise: "
            "install the former versions, or name another folder with --out"
        )


def _packed(pixels: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, pixels=pixels)
    return file.getvalue()


def _unpacked(packed: bytes) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        pixels: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = file["pixels"]
    return pixels
