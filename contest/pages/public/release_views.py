"""Public pages of weekly releases: the list, one release, files, keys, and a week's pictures (R24, R39)."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.errors import NotFound
from common.web.lists import page_of
from common.web.page import page
from contest.core.embargo import public_attacks, public_image_condition
from contest.core.week_pictures import images_of_week
from contest.core.weeks import existing_week, week_at, week_called, zone_of_week
from contest.record.week_pictures import week_pictures
from contest.releases import keys, selectors, signatures
from contest.releases.verifier_program import verifier_program
from contest.web.file_responses import serve
from policy.calendar import Week

FILES_SHOWN = 200
SIGNED_SHOWN = 50
PICTURES_SHOWN = 60


@page()
def release_list(request: HttpRequest) -> HttpResponse:
    """List every release, newest first: date, content, and the hash of the release before it."""
    now = domain_now()
    week = week_at(now)
    rows = [(release, selectors.archive_of(release).is_file()) for release in reversed(selectors.published_releases())]
    context = {
        "rows": rows,
        "now": now,
        "zone": zone_of_week(week),
        "ended": _last_pictures(week),
        "site": settings.PUBLIC_URL,
    }
    return render(request, "record/releases.html", context)


def _last_pictures(week: Week) -> str:
    """Return the name of the newest ended week with public attacks; empty without any."""
    newest = public_attacks(now=week.start).order_by("-received_at").values_list("received_at", flat=True).first()
    return week_at(newest).name if newest else ""


@page()
def release_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show one release: its content, every file with its hash, and how to check it."""
    release, now = selectors.release_named(name), domain_now()
    before, after = selectors.neighbouring_releases(release)
    page = page_of(request, range(release.counts.get("images", 0)), FILES_SHOWN)
    context = {
        "release": release,
        "here": selectors.archive_of(release).is_file(),
        "signed": signatures.signed_release(settings.RELEASE_DIR, release),
        "parts": selectors.parts_of(release.week),
        "before": before,
        "after": after,
        "counts": sorted((words.replace("_", " "), number) for words, number in release.counts.items()),
        "tables": selectors.release_files(release),
        "page": page,
        "pictures": selectors.pictures_of(release, page.start_index() - 1, FILES_SHOWN) if len(page) else [],
        "site": settings.PUBLIC_URL,
        "verifier_sha256": verifier_program().sha256,
        "now": now,
        "zone": zone_of_week(week_called(release.week)),
    }
    return render(request, "record/release.html", context)


@page(cache=None)
def release_zip(request: HttpRequest, name: str) -> HttpResponse:
    """Send the zip of a release, or the part of it that a broken download is missing."""
    release = selectors.release_named(name)
    path = selectors.archive_of(release)
    return serve(
        request,
        path,
        tag=release.manifest_sha256[:32],
        published_at=release.released_at,
        content_type="application/zip",
        save_as=path.name,
        rewritten=True,  # another library may write the same content as other bytes
    )


@page(cache=None)
def release_file(request: HttpRequest, name: str, path: str) -> HttpResponse:
    """Send one file of a release."""
    release = selectors.release_named(name)
    place, content_type = selectors.file_of(release, path)
    tag = release.manifest_sha256[:32]
    return serve(request, place, tag=tag, published_at=release.released_at, content_type=content_type)


# Signatures ----------------------------------------------------------------------------------------------------------


@page()
def release_keys(request: HttpRequest) -> HttpResponse:
    """Show the keys that signed releases, the statements about them, the newest checkpoint, and who witnessed what."""
    now, history = domain_now(), keys.public_keys(settings.RELEASE_DIR)
    newest_first = signatures.signed_releases(settings.RELEASE_DIR)[::-1]
    context = {
        "keys": [signatures.key_facts(each) for each in reversed(history.statements)],
        "witnesses": [(key, signatures.fingerprint(key)) for key in history.witnesses],
        "newest": next((each for each in newest_first if each.note is not None), None),
        "page": page_of(request, newest_first, SIGNED_SHOWN),
        "site": settings.PUBLIC_URL,
        "now": now,
        "zone": zone_of_week(week_at(now)),
    }
    return render(request, "record/keys.html", context)


@page()
def release_keys_file(request: HttpRequest) -> HttpResponse:
    """Send the statements about the keys, for programs. Not kept by caches: the next key adds one."""
    history = keys.public_keys(settings.RELEASE_DIR)
    if history.newest is None:
        raise NotFound("Releases are not signed: there is no key.", "unknown_file")
    return HttpResponse(history.encode(), content_type="application/json")


@page()
def release_signature(request: HttpRequest, name: str) -> HttpResponse:
    """Send the signed checkpoint of a release. Not kept by caches: witnesses add lines to it."""
    signed = signatures.signed_release(settings.RELEASE_DIR, selectors.release_named(name))
    if signed.note is None:
        raise NotFound("This release is unsigned.", "unknown_file")
    return HttpResponse(signed.note.encode(), content_type="text/plain; charset=utf-8")


# The pictures of a week, from its end on -----------------------------------------------------------------------------


@page()
def week_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show the pictures of an ended week without any answers: those become public with its release (R24)."""
    week, now = _week_that_ended(name), domain_now()
    images = images_of_week(week).filter(public_image_condition(now=now)).order_by("received_at", "pk")
    page = page_of(request, images, PICTURES_SHOWN)
    parts = selectors.parts_of(week.name)
    context = {
        "week": week,
        "page": page,
        "shown": week_pictures(list(page), parts, now=now),
        "parts": parts,
        "now": now,
        "zone": zone_of_week(week),
    }
    return render(request, "record/week.html", context)


def _week_that_ended(name: str) -> Week:
    week = existing_week(name)
    if week.end > domain_now():
        raise NotFound(f"Week {week.name} is not over. Its pictures are shown when it is.", "week_not_over")
    return week
