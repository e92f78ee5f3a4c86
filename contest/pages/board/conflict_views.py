"""Pages of board members' conflicts of interest (R21): a member's own, and the organizers' list of all."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import TextInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_filters import CharFilter, ChoiceFilter

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.form_fields import redirect_with_message
from common.web.forms import RowForm
from common.web.lists import ListFilter, page_of
from common.web.page import page
from contest.board.conflicts import conflict_ends
from contest.board.selectors import cases_short_of_judges, conflicts_of, conflicts_on_record, ties_of
from contest.core.conflicts import board_members
from contest.core.enums import ConflictKind
from contest.core.models import ConflictOfInterest
from contest.core.roles import board_member_of
from contest.pages.board.conflict_forms import (
    KIND_WORDS,
    MAX_NAME_CHARACTERS,
    DeclareConflictForm,
    DeclareForMemberForm,
    DismissConflictForm,
    EndConflictForm,
    EndOwnConflictForm,
    TiesForm,
)
from contest.web.page_context import money_context

PAGE_SIZE = 50
IN_FORCE = "in_force"


@page(board_member_of, "GET POST")
def conflicts(request: HttpRequest, member: User) -> HttpResponse:
    """Show a member's conflicts, declared and detected; let them declare and end conflicts, and list affiliations."""
    ties = ties_of(member)
    declare, end = DeclareConflictForm.of(request, action="declare"), EndOwnConflictForm.of(request, action="end")
    tell = TiesForm.of(request, action="tell", initial=TiesForm.initial_of(ties))
    if words := declare.submit(member=member) or end.submit(by=member) or tell.submit(member=member):
        return redirect_with_message(request, words, "board-conflicts")
    sent = next((form for form in (end, tell) if form.is_bound), declare)
    rows = _rows(conflicts_of(member).select_related("team", "declared_by").order_by("-pk"), end)
    context = {
        "in_force": [each for each in rows if each["in_force"]],
        "over": [each for each in rows if not each["in_force"]],
        "ties": ties,
        "form": sent,
        "declare": declare,
        "tell": tell,
    }
    return render(request, "board/conflicts.html", context | money_context(domain_now()), status=sent.status)


def _rows(conflicts: Iterable[ConflictOfInterest], *forms: RowForm) -> list[dict[str, Any]]:
    """Return rows of conflicts: ended ones with how they ended, others with the form that ends or dismisses them."""
    found = list(conflicts)
    ends = conflict_ends(found)
    return [_row(each, forms) | {"ended": ends.get(each.pk)} for each in found]


def _row(conflict: ConflictOfInterest, forms: Iterable[RowForm]) -> dict[str, Any]:
    over = conflict.dismissed_at is not None or conflict.until is not None
    fit = (form for form in forms if isinstance(form, DismissConflictForm) == conflict.found)
    form = next((each.for_row(conflict.pk) for each in fit), None)
    kind = KIND_WORDS[ConflictKind(conflict.kind)]
    return {"conflict": conflict, "kind": kind, "in_force": not over, "form": form}


# All, for organizers --------------------------------------------------------------------------------------------------


class ConflictFilter(ListFilter):
    """Filters conflicts by member or team, and by whether they are in force."""

    find = CharFilter(
        label="Member or team",
        max_length=MAX_NAME_CHARACTERS,
        widget=TextInput({"type": "search", "autocomplete": "off"}),
    )
    show = ChoiceFilter(
        label="State", empty_label=None, choices=[(IN_FORCE, "in force"), ("over", "over"), ("all", "all")]
    )

    def filter_queryset(self, queryset: QuerySet[ConflictOfInterest]) -> QuerySet[ConflictOfInterest]:
        """Filter the registry."""
        given = self.form.cleaned_data
        return conflicts_on_record(over={"over": True, "all": None}.get(given["show"], False), find=given["find"])


@page(organizer_of, "GET POST")
def organizer_conflicts(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show organizers every conflict and the cases that too few members may judge; let them declare and dismiss."""
    now = domain_now()
    declare = DeclareForMemberForm.of(request, action="declare")
    end, dismiss = EndConflictForm.of(request, action="end"), DismissConflictForm.of(request, action="dismiss")
    if words := declare.submit(by=organizer) or end.submit(by=organizer) or dismiss.submit(by=organizer):
        return redirect_with_message(request, words, "organizer-conflicts")
    sent = next((form for form in (end, dismiss) if form.is_bound), declare)
    filtered = ConflictFilter(request, conflicts_on_record(over=False, find=""))
    page = page_of(request, filtered.rows, PAGE_SIZE)
    context = {
        "filter": filtered,
        "page": page,
        "rows": _rows(page.object_list, end, dismiss),
        "members": [(each, ties_of(each)) for each in board_members()],
        "stuck": cases_short_of_judges(),
        "form": sent,
        "declare": declare,
    }
    return render(request, "board/organizer_conflicts.html", context | money_context(now), status=sent.status)
