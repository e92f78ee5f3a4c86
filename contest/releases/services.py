"""Publishes a weekly release: built in a temporary folder, moved into place, recorded, never edited (R39).

A correction is a new part that states the whole week anew. The parts form one chain in the order of publication:
each manifest holds the hash of the manifest published before it.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Max, Min, QuerySet

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.selectors import rulings_in_force
from adjudication.signatures.key_files import sync_to_disk
from adjudication.verifier.untrusted_files import MAX_FILE_BYTES, MAX_MANIFEST_BYTES
from common.audit.seals import seal_entries
from common.audit.trail import audit
from common.errors import Conflict, InvalidInput, NotFound, required
from contest.core.breaks import breaks_derive, recorded_mistakes, unrecorded_mistakes
from contest.core.models import Release
from contest.core.publication import released
from contest.core.week_pictures import (
    WAITING_WORDS,
    count_waiting_for_verdict,
    held_by_open_report,
    images_of_week,
    in_week_release,
)
from contest.core.weeks import week_at, week_called, zone_of_week
from contest.ledger.models import LedgerEntry
from contest.releases.board_tables import cases_of_pictures, decisions_on_pictures, examinations, motions_of, within
from contest.releases.content import ReleaseContent, copy_pictures, write_week
from contest.releases.contest_tables import decisions_of, public_attacks_of_week
from contest.releases.files import Progress
from contest.releases.folders import copy_folder, same_folder
from contest.releases.keys import copy_public_keys
from contest.releases.signatures import keep_witnesses, sign_releases
from contest.releases.snapshot import snapshot
from contest.releases.workplace import workplace_in
from labeling.enums import PanelState
from labeling.models import Image, Panel
from policy.calendar import Week
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import never_in_force
from scoring.models import RunItem
from scoring.selectors import (
    DEFENSE_FAULT,
    defenses_in_force,
    items_given_up,
    official_predictions,
    places_in_force,
    settled_items,
)


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    """What `release_week` left: the record, whether it is new, and where the folder and the zip lie."""

    release: Release
    new: bool
    folder: Path
    archive: Path


@dataclass(frozen=True, slots=True)
class _WeekPart:
    """One part of a week's record and the release it follows in the chain."""

    number: int
    previous: Release | None

    def head(self, week: Week, facts: dict[str, Any]) -> dict[str, Any]:
        """Return what the manifest says before it lists counts and files."""
        return {
            "format": form.FORMAT,
            "revision": form.REVISION,
            "name": form.release_name(week.name, self.number),
            "week": week.name,
            "part": self.number,
            "previous_name": self.previous.name if self.previous else "",
            "previous_sha256": self.previous.manifest_sha256 if self.previous else "",
            **facts,
        }


def week_to_release(name: str | None, *, now: datetime) -> Week:
    """Return the week called `name`, or the last one that has ended.

    Raises InvalidInput for a name that is no week, Conflict for a week that is not over (R24).
    """
    if name is None:
        return week_at(week_at(now).start - timedelta(microseconds=1))
    try:
        week = week_called(name)
    except ValueError as error:
        raise InvalidInput(f"{error}.", "unknown_week", field="week") from error
    if week.end > now:
        raise Conflict(
            f"Week {week.name} is not over: it ends at {week.end:%Y-%m-%d %H:%M} UTC. Release it after that.",
            "week_not_over",
        )
    return week


def release_week(
    week: Week, *, out: Path, now: datetime, incomplete: bool = False, progress: Progress = lambda *_: None
) -> ReleaseResult:
    """Write the release of `week` into `out`, as a folder and as a zip, and record it where it is new.

    With nothing changed since the last part the same bytes come again and no record; with anything changed, the next
    errata part. Raises Conflict while pictures of the week are under way (unless `incomplete`), before an earlier week
    that it would tell of (`earlier_week_first`), with a file that verifiers would not read (`too_large`), while
    `out` is in use, and when another release was published meanwhile from elsewhere.
    """
    while seal_entries():  # what was recorded in the week is part of its release
        pass
    breaks_derive(now=now)  # a ruling may be newer than the last sweep that looked for breaks
    with workplace_in(out) as workplace, ThreadPoolExecutor(1) as packer:
        content, facts = _write_content(workplace, week, packer, incomplete, progress)
        part = _part_of(week, content, facts)
        head = part.head(week, facts)
        manifest_sha256 = content.write_manifest(head)
        _refuse_unreadable(content)
        archive = workplace / f"{head['name']}.zip"
        content.write_archive(archive, head["name"], progress)
        published = _publish(out, week, part, content, archive, manifest_sha256, now)
        sign_releases(out)  # after the record is committed: a signature can never be taken back
        return published


