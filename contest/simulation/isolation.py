"""A throw-away database and folders for a simulation."""

import os
import secrets
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg2
import psycopg2.errors
from django.conf import settings
from django.core.management.base import CommandError
from psycopg2 import sql

STOPPED = 130


@dataclass(frozen=True, slots=True)
class SimulationStore:
    """Where a simulation keeps its rows and files. `database` is an address as of DATABASE_URL."""

    folder: Path
    database: str

    @classmethod
    def at(cls, folder: Path, database: str = "") -> "SimulationStore":
        """Return the place: an SQLite file in the folder unless an address names another database."""
        folder = folder.resolve()
        return cls(folder, database or f"sqlite:///{folder / 'contest.sqlite3'}")

    def make(self) -> None:
        """Make folder and database. Raises CommandError where there is something already: nothing is written over."""
        if self.folder.is_dir() and any(self.folder.iterdir()):
            raise CommandError(f"{self.folder} is not empty. Name another folder with --folder, or remove it.")
        if urlsplit(self.database).scheme.startswith("postgres"):
            _create_database(self.database)
        elif not self.database.startswith(f"sqlite:///{self.folder}"):
            raise CommandError("--database names a PostgreSQL database to create: postgres://user@host/name.")
        self.folder.mkdir(parents=True, exist_ok=True)

    def environment(self) -> dict[str, str]:
        """Return settings for a process that reaches neither the contest's rows and files nor its broker."""
        own = {
            "DATABASE_URL": self.database,
            "DATA_DIR": str(self.folder),
            "IMAGE_STORE_URL": f"file://{self.folder / 'pictures'}",
            "RELEASE_DIR": str(self.folder / "releases"),
            "RELEASE_KEY_FILE": str(self.folder / "release-key"),
            "SCORER_DIR": str(self.folder / "scorer"),
            "SECRET_KEY": secrets.token_hex(32),
            "CELERY_BROKER_URL": "",
            "EMAIL_URL": f"file://{self.folder / 'mail'}",
            "LOG_FORMAT": "console",
            # Small products of matrices: one thread each is quicker than handing them around.
            "OPENBLAS_NUM_THREADS": "1",
        }
        return os.environ | own


def _create_database(address: str) -> None:
    name = unquote(urlsplit(address).path.lstrip("/"))
    if not name:
        raise CommandError("Name the database to create: postgres://user@host/name.")
    try:
        server_do(address, "CREATE DATABASE", name)
    except psycopg2.errors.DuplicateDatabase:
        raise CommandError(f"There is a database {name} already. Name one that is to be created.") from None
    except psycopg2.Error as error:
        raise CommandError(f"The database {name} cannot be created: {str(error).strip()}") from error


def server_do(address: str, words: str, name: str) -> None:
    """Do something about the database `name` on the PostgreSQL server of an address: `CREATE DATABASE`."""
    with closing(psycopg2.connect(urlsplit(address)._replace(path="/postgres").geturl())) as server:
        server.autocommit = True  # a database is made outside of transactions
        with server.cursor() as cursor:
            cursor.execute(sql.SQL(f"{words} {{}}").format(sql.Identifier(name)))


def manage(environment: dict[str, str], *words: str) -> None:
    """Run a command to its end. Ctrl-C is handed on once, and the command's own end awaited.

    Raises CommandError when it fails, SystemExit when it was stopped and has said so, KeyboardInterrupt when it was
    stopped before it could.
    """
    process = subprocess.Popen(
        [sys.executable, "manage.py", *words], cwd=settings.BASE_DIR, env=environment, start_new_session=True
    )
    try:
        process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        if process.returncode != STOPPED:
            raise
    if process.returncode == STOPPED:
        sys.exit(STOPPED)
    if process.returncode != 0:
        raise CommandError(f"{words[0]} ended with {process.returncode}; its words are above.")
