"""Who has messages here: everybody who competes, judges or organizes. Taskers have notices of their own (R8)."""

from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404

from contest.access import not_for_taskers


def reader_of(user: User | AnonymousUser) -> User:
    """Return `user`; NotAllowed (`not_for_taskers`) for who labels, Http404 for strangers."""
    not_for_taskers(user, "messages about the contest; notices about your work are on your own pages")
    if not isinstance(user, User):
        raise Http404("nothing here for a stranger")
    return user
