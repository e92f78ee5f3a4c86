"""Rebuilds an empty database from a mirror, all or nothing (R39)."""

from collections.abc import Callable
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management.color import no_style
from django.db import connection

from common.errors import Conflict
from contest.core.models import Release, Team
from contest.record.rebuild import board, contest_rows, pictures
from contest.record.rebuild.filling import begin
from contest.record.rebuild.mirror_reader import MirroredRecord, read_record
from contest.record.rebuild.scoring import fill_faults, fill_mistakes, fill_unproved
from contest.releases.services import ReleaseResult, release_copy
from labeling.models import Image, Tasker
from labeling.selectors import forget_versions
from picture_files.store_transactions import storing_files
from scoring.models import Defense

_APPS = ("labeling", "adjudication", "scoring", "contest")
_MUST_BE_EMPTY = (Image, Tasker, Team, Defense, Release)


def rebuild(folder: Path, *, progress: Callable[[str], None] = lambda _: None) -> MirroredRecord:
    """Fill an empty database from the mirror in `folder`, so that its public pages are those of the contest.

    Raises InvalidInput for a folder that is no mirror, Conflict where anything in it differs from what follows and
    where the database is not empty (`not_empty`). Whatever else ends it early, the same again succeeds: nothing is in
    the tables then, and what was put in its place already is what the next run puts there.
    """
    record = read_record(folder)
    try:
        with storing_files():
            _refuse_full()
            _fill(record, progress)
            # Before the tables are there for good: what dies in here can be done again, and finds these files.
            for release in Release.objects.order_by("pk"):
                here = ReleaseResult(release, False, folder / release.name, folder / f"{release.name}.zip")
                release_copy(here, settings.RELEASE_DIR)
    finally:
        forget_versions()
    return record


def _refuse_full() -> None:
    for model in _MUST_BE_EMPTY:
        if model._default_manager.exists():
            words = f"The database has {model._meta.verbose_name_plural} already. Rebuild into an empty, migrated one."
            raise Conflict(words, "not_empty")


def _fill(record: MirroredRecord, progress: Callable[[str], None]) -> None:
    contest_rows.fill_policies(record)
    contest_rows.fill_teams(record)
    contest_rows.fill_defenses(record)
    board.fill_motions(record)
    contest_rows.fill_stakes(record)
    contest_rows.fill_grants()
    known = begin()
    for part in record.weeks:
        pictures.fill_week(part, known)
        board.fill_cases(part, known)
        progress(part.listed["name"])
    board.fill_examinations(record, known)
    contest_rows.fill_money(record)
    contest_rows.fill_audit(record)
    contest_rows.fill_releases(record)
    _count_on()
    for part in record.weeks:
        fill_faults(part, known)
        fill_unproved(part, known)
    _count_on()
    for part in record.weeks:  # their numbers are not published: after those that are
        fill_mistakes(part, known)


def _count_on() -> None:
    """Let the next row of each table get a number that none of those here has."""
    models = [model for app in _APPS for model in apps.get_app_config(app).get_models()]
    # An empty table counts on as it did: no transaction that is rolled back takes a sequence back.
    models = [model for model in models if model._default_manager.exists()]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)
