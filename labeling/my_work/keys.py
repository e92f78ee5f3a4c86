"""The site's keys that sign taskers' downloads, one derived from each SECRET_KEY, the current one first."""

from functools import lru_cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from labeling.my_work.signing import key_from, key_set


def signing_key() -> Ed25519PrivateKey:
    """Return the key that signs now."""
    return _keys(settings.SECRET_KEY)[0]


def public_keys() -> dict[str, Any]:
    """Return all public keys as a JSON Web Key Set.

    Files signed before a change of SECRET_KEY can be checked as long as the old one is in SECRET_KEY_FALLBACKS.
    """
    return key_set(_keys(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=8)
def _keys(*secrets: str) -> tuple[Ed25519PrivateKey, ...]:
    return tuple(key_from(secret) for secret in secrets)
