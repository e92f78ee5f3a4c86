"""Pages of an account's messages, and of its e-mail preferences."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import ChoiceField, RadioSelect
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_filters import ChoiceFilter

from accounts.access import signed_in
from accounts.roles import is_organizer
from common.domain_clock import domain_now
from common.web.form_fields import SeeOther, go_to, redirect_with_message
from common.web.forms import Form
from common.web.lists import ListFilter, page_of
from common.web.page import page
from contest.core.enums import MessageGroup, MessageRate
from contest.core.roles import roles_of
from contest.outbox.kinds import GROUPS, RATE_WORDS
from contest.outbox.models import Message
from contest.outbox.preferences import groups_for, letter_preferences, preferences_set
from contest.outbox.selectors import (
    MessageRow,
    message_mark,
    message_of,
    messages_about,
    messages_of,
    read_mark,
    unread_of,
)
from contest.pages.account.message_access import reader_of
from policy.selectors import policy_in_force

PAGE_SIZE = 30
_NO_RATE = "Choose one of the ways that are offered for this."


class MessageFilter(ListFilter):
    """Filters messages by the group of their kind, and by whether they are unread."""

    kind = ChoiceFilter(label="About", empty_label="Everything", method="of_group")
    show = ChoiceFilter(label="Which", empty_label="All", choices=[("unread", "Unread")], method="unread")

    def __init__(self, request: HttpRequest, rows: QuerySet[Message], offered: Collection[MessageGroup]) -> None:
        super().__init__(request, rows)
        chosen = [each for each in GROUPS if each in offered or each == self.data.get("kind")]
        self.form.fields["kind"].choices = [(each.value, GROUPS[each].words) for each in chosen]

    def of_group(self, rows: QuerySet[Message], name: str, group: str) -> QuerySet[Message]:
        """Filter by group."""
        return messages_about(rows, MessageGroup(group))

    def unread(self, rows: QuerySet[Message], name: str, value: str) -> QuerySet[Message]:
        """Filter by unread."""
        return unread_of(rows)


@page(signed_in, "GET POST")
def message_list(request: HttpRequest, user: User) -> HttpResponse:
    """List the reader's messages; a POST marks the listed ones as read."""
    reader, now = reader_of(request.user), domain_now()
    filtered = MessageFilter(request, messages_of(reader), groups_for(roles_of(reader)))
    if request.method == "POST":
        read_mark(filtered.rows, now=now)
        return SeeOther(request.get_full_path())
    page = page_of(request, filtered.rows, PAGE_SIZE)
    context = {
        "page": page,
        "rows": [MessageRow(each) for each in page.object_list],
        "filter": filtered,
        "any_unread": unread_of(filtered.rows).exists(),
        **_frame(reader, now),
    }
    return render(request, "messages/messages.html", context)


def _frame(reader: User, now: Any) -> dict[str, Any]:
    return {"now": now, "zone": policy_in_force(now).policy.time_zone, "organizes": is_organizer(reader)}


@page(signed_in, "GET POST")
def message(request: HttpRequest, user: User, number: int) -> HttpResponse:
    """Show one message, which marks it as read; a POST marks it as unread."""
    reader, now = reader_of(request.user), domain_now()
    found = message_of(reader, number)
    if request.method == "POST":
        message_mark(found, now=None)
        return go_to("messages")
    if request.method == "GET":
        message_mark(found, now=now)
    context = {"row": MessageRow(found), "about": found.about, **_frame(reader, now)}
    return render(request, "messages/message.html", context)


class LetterSettingsForm(Form):
    """Choices of how a person receives each group of messages by e-mail."""

    def __init__(self, *arguments: Any, reader: User, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for wish in letter_preferences(reader, roles_of(reader)):
            always = "Deadlines, and decisions about money or a case, always reach you by e-mail."
            soon = " What ends within a day goes at once." if wish.name == MessageGroup.CASES else ""
            self.fields[wish.name.value] = ChoiceField(
                label=f"{wish.group.words}: {wish.group.about}",
                choices=[(rate.value, RATE_WORDS[rate].capitalize()) for rate in wish.group.rates],
                initial=wish.rate.value,
                widget=RadioSelect,
                help_text=always + soon if MessageRate.APP not in wish.group.rates else "",
                error_messages={"required": _NO_RATE, "invalid_choice": _NO_RATE},
            )

    def save(self, *, reader: User) -> bool:
        """Save the choices."""
        preferences_set(reader, {MessageGroup(name): rate for name, rate in self.cleaned_data.items()})
        return True


@page(signed_in, "GET POST")
def settings(request: HttpRequest, user: User) -> HttpResponse:
    """Show the reader's e-mail preferences, and save them."""
    reader = reader_of(request.user)
    form = LetterSettingsForm.of(request, reader=reader)
    if form.submit(reader=reader):
        return redirect_with_message(
            request, "Kept. It holds from now on, and for what was not sent yet.", "message-settings"
        )
    context = {"form": form, "address": reader.email, **_frame(reader, domain_now())}
    return render(request, "messages/settings.html", context, status=form.status)
