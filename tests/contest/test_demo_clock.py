"""The demo's clock: who may move it and how far, and what the demo's people do meanwhile and leave to a newcomer."""

import fcntl
import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from common.errors import Conflict, InvalidInput
from common.models import DemoClock
from contest.demo import clock, people
from contest.demo import seed as demo
from contest.demo.known import known_runner
from contest.demo.programs import PROGRAMS, program_of
from contest.demo.stakes import Staking
from labeling import services
from labeling.enums import PanelState, TaskerState
from labeling.models import Assignment, Panel, Tasker
from labeling.people import tasker_register
from labeling.selectors import WINDOW, policy_in_force
from scoring.models import Defense
from tests import factories
from tests.contest.test_demo import last_week_is_settled

pytestmark = pytest.mark.django_db
WEDNESDAY = datetime(2026, 11, 25, 15, 30, tzinfo=UTC)


@pytest.fixture
def in_demo(settings: Any, tmp_path: Path) -> Any:
    settings.DEMO, settings.DATA_DIR = True, tmp_path
    return settings


REFUSED = [
    ("-5d", "goes forward only", "back"),
    ("+0d", "is no amount", "nowhere"),
    ("+101d", "by 100 days at most", "too far"),
    ("+99999w", "by 100 days at most", "beyond any date"),
    ("5", "is no amount", "five of what?"),
    ("tomorrow", "is no amount", "in words"),
    ("", "is no amount", "nothing"),
    ("+1.5d", "is no amount", "in parts"),
]
SPANS = [
    ("+12h", timedelta(hours=12)),
    ("5d", timedelta(days=5)),
    ("+2w", timedelta(weeks=2)),
    ("next-week", datetime(2026, 11, 28, tzinfo=UTC) - WEDNESDAY),
]


def test_how_far_the_clock_moves(in_demo: Any) -> None:
    for amount, span in SPANS:
        assert clock.span_of(amount, WEDNESDAY) == span, amount
    for amount, words, why in REFUSED:
        with pytest.raises(InvalidInput, match=words):
            clock.span_of(amount, WEDNESDAY)
        with pytest.raises(CommandError):
            call_command("demo_clock", amount)
        assert not DemoClock.objects.exists(), why


def test_a_real_contest_has_no_such_clock(settings: Any) -> None:
    settings.DEMO = False
    for arguments in ([], ["+1d"]):
        with pytest.raises(CommandError, match="This is no demo"):
            call_command("demo_clock", *arguments)
    assert not DemoClock.objects.exists()


@pytest.mark.both("each step locks the row of the clock")
def test_two_do_not_move_the_clock_at_once(in_demo: Any, tmp_path: Path) -> None:
    factories.policy_version()
    with open(tmp_path / "demo-clock.lock", "w") as another_move:
        fcntl.flock(another_move, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="being moved already"):
            call_command("demo_clock", "+1d")
        assert not DemoClock.objects.exists()
    call_command("demo_clock", "+1d", stdout=(out := io.StringIO()))
    assert "1 days and 0 hours ahead" in out.getvalue(), "the lock ends with who holds it"


# The demo's taskers and a newcomer's own pictures


@pytest.fixture
def labelers() -> dict[str, Tasker]:
    factories.policy_version()
    return {name: factories.tasker(name) for name in demo.TASKERS}


def _panel_of_demo(place: int, *, size: int = 3, origin: str = "dataset") -> Panel:
    """A panel of a photograph that the demo's people know."""
    sha = list(people._by_pixels())[place]
    return factories.panel(factories.image(pixels_sha256=sha, origin=origin), size=size)


def _answers(panel: Panel) -> list[str]:
    names = Assignment.objects.filter(panel=panel).values_list("tasker__user__username", flat=True)
    return sorted(names)


def _labeled(now: datetime) -> int:
    """Let each of the demo's taskers label; return how many answers they gave."""
    return sum(people._label_as(name, now) for name in (*people.LABELING, *people.LEFT_TO_THE_NEWCOMER))


def test_they_take_no_picture_that_they_do_not_know(labelers: dict[str, Tasker]) -> None:
    """A picture is seen once (R8): one that they take and give back could never be answered in their names."""
    own = [factories.panel(dealt_at=factories.NOW - timedelta(hours=1)) for _ in range(WINDOW + 1)]
    known, attack = _panel_of_demo(0), _panel_of_demo(1, origin="attack")
    assert _labeled(factories.NOW) == 5, "three answers, and two: the last one on an attack is the newcomer's"
    assert (_answers(known), len(_answers(attack))) == (list(people.LABELING), 2)
    later = factories.NOW + people.PATIENCE
    assert (_labeled(later), _answers(attack)) == (1, list(people.LABELING))
    assert _labeled(later) == 0
    assert not Assignment.objects.filter(panel__in=own).exists()
    for tasker in labelers.values():
        found = services.assignment_next(
            tasker=tasker, holding=(), policy=policy_in_force(later).policy, now=later, rng=Random(1)
        )
        assert isinstance(found, Assignment) and found.panel in own, "in every name a newcomer gets them"
        break_off = {"assignment_id": found.public_id, "lease_token": found.lease_token, "problem": ""}
        services.assignment_release(tasker=tasker, now=later, **break_off)


