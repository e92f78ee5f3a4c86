"""Releases are built behind the pages: one row tells how far, one process builds, a dead one leaves nothing (R39). The
organizers' page of builds, the pictures of a week that everybody sees from its end on (R24), and the letters about
releases: asked for, confirmed, sent once whatever happens, ended with one click."""

import re
import sys
from copy import deepcopy
from datetime import timedelta
from email import message_from_bytes
from pathlib import Path
from smtplib import SMTPException
from typing import Any
from unittest.mock import Mock

import pytest
import structlog
from django.contrib.auth.models import User
from django.core import mail as outbox
from django.core.cache import cache
from django.core.mail.backends.locmem import EmailBackend
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from adjudication.verify import verify
from common import outages
from common.mail import wait_until_sent
from contest.core.enums import BuildState
from contest.core.models import Release
from contest.core.weeks import week_at
from contest.outbox import posting
from contest.releases import announcements, builds
from contest.releases.models import Announcement, ReleaseBuild, ReleaseLetter, Subscriber
from labeling.enums import PanelState
from labeling.models import Image, Panel, Tasker
from picture_files.store import PictureMissing
from tests import factories
from tests.contest import release_fixtures
from tests.contest.pages import ORGANIZERS_ALONE, codes, lacking, outsiders, plain
from tests.contest.record import cast
from tests.contest.release_fixtures import MONDAY, Contest
from tests.processes import deployment, kill, wait_for
from tests.refusals import refused

pytestmark = pytest.mark.django_db
PAGE, BUILD, ASK = "/organizer/releases/", "/organizer/releases/2026-W47/", "/releases/mail/"


class Clock:
    """The clock of the site and of who builds, which a test moves."""

    now = cast.NOW

    def __call__(self) -> Any:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timezone, "now", clock)
    monkeypatch.setattr("axes.handlers.proxy.now", clock)  # which imports it by name
    return clock


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Client:
    client: Client = signed_in(olga)
    return client


@pytest.fixture(scope="class")
def made(class_world: Path) -> Contest:
    return release_fixtures.a_week()


@pytest.fixture
def contest(made: Contest) -> Contest:
    return deepcopy(made)


def _page(client: Client, address: str = PAGE) -> str:
    return " ".join(client.get(address).content.decode().split())


FAILURES: list[tuple[Exception, str]] = [
    (PictureMissing("pictures/00.png"), "The store has no pictures/00.png. Restore it from a backup of the store."),
    (OSError(28, "No space left on device"), "No space left on device. Nothing was published"),
]
SILENT = [
    (timedelta(seconds=59), 0, "whoever builds may be slow to give a sign"),
    (timedelta(seconds=61), 1, "after a minute without any it is dead"),
]


