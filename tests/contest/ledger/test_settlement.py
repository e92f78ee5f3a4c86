"""What is posted of prizes and when, what corrects it later, and what a decision changes of it (R22, R27, R35, R36)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet, Sum

from adjudication.counting import Ballot
from contest.board.impact_preview import overrule_impact
from contest.core.breaks import breaks_derive
from contest.core.enums import AccountKind, StakeEnd, VoteChoice
from contest.core.models import Attack, Stake, Team
from contest.ledger.dry_run import Ledger
from contest.ledger.models import LedgerEntry
from contest.ledger.services import check_ledger_sums, ledger_account, move
from contest.operations.tasks import settle_prizes
from contest.pages.board.case_words import impact_sentences
from contest.payments import statements
from contest.prizes import prize_facts, settlement
from contest.prizes.prize_facts import unpaid_own_breaks
from contest.prizes.sweeps import prizes_settle
from contest.teams.associations import association_mistaken
from contest.teams.models import Association
from labeling.models import Image
from tests import factories, tables
from tests.contest.board.doing import as_derived, by_doing
from tests.contest.ledger import cast
from tests.contest.ledger.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance

pytestmark = pytest.mark.django_db
HALF = 50_000


@pytest.fixture
def red(olga: User) -> Team:
    cast.deposit(2 * HALF, olga)
    return cast.team("red")


@pytest.fixture
def blue() -> Team:
    return cast.team("blue")


@pytest.fixture
def maker() -> Team:
    return cast.team("makers")


@pytest.fixture
def stake(red: Team, maker: Team) -> Stake:
    return cast.staked(cast.defense("net", maker))


@pytest.fixture(autouse=True)
def nothing_is_lost(db: None) -> object:
    yield
    assert check_ledger_sums().wrong == ()


def broke(stake: Stake, by: Team, days: float = 1, **more: object) -> Attack:
    sent = cast.attack(by, days=days, **more)
    cast.broken(stake.defense, sent)
    return sent


def unpaid(team: Team) -> Team:
    Association.objects.create(team=team, reason="Works here.", since=cast.BEFORE, declared_at=cast.BEFORE)
    return team


Teams = dict[str, Team]
Story = Callable[[Stake, Teams], object]
R, B = "red", "blue"


def same_pixels(stake: Stake, teams: Teams) -> None:
    first = broke(stake, teams[B], 1)
    cast.attack(teams[R], days=2, image=first.image, copy_of=first)


def first_taken_back(stake: Stake, teams: Teams) -> None:
    first = cast.attack(teams[B], days=1, withdrawn_at=MONDAY + timedelta(1.5))
    cast.broken(stake.defense, cast.attack(teams[R], days=2, image=first.image, copy_of=first))


@tables.cases(
    "story shares returned why",
    (lambda s, t: broke(s, t[R]), {R: PRIZE}, 0, "one team"),
    (lambda s, t: (broke(s, t[R], 2), broke(s, t[B], 1)), {R: 5000, B: 5001}, 0, "two teams the same week"),
    (lambda s, t: (broke(s, t[R], 1), broke(s, t[B], 4)), {R: 5001, B: 5000}, 0, "broken earlier the same week"),
    (lambda s, t: (broke(s, t[R], 1), broke(s, t[B], 6)), {R: PRIZE}, 0, "a week later is too late"),
    (same_pixels, {B: PRIZE}, 0, "same pixels: the first receipt has the credit"),
    (first_taken_back, {R: PRIZE}, 0, "an attack that was taken back earns nothing"),
    (lambda s, t: (broke(s, unpaid(t[R])), broke(s, t[B])), {B: PRIZE}, 0, "unpaid and paid the same week"),
    (lambda s, t: broke(s, unpaid(t[R])), {}, PRIZE, "only unpaid: to the attackers' half"),
    (lambda s, t: broke(s, t["makers"]), {}, PRIZE, "its own staked defense"),
    (lambda s, t: (broke(s, t["makers"]), broke(s, t[B])), {B: PRIZE}, 0, "its own, and another's"),
    (lambda s, t: (broke(s, t[R], -0.3), broke(s, t[B])), {R: 5001, B: 5000}, 0, "of its week, before it: shares"),
)
def test_who_gets_what_of_a_broken_stake(
    story: Story, shares: dict[str, int], returned: int, why: str, stake: Stake, red: Team, blue: Team, maker: Team
) -> None:
    story(stake, {R: red, B: blue, "makers": maker})
    assert cast.settled(stake) == 1
    assert {each.name: balance(each) for each in (red, blue, maker) if balance(each)} == shares, why
    assert (balance(AccountKind.ATTACKERS), balance(stake)) == (HALF - PRIZE + returned, 0)
    assert prizes_settle(now=SETTLED) == 0, "twice changes nothing"


def test_every_entry_names_the_rule_and_the_rows_it_follows_from(stake: Stake, red: Team) -> None:
    sent = broke(stake, red)
    cast.settled(stake)
    entry = LedgerEntry.objects.get(target__team=red)
    causes = {"stake": [stake.pk], "break": [sent.image.breaks.get().pk], "attack": [sent.pk]}
    assert (entry.rule, entry.made_at, entry.causes, "2026-W47" in entry.why) == ("R35", SETTLED, causes, True)


def test_the_team_that_attacked_its_own_defense_is_listed(stake: Stake, maker: Team) -> None:
    sent = broke(stake, maker)
    cast.ended(stake)
    (found,) = unpaid_own_breaks()
    assert (found.stake, found.team, found.attack) == (stake, maker, sent.public_id)


def test_shares_wait_for_the_end_of_the_stake_and_every_verdict_of_the_week(
    stake: Stake, red: Team, blue: Team
) -> None:
    broke(stake, red)
    assert prizes_settle(now=SETTLED) == 0 and balance(stake) == PRIZE, "it is in force"
    late = cast.attack(blue, days=3)
    assert cast.settled(stake) == 0 and balance(red) == 0
    cast.broken(stake.defense, late)
    assert (prizes_settle(now=SETTLED), balance(red), balance(blue)) == (1, 5001, 5000)


@tables.cases(
    "end payer to_team more why",
    (StakeEnd.VOID, "makers", PRIZE, 0, "void: back to its team"),
    (StakeEnd.VOID, None, 0, 0, "void: back to the half"),
    (StakeEnd.WITHDRAWN, "makers", PRIZE, 0, "taken back: to its team"),
    (StakeEnd.WITHDRAWN, None, 0, 0, "taken back: to the half"),
    (StakeEnd.WON, "makers", PRIZE, 0, "won: back to its team"),
    (StakeEnd.WON, None, 0, 0, "won: back to the half"),
    (StakeEnd.WON, R, 0, PRIZE, "won, and another team had paid: it stays with the attackers"),
)
def test_an_unbroken_stake_goes_back_to_who_paid_it(
    end: StakeEnd, payer: str | None, to_team: int, more: int, why: str, red: Team, maker: Team
) -> None:
    stake = cast.staked(cast.defense("own", maker), by=Team.objects.get(name=payer) if payer else None)
    cast.ended(stake, end)
    prizes_settle(now=SETTLED)
    assert (balance(maker), balance(red), balance(stake)) == (to_team, 0, 0), why
    assert balance(AccountKind.ATTACKERS) == HALF + more, why


# Two stakes on one defense in one week --------------------------------------------------------------------------------


RETURNED, AGAIN = MONDAY + timedelta(1), MONDAY + timedelta(2)  # of one week; the first stake began on MONDAY


@tables.cases(
    "pictures first second why",
    ([(R, 0.5)], {R: PRIZE}, {R: PRIZE}, "sent while the first was in force, of the week of the second: breaks both"),
    ([(R, -0.3)], {R: PRIZE}, {R: PRIZE}, "of the week of both, sent before either was recorded"),
    ([(R, 1)], {}, {R: PRIZE}, "sent at the instant of the return: not against the first"),
    ([(R, 1.5)], {}, {R: PRIZE}, "sent between the two: not against the first, of the week of the second"),
    ([(R, 3)], {}, {R: PRIZE}, "sent when the first was over"),
    ([(R, 6)], {}, {R: PRIZE}, "of a later week: not against the first"),
    ([(R, -3)], {}, {}, "of the week before: broken before anything was at stake"),
    ([(R, 0.5), (R, 3)], {R: PRIZE}, {R: PRIZE}, "two pictures of one team: one share of each prize"),
    ([(R, 0.5), (B, 3)], {R: PRIZE}, {R: 5001, B: 5000}, "who sent after the return shares the second prize only"),
    ([(R, 0.5), (B, 6)], {R: PRIZE}, {R: PRIZE}, "who sent a week later shares neither"),
    ([("makers", 0.5), (R, 3)], {}, {R: PRIZE}, "the makers' own picture: no share of either"),
)
def test_who_gets_what_of_two_stakes_of_one_week(
    pictures: list[tuple[str, float]],
    first: dict[str, int],
    second: dict[str, int],
    why: str,
    stake: Stake,
    red: Team,
    blue: Team,
    maker: Team,
) -> None:
    cast.ended(stake, StakeEnd.WITHDRAWN, at=RETURNED)
    again = cast.staked(stake.defense, at=AGAIN)
    teams = {R: red, B: blue, "makers": maker}
    sent = [broke(stake, teams[name], days) for name, days in pictures]
    cast.settled(again)
    assert (shares_of(stake), shares_of(again)) == (first, second), why
    assert (balance(stake), balance(again)) == (0, 0)
    assert prizes_settle(now=SETTLED) == 0, "twice changes nothing"
    against = {attack.pk for attack in sent if attack.received_at < RETURNED}
    named = {pk for entry in entries_of(stake) for pk in entry.causes["attack"]}
    assert named <= against, "an entry of the first stake names what was sent against it alone"


def shares_of(stake: Stake) -> dict[str, int]:
    return dict(entries_of(stake).exclude(target__team=None).values_list("target__team__name").annotate(Sum("cents")))


def entries_of(stake: Stake) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.filter(Q(source__stake=stake) | Q(target__stake=stake), rule="R35")


@pytest.fixture
def posted(stake: Stake, red: Team) -> Attack:
    """Team red broke the defense in the second week, and has the prize on its account.

    The defense was closed then: it was attacked from its staking on.
    """
    Stake.objects.filter(pk=stake.pk).update(clock_from=MONDAY + timedelta(20))
    sent = broke(stake, red, 6)
    cast.settled(stake)
    assert balance(red) == PRIZE, "before it was opened"
    return sent


def two_that_were_merged(stake: Stake, sent: Attack, blue: Team) -> None:
    green = cast.team("green")
    for team in (blue, green):
        broke(stake, team, 7)
    Team.objects.filter(pk=green.pk).update(merged_into=blue, merged_at=SETTLED)


@tables.cases(
    "change balances why",
    (lambda s, sent, blue: broke(s, blue, 7), (5001, 5000, 0, HALF - PRIZE), "a late break of the same week shares"),
    (lambda s, sent, blue: broke(s, blue, 1), (0, PRIZE, 0, HALF - PRIZE), "one of an earlier week outranks"),
    (two_that_were_merged, (5001, 5000, 0, HALF - PRIZE), "a team that was merged has one share with the other"),
    (lambda s, sent, blue: cast.overruled(sent.image), (0, 0, PRIZE, HALF - PRIZE), "overruled: back to the stake"),
    (lambda s, sent, blue: unpaid(sent.team), (0, 0, 0, HALF), "found to be unpaid: back to the half"),
)
def test_what_is_known_later_corrects_what_was_posted(
    change: Callable[[Stake, Attack, Team], object],
    balances: tuple[int, int, int, int],
    why: str,
    posted: Attack,
    stake: Stake,
    red: Team,
    blue: Team,
) -> None:
    change(stake, posted, blue)
    assert prizes_settle(now=CLOSED) == 1
    assert tuple(balance(each) for each in (red, blue, stake, AccountKind.ATTACKERS)) == balances, why
    back = LedgerEntry.objects.get(source__team=red)
    assert (back.corrects.target.team, back.cents) == (red, PRIZE - balances[0]), why
    assert "outranks" not in why or "2026-W47" in back.why


def test_teams_that_are_merged_after_the_posting_have_one_share(stake: Stake, red: Team, blue: Team) -> None:
    green = cast.team("green")
    for each in (red, blue, green):
        broke(stake, each)
    assert cast.settled(stake) == 1 and min(balance(each) for each in (red, blue, green)) == PRIZE // 3
    Team.objects.filter(pk=green.pk).update(merged_into=blue, merged_at=SETTLED)
    prizes_settle(now=CLOSED)
    assert (balance(red), balance(blue) + balance(green)) == (5001, 5000)


def test_what_was_paid_out_is_owed_and_set_off_against_what_the_team_earns(
    posted: Attack, stake: Stake, red: Team, blue: Team, maker: Team
) -> None:
    cast.paid_out(red, 8_000, now=SETTLED)
    broke(stake, blue, 1)
    assert prizes_settle(now=CLOSED) == 1
    assert (balance(red), balance(blue)) == (0, PRIZE), "the next ones get theirs"
    assert balance(AccountKind.ATTACKERS) == HALF - PRIZE - 8_000
    assert [(debt.team, debt.stake, debt.cents) for debt in statements.debts()] == [(red, stake, 8_000)]
    assert prizes_settle(now=CLOSED) == 0
    other = cast.staked(cast.caught_up(cast.defense("second", maker)))
    broke(other, red, 2)
    cast.ended(other)
    assert prizes_settle(now=CLOSED) == 2, "or a payment between two sweeps would pay out what the second takes back"
    assert (prizes_settle(now=CLOSED), balance(red), list(statements.debts())) == (0, PRIZE - 8_000, [])
    assert balance(AccountKind.ATTACKERS) == HALF - 2 * PRIZE


def test_the_money_of_a_void_stake_comes_back_for_a_break_in_its_time(red: Team, maker: Team, blue: Team) -> None:
    stake = cast.staked(cast.defense("own", maker), by=maker)
    early = broke(stake, blue, -7)
    cast.ended(stake, StakeEnd.VOID)
    prizes_settle(now=SETTLED)
    assert balance(maker) == PRIZE
    cast.overruled(early.image)
    broke(stake, red)
    Stake.objects.filter(pk=stake.pk).update(end=StakeEnd.BROKEN)
    prizes_settle(now=CLOSED)
    assert (balance(maker), balance(red)) == (0, PRIZE)


def test_the_sweep_asks_no_more_of_many_breaks_than_of_few(
    stake: Stake, red: Team, blue: Team, django_assert_max_num_queries: Any
) -> None:
    broke(stake, red), broke(stake, blue)
    cast.settled(stake)
    with django_assert_max_num_queries(60) as few:
        prizes_settle(now=SETTLED)
    for number in range(4):
        broke(stake, red, 1 + number / 10)
    with django_assert_max_num_queries(len(few)):
        prizes_settle(now=SETTLED)


def unsettled(monkeypatch: pytest.MonkeyPatch, *bad: Stake) -> None:
    """Settling these stakes fails when it is done."""
    real = settlement._post_difference

    def fails(row: prize_facts.StakeWithBreaks, book: Ledger, now: datetime) -> bool:
        done = real(row, book, now)
        if row.stake in bad:
            raise RuntimeError("a row that nobody expected")
        return done

    monkeypatch.setattr(settlement, "_post_difference", fails)


def test_a_stake_that_cannot_be_settled_holds_up_no_other_and_is_told_of(
    red: Team, maker: Team, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stakes = [cast.staked(cast.defense(f"net {number}", maker)) for number in range(3)]
    for stake in stakes:
        cast.ended(stake, StakeEnd.VOID)
        to = ledger_account(AccountKind.STAKE, stake=stake)
        move(ledger_account(AccountKind.ATTACKERS), to, 1, rule="R36", why="More.", causes={}, now=SETTLED)
    unsettled(monkeypatch, stakes[0])
    with pytest.raises(ExceptionGroup, match="1 stakes or awards were not settled") as told:
        settle_prizes.run()
    assert [str(error) for error in told.value.exceptions] == ["a row that nobody expected"]
    assert [balance(stake) for stake in stakes] == [PRIZE + 1, 0, 0]
    (line,) = [each.msg for each in caplog.records if each.msg["event"] == "stake_not_settled"]  # type: ignore[index]
    assert line["stake"] == stakes[0].pk  # type: ignore[index]


@pytest.mark.parametrize("late", [False, True], ids=["declared before the posting", "declared after it"])
def test_an_association_in_error_costs_a_team_nothing_in_the_end(
    late: bool, stake: Stake, red: Team, olga: User
) -> None:
    broke(stake, red)
    cast.ended(stake)
    if late:
        prizes_settle(now=SETTLED)
    unpaid(red)
    prizes_settle(now=SETTLED)
    assert (balance(red), balance(AccountKind.ATTACKERS)) == (0, HALF)
    association_mistaken(association_id=Association.objects.get().pk, reason="Another red.", by=olga, now=CLOSED)
    assert (prizes_settle(now=CLOSED), balance(red), balance(AccountKind.ATTACKERS)) == (1, PRIZE, HALF - PRIZE)
    assert prizes_settle(now=CLOSED) == 0, "twice changes nothing"


NOW = CLOSED + timedelta(30)
REJECTED = Ballot(VoteChoice.OVERRULE, "", ("uncertain",))
BIRD, BICYCLE = (Ballot(VoteChoice.OVERRULE, label) for label in ("bird", "bicycle"))


@pytest.fixture
def makers(olga: User) -> Team:
    cast.deposit(40 * PRIZE, olga)
    return cast.team("makers")


def test_a_ruling_that_asks_for_more_runs_posts_nothing_before_they_are_there(makers: Team) -> None:
    """The picture would break the defense, and one of its three rounds is still to come: the week is not settled."""
    stake, image = cast.staked(cast.defense("net", makers)), cast.attack(cast.team("red")).image
    cast.ruled(image, "")
    cast.answered(stake.defense, image, 0, at=SETTLED, rounds=2)
    for now in (SETTLED, NOW):
        derived = as_derived(overrule_impact(image, BIRD, now))
        assert derived == by_doing(image, BIRD, now)
        assert derived[2] == {stake.pk: ("", "broken")} and derived[3] == [], "broken, and nobody is paid yet"


def test_what_cannot_be_posted_is_said_before_the_decision(makers: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good, other = (cast.staked(cast.defense(name, makers)) for name in ("bad", "good", "other"))
    image = cast.attack(cast.team("red")).image
    cast.ruled(image, "")
    for stake, answer in ((bad, 0), (good, 0), (other, 1)):
        cast.answered(stake.defense, image, answer, at=SETTLED)
    cast.ended(other, StakeEnd.VOID)
    to = ledger_account(AccountKind.STAKE, stake=other)
    move(ledger_account(AccountKind.ATTACKERS), to, 1, rule="R36", why="More.", causes={}, now=SETTLED)
    assert overrule_impact(image, BIRD, NOW).unposted == ()
    unsettled(monkeypatch, bad, other)
    found = overrule_impact(image, BIRD, NOW)
    assert found.unposted == (bad.defense,), "and not the one that the picture does not concern"
    assert {each.causes["stake"][0] for each in found.entries} == {good.pk}
    said = [each.text for each in impact_sentences(found, [], currency="USD")]
    assert "Money for bad cannot be settled now" in " ".join(said)


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
        self.draw.choice([self._overrule, self._overrule, self._pay, self._merge, self._associate, self.sweep])()

    def _overrule(self) -> None:
        cast.overruled(self.draw.choice(self.sent).image, label=self.draw.choice(["", "bird", "bicycle"]))

    def _pay(self) -> None:
        cast.paid_out(self.draw.choice(self.teams))

    def _merge(self) -> None:
        Team.objects.filter(pk=self.teams[0].pk).update(merged_into=self.teams[1])

    def _associate(self) -> None:
        told = {"reason": "Works here.", "since": cast.BEFORE, "declared_at": CLOSED}
        Association.objects.get_or_create(team=self.draw.choice(self.teams), defaults=told)

    def sweep(self) -> None:
        breaks_derive(now=CLOSED)
        cast.swept(CLOSED)

    def look_ahead(self, image: Image) -> None:
        """What is derived is what doing it comes to, and looking writes nothing."""
        before = LedgerEntry.objects.count()
        for ballot in (REJECTED, BIRD, BICYCLE):
            assert as_derived(overrule_impact(image, ballot, NOW)) == by_doing(image, ballot, NOW), ballot
        assert LedgerEntry.objects.count() == before


MORE = [pytest.param(seed, seed % 7, marks=pytest.mark.long("thirty drawn contests")) for seed in range(4, 34)]


@pytest.mark.parametrize(("seed", "steps"), [(1, 2), (2, 2), (3, 2), *MORE])
def test_settled_once_is_settled(seed: int, steps: int) -> None:
    """Whatever happened, a second sweep posts nothing (R22, R35), and what a decision changes is known before."""
    world = World(Random(seed))
    world.sweep()
    for _ in range(steps):
        world.step()
    world.sweep()
    assert prizes_settle(now=CLOSED) == 0 and check_ledger_sums().wrong == ()
    world.look_ahead(world.draw.choice(world.sent).image)
    assert all(balance(stake) >= 0 for stake in Stake.objects.all())
