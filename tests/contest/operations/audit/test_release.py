"""The audit trail in the weekly release: a chain that anybody can check, with nothing private in it (R39)."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from adjudication.schema import release_format as form
from adjudication.verifier.audit import chain_link_of_row
from adjudication.verify import verify
from common.audit.chain import BEGINNING, ChainEnd, sealed
from common.audit.seals import chain_check, seal_entries
from common.audit.trail import audit
from common.models import AuditEntry, AuditSeal, AuditUnsealed
from contest.core.models import Release
from contest.record.rebuild import contest_rows
from contest.record.rebuild.mirror_reader import MirroredRecord, MirroredRelease
from contest.releases.services import ReleaseResult, release_week
from labeling.models import Image
from tests import factories
from tests.adjudication.test_verify import Forger
from tests.contest.record import cast
from tests.unprotected import unprotected

pytestmark = pytest.mark.django_db
SECRET = "Somebody whom nobody should know wrote a reason."


@pytest.fixture(scope="module")
def releases(module_world: Path) -> list[ReleaseResult]:
    """The releases of two weeks, in each of which something was done."""
    organizer = factories.user("olga", "organizers")
    cast.two_weeks()
    for at in (cast.W47.start - timedelta(days=30), cast.W47.start, cast.LATER):
        audit("tasker.pause", by=organizer, subject={"tasker": ["T-12345"]}, why=SECRET, now=at)
        audit("policy.record", by=organizer, subject={"policy": [2]}, why="='Now\r\nbetter.", now=at, published=True)
    return [release_week(week, out=module_world / "out", now=cast.NOW) for week in (cast.W47, cast.W48)]


@pytest.fixture
def olga(releases: list[ReleaseResult]) -> User:
    """The organizer of the releases."""
    return User.objects.get(username="olga")


@pytest.fixture
def made(releases: list[ReleaseResult], tmp_path: Path) -> list[ReleaseResult]:
    """The releases, in the test's own copy of their folders."""
    return [replace(each, folder=tmp_path / "out" / each.folder.name) for each in releases]


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / form.AUDIT).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_row_is_in_the_release_of_its_week_and_the_first_has_all_before(made: list[ReleaseResult]) -> None:
    first, second = (rows_of(each.folder) for each in made)
    assert [int(row["number"]) for row in first + second] == list(range(1, len(first + second) + 1))
    actions = [row["action"] for row in first][-4:], [row["action"] for row in second][-2:]
    assert actions == (["tasker.pause", "policy.record"] * 2, ["tasker.pause", "policy.record"])
    assert (first[0]["previous"], second[0]["previous"]) == (BEGINNING, first[-1]["sha256"])
    for each in made:
        found = verify(each.folder, pictures=False)
        assert (found.differences, [note for note in found.notes if "audit" in note]) == ([], [])


def test_what_is_private_is_in_no_file(made: list[ReleaseResult]) -> None:
    """R39"""
    files = [path for each in made for path in each.folder.glob("*.*")]
    secrets = (SECRET, "T-12345", "olga")
    leaks = {path.name: word for path in files for word in secrets if word.encode() in path.read_bytes()}
    assert (len(files) > 20, leaks) == (True, {})
    rows = {row["action"]: row for row in rows_of(made[1].folder)}
    assert rows["tasker.pause"].items() >= {"role": "organizer", "subject": "", "why": "", "facts": "{}"}.items()
    assert rows["policy.record"].items() >= {"subject": '{"policy":[2]}', "why": "'='Now\nbetter."}.items()


def test_the_publication_of_a_release_is_a_row_and_the_same_release_comes_again(
    made: list[ReleaseResult], tmp_path: Path, olga: User
) -> None:
    entries = AuditEntry.objects.filter(action="release.publish").order_by("pk").values_list("subject", "public")
    told = [({"release": [each.release.name]}, {"manifest_sha256": each.release.manifest_sha256}) for each in made]
    assert list(entries) == told
    assert json.loads((made[0].folder / form.MANIFEST).read_bytes())["counts"]["audit"] == len(rows_of(made[0].folder))
    audit("tasker.warn", by=olga, subject={"tasker": ["T-12345"]}, now=cast.NOW)
    again = [release_week(week, out=tmp_path / "out", now=cast.NOW) for week in (cast.W47, cast.W48)]
    assert ([each.new for each in again], Release.objects.count()) == ([False, False], 2)


FORGERIES: dict[str, Callable[[Forger], None]] = {
    "a row left out": lambda f: f.rows(form.AUDIT, lambda rows: rows.pop(0)),
    "another time": lambda f: f.cell(form.AUDIT, {"action": "policy.record"}, at="2026-11-23T00:00:00.000001Z"),
    "another role": lambda f: f.cell(form.AUDIT, {"action": "policy.record"}, role="board"),
    "another action": lambda f: f.cell(form.AUDIT, {"action": "policy.record"}, action="policy.change"),
    "another reason": lambda f: f.cell(form.AUDIT, {"action": "policy.record"}, why="Because."),
    "another subject": lambda f: f.cell(form.AUDIT, {"action": "policy.record"}, subject='{"policy":[3]}'),
    "made private": lambda f: f.cell(form.AUDIT, {"action": "policy.record"}, subject="", why=""),
    "facts added": lambda f: f.cell(form.AUDIT, {"action": "tasker.pause"}, facts='{"cents":1}'),
    "facts of a fraction": lambda f: f.cell(form.AUDIT, {"action": "tasker.pause"}, facts='{"cents":0.1}'),
    "facts that are no JSON": lambda f: f.cell(form.AUDIT, {"action": "tasker.pause"}, facts="{cents}"),
    "facts without end": lambda f: f.cell(form.AUDIT, {"action": "tasker.pause"}, facts='{"a":' + "[" * 99_999 + "}"),
    "another private part": lambda f: f.cell(form.AUDIT, {"action": "tasker.pause"}, private_sha256="0" * 64),
    "another hash": lambda f: f.cell(form.AUDIT, {"action": "tasker.pause"}, sha256="0" * 64),
    "a trail of its own": lambda f: _begun_anew(f),
    "rows of a release twice": lambda f: f.rows(
        form.AUDIT, lambda rows: rows.__setitem__(slice(None), rows_of(f.folder.with_name("release-2026-W47")))
    ),
}


