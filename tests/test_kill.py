"""Workers killed with SIGKILL in the middle: nothing is lost and nothing is there twice."""

import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests.processes import Deployment, deployment, kill, wait_for

SETTLED = "SELECT count(*) FROM labeling_panel WHERE state = 'settled'"
PANELS = 300
KILLS = 3
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
def test_adjudication_survives_killed_workers(tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        site.run(FILL)
        settled = 0
        for _ in range(KILLS):
            worker = site.start(sys.executable, "manage.py", "work", "--queue", "quick", log="work.log")
            wait_for_more_than(settled, SETTLED, site)
            kill(worker)
            now = site.run(COUNT)
            assert now["rulings"] == now["settled"], "a ruling and its panel's end commit together"
            assert settled < now["settled"] < PANELS, "the kill fell in the middle"
            settled = now["settled"]
        site.start(sys.executable, "manage.py", "work", "--queue", "quick", log="work.log")
        wait_for(lambda: site.run(COUNT)["settled"] == PANELS, "every ruling")
        assert site.run(COUNT) == {
            "rulings": PANELS, "images": PANELS, "settled": PANELS, "valid": PANELS // 2,
        }  # fmt: skip


def wait_for_more_than(number: int, question: str, site: Deployment) -> None:
    """Wait until a worker has begun; asked over a connection of its own, because work is over in a second."""
    address = site.environment["DATABASE_URL"]
    opened: Any = (
        psycopg2.connect(address) if address.startswith("postgres") else sqlite3.connect(site.folder / "db.sqlite3")
    )
    with closing(opened) as connection:
        if address.startswith("postgres"):
            connection.autocommit = True
        cursor, deadline = connection.cursor(), time.monotonic() + 60
        while time.monotonic() < deadline:
            cursor.execute(question)
            if cursor.fetchone()[0] > number:
                return
            time.sleep(0.005)
    raise AssertionError("the worker did not begin")


CASES = 12
DECIDED = f"""
from datetime import timedelta
from adjudication.counting import Ballot
from contest.breaks import breaks_record
from contest.enums import VoteChoice
from contest.awards.settling import prizes_settle
from contest.stakes.ends import stakes_end
from tests import factories
from tests.contest.board import cast as board
from tests.contest.money import cast
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
    from contest.board.cases import image_held, picture_case
    with transaction.atomic():
        told = {{"ruling": attack.image.rulings.get(), "by": None, "now": later}}
        case = picture_case(image=image_held(attack.image_id), **told)
    board.votes(case, members, rejected)
    board.decide(case, members[0])
result = cast.balance(red)
"""
FOLLOWED = """
from contest.breaks import standing_breaks
from contest.models import LedgerEntry, Stake, Team
from contest.money.ledger import check
from tests.contest.money.cast import balance
result = {
    "breaks": standing_breaks().count(),
    "in force": Stake.objects.filter(end="").count(),
    "red": balance(Team.objects.get(name="red")),
    "corrections": LedgerEntry.objects.filter(corrects__isnull=False).count(),
    "wrong": len(check().wrong),
}
"""


# What follows from the rulings, one after the other.
STEPS = {
    "in force": """SELECT count(*) FROM contest_stake WHERE "end" = ''""",
    "corrections": "SELECT count(*) FROM contest_ledgerentry WHERE corrects_id IS NOT NULL",
}


@pytest.mark.postgres("killed processes leave locks and leases behind")
def test_what_follows_from_rulings_of_the_board_survives_killed_workers(tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        assert site.run(DECIDED) > 0, "the attackers were paid before the board overruled"
        for what, question in STEPS.items():
            worker = site.start(sys.executable, "manage.py", "work", "--queue", "quick", log="work.log")
            wait_for_more_than(0, question, site)
            kill(worker)
            now = site.run(FOLLOWED)
            assert 0 < now[what] <= CASES and now["wrong"] == 0, "killed as soon as the first was there"
        site.start(sys.executable, "manage.py", "work", "--queue", "quick", log="work.log")
        done = {"breaks": 0, "in force": CASES, "red": 0, "corrections": CASES, "wrong": 0}
        wait_for(lambda: site.run(FOLLOWED) == done, "every consequence, once")
