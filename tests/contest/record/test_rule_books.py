"""A contest that went on from rule book 1 to rule book 2: its releases are one chain, and one record (R29, R39)."""

import csv
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import transaction

from adjudication import release_format as form
from adjudication.mirror import LIST
from adjudication.verify import verify
from contest.breaks import mistakes_outside, recorded_mistakes, standing_breaks
from contest.models import Break, Release
from contest.record.selectors import as_listed, releases
from contest.releases import release_week
from contest.rules import week_named
from scoring.enums import Outcome
from scoring.models import Defense
from tests import factories
from tests.contest import release_fixtures
from tests.contest.record import cast

pytestmark = pytest.mark.django_db
W49 = week_named("2026-W49", "UTC")
LATER = W49.end.replace(hour=9)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A stranger's copy of two releases of the first rule book."""
    folder, rows = tmp_path / "mirror", []
    for archive in sorted(cast.WRITTEN_BEFORE.glob("*.zip")):
        shutil.unpack_archive(archive, folder)
        shutil.copy(archive, folder)
        text = (folder / archive.stem / form.MANIFEST).read_bytes()
        values = json.loads(text)
        told = {name: values[name] for name in ("name", "week", "part", "previous_sha256", "counts")}
        more = {"bytes": archive.stat().st_size, "released_at": "2026-12-02T08:00:00Z"}
        rows.append(told | more | {"manifest_sha256": hashlib.sha256(text).hexdigest()})
    (folder / LIST).write_text(json.dumps({"releases": rows}))
    return folder


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def _a_week_more() -> None:
    """The organizers took in a bird in the third week; one defense takes it for a bicycle."""
    image = release_fixtures.picture(90, received_at=W49.start, label_from=W49.start)
    contest = release_fixtures.Contest([factories.tasker(f"new {number}") for number in range(3)])
    release_fixtures.labeled(contest, "new", image, release_fixtures.CASES["valid bird"])
    made = release_fixtures.ruled(contest.panels["new"], at=W49.start)
    cautious, wrong = Defense.objects.order_by("public_id")
    release_fixtures.scored(cautious, image, [Outcome.ABSTAIN] * 3)
    proof = release_fixtures.scored(wrong, image, [Outcome.BICYCLE] * 3)[0]
    Break.objects.create(defense=wrong, image=image, ruling=made, prediction=proof, found_at=W49.start)


def test_a_record_of_both_rule_books_is_one(mirror: Path, settings: Any, tmp_path: Path) -> None:
    factories.policy_version()
    rebuilt = cast.elsewhere(settings, tmp_path / "second")
    beginning = transaction.savepoint()
    call_command("rebuild_from_releases", str(mirror), verbosity=0)

    # What broke under the first rule book is recorded still, and what came of the organizers' pictures breaks nothing.
    first = rebuilt / "release-2026-W47"
    before = _rows(first, form.BREAKS) + _rows(first, form.UNPROVED)
    assert {row["break_id"] for row in before} <= {str(pk) for pk in recorded_mistakes().values_list("pk", flat=True)}
    sent = {each.image.public_id for each in standing_breaks().select_related("image")}
    outside = {each.image.public_id for each in mistakes_outside().select_related("image")}
    assert (sent & {row["image_id"] for row in before}, outside) == (set(), {row["image_id"] for row in before})

    # A week of the second rule book follows in the chain, and errata of an old week are of the second, too.
    _a_week_more()
    new = release_week(W49, out=rebuilt, now=LATER)
    errata = release_week(cast.W47, out=rebuilt, now=LATER)
    names = ["release-2026-W47", "release-2026-W48", new.folder.name, errata.folder.name]
    books = {name: json.loads((rebuilt / name / form.MANIFEST).read_text())["rule_book"] for name in names}
    assert list(books.values()) == ["1", "1", "2", "2"]
    assert {name: verify(rebuilt / name).differences for name in names} == {name: [] for name in names}
    assert "chain: follows release-2026-W48" in verify(new.folder).figures
    assert (len(_rows(new.folder, form.BREAKS)), len(_rows(new.folder, form.MISTAKES))) == (0, 1)
    assert _rows(errata.folder, form.BREAKS) == _rows(errata.folder, form.UNPROVED) == []
    proved = {row["image_id"] for row in _rows(first, form.BREAKS)}
    assert {row["image_id"] for row in _rows(errata.folder, form.MISTAKES)} == proved

    # From a mirror of all of it another database is filled, which releases the same bytes again.
    for name in names[2:]:
        shutil.copytree(rebuilt / name, mirror / name)
        shutil.copy(rebuilt / f"{name}.zip", mirror)
    (mirror / LIST).write_text(json.dumps({"releases": [as_listed(each) for each in releases()]}))
    transaction.savepoint_rollback(beginning)
    cache.clear()
    cast.elsewhere(settings, tmp_path / "third")
    call_command("rebuild_from_releases", str(mirror), verbosity=0)
    assert [each.name for each in Release.objects.order_by("pk")] == names
    assert {each.image.public_id for each in mistakes_outside().select_related("image")} > proved
    for week in (cast.W47, W49):
        assert not release_week(week, out=tmp_path / "again", now=LATER).new, week.name
