"""The organizers' page of builds, and the pictures of a week that everybody sees from its end on (R24, R39)."""

import re
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from contest.enums import BuildState
from contest.models import ReleaseBuild
from contest.record import builds
from contest.weeks import week_at
from labeling.enums import PanelState
from labeling.models import Panel, Tasker
from tests import factories
from tests.contest import release_fixtures
from tests.contest.record import cast
from tests.contest.release_fixtures import Contest

pytestmark = pytest.mark.django_db
PAGE, BUILD = "/organizer/releases/", "/organizer/releases/2026-W47/"


class Moment:
    """What the site's clock says."""

    def __init__(self) -> None:
        self.now = cast.NOW


@pytest.fixture(autouse=True)
def moment(monkeypatch: pytest.MonkeyPatch) -> Moment:
    moment = Moment()
    monkeypatch.setattr(timezone, "now", lambda: moment.now)
    return moment


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Client:
    client: Client = signed_in(olga)
    return client


def _page(client: Client, address: str = PAGE) -> str:
    return " ".join(client.get(address).content.decode().split())


# Builds --------------------------------------------------------------------------------------------------------------


def test_only_organizers_enter(client: Client, tara: Tasker, rita: User, stan: User, signed_in: Any) -> None:
    for address in (PAGE, f"{PAGE}now/", BUILD):
        assert client.get(address)["Location"].startswith("/sign-in/")
        assert signed_in(stan).get(address).status_code == 404
        for known in (tara, rita):
            assert signed_in(known).get(address).status_code == 403
    assert signed_in(tara).post(BUILD).status_code == 403
    assert not ReleaseBuild.objects.exists()


def test_a_week_behind_one_that_waits_names_it(organizer: Client, moment: Moment) -> None:
    for weeks, name in enumerate(("W47", "W48", "W49")):
        at = release_fixtures.MONDAY + timedelta(7 * weeks)
        assert week_at(at).name == f"2026-{name}"
        image = factories.image(received_at=at, label_from=at)
        if name == "W49":  # kept out: it waits for nothing
            factories.panel(image, dealt_at=at)
            Panel.objects.filter(image=image).update(state=PanelState.HELD)
        moment.now = week_at(at).end
    rows = [" ".join(row.split()) for row in re.findall("<tr>(.*?)</tr>", organizer.get(PAGE).content.decode(), re.S)]
    said = [row for row in rows if "2026-W" in row]
    assert "Pictures still wait: 1 for a panel.<" in said[0], "the first is behind none"
    assert "Pictures still wait: 1 for a panel. It also waits for the release of 2026-W47." in said[1]
    assert "The release of 2026-W47. Its own pictures wait for nothing." in said[2]
    assert not any("Nothing: its release is due" in row for row in said)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"state": BuildState.RUNNING, "stage": "images", "done": 1234, "total": 5000}, "images: 1,234 of 5,000"),
        ({"state": BuildState.RUNNING, "stage": "responses.csv", "done": 2000}, "responses.csv: 2,000"),
        ({"state": BuildState.RUNNING, "seen_at": cast.NOW - timedelta(minutes=2)}, "Whoever built it is gone"),
        ({"state": BuildState.FAILED, "error": "The disk <is> full."}, "The disk &lt;is&gt; full."),
    ],
)
def test_how_far_a_build_is(row: dict[str, Any], words: str, organizer: Client) -> None:
    times = dict.fromkeys(["asked_at", "started_at", "seen_at"], cast.NOW)
    ReleaseBuild.objects.create(week="2026-W47", **(times | row))
    assert words in _page(organizer, f"{PAGE}now/")


# A week that is over -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="class")
def made(class_world: Path) -> Contest:
    return release_fixtures.a_week()


@pytest.fixture
def contest(made: Contest) -> Contest:
    """A week that is over, of which nothing is released."""
    return deepcopy(made)


