"""Simulations through the real services: a small month whose cheats are found, and a whole contest that is paid out."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError, call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import F
from django.test import Client
from django.urls import reverse

from adjudication.verify import verify
from contest.core.enums import StakeEnd
from contest.core.models import Attack, Award, Release, Stake
from contest.core.weeks import week_at
from contest.ledger.models import LedgerEntry, Payment
from contest.management.commands.simulate import play
from contest.simulation import month_report, report
from contest.simulation.cast import DefenseSkill, TeamRole, draw_cast
from contest.simulation.clock import VirtualClock
from contest.simulation.contest import play_contest
from contest.simulation.defenses import DEVICE, DrawnPictures, SimulatedDefense
from contest.simulation.isolation import STOPPED, SimulationStore, server_do
from contest.simulation.month import SimulatedMonth, mornings
from contest.simulation.month import figures as month_figures
from contest.simulation.painting import nudge, paint
from contest.simulation.people import draw_people
from contest.simulation.pictures import SIDE, draw_picture
from contest.simulation.plans import ContestPlan, MonthPlan
from labeling.enums import Label
from labeling.models import Assignment, Response, Tasker
from monitoring.models import TaskerLink
from picture_files.decoding import read_attack
from scoring.enums import Fault
from scoring.models import Defense, Prediction
from scoring.runner import ReferenceSession
from tests import factories
from tests.contest.pages import lacking
from tests.processes import wait_for
from tests.refusals import faulted

TINY = MonthPlan(seed=3, honest=4, careless=1, random=1, copying=0, days=1, pictures_a_day=12, first_gold=5)
REPORT = Path(settings.BASE_DIR) / "docs" / "monitoring-simulation"


def start_numbering() -> None:
    """Let each empty table count from one: a story depends on it, and PostgreSQL keeps counting over a rollback."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), apps.get_models()):
            cursor.execute(statement)


def played(plan: MonthPlan) -> dict[str, Any]:
    """Play a month and leave no rows behind."""
    start_numbering()
    with transaction.atomic():
        figures = play(plan, lambda _: None)
        transaction.set_rollback(True)
    return figures


@pytest.mark.slow("a month of eight taskers, one by one")
@pytest.mark.django_db
def test_a_small_month() -> None:
    """The random clicker is stopped, those who copy are linked with each other, and nothing befalls the honest."""
    start_numbering()
    month = SimulatedMonth(
        MonthPlan(seed=3, honest=5, careless=0, random=1, copying=2, days=3, pictures_a_day=30, first_gold=30)
    )
    month.play(lambda _: None)
    figures = month_figures(month)["months"][0]
    clicker = next(each for each in figures["found"] if each["who"] == "random 1")
    assert clicker["found_on_day"] <= 2 and clicker["answers_until_then"] <= 70
    assert [link["between"] for link in figures["links"]] == [["copying 1", "copying 2"]]
    assert figures["honest"].items() >= {"pause": 0, "requalify": 0, "linked": 0}.items()
    # There is gold from the second day on.
    assert 1.0 < figures["gold"]["percent_of_answers"] < 7.0 and figures["gold"]["right_percent"]["honest"] > 80
    # Those who were linked shared no panel afterwards.
    link = TaskerLink.objects.get()
    asked = Assignment.objects.filter(tasker__in=(link.first, link.second), known__isnull=True)
    times = Counter(asked.values_list("panel", flat=True))
    later = asked.filter(leased_at__gt=link.linked_at)
    assert later.count() > 20 and all(times[panel] == 1 for panel in later.values_list("panel", flat=True))


@pytest.mark.slow("three months of few pictures")
@pytest.mark.django_db
def test_the_same_seed_gives_the_same_month_and_another_one_another() -> None:
    first = played(TINY)
    assert json.dumps(played(TINY)) == json.dumps(first)
    assert played(replace(TINY, seed=4))["months"][0]["rulings"] != first["months"][0]["rulings"]


