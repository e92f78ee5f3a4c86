"""Workers killed with SIGKILL in the middle: nothing is lost and nothing is there twice. A real Celery worker on a real
Redis."""

import json
import os
import subprocess
import sys
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

import psycopg2
import pytest

from tests.processes import Deployment, deployment, kill, wait_for

PANELS = 300
FILL = f"""
from tests import factories
from django.db import transaction
with transaction.atomic():
    people = [factories.tasker(f"tasker-{{n}}") for n in range(3)]
    for n in range({PANELS}):
        panel = factories.panel()
        for person in people:
            factories.response(person, panel, real=n % 2 == 0)
result = True
"""
COUNT = """
from adjudication.models import Ruling
from labeling.models import Panel
result = {
    "rulings": Ruling.objects.count(),
    "images": Ruling.objects.values("image").distinct().count(),
    "settled": Panel.objects.filter(state="settled").count(),
    "valid": Ruling.objects.filter(verdict="valid").count(),
}
"""


@pytest.mark.postgres("killed processes leave locks and leases behind")
@pytest.mark.long("kills at random moments")
def test_adjudication_survives_killed_workers(tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        settled = 0
        site.run(FILL)
        for _ in range(2):
            killed_after(settled, "SELECT count(*) FROM labeling_panel WHERE state = 'settled'", site)
            now = site.run(COUNT)
            assert now["rulings"] == now["settled"], "a ruling and its panel's end commit together"
            assert settled < now["settled"] < PANELS, "the kill fell in the middle"
            settled = now["settled"]
        start(site)
        wait_for(lambda: site.run(COUNT)["settled"] == PANELS, "every ruling")
        assert site.run(COUNT) == {
            "rulings": PANELS, "images": PANELS, "settled": PANELS, "valid": PANELS // 2,
        }  # fmt: skip


def start(site: Deployment) -> "subprocess.Popen[bytes]":
    return site.start(sys.executable, "manage.py", "work", "--queue", "quick", log="work.log")


def killed_after(number: int, question: str, site: Deployment) -> None:
    worker = start(site)
    with closing(psycopg2.connect(site.environment["DATABASE_URL"])) as connection:
        connection.autocommit = True
        cursor, found, deadline = connection.cursor(), 0, time.monotonic() + 60
        while found <= number:
            assert time.monotonic() < deadline, "the worker did not begin"
            time.sleep(0.005)
            cursor.execute(question)
            ((found,),) = cursor.fetchall()
    kill(worker)


CASES = 12
DECIDED = f"""
from datetime import timedelta
from adjudication.counting import Ballot
from contest.core.breaks import breaks_record
from contest.core.enums import VoteChoice
from contest.prizes.sweeps import prizes_settle
from contest.defenses.stake_ends import stakes_end
from tests import factories
from tests.contest.board import cast as board
from tests.contest.ledger import cast
factories.policy_version()
cast.deposit({CASES + 1} * 2 * cast.PRIZE, factories.user("oliver", "organizers"))
red, members = cast.team("red"), [board.member(name) for name in ("ada", "ben")]
defenses = [cast.defense(f"d{{n}}", cast.team(f"makers {{n}}")) for n in range({CASES})]
for each in defenses:
    cast.staked(each)
sent = [cast.attack(red, days=1 + n / 100) for n in range({CASES})]
for defense, attack in zip(defenses, sent):
    cast.broken(defense, attack)
later = board.LATER
assert stakes_end(now=later) == prizes_settle(now=later) == {CASES}
rejected = Ballot(VoteChoice.OVERRULE, reasons=("occluded",))
for attack in sent:
    from django.db import transaction
    from contest.board.cases import lock_image, picture_case
    with transaction.atomic():
        told = {{"ruling": attack.image.rulings.get(), "by": None, "now": later}}
        case = picture_case(image=lock_image(attack.image_id), **told)
    board.votes(case, members, rejected)
    board.decide(case, members[0])
result = cast.balance(red)
"""
FOLLOWED = """
from contest.core.breaks import breaks_in_force
from contest.core.models import Stake, Team
from contest.ledger.models import LedgerEntry
from contest.ledger.services import check_ledger_sums
from tests.contest.ledger.cast import balance
result = {
    "breaks": breaks_in_force().count(),
    "in force": Stake.objects.filter(end="").count(),
    "red": balance(Team.objects.get(name="red")),
    "corrections": LedgerEntry.objects.filter(corrects__isnull=False).count(),
    "wrong": len(check_ledger_sums().wrong),
}
"""
# What follows from the rulings, one after the other.
STEPS = {
    "in force": """SELECT count(*) FROM core_stake WHERE "end" = ''""",
    "corrections": "SELECT count(*) FROM ledger_ledgerentry WHERE corrects_id IS NOT NULL",
}


@pytest.mark.postgres("killed processes leave locks and leases behind")
@pytest.mark.long("kills at random moments")
def test_what_follows_from_rulings_of_the_board_survives_killed_workers(tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        assert site.run(DECIDED) > 0, "the attackers were paid before the board overruled"
        for what, question in STEPS.items():
            killed_after(0, question, site)
            now = site.run(FOLLOWED)
            assert 0 < now[what] <= CASES and now["wrong"] == 0, "killed as soon as the first was there"
        start(site)
        done = {"breaks": 0, "in force": CASES, "red": 0, "corrections": CASES, "wrong": 0}
        wait_for(lambda: site.run(FOLLOWED) == done, "every consequence, once")


PREPARE = """
from tests import factories
result = [factories.tasker(f"tasker-{n}").pk for n in range(3)], factories.panel().pk
"""
# A web server has sent hints before, so it is connected to the broker.
CONNECT = """
from adjudication.tasks import settle_panels
settle_panels.task.apply_async(ignore_result=True)
"""
# A submit in a process of its own, as the web server does it: the hint goes out when the transaction commits. A web
# server lives on after that, so this process ends no sooner than its hint is sent.
SUBMIT = """
from random import Random
from django.utils import timezone
from common import hints
from labeling.leases import assignment_next
from labeling.models import Tasker
from labeling.submission import response_submit
from policy.numbers import Policy
hints.FAREWELL_SECONDS = 60
now, policy = timezone.now(), Policy()
for tasker in Tasker.objects.all():
    held = assignment_next(tasker=tasker, holding=(), policy=policy, now=now, rng=Random(1))
    response_submit(
        tasker=tasker, assignment_id=held.public_id, lease_token=held.lease_token, policy_at=lambda moment: policy,
        now=timezone.now(), data={"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"},
    )
result = str(timezone.now())
"""
RULING = """
from adjudication.models import Ruling
from labeling.models import Panel
result = [[str(r.decided_at), str(r.panel.full_at), r.reasons] for r in Ruling.objects.select_related("panel")]
"""
SWEPT = """
from common.models import SweepRun
result = SweepRun.objects.filter(name="rulings").exists()
"""


def start_worker(site: Deployment, *options: str) -> None:
    celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-l", "INFO", "-Q", "quick", "-c", "1"]
    site.start(*celery, *options, log="celery.log")
    wait_for(lambda: b"ready." in (site.folder / "celery.log").read_bytes(), "the Celery worker")


@pytest.fixture
def broker() -> str:
    if not os.environ.get("TEST_REDIS_URL"):
        pytest.skip("needs a Redis server: TEST_REDIS_URL=redis://127.0.0.1:6379/0")
    # A number of its own for each worker of the test run, so that two of them do not take each other's tasks.
    base = os.environ["TEST_REDIS_URL"].rsplit("/", 1)[0]
    return f"{base}/{int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0')[2:]) + 1}"


@pytest.mark.postgres("tasks run as in a contest")
def test_a_ruling_is_there_within_two_seconds_of_the_last_answer(tmp_path: Path, broker: str) -> None:
    with deployment(tmp_path) as site:
        site.environment["CELERY_BROKER_URL"] = broker
        site.run(PREPARE)
        start_worker(site)  # no beat: only the hint can have woken it
        site.run(CONNECT + SUBMIT)
        [[*moments, reasons]] = wait_for(lambda: site.run(RULING), "the ruling", 10)
        decided_at, full_at = map(datetime.fromisoformat, moments)
        assert (decided_at - full_at).total_seconds() < 2
        assert reasons == ["neither_class"]
        lines = [line for line in (site.folder / "celery.log").read_text().splitlines() if line.startswith("{")]
        assert any(json.loads(line).get("task_id") for line in lines), lines[-5:]


@pytest.mark.postgres("tasks run as in a contest")
@pytest.mark.long("a broker that is away")
def test_a_ruling_is_there_within_two_seconds_when_its_hint_is_lost(tmp_path: Path, broker: str) -> None:
    """Submitting works while the broker is away, and the sweep of the next second finds the panel."""
    with deployment(tmp_path) as site:
        site.environment["CELERY_BROKER_URL"] = broker
        site.run(PREPARE)
        start_worker(site, "-B", "-s", str(tmp_path / "beat"))
        wait_for(lambda: site.run(SWEPT), "the first sweep")
        site.environment["CELERY_BROKER_URL"] = "redis://127.0.0.1:9/0"
        site.run(SUBMIT)
        [[*moments, _]] = wait_for(lambda: site.run(RULING), "the ruling", 20)
        decided_at, full_at = map(datetime.fromisoformat, moments)
        assert (decided_at - full_at).total_seconds() < 2