def _begun_anew(forger: Forger) -> None:
    """All rows hashed anew, from another beginning: it fits in itself, and not to the release before."""

    def anew(rows: list[dict[str, str]]) -> None:
        end = ChainEnd(int(rows[0]["number"]) - 1, "1" * 64)
        for row in rows:
            link = sealed(end, chain_link_of_row(row).public, row["private_sha256"])
            row.update(previous=link.previous, sha256=link.sha256)
            end = ChainEnd(link.number, link.sha256)

    forger.rows(form.AUDIT, anew)


def _forged(folder: Path, change: Callable[[Forger], None]) -> None:
    """Change a release, and hash its files anew."""
    forger = Forger(folder, cast.cast.Contest([]))
    change(forger)
    forger.rehash()


def _differing(folder: Path, **told: Any) -> list[str]:
    """What the verifier says differs in the audit trail: in nothing else."""
    found = verify(folder, pictures=False, **told).differences
    assert all(line.startswith(f"{form.AUDIT}: ") for line in found), found
    return found


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_row_is_found_although_the_hashes_of_the_files_fit(what: str, made: list[ReleaseResult]) -> None:
    _forged(made[1].folder, FORGERIES[what])
    found = verify(made[1].folder, pictures=False).differences
    assert [line for line in found if line.startswith(f"{form.AUDIT}: ")], found


def test_the_release_before_may_be_named_and_need_not_be_there(made: list[ReleaseResult], tmp_path: Path) -> None:
    alone = made[1].folder.rename(tmp_path / made[1].folder.name)
    assert (_differing(alone), _differing(alone, previous=made[0].folder)) == ([], [])
    _forged(alone, _begun_anew)
    assert (_differing(alone), bool(_differing(alone, previous=made[0].folder))) == ([], True)


def test_rows_of_a_release_that_is_not_here_are_noted(made: list[ReleaseResult], olga: User, tmp_path: Path) -> None:
    third = cast.week_named("2026-W49", "UTC")
    audit("tasker.warn", by=olga, subject={}, now=third.start)
    folder = release_week(third, out=tmp_path / "out", now=third.end + timedelta(days=1)).folder
    assert _differing(folder) == []
    found = verify(folder, previous=made[0].folder, pictures=False)
    assert not [line for line in found.differences if line.startswith(form.AUDIT)]
    assert [note for note in found.notes if note.startswith("audit trail: rows ")]


@pytest.mark.parametrize("recorded", [True, False], ids=["", "released before the last number was recorded"])
def test_a_row_that_comes_late_is_in_the_next_release(
    recorded: bool, made: list[ReleaseResult], olga: User, tmp_path: Path
) -> None:
    """R39: an act that began in a released week and ended after it; the releases go on where the last one ended."""
    if not recorded:
        Release.objects.update(last_audit_number=None)
    third = cast.week_named("2026-W49", "UTC")
    late = {"late": [1]}
    audit("policy.record", by=olga, subject=late, why="Late.", now=cast.W47.start, published=True)
    audit("policy.record", by=olga, subject=late, why="Late.", now=cast.W48.start, published=True)
    audit("tasker.warn", by=olga, subject={}, now=third.start)
    again, out = third.end + timedelta(days=1), tmp_path / "out"
    assert [release_week(week, out=out, now=again).new for week in (cast.W47, cast.W48)] == [False, False]
    made.append(release_week(third, out=out, now=again))
    Image.objects.filter(received_at__lt=cast.W47.end, origin="dataset").update(author="Somebody else")
    made.append(release_week(cast.W47, out=out, now=again))
    assert made[-1].release.name == "release-2026-W47-errata-1"
    first, second, last, errata = (rows_of(each.folder) for each in made)
    assert (errata, [row["why"] for row in last].count("Late.")) == (first, 2)
    assert [int(row["number"]) for row in first + second + last] == list(range(1, len(first + second + last) + 1))
    assert [_differing(each.folder) for each in made] == [[]] * 4
    for week in (cast.W48, third):
        assert not release_week(week, out=out, now=again).new


def test_a_trail_filled_from_releases_holds_and_goes_on(made: list[ReleaseResult], olga: User) -> None:
    listed = [{"name": each.release.name, "week": each.release.week, "part": 0} for each in made]
    seals = AuditSeal.objects.order_by("number").values_list("number", "previous", "sha256")
    kept = list(seals)
    _emptied()
    contest_rows.fill_audit(
        MirroredRecord(tuple(MirroredRelease(each.folder, row) for each, row in zip(made, listed, strict=True)))
    )
    filled = list(seals.all())
    assert filled == kept[: len(filled)]
    assert chain_check(now=cast.NOW).by_hash_alone == len(filled) > 0
    audit("tasker.warn", by=olga, subject={}, now=cast.NOW)
    assert (seal_entries(), chain_check(now=cast.NOW).wrong) == (1, "")


def _emptied() -> None:
    models = (AuditUnsealed, AuditSeal, AuditEntry)
    with connection.cursor() as cursor, unprotected(connection, cursor, [each._meta.db_table for each in models]):
        for model in models:
            model.objects.all()._raw_delete("default")
