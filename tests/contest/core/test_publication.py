"""The weekly publication (R39): which weeks are due and what they make public, races, memory, and its folders."""

import gc
import threading
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from adjudication.services import panels_settle
from adjudication.verify import verify
from contest.core.enums import BuildState
from contest.core.models import Attack, Award, BoardDecision, Release, Stake, StakeBatch, Team
from contest.core.publication import is_released, published_images
from contest.core.week_pictures import images_of_week
from contest.core.weeks import week_at
from contest.ledger.services import pool_deposit
from contest.releases import archive, builds, folders, services, table_files
from contest.releases.builds import due_weeks_release
from contest.releases.models import ReleaseBuild
from contest.releases.selectors import unreleased_weeks
from contest.releases.services import release_week
from contest.releases.snapshot import Snapshot, snapshot
from labeling.enums import Answer
from labeling.models import Image
from picture_files.png import encode_png, pixels_sha256
from picture_files.store import picture_key, picture_store
from policy.calendar import week_named
from policy.selectors import policy_in_force
from scoring.trials.published import published_pictures
from tests import factories
from tests.at_once import at_once
from tests.contest import release_fixtures as cast
from tests.processes import wait_for

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
W46, W47, W48 = (datetime(2026, 11, day, 12, 0, tzinfo=UTC) for day in (11, 18, 24))


def settled(at: datetime) -> None:
    """A picture received at `at`, in the store, that three taskers found to show neither class."""
    pixels = at.isoformat().encode().ljust(48, b".")
    sha = pixels_sha256(4, 4, pixels)
    picture_store().put(picture_key(sha), encode_png(4, 4, pixels))
    image = factories.image(pixels_sha256=sha, width=4, height=4, received_at=at, label_from=at)
    panel = factories.panel(image, dealt_at=at)
    for n in range(3):
        factories.response(
            factories.tasker(f"{panel.pk}-{n}"), panel, bird=Answer.DEFINITELY_NO, box=None, complete=None,
            unoccluded=None, real=None, now=at,
        )  # fmt: skip
    panels_settle(policy_at=policy_in_force, now=at)


def test_ended_weeks_in_order_and_never_the_present_one(settings: Any) -> None:
    for at in (W47, W46, W48):
        settled(at)
    assert [week.name for week in unreleased_weeks(NOW)] == ["2026-W46", "2026-W47"]
    assert due_weeks_release(clock=lambda: NOW) == 2
    assert due_weeks_release(clock=lambda: NOW) == 0, "running it twice adds nothing"
    assert sorted(Release.objects.values_list("week", flat=True)) == ["2026-W46", "2026-W47"]
    assert (Path(settings.RELEASE_DIR) / "release-2026-W46.zip").exists()


def test_a_week_that_waits_holds_back_the_ones_after_it() -> None:
    factories.panel(factories.image(received_at=W46), dealt_at=W46)
    settled(W47)
    assert due_weeks_release(clock=lambda: NOW) == 0
    assert not Release.objects.exists()


def test_a_week_released_out_of_turn_hides_none_before_it(settings: Any) -> None:
    for at in (W46, W47):
        settled(at)
    release_week(week_named("2026-W47", "UTC"), out=settings.RELEASE_DIR, now=NOW)
    assert ([week.name for week in unreleased_weeks(NOW)], due_weeks_release(clock=lambda: NOW)) == (["2026-W46"], 1)
    assert list(Release.objects.order_by("pk").values_list("week", flat=True)) == ["2026-W47", "2026-W46"]
    assert verify(settings.RELEASE_DIR / "release-2026-W46").differences == []


def test_a_week_without_pictures_is_passed_over() -> None:
    assert due_weeks_release(clock=lambda: NOW) == 0, "nothing happened"
    factories.image(origin="gold", received_at=W46, label_from=W46)
    assert list(unreleased_weeks(NOW)) == [], "and gold is never released"
    settled(W46 - timedelta(weeks=4))
    settled(W47)
    assert [week.name for week in unreleased_weeks(NOW)] == ["2026-W42", "2026-W47"]


