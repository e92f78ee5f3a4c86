"""One sweep brings all money to where the facts ask for it, and what a decision changes is known before (R22, R35)."""

from datetime import datetime, timedelta
from random import Random

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from adjudication.counting import Ballot
from contest.awards.settling import prizes_settle
from contest.board.case_words import following
from contest.board.follows import overrule_follows
from contest.breaks import breaks_derive
from contest.enums import AccountKind, StakeEnd, VoteChoice
from contest.models import Association, Attack, LedgerEntry, Stake, Team
from contest.money import settlement
from contest.money.book import Book
from contest.money.facts import Found
from contest.money.ledger import account, check, move
from contest.stakes.ends import stakes_end
from labeling.models import Image
from tests import factories
from tests.contest.board.doing import as_derived, by_doing
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance

pytestmark = pytest.mark.django_db
NOW = CLOSED + timedelta(30)
REJECTED = Ballot(VoteChoice.OVERRULE, "", ("uncertain",))
BIRD, BICYCLE = (Ballot(VoteChoice.OVERRULE, label) for label in ("bird", "bicycle"))


def paid_out(team: Team) -> None:
    if cents := balance(team):
        own, outside = account(AccountKind.TEAM, team=team), account(AccountKind.OUTSIDE)
        move(own, outside, cents, rule="R34", why="Paid.", causes={}, now=CLOSED)


@pytest.fixture
def makers(olga: User) -> Team:
    factories.policy_version()
    cast.deposit(40 * PRIZE, olga)
    return cast.team("makers")


def test_a_ruling_that_asks_for_more_runs_posts_nothing_before_they_are_there(makers: Team) -> None:
    """The picture would break the defense, and one of its three rounds is still to come: the week is not settled."""
    stake = cast.staked(cast.defense("net", makers))
    image = cast.attack(cast.team("red")).image
    cast.ruled(image, "")
    cast.answered(stake.defense, image, 0, at=SETTLED, rounds=2)
    for now in (SETTLED, NOW):
        derived = as_derived(overrule_follows(image, BIRD, now))
        assert derived == by_doing(image, BIRD, now)
        assert derived[2] == {stake.pk: ("", "broken")} and derived[3] == [], "broken, and nobody is paid yet"


def test_what_cannot_be_posted_is_said_before_the_decision(makers: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good, other = (cast.staked(cast.defense(name, makers)) for name in ("bad", "good", "other"))
    image = cast.attack(cast.team("red")).image
    cast.ruled(image, "")
    for stake, answer in ((bad, 0), (good, 0), (other, 1)):
        cast.answered(stake.defense, image, answer, at=SETTLED)
    cast.ended(other, StakeEnd.VOID)
    move(account(AccountKind.ATTACKERS), account(AccountKind.STAKE, stake=other), 1, rule="R36", why="More.", causes={},
         now=SETTLED)  # fmt: skip
    assert overrule_follows(image, BIRD, NOW).unposted == ()
    real = settlement._settled

    def fails(row: Found, book: Book, now: datetime) -> bool:
        if row.stake in (bad, other):
            raise RuntimeError("a row that nobody expected")
        return real(row, book, now)

    monkeypatch.setattr(settlement, "_settled", fails)
    found = overrule_follows(image, BIRD, NOW)
    assert found.unposted == (bad.defense,), "and not the one that the picture does not concern"
    assert {each.causes["stake"][0] for each in found.entries} == {good.pk}
    said = [each.words for each in following(found, [], currency="USD")]
    assert [each for each in said if each.startswith("Money for bad cannot be settled now")]


class World:
    """A contest with money of which the facts are drawn: stakes, breaks, merged and unpaid teams, rulings that were
    overruled, and what was paid out meanwhile."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        factories.policy_version()
        cast.deposit(40 * PRIZE, factories.user(f"o{User.objects.count()}", "organizers"), MONDAY)
        self.teams = [cast.team(name) for name in ("red", "blue", "green")]
        makers = cast.team("makers")
        self.stakes = [
            cast.staked(cast.defense(f"net {number}", makers), by=draw.choice([None, makers, self.teams[0]]))
            for number in range(3)
        ]
        self.sent = [self._attack() for _ in range(draw.randint(2, 4))]

    def _attack(self) -> Attack:
        sent = cast.attack(self.draw.choice(self.teams), days=self.draw.choice([-7, -1, 0.1, 1, 2, 8]))
        ruling = cast.ruled(sent.image, self.draw.choice(["bird", "bird", ""]))
        for stake in self.stakes:
            if self.draw.random() < 0.85:  # the others never ran on it
                cast.answered(stake.defense, sent.image, self.draw.choice([0, 0, 1, 2]), at=ruling.decided_at)
        return sent

    def step(self) -> None:
        """Let something happen."""
        self.draw.choice([self._overrule, self._overrule, self._pay, self._merge, self._associate, self._sweep])()

    def _overrule(self) -> None:
        image = self.draw.choice(self.sent).image
        cast.overruled(image, label=self.draw.choice(["", "bird", "bicycle"]))
        if self.draw.random() < 0.5:
            self._sweep()

    def _pay(self) -> None:
        paid_out(self.draw.choice(self.teams))

    def _merge(self) -> None:
        red, blue, _ = self.teams
        Team.objects.filter(pk=red.pk).update(merged_into=blue)

    def _associate(self) -> None:
        team = self.draw.choice(self.teams)
        Association.objects.get_or_create(
            team=team, defaults={"reason": "Works here.", "since": cast.BEFORE, "declared_at": CLOSED}
        )

    def _sweep(self) -> None:
        breaks_derive(now=CLOSED)
        stakes_end(now=CLOSED)
        prizes_settle(now=CLOSED)

    def look_ahead(self, image: Image) -> None:
        """What is derived is what doing it comes to, and looking writes nothing."""
        before = LedgerEntry.objects.count()
        for ballot in (REJECTED, BIRD, BICYCLE):
            assert as_derived(overrule_follows(image, ballot, NOW)) == by_doing(image, ballot, NOW), ballot
        assert LedgerEntry.objects.count() == before


def assert_settled_once(draw: Random, steps: int) -> None:
    """Settled once is settled, whatever happened (R22, R35), and what a decision changes is known before."""
    world = World(draw)
    world._sweep()
    for _ in range(steps):
        world.step()
    world._sweep()
    assert prizes_settle(now=CLOSED) == 0, "the second sweep posts nothing"
    world.look_ahead(draw.choice(world.sent).image)
    assert check().wrong == ()
    assert all(balance(stake) >= 0 for stake in Stake.objects.all())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_settled_once_is_settled(seed: int) -> None:
    assert_settled_once(Random(seed), steps=2)


@pytest.mark.long("thirty drawn contests, each settled and looked ahead into several times")
class AnyFacts(TestCase):
    """Over drawn facts."""

    @settings(max_examples=30)
    @given(st.randoms(use_true_random=False), st.integers(0, 6))
    def test_settled_once_is_settled_over_drawn_facts(self, draw: Random, steps: int) -> None:
        assert_settled_once(draw, steps)
