"""Feeds of releases and of decisions, as Atom (RFC 4287) and JSON Feed 1.1: stable ids, newest first."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import last_modified

from adjudication.schema import cells
from common.times import file_size
from common.web.page import page
from contest.board.models import CaseDecision
from contest.board.public_decisions import public_decision
from contest.core.models import Release
from contest.record.closed_cases import public_decisions, with_published_at
from contest.record.overrules import OUTCOMES
from contest.releases.selectors import newest_released_at, published_releases

TITLE = "Unanimous: weekly releases"
WORDS = "The published record of every contest week: pictures, answers, rulings, outputs, breaks, awards."
DECISIONS_TITLE = "Unanimous: decisions of the review board"
DECISIONS_WORDS = "What the review board decided about rulings on pictures, with its explanation and count of votes."
MAX_DECISIONS = 50
_CACHE_CONTROL = "public, max-age=300"


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One entry of a feed. `name` stays when the address of the contest changes; `more` is for JSON alone."""

    name: str
    title: str
    words: str
    path: str
    at: datetime
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed: its name, its title, and the URL names of its page and of the feed itself."""

    name: str
    title: str
    words: str
    page: str
    items: list[FeedEntry]


def _atom(feed: Feed) -> HttpResponse:
    site = settings.PUBLIC_URL
    written = Atom1Feed(
        title=feed.title,
        link=site + reverse(feed.page),
        description=feed.words,
        subtitle=feed.words,
        author_name="Unanimous",
        feed_url=site + reverse(f"{feed.page}-atom"),
        feed_guid=_id(feed.name),
        language="en",
    )
    for item in feed.items:
        written.add_item(
            title=item.title,
            link=site + item.path,
            description=item.words,
            unique_id=_id(item.name),
            pubdate=item.at,
            updateddate=item.at,
        )
    response = HttpResponse(written.writeString("utf-8"), content_type=written.content_type)
    response["Cache-Control"] = _CACHE_CONTROL
    return response


def _json(feed: Feed) -> HttpResponse:
    site = settings.PUBLIC_URL
    told = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": feed.title,
        "description": feed.words,
        "home_page_url": site + reverse(feed.page),
        "feed_url": site + reverse(f"{feed.page}-json"),
        "language": "en",
        "authors": [{"name": "Unanimous"}],
        "items": [_json_item(item) for item in feed.items],
    }
    response = JsonResponse(told, content_type="application/feed+json", json_dumps_params={"ensure_ascii": False})
    response["Cache-Control"] = _CACHE_CONTROL
    return response


def _json_item(item: FeedEntry) -> dict[str, Any]:
    return {
        "id": _id(item.name),
        "url": settings.PUBLIC_URL + item.path,
        "title": item.title,
        "content_text": item.words,
        "date_published": cells.time(item.at),
        **item.more,
    }


def _id(what: str) -> str:
    """A name that stays when the address of the contest changes."""
    return uuid.uuid5(uuid.NAMESPACE_OID, f"unanimous {what}").urn


# Releases -------------------------------------------------------------------------------------------------------------


def _newest_release(request: HttpRequest) -> datetime | None:
    return newest_released_at()


@page(cache=last_modified(_newest_release))
def atom(request: HttpRequest) -> HttpResponse:
    """Return the Atom feed of releases."""
    return _atom(_releases())


@page(cache=last_modified(_newest_release))
def json_feed(request: HttpRequest) -> HttpResponse:
    """Return the JSON feed of releases."""
    return _json(_releases())


def _releases() -> Feed:
    return Feed("releases", TITLE, WORDS, "releases", [_of_release(each) for each in reversed(published_releases())])


def _of_release(release: Release) -> FeedEntry:
    archive = {
        "url": settings.PUBLIC_URL + reverse("release-zip", args=[release.name]),
        "mime_type": "application/zip",
        "size_in_bytes": release.bytes,
    }
    path = reverse("release", args=[release.name])
    name, title = release.manifest_sha256, release_title(release)
    return FeedEntry(name, title, summary_of(release), path, release.released_at, {"attachments": [archive]})


def release_title(release: Release) -> str:
    """Return a release in words."""
    return f"Week {release.week}, errata {release.part}" if release.part else f"Week {release.week}"


def summary_of(release: Release) -> str:
    """Return what is in a release, on one line."""
    numbers = [f"{release.counts.get(name, 0):,} {name}" for name in ("images", "responses", "rulings", "breaks")]
    return f"{release.name}: {', '.join(numbers)}; {file_size(release.bytes)}; manifest {release.manifest_sha256}"


# Decisions ------------------------------------------------------------------------------------------------------------


def _newest_decision(request: HttpRequest) -> datetime | None:
    return max((at for _, at in with_published_at(public_decisions())), default=None)


@page(cache=last_modified(_newest_decision))
def decisions_atom(request: HttpRequest) -> HttpResponse:
    """Return the Atom feed of the board's decisions about pictures."""
    return _atom(_decisions())


@page(cache=last_modified(_newest_decision))
def decisions_json(request: HttpRequest) -> HttpResponse:
    """Return the JSON feed of the board's decisions about pictures."""
    return _json(_decisions())


def _decisions() -> Feed:
    """Return the latest public decisions; a decision becomes public with its week's release if that is later."""
    told = sorted(with_published_at(public_decisions()), key=lambda pair: (pair[1], pair[0].pk), reverse=True)
    items = [_of_decision(each, at) for each, at in told[:MAX_DECISIONS]]
    return Feed("decisions", DECISIONS_TITLE, DECISIONS_WORDS, "overrules", items)


def _of_decision(decision: CaseDecision, at: datetime) -> FeedEntry:
    case = decision.case
    assert case.image is not None, "a public case has a picture"
    title = f"Picture {case.image.public_id}: {OUTCOMES[decision.outcome]}"
    path = reverse("picture-record", args=[case.image.public_id]) + f"#case-{case.public_id}"
    return FeedEntry(f"case {case.public_id}", title, "\n\n".join(_words(decision)), path, at)


def _words(decision: CaseDecision) -> Iterator[str]:
    case, public = decision.case, public_decision(decision)
    assert case.ruling is not None and case.result is not None, "a closed case has both"
    yield f"Before: {case.ruling.words}. After: {case.result.words}."
    if public.explanation:
        yield public.explanation
    yield "Votes: " + "; ".join(f"{number} × {words}" for words, number in public.tally) + "."
    for each in public.remarks:
        if each.dissent:
            yield f"A dissenting member, who voted {each.vote}: {each.words}"
