"""The servers under load: one PostgreSQL cluster with durable settings, and the web servers."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import psycopg2

from bench.machine import ROOT, cpu_seconds, parent_of
from contest.operations.web_server import web_server_command
from tests.services import free_port, postgres, wait_for_port

DURABLE = ("fsync=on", "synchronous_commit=on", "shared_buffers=1GB", "max_wal_size=4GB")
WORKERS, FLOOR_THREADS = 2, 4
# Of the processes that have the labeling calls to themselves (docs/operations.md).
LABELING_THREADS = 2
_TEMPLATE = "unanimous"
_SECRET = "bench-" + "x" * 60


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running PostgreSQL; databases are made in it by name."""

    url: str
    pid: int

    def database(self, name: str) -> str:
        """Return the URL of database `name`."""
        return f"{self.url.rpartition('/')[0]}/{name}"

    def create(self, name: str, template: str = "template0") -> str:
        """Make database `name` as a copy of `template`, anew if it is there, and return its URL."""
        self.execute(f'DROP DATABASE IF EXISTS "{name}"')
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.database(name)

    def create_migrated(self, name: str, settings: str = "config.settings") -> str:
        """Make database `name` with all tables of `settings`, which are migrated once, and return its URL."""
        template = f"migrated-{settings}"
        if not self.execute(f"SELECT 1 FROM pg_database WHERE datname = '{template}'"):
            variables = environment(settings, self.create(f"{template}-unfinished"))
            python(["-m", "django", "migrate", "-v0"], variables)
            self.execute(f'ALTER DATABASE "{template}-unfinished" RENAME TO "{template}"')
        return self.create(name, template)

    def execute(self, sql: str, database: str = _TEMPLATE) -> list[tuple[object, ...]]:
        """Run statements outside a transaction, one at a time, and return the rows of the last."""
        connection = psycopg2.connect(self.database(database))
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                for statement in filter(str.strip, sql.split(";\n")):
                    cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    def cpu_seconds(self) -> float:
        """Return what all of PostgreSQL's processes have used so far."""
        return cpu_seconds(self.pid)


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """Run a fresh cluster that syncs every commit to disk."""
    with postgres(settings=DURABLE) as url:
        yield Cluster(url, _postmaster(url))


def _postmaster(url: str) -> int:
    connection = psycopg2.connect(url)
    try:
        return parent_of(connection.info.backend_pid)
    finally:
        connection.close()


def environment(settings: str, database: str, broker: str = "") -> dict[str, str]:
    """Return the environment of a process of the project or of the floor, as in production."""
    own = {"DJANGO_SETTINGS_MODULE": settings, "DATABASE_URL": database, "CELERY_BROKER_URL": broker}
    return {**os.environ, **own, "SECRET_KEY": _SECRET, "LOG_FORMAT": "json", "DEMO": "0", "PYTHONPATH": str(ROOT)}


def python(arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run Python with these arguments and return what it printed."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables, check=True, stdout=subprocess.PIPE, text=True).stdout


@dataclass(frozen=True, slots=True)
class WebServer:
    """A running web server."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Return what its processes have used so far."""
        return cpu_seconds(self.pid)


def serve(
    variables: Mapping[str, str], data: Path | None = None, *, threads: int = 16, module: str = "config.wsgi"
) -> AbstractContextManager[WebServer]:
    """Run the site, or the WSGI application of another `module`, as production does.

    `data` is its DATA_DIR, for what has pictures and static files; without it, it has an empty one.
    """
    port = free_port()
    command = web_server_command(port, workers=WORKERS, threads=threads, module=module)
    return _running(command, port, variables, data)


def serve_floor(variables: Mapping[str, str]) -> AbstractContextManager[WebServer]:
    """Run the floor as Django sites usually are: gunicorn with 2 workers of 4 threads each."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "bench.floor.wsgi", "--preload", "--bind", f"127.0.0.1:{port}"]
    command += ["--workers", str(WORKERS), "--worker-class", "gthread", "--threads", str(FLOOR_THREADS)]
    return _running([*command, "--keep-alive", "60", "--log-level", "warning"], port, variables, None)


@contextlib.contextmanager
def _running(command: Sequence[str], port: int, variables: Mapping[str, str], data: Path | None) -> Iterator[WebServer]:
    # Logs go to a file, as they would in production.
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        log = Path(folder) / "log"
        (Path(folder) / "static").mkdir()
        own = {"PUBLIC_URL": f"http://127.0.0.1:{port}", "DATA_DIR": str(data or folder)}
        with log.open("wb") as output:
            server = subprocess.Popen(command, cwd=ROOT, env={**variables, **own}, stdout=output, stderr=output)
        try:
            wait_for_port(server, port, log)
            yield WebServer(port, server.pid)
        finally:
            server.terminate()
            server.wait()
