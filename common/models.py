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


class SecondFactor(models.Model):
    """An account that signs in with a code too. `last_step` is the half minute of the last code taken."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="second_factor"
    )
    secret = models.CharField(max_length=255)
    last_step = models.BigIntegerField()
    wrong = models.PositiveSmallIntegerField(default=0)
    wrong_at = models.DateTimeField(null=True)
    turned_on_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"second factor of {self.user_id}"


class RecoveryCode(models.Model):
    """A code that works once in place of the second factor. Only its SHA-256 is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="recovery_code_once")]

    def __str__(self) -> str:
        return f"recovery code of {self.user_id}"
