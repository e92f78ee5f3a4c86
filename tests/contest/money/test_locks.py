"""The one order of locks (contest.stakes.ends), on real PostgreSQL: no deadlock reaches a caller, no payment comes
between the steps of a settlement, and a page that is read waits for nobody and delays nobody."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from random import Random
from threading import Event
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import Client

from common.errors import DomainError
from contest.awards.forfeits import award_forfeit, award_withhold
from contest.awards.services import award_give
from contest.awards.settling import prizes_settle
from contest.board import follows
from contest.board.deciding import overrule
from contest.breaks import breaks_derive
from contest.models import Account, Award, Case, Payment, Stake, Team
from contest.money.deposits import pool_deposit
from contest.money.ledger import check
from contest.money.payments import payment_ask, payment_pay
from contest.money.withholding import money_return, money_withhold
from contest.stakes.ends import stakes_end
from contest.stakes.services import stake_batch
from labeling.policy import Policy
from scoring.models import Defense
from tests import factories
from tests.at_once import refusals_at_once
from tests.contest.board import cast as board
from tests.contest.board.cast import LATER, OVERRULE_BICYCLE, OVERRULE_BIRD, OVERRULE_REJECTED, Scene
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, PRIZE, balance
from tests.factories import mandate

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Any], Client]
NOW = CLOSED + timedelta(120)
THREADS, SECONDS, LONG = 8, 4.0, 60.0


class Mixed:
    """What goes on at once, each as a request or a sweep does it. A refusal is an answer; anything else is not."""

    def __init__(self) -> None:
        factories.policy_version()
        self.olga, self.olaf = (factories.user(name, "organizers") for name in ("olga", "olaf"))
        self.rita = factories.user("rita", "review board")
        cast.deposit(10**9, self.olga)
        self.teams = [cast.team(name) for name in ("red", "blue")]
        makers = [cast.team(f"makers {number}") for number in range(3)]
        self.defenses = [cast.defense(f"net {number}", makers[number % 3]) for number in range(6)]
        for number, each in enumerate(self.defenses[:4]):
            cast.staked(each, by=makers[number % 3] if number % 2 else None)
        self.images = []
        for number in range(4):
            sent = cast.attack(self.teams[number % 2], days=1 + number)
            cast.broken(self.defenses[number % 3], sent)
            self.images.append(sent.image)

    def play(self, seed: int) -> list[str]:
        """Do one thing after the other for a while; return what nobody should see."""
        draw, until, wrong = Random(seed), time.monotonic() + SECONDS, list[str]()
        acts = [self.settle, self.settle, self.end, self.pay, self.withhold, self.deposit, self.stake, self.rule]
        acts += [self.award, self.preview]
        while time.monotonic() < until:
            act = draw.choice(acts)
            try:
                act(draw)
            except DomainError:
                pass
            except Exception as error:
                wrong.append(f"{act.__name__}: {type(error).__name__}: {error}")
        connections.close_all()
        return wrong

    def settle(self, draw: Random) -> None:
        prizes_settle(now=NOW)

    def end(self, draw: Random) -> None:
        breaks_derive(now=NOW)
        stakes_end(now=NOW)

    def pay(self, draw: Random) -> None:
        waiting = Payment.objects.filter(paid_at=None, cancelled_at=None).order_by("pk").first()
        if waiting is None:
            payment_ask(team=Team.objects.get(pk=draw.choice(self.teams).pk), by=self.olga, now=NOW)
        else:
            payment_pay(payment_id=waiting.pk, reference="ref", by=self.olaf, now=NOW)

    def withhold(self, draw: Random) -> None:
        of = draw.choice(list(Account.objects.filter(team__in=self.teams)) or list(Account.objects.all()))
        if draw.random() < 0.5:
            money_withhold(of=of, cents=1, reason="x", by=mandate("withhold", self.rita, NOW), now=NOW)
        else:
            money_return(of=of, reason="x", by=mandate("return", self.rita, NOW), now=NOW)

    def deposit(self, draw: Random) -> None:
        pool_deposit(cents=1_000, reason="A gift.", by=self.olga, now=NOW)

    def stake(self, draw: Random) -> None:
        chosen = draw.sample(self.defenses, 3)
        stake_batch(chosen, "Good.", "Good.", by=mandate("stake", self.rita, NOW), now=NOW)

    def rule(self, draw: Random) -> None:
        ballot = draw.choice([OVERRULE_BICYCLE, OVERRULE_BIRD, OVERRULE_REJECTED])
        overrule(draw.choice(self.images), ballot, board.WHY, now=NOW)

    def award(self, draw: Random) -> None:
        given = Award.objects.select_related("stake__defense__entry__team", "decision").first()
        if given is not None:
            award_withhold(award=given, reason="x", by=mandate("withhold", self.rita, NOW), now=NOW)
            award_forfeit(award=given, reason="x", by=mandate("forfeit", self.rita, NOW), now=NOW)
            return
        stake = draw.choice(list(Stake.objects.all()))
        by = mandate("award", self.rita, NOW)
        award_give(stake=stake, statement="Unbroken.", reason="All is met.", policy=Policy(), by=by, now=NOW)

    def preview(self, draw: Random) -> None:
        follows.overrule_follows(draw.choice(self.images), OVERRULE_REJECTED, NOW)


@pytest.mark.slow("eight threads")
def test_eight_threads_of_mixed_work_meet_no_deadlock() -> None:
    mixed = Mixed()
    with ThreadPoolExecutor(THREADS) as pool:
        wrong = [each for found in pool.map(mixed.play, range(THREADS)) for each in found]
    assert wrong == []
    breaks_derive(now=NOW), stakes_end(now=NOW), prizes_settle(now=NOW)
    assert prizes_settle(now=NOW) == 0 and check().wrong == ()


def done(act: Callable[[], Any]) -> Any:
    try:
        return act()
    finally:
        connections.close_all()


@pytest.fixture
def reads(signed_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Read the page that decides a case whose votes move money."""
    scene = Scene.make()
    cast.answered(scene.stake.defense, scene.image, 0, at=LATER)
    case = scene.opened()
    board.votes(case, scene.members[:2], OVERRULE_BICYCLE)
    client = signed_in(scene.members[0])
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    return lambda: done(lambda: client.get(f"/board/cases/{case.public_id}/decide/"))


