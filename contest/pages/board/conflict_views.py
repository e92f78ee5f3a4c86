"""The registry of conflicts (R21): each member's own page, and the organizers' page of all."""

from collections.abc import Iterable, Mapping
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput, NotFound, WrongFields
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.form_fields import errors_of, go_to, text
from common.web.page import page
from contest.board.conflicts import (
    MOST_CHARACTERS,
    conflict_declare,
    conflict_dismiss,
    conflict_end,
    conflicts_find,
    declare_ties,
    ends_of,
)
from contest.board.models import Ties
from contest.board.selectors import (
    cases_not_closed,
    cases_short_of_judges,
    conflict_of,
    conflicts_of,
    conflicts_on_record,
    ties_of,
)
from contest.core.conflicts import board_members
from contest.core.enums import ConflictKind
from contest.core.models import Conflict
from contest.core.roles import board_member_of
from contest.core.teams import team_called
from contest.pages.board.disclosure_views import TIES
from contest.web.page_context import frame
from monitoring.days import day_of
from policy.selectors import policy_in_force

ON_A_PAGE = 50
KIND_WORDS = {
    ConflictKind.COAUTHOR: "co-author",
    ConflictKind.INSTITUTION: "same institution",
    ConflictKind.ADVISOR: "advisor or advisee",
    ConflictKind.MEMBER: "was in the team",
    ConflictKind.OTHER: "other",
}
# What the page of all shows, by its name in the address: whether it is over.
OVER: Mapping[str, bool | None] = {"in_force": False, "over": True, "all": None}
MOST_LIST_CHARACTERS = 20_000
LONGEST_NAME = 80
_LISTS = ("domains", "people", "papers")


# A member's own -------------------------------------------------------------------------------------------------------


@page(board_member_of, "GET POST")
def conflicts(request: HttpRequest, member: User) -> HttpResponse:
    """Show a member what ties them to teams, declared and found; let them declare, end, and tell what is looked at."""
    if request.method != "POST":
        return _own(request, member)
    try:
        words = _do_own(request, member, domain_now())
    except DomainError as error:
        return _own(request, member, error)
    messages.success(request, words)
    return go_to("board-conflicts")


def _do_own(request: HttpRequest, member: User, now: datetime) -> str:
    if "tell" in request.POST:
        return _told(request, member, now)
    if "end" in request.POST:
        found = _own_conflict(request, member)
        conflict_end(conflict_id=found.pk, reason=_reason(request), by=member, now=now)
        words = "is over. Cases that were open while it held stay closed to you."
        return f"The conflict with team {found.team.name} {words}"
    before = cases_not_closed(member)
    made = _declared(request, member, member, now)
    return f"The conflict with team {made.team.name} is on record. {_closed_words(before, member)}"


def _own_conflict(request: HttpRequest, member: User) -> Conflict:
    found = conflict_of(member, _number(request) or 0)
    if found is None:
        raise NotFound("There is no such conflict of yours.", "not_found")
    return found


def _number(request: HttpRequest) -> int | None:
    return whole_number(request.POST.get("conflict", ""))


def _reason(request: HttpRequest) -> str:
    return text(request, "reason", MOST_CHARACTERS + 1)


def _closed_words(before: set[int], member: User) -> str:
    """Return how many of the open cases that the member could know of are closed to them now."""
    closed = len(before - cases_not_closed(member))
    if not closed:
        return "No case that is open to you is about this team; what comes is closed to you."
    return f"{closed} open {'case is' if closed == 1 else 'cases are'} closed to you now, and what comes too."


def _told(request: HttpRequest, member: User, now: datetime) -> str:
    lists = {name: _lines(text(request, name, MOST_LIST_CHARACTERS)) for name in _LISTS}
    before = cases_not_closed(member)
    with transaction.atomic():
        declare_ties(member=member, **lists, now=now)
        known = set(conflicts_of(member).values_list("pk", flat=True))
        conflicts_find(now=now)
        new = conflicts_of(member).exclude(pk__in=known).select_related("team")
        names = sorted({each.team.name for each in new})
    if not names:
        return "Kept. It ties you to no team that is here now; new teams are compared with it as they come."
    return f"Kept. It ties you to {', '.join(names)}. {_closed_words(before, member)}"


def _lines(typed: str) -> list[str]:
    return [each.strip() for each in typed.replace(",", "\n").splitlines() if each.strip()]


