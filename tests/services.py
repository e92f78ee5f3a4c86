"""A PostgreSQL cluster and a Redis server of one's own, thrown away afterwards unless they are to be kept.

As a program: `python -m tests.services [--keep FOLDER] COMMAND …` runs COMMAND with DATABASE_URL and TEST_REDIS_URL in
its environment. SIGTERM, Ctrl-C and the end of the terminal end the command first, then the servers. Servers listen on
loopback only, on ports the system gives out, with their data in a temporary folder; `--keep` keeps the database.
"""

import argparse
import contextlib
import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_START_SECONDS = 60
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str, *folders: str) -> str:
    """Return the path of an installed program; FileNotFoundError says what to install."""
    places = os.pathsep.join([*folders, os.environ.get("PATH", "")])
    found = shutil.which(name, path=places)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed; `make test` installs it when run as root")
    return found


def _postgres_folders() -> list[str]:
    return [str(folder) for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]


def _unprivileged() -> list[str]:
    """Return the prefix that runs PostgreSQL as somebody else: it refuses root."""
    if os.geteuid() != 0:
        return []
    return [program("setpriv"), "--reuid=postgres", "--regid=postgres", "--clear-groups"]


def _owned_by_server(folder: Path) -> None:
    if os.geteuid() == 0:
        who = pwd.getpwnam("postgres")
        os.chown(folder, who.pw_uid, who.pw_gid)


def place_to_keep(folder: Path) -> Path:
    """Return where a kept cluster lies: in `folder`, or where PostgreSQL's user cannot reach that, in /var/tmp."""
    folder.mkdir(parents=True, exist_ok=True)
    if subprocess.run([*_unprivileged(), "test", "-x", str(folder)]).returncode == 0:
        return folder
    mark = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    elsewhere = Path("/var/tmp", f"unanimous-postgres-{mark}")
    elsewhere.mkdir(exist_ok=True)
    if elsewhere.stat().st_uid != os.geteuid():
        raise PermissionError(f"{elsewhere} belongs to somebody else: remove it")
    return elsewhere


def _make_cluster(data: Path) -> None:
    """Make a cluster, whole or not at all: one that was cut short cannot be used."""
    half = data.with_name(f"{data.name}.partial")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir()
    _owned_by_server(half)
    initdb = [program("initdb", *_postgres_folders()), "-D", str(half), "-U", "unanimous", "-A", "trust", "-E", "UTF8"]
    subprocess.run([*_unprivileged(), *initdb, "--locale=C.UTF-8", "--no-sync"], check=True, stdout=subprocess.DEVNULL)
    half.rename(data)


class PostgresServer:
    """A cluster in a folder; it can be stopped and started again. `remove` throws away what is not to be kept."""

    def __init__(self, settings: Sequence[str], keep: Path | None = None) -> None:
        self._kept, self._folder = keep is not None, keep or Path(tempfile.mkdtemp(prefix="unanimous-pg-"))
        self._folder.chmod(0o755)
        data = self._folder / "data"
        if not data.exists():
            _make_cluster(data)
        self.port = free_port()
        options = ["listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=", "max_connections=200"]
        flags = [part for option in (*options, *settings) for part in ("-c", option)]
        self._command = [*_unprivileged(), program("postgres", *_postgres_folders()), "-D", str(data), *flags]
        self.url = f"postgres://unanimous@127.0.0.1:{self.port}/unanimous"
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and return when it answers."""
        log = self._folder / "log"
        with open(log, "ab") as output, signals_wait():
            self._server = subprocess.Popen(
                self._command, stdout=output, stderr=output, start_new_session=True, preexec_fn=hear_signals
            )
        wait_for_port(self._server, self.port, log)
        _create_database(self.port, _postgres_folders())

    def stop(self) -> None:
        """Stop it; whoever is connected is thrown out."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            self._server.wait()
            self._server = None

    def remove(self) -> None:
        """Stop it, and throw everything away unless it is to be kept."""
        self.stop()
        if not self._kept:
            shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def postgres_server(
    *, settings: Sequence[str] = ("fsync=off", "synchronous_commit=off"), keep: Path | None = None
) -> Iterator[PostgresServer]:
    """Run a cluster: a fresh one, or the one that is kept in the folder `keep`.

    The default settings trade durability for speed (tests).
    """
    server = PostgresServer(settings, keep)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@contextlib.contextmanager
