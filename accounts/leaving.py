"""Deleting an account: personal data is removed; the public ID and the answers stay (R4, R8)."""

from datetime import datetime
from typing import cast

from django.contrib.auth.models import User
from django.db import transaction

from accounts.credentials import credentials_revoke, sign_in_log_delete
from accounts.models import Invitation
from accounts.signals import account_leaving
from common.audit.trail import Subject, audit, forget_origins
from common.database.deadlocks import retry_on_deadlock


@retry_on_deadlock
@transaction.atomic
def account_delete(*, user: User, now: datetime, by: User | None = None) -> None:
    """Delete the account, address, sessions, tokens, invitation, and records of sign-ins.

    A tasker's public ID and answers stay, without anything that leads to the person; leased pictures are released.
    `by` is the organizer who deletes the account for its owner; None when the owner does.
    """
    # A tasker is named by the public ID alone: no row joins it to an account.
    answers = account_leaving.send(sender=User, user=user, now=now)
    subject = next((cast(Subject, answer) for _, answer in answers if answer), {"account": [user.pk]})
    audit("account.delete", by=by or user, subject=subject, now=now)
    forget_origins(user)
    credentials_revoke(user)
    _forget_invitations(user, now)
    sign_in_log_delete(user.get_username())
    user.delete()


def _forget_invitations(user: User, now: datetime) -> None:
    Invitation.objects.filter(user=user).update(email="")
    if user.email:
        waiting = Invitation.objects.filter(email__iexact=user.email)
        waiting.filter(accepted_at__isnull=True, revoked_at__isnull=True).update(revoked_at=now)
        waiting.update(email="")
