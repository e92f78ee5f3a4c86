"""Signed notes and their keys, in the format of transparency logs (https://c2sp.org/signed-note).

Pure: standard library only. A note is a text and lines with signatures. Two kinds of signature are known: Ed25519 over
the text, by the contest, and the timestamped cosignature of a witness (https://c2sp.org/tlog-cosignature).
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum

from adjudication.signatures import ed25519

# A note of a release has a few hundred bytes, and a hundred for each witness.
MAX_NOTE_BYTES = 1 << 16
MAX_SIGNATURES = 256
MAX_NAME_CHARACTERS = 200
_ID_BYTES, _TIME_BYTES = 4, 8
_LATEST = (1 << 63) - 1
_LINE = re.compile(r"\N{EM DASH} ([^ ]+) ([A-Za-z0-9+/]+={0,2})")
_KEY = re.compile(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})")
_PRIVATE = "PRIVATE+KEY+"


class NoteError(ValueError):
    """The text is not a note, not a key, or not signed as it claims; the message says why."""


class SignatureKind(IntEnum):
    """The first byte of a key: the kind of its signatures, and so the bytes that they sign."""

    ED25519 = 1
    COSIGNATURE = 4


@dataclass(frozen=True)
class VerifierKey:
    """A public key with its name: the contest's (ED25519) or a witness's (COSIGNATURE)."""

    name: str
    kind: SignatureKind
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes by which signature lines name the key, together with its name."""
        named = self.name.encode() + b"\n" + bytes([self.kind]) + self.public
        return hashlib.sha256(named).digest()[:_ID_BYTES]

    @property
    def short(self) -> str:
        """Name and ID in one word, for people to read; not a proof."""
        return f"{self.name}+{self.key_id.hex()}"

    def __str__(self) -> str:
        """Return the key as one line of text, a vkey."""
        return f"{self.short}+{_base64(bytes([self.kind]) + self.public)}"


@dataclass(frozen=True)
class SecretKey:
    """A key that signs. Its text form is that of Go's note package; whoever reads it can sign."""

    name: str
    seed: bytes

    def verifier_key(self, kind: SignatureKind = SignatureKind.ED25519) -> VerifierKey:
        """Return the public key for signatures of this kind."""
        return VerifierKey(self.name, kind, ed25519.public_key(self.seed))

    def text(self) -> str:
        """Return the secret as one line of text."""
        return f"{_PRIVATE}{self.verifier_key().short}+{_base64(bytes([SignatureKind.ED25519]) + self.seed)}"

    def __repr__(self) -> str:
        return f"SecretKey({self.name!r}, …)"


@dataclass(frozen=True)
class SignatureLine:
    """One line below a note: the key it names, and the signature by that key."""

    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        """Return the line without its end."""
        return f"\N{EM DASH} {self.name} {_base64(self.key_id + self.signature)}"

    @property
    def short(self) -> str:
        """Name and ID of the key in one word."""
        return f"{self.name}+{self.key_id.hex()}"

    @property
    def cosigned_at(self) -> int | None:
        """When a witness says that it signed, in seconds since 1970; None for a signature without a time."""
        if len(self.signature) != _TIME_BYTES + ed25519.SIGNATURE_BYTES:
            return None
        return int.from_bytes(self.signature[:_TIME_BYTES], "big")

    @property
    def cosigned_time(self) -> datetime | None:
        """The same as a time in UTC; None also for a time that no calendar has."""
        try:
            return None if self.cosigned_at is None else datetime.fromtimestamp(self.cosigned_at, UTC)
        except (OverflowError, ValueError, OSError):
            return None

    def is_by(self, key: VerifierKey) -> bool:
        """Say whether the line names this key; nothing is checked."""
        return (self.name, self.key_id) == (key.name, key.key_id)


@dataclass(frozen=True)
class SignedNote:
    """A text that ends with a newline, and its signature lines."""

    text: str
    lines: tuple[SignatureLine, ...]

    def encode(self) -> bytes:
        """Return the note's bytes."""
        return (self.text + "\n" + "".join(f"{line}\n" for line in self.lines)).encode()

    def with_line(self, line: SignatureLine) -> "SignedNote":
        """Return the note with one more line; unchanged where it has the line."""
        return self if line in self.lines else SignedNote(self.text, (*self.lines, line))

    def check(self, key: VerifierKey) -> SignatureLine | None:
        """Return the line of a key after checking it; None where the note has no line of this key.

        Raises NoteError where a line names the key and the key did not make it.
        """
        own = [line for line in self.lines if line.is_by(key)]
        for line in own:
            if not _is_made_by(key, self.text, line.signature):
                raise NoteError(f"the signature of {key.short} is not over this text")
        return own[0] if own else None


