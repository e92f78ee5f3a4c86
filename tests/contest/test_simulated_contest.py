"""A whole contest in small, through the real services: it breaks, pays, awards, is released, and can be told again."""

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import numpy as np
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from adjudication.verify import verify
from contest.enums import StakeEnd
from contest.models import Attack, Award, LedgerEntry, Payment, Release, Stake
from contest.simulation import story
from contest.simulation.agenda import Agenda
from contest.simulation.apart import STOPPED, Place, server_do
from contest.simulation.cast import DEFENDERS, ContestPlan, Mind, Role, draw_cast
from contest.simulation.contest import Contest
from contest.simulation.minds import DEVICE, Memory, SimulatedSession
from contest.simulation.painting import nudge, paint
from contest.simulation.people import draw_people
from contest.simulation.pictures import SIDE, draw_picture
from contest.simulation.reckoning import Reckoning
from contest.weeks import week_at
from labeling.images import read_attack
from scoring.models import Defense, Prediction
from scoring.runner import RunnerFault
from tests import factories

TINY = ContestPlan(seed=5, weeks=2, teams=4, attacks=36, taskers=6, stake_days=5, taken_in=6, private=10)
TINIEST = ["--seed=4", "--weeks=1", "--teams=2", "--attacks=8", "--taskers=4", "--stake-days=3"]
TINIEST += ["--taken-in=2", "--private=4"]


@pytest.mark.slow("a whole contest, of two weeks")
@pytest.mark.django_db
def test_a_tiny_contest(settings: object) -> None:
    contest = Contest(TINY)
    days: list[int] = []
    contest.play(lambda done, total, words: days.append(done))
    figures = Reckoning(contest).to_json()
    assert days == sorted(days) and days[0] == 0
    _breaks_and_pays(figures)
    _awards()
    _is_honest_about_its_defenses()
    _is_released_and_verifies()
    _shows_every_page()
    _keeps_to_the_weeks()
    assert mail.outbox == [], "no letter leaves a simulation"
    assert figures["verdicts"]["all"] == TINY.taken_in + figures["attacks"]["pictures"] - _withdrawn_alone()
    assert figures["queue"]["pictures_without_a_verdict"] == 0
    told = story.render(figures)
    assert "The board gave the defenders' half to robust-1" in told
    assert "nothing is wrong" in told
    with pytest.raises(CommandError, match="holds a contest"):
        call_command("simulate", "--into-this-database")


def _withdrawn_alone() -> int:
    standing = Attack.objects.filter(withdrawn_at__isnull=True).values("image")
    return Attack.objects.exclude(image__in=standing).values("image").distinct().count()


def _breaks_and_pays(figures: dict) -> None:  # type: ignore[type-arg]
    broken = Stake.objects.filter(end=StakeEnd.BROKEN).select_related("defense")
    assert [stake.defense.name.split("-")[0] for stake in broken] == ["fragile"]
    shares = LedgerEntry.objects.filter(rule="R35", target__team__isnull=False)
    assert sum(share.cents for share in shares) == broken[0].cents
    assert figures["money"]["wrong"] == []
    assert figures["money"]["attacker_prizes_cents"] == broken[0].cents
    paid = Payment.objects.filter(paid_at__isnull=False)
    assert paid and all(payment.asked_by != payment.paid_by for payment in paid)
    assert sum(payment.cents for payment in paid) == broken[0].cents + figures["money"]["awards_cents"]


def _awards() -> None:
    award = Award.objects.select_related("stake__defense", "stake").get()
    assert award.stake.defense.name == "robust-1 v1"
    assert award.stake.end == StakeEnd.WON
    assert all(condition["passed"] for condition in award.conditions)
    assert award.awarded_at - award.stake.staked_at > timedelta(days=TINY.stake_days)


def _is_honest_about_its_defenses() -> None:
    assert set(Prediction.objects.values_list("device", flat=True)) == {DEVICE}
    assert all("simulated" in defense.image for defense in Defense.objects.all())


def _is_released_and_verifies() -> None:
    releases = Release.objects.order_by("pk")
    pictured = [release.week for release in releases if release.part == 0 and release.counts["images"]]
    assert pictured == ["2026-W02", "2026-W03"]
    for release in releases:
        findings = verify(Path(settings.RELEASE_DIR) / release.name)
        assert findings.differences == []


