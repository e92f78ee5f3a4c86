"""The audit trail as a hash chain: which part of an entry is public, and how each entry includes the hash of the one
before.

Pure: standard library only. This module seals and checks the trail, and the standalone verifier of releases
uses it.

A row has two parts. The public part is in the weekly release unchanged; of the private part only the SHA-256 is
published, so that later changes of it are detected. Every private part has a salt: most of them are so short that they
could be guessed from their hash. No part says which account acted: that link is
deleted with the account.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

# The hash before the first row.
BEGINNING = "0" * 64


@dataclass(frozen=True, slots=True)
class ChainRow:
    """A row of the chain: its number from 1 on, both parts, and the hashes of the row before it and of itself."""

    number: int
    public: Mapping[str, Any]
    private_sha256: str
    previous: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """The end of a chain: the number and the hash of its last row."""

    number: int = 0
    sha256: str = BEGINNING


def canonical(value: Any) -> str:
    """Return canonical JSON, the same for equal values; TypeError for values without one form, such as 0.1."""
    _refuse_fractions(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _refuse_fractions(value: Any) -> None:
    if isinstance(value, float):
        raise TypeError(f"{value!r} is written differently by different databases: keep it as text.")
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str):
        for each in value:
            _refuse_fractions(each)


def digest(part: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a part in its canonical form."""
    return hashlib.sha256(canonical(part).encode()).hexdigest()


def public_part(
    *, at: datetime, role: str, action: str, facts: Mapping[str, Any], subject: Mapping[str, Any] | None, why: str
) -> dict[str, Any]:
    """Return the public part of a row; `subject` is None where it and the reason are private."""
    part: dict[str, Any] = {"at": moment(at), "role": role, "action": action, "facts": dict(facts)}
    return part if subject is None else part | {"subject": dict(subject), "why": why}


def private_part(
    *, salt: str, origin: str, facts: Mapping[str, Any], subject: Mapping[str, Any] | None, why: str
) -> dict[str, Any]:
    """Return the private part of a row; `subject` is None where it and the reason are public."""
    part: dict[str, Any] = {"salt": salt, "origin": origin, "facts": dict(facts)}
    return part if subject is None else part | {"subject": dict(subject), "why": why}


def moment(at: datetime) -> str:
    """Return an aware time as UTC with microseconds: `2026-11-18T12:00:00.000000Z`."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def sealed(before: ChainEnd, public: Mapping[str, Any], private_sha256: str) -> ChainRow:
    """Return the row that follows `before` with these parts."""
    number = before.number + 1
    return ChainRow(number, public, private_sha256, before.sha256, _hash(number, before.sha256, public, private_sha256))


def _hash(number: int, previous: str, public: Mapping[str, Any], private_sha256: str) -> str:
    said = f"{number}\n{previous}\n{digest(public)}\n{private_sha256}\n"
    return hashlib.sha256(said.encode()).hexdigest()


def problem(before: ChainEnd, link: ChainRow) -> str:
    """Return in words why `link` does not follow `before`, empty when it does."""
    if link.number != before.number + 1:
        return f"follows row {before.number:,}, so it should have number {before.number + 1:,}"
    if link.previous != before.sha256:
        return f"names {link.previous or 'nothing'} as the hash of the row before it, which is {before.sha256}"
    if link.sha256 != (follows := _hash(link.number, link.previous, link.public, link.private_sha256)):
        return f"has the hash {link.sha256}, and its parts have {follows}"
    return ""
