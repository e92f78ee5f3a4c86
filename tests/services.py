"""A PostgreSQL cluster and a Redis server of one's own, thrown away afterwards.

As a program: `python -m tests.services COMMAND …` runs COMMAND with DATABASE_URL, TEST_REDIS_URL in its environment.
Servers listen on loopback only, on ports the system gives out, with their data in a temporary folder.
"""

import contextlib
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

_START_SECONDS = 60


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


class PostgresServer:
    """A cluster of one's own, in a folder that `remove` throws away; it can be stopped and started again."""

    def __init__(self, settings: Sequence[str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="unanimous-pg-"))
        self._folder.chmod(0o755)
        data = self._folder / "data"
        data.mkdir()
        _owned_by_server(data)
        prefix, folders, self.port = _unprivileged(), _postgres_folders(), free_port()
        initdb = [program("initdb", *folders), "-D", str(data), "-U", "unanimous", "-A", "trust", "-E", "UTF8"]
        subprocess.run([*prefix, *initdb, "--locale=C.UTF-8", "--no-sync"], check=True, stdout=subprocess.DEVNULL)
        options = ["listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=", "max_connections=200"]
        flags = [part for option in (*options, *settings) for part in ("-c", option)]
        self._command = [*prefix, program("postgres", *folders), "-D", str(data), *flags]
        self.url = f"postgres://unanimous@127.0.0.1:{self.port}/unanimous"
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and return when it answers."""
        log = self._folder / "log"
        with open(log, "ab") as output:
            self._server = subprocess.Popen(self._command, stdout=output, stderr=output, start_new_session=True)
        wait_for_port(self._server, self.port, log)
        _create_database(self.port, _postgres_folders())

    def stop(self) -> None:
        """Stop it; whoever is connected is thrown out."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            self._server.wait()
            self._server = None

    def remove(self) -> None:
        """Stop it and throw everything away."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def postgres_server(*, settings: Sequence[str] = ("fsync=off", "synchronous_commit=off")) -> Iterator[PostgresServer]:
    """Run a fresh cluster. The default settings trade durability for speed (tests)."""
    server = PostgresServer(settings)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@contextlib.contextmanager
def postgres(*, settings: Sequence[str] = ("fsync=off", "synchronous_commit=off")) -> Iterator[str]:
    """Run a fresh cluster as `postgres_server` does and yield its DATABASE_URL."""
    with postgres_server(settings=settings) as server:
        yield server.url


def _create_database(port: int, folders: list[str]) -> None:
    createdb = [program("createdb", *folders), "-h", "127.0.0.1", "-p", str(port), "-U", "unanimous", "unanimous"]
    deadline = time.monotonic() + _START_SECONDS
    while (made := subprocess.run(createdb, stderr=subprocess.PIPE)).returncode != 0:
        if b"already exists" in made.stderr:
            return
        if time.monotonic() > deadline:
            raise TimeoutError("PostgreSQL did not accept connections")
        time.sleep(0.1)


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """Run a Redis server that keeps nothing and yield its URL."""
    folder, port = Path(tempfile.mkdtemp(prefix="unanimous-redis-")), free_port()
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)],
            stdout=log,
            start_new_session=True,
        )
    try:
        wait_for_port(server, port, folder / "log")
        yield f"redis://127.0.0.1:{port}/0"
    finally:
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


def main(command: list[str]) -> int:
    """Run `command` with both services up; return its exit status."""
    with postgres() as database, redis() as broker:
        environment = os.environ | {"DATABASE_URL": database, "TEST_REDIS_URL": broker}
        return _run_to_the_end(command, environment)


def _run_to_the_end(command: list[str], environment: dict[str, str]) -> int:
    """Run `command`; at Ctrl-C, which reaches it as well, let it end in its own time before the servers go."""
    process = subprocess.Popen(command, env=environment)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