class TestAWeekThatIsOver:
    """How it is built, what its release waits for, and what is told before and with it."""

    def test_a_due_week_gets_a_build_that_ends_with_its_release(
        self, contest: Contest, clock: Clock, organizer: Client
    ) -> None:
        assert "Nothing: its release is due" in _page(organizer)
        assert [builds.due_weeks_release(clock=clock) for _ in range(2)] == [1, 0]
        build = ReleaseBuild.objects.get()  # with nothing to do no build is begun
        assert (build.week, build.state, build.error) == ("2026-W47", BuildState.DONE, "")
        assert (build.release, build.asked_by) == (Release.objects.get(), None)
        assert build.asked_at == build.started_at == build.ended_at == cast.NOW

    def test_a_week_that_waits_is_built_as_it_stands_once_that_is_confirmed(
        self, contest: Contest, clock: Clock, organizer: Client, olga: User
    ) -> None:
        factories.panel(release_fixtures.picture(50), dealt_at=MONDAY)
        assert builds.due_weeks_release(clock=clock) == 0
        assert "Pictures still wait: 1 for answers." in _page(organizer)
        assert not lacking(
            _page(organizer, BUILD), "Pictures of this week still wait: 1 for answers.", 'name="incomplete"'
        )
        answer = organizer.post(BUILD)
        assert answer.status_code == 409 and "still wait. Say so" in answer.content.decode()
        taken = organizer.post(BUILD, {"incomplete": "yes"})
        assert (taken.status_code, taken["Location"]) == (303, PAGE)
        assert not lacking(_page(organizer), "waits for a worker", "as it stands", "by olga")
        assert "is being built already" in _page(organizer, BUILD)
        assert organizer.post(BUILD, {"incomplete": "yes"}).status_code == 409
        assert builds.due_weeks_release(clock=clock) == 1
        build = ReleaseBuild.objects.get()
        assert (build.asked_by, build.incomplete, build.state) == (olga, True, BuildState.DONE)

    def test_a_week_is_built_when_it_is_over_and_once_at_a_time(self, contest: Contest, olga: User) -> None:
        early = cast.W47.end - timedelta(microseconds=1)
        refused("week_not_over", builds.build_request, cast.W47, by=olga, now=early)
        assert not ReleaseBuild.objects.exists()
        builds.build_request(cast.W47, by=olga, now=cast.NOW)
        refused("release_running", builds.build_request, cast.W47, by=olga, now=cast.NOW)

    def test_what_came_after_a_release_is_told_and_published_as_errata(
        self, contest: Contest, organizer: Client, clock: Clock, settings: Any
    ) -> None:
        assert builds.due_weeks_release(clock=clock) == 1 and "Nothing was added." in _page(organizer)
        organizer.post(BUILD)
        clock.now += timedelta(minutes=5)
        assert builds.due_weeks_release(clock=clock) == 0
        newest = ReleaseBuild.objects.latest("pk")
        assert (newest.state, newest.release) == (BuildState.DONE, Release.objects.get())
        assert "Nothing changed since" in _page(organizer)
        late = {"now": clock.now, "counted": False}
        factories.response(contest.taskers[3], contest.panels["occluded"], **release_fixtures.EXCLUDED, **late)
        Image.objects.filter(origin="dataset").update(author="somebody else")
        clock.now += timedelta(minutes=5)
        cache.clear()
        assert "Added: 1 answer of a tasker." in _page(organizer)
        assert "is published as errata 1" in _page(organizer, BUILD)
        organizer.post(BUILD)
        assert builds.due_weeks_release(clock=clock) == 1
        assert [each.name for each in Release.objects.order_by("pk")] == [cast.FIRST, cast.ERRATA]
        assert f"{cast.ERRATA}</a>" in _page(organizer)
        assert verify(settings.RELEASE_DIR / cast.ERRATA).differences == []

    @pytest.mark.parametrize(("error", "words"), FAILURES, ids=["a picture is missing", "the disk is full"])
    def test_why_a_build_failed_is_told_in_words_and_it_is_tried_again_later(
        self, error: Exception, words: str, contest: Contest, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as broken:
            broken.setattr("contest.releases.services.copy_pictures", Mock(side_effect=error))
            assert [builds.due_weeks_release(clock=clock) for _ in range(2)] == [0, 0]
        build = ReleaseBuild.objects.get()
        assert (build.state, build.release) == (BuildState.FAILED, None) and words in build.error
        clock.now += builds.PAUSE
        assert builds.due_weeks_release(clock=clock) == 1

    @pytest.mark.parametrize(("silent", "released", "why"), SILENT)
    def test_a_build_without_a_sign_of_life_is_taken_up_again(
        self, silent: timedelta, released: int, why: str, contest: Contest, clock: Clock
    ) -> None:
        times = dict.fromkeys(["asked_at", "started_at", "seen_at"], cast.NOW - silent)
        ReleaseBuild.objects.create(week="2026-W47", state=BuildState.RUNNING, **times)
        assert (builds.due_weeks_release(clock=clock), ReleaseBuild.objects.count()) == (released, 1), why

    def test_no_answer_of_anybody_is_told_before_the_release(self, contest: Contest, clock: Clock) -> None:
        clock.now = cast.W47.end
        page = Client().get("/weeks/2026-W47/").content.decode().partition("<main")[2]
        assert contest.images["valid bird"].public_id in page, "it was sent as an attack"
        assert contest.images["valid bicycle"].public_id not in page, "a picture of the organizers waits"
        secrets = ["=red", "defense 1", contest.taskers[0].public_id, "valid", "rejected"]
        assert lacking(page, *secrets) == secrets

    def test_with_the_release_all_pictures_have_addresses_that_last(self, contest: Contest, clock: Clock) -> None:
        builds.due_weeks_release(clock=clock)
        images = [f"/releases/{cast.FIRST}/images/{each.pixels_sha256}.png" for each in contest.images.values()]
        assert not lacking(Client().get("/weeks/2026-W47/").content.decode(), *(f'src="{each}"' for each in images))
        assert Client().get(images[-1])["Content-Type"] == "image/png"


SIGNS = [
    (OperationalError("the server closed the connection"), ["outage", "outage_over"], "the database is away"),
    (ValueError("a mistake"), ["sign_of_life_failed"] * 3, "a mistake of ours: each time, with its trace"),
]


@pytest.mark.parametrize(("error", "events", "why"), SIGNS, ids=[row[2] for row in SIGNS])
def test_an_outage_is_logged_once_however_many_signs_of_life_fail(
    error: Exception, events: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Mock()
    rows.update.side_effect = [error, error, error, 1]  # it works again at the fourth sign
    monkeypatch.setattr(builds, "log", structlog.get_logger("builds"))
    monkeypatch.setattr(outages, "log", structlog.get_logger("outages"))
    monkeypatch.setattr(builds.connection, "close", lambda: None)  # this test's own
    with structlog.testing.capture_logs() as logged:
        for _ in range(4):
            builds._sign(rows, builds.BuildStage("images", 4, 9), cast.NOW)
    assert [line["event"] for line in logged] == events, why
    told = {"stage": "images", "done": 4, "total": 9, "seen_at": cast.NOW}
    assert rows.update.call_args.kwargs == told, "and it goes on"


# The pages -----------------------------------------------------------------------------------------------------------


def test_only_organizers_enter(signed_in: Any) -> None:
    people = outsiders(signed_in)
    for address in (PAGE, f"{PAGE}now/", BUILD):
        assert codes(people, address) == ORGANIZERS_ALONE, address
    assert (people["tasker"].post(BUILD).status_code, ReleaseBuild.objects.count()) == (403, 0)


def test_a_week_behind_one_that_waits_names_it(organizer: Client, clock: Clock) -> None:
    for weeks in range(3):
        at = MONDAY + timedelta(7 * weeks)
        image = factories.image(received_at=at, label_from=at)
    factories.panel(image, dealt_at=at)
    Panel.objects.update(state=PanelState.HELD)  # the third is kept out: it waits for nothing
    clock.now = week_at(at).end
    first, second, third = (row for row in re.findall("<tr>(.*?)</tr>", _page(organizer)) if "2026-W" in row)
    assert "Pictures still wait: 1 for a panel.<" in first, "it is behind none"
    assert "Pictures still wait: 1 for a panel. It also waits for the release of 2026-W47." in second
    assert "The release of 2026-W47. Its own pictures wait for nothing." in third
    assert "Nothing: its release is due" not in first + second + third


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"state": BuildState.RUNNING, "stage": "images", "done": 1234, "total": 5000}, "images: 1,234 of 5,000"),
        ({"state": BuildState.RUNNING, "stage": "responses.csv", "done": 2000}, "responses.csv: 2,000"),
        ({"state": BuildState.RUNNING, "seen_at": cast.NOW - timedelta(minutes=2)}, "The build process stopped"),
        ({"state": BuildState.FAILED, "error": "The disk <is> full."}, "The disk &lt;is&gt; full."),
    ],
)
def test_how_far_a_build_is(row: dict[str, Any], words: str, organizer: Client) -> None:
    times = dict.fromkeys(["asked_at", "started_at", "seen_at"], cast.NOW)
    ReleaseBuild.objects.create(week="2026-W47", **(times | row))
    assert words in _page(organizer, f"{PAGE}now/")