class TestAWeekThatIsOver:
    """What its release waits for, and what is told before and with it."""

    def test_what_an_ended_week_waits_for_is_told(self, contest: Contest, organizer: Client) -> None:
        assert "Nothing: its release is due" in _page(organizer)
        factories.panel(release_fixtures.picture(50), dealt_at=release_fixtures.MONDAY)
        factories.image(received_at=release_fixtures.MONDAY, label_from=release_fixtures.MONDAY)
        cache.clear()
        assert "Pictures still wait: 1 for a panel, 1 for answers." in _page(organizer)

    def test_a_week_that_waits_is_built_once_that_is_confirmed(
        self, contest: Contest, organizer: Client, olga: User
    ) -> None:
        factories.panel(release_fixtures.picture(50), dealt_at=release_fixtures.MONDAY)
        asked = _page(organizer, BUILD)
        assert "Pictures of this week still wait: 1 for answers." in asked and 'name="incomplete"' in asked
        refused = organizer.post(BUILD)
        assert refused.status_code == 409 and "still wait. Say so" in refused.content.decode()
        taken = organizer.post(BUILD, {"incomplete": "yes"})
        assert (taken.status_code, taken["Location"]) == (303, PAGE)
        page = _page(organizer)
        assert "waits for a worker" in page and "as it stands" in page and "by olga" in page
        assert "is being built already" in _page(organizer, BUILD)
        assert organizer.post(BUILD, {"incomplete": "yes"}).status_code == 409
        assert ReleaseBuild.objects.count() == 1

    def test_what_came_after_a_release_is_told_and_published_as_errata(
        self, contest: Contest, organizer: Client, moment: Moment
    ) -> None:
        builds.due_weeks_release(clock=lambda: cast.NOW)
        assert "Nothing was added." in _page(organizer)
        organizer.post(BUILD)
        moment.now += timedelta(minutes=5)
        assert builds.due_weeks_release(clock=lambda: moment.now) == 0
        assert "Nothing changed since" in _page(organizer)
        late = {"now": moment.now, "counted": False}
        factories.response(contest.taskers[3], contest.panels["occluded"], **release_fixtures.EXCLUDED, **late)
        moment.now += timedelta(minutes=5)
        cache.clear()
        assert "Added: 1 answer of a tasker." in _page(organizer)
        assert "is published as errata 1" in _page(organizer, BUILD)
        organizer.post(BUILD)
        assert builds.due_weeks_release(clock=lambda: moment.now) == 1
        assert "release-2026-W47-errata-1</a>" in _page(organizer)

    def test_no_answer_of_anybody_is_told(self, contest: Contest, moment: Moment) -> None:
        moment.now = cast.W47.end
        page = Client().get("/weeks/2026-W47/").content.decode()
        assert contest.images["valid bird"].public_id in page, "it was sent as an attack"
        assert contest.images["valid bicycle"].public_id not in page, "an organizer's picture waits for the release"
        for secret in ("=red", "defense 1", contest.taskers[0].public_id, "valid", "rejected"):
            assert secret not in page.partition("<main")[2]

    def test_with_the_release_all_pictures_have_addresses_that_last(self, contest: Contest) -> None:
        builds.due_weeks_release(clock=lambda: cast.NOW)
        page = Client().get("/weeks/2026-W47/").content.decode()
        for image in contest.images.values():
            address = f"/releases/release-2026-W47/images/{image.pixels_sha256}.png"
            assert f'src="{address}"' in page
        assert Client().get(address)["Content-Type"] == "image/png"


# The pictures of a week ----------------------------------------------------------------------------------------------


def test_a_week_without_attacks_says_so_and_no_more(tara: Tasker, signed_in: Any) -> None:
    page = Client().get("/weeks/2026-W40/").content.decode()
    assert "The week ended" in page and "No attack was sent in this week." in page
    assert "being labeled" not in page
    answer = signed_in(tara).get("/weeks/2026-W47/")
    assert answer.status_code == 403 and "not_for_taskers" in answer.content.decode(), "who labels looks nothing up"
    for name in ("2026-W49", "2026-W60", "x", "release-2026-W47"):  # the first one runs: it is under embargo (R24)
        assert Client().get(f"/weeks/{name}/").status_code == 404, name
