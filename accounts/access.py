"""Access checks for the organizers' pages: a user without a role gets 404, a user with another role 403."""

from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404
from django.utils.translation import gettext as _

from accounts.models import AccountRole
from accounts.roles import is_organizer
from common.errors import NotAllowed


def organizer_of(user: User | AnonymousUser) -> User:
    """Return `user` if an organizer; NotAllowed (`not_an_organizer`) for other roles, Http404 for users without one."""
    if isinstance(user, User) and is_organizer(user):
        return user
    if isinstance(user, User) and AccountRole.objects.filter(user=user).exists():
        raise NotAllowed(_("Only organizers open this page; this account has another role."), "not_an_organizer")
    raise Http404("nothing here for a stranger")


def signed_in(user: User | AnonymousUser) -> User:
    """Return `user`, narrowed to the type of a signed-in user; the page requires a sign-in."""
    assert isinstance(user, User), "the page asks for a sign-in first"
    return user
