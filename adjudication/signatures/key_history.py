"""The history of the contest's signing keys: a statement names each key, and the key before it signs the statement.

Pure: standard library only. The statements and the keys of known witnesses are in `keys.json`, beside the releases.
Nobody has to trust the file: a reader who trusts one key follows the statements from it.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adjudication.signatures.signed_note import (
    NoteError,
    SecretKey,
    SignatureKind,
    SignedNote,
    VerifierKey,
    parse_note,
    parse_verifier_key,
    sign_note,
)
from adjudication.verifier.untrusted_files import NotThere, UnreadableFile, read_bytes, read_json

KEYS_FILE = "keys.json"
MAX_KEYS_BYTES = 1 << 20
_MAX_STATEMENTS = 1_000
# No checkpoint begins with this line, because a key's name has no spaces: neither can be mistaken for the other.
_HEADING = "unanimous release key v1"
_SINCE = re.compile(r"since ([1-9][0-9]{0,9})")


@dataclass(frozen=True)
class KeyStatement:
    """Which key signs the releases from number `since` of the chain on; `note` says so, signed."""

    key: VerifierKey
    since: int
    note: SignedNote


@dataclass(frozen=True)
class KeyHistory:
    """The statements, oldest first, and the witnesses whose signatures the contest collects."""

    statements: tuple[KeyStatement, ...] = ()
    witnesses: tuple[VerifierKey, ...] = ()

    @property
    def newest(self) -> KeyStatement | None:
        """The statement of the key that signs now; None before the first."""
        return self.statements[-1] if self.statements else None

    def key_for(self, size: int) -> VerifierKey | None:
        """Return the key that signs release number `size`; None for releases before the first key."""
        return _followed(self.statements).key_for(size)

    def with_witness(self, key: VerifierKey) -> "KeyHistory":
        """Return the history with one more witness; the same where it is known."""
        return self if key in self.witnesses else replace(self, witnesses=(*self.witnesses, key))

    def with_key(self, key: SecretKey, *, since: int, before: SecretKey | None) -> "KeyHistory":
        """Return the history with a statement of one more key, signed by it and by the key `before` it."""
        public = key.verifier_key()
        text = f"{_HEADING}\n{public.name}\n{public}\nsince {since}\n"
        signers = [key] if before is None else [before, key]
        note = SignedNote(text, tuple(sign_note(text, each) for each in signers))
        return replace(self, statements=(*self.statements, KeyStatement(public, since, note)))

    def encode(self) -> bytes:
        """Return the bytes of `keys.json`."""
        values = {
            "statements": [each.note.encode().decode() for each in self.statements],
            "witnesses": [str(key) for key in self.witnesses],
        }
        return f"{json.dumps(values, indent=1, ensure_ascii=False)}\n".encode()


@dataclass(frozen=True)
class FollowedKeys:
    """The keys that follow from a trusted key: each with the number of the first release that it signs."""

    periods: tuple[tuple[VerifierKey, int], ...]

    def key_for(self, size: int) -> VerifierKey | None:
        """Return the key that signs release number `size`; None for releases before the trusted key."""
        return next((key for key, since in reversed(self.periods) if since <= size), None)


def follow_keys(trusted: VerifierKey, history: KeyHistory) -> FollowedKeys:
    """Follow the statements from a trusted key on; raises NoteError where one is not signed by the key before it.

    A key that no statement names signs every release, as where `keys.json` is missing.
    """
    place = next((number for number, each in enumerate(history.statements) if each.key == trusted), None)
    if place is None:
        return FollowedKeys(((trusted, 1),))
    found = history.statements[place:]
    for number, statement in enumerate(found):
        signers = [statement.key] if number == 0 else [found[number - 1].key, statement.key]
        for signer in signers:
            if statement.note.check(signer) is None:
                raise NoteError(f"the statement of {statement.key.short} is not signed by {signer.short}")
        if number and statement.since < found[number - 1].since:
            raise NoteError(f"{statement.key.short} signs from an earlier release on than the key before it")
    return _followed(found)


def parse_keys(data: bytes) -> KeyHistory:
    """Read `keys.json`; raises NoteError where it is invalid. Signatures are checked by `follow_keys`."""
    try:
        values = read_json(data)
        statements, witnesses = _texts(values["statements"]), _texts(values["witnesses"])
    except (ValueError, KeyError, TypeError) as error:
        raise NoteError(f"{KEYS_FILE} cannot be read: {error!r}") from error
    keys = tuple(parse_verifier_key(each) for each in witnesses)
    if any(key.kind is not SignatureKind.COSIGNATURE for key in keys):
        raise NoteError(f"{KEYS_FILE} names a witness whose key is of another kind")
    return KeyHistory(tuple(_parse_statement(each) for each in statements), keys)


def read_keys(folder: Path) -> KeyHistory:
    """Read `keys.json` in a folder, empty where there is none; raises NoteError where it is invalid."""
    try:
        return parse_keys(read_bytes(folder, KEYS_FILE, MAX_KEYS_BYTES))
    except NotThere:
        return KeyHistory()
    except UnreadableFile as error:
        raise NoteError(f"{KEYS_FILE} cannot be read: {error}") from error


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > _MAX_STATEMENTS or not all(isinstance(each, str) for each in value):
        raise ValueError(f"no list of at most {_MAX_STATEMENTS:,} texts")
    return value


def _parse_statement(text: str) -> KeyStatement:
    note = parse_note(text.encode())
    lines = note.text.split("\n")
    since = _SINCE.fullmatch(lines[3]) if len(lines) == 5 and not lines[4] else None
    if since is None or lines[0] != _HEADING:
        raise NoteError("a statement of another form")
    key = parse_verifier_key(lines[2])
    if key.kind is not SignatureKind.ED25519 or key.name != lines[1]:
        raise NoteError("a statement about a key that is not the contest's")
    return KeyStatement(key, int(since[1]), note)


def _followed(statements: Iterable[KeyStatement]) -> FollowedKeys:
    return FollowedKeys(tuple((each.key, each.since) for each in statements))
