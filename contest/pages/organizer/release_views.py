"""Organizers' pages of weekly releases: what each ended week waits for, progress, and releasing a week now."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.errors import Conflict
from common.queues import hint
from common.remembered import remembered
from common.web.form_fields import redirect_with_message
from common.web.forms import Form
from common.web.page import page
from contest.core.models import Release
from contest.core.week_pictures import WAITING_WORDS
from contest.core.weeks import existing_week, week_at, week_called, zone_of_week
from contest.operations.tasks import release_weeks
from contest.releases import builds, keys, selectors, signatures
from contest.releases.models import ReleaseBuild
from contest.releases.selectors import unreleased_weeks
from contest.releases.services import waiting_pictures
from policy.calendar import Week

BUILDS_SHOWN = 12
WEEKS_SHOWN = 12
_FRESH_SECONDS = 60  # counting takes a while on a week of a hundred thousand pictures


@page(organizer_of)
def releases(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the progress of each week's publication."""
    return render(request, "record/organizer.html", _context(domain_now()))


@page(organizer_of)
def releases_now(request: HttpRequest, organizer: User) -> HttpResponse:
    """Return the changing part of the page, for its automatic refresh."""
    return render(request, "record/_organizer.html", _context(domain_now()))


def _context(now: datetime) -> dict[str, Any]:
    shown = sorted(selectors.newest_parts().values(), key=lambda each: each.week, reverse=True)[:WEEKS_SHOWN]
    return {
        "now": now,
        "zone": zone_of_week(week_at(now)),
        "ended": _unreleased_rows(now),
        "builds": builds.builds_newest_first()[:BUILDS_SHOWN],
        "dead_before": now - builds.DEAD_AFTER,
        **_signature_facts(),
        "published": [(each, _changed_since_release(each)) for each in shown],
    }


def _signature_facts() -> dict[str, Any]:
    """Return the signing key, releases that a key should have signed but has not, and errors in the list of keys."""
    try:
        newest = keys.public_keys(settings.RELEASE_DIR).newest
        return {"key": newest, "unsigned": signatures.unsigned_releases(settings.RELEASE_DIR), "keys_problem": ""}
    except Conflict as error:
        return {"key": None, "unsigned": [], "keys_problem": error.message}


def _unreleased_rows(now: datetime) -> list[dict[str, Any]]:
    """Return the weeks that are not released, oldest first, with what their pictures wait for, in words, and the first
    week that holds them back. Without either a release is due."""
    found = [{"week": week, "waits": _waiting_in_words(week)} for week in unreleased_weeks(now)]
    first = next((place for place, each in enumerate(found) if each["waits"]), len(found))
    return [each | {"behind": found[first]["week"] if place > first else None} for place, each in enumerate(found)]


def _waiting_in_words(week: Week) -> list[str]:
    found = remembered(f"waiting-{week.name}", _FRESH_SECONDS, lambda: waiting_pictures(week))
    return [f"{number:,} {WAITING_WORDS[name]}" for name, number in found.items() if number]


def _changed_since_release(release: Release) -> list[str]:
    return remembered(
        f"changed-{release.name}",
        _FRESH_SECONDS,
        lambda: selectors.changed_since(week_called(release.week), release.released_at),
    )


class BuildForm(Form):
    """Requests the release of a week, also with pictures that still wait."""

    incomplete = forms.BooleanField(
        label="Publish the week as it stands, without what still waits",
        required=False,
        widget=forms.CheckboxInput({"value": "yes", "required": True}),
    )

    def save(self, *, week: Week, by: User) -> ReleaseBuild:
        """Request the release."""
        # Read again: this may have changed since the page was loaded.
        cache.delete(f"waiting-{week.name}")
        return builds.build_request(week, by=by, now=domain_now(), incomplete=self.cleaned_data["incomplete"])


@page(organizer_of, "GET POST")
def build(request: HttpRequest, organizer: User, name: str) -> HttpResponse:
    """Show what a release of the week would leave out; once confirmed, request it."""
    now, week, form = domain_now(), existing_week(name), BuildForm.of(request)
    if form.submit(week=week, by=organizer):
        hint(release_weeks.task)
        return redirect_with_message(
            request,
            f"The release of week {week.name} is being built. This page shows how far it is.",
            "organizer-releases",
        )
    parts = selectors.parts_of(week.name)
    context = {
        "week": week,
        "over": week.end <= now,
        "last_day": week.end - timedelta(microseconds=1),
        "waits": _waiting_in_words(week) if week.end <= now else [],
        "parts": parts,
        "changed": _changed_since_release(parts[-1]) if parts else [],
        "open": builds.is_being_built(week),
        "form": form,
        "now": now,
        "zone": zone_of_week(week),
    }
    return render(request, "record/build.html", context, status=form.status)