def _declared(request: HttpRequest, member: User, by: User, now: datetime) -> Conflict:
    """Declare what the form says; WrongFields for all that is wrong at once."""
    team, since = team_called(text(request, "team", LONGEST_NAME)), _since(request, now)
    kind = request.POST.get("kind", "")
    wrong = {
        "team": "" if team else "There is no team of this name or ID. The teams page lists them.",
        "kind": "" if kind in list(TIES) else "Choose what ties you to the team.",
        "since": "" if since else "Give a day as in 2026-11-20, or leave it empty.",
    }
    if any(wrong.values()) or team is None or since is None:
        raise WrongFields({name: words for name, words in wrong.items() if words})
    words = text(request, "words", MOST_CHARACTERS + 1)
    return conflict_declare(member=member, team=team, kind=ConflictKind(kind), since=since, words=words, by=by, now=now)


def _since(request: HttpRequest, now: datetime) -> datetime | None:
    """Return the beginning of the day that was typed, in the contest's zone; now without one."""
    typed = text(request, "since", 20)
    if not typed:
        return now
    day = day_of(typed)
    return datetime.combine(day, time.min, ZoneInfo(policy_in_force(now).policy.time_zone)) if day else None


def _own(request: HttpRequest, member: User, error: DomainError | None = None) -> HttpResponse:
    now = domain_now()
    rows = _rows(conflicts_of(member).select_related("team", "declared_by").order_by("-pk"))
    ties = ties_of(member)
    telling = "tell" in request.POST
    context = {
        "in_force": [each for each in rows if each["in_force"]],
        "over": [each for each in rows if not each["in_force"]],
        "ties": ties,
        "lists": {name: _list_shown(request, name, ties, typed=bool(error) and telling) for name in _LISTS},
        "kinds": TIES.items(),
        "errors": errors_of(error) if error else {},
        "typed": request.POST if error and not telling else {},
        "longest": MOST_CHARACTERS,
    }
    status = http_status(error) if error else 200
    return render(request, "board/conflicts.html", context | frame(now), status=status)


def _list_shown(request: HttpRequest, name: str, ties: Ties | None, *, typed: bool) -> str:
    if typed:
        return request.POST.get(name, "")
    return "\n".join(getattr(ties, name)) if ties is not None else ""


def _rows(conflicts: Iterable[Conflict]) -> list[dict[str, Any]]:
    """Return conflicts as the pages show them, each with how it was ended."""
    found = list(conflicts)
    ends = ends_of(found)
    return [_row(each) | {"ended": ends.get(each.pk)} for each in found]


def _row(conflict: Conflict) -> dict[str, Any]:
    over = conflict.dismissed_at is not None or conflict.until is not None
    return {"conflict": conflict, "kind": KIND_WORDS[ConflictKind(conflict.kind)], "in_force": not over}


# All, for organizers --------------------------------------------------------------------------------------------------


@page(organizer_of, "GET POST")
def organizer_conflicts(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show organizers every conflict and the cases that too few members may judge; let them declare and dismiss."""
    if request.method != "POST":
        return _all(request)
    try:
        words = _do(request, organizer, domain_now())
    except DomainError as error:
        return _all(request, error)
    messages.success(request, words)
    return go_to("organizer-conflicts")


def _do(request: HttpRequest, by: User, now: datetime) -> str:
    if "dismiss" in request.POST:
        found = conflict_dismiss(conflict_id=_number(request) or 0, reason=_reason(request), by=by, now=now)
        return f"The conflict of {found.member.get_username()} with team {found.team.name} is dismissed."
    if "end" in request.POST:
        found = conflict_end(conflict_id=_number(request) or 0, reason=_reason(request), by=by, now=now)
        return f"The conflict of {found.member.get_username()} with team {found.team.name} is over."
    member = board_members().filter(username=text(request, "member", 150)).first()
    if member is None:
        raise InvalidInput("Choose a member of the review board.", "invalid", field="member")
    made = _declared(request, member, by, now)
    return f"The conflict of {member.get_username()} with team {made.team.name} is on record."


def _all(request: HttpRequest, error: DomainError | None = None) -> HttpResponse:
    now = domain_now()
    show = request.GET.get("show", "in_force")
    show = show if show in OVER else "in_force"
    find = request.GET.get("find", "").replace("\x00", "").strip()[:LONGEST_NAME]
    page = Paginator(conflicts_on_record(over=OVER[show], find=find), ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "show": show,
        "find": find,
        "page": page,
        "rows": _rows(page.object_list),
        "members": [(each, ties_of(each)) for each in board_members()],
        "kinds": [(kind, KIND_WORDS[kind]) for kind in TIES],
        "stuck": cases_short_of_judges(),
        "errors": errors_of(error) if error else {},
        "typed": request.POST if error else {},
        "longest": MOST_CHARACTERS,
    }
    status = http_status(error) if error else 200
    return render(request, "board/organizer_conflicts.html", context | frame(now), status=status)