def release_copy(released: ReleaseResult, out: Path) -> ReleaseResult:
    """Copy folder and zip of a release into `out`; returns where they lie there. Raises Conflict while `out` is in use.

    What is no such copy in that place is moved aside.
    """
    folder, archive = out / released.folder.name, out / released.archive.name
    with workplace_in(out) as workplace:
        if not same_folder(released.folder, folder, but=form.SIGNATURE):
            _put(copy_folder(released.folder, workplace / folder.name), folder)
        keep_witnesses(released.folder, folder)
        copy_public_keys(released.folder.parent, out)
        os.replace(shutil.copyfile(released.archive, workplace / archive.name), archive)
    return replace(released, folder=folder, archive=archive)


def _write_content(
    workplace: Path, week: Week, packer: Executor, incomplete: bool, progress: Progress
) -> tuple[ReleaseContent, dict[str, Any]]:
    with snapshot() as view:
        facts = _facts(week)
        if any(facts["waiting"].values()) and not incomplete:
            raise _under_way(week)
        if unrecorded_mistakes().exists():  # by a ruling of this moment: verifiers would miss the break
            raise Conflict("A ruling was made at this moment. Nothing was released; try again.", "release_overtaken")
        _refuse_ahead(week)
        content = write_week(workplace, week, view, packer, progress)
    copy_pictures(workplace, content, progress)
    return content, facts


def _facts(week: Week) -> dict[str, Any]:
    """Return what the manifest says of the week: nothing in it depends on when it was written."""
    rows = _policy_rows(week)
    policies = _numbers(rows)
    return {
        "week_start": cells.time(week.start),
        "week_end": cells.time(week.end),
        "time_zone": zone_of_week(week),
        "rule_book": form.RULE_BOOK_VERSION,
        "policy": {str(version): policy.to_json() for version, policy in policies.items()},
        "waiting": _waiting(week, policies),
        "kept_out": _kept_out(week),
        "policy_from": {str(row.version): cells.time(row.in_force_from) for row in rows},
        "policy_reason": {str(row.version): row.reason for row in rows},
    }


def _numbers(rows: Sequence[PolicyVersion]) -> dict[int, Policy]:
    return {row.version: Policy.from_json(row.numbers) for row in rows}


def _policy_rows(week: Week) -> list[PolicyVersion]:
    """Return every policy in force between the week's first panel and the last ruling, decision of the board or answer
    of a defense on its pictures, or used by one, by an attack or by a decision of the week, by version."""
    images = images_of_week(week)
    rulings = Ruling.objects.filter(image__in=images)
    first = Panel.objects.filter(image__in=images).aggregate(at=Min("dealt_at"))["at"] or week.end
    last = rulings.aggregate(at=Max("decided_at"))["at"] or week.end
    cases, motions = decisions_on_pictures(week), motions_of(week)
    moments = (
        cases.aggregate(at=Max("decided_at")),
        official_predictions().filter(in_week_release(week, "image__")).aggregate(at=Max("predicted_at")),
        places_in_force().filter(DEFENSE_FAULT, in_week_release(week, "image__")).aggregate(at=Max("run__finished_at")),
    )
    last = max(last, *(each["at"] or last for each in moments))
    decided = (rulings, public_attacks_of_week(week), decisions_of(week), cases, motions)
    used = {version for rows in decided for version in rows.values_list("policy__version", flat=True).distinct()}
    used |= {version for rows in (cases, motions) for version in rows.values_list("case__policy__version", flat=True)}
    recorded = list(PolicyVersion.objects.filter(in_force_from__lte=max(last, week.end)).order_by("version"))
    never = never_in_force(recorded)
    begun = [row for row in recorded if row.version not in never]
    oldest = required(
        max((row.version for row in begun if row.in_force_from <= min(first, week.end)), default=None),
        NotFound(f"No policy was in force in week {week.name}, so there is nothing to release.", "unknown_week"),
    )
    return [row for row in begun if row.version >= oldest or row.version in used]


