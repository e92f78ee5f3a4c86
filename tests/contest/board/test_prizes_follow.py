"""What becomes of a prize when the board changes the ruling that it follows from (R22, R35): by votes and sweeps alone,
once while it lies on the team's account, and once when it was paid out before."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from adjudication.counting import Ballot
from contest.board.cases import case_open
from contest.board.decisions import cases_close
from contest.board.models import CaseDecision
from contest.core.breaks import breaks_in_force, breaks_record
from contest.core.enums import AccountKind, StakeEnd, VoteChoice
from contest.defenses.stake_ends import stakes_end
from contest.ledger import services as ledger
from contest.ledger.models import LedgerEntry, Payment
from contest.payments import services as payments
from contest.payments import statements
from contest.payments.payable import payable
from contest.prizes.sweeps import prizes_settle
from labeling.models import Image
from scoring.enums import RunState
from scoring.models import Defense, Run, RunItem
from tests import factories
from tests.contest.board import cast
from tests.contest.board.cast import OVERRULE_BICYCLE, OVERRULE_BIRD, OVERRULE_REJECTED, RULED, SURE, UNSURE, Scene
from tests.contest.ledger import cast as money
from tests.contest.ledger.cast import PRIZE, balance
from tests.contest.pages import main

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
PAID = RULED + 8 * DAY  # the appeals of the week are closed
DECIDED = RULED + 9 * DAY


def mistaken(defense: Defense, image: Image, now: datetime) -> None:
    """Three finished runs in which a defense takes a picture for a bicycle; nobody looked at them yet."""
    money.answered(defense, image, 0, at=now)
    runs = RunItem.objects.filter(defense=defense, image=image).values("run")
    Run.objects.filter(pk__in=runs).update(state=RunState.FINISHED)


def sweep(now: datetime) -> None:
    """Let everything follow; once more, nothing does."""
    while cases_close(now=now) + breaks_record(now=now) + stakes_end(now=now) + prizes_settle(now=now):
        pass


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """Blue's defense takes the bird of red for a bicycle: the prize is red's."""
    made = Scene.make()
    mistaken(made.stake.defense, made.image, RULED)
    sweep(PAID)
    made.stake.refresh_from_db()
    assert (made.stake.end, balance(made.red), balance(AccountKind.ATTACKERS)) == (StakeEnd.BROKEN, PRIZE, PRIZE)
    return made


def paid_out(scene: Scene) -> None:
    asked = payments.payment_request(team=scene.red, by=factories.user("olga", "organizers"), now=PAID)
    payments.payment_pay(payment_id=asked.pk, reference="ref 1", by=factories.user("olaf", "organizers"), now=PAID)
    assert balance(scene.red) == 0 and asked.cents == PRIZE


def decide(scene: Scene, ballot: Ballot | VoteChoice, now: datetime) -> CaseDecision:
    """A member doubts the ruling, two vote, and one of them confirms."""
    case = case_open(image=scene.image, by=scene.members[0], now=now)
    made = cast.decided(case, scene.members, ballot, now)
    sweep(now)
    return made


def by(*ballots: Ballot | VoteChoice) -> Callable[[Scene], object]:
    return lambda scene: [decide(scene, ballot, DECIDED + hours * HOUR) for hours, ballot in enumerate(ballots)]


def joined_by(*said: dict[str, object]) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        cast.rule(decide(scene, VoteChoice.MORE_TASKERS, DECIDED).panel, *said, now=DECIDED + HOUR)
        sweep(DECIDED + HOUR)

    return change


# What the board does, whether the defense is broken in the end, how often money was taken back, whether red was paid
# before, and why.
CHANGES = [
    (by(VoteChoice.UPHOLD), True, 0, True, "upheld: nothing follows"),
    (by(OVERRULE_REJECTED), False, 1, False, "rejected after all: it breaks nothing"),
    (by(OVERRULE_REJECTED), False, 1, True, "rejected after it was paid: red owes it"),
    (by(OVERRULE_BICYCLE), False, 1, False, "of the other class: what the defense said of it is right"),
    (joined_by(SURE, UNSURE, SURE), False, 1, False, "one of more taskers is not sure"),
    (joined_by(SURE, SURE, SURE), True, 0, False, "more taskers are sure: the same holds"),
    (by(OVERRULE_REJECTED, OVERRULE_BIRD), True, 1, True, "an overrule of an overrule: broken as before"),
    (by(OVERRULE_REJECTED, OVERRULE_BIRD, OVERRULE_BICYCLE), False, 2, False, "and overruled once more"),
]


@pytest.mark.parametrize(("change", "broken", "back", "paid", "why"), CHANGES, ids=[row[4] for row in CHANGES])
def test_what_follows_for_a_prize(
    change: Callable[[Scene], None], broken: bool, back: int, paid: bool, why: str, scene: Scene
) -> None:
    """R22, R35."""
    if paid:
        paid_out(scene)
    entries = list(LedgerEntry.objects.order_by("pk").values())
    change(scene)
    scene.stake.refresh_from_db()
    assert (scene.stake.end, breaks_in_force().exists()) == (StakeEnd.BROKEN if broken else "", broken), why
    due, owed = PRIZE if broken and not paid else 0, PRIZE if paid and not broken else 0
    assert (balance(scene.red), payable(scene.red, now=DECIDED + 30 * DAY).due) == (due, due), why
    assert balance(scene.stake) == (0 if broken else PRIZE), "at stake again, or given"
    assert balance(AccountKind.ATTACKERS) == PRIZE - owed, "what is owed was lent by the half of the attackers"
    assert sum(each.cents for each in statements.debts()) == owed
    assert list(LedgerEntry.objects.order_by("pk").values())[: len(entries)] == entries, "added, and none is changed"
    assert LedgerEntry.objects.filter(corrects__isnull=False).count() == (0 if paid else back), why
    assert Payment.objects.count() == (1 if paid else 0), "and nothing is paid by itself"
    assert ledger.check_ledger_sums().wrong == ()


@pytest.mark.parametrize("paid", [False, True], ids=["computed", "paid"])
def test_the_pages_of_money_tell_of_it(
    paid: bool, scene: Scene, client: Client, monkeypatch: pytest.MonkeyPatch, rita: User, signed_in: Any
) -> None:
    money.released("2026-W47", "2026-W48", "2026-W49")
    monkeypatch.setattr("django.utils.timezone.now", lambda: DECIDED + DAY)
    if paid:
        paid_out(scene)
    name, rita = scene.stake.defense.name, signed_in(rita)
    assert "owes the pool" not in page(client, "/money/") and name not in page(rita, "/board/awards/")
    decide(scene, OVERRULE_REJECTED, DECIDED)
    assert ("owes the pool" in page(client, "/money/")) is paid
    assert name in page(rita, "/board/awards/"), "it is in the race again"


def page(client: Client, address: str) -> str:
    cache.clear()
    return main(client, address)


def test_a_rejected_picture_that_is_valid_after_all_wins_as_of_its_own_week(scene: Scene) -> None:
    """The earliest week that broke it has the prize (R35), also where that is found later."""
    decide(scene, OVERRULE_REJECTED, DECIDED)
    green = money.team("green")
    later, now = money.attack(green, days=8).image, RULED + 16 * DAY
    money.ruled(later, "bird", at=RULED + 7 * DAY)
    mistaken(scene.stake.defense, later, RULED + 7 * DAY)
    sweep(now)
    assert (balance(scene.red), balance(green)) == (0, PRIZE)
    decide(scene, OVERRULE_BIRD, now)
    assert (balance(scene.red), balance(green)) == (PRIZE, 0)
    assert LedgerEntry.objects.get(corrects__isnull=False, source__team=green).cents == PRIZE
    assert ledger.check_ledger_sums().wrong == ()