@pytest.mark.django_db
def test_the_command_plays_apart_and_writes_both_files(tmp_path: Path) -> None:
    out = tmp_path / "report"
    numbers = "--honest 4 --careless 1 --random 0 --copying 0 --days 1 --pictures-a-day 6"
    call_command("simulate", "month", "--seeds", "1", "--out", str(out), *shlex.split(numbers))
    figures = json.loads(out.with_suffix(".json").read_text())
    assert [month["seed"] for month in figures["months"]] == [1] and figures["months"][0]["answers"] > 20
    assert figures["command"].endswith(f"month {numbers}"), "what is told otherwise than usual"
    assert out.with_suffix(".md").read_text() == month_report.render_month(figures)
    assert not Tasker.objects.exists(), "the database at hand was not touched"


def test_the_report_is_the_page_of_its_figures_and_keeps_what_is_promised() -> None:
    """Five months or more: who should be found is, and no more than one honest tasker in a hundred is stopped."""
    figures = json.loads(REPORT.with_suffix(".json").read_text())
    assert REPORT.with_suffix(".md").read_text() == month_report.render_month(figures)
    months, plan = figures["months"], figures["plan"]
    assert len(months) >= 5 and plan.items() >= {"honest": 44, "careless": 3, "random": 1, "copying": 2}.items()
    assert all(each["found_on_day"] for month in months for each in month["found"])
    honest = sum(month["honest"]["taskers"] for month in months)
    stopped = sum(month["honest"][how] for month in months for how in ("pause", "requalify", "linked"))
    assert 100 * stopped <= honest


def test_mornings_leave_out_the_weekends() -> None:
    assert [morning.isoweekday() for morning in mornings(11)] == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1]


def test_about_as_many_pictures_are_good_as_there_were() -> None:
    rng = Random(1)
    pictures = [draw_picture(rng) for _ in range(6_000)]
    for label, share in ((Label.BIRD, 0.36), (Label.BICYCLE, 0.22)):
        mine = [picture for picture in pictures if picture.label is label]
        assert sum(picture.valid for picture in mine) / len(mine) == pytest.approx(share, abs=0.03)


# A whole contest in small ---------------------------------------------------------------------------------------------

TWO_WEEKS = ContestPlan(seed=5, weeks=2, teams=4, attacks=36, taskers=6, stake_days=5, taken_in=6, private=10)
TINIEST = ["--seed=4", "--weeks=1", "--teams=2", "--attacks=8", "--taskers=4", "--stake-days=3"]


TINIEST += ["--taken-in=2", "--private=4"]


@pytest.mark.long("a whole contest, of two weeks")
@pytest.mark.django_db
def test_a_tiny_contest(settings: object) -> None:
    days: list[int] = []
    start_numbering()
    figures = report.read_figures(play_contest(TWO_WEEKS, lambda done, total, words: days.append(done)))
    assert days == sorted(days) and days[0] == 0
    assert mail.outbox == [], "no letter leaves a simulation"
    _breaks_and_pays(figures)
    _is_released_and_can_be_looked_at()

    award = Award.objects.select_related("stake__defense", "stake").get()
    assert (award.stake.defense.name, award.stake.end) == ("robust-1 v1", StakeEnd.WON)
    assert all(condition["passed"] for condition in award.conditions)
    assert award.awarded_at - award.stake.staked_at > timedelta(days=TWO_WEEKS.stake_days)
    # Nobody could take its defenses for others.
    assert set(Prediction.objects.values_list("device", flat=True)) == {DEVICE}
    assert all("simulated" in defense.image for defense in Defense.objects.all())
    # The clock that is told decides: nothing was labeled before its week was over (R24).
    labeled = Attack.objects.filter(image__dealt_at__isnull=False)
    assert labeled.exists() and not labeled.filter(image__dealt_at__lt=F("image__label_from")).exists()
    assert all(attack.week == week_at(attack.received_at).name for attack in labeled)

    standing = Attack.objects.filter(withdrawn_at__isnull=True).values("image")
    withdrawn_alone = Attack.objects.exclude(image__in=standing).values("image").distinct().count()
    assert figures["verdicts"]["all"] == TWO_WEEKS.taken_in + figures["attacks"]["pictures"] - withdrawn_alone
    assert figures["queue"]["pictures_without_a_verdict"] == 0
    assert not lacking(
        report.render_contest(figures), "The board gave the defenders' half to robust-1", "nothing is wrong"
    )
    with pytest.raises(CommandError, match="holds a contest"):
        call_command("simulate", "--into-this-database")


