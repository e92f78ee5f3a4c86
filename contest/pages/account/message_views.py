"""The pages of messages and of their preferences."""

from typing import Any

from django.contrib import messages as flash
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from accounts.access import signed_in
from accounts.roles import is_organizer
from common.domain_clock import domain_now
from common.errors import InvalidInput
from common.web.form_fields import SeeOther, go_to, text
from common.web.page import page
from contest.core.enums import MessageGroup
from contest.core.roles import roles_of
from contest.outbox import preferences
from contest.outbox.kinds import GROUPS, RATE_WORDS
from contest.outbox.selectors import MessageRow, message_mark, message_of, messages_of, read_mark
from contest.pages.account.message_access import reader_of
from policy.selectors import policy_in_force

ON_A_PAGE = 30


@page(signed_in, "GET POST")
def message_list(request: HttpRequest, user: User) -> HttpResponse:
    """List the reader's messages; mark those of the list as read when asked to."""
    reader = reader_of(request.user)
    group, unread = _group(request), request.GET.get("show") == "unread"
    if request.method == "POST":
        read_mark(messages_of(reader, group=group), now=domain_now())
        return SeeOther(request.get_full_path())
    page = Paginator(messages_of(reader, group=group, unread=unread), ON_A_PAGE).get_page(request.GET.get("page"))
    now = domain_now()
    context = {
        "page": page,
        "rows": [MessageRow(each) for each in page.object_list],
        "group": group,
        "unread": unread,
        "groups": _groups_offered(reader, group),
        "any_unread": messages_of(reader, group=group, unread=True).exists(),
        "any": unread or group is not None or page.paginator.count,
        "query": urlencode({name: request.GET[name] for name in ("kind", "show") if request.GET.get(name)}),
        **_frame(reader, now),
    }
    return render(request, "messages/messages.html", context)


def _group(request: HttpRequest) -> MessageGroup | None:
    asked = request.GET.get("kind", "")
    return next((each for each in MessageGroup if each.value == asked), None)


def _groups_offered(reader: User, chosen: MessageGroup | None) -> list[tuple[str, str]]:
    """Return the groups that the reader is told anything of, and the chosen one."""
    offered = preferences.groups_for(roles_of(reader))
    return [(each.value, GROUPS[each].words) for each in GROUPS if each in offered or each is chosen]


def _frame(reader: User, now: Any) -> dict[str, Any]:
    return {"now": now, "zone": policy_in_force(now).policy.time_zone, "organizes": is_organizer(reader)}


@page(signed_in, "GET POST")
def message(request: HttpRequest, user: User, number: int) -> HttpResponse:
    """Show one message, which is read by that; mark it as unread when asked to."""
    reader, now = reader_of(request.user), domain_now()
    found = message_of(reader, number)
    if request.method == "POST":
        message_mark(found, now=None)
        return go_to("messages")
    if request.method == "GET":
        message_mark(found, now=now)
    context = {"row": MessageRow(found), "about": found.about, **_frame(reader, now)}
    return render(request, "messages/message.html", context)


@page(signed_in, "GET POST")
def settings(request: HttpRequest, user: User) -> HttpResponse:
    """Show how the reader wants to be written to, and keep it."""
    reader = reader_of(request.user)
    roles = roles_of(reader)
    error: InvalidInput | None = None
    if request.method == "POST":
        try:
            groups = preferences.groups_for(roles)
            preferences.preferences_set(reader, {each: text(request, each.value, 20) for each in groups})
        except InvalidInput as wrong:
            error = wrong
        else:
            flash.success(request, "Kept. It holds from now on, and for what was not sent yet.")
            return go_to("message-settings")
    context = {
        "wishes": preferences.preferences_of(reader, roles),
        "rate_words": {rate.value: words for rate, words in RATE_WORDS.items()},
        "error": error,
        "address": reader.email,
        **_frame(reader, domain_now()),
    }
    return render(request, "messages/settings.html", context, status=400 if error else 200)
