"""Everything on one machine with nothing installed: pages, queues and scoring; Ctrl-C ends all of it."""

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from contest.demo.seed import SIGN_INS
from contest.pipeline import QUEUES

STOP_SECONDS = 10


class Command(BaseCommand):
    """Migrates, seeds the demo contest in demo mode, and keeps the processes running."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to serve."""
        parser.add_argument("--port", type=int, default=int(os.environ.get("PORT") or 8000))
        parser.add_argument(
            "--pages-only", action="store_true", help="show what is there and let nothing happen: no sweeps, no scoring"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare, start, and wait for Ctrl-C."""
        port = options["port"]
        _refuse_taken(port)
        # The processes started below read it: links in letters lead to where this serves.
        os.environ["PUBLIC_URL"] = os.environ.get("PUBLIC_URL") or f"http://127.0.0.1:{port}"
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        if not options["pages_only"]:
            call_command("publish_reference_defenses", verbosity=0)
            if settings.DEMO:
                _seed()
        processes = Processes(port, behind=not options["pages_only"])
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: sys.exit(0))
        try:
            self._announce(port, demo=settings.DEMO and not options["pages_only"])
            processes.watch()
        finally:
            processes.stop()

    def _announce(self, port: int, *, demo: bool) -> None:
        self.stdout.write(f"\nUnanimous is at http://127.0.0.1:{port}")
        if demo:
            self.stdout.write(f"Sign in as one of {', '.join(SIGN_INS)}; the password of all is demo-only")
            if settings.EMAIL_FILE_PATH:
                self.stdout.write(f"Letters are written to files in {settings.EMAIL_FILE_PATH}")
        self.stdout.write("Ctrl-C ends it; everything is kept.\n")


def _seed() -> None:
    """Seed in a process of its own: it scores, and would keep the device from the worker as long as it lives; and its
    settings are read anew, with the address that its letters lead to."""
    try:
        subprocess.run([sys.executable, "manage.py", "seed_demo"], cwd=settings.BASE_DIR, check=True)
    except subprocess.CalledProcessError as error:
        raise CommandError("The demo contest could not be seeded; the log above says why.") from error


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise CommandError(f"Port {port} is in use: choose another, for example PORT={port + 1}.") from None


def _web(port: int) -> list[str]:
    gunicorn = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"127.0.0.1:{port}", "--workers", "2"]
    return [*gunicorn, "--threads", "16", "--worker-class", "gthread", "--log-level", "warning"]


def _workers() -> dict[str, list[str]]:
    """Return the two workers that sweep by themselves: rulings must not wait for a defense or a release."""
    work = [sys.executable, "manage.py", "work"]
    return {"quick": [*work, "--queue", "quick"], "long": [*work, "--queue", "gpu", "--queue", "slow"]}


def _celery() -> dict[str, list[str]]:
    """Return a worker for each queue and the beat, as in production."""
    celery = [sys.executable, "-m", "celery", "-A", "config"]
    beat = [*celery, "beat", "-l", "WARNING", "-s", str(settings.DATA_DIR / "beat")]
    queues = {name: [*celery, "worker", "-Q", name, "-c", "1", "-n", f"{name}@%h", "-l", "INFO"] for name in QUEUES}
    return {**queues, "beat": beat}


class Processes:
    """The web server and the workers. A worker that dies is started again: its rows tell it where to go on."""

    def __init__(self, port: int, *, behind: bool = True) -> None:
        self._commands = {"web": _web(port)}
        if behind:
            self._commands |= _celery() if settings.CELERY_BROKER_URL else _workers()
        self._running = {name: self._start(name) for name in self._commands}

    def _start(self, name: str) -> "subprocess.Popen[bytes]":
        # A session of its own: Ctrl-C reaches this process alone, which then ends the others in order.
        return subprocess.Popen(self._commands[name], cwd=settings.BASE_DIR, start_new_session=True)

    def watch(self) -> None:
        """Start again what dies; CommandError when the web server does, because nobody could reach anything."""
        while True:
            time.sleep(1)
            for name, process in self._running.items():
                if process.poll() is None:
                    continue
                if name == "web":
                    raise CommandError("The web server ended; the log above says why.")
                self._running[name] = self._start(name)

    def stop(self) -> None:
        """End all, politely first."""
        for process in self._running.values():
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._running.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