def _breaks_and_pays(figures: dict) -> None:  # type: ignore[type-arg]
    broken, money = Stake.objects.get(end=StakeEnd.BROKEN), figures["money"]
    assert broken.defense.name.split("-")[0] == "fragile"
    shares = LedgerEntry.objects.filter(rule="R35", target__team__isnull=False)
    assert sum(share.cents for share in shares) == money["attacker_prizes_cents"] == broken.cents
    paid = Payment.objects.filter(paid_at__isnull=False)
    assert paid and all(payment.asked_by != payment.paid_by for payment in paid)
    assert sum(payment.cents for payment in paid) == broken.cents + money["awards_cents"] and money["wrong"] == []


def _is_released_and_can_be_looked_at() -> None:
    releases = Release.objects.order_by("pk")
    pictured = [release.week for release in releases if release.part == 0 and release.counts["images"]]
    assert pictured == ["2026-W02", "2026-W03"]
    for release in releases:
        assert verify(Path(settings.RELEASE_DIR) / release.name).differences == []
    pages = ["/", "/front/", "/rules/", "/money/", "/leaderboard/", "/defenses/", "/releases/", "/docs/status/"]
    pages += [reverse("defense", args=[defense.public_id]) for defense in Defense.objects.exclude(published_at=None)]
    for page in [*pages, "/feeds/releases.atom", "/feeds/releases.json", "/api/v1/leaderboard/", "/api/v1/releases/"]:
        assert Client().get(page).status_code == 200, page
    for name, own in (("organizer", "/organizer/"), ("board1", "/board/stakes/"), ("strong-1", "/team/")):
        client = Client()
        client.force_login(User.objects.get(username=name), backend="accounts.session_store.UserBackend")
        assert client.get(own).status_code == 200, own