# Weeks without pictures -----------------------------------------------------------------------------------------------

EARLY = W46 - timedelta(weeks=3)
_LONG_AGO = W46 - timedelta(weeks=30)


def _decided(at: datetime) -> BoardDecision:
    policy = factories.policy_version()
    return BoardDecision.objects.create(kind="grant", subject={}, reason="why", policy=policy, decided_at=at)


def _stake(**values: Any) -> Stake:
    team = Team.objects.create(name="red", created_at=_LONG_AGO)
    values = {"staked_at": _LONG_AGO, "clock_from": None, "asked_at": _LONG_AGO, "cents": 100} | values
    return Stake.objects.create(defense=cast.defense(1, published_at=_LONG_AGO), kind="team", paid_by=team, **values)


def _sent(at: datetime, **values: Any) -> None:
    """An attack whose picture was received long before."""
    team = Team.objects.create(name="red", created_at=_LONG_AGO)
    image = cast.picture(1, origin="attack", received_at=_LONG_AGO, label_from=_LONG_AGO)
    Attack.objects.create(team=team, image=image, received_at=at, **values)


HAPPENINGS: dict[str, Callable[[datetime], object]] = {
    "money": lambda at: pool_deposit(cents=5, reason="x", by=factories.user("olga", "organizers"), now=at),
    "a decision": _decided,
    "a batch": lambda at: StakeBatch.objects.create(criteria="new", decision=_decided(at), staked_at=at),
    "a stake that began": lambda at: _stake(staked_at=at),
    "a stake whose clock began": lambda at: _stake(clock_from=at),
    "a stake that ended": lambda at: _stake(ended_at=at, end="broken"),
    "an award": lambda at: Award.objects.create(
        stake=_stake(), decision=_decided(_LONG_AGO), cents=1, statement="yes", conditions={}, awarded_at=at
    ),
    "an attack with an older picture": _sent,
    "a merged team": lambda at: Team.objects.create(
        name="green", created_at=_LONG_AGO, merged_at=at, merged_into=Team.objects.create(name="blue", created_at=at)
    ),
}


@pytest.mark.parametrize("what", HAPPENINGS)
def test_a_week_in_which_anything_happened_is_released(what: str, settings: Any) -> None:
    HAPPENINGS[what](EARLY)
    for week in list(unreleased_weeks(EARLY)):  # what had to be there before
        release_week(week, out=settings.RELEASE_DIR, now=NOW, incomplete=True)
    assert ([week.name for week in unreleased_weeks(NOW)], due_weeks_release(clock=lambda: NOW)) == (["2026-W43"], 1)
    release = Release.objects.get(week="2026-W43")
    assert any(release.counts[name] for name in release.counts if name not in ("defenses", "images"))
    assert (settings.RELEASE_DIR / release.name).is_dir() and not list(unreleased_weeks(NOW))


def test_what_is_in_no_release_makes_no_week() -> None:
    _sent(EARLY, withdrawn_at=EARLY)
    by_team = {"kind": "team", "paid_by": Team.objects.get(), "cents": 1, "asked_at": EARLY}
    shown, hidden = cast.defense(1, published_at=_LONG_AGO), cast.defense(2, published_at=None)
    Stake.objects.create(defense=shown, staked_at=None, ended_at=EARLY, end="withdrawn", **by_team)
    Stake.objects.create(defense=hidden, staked_at=EARLY, **by_team)
    assert [week.name for week in unreleased_weeks(NOW)] == [week_at(_LONG_AGO).name]


def test_the_past_costs_no_questions(django_assert_max_num_queries: Any) -> None:
    """However many weeks are released, the same few questions are asked."""
    for weeks in range(40):
        at = W46 - timedelta(weeks=weeks)
        _decided(at)
        Release.objects.create(week=week_at(at).name, manifest_sha256="0" * 64, counts={}, bytes=1, released_at=NOW)
    with django_assert_max_num_queries(25):
        assert list(unreleased_weeks(NOW)) == []


