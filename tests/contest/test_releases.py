"""When a week is released, that it comes out the same twice, and what happens when things go wrong (R39)."""

import fcntl
import filecmp
import gc
import hashlib
import json
import os
import signal
import threading
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from adjudication.verify import verify
from common.errors import Conflict, DomainError, InvalidInput
from contest import releases
from contest.exports import archive, folders, tables
from contest.models import Release
from contest.rules import week_named
from labeling.models import Image, Panel, Report
from labeling.png import encode_png
from labeling.store import PictureMissing, picture_key, picture_store
from scoring.enums import Fault, Outcome, RunState
from scoring.models import Defense
from tests import factories
from tests.contest import release_fixtures as cast

WEEK = week_named("2026-W47", "UTC")


@pytest.fixture
def contest(db: None) -> cast.Contest:
    return cast.a_week()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def _release(out: Path, **options: Any) -> releases.Released:
    return releases.release_week(WEEK, out=out, now=cast.AFTER, **options)


def _same(one: Path, other: Path) -> bool:
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    return all(filecmp.cmp(one / name, other / name, shallow=False) for name in names)


def _manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


@pytest.mark.parametrize(
    ("now", "week", "why"),
    [
        (datetime(2026, 11, 21, 0, 0, tzinfo=UTC), "2026-W47", "the first moment after the week"),
        (datetime(2026, 11, 20, 23, 59, 59, 999_999, tzinfo=UTC), "2026-W46", "the last moment of the week"),
        (datetime(2027, 1, 5, tzinfo=UTC), "2026-W53", "over the turn of the year"),
    ],
)
def test_without_a_name_the_last_week_that_is_over(now: datetime, week: str, why: str, db: None) -> None:
    factories.policy_version()
    assert releases.week_to_release(None, now=now).name == week, why


@pytest.mark.parametrize(
    ("name", "error", "code", "why"),
    [
        ("2026-W47", Conflict, "week_not_over", "it runs until Friday midnight"),
        ("2026-W48", Conflict, "week_not_over", "it has not begun"),
        ("2026-W54", InvalidInput, "unknown_week", "no year has so many"),
        ("47", InvalidInput, "unknown_week", "no name of a week"),
        ("../W47", InvalidInput, "unknown_week", "a path is no name either"),
    ],
)
def test_other_weeks_are_refused(name: str, error: type[DomainError], code: str, why: str, db: None) -> None:
    factories.policy_version()
    with pytest.raises(error) as refused:
        releases.week_to_release(name, now=datetime(2026, 11, 20, 23, 59, tzinfo=UTC))
    assert refused.value.code == code, why


def test_the_release_is_recorded(contest: cast.Contest, out: Path) -> None:
    released = _release(out)
    row = Release.objects.get()
    assert released.new and released.release == row
    assert (row.week, row.part, row.previous_sha256, row.released_at) == ("2026-W47", 0, "", cast.AFTER)
    assert row.manifest_sha256 == hashlib.sha256((released.folder / "manifest.json").read_bytes()).hexdigest()
    assert row.counts == {
        "images": 9, "responses": 28, "rulings": 9, "predictions": 12, "faults": 0, "breaks": 1, "unproved_breaks": 0,
        "defenses": 2, "tasker_data": 9, "provenance": 9, "panels": 9, "attacks": 1, "teams": 1, "associations": 0,
        "decisions": 0, "batches": 0, "stakes": 0, "awards": 0, "ledger": 0,
        "eligibility": 0, "audit": 0, "appeals": 0, "statements": 0, "cases": 0, "motions": 0, "examinations": 0,
        "mistakes": 0,
    }  # fmt: skip
    assert row.bytes == released.archive.stat().st_size
    assert sorted(path.name for path in out.iterdir()) == ["release-2026-W47", "release-2026-W47.zip"]


def test_the_manifest_says_what_the_rules_used(contest: cast.Contest, out: Path) -> None:
    manifest = _manifest(_release(out).folder)
    assert manifest["name"] == "release-2026-W47"
    assert (manifest["week_start"], manifest["week_end"]) == (
        "2026-11-14T00:00:00.000000Z",
        "2026-11-21T00:00:00.000000Z",
    )
    assert (manifest["time_zone"], manifest["rule_book"]) == ("UTC", "2")
    assert list(manifest["policy"]) == ["1"]
    assert manifest["policy"]["1"]["min_box_fraction"] == "1/4"
    assert manifest["waiting"] == {"panel": 0, "answers": 0, "report": 0, "ruling": 0, "runs": 0}