def test_all_of_them_finish_a_panel_with_more_taskers(labelers: dict[str, Tasker]) -> None:
    panel = _panel_of_demo(0, size=5)
    assert (_labeled(factories.NOW), _answers(panel)) == (3, list(people.LABELING))
    for moves in (1, 2):
        now = factories.NOW + moves * people.PATIENCE
        assert _labeled(now) == 1, "one answer each three days, of those who are left to the newcomer"
    panel.refresh_from_db()
    assert panel.state == PanelState.FULL


def test_they_leave_a_name_alone_that_somebody_labels_under(labelers: dict[str, Tasker]) -> None:
    own, known = factories.panel(), _panel_of_demo(0)
    factories.assignment(labelers["tasker4"], own, state="leased")
    assert (_labeled(factories.NOW), _answers(known)) == (2, ["tasker5", "tasker6"])


# Who is in a demo ----------------------------------------------------------------------------------------------------


def test_the_demo_s_programs_run_without_a_container_in_the_demo_alone(settings: Any) -> None:
    now = timezone.now()
    images = [Defense(name="any", image=each.digest, digest=each.digest, created_at=now) for each in PROGRAMS]
    other = Defense(name="other", image="sha256:0", digest="sha256:0", created_at=now)
    settings.DEMO = True
    assert [program_of(each) for each in images] == list(PROGRAMS) and all(map(known_runner, images))
    assert known_runner(other) is None
    settings.DEMO = False
    assert [known_runner(each) for each in images] == [None] * len(PROGRAMS)


MOMENTS = [
    (datetime(2026, 11, 21, 0, 0, 8, tzinfo=UTC), "eight seconds into a week"),
    (datetime(2026, 11, 25, 15, 30, tzinfo=UTC), "the middle of a week"),
    (datetime(2026, 11, 27, 23, 59, 59, tzinfo=UTC), "the last second of a week"),
]


@pytest.mark.long("seeds a demo at each of these moments; `test_demo.py` asks the same of the one that it seeds")
@pytest.mark.parametrize(("now", "why"), MOMENTS, ids=[row[1] for row in MOMENTS])
def test_last_week_is_settled_whenever_the_demo_is_seeded(now: datetime, why: str) -> None:
    teams = demo._people(now)
    played = demo.Demo(now, teams, demo.photos())
    Staking(teams["blue"], policy=played.policy.policy, begin=played.last_week.start, now=now).play()
    played.play()
    last_week_is_settled(now)


def test_every_demo_sign_in_works_and_has_one_role(client: Client) -> None:
    demo._people(timezone.now())
    assert set(User.objects.values_list("username", flat=True)) == set(demo.SIGN_INS)
    for name in demo.SIGN_INS:
        page = client.post("/sign-in/", {"username": name, "password": demo.PASSWORD})
        assert page.status_code == 302, name
    for tasker in Tasker.objects.all():
        assert not tasker.user.groups.exists() and not hasattr(tasker.user, "membership")


def test_an_organizer_cannot_become_a_tasker(olga: User) -> None:
    with pytest.raises(Conflict, match="another role"):
        tasker_register(user=olga, state=TaskerState.QUALIFIED, now=timezone.now(), rng=Random(1))


def test_the_sign_in_page_of_the_demo_lists_every_account_and_where_letters_are(settings: Any, client: Client) -> None:
    settings.DEMO, settings.EMAIL_FILE_PATH = True, "/data/mail"
    page = client.get("/sign-in/").content.decode()
    ends = {"tasker1", "tasker6", "board1", "board3"}  # the others of a row stand between them
    for name in demo.SIGN_INS:
        if name in ends or not name.startswith(("tasker", "board")):
            assert f"<code>{name}</code>" in page, name
    assert len(demo.ORGANIZING) == 2, "what one organizer asks for, another confirms"
    assert "<code>/data/mail</code>" in page
    settings.DEMO = False
    assert "/data/mail" not in client.get("/sign-in/").content.decode()


def test_nothing_is_seeded_outside_a_demo(settings: Any) -> None:
    settings.DEMO = False
    with pytest.raises(CommandError, match="This is no demo"):
        call_command("seed_demo")
    assert not User.objects.exists()
