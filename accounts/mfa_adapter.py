"""What django-allauth asks this site about second factors: how secrets are encrypted, and how accounts are named."""

import base64
import hashlib
from typing import Any
from urllib.parse import urlparse

from allauth.mfa import app_settings
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Encrypts with SECRET_KEY; decrypts what was encrypted with one of SECRET_KEY_FALLBACKS too."""

    def encrypt(self, text: str) -> str:
        """Return `text` as it is kept: a stolen table opens nothing."""
        return _keys().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return what was encrypted; InvalidToken where the key is gone."""
        return _keys().decrypt(encrypted_text.encode()).decode()

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Bind passkeys to the site's public name, whatever name the request came by."""
        return {"id": urlparse(settings.PUBLIC_URL).hostname or "", "name": app_settings.TOTP_ISSUER}

    def _get_user_identifier(self, user: Any) -> str:
        """Return the name that authenticator apps and browsers show: that of the sign-in, not the address."""
        return str(user.get_username())


def _keys() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"second factor:" + key.encode()).digest()))
