"""When a week is released, that it comes out the same twice, and what happens when things go wrong (R39)."""

import fcntl
import filecmp
import hashlib
import json
import os
import signal
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from adjudication.enums import Verdict
from adjudication.services import rule_by_board
from adjudication.verify import verify
from common.errors import Conflict, DomainError, InvalidInput
from contest.core.models import Break, Release
from contest.releases import archive, services
from contest.releases.folders import same_folder
from labeling.enums import Label
from labeling.models import Panel, Report
from labeling.more_taskers import panel_join
from picture_files.store import PictureMissing, picture_store
from policy.calendar import week_named
from policy.selectors import policy_in_force
from scoring.enums import DefenseAnswer, Fault, RunState
from scoring.models import Defense
from tests import factories
from tests.contest import release_fixtures as cast
from tests.contest.pages import lacking
from tests.refusals import refused

WEEK = week_named("2026-W47", "UTC")


@pytest.fixture(scope="module")
def week_made(module_world: Path) -> cast.Contest:
    return cast.a_week()


@pytest.fixture
def contest(week_made: cast.Contest, db: None) -> cast.Contest:
    """A week of which nothing is released; each test has its own copy."""
    return deepcopy(week_made)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def _release(out: Path, **options: Any) -> services.ReleaseResult:
    return services.release_week(WEEK, out=out, now=cast.AFTER, **options)


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
    assert services.week_to_release(None, now=now).name == week, why


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
    night = datetime(2026, 11, 20, 23, 59, tzinfo=UTC)
    assert isinstance(refused(code, services.week_to_release, name, now=night), error), why


def test_the_release_is_recorded_and_says_what_the_rules_used(contest: cast.Contest, out: Path) -> None:
    released, row = _release(out), Release.objects.get()
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
    manifest = _manifest(released.folder)
    assert manifest.items() >= {
        "name": "release-2026-W47", "week_start": "2026-11-14T00:00:00.000000Z", "time_zone": "UTC", "rule_book": "2",
        "week_end": "2026-11-21T00:00:00.000000Z",
        "waiting": {"panel": 0, "answers": 0, "report": 0, "ruling": 0, "runs": 0},
    }.items()  # fmt: skip
    assert (list(manifest["policy"]), manifest["policy"]["1"]["min_box_fraction"]) == (["1"], "1/4")


def test_a_policy_of_later_is_not_named_and_one_in_force_meanwhile_is(contest: cast.Contest, out: Path) -> None:
    first = factories.policy_version()
    for version, since in ((2, cast.SATURDAY + timedelta(minutes=30)), (3, cast.AFTER)):
        numbers = first.numbers | {"panel_size": 3 + version}
        type(first).objects.create(version=version, numbers=numbers, in_force_from=since, reason="test")
    released = _release(out)
    assert (list(_manifest(released.folder)["policy"]), verify(released.folder).differences) == (["1", "2"], [])


def test_the_same_database_gives_the_same_bytes(contest: cast.Contest, out: Path, tmp_path: Path) -> None:
    """Also elsewhere and later; what is published is not touched again."""
    first = _release(out)
    before, again = {path: path.stat().st_ino for path in first.folder.rglob("*")}, _release(out)
    assert {path: path.stat().st_ino for path in first.folder.rglob("*")} == before
    elsewhere = services.release_week(WEEK, out=tmp_path / "elsewhere", now=cast.AFTER + timedelta(days=9))
    assert (first.new, again.new, elsewhere.new) == (True, False, False)
    assert same_folder(first.folder, elsewhere.folder)
    assert filecmp.cmp(first.archive, elsewhere.archive, shallow=False)
    assert Release.objects.count() == 1


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
    late = {"now": cast.MONDAY + timedelta(days=2), "counted": False}
    factories.response(contest.taskers[3], contest.panels["occluded"], **cast.EXCLUDED, **late)


