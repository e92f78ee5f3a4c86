"""The demo contest: a first look shows valid, rejected for every reason, and open pictures, breaks and a release.

And the tour of the README, at the level of services.
"""

import io
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client, override_settings
from django.utils import timezone

from adjudication import verify
from adjudication.enums import Reason, Verdict
from adjudication.models import Ruling
from common.domain_clock import demo_ahead, domain_now
from common.errors import Conflict
from common.models import AuditEntry, DemoClock
from contest.core.enums import CaseState, DecisionKind, DefenseStanding, StakeEnd, StakeKind
from contest.core.models import Attack, Award, Break, Case, Release, Stake, Team
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import defense_states, is_due
from contest.demo import clock, people
from contest.demo import seed as demo
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import check_ledger_sums
from contest.operations import pipeline
from labeling import leases
from labeling.enums import KnownUse, PanelState
from labeling.models import Assignment, GoldMark, Image, KnownPicture, Panel, Response, Tasker
from labeling.submission import response_submit
from policy.calendar import week_of
from policy.selectors import policy_at, policy_in_force
from scoring.models import Run, Trial
from tests import factories
from tests.contest.pages import one_line

DATASET_ONLY = {Reason.KNOWN_BAD, Reason.AMBIGUOUS}
pytestmark = [pytest.mark.django_db, pytest.mark.slow("one demo for all: seeded photographs, scoring, and weeks of it")]


@pytest.fixture(scope="module")
def seeded(module_world: Path) -> datetime:
    """The demo as `make run` seeds it; returns when that was done."""
    with override_settings(DEMO=True):
        call_command("publish_reference_defenses", stdout=io.StringIO())
        assert demo.seed(lambda _: None) is True
        assert demo.seed(lambda _: None) is False, "seeding twice changes nothing"
    return timezone.now()


@pytest.fixture
def in_demo(settings: Any, tmp_path: Path) -> Any:
    settings.DEMO, settings.DATA_DIR = True, tmp_path
    return settings


def move(amount: str) -> list[str]:
    """Move the clock as the command does; returns its lines."""
    out = io.StringIO()
    call_command("demo_clock", amount, stdout=out)
    return out.getvalue().splitlines()


def test_a_first_look_shows_everything(seeded: datetime, in_demo: Any) -> None:
    rulings = Ruling.objects.all()
    assert {reason for ruling in rulings for reason in ruling.reasons} == set(Reason) - DATASET_ONLY
    assert {ruling.label for ruling in rulings.filter(verdict=Verdict.VALID)} == {"bird", "bicycle"}
    assert {panel.answered for panel in Panel.objects.filter(state=PanelState.OPEN)} == {0, 1, 2}
    assert Break.objects.exists()

    for release in Release.objects.order_by("pk"):
        assert verify.main([str(Path(in_demo.RELEASE_DIR) / release.name)]) == 0, release.name
    last_week = week_of(week_of(seeded, "UTC").start - timedelta(hours=1), "UTC")
    assert Release.objects.get(week=last_week.name).counts["images"] > 10
    last_week_is_settled(seeded)


def test_each_defense_has_a_story_of_its_own_and_the_money_adds_up(seeded: datetime, in_demo: Any) -> None:
    """One stands and its time is over, one was broken and its prize given, one its team paid for, one waits."""
    now, defenses = timezone.now(), {entry.defense: entry.defense.name for entry in DefenseEntry.objects.all()}
    found = defense_states(list(defenses), now=now)
    assert {name: found[defense.pk] for defense, name in defenses.items()} == {
        "steadfast": DefenseStanding.STAKED,
        "eager": DefenseStanding.BROKEN,
        "patient": DefenseStanding.STAKED,
        "sealed": DefenseStanding.PUBLISHED,
    }
    due = {stake.defense.name: is_due(stake, now) for stake in Stake.objects.select_related("defense__entry")}
    assert due == {"steadfast": True, "eager": False, "patient": False}
    ended, paid = Stake.objects.get(defense__name="eager"), Stake.objects.get(kind=StakeKind.TEAM)
    assert (ended.end, paid.defense.name, check_ledger_sums().wrong) == (StakeEnd.BROKEN, "patient", ())
    prize = LedgerEntry.objects.get(rule="R35")
    assert Account.objects.get(team=Team.objects.get(name="red")).balance_cents == prize.cents > 0
    assert not Run.objects.exclude(fault="").exists() and not Trial.objects.exclude(fault="").exists()


ROWS = [
    ("", "/", ["steadfast", "patient", "time over, waits for the board"], "what is at stake"),
    ("", "/money/", ["Share of the attacker prize", "Given for the prizes"], "the ledger"),
    ("", "/leaderboard/", ["eager", "sealed"], "the table"),
    ("blue", "/team/defenses/", ["steadfast", "eager", "patient", "sealed"], "what the team handed in"),
    ("red", "/attacks/", ["broke 1 defense"], "what an attack did"),
    ("board1", "/board/stakes/", ["sealed", "the board, batch"], "what may be staked, and what is"),
    ("board1", "/board/awards/", ["Time over", "steadfast"], "what may be awarded"),
    ("organizer", "/organizer/money/", ["adds up", "for the appeals of"], "what waits to be paid"),
]


def test_every_page_has_rows(seeded: datetime, in_demo: Any) -> None:
    for who, address, shown, why in ROWS:
        client = Client()
        if who:
            client.force_login(User.objects.get(username=who))
        page = one_line(client.get(address).content.decode())
        assert [words for words in shown if words not in page] == [], f"{address}: {why}"
    for entry in DefenseEntry.objects.select_related("defense"):
        status = 404 if entry.opened_at is None else 200
        assert Client().get(f"/defenses/{entry.defense.public_id}/image.tar").status_code == status


