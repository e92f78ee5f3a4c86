"""Domain errors, each with a stable code."""

from typing import TypeVar

_Row = TypeVar("_Row")


class DomainError(Exception):
    """A refusal with a reason: `message` says what to do next, `code` is stable for programs.

    `field` names the input that is wrong, where there is one. `retry_after` is in how many seconds the same may be
    tried again, where that is known.
    """

    def __init__(self, message: str, code: str, *, field: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field
        self.retry_after = retry_after


class InvalidInput(DomainError):
    """The caller sent something that can be corrected (HTTP 400)."""


class WrongFields(InvalidInput):
    """Several inputs are wrong at once: `fields` maps each name to what to change."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("Some fields are wrong: " + " ".join(fields.values()), "invalid")
        self.fields = fields


class Conflict(DomainError):
    """The caller's view of the state is out of date (HTTP 409)."""


class NotFound(DomainError):
    """There is nothing that the caller may see (HTTP 404)."""


class NotAllowed(DomainError):
    """The caller is known and has the wrong role for this (HTTP 403)."""


class TooMany(DomainError):
    """The caller has used up a limit for now (HTTP 429)."""


class TooLarge(DomainError):
    """The body is longer than this address takes (HTTP 413)."""


class ServerBusy(DomainError):
    """The server has too much to do for this now (HTTP 503); nothing was kept."""


class ServiceUnavailable(DomainError):
    """A service that this server needs does not answer (HTTP 503); retry after `seconds`."""

    seconds = 5

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code, retry_after=self.seconds)


class StorageFull(ServiceUnavailable):
    """A disk or a quota is full, and so the request was undone (HTTP 507)."""

    seconds = 60


def required(row: _Row | None, error: DomainError) -> _Row:
    """Return `row`; raise `error` where it is None."""
    if row is None:
        raise error
    return row
