"""The demo's clock: the tour of the README, at the level of services, and who may move the clock and how far."""

import io
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from adjudication import verify
from common.domain_clock import demo_ahead, domain_now
from common.errors import Conflict, InvalidInput
from common.models import AuditEntry, DemoClock
from contest import pipeline
from contest.board.cases import count_of, disclose, vote_cast
from contest.board.deciding import case_decide
from contest.board.recusal import undisclosed
from contest.demo import clock, people
from contest.demo import seed as demo
from contest.enums import CaseState, DecisionKind, StakeEnd, VoteChoice
from contest.models import Attack, Award, Break, Case, LedgerEntry, Release, Stake
from contest.rules import week_of
from labeling import services
from labeling.enums import PanelState
from labeling.models import Assignment, Panel, Response, Tasker
from labeling.selectors import WINDOW, policy_at, policy_in_force
from tests import factories

pytestmark = pytest.mark.django_db
WEDNESDAY = datetime(2026, 11, 25, 15, 30, tzinfo=UTC)


@pytest.fixture
def in_demo(settings: Any, tmp_path: Path) -> Any:
    settings.DEMO, settings.DATA_DIR = True, tmp_path
    return settings


def move(amount: str) -> list[str]:
    """Move the clock as the command does; returns its lines."""
    out = io.StringIO()
    call_command("demo_clock", amount, stdout=out)
    return out.getvalue().splitlines()


class Killed(BaseException):
    """As if the process had been killed."""


def test_the_tour(in_demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What README's "A contest in ten minutes" promises, step by step; a newcomer acts where it says so."""
    call_command("publish_reference_defenses", stdout=io.StringIO())
    demo.seed(lambda _: None)
    began, attack = domain_now(), Attack.objects.order_by("pk").last()
    assert attack is not None and attack.team.name == "red"
    assert Panel.objects.filter(image=attack.image).count() == 0, "under embargo until its week is over (R24)"

    _killed_on_the_way(monkeypatch)
    lines = move("next-week")
    assert "An earlier move was not finished. It is finished now; next-week is not added to it." in lines
    assert domain_now() - week_of(began, "UTC").end < timedelta(minutes=5)
    rows = AuditEntry.objects.filter(action="demo_clock.move")
    assert sum(row.private["seconds"] for row in rows) == demo_ahead().total_seconds(), "one row for each step"
    assert all(row.private["seconds"] < 87_000 for row in rows)

    assert list(Panel.objects.filter(state=PanelState.OPEN).values_list("image", "missing")) == [(attack.image_id, 1)]
    _answer_as_newcomer(attack)
    for _ in pipeline.settle():
        pass
    stake = Stake.objects.get(defense__name="patient")
    assert stake.end == StakeEnd.BROKEN
    assert Break.objects.filter(image=attack.image, defense__name="patient").exists()
    assert LedgerEntry.objects.filter(rule="R35").count() == 2, "last week's prize, and this one"
    _is_released(week_of(began, "UTC").name, in_demo)

    lines = move("+8d")
    case = Case.objects.get(motion=DecisionKind.AWARD, state=CaseState.OPEN)
    assert f"  the board votes on an award: case {case.public_id}" in lines
    _vote_as_newcomer(case)
    award = Award.objects.get()
    assert award.stake.defense.name == "steadfast" and award.cents > 0
    assert Stake.objects.get(defense__name="steadfast").end == StakeEnd.WON
    assert LedgerEntry.objects.filter(rule="R36", cents=award.cents).exists()

    now = domain_now()
    assert not Response.objects.filter(submitted_at__gt=now).exists(), "nothing is of the future"
    assert people.act(now, refused=pytest.fail) == 0, "and nothing is left to do"
    for release in Release.objects.order_by("pk"):
        assert verify.main([str(Path(in_demo.RELEASE_DIR) / release.name)]) == 0, release.name


def _killed_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first try end after its second step."""
    steps = iter([None, None])

    def dies(patience: float, refused: dict[str, None]) -> bool:
        if next(steps, "no more") is None:
            return True
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(clock, "_let_happen", dies)
        move("next-week")
    row = DemoClock.objects.get()
    assert 0 < row.ahead_seconds < (row.target_seconds or 0)
    assert "A move is not finished" in clock.clock_shown()


def _answer_as_newcomer(attack: Attack) -> None:
    now, tasker = domain_now(), Tasker.objects.get(user__username="tasker1")
    policy = policy_in_force(now).policy
    for _ in range(3):  # a gold picture may come before it (R6)
        found = services.assignment_next(tasker=tasker, holding=(), policy=policy, now=now, rng=Random(1))
        assert isinstance(found, Assignment)
        said = people._by_pixels()[found.image.pixels_sha256].every_opinion[2]
        given = {"assignment_id": found.public_id, "lease_token": found.lease_token, "data": said}
        services.response_submit(tasker=tasker, policy_at=policy_at, now=now, **given)
        if found.image_id == attack.image_id:
            return
    raise AssertionError("the attack never came")


def _vote_as_newcomer(case: Case) -> None:
    member, now = User.objects.get(username="board1"), domain_now()
    disclose(case=case, teams=[team.public_id for team in undisclosed(case, member)], by=member, now=now)
    vote_cast(case=case, by=member, choice=VoteChoice.IN_FAVOUR, now=now)
    case_decide(case=case, seen=count_of(case).mark, explanation="", by=member, now=now)


def _is_released(week: str, settings: Any) -> None:
    release = Release.objects.get(week=week)
    assert release.counts["images"] > 10
    page = Client().get("/releases/").content.decode()
    assert release.name in page


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


def test_what_one_of_the_people_is_refused_stops_nothing(
    in_demo: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    demo.seed(lambda _: None)
    real, labeled = services.assignment_of, set[str]()

    def refuses_one(*, tasker: Tasker, **more: Any) -> Any:
        if tasker.user.username == people.LABELING[0]:
            raise Conflict("This tasker is paused.", "paused")
        labeled.add(tasker.user.username)
        return real(tasker=tasker, **more)

    monkeypatch.setattr(services, "assignment_of", refuses_one)
    began = domain_now()
    *_, said, last = move("next-week")
    assert said == "The demo's people could not do everything: This tasker is paused."
    assert last.startswith("It is ") and domain_now() - week_of(began, "UTC").end < timedelta(minutes=5)
    assert labeled, "the others label"
    lines = [each.msg for each in caplog.records if each.msg["event"] == "demo_person_refused"]  # type: ignore[index]
    assert lines and {line["code"] for line in lines} == {"paused"}  # type: ignore[index]


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


_HOLD = """
import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
input()
"""


@pytest.fixture
def another_move(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that moves the clock."""
    command = [sys.executable, "-c", _HOLD, str(tmp_path / "demo-clock.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_two_do_not_move_the_clock_at_once(in_demo: Any, another_move: "subprocess.Popen[str]") -> None:
    factories.policy_version()
    with pytest.raises(CommandError, match="being moved already"):
        move("+1d")
    assert not DemoClock.objects.exists()
    another_move.kill()
    another_move.wait()
    assert any("1 days and 0 hours ahead" in line for line in move("+1d")), "the lock ended with its process"


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