def _shows_every_page() -> None:
    """Strangers, and everybody with an account, can look at the contest as it stands."""
    pages = ["/", "/front/", "/rules/", "/money/", "/leaderboard/", "/defenses/", "/releases/", "/docs/status/"]
    pages += [reverse("defense", args=[defense.public_id]) for defense in Defense.objects.exclude(published_at=None)]
    pages += ["/feeds/releases.atom", "/feeds/releases.json", "/api/v1/leaderboard/", "/api/v1/releases/"]
    for page in pages:
        assert Client().get(page).status_code == 200, page
    for name, own in (("organizer", "/organizer/"), ("board1", "/board/stakes/"), ("strong-1", "/team/")):
        client = Client()
        client.force_login(User.objects.get(username=name), backend="common.sessions.UserBackend")
        assert client.get(own).status_code == 200, own


def _keeps_to_the_weeks() -> None:
    """The clock that is told decides: nothing was labeled before its week was over (R24)."""
    for attack in Attack.objects.select_related("image").filter(image__dealt_at__isnull=False):
        assert attack.week == week_at(attack.received_at).name
        assert attack.image.dealt_at is not None and attack.image.dealt_at >= attack.image.label_from


# The command ----------------------------------------------------------------------------------------------------------


def simulated(folder: Path, *more: str) -> tuple[str, str]:
    """Play the smallest contest with the command; return its story and its figures."""
    out = folder / "figures.json"
    words = [sys.executable, "manage.py", "simulate", *TINIEST, f"--folder={folder / 'own'}", f"--json={out}", *more]
    done = subprocess.run(words, cwd=settings.BASE_DIR, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "serve --pages-only" in done.stderr
    return done.stdout, out.read_text()


@pytest.mark.long("plays two contests, in processes of their own")
def test_the_same_seed_tells_the_same_story_byte_for_byte(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = simulated(tmp_path / "one")
    assert simulated(tmp_path / "two") == first
    assert "2026-W02" in first[0]


@pytest.mark.long("plays two contests, in processes of their own")
@pytest.mark.postgres("the whole contest on the database of a contest")
def test_the_same_seed_tells_the_same_story_on_postgresql(tmp_path: Path) -> None:
    told = []
    for number in range(2):
        (tmp_path / str(number)).mkdir()
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
        Place.at(tmp_path / "first", address).make()
        with pytest.raises(CommandError, match="already"):
            Place.at(tmp_path / "second", address).make()
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
        deadline = time.monotonic() + 90
        while not (folder / "pictures").exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)  # it ends the day it is at first
    finally:
        _kill(process)
    assert process.returncode == STOPPED
    assert "Stopped. What was played until then is in its database." in said and said.count("Stopped.") == 1
    assert "Traceback" not in said


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    with pytest.raises(CommandError, match="is not empty"):
        call_command("simulate", f"--folder={folder}")
    assert [path.name for path in folder.iterdir()] == ["mine"]


@pytest.mark.django_db
def test_a_database_with_somebody_in_it_is_refused() -> None:
    factories.tasker("tara")
    with pytest.raises(CommandError, match="holds a contest"):
        call_command("simulate", "--into-this-database")
    assert User.objects.count() == 1


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
    assert {each.role for each in cast} == set(Role)
    assert len({each.name for each in cast}) == 40
    few = [each.role for each in draw_cast(replace(ContestPlan(), teams=2))]
    assert few[0] not in DEFENDERS and few[1] in DEFENDERS


def test_an_agenda_keeps_the_order_of_time_and_then_of_adding() -> None:
    agenda, done, begin = Agenda(), [], datetime(2026, 1, 3, tzinfo=UTC)
    for name, hours, alone in (("c", 2, False), ("a", 1, False), ("b", 1, True), ("later", 5, False)):
        at = begin + timedelta(hours=hours)
        agenda.add(at, lambda now, name=name: done.append((name, now)), alone=alone)  # type: ignore[misc]
    agenda.play(begin + timedelta(hours=5), nullcontext)
    assert [name for name, _ in done] == ["a", "b", "c"]
    agenda.play(begin + timedelta(hours=6), nullcontext)
    assert done[-1] == ("later", begin + timedelta(hours=5))


def test_drawn_pictures_are_attacks_as_they_are_and_no_two_are_the_same() -> None:
    rng = Random(1)
    drawn = [paint(draw_picture(rng), 0.5, rng) for _ in range(60)]
    hashes = {read_attack(each.data, size=SIDE).pixels_sha256 for each in drawn}
    assert len(hashes) == 60
    assert read_attack(nudge(drawn[0].data, rng), size=SIDE).pixels_sha256 not in hashes
    again = Random(1)
    assert paint(draw_picture(again), 0.5, again) == drawn[0]


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


def test_a_slow_mind_is_out_of_time() -> None:
    session = SimulatedSession("one", Mind(0.0, 0.0, slow=True), Memory(), 1)
    session.send(np.zeros((1, SIDE, SIDE, 3), dtype=np.uint8))
    with pytest.raises(RunnerFault):
        session.receive()