def test_a_week_without_attacks_says_so_and_no_more(tara: Tasker, signed_in: Any) -> None:
    page = Client().get("/weeks/2026-W40/").content.decode()
    assert not lacking(page, "The week ended", "No attack was sent in this week.") and "being labeled" not in page
    answer = signed_in(tara).get("/weeks/2026-W47/")
    assert answer.status_code == 403 and "not_for_taskers" in answer.content.decode(), "who labels looks nothing up"
    for name in ("2026-W49", "2026-W60", "x", cast.FIRST):  # the first one runs: it is under embargo (R24)
        assert Client().get(f"/weeks/{name}/").status_code == 404, name


# Killed --------------------------------------------------------------------------------------------------------------


# A build that waits for ever at one of its steps, and says that it is there.
_STUCK = """
import time
from pathlib import Path
import django; django.setup()
from django.conf import settings
from django.core.management import call_command
from contest.releases import services as releases
from contest.releases import builds
from tests.contest import release_fixtures
from tests.contest.record import cast
call_command("collectstatic", interactive=False, verbosity=0)
release_fixtures.a_week()
def stuck(*_, **__):
    (settings.RELEASE_DIR.parent / "stuck").touch()
    time.sleep(600)
releases.{step} = stuck
builds.due_weeks_release(clock=lambda: cast.NOW)
"""
# What a stranger gets after it was killed; what the next one does; what a stranger gets then.
_AFTERWARDS = """
from django.test import Client
from contest.core.models import Release
from contest.releases import builds
from contest.releases.models import ReleaseBuild
from tests.contest.record import cast
def public():
    site = Client(SERVER_NAME="localhost")
    return [site.get("/api/v1/releases/").json(), site.get("/releases/release-2026-W47.zip").status_code,
        site.get("/releases/release-2026-W47/manifest.json").status_code]
later = cast.NOW + 2 * builds.DEAD_AFTER
before = public()
again = [builds.due_weeks_release(clock=lambda: later), Release.objects.count(), ReleaseBuild.objects.get().state]
result = [before, again, public()[1:]]
"""


