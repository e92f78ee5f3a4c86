"""Queries for accounts and invitations."""

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from accounts.models import Invitation


def search_accounts(words: str) -> QuerySet[User]:
    """Return the accounts with `words` in their name or address, or with `words` as their tasker ID, in the order of
    their names; all accounts for no words."""
    rows = User.objects.select_related("tasker", "account_role").order_by("username")
    named = Q(username__icontains=words) | Q(email__icontains=words) | Q(tasker__public_id__iexact=words)
    return rows.filter(named) if words else rows


def account_of_tasker(public_id: str) -> User | None:
    """Return the account of the tasker with this ID, None where it is deleted or never existed."""
    return User.objects.select_related("tasker").filter(tasker__public_id=public_id).first()


def newest_invitations(limit: int) -> QuerySet[Invitation]:
    """Return the latest invitations, newest first, with the accounts that were created from them."""
    return Invitation.objects.select_related("user").order_by("-invited_at", "-pk")[:limit]