def test_a_correction_is_a_new_part_in_the_chain(contest: cast.Contest, out: Path, tmp_path: Path) -> None:
    first = _release(out)
    untouched = (first.folder / "manifest.json").read_bytes()
    _one_more_response(contest)
    second, again = _release(out), _release(tmp_path / "elsewhere")
    assert (second.new, again.new, second.folder.name) == (True, False, "release-2026-W47-errata-1")
    assert (first.folder / "manifest.json").read_bytes() == untouched and same_folder(second.folder, again.folder)
    sha, manifest = first.release.manifest_sha256, _manifest(second.folder)
    told = {"part": 1, "previous_name": "release-2026-W47", "previous_sha256": sha}
    assert manifest.items() >= told.items() and manifest["counts"]["responses"] == 29
    assert second.release.previous_sha256 == sha
    assert verify(first.folder).differences == verify(second.folder).differences == []


def test_the_chain_is_in_the_order_of_publication(contest: cast.Contest, out: Path) -> None:
    """Errata of an old week follow the newest release: one line without forks."""
    first, next_week = _release(out), week_named("2026-W48", "UTC")
    second = services.release_week(next_week, out=out, now=next_week.end)
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


def test_an_empty_week_can_be_released(contest: cast.Contest, out: Path) -> None:
    released = services.release_week(week_named("2026-W20", "UTC"), out=out, now=cast.AFTER)
    assert {name for name, number in released.release.counts.items() if number} == {"defenses"}
    assert verify(released.folder).differences == []


def _run(contest: cast.Contest, birds: int, *, state: str = RunState.ASSESSED) -> Defense:
    """A defense that was asked about a bird in so many rounds, and about a bicycle in all of them."""
    late = cast.defense(3)
    cast.scored(late, contest.images["valid bird"], [DefenseAnswer.ABSTAIN] * birds, state=state)
    cast.scored(late, contest.images["valid bicycle"], [DefenseAnswer.ABSTAIN] * 3, state=state)
    return late


def _held(contest: cast.Contest, decision: str) -> Panel:
    panel = factories.panel(cast.picture(80), dealt_at=cast.MONDAY)
    panel.state = "held"
    panel.save()
    given_back = factories.assignment(contest.taskers[0], panel, now=cast.MONDAY, state="released")
    told = {"decision": decision, "decided_at": cast.MONDAY, "reply": "Not shown any more."} if decision else {}
    told |= {"assignment": given_back, "image": panel.image, "tasker": contest.taskers[0], "reported_at": cast.MONDAY}
    Report.objects.create(kind="offensive", **told)
    return panel


UNDER_WAY: list[tuple[Callable[[cast.Contest], object], str, str]] = [
    (lambda _: cast.picture(80), "1 for a panel", "a picture without a panel"),
    (lambda _: factories.panel(cast.picture(80), dealt_at=cast.MONDAY), "1 for answers", "a panel without answers"),
    (lambda contest: _held(contest, ""), "1 for an organizer to decide on a report", "a report"),
    (
        lambda contest: cast.labeled(contest, "full", cast.picture(80), [cast.EXCLUDED] * 3),
        "1 for a ruling",
        "a full panel without a ruling",
    ),
    (lambda _: cast.defense(3), "2 for runs", "a defense that was not run"),
    (lambda contest: _run(contest, 2), "1 for runs", "a round that is missing"),
    (
        lambda contest: cast.faulted(_run(contest, 2), contest.images["valid bird"], 3, Fault.PLATFORM),
        "1 for runs that gave up",
        "a fault that is not the defense's own (R30)",
    ),
    (lambda contest: _run(contest, 3, state=RunState.FINISHED), "2 for runs", "runs that nobody assessed"),
]


@pytest.mark.parametrize(("change", "waits", "why"), UNDER_WAY, ids=[row[2] for row in UNDER_WAY])
def test_a_week_under_way_is_refused_unless_told(
    change: Callable[[cast.Contest], object], waits: str, why: str, contest: cast.Contest, out: Path
) -> None:
    change(contest)
    assert f"still wait: {waits}." in refused("week_under_way", _release, out).message
    assert list(out.iterdir()) == [] and not Release.objects.exists()
    assert verify(_release(out, incomplete=True).folder).differences == []