@pytest.mark.long("kills processes; `test_releases.py` ends a build at each of its steps, and takes over what it left")
@pytest.mark.both("what a killed process leaves in a transaction")
@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("copy_pictures", "the tables are written, the pictures are not"),
        ("sync_to_disk", "folder and zip are in their place, and the record of them is not committed"),
    ],
)
def test_a_build_that_is_killed_leaves_nothing_half_published(step: str, why: str, tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        process = site.start(sys.executable, "-c", _STUCK.format(step=step), log="build.log")
        wait_for((tmp_path / "stuck").exists, "the build")
        kill(process)
        assert site.run(_AFTERWARDS) == [[{"releases": []}, 404, 404], [1, 1, "done"], [200, 200]], why
        assert verify(tmp_path / "releases" / "release-2026-W47").differences == []
        assert not (tmp_path / "releases" / ".release.partial").exists()


# Letters -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ann() -> Subscriber:
    return Subscriber.objects.create(email="ann@example.org", confirmed_at=cast.NOW - timedelta(days=30))


@pytest.fixture
def release() -> Release:
    return Release.objects.create(
        week="2026-W47", manifest_sha256="a1" * 32, counts={}, bytes=1, released_at=cast.NOW - timedelta(hours=1)
    )


@pytest.mark.django_db(transaction=True)
def test_the_story_of_an_address() -> None:
    stranger = Client()
    assert stranger.get(ASK).status_code == 200
    assert "Look into your mail" in plain(stranger.post(ASK, {"email": "Ann@Example.org"}))
    wait_until_sent()
    (letter,) = outbox.outbox
    assert (letter.to, Subscriber.objects.count()) == (["ann@example.org"], 0)
    link = re.search(r"http://\S+(/releases/mail/confirm/\S+)", letter.body)[1]  # type: ignore[index]
    assert "Confirm your address" in plain(stranger.get(link))
    assert not Subscriber.objects.exists(), "opening a link is what mail programs do by themselves"
    for _ in range(2):  # twice is the same
        assert "Confirmed" in plain(stranger.post(link))
    end = f"/releases/mail/end/{Subscriber.objects.get().key}/"
    assert "End the letters" in plain(stranger.get(end)) and Subscriber.objects.exists()
    one_click = Client(enforce_csrf_checks=True).post(end, {"List-Unsubscribe": "One-Click"})
    assert (one_click.status_code, Subscriber.objects.count()) == (200, 0)
    assert "It is forgotten" in plain(stranger.get(end))


def test_who_has_it_already_gets_no_second_letter(ann: Subscriber) -> None:
    page = plain(Client().post(ASK, {"email": ann.email}))
    wait_until_sent()
    assert "Look into your mail" in page and outbox.outbox == [], "the page tells nobody whether it is known"


def test_what_is_no_address_and_a_link_of_nobody_s_are_refused() -> None:
    for email in ("", "ann", "ann@", "ann@example.org\nBcc: all@example.org", "\x00"):
        answer = Client().post(ASK, {"email": email})
        assert answer.status_code == 400 and "Write an e-mail address" in plain(answer)
    for token in ("forged", "a:b:c"):
        assert Client().post(f"/releases/mail/confirm/{token}/").status_code == 404
    assert not Subscriber.objects.exists()


def test_asking_on_and_on_is_closed() -> None:
    asked = [*["ann@example.org"] * 7, "bob@example.org"]
    assert [Client().post(ASK, {"email": each}).status_code for each in asked] == [200] * 5 + [429] * 2 + [200]


def test_each_subscriber_is_told_once(ann: Subscriber, release: Release) -> None:
    assert [announcements.letters_send(clock=lambda: cast.NOW) for _ in range(2)] == [1, 0]
    (letter,) = outbox.outbox
    leave = f"/releases/mail/end/{ann.key}/"
    assert letter.subject == "release-2026-W47 is published"
    assert not lacking(letter.body, f"/releases/{release.name}/", release.manifest_sha256, leave)
    sent = message_from_bytes(letter.message().as_bytes())
    assert sent["List-Unsubscribe"].replace("\n", "").strip().endswith(f"{leave}>")
    assert sent["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_who_came_later_hears_of_the_next_one(release: Release) -> None:
    Subscriber.objects.create(email="late@example.org", confirmed_at=cast.NOW)
    assert (announcements.letters_send(clock=lambda: cast.NOW), Announcement.objects.get().release) == (0, release)


def test_a_letter_the_server_refuses_is_due_again(
    ann: Subscriber, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(EmailBackend, "send_messages", Mock(side_effect=SMTPException("try later")))
        assert announcements.letters_send(clock=lambda: cast.NOW) == 0
    assert announcements.letters_send(clock=lambda: cast.NOW) == 0, "not at once"
    assert announcements.letters_send(clock=lambda: cast.NOW + posting.AGAIN_AFTER) == 1
    assert ReleaseLetter.objects.get().tries == 2


def test_a_letter_to_who_left_meanwhile_is_not_sent(ann: Subscriber, release: Release) -> None:
    announcements._announce(release, cast.NOW)
    announcements.subscription_end(key=ann.key)
    assert announcements.letters_send(clock=lambda: cast.NOW) == 0
