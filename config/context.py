"""What every page knows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from contest.access import header_roles


def site(request: HttpRequest) -> dict[str, Any]:
    """Return whether this is the demo, whose sign-ins the page may print, and the roles that the header shows.

    Roles are read only by a page that shows them: no query for a fragment or a stranger.
    """
    return {
        "demo": settings.DEMO,
        "roles": SimpleLazyObject(lambda: header_roles(request.user)),
    }