def lock_all(**how: bool) -> None:
    for model in (Defense, Stake, Account, Case):
        list(model._default_manager.select_for_update(**how).order_by("pk"))


def test_the_decision_page_waits_for_no_lock(reads: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        lock_all()
        page = pool.submit(reads).result(LONG / 4)  # it would wait for the end of this transaction
    assert page.status_code == 200 and page.context["follows"]


def test_the_decision_page_delays_nobody(reads: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = Event(), Event()
    real = follows.Release.objects.filter

    def paused(*given: Any, **more: Any) -> Any:  # the last that it asks for, with all of the rest done
        inside.set()
        go_on.wait(LONG)
        return real(*given, **more)

    monkeypatch.setattr(follows.Release.objects, "filter", paused)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(reads)
        assert inside.wait(LONG)
        with transaction.atomic():
            lock_all(nowait=True)
        breaks_derive(now=LATER), stakes_end(now=LATER), prizes_settle(now=LATER)
        go_on.set()
        assert read.result(LONG).status_code == 200


def test_no_payment_comes_between_a_share_and_its_set_off() -> None:
    """Red owes what it was paid and wins again: a payment that is tried meanwhile waits, and finds nothing due."""
    factories.policy_version()
    olga, olaf = (factories.user(name, "organizers") for name in ("olga", "olaf"))
    cast.deposit(40 * PRIZE, olga)
    red, makers = cast.team("red"), cast.team("makers")
    first, second = (cast.staked(cast.defense(name, makers)) for name in ("first", "second"))
    undone = cast.attack(red)
    cast.broken(first.defense, undone)
    stakes_end(now=CLOSED), prizes_settle(now=CLOSED)
    asked = payment_ask(team=red, by=olga, now=CLOSED)
    payment_pay(payment_id=asked.pk, reference="ref", by=olaf, now=CLOSED)
    cast.overruled(undone.image)
    cast.broken(second.defense, cast.attack(red, days=2))
    stakes_end(now=CLOSED)
    again = Payment.objects.create(team=red, cents=PRIZE, asked_by=olga, asked_at=CLOSED)
    paying = partial(payment_pay, payment_id=again.pk, reference="ref 2", by=olaf, now=NOW)
    assert refusals_at_once(partial(prizes_settle, now=NOW), paying) == ["", "less_due"] and balance(red) == 0
    assert prizes_settle(now=NOW) == 0 and check().wrong == ()