def _joined(contest: cast.Contest) -> None:
    """The board asked one more tasker, who says the same."""
    at = cast.AFTER - timedelta(days=1)
    cast.say(panel_join(contest.panels["valid bird"], 1, now=at), [cast.drawn(cast.LARGE)], at)
    cast.settle(at + timedelta(hours=1))


OVERRULED = "What looks like a beak is the lamp of a bicycle, as all outlines of it show."


def _overruled(contest: cast.Contest) -> None:
    """The board makes a bicycle of the bird: other answers are the mistakes."""
    at, image = cast.AFTER - timedelta(days=1), contest.images["valid bird"]
    ruled = {"verdict": Verdict.VALID, "label": Label.BICYCLE, "reasons": (), "explanation": OVERRULED}
    cast.case_of(rule_by_board(image=image, policy=policy_in_force(at), now=at, **ruled))


def _answer_without_ruling(contest: cast.Contest) -> None:
    _joined(contest)
    cast.labeled(contest, "full", cast.picture(80), [cast.EXCLUDED] * 3)


@pytest.mark.parametrize(
    ("change", "incomplete", "why"),
    [
        (_joined, False, "the same class by more taskers"),
        (_overruled, False, "the other class by the board"),
        (_answer_without_ruling, True, "the week is published while another picture waits"),
    ],
)
def test_breaks_under_a_newer_ruling_are_in_the_release(
    change: Callable[[cast.Contest], None], incomplete: bool, why: str, contest: cast.Contest, out: Path
) -> None:
    """The sweep of releases may come before the one that looks for breaks (R22, R29)."""
    change(contest)
    folder = _release(out, incomplete=incomplete).folder
    assert (verify(folder).differences, Break.objects.filter(found_at=cast.AFTER).count()) == ([], 1), why
    assert not _release(out, incomplete=incomplete).new


