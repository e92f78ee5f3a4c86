"""Base class of management commands: help with an example, and errors in one sentence.

`run_command` is the whole of `manage.py`. With `--traceback` an error is shown in full.
"""

import errno
import os
import signal
import sys
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility
from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    DjangoHelpFormatter,
    handle_default_options,
)
from django.db import DatabaseError, connections
from django.db.migrations.exceptions import InconsistentMigrationHistory

from common.errors import DomainError

PROGRAM = "unanimous"
EXIT_FAILED, EXIT_USAGE, EXIT_STOPPED, EXIT_NO_READER = 1, 2, 128 + signal.SIGINT, 128 + signal.SIGPIPE

_NO_TABLES = "The database has no tables yet, or not those of this version: run `./unanimous migrate`."
# Decision 0028: no migration leads from the tables of earlier versions to these.
_OTHER_TABLES = (
    "An earlier version made this database, and it cannot be upgraded: set DATA_DIR (or DATABASE_URL) to a new, empty "
    "place, or move the old data away, and start again."
)
_FULL = "The disk is full"
# SQLite has words only; they begin the sentence. PostgreSQL's codes are at the end of this table.
_DATABASE = (
    ("no such table", _NO_TABLES),
    ("no such column", _NO_TABLES),
    ("has no column", _NO_TABLES),
    ("unable to open database file", "The database file cannot be opened: check DATA_DIR or DATABASE_URL."),
    ("readonly database", "The database file cannot be written: check whose it is."),
    ("database is locked", "Another process is writing to the database: run the same command again."),
    ("disk is full", f"{_FULL}: the database took nothing in."),
    ("not a database", "The database file is not an SQLite database: check DATA_DIR or DATABASE_URL."),
    ("malformed", "The database file is damaged: restore a backup."),
)
_DATABASE_CODES = {
    "42P01": _NO_TABLES,
    "42703": _NO_TABLES,
    "3F000": _NO_TABLES,
    "42501": "The database refuses this to the user in DATABASE_URL: check what that user may do.",
    "53100": f"{_FULL}: the database took nothing in.",
}
# Errors of other services, by the package that raises them.
_SERVICES = {
    "kombu": "The broker does not answer (CELERY_BROKER_URL)",
    "redis": "The broker does not answer (CELERY_BROKER_URL)",
    "botocore": "The picture store does not answer, or refuses (IMAGE_STORE_URL)",
    "docker": "The container engine does not answer (DOCKER_HOST)",
}


class ContestCommand(BaseCommand):
    """A command whose help ends with an example. Its errors propagate unchanged: `run_command` words them."""

    example = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Return the parser, with the example below the options."""
        given = {"epilog": f"Example: {self.example}", "formatter_class": _Help}
        return super().create_parser(prog_name, subcommand, **(given | kwargs))

    def run_from_argv(self, argv: list[str]) -> None:
        """Run with the words of the command line; Django's own would print the name of the error's class."""
        try:
            parsed = self.create_parser(argv[0], argv[1]).parse_args(argv[2:])
        except CommandError as error:
            wrong = str(error).removeprefix("Error: ")
            raise CommandError(f"{wrong}. See ./{PROGRAM} {argv[1]} --help.", returncode=EXIT_USAGE) from None
        handle_default_options(parsed)
        options = vars(parsed)
        try:
            self.execute(*options.pop("args", ()), **options)
        finally:
            connections.close_all()


class _Help(DjangoHelpFormatter):
    """Keeps an example in one line, so that it can be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("Example: ") else super()._fill_text(text, width, indent)


def run_command(argv: list[str]) -> None:
    """Run the command that `argv` names, the program's name first. Exits with 1 and a sentence where it fails, with 130
    where it was interrupted; output leaves line by line, also into a pipe."""
    _write_lines(sys.stdout)
    try:
        ManagementUtility([PROGRAM, *argv[1:]]).execute()
        sys.stdout.flush()
    except KeyboardInterrupt:
        _end("Stopped.", EXIT_STOPPED)
    except BrokenPipeError:
        _leave_unread()
    except Exception as error:
        if "--traceback" in argv:
            raise
        status = error.returncode if isinstance(error, CommandError) else EXIT_FAILED
        _end(sentence(error, command=" ".join(argv[1:2])), status)


def sentence(error: Exception, *, command: str) -> str:
    """Say in one sentence what is wrong and what to do; for a bug, its class and how to see the traceback."""
    if isinstance(error, CommandError | ImproperlyConfigured):
        return str(error)
    if isinstance(error, DomainError):
        return error.message
    if isinstance(error, InconsistentMigrationHistory):
        return _OTHER_TABLES
    found = _of_database(error) if isinstance(error, DatabaseError) else _of_others(error)
    return found or f"{command} failed, {type(error).__name__}: {_line(error)}. See where with --traceback."


def _of_database(error: DatabaseError) -> str:
    code = getattr(error.__cause__, "pgcode", None)
    if code in _DATABASE_CODES:
        return _DATABASE_CODES[code]
    words = str(error)
    for part, said in _DATABASE:
        if part in words:
            return said
    if code is None and "connection" in words or "could not translate host name" in words:
        return f"The database does not answer (DATABASE_URL): {_line(error)}."
    return ""


def _of_others(error: Exception) -> str:
    package = type(error).__module__.partition(".")[0]
    if package in _SERVICES:
        return f"{_SERVICES[package]}: {_line(error)}."
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, EOFError):
        return "The input ended before an answer was typed: run this at a terminal."
    if isinstance(error, UnicodeDecodeError):
        return f"A file that should be text is not UTF-8 ({error.reason} at byte {error.start:,}): save it as UTF-8."
    if isinstance(error, ModuleNotFoundError):
        return f"The package {error.name} is not installed: run `make run`, which installs what is missing."
    return ""


def _of_system(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"{_FULL}{f': {error.filename}' if error.filename else ''}. Make room and run the same command again."
    if not error.strerror:
        return ""
    return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no more is known"])[0].rstrip(" .:")


def _write_lines(stream: Any) -> None:
    """Let each line leave at once, and write what the terminal's character set lacks as an escape."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")


def _end(words: str, status: int) -> None:
    sys.stderr.write(f"{words}\n")
    sys.exit(status)


def _leave_unread() -> None:
    """End quietly where the reader of a pipe has ended (`| head`); Python would otherwise complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(EXIT_NO_READER)
