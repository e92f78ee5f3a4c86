"""Recognises outages (database, picture store, disk), after which the same request may succeed later.

`outage_of` recognises the errors of drivers, the system and the store. Pages, API and workers all ask it.
"""

import errno
import time
from collections.abc import Iterator
from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils.translation import gettext as _

from common.errors import DomainError, ServiceUnavailable, StorageFull

_FULL_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# A disk that was taken away, became read-only or lost its connection.
_AWAY_ERRNOS = {errno.EIO, errno.EROFS, errno.ENXIO, errno.ENODEV, errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN}
_POSTGRES_FULL = "53100"
# PostgreSQL's temporary errors: connections, resources, the system, a server that shuts down or starts; a deadlock
# and a lock that was waited for too long; read_only_sql_transaction, which a server answers that is a copy of the real
# one. The others, such as a cancelled slow statement, are bugs.
_POSTGRES_AWAY = ("08", "53", "58", "57P", "40P01", "55P03", "25006")
# SQLite's primary result codes of temporary errors; its others, such as a table that does not exist, are bugs.
_SQLITE_FULL = 13
_SQLITE_AWAY = {5, 6, 7, 8, 10, 14, 15}  # BUSY LOCKED NOMEM READONLY IOERR CANTOPEN PROTOCOL
# Libraries of the S3 store, which is the only thing that uses them; they are not imported here. Under them lies
# urllib3, which others use as well.
_STORE_LIBRARIES = {"boto3", "botocore", "s3transfer"}
_DEEPEST = 10
_TRACE_SECONDS = 60
log = structlog.get_logger(__name__)


def database_away() -> ServiceUnavailable:
    """Return the refusal while the database does not answer, or is locked for too long."""
    words = _(
        "The database does not answer at the moment. What was saved before is kept. If you were sending something, "
        "look whether it arrived, and send it again if it did not."
    )
    return ServiceUnavailable(words, "database_away")


def store_away() -> ServiceUnavailable:
    """Return the refusal while the picture store does not answer."""
    words = _("The picture store does not answer at the moment. What was saved before is kept. Try again in a moment.")
    return ServiceUnavailable(words, "store_away")


def storage_full() -> StorageFull:
    """Return the refusal while a disk is full."""
    words = _(
        "The server has no room left on its disk. Nothing of this request was saved; what was saved before is kept. "
        "Try again in some minutes."
    )
    return StorageFull(words, "storage_full")


def outage_of(error: BaseException | None) -> ServiceUnavailable | None:
    """Return the refusal for an error that an outage caused; None for every other error."""
    for each in _causes(error):
        if found := _outage(each):
            return found
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _depth in range(_DEEPEST):
        if error is None:
            return
        yield error
        # An error before a bug of ours is its cause only with an explicit `raise … from`.
        error = error.__cause__ or (error.__context__ if _is_of_a_driver(error) else None)


def _is_of_a_driver(error: BaseException) -> bool:
    """Say whether an error is of a driver, the system or a store: their own handling of a failure may fail as well."""
    return isinstance(error, DatabaseError | InterfaceError | OSError) or _is_of_the_store(error)


def _is_of_the_store(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in _STORE_LIBRARIES


def _outage(error: BaseException) -> ServiceUnavailable | None:
    if isinstance(error, ServiceUnavailable):
        return error
    if isinstance(error, DatabaseError | InterfaceError):
        return _database_outage(error)
    if _is_of_the_store(error):
        return store_away()
    if isinstance(error, OSError) and error.errno in _FULL_ERRNOS:
        return storage_full()
    return store_away() if isinstance(error, OSError) and error.errno in _AWAY_ERRNOS else None


def _database_outage(error: Exception) -> ServiceUnavailable | None:
    driver: Any = error.__cause__
    postgres, sqlite = getattr(driver, "pgcode", None), getattr(driver, "sqlite_errorcode", None)
    if postgres == _POSTGRES_FULL or (sqlite is not None and sqlite & 0xFF == _SQLITE_FULL):
        return storage_full()
    if sqlite is not None:
        return database_away() if sqlite & 0xFF in _SQLITE_AWAY else None
    if postgres is not None:
        return database_away() if postgres.startswith(_POSTGRES_AWAY) else None
    return database_away() if isinstance(error, OperationalError | InterfaceError) else None


class TraceOnce:
    """Says where an outage was met: once a minute, so that the log of a busy site is not traces alone."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}

    def log(self, outage: DomainError, error: BaseException) -> None:
        """Write a line about a request that `outage` ended."""
        now = time.monotonic()
        shown = now >= self._next.get(outage.code, now)
        if shown:
            self._next[outage.code] = now + _TRACE_SECONDS
        words = f"{type(error).__name__}: {error}".strip()
        log.error("outage", code=outage.code, error=words, **({"exc_info": error} if shown else {}))


class OutageLog:
    """Logs one line when an outage begins and one when it is over, however often work fails in between."""

    def __init__(self) -> None:
        self._failing: dict[str, set[str]] = {}
        self._began: dict[str, float] = {}

    def failed(self, work: str, error: BaseException) -> bool:
        """Note that `work` failed; False when no outage is the cause, and the caller has to say what happened."""
        outage = outage_of(error)
        if outage is None:
            return False
        if outage.code not in self._began:
            self._began[outage.code] = time.monotonic()
            words = f"{type(error).__name__}: {error}".strip()
            log.error("outage", code=outage.code, work=work, error=words, exc_info=error)
        self._failing.setdefault(outage.code, set()).add(work)
        return True

    def succeeded(self, work: str) -> None:
        """Note that `work` succeeded: its outage is over."""
        for code in [code for code, works in self._failing.items() if work in works]:
            del self._failing[code]
            log.info("outage_over", code=code, seconds=round(time.monotonic() - self._began.pop(code), 1))


outages, traces = OutageLog(), TraceOnce()
