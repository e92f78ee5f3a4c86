"""Adapter for django-allauth's second factors: encrypts their secrets, and names the site and its accounts."""

import base64
import hashlib
from typing import Any
from urllib.parse import urlparse

from allauth.mfa import app_settings
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Encrypts secrets with SECRET_KEY; also decrypts secrets encrypted with one of SECRET_KEY_FALLBACKS."""

    def encrypt(self, text: str) -> str:
        """Return `text` encrypted for the database, so that a stolen table is useless."""
        return _keys().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return the decrypted text; InvalidToken where its key is gone."""
        return _keys().decrypt(encrypted_text.encode()).decode()

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Bind passkeys to the site's public host name, whatever host the request names."""
        return {"id": urlparse(settings.PUBLIC_URL).hostname or "", "name": app_settings.TOTP_ISSUER}

    def _get_user_identifier(self, user: Any) -> str:
        """Return the name that authenticator apps and browsers display: the user name, not the e-mail address."""
        return str(user.get_username())


def _keys() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"second factor:" + key.encode()).digest()))
