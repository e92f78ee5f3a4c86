"""The organizers' page about the nightly check of the leaderboard."""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.form_fields import redirect_with_message
from common.web.page import page
from contest.record.leaderboard import snapshots
from policy.selectors import policy_in_force


@page(organizer_of, "GET POST")
def leaderboard_check(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show an organizer what the nightly check found, and rebuild all tables on request."""
    now = domain_now()
    if request.method == "POST":
        made = snapshots.boards_remake(by=organizer, now=now)
        return redirect_with_message(
            request, f"{made:,} tables were rebuilt from the facts and compared.", "leaderboard-check"
        )
    context = {
        "check": snapshots.newest_comparison(),
        "stored": snapshots.stored_count(),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "leaderboard/check.html", context)
