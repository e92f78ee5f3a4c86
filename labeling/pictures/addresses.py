"""Encrypted, expiring URLs of pictures.

A tasker must learn nothing from a URL (R3, R8): neither which picture it is nor whether it was displayed before.
"""

import base64
import binascii
import hashlib
import os
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache, lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from django.conf import settings
from django.urls import reverse

from labeling.models import Image

LIFETIME = timedelta(hours=1)
# The allowed difference between the clocks of two servers.
_CLOCK_SKEW = timedelta(minutes=1)
_TOKEN = "TOKEN"
_PURPOSE = b"unanimous picture address v2\n"
# A token is base64 of a nonce and the encrypted time (seconds) and pixels_sha256.
_NONCE_BYTES = 16
_TIME_BYTES = 8
_TAG_BYTES = 16
TOKEN_BYTES = _NONCE_BYTES + _TAG_BYTES + _TIME_BYTES + 32
TOKEN_CHARACTERS = TOKEN_BYTES // 3 * 4


def picture_url(image: Image, *, now: datetime) -> str:
    """Return an address of the image's picture that works for an hour."""
    nonce = os.urandom(_NONCE_BYTES)
    plain = int(now.timestamp()).to_bytes(_TIME_BYTES, "big") + bytes.fromhex(image.pixels_sha256)
    token = base64.urlsafe_b64encode(nonce + _ciphers()[0].encrypt(plain, [nonce]))
    return _address().replace(_TOKEN, token.decode("ascii"))


@cache
def _address() -> str:
    return reverse("picture", args=[_TOKEN])


def pixels_hash_of(token: str, *, now: datetime) -> str | None:
    """Return the pixels_sha256 an address stands for; None when it is forged or expired."""
    if len(token) != TOKEN_CHARACTERS:
        return None
    try:
        sealed = base64.b64decode(token, b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    plain = _opened(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:])
    if plain is None:
        return None
    age = timedelta(seconds=int(now.timestamp()) - int.from_bytes(plain[:_TIME_BYTES], "big"))
    return plain[_TIME_BYTES:].hex() if -_CLOCK_SKEW <= age <= LIFETIME else None


def _opened(nonce: bytes, sealed: bytes) -> bytes | None:
    for cipher in _ciphers():
        with suppress(InvalidTag):
            return cipher.decrypt(sealed, [nonce])
    return None


def _ciphers() -> tuple[AESSIV, ...]:
    return _ciphers_of(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


@lru_cache(maxsize=8)
def _ciphers_of(*secrets: str) -> tuple[AESSIV, ...]:
    """Return the ciphers: the first encrypts, all decrypt, so a change of SECRET_KEY breaks no open page."""
    return tuple(AESSIV(hashlib.sha512(_PURPOSE + secret.encode()).digest()) for secret in secrets)