def test_nothing_is_released_while_a_ruling_is_new(
    contest: cast.Contest, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may commit after the breaks were recorded, and before the content is read (R29)."""
    monkeypatch.setattr(services, "breaks_derive", lambda now: _overruled(contest))
    assert "try again" in refused("release_overtaken", _release, out).message
    monkeypatch.undo()
    assert verify(_release(out).folder).differences == []


def test_who_is_refused_a_week_learns_which_runs_gave_up_and_what_to_do(contest: cast.Contest, out: Path) -> None:
    """By themselves they never go on (R30): an image that its registry no longer has would hold back every week."""
    gone, old = cast.defense(3, name="Small net"), cast.defense(4, name="Old net", retired_at=cast.MONDAY)
    for case, turn in (("valid bird", 1), ("valid bicycle", 1), ("valid bicycle", 2)):
        cast.faulted(gone, contest.images[case], turn, Fault.IMAGE_PULL)
    cast.faulted(old, contest.images["valid bird"], 1, Fault.PLATFORM)
    cast.faulted(cast.defense(5, name="Further rounds"), contest.images["valid bird"], 9, Fault.PLATFORM)
    assert services.waiting_pictures(WEEK) == {
        **dict.fromkeys(("panel", "answers", "report", "ruling", "runs"), 0),
        "gave_up": 2,
    }
    message = refused("week_under_way", _release, out).message
    assert "still wait: 2 for runs that gave up. Let them" in message
    assert message.endswith("Runs of Small net (image_pull) gave up: try them again on the page of the scoring queue.")
    waiting = _manifest(_release(out, incomplete=True).folder)["waiting"]
    assert waiting == {"panel": 0, "answers": 0, "report": 0, "ruling": 0, "runs": 2}, "a release says no more of it"


@pytest.mark.parametrize(("decision", "published"), [("kept_out", True), ("", False)])
def test_a_picture_that_was_kept_out_is_not_waited_for(
    decision: str, published: bool, contest: cast.Contest, out: Path
) -> None:
    """What was said of it is published; of a picture that may come back, nothing is."""
    response = factories.response(contest.taskers[1], _held(contest, decision), now=cast.MONDAY, **cast.EXCLUDED)
    folder = _release(out, incomplete=not decision).folder
    listed = f"\n{response.pk}," in (folder / "responses.csv").read_text()
    assert (listed, verify(folder).differences) == (published, [])


def test_an_incomplete_release_is_followed_by_errata(contest: cast.Contest, out: Path) -> None:
    cast.labeled(contest, "full", cast.picture(80), [cast.EXCLUDED] * 3)
    _release(out, incomplete=True)
    cast.ruled(contest.panels["full"])
    assert _release(out).folder.name == "release-2026-W47-errata-1"


def test_a_missing_picture_stops_the_release_without_a_trace(contest: cast.Contest, out: Path) -> None:
    sha = contest.images["too_small"].pixels_sha256
    path = next(Path(picture_store().folder).rglob(f"{sha}.png"))  # type: ignore[attr-defined]
    kept = path.rename(out.with_name("kept"))
    with pytest.raises(PictureMissing):
        _release(out)
    assert list(out.iterdir()) == [] and not Release.objects.exists()
    kept.rename(path)
    assert _release(out).new


def test_what_no_verifier_would_read_is_not_released(
    contest: cast.Contest, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _release(tmp_path / "before").folder
    others = (path for path in folder.iterdir() if path.is_file() and path.name != "manifest.json")
    largest = max(others, key=lambda path: path.stat().st_size).name
    for limit, name in (("MAX_MANIFEST_BYTES", "manifest.json"), ("MAX_FILE_BYTES", largest)):
        size = (folder / name).stat().st_size
        monkeypatch.setattr(f"contest.releases.services.{limit}", size - 1)
        assert f"Nothing was released: {name} has {size:,} bytes" in refused("too_large", _release, out).message
        assert list(out.iterdir()) == []
        monkeypatch.setattr(f"contest.releases.services.{limit}", size)
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
    assert [path.name for path in out.iterdir()] == [".release.partial"] and _release(out).new
    assert sorted(path.name for path in out.iterdir()) == ["release-2026-W47", "release-2026-W47.zip"]


def _aside(out: Path) -> list[Path]:
    return sorted((out / ".aside").glob("*/release-2026-W47"))


@pytest.mark.parametrize("changed", [False, True])
def test_a_folder_without_its_record_is_taken_over_or_makes_room(
    changed: bool, contest: cast.Contest, out: Path
) -> None:
    """A worker was killed after the rename and before the commit; the week may have changed since."""
    with transaction.atomic():
        unrecorded = (_release(out).folder / "manifest.json").read_bytes()
        transaction.set_rollback(True)
    if changed:
        _one_more_response(contest)
    released = _release(out)
    assert released.new and verify(released.folder).differences == []
    assert [(folder / "manifest.json").read_bytes() for folder in _aside(out)] == [unrecorded] * changed


def test_a_folder_of_somebody_else_is_moved_aside_and_kept(contest: cast.Contest, out: Path) -> None:
    (out / "release-2026-W47").mkdir(parents=True)
    (out / "release-2026-W47" / "precious").write_text("kept")
    assert _release(out).new and [(folder / "precious").read_text() for folder in _aside(out)] == ["kept"]


def test_a_damaged_folder_is_restored_to_what_was_published(contest: cast.Contest, out: Path) -> None:
    folder = _release(out).folder
    (folder / "breaks.csv").write_text("gone\n")
    (folder / "more").write_text("x")
    assert (_release(out).new, verify(folder).differences) == (False, [])


def test_two_workers_do_not_write_into_one_folder(contest: cast.Contest, out: Path) -> None:
    out.mkdir()
    other = os.open(out, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    refused("release_running", _release, out)
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

    refused("release_overtaken", _release, out, progress=_meanwhile(elsewhere))
    assert list(out.iterdir()) == [] and Release.objects.count() == 1
    again = _release(out)
    assert not again.new and same_folder(again.folder, tmp_path / "elsewhere" / "release-2026-W47")


def test_what_was_overtaken_by_the_same_bytes_is_the_same_release(
    contest: cast.Contest, out: Path, tmp_path: Path
) -> None:
    released = _release(out, progress=_meanwhile(lambda: _release(tmp_path / "elsewhere")))
    assert not released.new and Release.objects.count() == 1
    assert same_folder(released.folder, tmp_path / "elsewhere" / "release-2026-W47")


def test_the_chain_does_not_fork(contest: cast.Contest, out: Path, tmp_path: Path) -> None:
    next_week = week_named("2026-W48", "UTC")
    other = _meanwhile(lambda: services.release_week(next_week, out=tmp_path / "elsewhere", now=next_week.end))
    refused("release_overtaken", _release, out, progress=other)
    assert _release(out).release.previous_sha256 == Release.objects.get(week="2026-W48").manifest_sha256


def test_progress_is_told_to_the_end(contest: cast.Contest, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a release that is read and written in the smallest pieces, as large ones are in larger ones."""
    for name, size in (
        ("table_files.CHUNK", 2),
        ("folders._NAMES", 2),
        ("archive._CHUNK", 1 << 10),
        ("files._ROWS_PER_REPORT", 2),
        ("parquet._BYTES_IN_GROUP", 1),
    ):
        monkeypatch.setattr(f"contest.releases.{name}", size)
    told: dict[str, tuple[int, int | None]] = {}
    released = _release(out, progress=lambda what, done, total: told.update({what: (done, total)}))
    assert (verify(released.folder).differences, told["responses.csv"], told["images"]) == ([], (28, 28), (9, 9))
    assert told["release-2026-W47.zip"] == (39, 39)


def test_the_command_writes_the_last_week_and_says_so(
    contest: cast.Contest, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: cast.AFTER)
    said = StringIO()
    call_command("release_week", stdout=said)
    call_command("release_week", "2026-W47", stdout=said)
    assert not lacking(
        said.getvalue(),
        "Released release-2026-W47 (9 images, 28 responses",
        str(settings.RELEASE_DIR / "release-2026-W47.zip"),
        Release.objects.get().manifest_sha256,
        "Nothing changed since it was published: release-2026-W47",
    )


def test_another_folder_gets_a_copy_of_what_is_published(
    contest: cast.Contest, out: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: cast.AFTER)
    said, published = StringIO(), settings.RELEASE_DIR
    for _ in range(2):
        call_command("release_week", out=out, stdout=said)
        assert sorted(path.name for path in out.iterdir() if path.name != ".aside") == [
            "release-2026-W47", "release-2026-W47.zip",
        ]  # fmt: skip
        assert same_folder(out / "release-2026-W47", published / "release-2026-W47")
        (out / "release-2026-W47" / "breaks.csv").write_text("gone")
    assert not lacking(said.getvalue(), *(str(out / f"release-2026-W47{end}") for end in ("\n", ".zip")))
    assert filecmp.cmp(out / "release-2026-W47.zip", published / "release-2026-W47.zip", shallow=False)
    assert [(folder / "breaks.csv").read_text() for folder in _aside(out)] == ["gone"]


def test_the_command_refuses_with_the_reason(contest: cast.Contest, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: cast.AFTER)
    with pytest.raises(CommandError, match="Week 2026-W48 is not over: it ends at 2026-11-28 00:00 UTC"):
        call_command("release_week", "2026-W48", out=out)
    cast.picture(80)
    with pytest.raises(CommandError, match="1 for a panel"):
        call_command("release_week", out=out)
    call_command("release_week", out=out, incomplete=True, stdout=StringIO())
