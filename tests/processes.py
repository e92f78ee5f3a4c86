"""A deployment of its own for black-box tests: a fresh database and data folder, real processes, real signals."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

import psycopg2

from contest.operations.web_server import web_server_command
from tests.services import free_port

ROOT = Path(__file__).resolve().parent.parent


class Deployment:
    """Processes that share one database and one data folder; all are ended with the `with` block."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = os.environ | {
            "DATA_DIR": str(folder),
            "DATABASE_URL": database_url,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "PUBLIC_URL": self.url,
            "LOG_FORMAT": "json",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def manage(self, *arguments: str, settings: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        done = self._python("manage.py", *arguments, **({"DJANGO_SETTINGS_MODULE": settings} if settings else {}))
        assert not check or done.returncode == 0, f"{' '.join(arguments)}: {done.stdout}\n{done.stderr}"
        return done

    def _python(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment | more,
            capture_output=True,
            text=True,
            timeout=240,
        )

    def run(self, code: str) -> Any:
        """Run Python inside the deployment; returns what it assigns to `result` (JSON)."""
        end = "import json; print('\\nRESULT ' + json.dumps(result, default=str))"
        done = self._python("-c", f"import django; django.setup()\n{code}\n{end}")
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout.rsplit("RESULT ", 1)[1])

    def start(self, *command: str, log: str) -> "subprocess.Popen[bytes]":
        """Start a process in a session of its own; its output goes to `log` in the deployment's folder."""
        with open(self.folder / log, "ab") as output:
            process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=output, stderr=output, start_new_session=True
            )
        self.processes.append(process)
        return process

    def start_web(self) -> "subprocess.Popen[bytes]":
        self.manage("collectstatic", "--noinput", "-v", "0")
        web = self.start(*web_server_command(self.port, threads=4), log="web.log")
        wait_for(self.answers, "the web server")
        return web

    def answers(self) -> bool:
        with contextlib.suppress(OSError), urlopen(f"{self.url}/healthz", timeout=2) as reply:
            return bool(reply.status == 200)
        return False

    def stop(self) -> None:
        """End every process, by its process group, so that children of workers go too."""
        for process in self.processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def kill(process: "subprocess.Popen[bytes]") -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 60) -> Any:
    """Ask again until `condition` gives something true; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what} did not come within {seconds} s")


@contextlib.contextmanager
def deployment(folder: Path) -> Iterator[Deployment]:
    """Give a migrated deployment on the kind of database this test run is for."""
    with _database(folder) as url:
        deployed = Deployment(folder, url)
        # With the settings of tests, which need not run every migration again for every deployment.
        deployed.manage("migrate", "-v", "0", settings="tests.settings")
        try:
            yield deployed
        finally:
            deployed.stop()


@contextlib.contextmanager
def _database(folder: Path) -> Iterator[str]:
    server = os.environ.get("DATABASE_URL", "")
    if not server.startswith("postgres"):
        yield f"sqlite:///{folder / 'db.sqlite3'}"
        return
    name = f"black_box_{secrets.token_hex(6)}"
    _administrate(server, f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    finally:
        _administrate(server, f"DROP DATABASE {name} WITH (FORCE)")


def _administrate(server: str, statement: str) -> None:
    with contextlib.closing(psycopg2.connect(server)) as connection:
        connection.autocommit = True
        connection.cursor().execute(statement)