def test_a_policy_of_later_is_not_named_and_one_in_force_meanwhile_is(contest: cast.Contest, out: Path) -> None:
    first = factories.policy_version()
    for version, since in ((2, WEEK.start + timedelta(days=1)), (3, cast.AFTER)):
        numbers = first.numbers | {"panel_size": 3 + version}
        type(first).objects.create(version=version, numbers=numbers, in_force_from=since, reason="test")
    released = _release(out)
    assert list(_manifest(released.folder)["policy"]) == ["1", "2"]
    assert verify(released.folder).differences == []


def test_the_same_database_gives_the_same_bytes(contest: cast.Contest, out: Path, tmp_path: Path) -> None:
    first, again = _release(out), _release(out)
    elsewhere = releases.release_week(WEEK, out=tmp_path / "elsewhere", now=cast.AFTER + timedelta(days=9))
    assert (first.new, again.new, elsewhere.new) == (True, False, False)
    assert _same(first.folder, elsewhere.folder)
    assert filecmp.cmp(first.archive, elsewhere.archive, shallow=False)
    assert Release.objects.count() == 1


def test_a_published_folder_is_not_touched_again(contest: cast.Contest, out: Path) -> None:
    folder = _release(out).folder
    before = {path: path.stat().st_ino for path in folder.rglob("*")}
    _release(out)
    assert {path: path.stat().st_ino for path in folder.rglob("*")} == before


