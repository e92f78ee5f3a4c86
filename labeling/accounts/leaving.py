"""Leaving: the person goes, the public ID and the answers stay (R4, R8)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from common.audit import Subject, audit, places_forget
from common.credentials import access_forget, credentials_end
from common.deadlocks import again_after_deadlock
from labeling.models import Invitation, Tasker
from labeling.services import leases_end
from labeling.signals import account_leaving


@again_after_deadlock
@transaction.atomic
def account_delete(*, user: User, now: datetime, by: User | None = None) -> str:
    """Remove the person: account, address, sessions, tokens, invitation, and what is known of their sign-ins.

    A tasker's public ID and answers stay, without anything that leads to the person; what they hold is given back.
    `by` is the organizer who does it for somebody; None: it is the person. Returns the public ID, empty for everybody
    else.
    """
    # The weaker lock: an answer that is being kept refers to this row and must not wait for us, who wait for it.
    tasker = Tasker.objects.select_for_update(of=("self",), no_key=True).filter(user=user).first()
    if tasker is not None:
        _leave(tasker, now)
    # Of a tasker the public ID alone: no row joins it to an account.
    subject: Subject = {"tasker": [tasker.public_id]} if tasker is not None else {"account": [user.pk]}
    audit("account.delete", by=by or user, subject=subject, now=now)
    places_forget(user)
    credentials_end(user)
    _forget_invitations(user, now)
    access_forget(user.get_username())
    account_leaving.send(sender=User, user=user, now=now)
    user.delete()
    return tasker.public_id if tasker is not None else ""


def _leave(tasker: Tasker, now: datetime) -> None:
    leases_end(tasker=tasker, now=now)
    Tasker.objects.filter(pk=tasker.pk).update(
        user=None, left_at=now, language="", time_zone="", preferences={}, passed={}, passed_at=None
    )


def _forget_invitations(user: User, now: datetime) -> None:
    Invitation.objects.filter(user=user).update(email="")
    if user.email:
        waiting = Invitation.objects.filter(email__iexact=user.email)
        waiting.filter(accepted_at__isnull=True, revoked_at__isnull=True).update(revoked_at=now)
        waiting.update(email="")
