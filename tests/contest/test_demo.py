"""The demo contest: a first look shows valid, rejected for every reason, and open pictures, breaks and a release."""

import io
from datetime import UTC, datetime, timedelta
from functools import cache as cached
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone
from django.utils.module_loading import import_string

from adjudication import verify
from adjudication.enums import Reason, Verdict
from adjudication.models import Ruling
from contest.demo import seed as demo
from contest.demo.known import known_runner
from contest.demo.programs import PROGRAMS, program_of
from contest.demo.stakes import Staking
from contest.enums import DefenseStanding, StakeEnd, StakeKind
from contest.models import Account, Break, Entry, LedgerEntry, Release, Stake, Team
from contest.money.ledger import check
from contest.rules import week_of
from contest.stakes.selectors import is_due, standings
from labeling.enums import PanelState
from labeling.models import Image, Panel, Response, Tasker
from labeling.people import tasker_register
from scoring.models import Defense, Run, Trial

DATASET_ONLY = {Reason.KNOWN_BAD, Reason.AMBIGUOUS}


@pytest.mark.django_db
def test_a_first_look_shows_everything(settings: Any) -> None:
    settings.DEMO = True
    call_command("publish_reference_defenses", stdout=io.StringIO())
    said: list[str] = []
    assert demo.seed(said.append) is True
    assert demo.seed(said.append) is False, "seeding twice changes nothing"

    rulings = Ruling.objects.all()
    assert {reason for ruling in rulings for reason in ruling.reasons} == set(Reason) - DATASET_ONLY
    assert {ruling.label for ruling in rulings.filter(verdict=Verdict.VALID)} == {"bird", "bicycle"}
    open_panels = Panel.objects.filter(state=PanelState.OPEN)
    assert {panel.answered for panel in open_panels} == {0, 1, 2}
    assert Break.objects.exists()

    for release in Release.objects.order_by("pk"):
        assert verify.main([str(Path(settings.RELEASE_DIR) / release.name)]) == 0, release.name
    last_week = week_of(week_of(timezone.now(), "UTC").start - timedelta(hours=1), "UTC")
    assert Release.objects.get(week=last_week.name).counts["images"] > 10
    _stakes_and_money()
    _every_page_has_rows()


def _stakes_and_money() -> None:
    """One defense stands and its time is over, one was broken and its prize given, one its team paid for, one waits."""
    defenses = {entry.defense.name: entry.defense for entry in Entry.objects.select_related("defense")}
    states = {name: standings([defense], now=timezone.now())[defense.pk] for name, defense in defenses.items()}
    assert states == {
        "steadfast": DefenseStanding.STAKED,
        "eager": DefenseStanding.BROKEN,
        "patient": DefenseStanding.STAKED,
        "sealed": DefenseStanding.PUBLISHED,
    }
    now = timezone.now()
    due = {stake.defense.name: is_due(stake, now) for stake in Stake.objects.select_related("defense__entry")}
    assert due == {"steadfast": True, "eager": False, "patient": False}
    assert Stake.objects.get(defense__name="eager").end == StakeEnd.BROKEN
    assert Stake.objects.get(kind=StakeKind.TEAM).defense.name == "patient"
    prize = LedgerEntry.objects.get(rule="R35")
    assert Account.objects.get(team=Team.objects.get(name="red")).balance_cents == prize.cents > 0
    assert check().wrong == ()
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


def _every_page_has_rows() -> None:
    cache.clear()  # the front page is remembered for a while
    for who, address, shown, why in ROWS:
        client = Client()
        if who:
            client.force_login(User.objects.get(username=who))
        page = client.get(address).content.decode()
        assert [words for words in shown if words not in page] == [], f"{address}: {why}"
    for entry in Entry.objects.select_related("defense"):
        status = 404 if entry.opened_at is None else 200
        assert Client().get(f"/defenses/{entry.defense.public_id}/image.tar").status_code == status


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_last_week_is_settled_whenever_the_demo_is_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("contest.demo.seed.read_dataset", "labeling.intake.read_dataset", "contest.demo.stakes.encode_png"):
        monkeypatch.setattr(place, cached(import_string(place)))  # the same photographs at each moment
    for now, why in MOMENTS:
        with transaction.atomic():
            _last_week_is_settled(now, why)
            transaction.set_rollback(True)


def _last_week_is_settled(now: datetime, why: str) -> None:
    teams = demo._people(now)
    played = demo.Demo(now, teams, demo.photos())
    Staking(teams["blue"], policy=played.policy.policy, begin=played.last_week.start, now=now).play()
    played.play()
    assert Stake.objects.filter(staked_at__isnull=False).count() == 3, why
    this_week = week_of(now, "UTC")
    of_last_week = Image.objects.filter(received_at__lt=this_week.start)
    assert of_last_week.count() > 10, why
    assert not Panel.objects.filter(image__in=of_last_week).exclude(state=PanelState.SETTLED).exists(), why
    assert not Response.objects.filter(submitted_at__gt=now).exists(), f"{why}: nobody answers in the future"
    assert Panel.objects.filter(state=PanelState.OPEN).count() >= 8, why


@pytest.mark.django_db
def test_every_demo_sign_in_works_and_has_one_role(client: Client) -> None:
    demo._people(timezone.now())
    assert set(User.objects.values_list("username", flat=True)) == set(demo.SIGN_INS)
    for name in demo.SIGN_INS:
        page = client.post("/sign-in/", {"username": name, "password": demo.PASSWORD})
        assert page.status_code == 302, name
    for tasker in Tasker.objects.all():
        assert not tasker.user.groups.exists() and not hasattr(tasker.user, "membership")


@pytest.mark.django_db
def test_an_organizer_cannot_become_a_tasker(olga: User) -> None:
    from random import Random

    from common.errors import Conflict
    from labeling.enums import TaskerState

    with pytest.raises(Conflict, match="another role"):
        tasker_register(user=olga, state=TaskerState.QUALIFIED, now=timezone.now(), rng=Random(1))


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_nothing_is_seeded_outside_a_demo(settings: Any) -> None:
    settings.DEMO = False
    with pytest.raises(CommandError, match="This is no demo"):
        call_command("seed_demo")
    assert not User.objects.exists()
