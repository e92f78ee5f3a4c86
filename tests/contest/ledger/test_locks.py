"""The one order of locks (contest.defenses.stake_ends), on real PostgreSQL: no deadlock reaches a caller, no payment
comes between the steps of a settlement, a page that is read waits for nobody and delays nobody, and an award and a
deposit or a batch do not wait for each other for ever (R34, R36).
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from random import Random
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections, transaction

from common.errors import DomainError
from contest.board import impact_preview
from contest.board.decisions import overrule
from contest.core.breaks import breaks_derive
from contest.core.enums import AccountKind, StakeEnd
from contest.core.models import Award, Case, Stake, Team
from contest.defenses.stake_ends import stake_end, stakes_end
from contest.defenses.staking import stake_batch
from contest.ledger import services as ledger
from contest.ledger.models import Account, LedgerEntry, Payment
from contest.payments.services import payment_pay, payment_request
from contest.prizes import awards, forfeits
from contest.prizes.sweeps import prizes_settle
from contest.teams.models import Association
from policy.numbers import Policy
from scoring.models import Defense
from tests import factories
from tests.at_once import refusals_at_once, until_waiting
from tests.contest.board import cast as board
from tests.contest.board.at_once import LONG, beside, codes, done
from tests.contest.board.cast import LATER, OVERRULE_BICYCLE, OVERRULE_BIRD, OVERRULE_REJECTED, Scene
from tests.contest.ledger import cast
from tests.contest.ledger.cast import BEFORE, CLOSED, PRIZE, SETTLED, balance
from tests.contest.prizes.conftest import HALF, makers, stake
from tests.contest.prizes.test_awards import NOW as AWARDED
from tests.contest.prizes.test_awards import all_met, give
from tests.refusals import refused

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]
NOW = CLOSED + timedelta(120)
THREADS, SECONDS = 8, 4.0


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
        sent = [cast.attack(self.teams[number % 2], days=1 + number) for number in range(4)]
        self.images = [cast.broken(self.defenses[number % 3], each).image for number, each in enumerate(sent)]

    def play(self, seed: int) -> list[str]:
        """Do one thing after the other for a while; return what nobody should see."""
        draw, until, wrong = Random(seed), time.monotonic() + SECONDS, list[str]()
        settle, end = partial(prizes_settle, now=NOW), lambda: (breaks_derive(now=NOW), stakes_end(now=NOW))
        acts: list[Callable[[], object]] = [settle, settle, end, partial(cast.deposit, 1_000, self.olga, NOW)]
        acts += [
            partial(act, draw) for act in (self.pay, self.withhold, self.stake, self.rule, self.award, self.preview)
        ]
        while time.monotonic() < until:
            act = draw.choice(acts)
            try:
                act()
            except DomainError:
                pass
            except Exception as error:
                wrong.append(f"{act}: {type(error).__name__}: {error}")
        connections.close_all()
        return wrong

    def pay(self, draw: Random) -> None:
        waiting = Payment.objects.filter(paid_at=None, cancelled_at=None).order_by("pk").first()
        if waiting is None:
            payment_request(team=Team.objects.get(pk=draw.choice(self.teams).pk), by=self.olga, now=NOW)
        else:
            payment_pay(payment_id=waiting.pk, reference="ref", by=self.olaf, now=NOW)

    def withhold(self, draw: Random) -> None:
        having = [each for each in self.teams if Account.objects.filter(team=each).exists()]
        if not having:
            return
        of = draw.choice(having)
        if draw.random() < 0.5:
            cast.withheld(of, 1, self.rita, now=NOW)
        else:
            cast.given_back(of, self.rita, now=NOW)

    def stake(self, draw: Random) -> None:
        stake_batch(
            draw.sample(self.defenses, 3), "Good.", "Good.", by=factories.mandate("stake", self.rita, NOW), now=NOW
        )

    def rule(self, draw: Random) -> None:
        ballot = draw.choice([OVERRULE_BICYCLE, OVERRULE_BIRD, OVERRULE_REJECTED])
        overrule(draw.choice(self.images), ballot, board.WHY, now=NOW)

    def award(self, draw: Random) -> None:
        given = Award.objects.select_related("stake__defense__entry__team", "decision").first()
        if given is not None:
            forfeits.award_withhold(award=given, reason="x", by=factories.mandate("withhold", self.rita, NOW), now=NOW)
            forfeits.award_forfeit(award=given, reason="x", by=factories.mandate("forfeit", self.rita, NOW), now=NOW)
            return
        stake, by = draw.choice(list(Stake.objects.all())), factories.mandate("award", self.rita, NOW)
        awards.award_give(stake=stake, statement="Unbroken.", reason="All is met.", policy=Policy(), by=by, now=NOW)

    def preview(self, draw: Random) -> None:
        impact_preview.overrule_impact(draw.choice(self.images), OVERRULE_REJECTED, NOW)


@pytest.mark.slow("eight threads")
def test_eight_threads_of_mixed_work_meet_no_deadlock() -> None:
    mixed = Mixed()
    with ThreadPoolExecutor(THREADS) as pool:
        wrong = [each for found in pool.map(mixed.play, range(THREADS)) for each in found]
    assert wrong == []
    breaks_derive(now=NOW), cast.swept(NOW)
    assert prizes_settle(now=NOW) == 0 and ledger.check_ledger_sums().wrong == ()


@pytest.fixture
def reads(signed_in: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
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
    assert page.status_code == 200 and page.context["impact"]


def test_the_decision_page_delays_nobody(reads: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = Event(), Event()
    real = impact_preview.Release.objects.filter

    def paused(*given: Any, **more: Any) -> Any:  # the last that it asks for, with all of the rest done
        inside.set()
        go_on.wait(LONG)
        return real(*given, **more)

    monkeypatch.setattr(impact_preview.Release.objects, "filter", paused)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(reads)
        assert inside.wait(LONG)
        with transaction.atomic():
            lock_all(nowait=True)
        breaks_derive(now=LATER), cast.swept(LATER)
        go_on.set()
        assert read.result(LONG).status_code == 200


def test_no_payment_comes_between_a_share_and_its_set_off() -> None:
    """Red owes what it was paid and wins again: a payment that is tried meanwhile waits, and finds nothing due."""
    olga, olaf = (factories.user(name, "organizers") for name in ("olga", "olaf"))
    cast.deposit(40 * PRIZE, olga)
    red, makers = cast.team("red"), cast.team("makers")
    first, second = (cast.staked(cast.defense(name, makers)) for name in ("first", "second"))
    undone = cast.attack(red)
    cast.broken(first.defense, undone)
    cast.swept(CLOSED)
    cast.paid(red, olga, olaf)
    cast.overruled(undone.image)
    cast.broken(second.defense, cast.attack(red, days=2))
    stakes_end(now=CLOSED)
    again = Payment.objects.create(team=red, cents=PRIZE, asked_by=olga, asked_at=CLOSED)
    paying = partial(payment_pay, payment_id=again.pk, reference="ref 2", by=olaf, now=NOW)
    assert refusals_at_once(partial(prizes_settle, now=NOW), paying) == ["", "less_due"] and balance(red) == 0
    assert prizes_settle(now=NOW) == 0 and ledger.check_ledger_sums().wrong == ()


__all__ = ["makers", "stake"]
A_WHILE = 1.0


def test_an_award_and_a_deposit_at_once(
    stake: Stake, makers: Team, rita: User, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_met(stake)
    award_has_its_half, deposit_has_the_attackers = Event(), Event()
    end, move = awards.stake_end, ledger.move

    def ends(*given: Any, **more: Any) -> Stake:
        award_has_its_half.set()
        deposit_has_the_attackers.wait(A_WHILE)
        return end(*given, **more)

    def moves(source: Account, target: Account, *given: Any, **more: Any) -> LedgerEntry:
        made = move(source, target, *given, **more)
        if target.kind == AccountKind.ATTACKERS:
            deposit_has_the_attackers.set()
        return made

    def deposit() -> None:
        award_has_its_half.wait(LONG)
        ledger.pool_deposit(cents=1_000, reason="A gift.", by=olga, now=AWARDED)

    monkeypatch.setattr(awards, "stake_end", ends)
    monkeypatch.setattr(ledger, "move", moves)
    with ThreadPoolExecutor(2) as pool:
        both = [beside(pool, act) for act in (lambda: give(stake, rita), deposit)]
        assert codes([each.result(2 * LONG) for each in both]) == ["", ""]
    assert (balance(makers), balance(AccountKind.DEFENDERS), ledger.check_ledger_sums().wrong) == (HALF, 500, ())


@pytest.fixture
def crossed(makers: Team) -> tuple[Stake, Stake]:
    """Two unbroken stakes of one batch, begun in the other order than their defenses came."""
    low, high = cast.defense("low", makers), cast.defense("high", cast.team("others"))
    both = cast.batch()
    first, second = cast.staked(high, of=both), cast.staked(low, of=both)
    return all_met(first), all_met(second)


def settling(stake: Stake, rita: User) -> Callable[[], Any]:
    """The award is given, and its money follows what is known of a team since."""
    decision = give(stake, rita)[0].decision
    Association.objects.create(team=Team.objects.get(name="others"), reason="x", since=BEFORE, declared_at=AWARDED)
    assert awards.award_change(decision).flows
    return lambda: prizes_settle(now=AWARDED)


@pytest.mark.parametrize("begun", [lambda stake, rita: partial(give, stake, rita), settling])
def test_an_award_of_two_beside_a_batch_of_the_same(
    begun: Callable[[Stake, User], Callable[[], Any]], crossed: tuple[Stake, Stake], rita: User
) -> None:
    first, second = crossed
    act = begun(first, rita)

    def batch() -> None:
        refused(
            "won",
            stake_batch,
            [second.defense, first.defense],
            "c",
            "r",
            by=factories.mandate("stake", rita, AWARDED),
            now=AWARDED,
        )

    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            Defense.objects.select_for_update(no_key=True).get(pk=first.defense_id)
            of_award = beside(pool, act)
            until_waiting(1)
            of_batch = beside(pool, batch)
            until_waiting(2)
        assert codes([each.result(LONG) for each in (of_award, of_batch)]) == ["", ""]
    assert (set(Stake.objects.values_list("end", flat=True)), ledger.check_ledger_sums().wrong) == ({"won"}, ())


@pytest.fixture
def batch_of_three(makers: Team) -> list[Stake]:
    """Three stakes of one batch that could be awarded; what broke the third was overruled, and no sweep came since."""
    both = cast.batch()
    stakes = [cast.staked(cast.defense(f"net {number}", makers), of=both) for number in range(3)]
    sent = cast.attack(cast.team("red"))
    cast.broken(stakes[2].defense, sent)
    stakes_end(now=SETTLED)
    cast.overruled(sent.image)
    return [all_met(each) for each in stakes]


MEANWHILE = [
    (
        lambda stakes: stakes_end(now=AWARDED),
        "others_share",
        "one more shares: without it the two would take its part of the prize",
    ),
    (
        lambda stakes: stake_end(stakes[1], StakeEnd.WITHDRAWN, now=AWARDED),
        "stake_over",
        "one fewer shares: it would win with a stake that is over",
    ),
]


@pytest.mark.parametrize(("change", "code", "why"), MEANWHILE, ids=[row[1] for row in MEANWHILE])
def test_an_award_whose_sharers_change_before_they_are_locked(
    change: Callable[[list[Stake]], object], code: str, why: str, batch_of_three: list[Stake], rita: User
) -> None:
    first = batch_of_three[0]
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Defense.objects.select_for_update(no_key=True).get(pk=first.defense_id)
            award = beside(pool, lambda: give(first, rita))
            until_waiting(1)  # it has read who shares, and waits for the first of them
            change(batch_of_three)
        assert award.result(LONG) == code, why
    assert not Award.objects.exists() and balance(AccountKind.DEFENDERS) == HALF
