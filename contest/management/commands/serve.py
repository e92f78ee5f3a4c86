"""`serve`: runs everything on one machine: pages, queues and scoring. Ctrl-C stops all."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from common.commands import ContestCommand
from contest.demo.seed import SIGN_INS, is_seeded
from contest.operations.pipeline import QUEUES
from contest.operations.web_server import web_server_command

STOP_SECONDS = 10
# How long the workers wait for the web server, which needs two seconds to start.
ANSWER_SECONDS = 10
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Settings that `make run` may have: those of the README but DEMO and DATA_DIR, which locate the settings file.
NOTED_SETTINGS = (
    *("SECRET_KEY", "SECRET_KEY_FALLBACKS", "PUBLIC_URL", "PORT", "TRUSTED_PROXIES", "DATABASE_URL", "EMAIL_URL"),
    *("EMAIL_FROM", "CONTACT_EMAIL", "CELERY_BROKER_URL", "IMAGE_STORE_URL", "S3_ENDPOINT_URL", "SCORING_DEVICE"),
    *("DEFENSE_RUNTIME", "CONTAINER_RUNTIME", "DEFENSE_REGISTRIES", "SCORER_DIR", "RELEASE_DIR"),
    *("RELEASE_KEY_FILE", "METRICS_TOKEN"),
)


class Command(ContestCommand):
    """Migrates, seeds the demo contest in demo mode, and keeps the processes running."""

    help = __doc__
    example = "./unanimous serve --port 9000"

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to serve."""
        port = "where to listen; the setting PORT by default, which is 8000 unless it is set"
        parser.add_argument("--port", type=_port, default=settings.PORT, help=port)
        parser.add_argument(
            "--pages-only", action="store_true", help="show what is there and let nothing happen: no sweeps, no scoring"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare, start, and wait for Ctrl-C."""
        port = options["port"]
        _refuse_taken_port(port)
        # The child processes read it: links in letters have this address.
        os.environ["PORT"] = str(port)
        _end_on_signals()
        if settings.DEMO:
            _note_settings()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        if not options["pages_only"]:
            call_command("publish_reference_defenses", verbosity=0)
            if settings.DEMO and not is_seeded():
                _seed()
        processes = Processes(port, with_workers=not options["pages_only"])
        try:
            processes.start()
            self._announce(port, demo=settings.DEMO and not options["pages_only"])
            processes.watch()
        finally:
            _ignore_signals()
            processes.stop()

    def _announce(self, port: int, *, demo: bool) -> None:
        self.stdout.write(f"\nUnanimous is at http://localhost:{port}")
        if demo:
            self.stdout.write(f"Sign in as one of {', '.join(SIGN_INS)}; the password of all is demo-only")
            if settings.EMAIL_FILE_PATH:
                self.stdout.write(f"Letters are written to files in {settings.EMAIL_FILE_PATH}")
            self.stdout.write("The private set is drawn: a defense for photographs fails it (docs/defenses.md)")
            self.stdout.write(f"Commands, in another terminal: {_launched()} COMMAND (`help` lists them)")
        self.stdout.write("Ctrl-C ends it; everything is kept.\n")


def _launched() -> str:
    """Return the prefix of a command for this demo; the data folder of `make run` need not be named."""
    usual = settings.DATA_DIR == settings.BASE_DIR / "var"
    return "./unanimous" if usual else f"DATA_DIR={shlex.quote(str(settings.DATA_DIR))} ./unanimous"


def _end_on_signals() -> None:
    """Let SIGTERM, Ctrl-C and the end of the terminal end this process in order.

    A shell starts background jobs with interrupts ignored, which would hold here and in the children. `nohup` ignores
    the end of the terminal on purpose.
    """
    for number in ENDING_SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: sys.exit(0))


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let signals that end this process wait until the block is over: a process that it started and does not know yet
    would be left behind. A mask would not do, which holds for one thread."""
    came: list[int] = []
    handled = [number for number in ENDING_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


def _ignore_signals() -> None:
    """Let nothing interrupt the end: Ctrl-C and SIGTERM often come together, or twice."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _note_settings() -> None:
    """Save the settings of this demo to a file that `./unanimous` reads."""
    lines = [f"{name}={os.environ[name]}\n" for name in NOTED_SETTINGS if os.environ.get(name)]
    path = settings.DATA_DIR / "demo-settings"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text("".join(lines))


def _seed() -> None:
    """Seed in a process of its own: it scores, and would keep the device from the worker as long as it lives; and its
    settings are read anew, with the address that its letters lead to."""
    seeding = subprocess.Popen(
        [sys.executable, "manage.py", "seed_demo"], cwd=settings.BASE_DIR, start_new_session=True
    )
    try:
        status = seeding.wait()
    except BaseException:
        _ignore_signals()
        _end_group(seeding)
        raise
    if status:
        raise CommandError("The demo contest could not be seeded; the log above says why.")


def _end_group(process: "subprocess.Popen[bytes]", seconds: float = STOP_SECONDS) -> None:
    """End a process that leads a session, politely first, and then whatever is left of its group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16):
        raise ArgumentTypeError(f"{text!r} is not a port: write a number from 1 to 65535")
    return int(text)


def _refuse_taken_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise CommandError(f"Port {port} is in use: choose another, for example PORT={port + 1}.") from None


def _worker_commands() -> dict[str, list[str]]:
    """Return the two workers that sweep by themselves: rulings must not wait for a defense or a release."""
    work = [sys.executable, "manage.py", "work"]
    return {"quick": [*work, "--queue", "quick"], "long": [*work, "--queue", "gpu", "--queue", "slow"]}


def _celery_commands() -> dict[str, list[str]]:
    """Return a worker for each queue and the beat, as in production."""
    celery = [sys.executable, "-m", "celery", "-A", "config"]
    beat = [*celery, "beat", "-l", "WARNING", "-s", str(settings.DATA_DIR / "beat")]
    queues = {name: [*celery, "worker", "-Q", name, "-c", "1", "-n", f"{name}@%h", "-l", "INFO"] for name in QUEUES}
    return {**queues, "beat": beat}


class Processes:
    """The web server and the workers. A worker that dies is started again: its rows tell it where to go on."""

    def __init__(self, port: int, *, with_workers: bool = True) -> None:
        self._port = port
        self._commands = {"web": web_server_command(port)}
        if with_workers:
            self._commands |= _celery_commands() if settings.CELERY_BROKER_URL else _worker_commands()
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start all of them: the web server first, and the others when it answers, so that it need not share."""
        for name in self._commands:
            self._start(name)
            if name == "web":
                self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        web, deadline = self._running["web"], time.monotonic() + ANSWER_SECONDS
        while web.poll() is None and time.monotonic() < deadline:
            connection = HTTPConnection("127.0.0.1", self._port, timeout=1)
            with suppress(OSError, HTTPException), closing(connection):
                connection.request("GET", "/healthz")
                connection.getresponse()
                return
            time.sleep(0.05)

    def _start(self, name: str) -> None:
        with _signals_held():
            # A session of its own: Ctrl-C reaches only this process, which then ends the others in order.
            self._running[name] = subprocess.Popen(self._commands[name], cwd=settings.BASE_DIR, start_new_session=True)

    def watch(self) -> None:
        """Restart processes that die; CommandError when the web server does, because then nothing can be reached."""
        while True:
            time.sleep(1)
            for name, process in self._running.items():
                if process.poll() is None:
                    continue
                if name == "web":
                    raise CommandError("The web server ended; the log above says why.")
                self._start(name)

    def stop(self) -> None:
        """End all, politely first."""
        for process in self._running.values():
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._running.values():
            _end_group(process, max(0.1, deadline - time.monotonic()))
