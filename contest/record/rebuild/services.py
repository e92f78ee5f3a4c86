"""Filling an empty database from a mirror of the releases, whole or not at all (R39)."""

import shutil
from collections.abc import Callable
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management.color import no_style
from django.db import connection, transaction

from common.errors import Conflict
from contest.exports.folders import copy_folder
from contest.models import Release, Team
from contest.record.rebuild import around, pictures
from contest.record.rebuild.reading import Part, Record, read_record
from labeling.models import Image, Tasker
from labeling.selectors import forget_versions
from scoring.models import Defense

_APPS = ("labeling", "adjudication", "scoring", "contest")
_MUST_BE_EMPTY = (Image, Tasker, Team, Defense, Release)


def rebuild(folder: Path, *, progress: Callable[[str], None] = lambda _: None) -> Record:
    """Fill an empty database from the mirror in `folder`, so that its public pages are those of the contest.

    Raises InvalidInput for a folder that is no mirror, Conflict where anything in it differs from what follows and
    where the database is not empty (`not_empty`).
    """
    record = read_record(folder)
    with transaction.atomic():
        _refuse_full()
        _fill(record, progress)
    forget_versions()
    for part in record.parts:
        _publish(part)
    return record


def _refuse_full() -> None:
    for model in _MUST_BE_EMPTY:
        if model._default_manager.exists():
            words = f"The database has {model._meta.verbose_name_plural} already. Rebuild into an empty, migrated one."
            raise Conflict(words, "not_empty")


def _fill(record: Record, progress: Callable[[str], None]) -> None:
    around.fill_policies(record)
    around.fill_teams(record)
    around.fill_defenses(record)
    around.fill_stakes(record)
    known = pictures.begin()
    for part in record.weeks:
        pictures.fill_week(part, known)
        progress(part.listed["name"])
    around.fill_money(record)
    around.fill_releases(record)
    _count_on()
    for part in record.weeks:
        pictures.fill_faults(part, known)
        pictures.fill_unproved(part, known)
    _count_on()


def _count_on() -> None:
    """Let the next row of each table get a number that none of those here has."""
    models = [model for app in _APPS for model in apps.get_app_config(app).get_models()]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def _publish(part: Part) -> None:
    """Put folder and zip of a release where this contest serves them from."""
    name, out = part.listed["name"], settings.RELEASE_DIR
    out.mkdir(parents=True, exist_ok=True)
    if not (out / name).exists():
        copy_folder(part.folder, out / name)
    archive = part.folder.with_name(f"{name}.zip")
    if archive.is_file() and not (out / archive.name).exists():
        shutil.copyfile(archive, out / archive.name)