def test_what_is_listed_is_the_size_of_the_zip_that_is_sent(
    contest: cast.Contest, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of the library packs the same release into other bytes; who fetches it counts them."""
    first = _release(out)
    size = first.archive.stat().st_size
    monkeypatch.setattr(archive, "_LEVEL", 9)
    again = _release(out)
    assert (again.new, again.release) == (False, first.release)
    assert again.archive.stat().st_size == Release.objects.get().bytes < size


def _one_more_response(contest: cast.Contest) -> None:
    contest_panel = contest.panels["occluded"]
    late = {"now": cast.MONDAY + timedelta(days=2), "counted": False}
    factories.response(contest.taskers[3], contest_panel, **cast.EXCLUDED, **late)


def test_a_correction_is_a_new_part_in_the_chain(contest: cast.Contest, out: Path, tmp_path: Path) -> None:
    first = _release(out)
    untouched = (first.folder / "manifest.json").read_bytes()
    _one_more_response(contest)
    second, again = _release(out), _release(tmp_path / "elsewhere")
    assert (second.new, again.new) == (True, False)
    assert second.folder.name == "release-2026-W47-errata-1"
    assert (first.folder / "manifest.json").read_bytes() == untouched
    manifest = _manifest(second.folder)
    assert (manifest["part"], manifest["previous_name"]) == (1, "release-2026-W47")
    assert manifest["previous_sha256"] == first.release.manifest_sha256 == second.release.previous_sha256
    assert manifest["counts"]["responses"] == 29
    assert verify(first.folder).differences == verify(second.folder).differences == []
    assert _same(second.folder, again.folder)


def test_the_chain_is_in_the_order_of_publication(contest: cast.Contest, out: Path) -> None:
    """Errata of an old week follow the newest release: one line without forks."""
    first = _release(out)
    next_week = week_named("2026-W48", "UTC")
    second = releases.release_week(next_week, out=out, now=next_week.end)
    _one_more_response(contest)
    third = _release(out)
    assert [each.release.name for each in (first, second, third)] == [
        "release-2026-W47",
        "release-2026-W48",
        "release-2026-W47-errata-1",
    ]
    assert _manifest(second.folder)["previous_name"] == "release-2026-W47"
    assert _manifest(third.folder)["previous_sha256"] == second.release.manifest_sha256
    assert [verify(each.folder).differences for each in (first, second, third)] == [[], [], []]


def test_an_empty_week_can_be_released(db: None, out: Path) -> None:
    factories.policy_version()
    released = _release(out)
    assert set(released.release.counts.values()) == {0}
    assert verify(released.folder).differences == []


def _without_a_panel(contest: cast.Contest) -> None:
    cast.picture(80)


def _without_answers(contest: cast.Contest) -> None:
    factories.panel(cast.picture(80), dealt_at=cast.MONDAY)


def _without_a_ruling(contest: cast.Contest) -> None:
    cast.labeled(contest, "full", cast.picture(80), [cast.EXCLUDED] * 3)


def _without_runs(contest: cast.Contest) -> None:
    cast.defense(3)


def _without_the_last_round(contest: cast.Contest) -> None:
    image = contest.images["valid bird"]
    late = cast.defense(3)
    cast.scored(late, image, [Outcome.ABSTAIN] * 2)
    cast.scored(late, contest.images["valid bicycle"], [Outcome.ABSTAIN] * 3)


def _with_a_fault_of_the_platform(contest: cast.Contest) -> None:
    _without_the_last_round(contest)
    cast.faulted(Defense.objects.get(public_id="D-00003"), contest.images["valid bird"], 3, Fault.PLATFORM)


def _held(contest: cast.Contest, decision: str) -> Panel:
    panel = factories.panel(cast.picture(80), dealt_at=cast.MONDAY)
    panel.state = "held"
    panel.save()
    given_back = factories.assignment(contest.taskers[0], panel, now=cast.MONDAY, state="released")
    decided = {"decision": decision, "decided_at": cast.MONDAY, "reply": "Not shown any more."} if decision else {}
    Report.objects.create(
        assignment=given_back,
        image=panel.image,
        tasker=contest.taskers[0],
        kind="offensive",
        reported_at=cast.MONDAY,
        **decided,
    )
    return panel


def _with_a_report(contest: cast.Contest) -> None:
    _held(contest, "")


def _with_runs_not_looked_at(contest: cast.Contest) -> None:
    late = cast.defense(3)
    for case in ("valid bird", "valid bicycle"):
        cast.scored(late, contest.images[case], [Outcome.ABSTAIN] * 3, state=RunState.FINISHED)


UNDER_WAY: dict[Callable[[cast.Contest], object], str] = {
    _without_a_panel: "1 for a panel",
    _without_answers: "1 for answers",
    _with_a_report: "1 for an organizer to decide on a report",
    _without_a_ruling: "1 for a ruling",
    _without_runs: "2 for runs",
    _without_the_last_round: "1 for runs",
    _with_a_fault_of_the_platform: "1 for runs",
    _with_runs_not_looked_at: "2 for runs",
}


def test_a_week_under_way_is_refused_unless_told(contest: cast.Contest, tmp_path: Path) -> None:
    for change, waits in UNDER_WAY.items():
        with transaction.atomic():
            change(contest)
            _refused_unless_told(tmp_path / change.__name__, waits)
            transaction.set_rollback(True)


def _refused_unless_told(out: Path, waits: str) -> None:
    with pytest.raises(Conflict) as refused:
        _release(out)
    assert f"still wait: {waits}." in refused.value.message
    assert list(out.iterdir()) == [] and not Release.objects.exists()
    released = _release(out, incomplete=True)
    assert verify(released.folder).differences == [], waits


@pytest.mark.parametrize(("decision", "published"), [("kept_out", 1), ("", 0)])
def test_a_picture_that_was_kept_out_is_not_waited_for(
    decision: str, published: int, contest: cast.Contest, out: Path
) -> None:
    """What was said of it is published; of a picture that may come back, nothing is."""
    panel = _held(contest, decision)
    response = factories.response(contest.taskers[1], panel, now=cast.MONDAY, **cast.EXCLUDED)
    folder = _release(out, incomplete=not decision).folder
    assert verify(folder).differences == []
    lines = (folder / "responses.csv").read_text().splitlines()
    assert len([line for line in lines if line.startswith(f"{response.pk},")]) == published


def test_a_fault_of_the_defense_itself_is_not_waited_for(contest: cast.Contest, out: Path) -> None:
    """It is final, so waiting would never end (R30)."""
    _without_the_last_round(contest)
    late = Defense.objects.get(public_id="D-00003")
    cast.faulted(late, contest.images["valid bird"], 3, Fault.CRASHED)
    released = _release(out)
    assert _manifest(released.folder)["waiting"]["runs"] == 0
    assert verify(released.folder).differences == []


def test_a_retired_defense_is_not_waited_for(contest: cast.Contest, out: Path) -> None:
    """Neither by the release nor by its verifier, whether it had answered everything, something or nothing."""
    _without_the_last_round(contest)
    cast.defense(4)
    Defense.objects.update(retired_at=cast.AFTER)
    assert verify(_release(out).folder).differences == []


def test_an_incomplete_release_is_followed_by_errata(contest: cast.Contest, out: Path) -> None:
    cast.labeled(contest, "full", cast.picture(80), [cast.EXCLUDED] * 3)
    _release(out, incomplete=True)
    cast.ruled(contest.panels["full"])
    assert _release(out).folder.name == "release-2026-W47-errata-1"


def test_pictures_of_other_weeks_do_not_hold_a_release_up(contest: cast.Contest, out: Path) -> None:
    cast.picture(80, received_at=WEEK.end, label_from=WEEK.end)
    assert _release(out).new


def test_a_missing_picture_stops_the_release_without_a_trace(contest: cast.Contest, out: Path) -> None:
    image = contest.images["too_small"]
    key = picture_key(image.pixels_sha256)
    path = next(Path(picture_store().folder).rglob(f"{image.pixels_sha256}.png"))  # type: ignore[attr-defined]
    kept = path.read_bytes()
    path.unlink()
    with pytest.raises(PictureMissing):
        _release(out)
    assert list(out.iterdir()) == [] and not Release.objects.exists()
    picture_store().put(key, kept)
    assert _release(out).new


def test_what_no_verifier_would_read_is_not_released(
    contest: cast.Contest, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _release(tmp_path / "before").folder
    others = (path for path in folder.iterdir() if path.is_file() and path.name != "manifest.json")
    largest = max(others, key=lambda path: path.stat().st_size).name
    for limit, name in (("MOST_MANIFEST_BYTES", "manifest.json"), ("MOST_FILE_BYTES", largest)):
        size = (folder / name).stat().st_size
        monkeypatch.setattr(f"contest.releases.{limit}", size - 1)
        with pytest.raises(Conflict, match=f"Nothing was released: {name} has {size:,} bytes") as refused:
            _release(out)
        assert refused.value.code == "too_large" and list(out.iterdir()) == []
        monkeypatch.setattr(f"contest.releases.{limit}", size)
    assert _release(out).folder.is_dir(), "the limits themselves are read"


@pytest.mark.skipif(connection.vendor == "postgresql", reason="a forked process cannot share the connection there")
@pytest.mark.parametrize("step", ["responses.csv", "images", "release-2026-W47.zip"])
def test_a_killed_worker_leaves_nothing_that_looks_like_a_release(step: str, contest: cast.Contest, out: Path) -> None:
    def die(what: str, done: int, total: int | None) -> None:
        if what == step:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            _release(out, progress=die)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert [path.name for path in out.iterdir()] == [".release.partial"]
    assert _release(out).new
    assert sorted(path.name for path in out.iterdir()) == ["release-2026-W47", "release-2026-W47.zip"]


def test_a_folder_without_its_record_is_taken_over_when_it_is_the_same(contest: cast.Contest, out: Path) -> None:
    """A worker killed after the rename and before the commit."""
    with transaction.atomic():
        _release(out)
        transaction.set_rollback(True)
    assert not Release.objects.exists()
    assert _release(out).new


def _aside(out: Path) -> list[Path]:
    return sorted((out / ".aside").glob("*/release-2026-W47"))


def test_a_folder_without_its_record_makes_room_when_the_week_changed_meanwhile(
    contest: cast.Contest, out: Path
) -> None:
    with transaction.atomic():
        unrecorded = (_release(out).folder / "manifest.json").read_bytes()
        transaction.set_rollback(True)
    _one_more_response(contest)
    released = _release(out)
    assert released.new and verify(released.folder).differences == []
    assert [(folder / "manifest.json").read_bytes() for folder in _aside(out)] == [unrecorded]


def test_a_folder_of_somebody_else_is_moved_aside_and_kept(contest: cast.Contest, out: Path) -> None:
    (out / "release-2026-W47").mkdir(parents=True)
    (out / "release-2026-W47" / "precious").write_text("kept")
    assert _release(out).new
    assert [(folder / "precious").read_text() for folder in _aside(out)] == ["kept"]


def test_a_damaged_folder_is_restored_to_what_was_published(contest: cast.Contest, out: Path) -> None:
    folder = _release(out).folder
    (folder / "breaks.csv").write_text("gone\n")
    (folder / "more").write_text("x")
    assert not _release(out).new
    assert verify(folder).differences == []


def test_two_workers_do_not_write_into_one_folder(contest: cast.Contest, out: Path) -> None:
    out.mkdir()
    other = os.open(out, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(Conflict) as refused:
        _release(out)
    assert refused.value.code == "release_running"
    os.close(other)
    assert _release(out).new


def _meanwhile(act: Callable[[], object]) -> Callable[[str, int, int | None], None]:
    """Progress that does something once, when the part is decided on and its zip is being written."""
    left = [act]

    def progress(what: str, done: int, total: int | None) -> None:
        if what.endswith(".zip") and left:
            left.pop()()

    return progress


def test_what_was_overtaken_by_other_bytes_is_not_published(contest: cast.Contest, out: Path, tmp_path: Path) -> None:
    """Two machines with release folders of their own, and an answer between them."""

    def elsewhere() -> None:
        _one_more_response(contest)
        _release(tmp_path / "elsewhere")

    with pytest.raises(Conflict) as refused:
        _release(out, progress=_meanwhile(elsewhere))
    assert refused.value.code == "release_overtaken"
    assert list(out.iterdir()) == [] and Release.objects.count() == 1
    again = _release(out)
    assert not again.new and _same(again.folder, tmp_path / "elsewhere" / "release-2026-W47")


def test_what_was_overtaken_by_the_same_bytes_is_the_same_release(
    contest: cast.Contest, out: Path, tmp_path: Path
) -> None:
    released = _release(out, progress=_meanwhile(lambda: _release(tmp_path / "elsewhere")))
    assert not released.new and Release.objects.count() == 1
    assert _same(released.folder, tmp_path / "elsewhere" / "release-2026-W47")


def test_the_chain_does_not_fork(contest: cast.Contest, out: Path, tmp_path: Path) -> None:
    next_week = week_named("2026-W48", "UTC")
    other = _meanwhile(lambda: releases.release_week(next_week, out=tmp_path / "elsewhere", now=next_week.end))
    with pytest.raises(Conflict) as refused:
        _release(out, progress=other)
    assert refused.value.code == "release_overtaken"
    assert _release(out).release.previous_sha256 == Release.objects.get(week="2026-W48").manifest_sha256


@pytest.mark.postgres("a snapshot is an isolation level of its own")
@pytest.mark.django_db(transaction=True)
def test_only_one_of_two_at_the_same_moment_joins_the_chain(tmp_path: Path) -> None:
    """Both have decided to be the first one when either begins to record itself."""
    cast.a_week()
    both, ended = threading.Barrier(2), []

    def wait(what: str, done: int, total: int | None) -> None:
        if what.endswith(".zip") and done == total:
            both.wait(timeout=60)

    def release(name: str) -> None:
        week = week_named(name, "UTC")
        try:
            releases.release_week(week, out=tmp_path / name, now=week.end + timedelta(weeks=2), progress=wait)
            ended.append("released")
        except Conflict as conflict:
            ended.append(conflict.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=release, args=(name,)) for name in ("2026-W47", "2026-W48")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == ["release_overtaken", "released"]
    assert Release.objects.count() == 1


def test_progress_is_told_to_the_end(contest: cast.Contest, out: Path) -> None:
    told: dict[str, tuple[int, int | None]] = {}
    _release(out, progress=lambda what, done, total: told.update({what: (done, total)}))
    assert told["responses.csv"] == (28, 28)
    assert told["images"] == (9, 9)
    assert told["release-2026-W47.zip"] == (39, 39)


def _many_pictures(number: int, received: datetime) -> None:
    """Tiny pictures that nobody was asked about yet."""
    template = factories.image(origin="gold")
    fields = {field.attname: getattr(template, field.attname) for field in Image._meta.concrete_fields}
    fields |= {"id": None, "origin": "dataset", "received_at": received, "label_from": received}
    day = received.strftime("%m%d")
    hashes = [hashlib.sha256(f"{day} {at}".encode()).hexdigest() for at in range(number)]
    made = ({"public_id": f"P-{day}{at:04}", "pixels_sha256": sha, "source_id": sha} for at, sha in enumerate(hashes))
    Image.objects.bulk_create(Image(**(fields | own)) for own in made)
    picture = encode_png(1, 1, b"rgb")
    for sha in hashes:
        picture_store().put(picture_key(sha), picture)


def _peak(name: str, out: Path) -> int:
    """Return the most bytes Python held while a week was released, found unchanged, and copied."""
    week = week_named(name, "UTC")
    # A whole collection waits for a quarter of all that lives, which in a process of many tests is more than a release.
    gc.collect()
    gc.freeze()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(2):
            released = releases.release_week(week, out=out, now=cast.AFTER, incomplete=True)
        releases.release_copy(released, out / "copy")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.unfreeze()


def test_memory_does_not_grow_with_the_pictures(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Buffers as in a release of a hundred thousand pictures would hide what a few hundred of them take.
    for module, name, size in ((tables, "CHUNK", 50), (folders, "_NAMES", 50), (archive, "_CHUNK", 1 << 12)):
        monkeypatch.setattr(module, name, size)
    factories.policy_version()
    for number, weeks in ((1, 3), (50, 2), (350, 1), (350, 0)):
        _many_pictures(number, cast.MONDAY - timedelta(weeks=weeks))
    _, few, first, second = (_peak(f"2026-W{week}", tmp_path / "out") for week in (44, 45, 46, 47))
    assert len(list((tmp_path / "out").rglob("*.png"))) == 2 * 751, "released and copied"
    # The rows of the pictures, held as a list, take more than 100,000 bytes. After a week that loads what is loaded
    # once, and twice, because threads that other tests left behind may just then be busy.
    assert min(first, second) - few < 60_000


def test_the_command_writes_the_last_week_and_says_so(
    contest: cast.Contest, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: cast.AFTER)
    said = StringIO()
    call_command("release_week", stdout=said)
    assert "Released release-2026-W47 (9 images, 28 responses" in said.getvalue()
    assert str(settings.RELEASE_DIR / "release-2026-W47.zip") in said.getvalue()
    assert Release.objects.get().manifest_sha256 in said.getvalue()
    again = StringIO()
    call_command("release_week", "2026-W47", stdout=again)
    assert "Nothing changed since it was published: release-2026-W47" in again.getvalue()


def test_another_folder_gets_a_copy_of_what_is_published(
    contest: cast.Contest, out: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: cast.AFTER)
    said = StringIO()
    call_command("release_week", out=out, stdout=said)
    for name in ("release-2026-W47", "release-2026-W47.zip"):
        assert str(out / name) in said.getvalue()
    published = settings.RELEASE_DIR
    assert sorted(path.name for path in out.iterdir()) == ["release-2026-W47", "release-2026-W47.zip"]
    assert _same(out / "release-2026-W47", published / "release-2026-W47")
    assert filecmp.cmp(out / "release-2026-W47.zip", published / "release-2026-W47.zip", shallow=False)
    (out / "release-2026-W47" / "breaks.csv").write_text("gone")
    call_command("release_week", out=out, stdout=said)
    assert _same(out / "release-2026-W47", published / "release-2026-W47")
    assert [(folder / "breaks.csv").read_text() for folder in _aside(out)] == ["gone"]


def test_the_command_refuses_with_the_reason(contest: cast.Contest, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: cast.AFTER)
    with pytest.raises(CommandError, match="Week 2026-W48 is not over: it ends at 2026-11-28 00:00 UTC"):
        call_command("release_week", "2026-W48", out=out)
    cast.picture(80)
    with pytest.raises(CommandError, match="1 for a panel"):
        call_command("release_week", out=out)
    call_command("release_week", out=out, incomplete=True, stdout=StringIO())


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_does_not_see_what_happens_meanwhile() -> None:
    factories.policy_version()
    factories.image(received_at=cast.MONDAY)

    def meanwhile() -> None:
        try:
            factories.image(received_at=cast.MONDAY)
        finally:
            connection.close()

    with tables.snapshot():
        assert tables.images_of(WEEK).count() == 1
        if connection.vendor == "postgresql":  # the other database lies in this process's memory during tests
            other = threading.Thread(target=meanwhile)
            other.start()
            other.join()
        assert tables.images_of(WEEK).count() == 1
    assert Image.objects.count() == (2 if connection.vendor == "postgresql" else 1)
