"""Encrypted, expiring picture addresses.

A tasker must learn nothing from an address (R3, R8): neither which picture it is nor whether it was shown before.
"""

import base64
import hashlib
from datetime import datetime, timedelta
from functools import cache, lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.urls import reverse

from labeling.models import Image

LIFETIME = timedelta(hours=1)
_TOKEN = "TOKEN"
_PURPOSE = b"unanimous picture address v1\n"


def picture_url(image: Image, *, now: datetime) -> str:
    """Return an address of the image's picture that works for an hour."""
    token = _box().encrypt_at_time(bytes.fromhex(image.pixels_sha256), int(now.timestamp()))
    return _address().replace(_TOKEN, token.decode("ascii"))


@cache
def _address() -> str:
    return reverse("picture", args=[_TOKEN])


def pixels_hash_of(token: str, *, now: datetime) -> str | None:
    """Return the pixels_sha256 an address stands for; None when it is forged or expired."""
    try:
        pixels = _box().decrypt_at_time(
            token.encode(), int(LIFETIME.total_seconds()), current_time=int(now.timestamp())
        )
    except InvalidToken:
        return None
    return pixels.hex()


def _box() -> MultiFernet:
    return _box_of(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


@lru_cache(maxsize=8)
def _box_of(*secrets: str) -> MultiFernet:
    """Seal with the first secret, open with any: a change of SECRET_KEY breaks no page on screen."""
    return MultiFernet([Fernet(_key(secret)) for secret in secrets])


def _key(secret: str) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(_PURPOSE + secret.encode()).digest())
