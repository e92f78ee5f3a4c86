"""Who is signed in: sessions that know their user, and API tokens stored as hashes."""

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models


class UserSession(AbstractBaseSession):
    """A session with its user beside it, so that one query answers both "which session" and "who"."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")

    class Meta:
        db_table = "common_session"

    @classmethod
    def get_session_store_class(cls) -> type:
        from common.sessions import SessionStore

        return SessionStore


class ApiToken(models.Model):
    """A token for programs. Only its SHA-256 is kept: a stolen table opens nothing.

    `auth_hash` binds it to the password it was asked for with: another password ends it, as it ends sessions.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    digest = models.CharField(max_length=64, unique=True)
    auth_hash = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"token of {self.user_id}"
