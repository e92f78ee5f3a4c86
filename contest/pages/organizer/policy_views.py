"""Organizers' pages of the policy, the contest's numbers: all versions, and recording another one."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.times import absolute
from common.typed import whole_number
from common.web.form_fields import redirect_with_message
from common.web.page import page
from contest.core.conflicts import board_members
from contest.core.weeks import week_at
from contest.pages.organizer.policy_forms import TRIED, CallBackForm, PolicyForm, tried_query
from contest.policy_changes.moments import moment_text
from contest.policy_changes.numbers import GROUPS, changed_numbers
from contest.policy_changes.selectors import PolicyState, PolicyVersionRow, numbers_in_force, policy_history
from contest.policy_changes.services import MIN_NOTICE
from policy.models import PolicyVersion
from policy.selectors import policy_in_force


@page(organizer_of, "GET POST")
def policy(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show every version with its changes and author, and call back the newest one before it is in force."""
    now, form = domain_now(), CallBackForm.of(request)
    if row := form.submit(by=organizer):
        called_back = row.version - 1
        words = f"Version {called_back} is called back. Version {row.version} goes on with what holds now."
        return redirect_with_message(request, words, "policy", extra_tags=f"call-back {organizer.get_username()}")
    found = policy_history(now=now)
    held = {each.number.name: each for each in numbers_in_force(found)}
    context = {
        "in_force": next(each for each in found if each.state is PolicyState.IN_FORCE),
        "coming": [each for each in reversed(found) if each.state is PolicyState.TO_COME],
        "past": [each for each in found if each.state in (PolicyState.PAST, PolicyState.NEVER)],
        "newest": found[0].version,
        "groups": {title: [held[each.name] for each in numbers] for title, numbers in GROUPS.items()},
        "form": form,
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "policy/policy.html", context, status=form.status)


@page(organizer_of, "GET POST")
def policy_new(request: HttpRequest, organizer: User) -> HttpResponse:
    """Take new numbers, a reason and a date; preview exactly what changes; then record the version."""
    now, do = domain_now(), request.POST.get("do")
    zone, found = policy_in_force(now).policy.time_zone, policy_history(now=now)
    form = _form_of(request, found, now, zone)
    if form.version.version != found[0].version:
        return _page_after_conflict(request, form, found, now)
    if do != "edit" and (row := form.submit(by=organizer, record=do == "record")):
        if do != "record":
            return _preview(request, form, row, now)
        words = f"Version {row.version} is recorded. It holds from {absolute(row.in_force_from, zone)} on."
        return redirect_with_message(request, words, "policy", extra_tags=f"policy {organizer.get_username()}")
    if form.refused and form.refused.code == "policy_changed":
        return _page_after_conflict(request, form, policy_history(now=now), now)
    return _page(request, form, found[0], now)


def _form_of(request: HttpRequest, found: list[PolicyVersionRow], now: datetime, zone: str) -> PolicyForm:
    """Return the form as typed, on top of the version on which it was begun.

    The page begins with the newest version's numbers, those that the address has instead, and the next end of a week
    that can still be chosen."""
    newest = found[0]
    if request.method == "POST":
        base = whole_number(request.POST.get("base", ""))
        # Unknown version: every recorded number may be a change.
        begun = next((each for each in found if each.version == base), found[-1])
        return PolicyForm(request.POST, version=begun, zone=zone)
    since = moment_text(week_at(max(now + MIN_NOTICE, newest.since)).end, zone)
    return PolicyForm(initial={"since": since, **request.GET.dict(), "base": newest.version}, version=newest, zone=zone)


def _page_after_conflict(
    request: HttpRequest, form: PolicyForm, found: list[PolicyVersionRow], now: datetime
) -> HttpResponse:
    """Show the version recorded in the meantime, and the typed form on top of it."""
    newest = found[0]
    meanwhile = [each for each in reversed(found) if each.version > form.version.version]
    return _page(request, form.on_top_of(newest), newest, now, meanwhile)


def _page(
    request: HttpRequest,
    form: PolicyForm,
    newest: PolicyVersionRow,
    now: datetime,
    meanwhile: Sequence[PolicyVersionRow] = (),
) -> HttpResponse:
    context = {"form": form, "newest": newest, "meanwhile": meanwhile, "now": now, "zone": form.zone}
    return render(request, "policy/new.html", context, status=409 if meanwhile else form.status)


def _preview(request: HttpRequest, form: PolicyForm, row: PolicyVersion, now: datetime) -> HttpResponse:
    policy = form.policy
    changed = changed_numbers(form.version.policy, policy)
    context = {
        "form": form,
        "row": row,
        "policy": policy,
        "newest": form.version,
        "changes": changed,
        "kept": [*dict.fromkeys(each.number.kept for each in changed if each.number.kept)],
        "members": board_members().count(),
        "what_if": tried_query(policy) if any(each.number.name in TRIED for each in changed) else "",
        "now": now,
        "zone": form.zone,
    }
    return render(request, "policy/preview.html", context)
