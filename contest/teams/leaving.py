"""Removes a deleted account from its team, and passes the captaincy on."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from contest.core.models import Member
from contest.outbox.writing import person_forget
from contest.teams.letters import notify_team
from contest.teams.models import Entitlement, TeamInvitation
from contest.teams.selectors import speaks_for
from contest.teams.services import lock_member, member_end


def account_forget(sender: Any, *, user: User, now: datetime, **_: Any) -> None:
    """End the membership, pass the captaincy on, and forget the person's addresses. Answers `account_leaving`."""
    person_forget(user)
    if Member.objects.filter(user=user).exists():
        member = lock_member(user)
        lost = speaks_for(user, member.team, now)
        member_end(member, now=now, forgotten=True)
        notify_team(member.team, "left", now=now, who="A member, whose account was deleted,", not_entitled=lost)
    _forget_addresses(user, now)


def _forget_addresses(user: User, now: datetime) -> None:
    papers = Q(author=user)
    if user.email:
        invitations = TeamInvitation.objects.filter(email__iexact=user.email)
        invitations.filter(accepted_at__isnull=True, withdrawn_at__isnull=True).update(withdrawn_at=now)
        invitations.update(email="")
        papers |= Q(email__iexact=user.email)
    Entitlement.objects.filter(papers).update(author=None, email="")