# Which pictures are public: those of the released weeks and no others (R24) -------------------------------------------

WEEK = week_named("2026-W47", "UTC")


def test_a_release_makes_its_week_public_and_nothing_later(tmp_path: Path) -> None:
    contest = cast.a_week()
    assert Image.objects.exists() and not published_images().exists(), "nothing is before the first release"
    later = cast.picture(200, received_at=WEEK.end)
    before = cast.picture(201, received_at=WEEK.start - timedelta(microseconds=1))
    example = cast.picture(202, origin="example", label_from=None)
    release_week(WEEK, out=tmp_path / "out", now=cast.AFTER, incomplete=True)
    public = set(published_images())
    assert set(contest.images.values()) <= public and not public & {later, before, example}
    assert set(published_pictures()) == public, "the trials of defenses are told so"
    assert {image for image in Image.objects.all() if is_released(image)} == public, "and a page of one of them"
    release_week(week_named("2026-W46", "UTC"), out=tmp_path / "out", now=cast.AFTER, incomplete=True)
    assert set(published_images()) == public | {before}


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("two releases beside each other: SQLite has one writer")
def test_only_one_of_two_at_the_same_moment_joins_the_chain(tmp_path: Path) -> None:
    """Both have decided to be the first one when either begins to record itself."""
    cast.a_week()
    both = threading.Barrier(2)

    def wait(what: str, done: int, total: int | None) -> None:
        if what.endswith(".zip") and done == total:
            both.wait(timeout=60)

    def release(name: str) -> Callable[[], bool]:
        week = week_named(name, "UTC")
        now = week.end + timedelta(weeks=2)
        return lambda: services.release_week(week, out=tmp_path / name, now=now, progress=wait).new

    assert set(at_once(release("2026-W47"), release("2026-W48"))) == {"release_overtaken", True}
    assert Release.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("a snapshot is a level of isolation there, and a reader that writes nothing on SQLite")
