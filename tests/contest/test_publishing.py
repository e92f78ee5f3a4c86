"""The weekly publication (R39): ended weeks, oldest first, as soon as nothing of them is open."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adjudication.services import panels_settle
from adjudication.verify import verify
from contest.models import Attack, Award, BoardDecision, Release, Stake, StakeBatch, Team
from contest.money.deposits import pool_deposit
from contest.publishing import published_images, unreleased_weeks
from contest.record.builds import due_weeks_release
from contest.releases import release_week
from contest.rules import week_named
from contest.weeks import week_at
from labeling.enums import Answer
from labeling.models import Image
from labeling.png import encode_png, pixels_sha256
from labeling.selectors import policy_in_force
from labeling.store import picture_key, picture_store
from scoring.trials.published import published_pictures
from tests import factories
from tests.contest import release_fixtures as cast

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
    assert [week.name for week in unreleased_weeks(NOW)] == ["2026-W46"]
    assert due_weeks_release(clock=lambda: NOW) == 1
    assert list(Release.objects.order_by("pk").values_list("week", flat=True)) == ["2026-W47", "2026-W46"]
    assert verify(settings.RELEASE_DIR / "release-2026-W46").differences == []


def test_a_week_without_pictures_is_passed_over() -> None:
    assert due_weeks_release(clock=lambda: NOW) == 0, "nothing happened"
    factories.image(origin="gold", received_at=W46, label_from=W46)
    assert list(unreleased_weeks(NOW)) == [], "and gold is never released"
    settled(W46 - timedelta(weeks=4))
    settled(W47)
    assert [week.name for week in unreleased_weeks(NOW)] == ["2026-W42", "2026-W47"]


# Weeks without pictures ----------------------------------------------------------------------------------------------

EARLY = W46 - timedelta(weeks=3)
_LONG_AGO = W46 - timedelta(weeks=30)


def _decided(at: datetime) -> BoardDecision:
    policy = factories.policy_version()
    return BoardDecision.objects.create(kind="grant", subject={}, reason="why", policy=policy, decided_at=at)


def _batch(at: datetime) -> None:
    StakeBatch.objects.create(criteria="new", decision=_decided(at), staked_at=at)


def _stake(**values: Any) -> Stake:
    team = Team.objects.create(name="red", created_at=_LONG_AGO)
    values = {"staked_at": _LONG_AGO, "clock_from": None, "asked_at": _LONG_AGO, "cents": 100} | values
    return Stake.objects.create(defense=cast.defense(1, published_at=_LONG_AGO), kind="team", paid_by=team, **values)


def _awarded(at: datetime) -> None:
    stake, decision = _stake(), _decided(_LONG_AGO)
    Award.objects.create(stake=stake, decision=decision, cents=1, statement="yes", conditions={}, awarded_at=at)


def _sent(at: datetime, **values: Any) -> None:
    """An attack whose picture was received long before."""
    team = Team.objects.create(name="red", created_at=_LONG_AGO)
    image = cast.picture(1, origin="attack", received_at=_LONG_AGO, label_from=_LONG_AGO)
    Attack.objects.create(team=team, image=image, received_at=at, **values)


HAPPENINGS: dict[str, Callable[[datetime], object]] = {
    "money": lambda at: pool_deposit(cents=5, reason="x", by=factories.user("olga", "organizers"), now=at),
    "a decision": _decided,
    "a batch": _batch,
    "a stake that began": lambda at: _stake(staked_at=at),
    "a stake whose clock began": lambda at: _stake(clock_from=at),
    "a stake that ended": lambda at: _stake(ended_at=at, end="broken"),
    "an award": _awarded,
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
    assert [week.name for week in unreleased_weeks(NOW)] == ["2026-W43"]
    assert due_weeks_release(clock=lambda: NOW) == 1
    release = Release.objects.get(week="2026-W43")
    assert any(release.counts[name] for name in release.counts if name not in ("defenses", "images"))
    assert verify(settings.RELEASE_DIR / release.name).differences == []
    assert list(unreleased_weeks(NOW)) == []


def test_what_is_in_no_release_makes_no_week() -> None:
    _sent(EARLY, withdrawn_at=EARLY)
    asked = {"asked_at": EARLY, "staked_at": None, "ended_at": EARLY, "end": "withdrawn"}
    Stake.objects.create(
        defense=cast.defense(1, published_at=_LONG_AGO), kind="team", paid_by=Team.objects.get(), cents=1, **asked
    )
    hidden = cast.defense(2, published_at=None)
    Stake.objects.create(
        defense=hidden, kind="team", paid_by=Team.objects.get(), cents=1, asked_at=EARLY, staked_at=EARLY
    )
    assert [week.name for week in unreleased_weeks(NOW)] == [week_at(_LONG_AGO).name]


def test_the_past_costs_no_questions(django_assert_max_num_queries: Any) -> None:
    """However many weeks are released, the same few questions are asked."""
    for weeks in range(40):
        at = W46 - timedelta(weeks=weeks)
        _decided(at)
        name = week_at(at).name
        Release.objects.create(week=name, manifest_sha256="0" * 64, counts={}, bytes=1, released_at=NOW)
    with django_assert_max_num_queries(25):
        assert list(unreleased_weeks(NOW)) == []


# Which pictures are public: those of the released weeks and no others (R24) ------------------------------------------


WEEK = week_named("2026-W47", "UTC")


def test_a_release_makes_its_week_public_and_nothing_later(tmp_path: Path) -> None:
    contest = cast.a_week()
    assert Image.objects.exists() and not published_images().exists(), "nothing is before the first release"
    later = cast.picture(200, received_at=WEEK.end)
    before = cast.picture(201, received_at=WEEK.start - timedelta(microseconds=1))
    example = cast.picture(202, origin="example", label_from=None)
    release_week(WEEK, out=tmp_path / "out", now=cast.AFTER, incomplete=True)
    public = set(published_images())
    assert set(contest.images.values()) <= public
    assert not public & {later, before, example}
    assert set(published_pictures()) == public, "the trials of defenses are told so"
    release_week(week_named("2026-W46", "UTC"), out=tmp_path / "out", now=cast.AFTER, incomplete=True)
    assert set(published_images()) == public | {before}
