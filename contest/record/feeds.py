"""The releases as feeds, Atom (RFC 4287) and JSON Feed 1.1: stable ids, newest first, all of them."""

import uuid
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import last_modified, require_safe

from adjudication import release_format as form
from common.times import file_size
from contest.models import Release
from contest.record.selectors import releases

TITLE = "Unanimous: weekly releases"
WORDS = "The published record of every contest week: pictures, answers, rulings, outputs, breaks, awards."
_MAX_AGE = "public, max-age=300"


def _newest(request: HttpRequest) -> datetime | None:
    return Release.objects.order_by("-released_at").values_list("released_at", flat=True).first()


@require_safe
@last_modified(_newest)
def atom(request: HttpRequest) -> HttpResponse:
    """Answer the Atom feed."""
    site = settings.PUBLIC_URL
    feed = Atom1Feed(
        title=TITLE,
        link=site + reverse("releases"),
        description=WORDS,
        subtitle=WORDS,
        author_name="Unanimous",
        feed_url=site + reverse("releases-atom"),
        feed_guid=_id("releases"),
        language="en",
    )
    for release in reversed(releases()):
        feed.add_item(**_entry(release))
    response = HttpResponse(feed.writeString("utf-8"), content_type=feed.content_type)
    response["Cache-Control"] = _MAX_AGE
    return response


def _entry(release: Release) -> dict[str, Any]:
    return {
        "title": title_of(release),
        "link": settings.PUBLIC_URL + reverse("release", args=[release.name]),
        "description": summary_of(release),
        "unique_id": _id(release.manifest_sha256),
        "pubdate": release.released_at,
        "updateddate": release.released_at,
    }


@require_safe
@last_modified(_newest)
def json_feed(request: HttpRequest) -> HttpResponse:
    """Answer the JSON feed."""
    site = settings.PUBLIC_URL
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": TITLE,
        "description": WORDS,
        "home_page_url": site + reverse("releases"),
        "feed_url": site + reverse("releases-json"),
        "language": "en",
        "authors": [{"name": "Unanimous"}],
        "items": [_item(release) for release in reversed(releases())],
    }
    response = JsonResponse(feed, content_type="application/feed+json", json_dumps_params={"ensure_ascii": False})
    response["Cache-Control"] = _MAX_AGE
    return response


def _item(release: Release) -> dict[str, Any]:
    site = settings.PUBLIC_URL
    archive = {
        "url": site + reverse("release-zip", args=[release.name]),
        "mime_type": "application/zip",
        "size_in_bytes": release.bytes,
    }
    return {
        "id": _id(release.manifest_sha256),
        "url": site + reverse("release", args=[release.name]),
        "title": title_of(release),
        "content_text": summary_of(release),
        "date_published": form.time(release.released_at),
        "attachments": [archive],
    }


def title_of(release: Release) -> str:
    """Return a release in words."""
    return f"Week {release.week}, errata {release.part}" if release.part else f"Week {release.week}"


def summary_of(release: Release) -> str:
    """Return what is in a release, on one line."""
    numbers = [f"{release.counts.get(name, 0):,} {name}" for name in ("images", "responses", "rulings", "breaks")]
    return f"{release.name}: {', '.join(numbers)}; {file_size(release.bytes)}; manifest {release.manifest_sha256}"


def _id(what: str) -> str:
    """A name that stays when the address of the contest changes."""
    return uuid.uuid5(uuid.NAMESPACE_OID, f"unanimous {what}").urn