def sign_note(text: str, key: SecretKey) -> SignatureLine:
    """Return the contest's signature line under a text."""
    return SignatureLine(key.name, key.verifier_key().key_id, ed25519.sign(key.seed, text.encode()))


def cosign_note(text: str, key: SecretKey, *, at: int) -> SignatureLine:
    """Return a witness's signature line under a text; `at` is in seconds since 1970."""
    public = key.verifier_key(SignatureKind.COSIGNATURE)
    signature = ed25519.sign(key.seed, _cosigned_message(text, at))
    return SignatureLine(key.name, public.key_id, at.to_bytes(_TIME_BYTES, "big") + signature)


def parse_note(data: bytes) -> SignedNote:
    """Read a note; raises NoteError for an invalid one. No signature is checked."""
    if len(data) > MAX_NOTE_BYTES:
        raise NoteError(f"a note of more than {MAX_NOTE_BYTES:,} bytes")
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise NoteError("a note that is not UTF-8") from error
    if any(letter < " " and letter != "\n" for letter in whole):
        raise NoteError("a note with control characters")
    body, blank, below = whole.rpartition("\n\n")
    if not blank or not below.endswith("\n"):
        raise NoteError("a text without signature lines")
    lines = below[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise NoteError(f"a note of more than {MAX_SIGNATURES} signature lines")
    return SignedNote(f"{body}\n", tuple(_parse_line(line) for line in lines))


def parse_verifier_key(text: str) -> VerifierKey:
    """Read a public key, a vkey in one line; raises NoteError for an invalid one."""
    name, key_id, data = _parse_key(text)
    try:
        kind = SignatureKind(data[0])
    except (IndexError, ValueError) as error:
        raise NoteError("a key of a kind that this program does not know") from error
    public = data[1:]
    if not ed25519.is_public_key(public):
        raise NoteError("a key that is no public key of Ed25519")
    key = VerifierKey(name, kind, public)
    if key.key_id != key_id:
        raise NoteError(f"a key whose ID is not that of its name and its bytes, {key.key_id.hex()}")
    return key


def parse_secret_key(text: str) -> SecretKey:
    """Read a secret key, one line of text; raises NoteError for an invalid one, without repeating it."""
    if not text.startswith(_PRIVATE):
        raise NoteError("no private key")
    name, key_id, data = _parse_key(text.removeprefix(_PRIVATE))
    if len(data) != 1 + ed25519.SEED_BYTES or data[0] != SignatureKind.ED25519:
        raise NoteError("a private key of a kind that this program does not know")
    key = SecretKey(name, data[1:])
    if key.verifier_key().key_id != key_id:
        raise NoteError("a private key whose ID is not that of its name and its bytes")
    return key


def is_secret(text: str) -> bool:
    """Say whether a text looks like a secret key."""
    return text.startswith(_PRIVATE)


def check_key_name(name: str) -> str:
    """Return the name of a key; raises NoteError for an invalid one."""
    if not name or len(name) > MAX_NAME_CHARACTERS or "+" in name or not name.isprintable():
        raise NoteError(f"a key's name has 1 to {MAX_NAME_CHARACTERS} letters that can be seen, and no plus")
    if any(letter.isspace() for letter in name):
        raise NoteError("a key's name has no spaces")
    return name


def _parse_line(line: str) -> SignatureLine:
    found = _LINE.fullmatch(line)
    if found is None:
        raise NoteError("a signature line of another form")
    data = bytes_in_base64(found[2])
    if len(data) <= _ID_BYTES:
        raise NoteError("a signature line without a signature")
    return SignatureLine(check_key_name(found[1]), data[:_ID_BYTES], data[_ID_BYTES:])


def _parse_key(text: str) -> tuple[str, bytes, bytes]:
    found = _KEY.fullmatch(text) if len(text) <= 2 * MAX_NAME_CHARACTERS else None
    if found is None:
        raise NoteError("no key of the form name+ID+key")
    return check_key_name(found[1]), bytes.fromhex(found[2]), bytes_in_base64(found[3])


def _is_made_by(key: VerifierKey, text: str, signature: bytes) -> bool:
    if key.kind is SignatureKind.ED25519:
        return ed25519.is_signed(key.public, text.encode(), signature)
    at = int.from_bytes(signature[:_TIME_BYTES], "big")
    if at > _LATEST:
        return False
    return ed25519.is_signed(key.public, _cosigned_message(text, at), signature[_TIME_BYTES:])


def _cosigned_message(text: str, at: int) -> bytes:
    return f"cosignature/v1\ntime {at}\n{text}".encode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def bytes_in_base64(text: str) -> bytes:
    """Return the bytes that a text encodes; raises NoteError for another form than the canonical one."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise NoteError("bytes that are not in base64") from error
    if _base64(data) != text:
        raise NoteError("bytes in another form of base64 than the canonical one")
    return data