def postgres(
    *, settings: Sequence[str] = ("fsync=off", "synchronous_commit=off"), keep: Path | None = None
) -> Iterator[str]:
    """Run a cluster as `postgres_server` does and yield its DATABASE_URL."""
    with postgres_server(settings=settings, keep=keep) as server:
        yield server.url


def _create_database(port: int, folders: list[str]) -> None:
    createdb = [program("createdb", *folders), "-h", "127.0.0.1", "-p", str(port), "-U", "unanimous", "unanimous"]
    deadline = time.monotonic() + _START_SECONDS
    while True:
        done = subprocess.run(createdb, stderr=subprocess.PIPE, text=True)
        if done.returncode == 0 or "already exists" in done.stderr:
            return
        if time.monotonic() > deadline:
            raise TimeoutError("PostgreSQL did not accept connections")
        time.sleep(0.1)


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """Run a Redis server that keeps nothing and yield its URL."""
    folder, port = Path(tempfile.mkdtemp(prefix="unanimous-redis-")), free_port()
    command = [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server: subprocess.Popen[bytes] | None = None
    try:
        with open(folder / "log", "wb") as log, signals_wait():
            server = subprocess.Popen(command, stdout=log, start_new_session=True, preexec_fn=hear_signals)
        wait_for_port(server, port, folder / "log")
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        if server is not None:
            server.terminate()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_port(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Return when something answers on `port`; raise with the log's end when the server ends or never answers."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"the server ended at once:\n{log.read_text()[-2000:]}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing answered on port {port}:\n{log.read_text()[-2000:]}")


class Ended(BaseException):
    """A signal asks for the end; `number` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Raise Ended at SIGTERM, Ctrl-C and the end of the terminal, so that every `with` block around ends its servers.

    A shell starts background jobs with interrupts ignored; here, and in the children, they are heard again.
    """

    def end(number: int, frame: object) -> None:
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)  # once is enough: the end itself is not interrupted
        raise Ended(number)

    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Hold back what asks for the end while a process starts: one that nobody holds yet would stay behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def hear_signals() -> None:
    """Take back, in a process that is about to run a program, what `signals_wait` holds back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def run_to_the_end(command: Sequence[str], environment: dict[str, str], *, ask: int = signal.SIGTERM) -> int:
    """Run `command` and return its exit status. When this process is to end (Ended), send the command the signal `ask`
    and let it end in its own time, before the servers go."""
    process: subprocess.Popen[bytes] | None = None
    try:
        with signals_wait():
            process = subprocess.Popen(command, env=environment, preexec_fn=hear_signals)
        return process.wait()
    except Ended as ended:
        if process is None:
            raise
        if not (ended.number == signal.SIGINT and _in_the_foreground()):  # Ctrl-C has reached it as well
            process.send_signal(ask)
        process.wait()
        raise


def _in_the_foreground() -> bool:
    with contextlib.suppress(OSError):
        return os.tcgetpgrp(0) == os.getpgrp()
    return False


def main(arguments: Sequence[str]) -> int:
    """Run a command with both services up; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.services", description="Run a command beside both servers.")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the database here, and use it again")
    parser.add_argument("--fresh", action="store_true", help="remove what was kept before")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run, with its arguments")
    asked = parser.parse_args(arguments)
    keep = place_to_keep(asked.keep) if asked.keep else None
    if keep and asked.fresh:
        shutil.rmtree(keep / "data", ignore_errors=True)
    settings: dict[str, Any] = {"keep": keep, "settings": ()} if keep else {}
    try:
        with ending_in_order(), postgres(**settings) as database, redis() as broker:
            if keep:
                print(f"PostgreSQL: {database}, kept in {keep}\nRedis: {broker}", flush=True)
            environment = os.environ | {"DATABASE_URL": database, "TEST_REDIS_URL": broker}
            return run_to_the_end(asked.command, environment)
    except Ended as ended:
        return 128 + ended.number
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