def waiting_pictures(week: Week) -> dict[str, int]:
    """Return how many pictures of `week` wait, by what they wait for: the keys of WAITING_WORDS."""
    policies = _numbers(_policy_rows(week))
    waits = _waiting(week, policies)
    gave_up = _given_up(week, policies).values("image").distinct().count() if waits["runs"] else 0
    return waits | {"runs": max(0, waits["runs"] - gave_up), "gave_up": gave_up}


def _waiting(week: Week, policies: dict[int, Policy]) -> dict[str, int]:
    images = images_of_week(week)
    return count_waiting_for_verdict(images) | {"runs": _waiting_for_runs(images, _rounds(policies))}


def _rounds(policies: dict[int, Policy]) -> int:
    return min(policy.evaluation_runs for policy in policies.values())


def _kept_out(week: Week) -> int:
    """Count the pictures an organizer kept out after a report: there is no ruling on them, and none will come."""
    held = Panel.objects.filter(image__in=images_of_week(week), state=PanelState.HELD)
    return held.exclude(held_by_open_report()).count()


def _waiting_for_runs(images: QuerySet[Image], rounds: int) -> int:
    """Count valid pictures for which a round of some defense in force has no answer and may still get one (R29)."""
    defenses = defenses_in_force()
    expected = len(defenses) * rounds
    if not expected:
        return 0
    valid = _valid(images)
    settled = settled_items().filter(image__in=valid, round__lte=rounds, defense__in=defenses)
    complete = settled.values("image").annotate(items=Count("pk")).filter(items__gte=expected)
    return valid.count() - complete.count()


def _valid(images: QuerySet[Image]) -> QuerySet[Ruling, Any]:
    return rulings_in_force().filter(verdict=Verdict.VALID, image__in=images).values("image")


def _given_up(week: Week, policies: dict[int, Policy]) -> QuerySet[RunItem]:
    """The places of the week's valid pictures in runs that gave up, of defenses in force, in rounds it waits for."""
    valid = _valid(images_of_week(week))
    return items_given_up().filter(image__in=valid, defense__in=defenses_in_force(), round__lte=_rounds(policies))


def _under_way(week: Week) -> Conflict:
    waits = waiting_pictures(week)
    if waits["runs"] and any(defense.copied for defense in defenses_in_force()):
        return Conflict(
            f"This database was filled from releases and runs no defense, so it cannot release week {week.name} again: "
            f"answers to {waits['runs']:,} of its pictures are in no release that it was filled from.",
            "a_copy",
        )
    listed = ", ".join(f"{number:,} {WAITING_WORDS[name]}" for name, number in waits.items() if number)
    return Conflict(
        f"Pictures of week {week.name} still wait: {listed}. Let them finish, or release what is there with "
        f"--incomplete and the rest later as errata.{_gave_up_words(week) if waits['gave_up'] else ''}",
        "week_under_way",
    )


def _gave_up_words(week: Week) -> str:
    found = _given_up(week, _numbers(_policy_rows(week))).order_by("defense__name", "run__fault")
    rows = found.values_list("defense__name", "run__fault").distinct()
    names = ", ".join(f"{name} ({fault})" for name, fault in rows)
    return f" Runs of {names} gave up: try them again on the page of the scoring queue."


def _refuse_ahead(week: Week) -> None:
    """Refuse a week that would tell of an earlier one which is not released (R24, R39): its money may follow from what
    broke there, its confirmations name what was rejected there, and its audit trail says when the board was at it."""
    if LedgerEntry.objects.filter(within(week, "made_at")).exists():
        _refuse_before(
            week, recorded_mistakes().filter(found_at__lt=week.end), "Its money would tell who broke what in week"
        )
    looked_at = (examinations().filter(at__lt=week.end), cases_of_pictures().filter(opened_at__lt=week.end))
    for rows in looked_at:
        _refuse_before(week, rows, "It would tell what the board did about pictures of week")


