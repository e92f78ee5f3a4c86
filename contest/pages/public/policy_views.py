"""Public page of one policy version: numbers, dates, reasons and changes, without names."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.page import page
from contest.policy_changes.numbers import GROUPS
from contest.policy_changes.selectors import policy_history
from policy.selectors import policy_in_force


@page()
def policy_version(request: HttpRequest, number: int) -> HttpResponse:
    """Show one version."""
    now = domain_now()
    found = {each.version: each for each in policy_history(now=now)}
    version = found.get(number)
    if version is None:
        raise Http404("no such version")
    changed = {each.number.name for each in version.changes}
    context = {
        "version": version,
        "groups": {
            title: [
                (each, each.words(each.of(version.policy), version.policy.currency), each.name in changed)
                for each in numbers
            ]
            for title, numbers in GROUPS.items()
        },
        "earlier": found.get(number - 1),
        "later": found.get(number + 1),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "policy/version.html", context)
