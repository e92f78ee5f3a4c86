"""The organizers' pages of the policy: what holds, what held and is to come, and recording another version."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from accounts.locale import zone_names
from common.domain_clock import domain_now
from common.errors import DomainError
from common.times import absolute
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.form_fields import errors_of, go_to
from common.web.page import page
from contest.core.conflicts import board_members
from contest.core.weeks import week_at
from contest.pages.organizer.policy_forms import TypedPolicy
from contest.pages.organizer.what_if_forms import TypedNumbers
from contest.policy_changes.moments import moment_text
from contest.policy_changes.numbers import GROUPS, NUMBERS, changes
from contest.policy_changes.selectors import PolicyState, PolicyVersionRow, numbers_in_force, policy_history
from contest.policy_changes.services import (
    MOST_REASON_CHARACTERS,
    PolicyDraft,
    policy_call_back,
    policy_draft,
    policy_record,
)
from policy.selectors import policy_in_force

# The fields that are no numbers.
_ELSE = {"since": "From when on", "reason": "Reason"}
# What "What if" can try.
TRIED = {"panel_size", "outline_gate", "min_box_fraction", "occlusion_allowed"}


@page(organizer_of, "GET POST")
def policy(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show every version with what it changed and by whom, and call back the newest one before it holds."""
    now = domain_now()
    if request.method != "POST":
        return _page(request, now)
    version = whole_number(request.POST.get("version", ""), digits=9) or 0
    try:
        row = policy_call_back(version, reason=request.POST.get("reason", ""), by=organizer, now=now)
    except DomainError as error:
        return _page(request, now, error)
    messages.success(request, f"Version {version} is called back. Version {row.version} goes on with what holds now.")
    return go_to("policy")


def _page(request: HttpRequest, now: datetime, error: DomainError | None = None) -> HttpResponse:
    found = policy_history(now=now)
    held = {each.number.name: each for each in numbers_in_force(found)}
    context = {
        "versions": found,
        "in_force": next(each for each in found if each.state is PolicyState.IN_FORCE),
        "coming": [each for each in reversed(found) if each.state is PolicyState.TO_COME],
        "past": [each for each in found if each.state in (PolicyState.PAST, PolicyState.NEVER)],
        "newest": found[0].version,
        "groups": {title: [held[each.name] for each in numbers] for title, numbers in GROUPS.items()},
        "errors": errors_of(error) if error else {},
        "reason": request.POST.get("reason", ""),
        "longest": MOST_REASON_CHARACTERS,
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "policy/policy.html", context, status=http_status(error) if error else 200)


@page(organizer_of, "GET POST")
def policy_new(request: HttpRequest, organizer: User) -> HttpResponse:
    """Take other numbers, a reason and a moment; show exactly what they change; then record them."""
    now = domain_now()
    zone = policy_in_force(now).policy.time_zone
    found = policy_history(now=now)
    typed = _typed(request, found, now, zone)
    if request.method != "POST":
        return _form(request, typed, found, now, zone)
    if typed.base != found[0].version:
        return _overtaken(request, typed, found, now, zone)
    if request.POST.get("do") == "edit":
        return _form(request, typed, found, now, zone)
    try:
        draft = typed.draft(found[0].policy, zone=zone)
        if request.POST.get("do") != "record":
            policy_draft(draft, by=organizer, zone=zone, now=now)
            return _preview(request, typed, draft, found[0], now, zone)
        row = policy_record(draft, by=organizer, zone=zone, now=now)
    except DomainError as error:
        if error.code == "policy_changed":
            return _overtaken(request, typed, policy_history(now=now), now, zone)
        return _form(request, typed, found, now, zone, error)
    messages.success(request, f"Version {row.version} is recorded. It holds from {absolute(draft.since, zone)} on.")
    return go_to("policy")


def _typed(request: HttpRequest, found: list[PolicyVersionRow], now: datetime, zone: str) -> TypedPolicy:
    """Return what was typed, or what the page begins with: the newest version, and the beginning of the next week."""
    newest = found[0]
    posted = request.method == "POST"
    data = request.POST if posted else request.GET
    base = whole_number(request.POST.get("base", ""), digits=9) if posted else None
    filled = next((each.policy for each in found if each.version == base), newest.policy)
    since = moment_text(week_at(max(now, newest.since)).end, zone)
    typed = TypedPolicy.read(data.dict(), base=newest.version, filled=filled, since=since)
    return typed if posted else replace(typed, base=newest.version)


def _overtaken(
    request: HttpRequest, typed: TypedPolicy, found: list[PolicyVersionRow], now: datetime, zone: str
) -> HttpResponse:
    """Show what was recorded meanwhile, and the form on top of it with everything that was typed."""
    newest = found[0]
    begun = next((each for each in found if each.version == typed.base), newest)
    meanwhile = [each for each in reversed(found) if each.version > begun.version]
    typed = typed.rebased(newest.version, begun.policy, newest.policy)
    return _form(request, typed, found, now, zone, meanwhile=meanwhile)


def _form(
    request: HttpRequest,
    typed: TypedPolicy,
    found: list[PolicyVersionRow],
    now: datetime,
    zone: str,
    error: DomainError | None = None,
    meanwhile: Sequence[PolicyVersionRow] = (),
) -> HttpResponse:
    newest, errors = found[0], errors_of(error) if error else {}
    status = http_status(error) if error else 409 if meanwhile else 200
    context = {
        "typed": typed,
        "groups": _groups(typed, newest, errors),
        "newest": newest,
        "meanwhile": meanwhile,
        "errors": errors,
        "wrong": [(name, NUMBERS[name].title if name in NUMBERS else _ELSE[name]) for name in errors if name != "all"],
        "zones": zone_names(),
        "longest": MOST_REASON_CHARACTERS,
        "now": now,
        "zone": zone,
    }
    return render(request, "policy/new.html", context, status=status)


def _groups(typed: TypedPolicy, newest: PolicyVersionRow, errors: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the form."""
    currency = newest.policy.currency
    return {
        title: [
            {
                "number": each,
                "typed": typed.values[each.name],
                "held": each.words(each.of(newest.policy), currency),
                "changed": typed.values[each.name].strip() != each.text(each.of(newest.policy)),
                "error": errors.get(each.name, ""),
            }
            for each in numbers
        ]
        for title, numbers in GROUPS.items()
    }


def _preview(
    request: HttpRequest, typed: TypedPolicy, draft: PolicyDraft, newest: PolicyVersionRow, now: datetime, zone: str
) -> HttpResponse:
    changed = changes(newest.policy, draft.policy)
    names = {each.number.name for each in changed}
    kept = dict.fromkeys(each.number.kept for each in changed if each.number.kept)
    context = {
        "typed": typed,
        "draft": draft,
        "version": newest.version + 1,
        "newest": newest,
        "changes": changed,
        "kept": [*kept],
        "members": board_members().count(),
        "what_if": TypedNumbers.of(draft.policy).query if names & TRIED else "",
        "now": now,
        "zone": zone,
    }
    return render(request, "policy/preview.html", context)