def _refuse_before(week: Week, rows: QuerySet[Any], tells: str) -> None:
    """Refuse where any of the rows is about a picture of an earlier week that is not released."""
    found = rows.filter(image__received_at__lt=week.start).exclude(released("image__"))
    first = found.aggregate(at=Min("image__received_at"))["at"]
    if first is not None:
        raise Conflict(
            f"{tells} {week_at(first).name}, which is not released. Release that week first, as it stands if it still "
            "waits.",
            "earlier_week_first",
        )


def _refuse_unreadable(content: ReleaseContent) -> None:
    """Refuse files that are larger than what a verifier or a mirror reads: nobody could check the release."""
    for name, max_bytes in {**dict.fromkeys(content.hashes, MAX_FILE_BYTES), form.MANIFEST: MAX_MANIFEST_BYTES}.items():
        size = (content.path / name).stat().st_size
        if size > max_bytes:
            raise Conflict(
                f"Nothing was released: {name} has {size:,} bytes, and verifiers and mirrors read at most "
                f"{max_bytes:,}. Publish a version of them with higher limits "
                "(adjudication/verifier/untrusted_files.py) first.",
                "too_large",
            )


def _part_of(week: Week, content: ReleaseContent, facts: dict[str, Any]) -> _WeekPart:
    """Return the part that has this content: the last one published where it is the same, else the next."""
    latest = Release.objects.filter(week=week.name).order_by("-part").first()
    if latest is not None:
        again = _WeekPart(latest.part, Release.objects.filter(manifest_sha256=latest.previous_sha256).first())
        if content.manifest_sha256(again.head(week, facts)) == latest.manifest_sha256:
            return again
    return _WeekPart(0 if latest is None else latest.part + 1, Release.objects.order_by("-pk").first())


def _publish(
    out: Path, week: Week, part: _WeekPart, content: ReleaseContent, archive: Path, manifest_sha256: str, now: datetime
) -> ReleaseResult:
    """Put folder and zip in their place and record them; the record commits when they are there."""
    folder = out / form.release_name(week.name, part.number)
    # Before the lock that others wait for: there may be much to read.
    there = same_folder(content.path, folder, but=form.SIGNATURE)
    packed = {"bytes": archive.stat().st_size, "last_audit_number": content.last_audit_number}
    values = {"counts": content.counts, "released_at": now, **packed}
    with transaction.atomic():
        release, new = _record(week, part, manifest_sha256, values)
        # Packed by another version of the library, or recorded by one of this project without the number.
        Release.objects.filter(pk=release.pk).exclude(**packed).update(**packed)
        if not there:
            _put(content.path, folder)
        os.replace(archive, out / archive.name)
        sync_to_disk(out)
    return ReleaseResult(release, new, folder, out / archive.name)


def _record(week: Week, part: _WeekPart, manifest_sha256: str, values: dict[str, Any]) -> tuple[Release, bool]:
    """Return the record of what was built, and whether it is new.

    Raises Conflict when the part was recorded with other bytes meanwhile, or another release became the newest: what
    was built here would fork the chain.
    """
    _hold_the_chain()
    recorded = Release.objects.filter(week=week.name, part=part.number).first()
    if recorded is not None and recorded.manifest_sha256 == manifest_sha256:
        return recorded, False
    if recorded is not None or part.previous != Release.objects.order_by("-pk").first():
        message = "Another release was published while this one was being written. Nothing was written; try again."
        raise Conflict(message, "release_overtaken")
    previous = part.previous.manifest_sha256 if part.previous else ""
    fixed = {"manifest_sha256": manifest_sha256, "previous_sha256": previous}
    release = Release.objects.create(week=week.name, part=part.number, **fixed, **values)
    told = {"manifest_sha256": manifest_sha256}
    subject = {"release": [release.name]}
    audit("release.publish", by=None, subject=subject, now=release.released_at, public=told, published=True)
    return release, True


def _hold_the_chain() -> None:
    """Let one transaction at a time add to the chain, on whatever machine. On SQLite every transaction is the only
    writer from its beginning."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {Release._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


def _put(built: Path, place: Path) -> None:
    """Rename `built` to `place`. What else lies there, damaged or recorded by nobody, is moved aside and kept."""
    if os.path.lexists(place):
        keep_witnesses(place, built)
        aside = place.parent / ".aside"
        aside.mkdir(exist_ok=True)
        os.rename(place, Path(tempfile.mkdtemp(prefix=f"{place.name}-", dir=aside), place.name))
    os.rename(built, place)