def test_a_careless_tasker_is_seen_on_the_pages_of_taskers(seeded: datetime, in_demo: Any) -> None:
    hasty = Tasker.objects.get(user__username="hasty")
    gold = KnownPicture.objects.filter(use=KnownUse.GOLD).count()
    marks = Counter(GoldMark.objects.filter(tasker=hasty).values_list("right", flat=True))
    assert marks.total() == gold and marks[False] > 0, "where there is neither, hasty is right by chance"
    client = Client()
    client.force_login(User.objects.get(username="organizer"))
    page = client.get("/organizer/taskers/").context
    rows = {row.tasker: row.week for row in page["rows"]}
    own = rows.pop(hasty)
    assert own.median_seconds == 1.1 and own.agreed.value < min(each.agreed.value or 1.0 for each in rows.values())
    assert [point.named for point in page["plot"].points if point.row.tasker == hasty] == [True]
    mirrored = Ruling.objects.filter(image__source_id__startswith="mirrored")
    assert ["taskers_disagree" in each.reasons for each in mirrored] == [True] * 5, "what it costs"


def last_week_is_settled(now: datetime) -> None:
    assert Stake.objects.filter(staked_at__isnull=False).count() == 3
    of_last_week = Image.objects.filter(received_at__lt=week_of(now, "UTC").start)
    assert of_last_week.count() > 10
    assert not Panel.objects.filter(image__in=of_last_week).exclude(state=PanelState.SETTLED).exists()
    assert not Response.objects.filter(submitted_at__gt=now).exists(), "nobody answers in the future"
    assert Panel.objects.filter(state=PanelState.OPEN).count() >= 8


# The tour of the README ----------------------------------------------------------------------------------------------


@pytest.mark.long("two weeks in steps of a day, with all that becomes due")
@pytest.mark.both("a demo may have either database")
def test_the_tour(seeded: datetime, in_demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What README's "A contest in ten minutes" promises, step by step; a newcomer acts where it says so."""
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
    for _ in pipeline.run_all_sweeps():
        pass
    assert Stake.objects.get(defense__name="patient").end == StakeEnd.BROKEN
    assert Break.objects.filter(image=attack.image, defense__name="patient").exists()
    assert LedgerEntry.objects.filter(rule="R35").count() == 2, "last week's prize, and this one"
    release = Release.objects.get(week=week_of(began, "UTC").name)
    assert release.counts["images"] > 10 and release.name in Client().get("/releases/").content.decode()

    lines, case = move("+8d"), Case.objects.get(motion=DecisionKind.AWARD, state=CaseState.OPEN)
    assert f"  the board votes on an award: case {case.public_id}" in lines
    factories.carried(case, User.objects.get(username="board1"), domain_now())
    award = Award.objects.get()
    assert award.stake.defense.name == "steadfast" and award.cents > 0
    assert Stake.objects.get(defense__name="steadfast").end == StakeEnd.WON
    assert LedgerEntry.objects.filter(rule="R36", cents=award.cents).exists()

    now = domain_now()
    assert not Response.objects.filter(submitted_at__gt=now).exists(), "nothing is of the future"
    assert people.act_as_people(now, refused=pytest.fail) == 0, "and nothing is left to do"
    for release in Release.objects.order_by("pk"):
        assert verify.main([str(Path(in_demo.RELEASE_DIR) / release.name)]) == 0, release.name


def _killed_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first try end after its first step, which is the last one on a Friday."""
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(clock, "_let_happen", Mock(side_effect=[True, SystemExit("killed")]))
        move("next-week")
    row = DemoClock.objects.get()
    assert 0 < row.ahead_seconds <= (row.target_seconds or 0)
    assert "A move is not finished" in clock.clock_in_words()


def _answer_as_newcomer(attack: Attack) -> None:
    now, tasker = domain_now(), Tasker.objects.get(user__username="tasker1")
    policy = policy_in_force(now).policy
    for _ in range(3):  # a gold picture may come before it (R6)
        found = leases.assignment_next(tasker=tasker, holding=(), policy=policy, now=now, rng=Random(1))
        assert isinstance(found, Assignment)
        said = people._by_pixels()[found.image.pixels_sha256].every_opinion[2]
        given = {"assignment_id": found.public_id, "lease_token": found.lease_token, "data": said}
        response_submit(tasker=tasker, policy_at=policy_at, now=now, **given)
        if found.image_id == attack.image_id:
            return
    raise AssertionError("the attack never came")


def test_what_one_of_the_people_is_refused_stops_nothing(
    seeded: datetime, in_demo: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, labeled = leases.assignment_lease, set[str]()

    def refuses_one(*, tasker: Tasker, **more: Any) -> Any:
        if tasker.user.username == people.LABELING[0]:
            raise Conflict("This tasker is paused.", "paused")
        labeled.add(tasker.user.username)
        return real(tasker=tasker, **more)

    monkeypatch.setattr(leases, "assignment_lease", refuses_one)
    began = domain_now()
    *_, said, last = move("+12h")
    assert said == "The demo's people could not do everything: This tasker is paused."
    assert last.startswith("It is ") and domain_now() - began >= timedelta(hours=12)
    assert labeled, "the others label"
    lines = [each.msg for each in caplog.records if each.msg["event"] == "demo_person_refused"]  # type: ignore[index]
    assert lines and {line["code"] for line in lines} == {"paused"}  # type: ignore[index]
