"""Models of accounts: roles, invitations, sessions, and API tokens (stored as hashes)."""

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q

from accounts.enums import Role
from common.choices import choices


class AccountRole(models.Model):
    """The one role of an account (R8), written by the database's own triggers: see accounts.one_role."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="account_role"
    )
    role = models.CharField(max_length=9, choices=choices(Role))

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role}"


class Invitation(models.Model):
    """An organizer's invitation to take a role. The link's secret is kept as a hash; it works once and expires."""

    email = models.EmailField()
    role = models.CharField(max_length=9, choices=choices(Role))
    language = models.CharField(max_length=8, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    invited_at = models.DateTimeField()
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="invitation"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["email"],
                condition=Q(accepted_at__isnull=True, revoked_at__isnull=True),
                name="invitation_once_per_address",
            )
        ]

    def __str__(self) -> str:
        return f"{self.email} as {self.role}"


class UserSession(AbstractBaseSession):
    """A session with its user beside it, so that one query answers both "which session" and "who"."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")

    @classmethod
    def get_session_store_class(cls) -> type:
        from accounts.session_store import SessionStore

        return SessionStore


class ApiToken(models.Model):
    """An API token for programs. Only its SHA-256 is stored, so that a stolen table is useless.

    `auth_hash` binds it to the password at the time of issue: a change of the password ends it, as it ends sessions.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    digest = models.CharField(max_length=64, unique=True)
    auth_hash = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"token of {self.user_id}"
