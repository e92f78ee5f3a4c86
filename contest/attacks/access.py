"""Who may send attacks, see them, and how much they may send at once."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from common.errors import InvalidInput, NotAllowed
from contest.access import roles_of
from contest.attacks.uploads import MOST_BYTES
from contest.models import Team
from contest.teams.selectors import team_of

# What a form has beside its files.
_ROOM = 1024 * 1024


def member_of(user: Any) -> Team:
    """Return the team that `user` is in; NotAllowed (`not_in_a_team`) for other roles, Http404 for strangers."""
    team = team_of(user)
    if team is not None:
        return team
    if roles_of(user).names:
        raise NotAllowed("Only members of a team send attacks; this account has another role.", "not_in_a_team")
    raise Http404("nothing here for a stranger")


def reader_of(user: Any) -> tuple[Team | None, bool]:
    """Return the reader's team and whether they organize; NotAllowed for taskers, who know nothing of attacks (R8)."""
    roles = roles_of(user)
    if roles.tasker:
        raise NotAllowed(
            "Who labels pictures does not see who sent them. The start page leads to your work.", "not_for_taskers"
        )
    return (team_of(user) if roles.teams else None), roles.organizer


def refuse_too_large(request: Any) -> None:
    """Raise InvalidInput (`too_many_bytes`) for an upload that is too long, before any of it is read."""
    stated = request.META.get("CONTENT_LENGTH") or "0"
    if stated.isdecimal() and int(stated) > MOST_BYTES + _ROOM:
        most = MOST_BYTES // 1024**2
        raise InvalidInput(f"One upload has at most {most} MiB. Send several smaller ones.", "too_many_bytes")


def bounded(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Look at the length of what is sent before the check for forged requests reads all of it."""
    checked = csrf_protect(view)

    @csrf_exempt
    @wraps(view)
    def looked_at(request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
        refuse_too_large(request)
        return checked(request, *args, **values)

    return looked_at
