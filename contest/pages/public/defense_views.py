"""Pages of defenses: published ones for everybody, all of them for organizers."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.errors import NotFound, required
from common.web.lists import csv_file
from common.web.page import page
from contest.core.roles import roles_of
from contest.defenses import files
from contest.defenses.eligibility import failures_of, next_step
from contest.defenses.models import DefenseEntry
from contest.defenses.risk_coverage import curve_points, first_point_covering
from contest.defenses.selectors import defense_states, last_moment
from contest.defenses.stake_rows import newest_stake_rows
from contest.defenses.warmups import newest_warmup
from contest.pages.public.risk_curve import curve
from contest.record import defense_figures
from contest.web.file_responses import serve_stored
from contest.web.page_context import page_end
from policy.selectors import policy_in_force
from scoring.enums import ConditionStatus
from scoring.models import Defense
from scoring.selectors import defense_named
from scoring.trials import selectors as trials

COVERAGE = 80
CSV_COLUMNS = ("confidence_at_least", "covered", "wrong", "answers", "coverage", "risk")


@page()
def defense_list(request: HttpRequest) -> HttpResponse:
    """List the published defenses; to organizers also those that are not published yet."""
    public, now = _is_public(request), domain_now()
    rows = defense_figures.defense_rows(public=public, now=now)
    stakes = newest_stake_rows([row.defense for row in rows], now)
    context = {
        "rows": [(row, stakes.get(row.defense.pk)) for row in rows],
        "public": public,
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "defenses/defenses.html", context)


@page()
def defense_page(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show one defense: its state, counts of its predictions, its faults, its risk-coverage curve, pictures."""
    public, now = _is_public(request), domain_now()
    defense, kind = defense_named(public_id, public=public), _kind(request)
    found = defense_figures.defense_statistics(defense, public=public)
    outside = defense_figures.mistakes_outside_of(defense, public=public)
    shown, before = defense_figures.pictures(defense, public=public, kind=kind, before=page_end(request), now=now)
    context = {
        "defense": defense,
        "public": public,
        "standing": defense_states([defense], now=now, breaks=defense_figures.defense_breaks(public))[defense.pk],
        "entry": getattr(defense, "entry", None),
        "stake": newest_stake_rows([defense], now).get(defense.pk),
        "files": files.downloads(defense),
        "due": _due(request, defense),
        "figures": found,
        "breaks": defense_figures.breaks_of_defense(defense, public=public, now=now),
        "outside": outside[: defense_figures.MAX_BREAKS],
        "more_outside": len(outside) > defense_figures.MAX_BREAKS,
        "curve": curve(found.risk) if found.risk else None,
        "marks": curve_points(found.risk),
        "at_coverage": first_point_covering(found.risk, COVERAGE),
        "coverage": COVERAGE,
        "warmup": newest_warmup(defense),
        "kind": kind,
        "kinds": defense_figures.KINDS,
        "shown": shown,
        "before": before,
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    more = {} if public else _for_organizers(defense)
    return render(request, "defenses/defense.html", context | more)


@page()
def risk_coverage_csv(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return every point of the risk-coverage curve as a CSV file."""
    public = _is_public(request)
    defense = defense_named(public_id, public=public)
    rows = (
        (repr(point.threshold), point.covered, point.wrong, point.answers, repr(point.coverage), repr(point.risk))
        for point in defense_figures.defense_statistics(defense, public=public).risk
    )
    return csv_file(f"risk-coverage-{defense.public_id}", CSV_COLUMNS, rows)


@page()
def warmup_report(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return the report of a defense's warm-up as JSON (R40)."""
    defense = defense_named(public_id, public=_is_public(request))
    found = required(newest_warmup(defense), NotFound("The warm-up has not measured this defense.", "no_warmup"))
    name = f"warmup-{defense.public_id}.json"
    return JsonResponse(found.report, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _is_unpublished(defense: Defense) -> bool:
    return defense.published_at is None and defense.retired_at is None


def _due(request: HttpRequest, defense: Defense) -> datetime | None:
    """Return by when the defense has to be published, for organizers alone: its team has pages of its own."""
    entry: DefenseEntry | None = getattr(defense, "entry", None)
    waits = entry is not None and defense.published_at is None and entry.withdrawn_at is None
    return last_moment(entry.due_at) if entry is not None and waits and not _is_public(request) else None


@page(cache=None)
def defense_file(request: HttpRequest, public_id: str, name: str) -> HttpResponse:
    """Send a file of a published open defense, or the part that a broken download is missing (R33).

    It is for download only; the site never displays its content.
    """
    defense = defense_named(public_id, public=True)
    entry = files.open_entry(defense)
    if entry is None or defense.published_at is None:
        raise NotFound("The source of this defense is closed, and so are its files.", "no_source")
    if name == files.LICENCE:
        return _licence(defense, entry)
    found = required(
        next((each for each in files.downloads(defense) if each.name == name), None),
        NotFound("No such file was handed in with this defense.", "unknown_file"),
    )
    return serve_stored(
        request,
        found.key,
        tag=found.sha256[:32],
        published_at=max(defense.published_at, entry.opened_at or defense.published_at),
        content_type=found.content_type,
        save_as=files.save_as(defense, name),
    )


def _licence(defense: Defense, entry: DefenseEntry) -> HttpResponse:
    text = files.licence_text(defense, entry, settings.PUBLIC_URL)
    answer = HttpResponse(text, content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{files.save_as(defense, files.LICENCE)}"'
    answer["Cache-Control"] = "private, no-cache"
    return answer


def _is_public(request: HttpRequest) -> bool:
    """Say whether the reader sees public facts only."""
    return not roles_of(request.user).organizer


def _kind(request: HttpRequest) -> str:
    asked = request.GET.get("show", "")
    return asked if asked in defense_figures.KINDS else ""


def _for_organizers(defense: Defense) -> dict[str, Any]:
    now = domain_now()
    policy = policy_in_force(now).policy
    eligibility = trials.eligibility_of(defense, policy, now=now)
    failed = failures_of(eligibility, policy) if _is_unpublished(defense) else ()
    return {
        "parted": defense_figures.parted_runs(defense),
        "dead": defense_figures.dead_runs_of(defense),
        "reruns": defense_figures.reruns_of(defense, now=now),
        "trials": list(defense.trials.defer("answers", "log").order_by("created_at", "pk")),
        "may_retry": set(trials.trials_to_retry().filter(defense=defense).values_list("pk", flat=True)),
        "smoke_log": trials.smoke_log_of(defense),
        "eligibility": eligibility,
        "failed": failed,
        "next_step": next_step(failed),
        "tried": any(finding.standing is not ConditionStatus.NOT_YET or finding.at for finding in eligibility.findings),
        "copy_flags": trials.copy_flags_of(defense),
    }
