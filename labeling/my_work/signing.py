"""Signs the file of their own work that a tasker downloads, and checks such files.

Needs only `cryptography`: no Django, no database.

A signed file is JSON whose last line is its signature. That line signs the SHA-256 of all bytes before it:

    {"format": "unanimous-my-work-1",
    …
    "signature": {"algorithm": "Ed25519", "key_id": "…", "sha256": "…", "value": "…"}}

`value` is the Base64 of the Ed25519 signature of the text `unanimous-my-work-1`, line feed, `sha256`, line feed. So a
file of any length is written and checked as a stream, and no reading of the JSON can differ from what was signed.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

FORMAT = "unanimous-my-work-1"
_PURPOSE = b"unanimous my-work signing key v1"
_LAST_LINE, _END = b'"signature": ', b"}\n"


class NotGenuine(Exception):
    """A file that was not signed by any of the keys, or was changed since; the message says which."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The contents of a file's last line. `sha256` is that of all lines before it, in hexadecimal digits."""

    key_id: str
    sha256: str
    value: bytes


def key_from(secret: str) -> Ed25519PrivateKey:
    """Return the signing key that belongs to a secret of the site (HKDF with SHA-256)."""
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret.encode())
    return Ed25519PrivateKey.from_private_bytes(derived)


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    """Return the public key as its 32 bytes."""
    return key.public_key().public_bytes_raw()


def key_id_of(public: bytes) -> str:
    """Return the name of a public key: the first 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(public).hexdigest()[:16]


def key_set(keys: Iterable[Ed25519PrivateKey]) -> dict[str, Any]:
    """Return the public keys as a JSON Web Key Set."""
    return {"keys": [_web_key(public_bytes(key)) for key in keys]}


def _web_key(public: bytes) -> dict[str, str]:
    x = base64.urlsafe_b64encode(public).decode().rstrip("=")
    return {"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": key_id_of(public), "x": x}


def keys_from_jwks(key_set: Mapping[str, Any]) -> dict[str, bytes]:
    """Return key id -> public key of a JSON Web Key Set; ValueError when it is invalid."""
    try:
        publics = [_unpadded(key["x"]) for key in key_set["keys"] if key["crv"] == "Ed25519"]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("this is no set of public keys") from error
    return {key_id_of(public): public for public in publics}


def _unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signed_lines(lines: Iterable[bytes], key: Ed25519PrivateKey) -> Iterator[bytes]:
    """Yield the lines of an unfinished JSON object, each with its line feed, and then the line that signs them."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
        yield line
    sha256 = digest.hexdigest()
    yield _line_of(Signature(key_id_of(public_bytes(key)), sha256, key.sign(_message(sha256))))


def _message(sha256: str) -> bytes:
    return f"{FORMAT}\n{sha256}\n".encode()


def check_signature(lines: Iterable[bytes], keys: Mapping[str, bytes]) -> Signature:
    """Check a file, given as its lines with their line feeds, against `keys`, key id -> public key.

    Returns the signature in its last line; NotGenuine when the file is not exactly as signed.
    """
    digest, last = hashlib.sha256(), b""
    for line in lines:
        digest.update(last)
        last = line
    found = _read(last)
    if found.sha256 != digest.hexdigest():
        raise NotGenuine("The file was changed after it was signed, or is not whole.")
    if found.key_id not in keys:
        raise NotGenuine(f"The file names the key {found.key_id}, which is none of those given.")
    try:
        Ed25519PublicKey.from_public_bytes(keys[found.key_id]).verify(found.value, _message(found.sha256))
    except InvalidSignature:
        raise NotGenuine("The signature is not that of the key it names.") from None
    return found


def _read(line: bytes) -> Signature:
    try:
        said = json.loads(line.removeprefix(_LAST_LINE).removesuffix(_END))
        found = Signature(str(said["key_id"]), str(said["sha256"]), base64.b64decode(said["value"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        found = None
    # Only one form is accepted. A second key of the same name, for example, would win in many JSON parsers.
    if found is None or _line_of(found) != line:
        raise NotGenuine("The last line is no signature: the file is not whole, or never was one of ours.")
    return found


def _line_of(signature: Signature) -> bytes:
    value = base64.b64encode(signature.value).decode()
    said = {"algorithm": "Ed25519", "key_id": signature.key_id, "sha256": signature.sha256, "value": value}
    return _LAST_LINE + json.dumps(said).encode() + _END
