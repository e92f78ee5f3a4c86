"""Access to message pages: contestants, board and organizers have messages; taskers have notices (R8)."""

from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404


def reader_of(user: User | AnonymousUser) -> User:
    """Return `user`; Http404 for strangers."""
    if not isinstance(user, User):
        raise Http404("nothing here for a stranger")
    return user
