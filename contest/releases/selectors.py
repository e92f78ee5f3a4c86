"""Queries for releases, their files, and ended weeks without one (R39)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse

from adjudication.models import Ruling
from adjudication.schema import cells, release_tables
from adjudication.schema import release_format as form
from common.errors import NotFound, required
from contest.core.breaks import recorded_mistakes
from contest.core.models import Release
from contest.core.week_pictures import images_of_week
from contest.core.weeks import week_at
from contest.releases.board_tables import decisions_on_pictures
from contest.releases.contest_tables import first_moment
from labeling.models import Response, VoidedResponse
from policy.calendar import Week
from scoring.models import Prediction

# One line of a manifest's list of files, as contest.releases.manifest writes it.
_LINE = re.compile(r'  "([^"\\]+)": "([0-9a-f]{64})",?\n')
_CONTENT_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
}


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file of a release: its path, its SHA-256, and its size where it lies on this machine."""

    path: str
    sha256: str
    size: int | None


def published_releases() -> list[Release]:
    """Return every release in the order of publication, which is that of the chain."""
    return list(Release.objects.order_by("pk"))


def newest_releases(limit: int) -> list[Release]:
    """Return the releases that were published last, the newest first."""
    return list(Release.objects.order_by("-pk")[:limit])


def newest_downloadable() -> Release | None:
    """Return the release that was published last of those whose zip lies on this machine; None without any."""
    return next((each for each in reversed(published_releases()) if archive_of(each).is_file()), None)


def newest_released_at() -> datetime | None:
    """Return the latest moment of a release; None before the first."""
    return Release.objects.order_by("-released_at").values_list("released_at", flat=True).first()


def release_named(name: str) -> Release:
    """Return the release called `name`; NotFound (`unknown_release`) when there is none."""
    week, part = form.parse_release_name(name) or ("", 0)
    return required(
        Release.objects.filter(week=week, part=part).first(),
        NotFound("There is no release of this name. The list of releases has all of them.", "unknown_release"),
    )


def newest_part(week: str) -> Release:
    """Return the last part published of a week; NotFound (`unknown_release`) when there is none."""
    return required(
        Release.objects.filter(week=week).order_by("-part").first(),
        NotFound("No release of this week is published.", "unknown_release"),
    )


def parts_of(week: str) -> list[Release]:
    """Return the parts of a week's record, in order."""
    return list(Release.objects.filter(week=week).order_by("part"))


def newest_parts() -> dict[str, Release]:
    """Return week -> the last part published of it."""
    return {release.week: release for release in Release.objects.order_by("week", "part")}


def neighbouring_releases(release: Release) -> tuple[Release | None, Release | None]:
    """Return what was published before and after this release."""
    before = Release.objects.filter(pk__lt=release.pk).order_by("-pk").first()
    return before, Release.objects.filter(pk__gt=release.pk).order_by("pk").first()


def listed_releases(release: Release) -> dict[str, Any]:
    """Return a release as programs read it: what a mirror compares with, and what it is rebuilt from."""
    site, signature = settings.PUBLIC_URL, settings.RELEASE_DIR / release.name / form.SIGNATURE
    return {
        "name": release.name,
        "week": release.week,
        "part": release.part,
        "released_at": cells.time(release.released_at),
        "bytes": release.bytes,
        "counts": release.counts,
        "manifest_sha256": release.manifest_sha256,
        "previous_sha256": release.previous_sha256,
        "page": site + reverse("release", args=[release.name]),
        "file": site + reverse("release-zip", args=[release.name]),
        "signature": site + reverse("release-signature", args=[release.name]) if signature.is_file() else "",
    }


# Files ---------------------------------------------------------------------------------------------------------------


def archive_of(release: Release) -> Path:
    """Return where the zip lies on this machine, if it does."""
    return settings.RELEASE_DIR / f"{release.name}.zip"


def file_of(release: Release, path: str) -> tuple[Path, str]:
    """Return where a file of a release lies, and its content type; NotFound for a path that no release has."""
    if not release_tables.is_file(path):
        raise NotFound("No release has a file of this name.", "unknown_file")
    return settings.RELEASE_DIR / release.name / path, _CONTENT_TYPES[Path(path).suffix]


def release_files(release: Release) -> list[FileRow]:
    """Return the files of a release but its pictures, the manifest first; empty when it is not on this machine."""
    rows = [_row(release, path, sha256) for path, sha256 in _listed(release) if not _is_picture(path)]
    return [_row(release, form.MANIFEST, release.manifest_sha256), *rows] if rows else []


def pictures_of(release: Release, first: int, limit: int) -> list[FileRow]:
    """Return `limit` pictures of a release from number `first` on, in the order of their paths."""
    pictures = (each for each in _listed(release) if _is_picture(each[0]))
    return [_row(release, path, sha256) for path, sha256 in islice(pictures, first, first + limit)]


def _is_picture(path: str) -> bool:
    return path.startswith(f"{form.PICTURES}/")


def _row(release: Release, path: str, sha256: str) -> FileRow:
    place = settings.RELEASE_DIR / release.name / path
    return FileRow(path, sha256, place.stat().st_size if place.is_file() else None)


def _listed(release: Release) -> Iterator[tuple[str, str]]:
    """Yield (path, SHA-256) of a release's files, a line at a time: there may be a hundred thousand."""
    manifest = settings.RELEASE_DIR / release.name / form.MANIFEST
    if not manifest.is_file():
        return
    with manifest.open(encoding="utf-8") as lines:
        for line in lines:
            if found := _LINE.fullmatch(line):
                yield found[1], found[2]


# What came after -----------------------------------------------------------------------------------------------------


def changed_since(week: Week, moment: datetime) -> list[str]:
    """Return in words what was added to the record of a week after `moment`: whether an errata part is due.

    A hint for organizers: what decides is the release itself, which is built anew and compared.
    """
    images = images_of_week(week)
    answers = Response.objects.filter(image__in=images, submitted_at__gt=moment)
    predictions = Prediction.objects.filter(image__in=images, predicted_at__gt=moment)
    mistakes = recorded_mistakes().filter(image__in=images, found_at__gt=moment)
    voided = VoidedResponse.objects.filter(response__image__in=images, voiding__voided_at__gt=moment)
    rows: list[tuple[str, str, QuerySet[Any]]] = [
        ("ruling", "rulings", Ruling.objects.filter(image__in=images, decided_at__gt=moment)),
        ("answer of a tasker", "answers of taskers", answers),
        ("answer taken out", "answers taken out", voided),
        ("answer of a defense", "answers of defenses", predictions),
        ("mistake of a defense", "mistakes of defenses", mistakes),
        ("case of the board", "cases of the board", decisions_on_pictures(week).filter(case__closed_at__gt=moment)),
    ]
    counts = [(found.count(), one, more) for one, more, found in rows]
    return [f"{number:,} {one if number == 1 else more}" for number, one, more in counts if number]


def unreleased_weeks(now: datetime) -> Iterator[Week]:
    """Yield the ended weeks in which anything happened that a release shows and that have none, oldest first.

    A week may have no pictures and still money or decisions; one with nothing at all is passed over.
    """
    released = set(Release.objects.values_list("week", flat=True))
    moment = first_moment(datetime.min.replace(tzinfo=UTC))
    while moment is not None and (week := week_at(moment)).end <= now:
        if week.name not in released:
            yield week
        # Weeks that have a release are passed by without asking what happened in them.
        while (week := week_at(week.end)).name in released:
            pass
        moment = first_moment(week.start)