def test_a_snapshot_does_not_see_what_happens_meanwhile() -> None:
    factories.policy_version()
    factories.image(received_at=cast.MONDAY)
    with snapshot() as view:
        assert images_of_week(WEEK).count() == 1
        if connection.vendor == "postgresql":  # the other database lies in this process's memory during tests
            at_once(lambda: factories.image(received_at=cast.MONDAY))
        assert view.read(*[images_of_week(WEEK).count] * 3) == [1, 1, 1]
    assert Image.objects.count() == (2 if connection.vendor == "postgresql" else 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("steps read at once from connections of their own there, one after the other on SQLite")
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_step_that_fails_fails_the_reading(failing: int) -> None:
    def step(number: int) -> None:
        if number == failing:
            Image.objects.get()

    with pytest.raises(Image.DoesNotExist), snapshot() as view:
        view.read(*(partial(step, number) for number in range(3)))


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("the sign of life is written from a thread of its own, beside the transaction that builds")
def test_how_far_it_is_can_be_read_while_it_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    cast.a_week()
    seen: list[tuple[str, str, int, int]] = []

    def copied(workplace: Path, content: Any, progress: Any) -> None:
        progress("images", 4, 9)
        wait_for(lambda: ReleaseBuild.objects.get().stage == "images", "the sign of life")
        seen.extend(ReleaseBuild.objects.values_list("state", "stage", "done", "total"))
        original(workplace, content, progress)

    original = services.copy_pictures
    monkeypatch.setattr("contest.releases.services.copy_pictures", copied)
    monkeypatch.setattr(builds, "SIGN_SECONDS", 0.05)
    assert (builds.due_weeks_release(clock=lambda: cast.AFTER), seen) == (1, [(BuildState.RUNNING, "images", 4, 9)])


# Memory ---------------------------------------------------------------------------------------------------------------

PIXEL = encode_png(1, 1, b"rgb")


def _many_pictures(number: int, received: datetime) -> None:
    """Tiny pictures that nobody was asked about yet."""
    for _ in range(number):
        sha = factories.image(received_at=received, label_from=received).pixels_sha256
        picture_store().put(picture_key(sha), PIXEL)


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
            released = services.release_week(week, out=out, now=cast.AFTER, incomplete=True)
        services.release_copy(released, out / "copy")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.unfreeze()


@pytest.mark.django_db(transaction=True)
@pytest.mark.long("memory at size")
@pytest.mark.both("each client reads rows in its own way")
def test_memory_does_not_grow_with_the_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Buffers as in a release of a hundred thousand pictures would hide what a few hundred of them take.
    for module, name, size in ((table_files, "CHUNK", 50), (folders, "_NAMES", 50), (archive, "_CHUNK", 1 << 12)):
        monkeypatch.setattr(module, name, size)
    # How high steps that run at once pile up is chance.
    monkeypatch.setattr(Snapshot, "read", lambda _, *steps: [step() for step in steps])
    factories.policy_version()
    for number, weeks in ((1, 3), (50, 2), (350, 1), (350, 0)):
        _many_pictures(number, cast.MONDAY - timedelta(weeks=weeks))
    _, few, first, second = (_peak(f"2026-W{week}", tmp_path / "out") for week in (44, 45, 46, 47))
    assert len(list((tmp_path / "out").rglob("*.png"))) == 2 * 751, "released and copied"
    # The rows of the pictures, held as a list, take more than 100,000 bytes. After a week that loads what is loaded
    # once, and twice, because threads that other tests left behind may just then be busy.
    assert min(first, second) - few < 60_000


# Folders: compared and removed name by name, and nothing outside them is touched --------------------------------------

FILES = {"a": b"1", "images/b": b"22", "images/c": b"333"}


def _folder(path: Path) -> Path:
    (path / "images").mkdir(parents=True)
    for name, data in FILES.items():
        (path / name).write_bytes(data)
    return path


def _linked(path: Path) -> None:
    path.rename(path.parent / "elsewhere")
    path.symlink_to(path.parent / "elsewhere")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file is changed": lambda path: (path / "images" / "b").write_bytes(b"2!"),
    "a file is missing": lambda path: (path / "images" / "c").unlink(),
    "one file more": lambda path: (path / "images" / "d").write_bytes(b""),
    "an empty folder more": lambda path: (path / "tables").mkdir(),
    "another name": lambda path: (path / "images" / "c").rename(path / "images" / "d"),
    "a link to the file": lambda path: _linked(path / "a"),
    "a link to the folder": lambda path: _linked(path / "images"),
    "a folder in the place of a file": lambda path: ((path / "a").unlink(), (path / "a").mkdir()),
    "it is gone": folders.remove_folder,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_that_differs_is_not_the_same(change: str, tmp_path: Path) -> None:
    one, other = _folder(tmp_path / "one"), _folder(tmp_path / "other" / "folder")
    assert folders.same_folder(one, other)
    CHANGES[change](other)
    assert not folders.same_folder(one, other)


def test_a_folder_is_removed_in_portions_and_links_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_NAMES", 2)
    portions, first = list[int](), folders._first_entries
    monkeypatch.setattr(folders, "_first_entries", lambda path: portions.append(len(found := first(path))) or found)
    kept, folder = _folder(tmp_path / "kept"), _folder(tmp_path / "folder")
    for number in range(7):
        (folder / "images" / str(number)).write_bytes(b"")
    (folder / "images" / "link").symlink_to(kept)
    (folder / "link").symlink_to(kept / "a")
    folders.remove_folder(folder)
    assert not folder.exists() and len(portions) > 3 and max(portions) == 2
    assert {name: (kept / name).read_bytes() for name in FILES} == FILES
