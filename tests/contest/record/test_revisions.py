"""Releases as earlier revisions of the format and the first rule book had them are still read, and forgeries found."""

import csv
import json
import shutil
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adjudication.schema import release_format as form
from adjudication.schema import release_tables
from adjudication.verifier.untrusted_files import NotARelease
from adjudication.verify import verify
from contest.record.rebuild.mirror_reader import MirroredRelease
from contest.releases.services import release_week
from labeling.enums import PanelState
from labeling.models import Panel, Report
from labeling.selectors import forget_versions
from tests import factories
from tests.adjudication.test_verify import Forger
from tests.contest import release_fixtures
from tests.contest.record import cast

pytestmark = pytest.mark.django_db

GROWN = release_fixtures.SATURDAY + timedelta(minutes=30)


def _made_as_of(folder: Path, revision: int) -> Forger:
    """Make a release one of an earlier revision: without what was added since, and under the first rule book."""
    coco = folder / form.COCO
    written = f'"version": "{form.rule_book_version(revision)}"'
    coco.write_text(coco.read_text().replace(f'"version": "{form.RULE_BOOK_VERSION}"', written, 1))
    for name in release_tables.FILES - release_tables.files_of(revision):
        (folder / name).unlink()
    forger = Forger(folder, release_fixtures.Contest([]))
    forger.manifest(lambda values: _say_revision(values, revision))
    for name, columns in release_tables.tables_of(revision).items():
        rows = list(csv.reader((folder / name).read_text().splitlines(keepends=True)))
        with (folder / name).open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(row[: len(columns)] for row in rows)
    forger.rehash()
    return forger


def _say_revision(values: dict[str, Any], revision: int) -> None:
    values["revision"], values["rule_book"] = revision, form.rule_book_version(revision)
    for key in ("revision", "policy_from", "policy_reason") if revision == 1 else ():
        del values[key]
    tables = {name.partition(".")[0] for name in [*release_tables.tables_of(revision), form.TASKER_DATA]}
    values["counts"] = {name: number for name, number in values["counts"].items() if name in tables}


@pytest.fixture(scope="module")
def two_sizes_made(module_world: Path) -> release_fixtures.Contest:
    first = factories.policy_version()
    told = {"numbers": first.numbers | {"panel_size": 5}, "in_force_from": GROWN, "reason": "test"}
    type(first).objects.create(version=2, **told)
    forget_versions()
    return release_fixtures.a_week()


@pytest.fixture
def two_sizes(two_sizes_made: release_fixtures.Contest) -> release_fixtures.Contest:
    """Since the morning after the week five taskers are asked; the panels of before have three."""
    forget_versions()
    return deepcopy(two_sizes_made)


@pytest.fixture
def week(two_sizes: release_fixtures.Contest, settings: Any) -> Path:
    return release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.NOW).folder


@pytest.mark.parametrize("revision", range(1, form.REVISION))
def test_a_release_of_an_earlier_revision_is_still_read(revision: int, week: Path) -> None:
    forger = _made_as_of(week, revision)
    assert verify(forger.folder).differences == []
    forger.cell(form.RULINGS, {"verdict": "valid"}, verdict="rejected", label="", reasons="occluded")
    forger.rehash()
    assert [line for line in verify(forger.folder).differences if line.startswith("rulings.csv")]


@pytest.mark.parametrize("answered", [2, 3, 4])
def test_a_panel_of_five_is_not_full_with_three(
    answered: int, two_sizes: release_fixtures.Contest, settings: Any, tmp_path: Path
) -> None:
    """Nothing that is right is called wrong where the policy grew; a ruling left out is found, also where the forger
    says that its picture waits for answers: what waits for them has none published."""
    # A picture with a panel of five that an organizer kept out after so many had answered.
    at = GROWN + timedelta(hours=1)
    panel = factories.panel(release_fixtures.picture(80), size=5, dealt_at=at)
    given_back = factories.assignment(factories.tasker("reporter"), panel, now=at, state="released")
    told = {"kind": "offensive", "reported_at": at, "decision": "kept_out", "decided_at": at}
    Report.objects.create(assignment=given_back, image=panel.image, tasker=given_back.tasker, **told)
    for tasker in two_sizes.taskers[:answered]:
        factories.response(tasker, panel, now=at, **release_fixtures.EXCLUDED)
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
    folder = release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.NOW).folder
    image = two_sizes.images["neither_class"].public_id
    for revision in range(1, form.REVISION + 1):  # as each one had written it
        copy = shutil.copytree(folder, tmp_path / f"revision {revision}" / folder.name)
        forger = _made_as_of(copy, revision) if revision < form.REVISION else Forger(copy, two_sizes)
        assert verify(forger.folder).differences == [], forger.folder
        if answered != 3:  # three were once all there were
            continue
        forger.rows(form.RULINGS, lambda rows: rows.remove(next(row for row in rows if row["image_id"] == image)))
        forger.manifest(lambda values: values["waiting"].update(answers=1))
        forger.rehash()
        wrong = f"{form.RULINGS}: row {image}: recorded no ruling, follows a ruling on every image"
        assert [line for line in verify(forger.folder).differences if line.startswith(wrong)], forger.folder


def test_a_file_that_a_revision_does_not_have_is_found(week: Path) -> None:
    _made_as_of(week, 1)
    (week / form.ATTACKS).write_text("number\n")
    assert verify(week).differences == [
        "manifest.json: attacks.csv: recorded an extra file, follows no such file [R39]"
    ]


def test_a_mirror_reads_no_table_that_a_revision_does_not_have(week: Path) -> None:
    _made_as_of(week, 1)
    assert list(MirroredRelease(week, {}).rows(form.AUDIT)) == []


NEWER: list[dict[str, Any]] = [{"revision": form.REVISION + 1}, {"rule_book": "3"}]


@pytest.mark.parametrize("values", NEWER, ids=["a revision", "a rule book"])
def test_what_is_to_come_asks_for_a_newer_program(values: dict[str, Any], week: Path) -> None:
    Forger(week, release_fixtures.Contest([])).manifest(lambda manifest: manifest.update(values))
    with pytest.raises(NotARelease, match="take a newer one"):
        verify(week)


def test_a_release_of_the_first_rule_book_verifies_as_before(tmp_path: Path) -> None:
    """As it was published, byte for byte; a picture of the organizers broke a defense there."""
    for archive in cast.WRITTEN_BEFORE.glob("*.zip"):
        shutil.unpack_archive(archive, tmp_path)
    folders = [tmp_path / cast.FIRST, tmp_path / cast.SECOND]
    assert [verify(folder).differences for folder in folders] == [[], []]
    assert {json.loads((each / form.MANIFEST).read_text())["rule_book"] for each in folders} == {"1"}
    forger = Forger(folders[0], release_fixtures.Contest([]))
    forger.rows(form.BREAKS, lambda rows: rows.clear())
    forger.rehash()
    assert [line for line in verify(forger.folder).differences if line.startswith("breaks.csv: ")]