def simulated(folder: Path, *more: str) -> tuple[str, str]:
    """Play the smallest contest with the command; return its story and its figures."""
    folder.mkdir()
    out = folder / "figures.json"
    words = [sys.executable, "manage.py", "simulate", *TINIEST, f"--folder={folder / 'own'}", f"--json={out}", *more]
    done = subprocess.run(words, cwd=settings.BASE_DIR, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "serve --pages-only" in done.stderr
    return done.stdout, out.read_text()


@pytest.mark.long("plays two contests, in processes of their own")
def test_the_same_seed_tells_the_same_story_byte_for_byte(tmp_path: Path) -> None:
    first = simulated(tmp_path / "one")
    assert simulated(tmp_path / "two") == first and "2026-W02" in first[0]


@pytest.mark.long("plays two contests, in processes of their own")
@pytest.mark.postgres("the whole contest on the database of a contest")
def test_the_same_seed_tells_the_same_story_on_postgresql(tmp_path: Path) -> None:
    told = []
    for number in range(2):
        name = f"test_simulated_{os.getpid()}_{number}"
        address = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
        try:
            told.append(simulated(tmp_path / str(number), f"--database={address}"))
        finally:
            server_do(address, "DROP DATABASE IF EXISTS", name)
    assert told[0] == told[1]


@pytest.mark.postgres("a database is created on its server")
def test_a_database_that_is_there_already_is_refused(tmp_path: Path) -> None:
    name = f"test_simulated_{os.getpid()}"
    address = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
    try:
        SimulationStore.at(tmp_path / "first", address).make()
        with pytest.raises(CommandError, match="already"):
            SimulationStore.at(tmp_path / "second", address).make()
    finally:
        server_do(address, "DROP DATABASE IF EXISTS", name)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a simulation that did not end by itself, and the process that plays it, which is in a session of its own."""
    if process.poll() is None:
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.killpg(int(child), signal.SIGKILL)
        process.kill()


@pytest.mark.long("plays until it is interrupted")
def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    words = [sys.executable, "manage.py", "simulate", "--weeks", "50", f"--folder={folder}"]
    process = subprocess.Popen(words, cwd=settings.BASE_DIR, stderr=subprocess.PIPE, text=True)
    try:
        wait_for((folder / "pictures").exists, "the first day", seconds=90)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)  # it ends the day it is at first
    finally:
        _kill(process)
    assert (process.returncode, said.count("Stopped."), "Traceback" in said) == (STOPPED, 1, False)
    assert "Stopped. What was played until then is in its database." in said


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    (folder / "mine").write_text("mine")
    with pytest.raises(CommandError, match="is not empty"):
        call_command("simulate", f"--folder={folder}")
    assert [path.name for path in folder.iterdir()] == ["mine"]


REFUSALS = [(("--into-this-database",), "holds a contest"), (("month", "--in-this-database"), "never runs among them")]


@pytest.mark.django_db
@pytest.mark.parametrize(("words", "said"), REFUSALS)
def test_a_database_with_somebody_in_it_is_refused(words: tuple[str, ...], said: str) -> None:
    factories.tasker("tara")
    with pytest.raises(CommandError, match=said):
        call_command("simulate", *words)
    assert User.objects.count() == 1 and not Response.objects.exists()


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({"weeks": 0}, "weeks"),
        ({"teams": 1}, "teams"),  # nobody to attack whom
        ({"taskers": 3}, "taskers"),  # one who is paused would leave no panel
        ({"private": 1}, "private"),  # a set has both classes
        ({"stake_days": 0}, "stake_days"),
    ],
)
def test_what_cannot_be_played_is_refused_by_name(numbers: dict[str, int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        ContestPlan(**numbers)  # type: ignore[arg-type]
    with pytest.raises(CommandError, match=f"Out of range: {named}"):
        call_command("simulate", *(f"--{name.replace('_', '-')}={value}" for name, value in numbers.items()))


# The pieces -----------------------------------------------------------------------------------------------------------


def test_forty_teams_are_of_every_kind_and_two_are_a_contest() -> None:
    cast = draw_cast(ContestPlan())
    assert ({each.role for each in cast}, len({each.name for each in cast})) == (set(TeamRole), 40)
    assert [each.defends for each in draw_cast(replace(ContestPlan(), teams=2))] == [False, True]


def test_a_clock_keeps_the_order_of_time_and_then_of_adding() -> None:
    done, begin = list[tuple[str, datetime]](), datetime(2026, 1, 3, tzinfo=UTC)
    clock = VirtualClock(begin)
    for name, hours in (("c", 2), ("a", 1), ("b", 1), ("later", 5)):
        clock.at(begin + timedelta(hours=hours), lambda name: done.append((name, clock.now)), name)
    clock.play(begin + timedelta(hours=5))
    assert [name for name, _ in done] == ["a", "b", "c"]
    clock.play(begin + timedelta(hours=6))
    assert done[3:] == [("later", begin + timedelta(hours=5))]


def test_drawn_pictures_are_attacks_as_they_are_and_no_two_are_the_same() -> None:
    rng = Random(1)
    drawn = [paint(draw_picture(rng), 0.5, rng) for _ in range(60)]
    hashes = {read_attack(each.data, size=SIDE).pixels_sha256 for each in drawn}
    assert len(hashes) == 60 and read_attack(nudge(drawn[0].data, rng), size=SIDE).pixels_sha256 not in hashes
    assert paint(draw_picture(again := Random(1)), 0.5, again) == drawn[0]


def test_words_to_the_tasker_move_the_careless_and_hardly_the_honest() -> None:
    rng = Random(3)
    flawed = [truth for truth in (draw_picture(rng) for _ in range(2_000)) if truth.label and not truth.real][:100]
    honest, careless = draw_people(honest=1, careless=1, random=0, copying=0, seed="plea")
    moved = {
        person.name: sum(
            person.answer(replace(truth, plea=True), number).get("real", False) for number, truth in enumerate(flawed)
        )
        for person in (honest, careless)
    }
    assert moved["honest 1"] < 15 < 60 < moved["careless 1"]


def test_a_slow_defense_is_out_of_time() -> None:
    slow = SimulatedDefense("one", DefenseSkill(0.0, 0.0, slow=True), DrawnPictures(), 1)
    session = ReferenceSession(slow, image_size=SIDE, batch_size=1)
    session.send(np.zeros((1, SIDE, SIDE, 3), dtype=np.uint8))
    faulted(Fault.BATCH_TIMEOUT, session.receive)
