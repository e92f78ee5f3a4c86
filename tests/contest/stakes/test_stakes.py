"""Staking by the board and by paying teams, what ends a stake, what brings it back, and its clock (R22, R32-R37)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from common.errors import Conflict, DomainError, InvalidInput, NotAllowed
from contest.awards.settling import prizes_settle
from contest.board.moves import answer_move, stakes_move
from contest.breaks import breaks_record
from contest.enums import AccountKind, DecisionKind, DefenseStanding, StakeEnd, StakeKind
from contest.models import Attack, BoardDecision, Break, Entry, LedgerEntry, Stake, StakeBatch
from contest.money.ledger import account, move
from contest.stakes import ends, entries, selectors, services, shown
from labeling.enums import Label
from labeling.models import PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions
from scoring.enums import Outcome
from scoring.models import Defense
from tests import factories, tables
from tests.contest.money.cast import balance
from tests.contest.stakes import cast
from tests.refusals import refused
from tests.scoring.cast import ruled

pytestmark = pytest.mark.django_db
INSTANT = timedelta(microseconds=1)
DAY = timedelta(days=1)
PRIZE = Policy().attacker_prize_cents
# Staked on a Wednesday; its week began on Saturday.
STAKED = factories.NOW
WEEK_BEGAN = datetime(2026, 11, 14, tzinfo=UTC)
UNTIL = STAKED + 90 * DAY
ATTACKERS = AccountKind.ATTACKERS


@pytest.fixture
def defense(db: None) -> Defense:
    """A published open defense of team blue, and money in the pool."""
    made = cast.published(cast.team(), "steadfast", now=STAKED - DAY)
    cast.funded()
    return made


@pytest.fixture
def at_stake(defense: Defense) -> Stake:
    cast.staked(defense, now=STAKED)
    return cast.stake(defense)


def end_of(stake: Stake) -> tuple[str, datetime | None]:
    stake.refresh_from_db()
    return stake.end, stake.ended_at


def next_policy(**numbers: Any) -> None:
    """Other numbers, just after STAKED."""
    told = {"numbers": replace(Policy(), **numbers).to_json(), "in_force_from": STAKED + INSTANT, "reason": "other"}
    PolicyVersion.objects.create(version=2, **told)
    forget_versions()


@pytest.fixture
def asked(defense: Defense) -> Stake:
    """A stake for which the captain asked, and nobody paid yet."""
    return services.stake_ask(defense, by=cast.captain(defense.entry.team), now=STAKED)


# By the board


def test_a_batch_is_one_recorded_decision(defense: Defense) -> None:
    other = cast.published(cast.team("red"), "other", now=STAKED - DAY)
    cast.overruled(cast.broken(other, STAKED - DAY, found=STAKED), at=STAKED)  # in nobody's way
    before, by = balance(ATTACKERS), factories.mandate("stake", cast.board(), STAKED)
    batch = services.stake_batch([other, defense], " by age ", "ready", by=by, now=STAKED)
    decision = BoardDecision.objects.get()
    assert (batch.criteria, batch.staked_at, batch.decision) == ("by age", STAKED, decision)
    assert (decision.kind, decision.reason, decision.decided_by) == (DecisionKind.STAKE, "ready", cast.board())
    assert (decision.subject, decision.details) == ({"defense": sorted([defense.pk, other.pk])}, {"criteria": "by age"})
    for stake in batch.stakes.all():
        assert (stake.kind, stake.cents, stake.paid_by) == (StakeKind.BOARD, PRIZE, None)
        assert {stake.asked_at, stake.staked_at, stake.clock_from} == {STAKED}, "now, for all of them"
        assert (balance(stake), selectors.unbroken_until(stake)) == (PRIZE, UNTIL)
    assert balance(ATTACKERS) == before - 2 * PRIZE
    told = {(entry.decision, *entry.causes["stake"]) for entry in LedgerEntry.objects.filter(rule="R32")}
    assert told == {(decision, stake.pk) for stake in batch.stakes.all()}
    assert list(selectors.staked(STAKED)) == [other, defense] and selectors.stakes_in_force().count() == 2


def half_too_small(d: Defense) -> None:
    half, told = account(ATTACKERS), {"rule": "R34", "why": "Gone.", "causes": {}, "now": STAKED}
    move(half, account(AccountKind.POOL), half.balance_cents - 2 * PRIZE + 1, **told)


@tables.cases(
    "change code why",
    (lambda d: Defense.objects.filter(pk=d.pk).update(published_at=None), "not_published", "not published"),
    (lambda d: entries.entry_withdraw(d.entry, by=cast.captain(d.entry.team), now=STAKED), "withdrawn", "taken back"),
    (lambda d: cast.staked(d, now=STAKED), "staked", "one stake at a time for a defense"),
    (lambda d: services.stake_ask(d, by=cast.captain(d.entry.team), now=STAKED), "staked", "its team asked to pay"),
    (lambda d: cast.broken(d, STAKED - 30 * DAY, found=STAKED), "broken", "broken by an old picture"),
    (lambda d: cast.broken(d, STAKED, found=STAKED), "broken", "broken by a new picture"),
    (lambda d: Entry.objects.filter(defense=d).delete(), "no_team", "nobody could win with it"),
    (half_too_small, "not_enough", "the half has one cent too few for both"),
)
def test_what_the_board_cannot_stake(change: Any, code: str, why: str, defense: Defense) -> None:
    change(defense)
    other = cast.published(cast.team("red"), "other", now=STAKED - DAY)
    batches, held, now = StakeBatch.objects.count(), balance(ATTACKERS), STAKED + DAY
    by = factories.mandate("stake", cast.board(), now)
    assert refused(code, services.stake_batch, [other, defense], "c", "r", by=by, now=now), why
    assert (StakeBatch.objects.count(), balance(ATTACKERS)) == (batches, held), "all of a batch or none"
    assert selectors.stake_of(other) is None and other in selectors.stakeable()
    assert (defense in selectors.stakeable()) is (code == "not_enough"), "the page does not offer it either"


def test_a_batch_needs_words_and_only_the_board_stakes_it(defense: Defense) -> None:
    by = factories.mandate("stake", cast.board(), STAKED)
    for wrong, value in (("criteria", " "), ("reason", "\x00"), ("defenses", [])):
        asked = {"defenses": [defense], "criteria": "c", "reason": "r"} | {wrong: value}
        assert refused("invalid", services.stake_batch, **asked, by=by, now=STAKED).field == wrong
    for who in (cast.organizer(), cast.captain(defense.entry.team), cast.person("stan")):
        refused("not_on_board", stakes_move, [defense], "c", "It is the first one here.", by=who, now=STAKED)
    assert not Stake.objects.exists() and not BoardDecision.objects.exists()


# By a team that pays


def test_a_team_stakes_its_own_defense_when_its_payment_is_recorded(asked: Stake, defense: Defense) -> None:
    assert (asked.kind, asked.paid_by, asked.cents) == (StakeKind.TEAM, defense.entry.team, PRIZE)
    assert list(selectors.stakes_asked()) == [asked] and not selectors.staked(STAKED).exists()
    next_policy(attacker_prize_cents=7)
    later, held = STAKED + 3 * DAY, balance(ATTACKERS)
    stake = services.stake_receive(asked, " wire 7 ", by=cast.organizer(), now=later)
    assert (stake.staked_at, stake.clock_from, stake.receipt, stake.received_by) == (
        *(later, later, "wire 7"),
        cast.organizer(),
    )
    assert selectors.unbroken_until(stake) == later + 90 * DAY, "the clock begins with the payment"
    assert (balance(stake), balance(ATTACKERS)) == (PRIZE, held), "as asked for, and from outside"
    assert list(selectors.staked(later)) == [defense]


@tables.cases(
    "change code why",
    (lambda s: services.stake_receive(s, "x", by=cast.organizer(), now=STAKED), "received_before", "recorded twice"),
    (lambda s: cast.broken(s.defense, STAKED, found=STAKED), "broken", "broken while it waited"),
    (lambda s: services.stake_cancel(s, by=cast.organizer(), now=STAKED), "stake_over", "the wish was dropped"),
    (lambda s: entries.entry_withdraw(s.defense.entry, by=cast.captain(s.paid_by), now=STAKED), "stake_over",
     "taken back"),
)  # fmt: skip
def test_a_payment_that_cannot_be_recorded(change: Any, code: str, why: str, asked: Stake) -> None:
    change(asked)
    before = LedgerEntry.objects.count()
    assert refused(code, services.stake_receive, asked, "again", by=cast.organizer(), now=STAKED + DAY), why
    assert LedgerEntry.objects.count() == before


def test_who_asks_who_records_a_payment_and_that_it_says_which(asked: Stake) -> None:
    team, red = asked.defense.entry.team, cast.team("red")
    for receipt in ("", " \x00", "x" * 201, "a\nb"):
        told = {"by": cast.organizer(), "now": STAKED}
        assert refused("invalid", services.stake_receive, asked, receipt, **told).field == "receipt"
    for who in (cast.captain(team), cast.board(), cast.person("stan")):
        refused("not_an_organizer", services.stake_receive, asked, "x", by=who, now=STAKED)
    refused("not_captain", services.stake_ask, asked.defense, by=cast.member(team), now=STAKED)
    refused("not_yours", services.stake_ask, asked.defense, by=cast.captain(red), now=STAKED)


def test_a_wish_is_over_with_a_break_and_nothing_moved(asked: Stake) -> None:
    cast.broken(asked.defense, STAKED, found=STAKED + DAY)
    assert ends.stakes_end(now=STAKED + DAY) == 1
    assert (end_of(asked), asked.staked_at) == ((StakeEnd.VOID, STAKED + DAY), None)
    assert not LedgerEntry.objects.filter(rule="R32").exists() and ends.stakes_end(now=STAKED + 2 * DAY) == 0


@pytest.mark.parametrize("who", ["captain", "member", "organizer"])
def test_who_may_drop_a_wish(who: str, asked: Stake, defense: Defense) -> None:
    by = {"captain": cast.captain, "member": cast.member, "organizer": lambda team: cast.organizer()}[who]
    refused("not_yours", services.stake_cancel, asked, by=cast.captain(cast.team("red")), now=STAKED)
    services.stake_cancel(asked, by=by(defense.entry.team), now=STAKED)
    assert selectors.open_stake_of(defense) is None and defense in selectors.stakeable()


# What ends a stake


@tables.cases(
    "sent end why",
    (WEEK_BEGAN - INSTANT, StakeEnd.VOID, "of the week before: it had been broken before it was at stake"),
    (WEEK_BEGAN - 40 * DAY, StakeEnd.VOID, "of long before, found by a late ruling"),
    (WEEK_BEGAN, StakeEnd.BROKEN, "of the first moment of the week in which it was staked"),
    (STAKED - INSTANT, StakeEnd.BROKEN, "sent just before, in the same week: the week is what counts"),
    (STAKED + INSTANT, StakeEnd.BROKEN, "sent just after"),
    (UNTIL - INSTANT, StakeEnd.BROKEN, "sent in the last moment of its time"),
    (UNTIL, None, "sent when its time was over"),
)
def test_a_break_ends_the_stake(sent: datetime, end: StakeEnd | None, why: str, at_stake: Stake) -> None:
    found, other = UNTIL + DAY, cast.published(cast.team("red"), now=STAKED)
    cast.broken(other, STAKED + DAY, found=STAKED + 9 * DAY)
    assert ends.stakes_end(now=found) == 0, "what breaks another defense ends nothing"
    cast.broken(at_stake.defense, sent, found=found, by=other.entry.team)
    assert ends.stakes_end(now=found) == (end is not None)
    assert ends.stakes_end(now=found + DAY) == 0, "running it twice changes nothing"
    assert end_of(at_stake) == ((end, found) if end else ("", None)), why
    untold = selectors.standings([at_stake.defense], breaks=Break.objects.none(), now=factories.NOW)
    assert (untold[at_stake.defense_id] is DefenseStanding.BROKEN) is bool(end), "known before the release of the week"


def test_a_picture_of_the_organizers_ends_no_stake_and_one_never_to_be_labeled_counts_from_its_attack(
    at_stake: Stake,
) -> None:
    """Only attacks break (R29)."""
    image = cast.picture(STAKED + DAY)
    cast.break_of(at_stake.defense, image, ruled(image), STAKED + 9 * DAY)
    assert ends.stakes_end(now=STAKED + 9 * DAY) == 0
    image = cast.picture(WEEK_BEGAN - 100 * DAY)
    type(image).objects.filter(pk=image.pk).update(label_from=None)
    Attack.objects.create(team=cast.team("red"), image=image, received_at=STAKED + DAY, week="2026-W47")
    cast.break_of(at_stake.defense, image, ruled(image), STAKED + 9 * DAY)
    ends.stakes_end(now=STAKED + 9 * DAY)
    assert end_of(at_stake) == (StakeEnd.BROKEN, STAKED + 9 * DAY)


def test_the_first_break_found_that_holds_is_when_it_ended(at_stake: Stake) -> None:
    breaks = [cast.broken(at_stake.defense, STAKED + DAY, found=STAKED + days * DAY) for days in (12, 9, 10)]
    ends.stakes_end(now=STAKED + 12 * DAY)
    assert end_of(at_stake) == (StakeEnd.BROKEN, STAKED + 9 * DAY)
    cast.overruled(breaks[1], at=STAKED + 13 * DAY)
    assert (ends.stakes_end(now=STAKED + 13 * DAY), end_of(at_stake)) == (1, (StakeEnd.BROKEN, STAKED + 10 * DAY))


def test_a_late_break_of_an_earlier_week_changes_how_it_ended(at_stake: Stake) -> None:
    """By an appeal: the earlier week outranks the one that ended it (R35)."""
    cast.broken(at_stake.defense, STAKED + DAY, found=STAKED + 9 * DAY)
    ends.stakes_end(now=STAKED + 9 * DAY)
    late = cast.broken(at_stake.defense, WEEK_BEGAN - DAY, found=STAKED + 20 * DAY)
    assert (ends.stakes_end(now=STAKED + 20 * DAY), end_of(at_stake)) == (1, (StakeEnd.VOID, STAKED + 20 * DAY))
    cast.overruled(late, at=STAKED + 21 * DAY)
    assert (ends.stakes_end(now=STAKED + 21 * DAY), end_of(at_stake)) == (1, (StakeEnd.BROKEN, STAKED + 9 * DAY))


@pytest.mark.parametrize("end", [StakeEnd.WON, StakeEnd.OVERTAKEN, StakeEnd.WITHDRAWN])
def test_an_end_that_people_decided_stays(end: StakeEnd, at_stake: Stake) -> None:
    ends.stake_end(at_stake, end, now=UNTIL)
    cast.broken(at_stake.defense, STAKED + DAY, found=UNTIL + DAY)
    assert (ends.stakes_end(now=UNTIL + DAY), end_of(at_stake)) == (0, (end, UNTIL))
    refused("stake_over", ends.stake_end, at_stake, StakeEnd.WON, now=UNTIL)


# What brings it back


@pytest.mark.parametrize("sent", [STAKED + DAY, WEEK_BEGAN - DAY], ids=["broken", "void"])
def test_a_stake_comes_back_when_the_ruling_is_overruled(sent: datetime, at_stake: Stake) -> None:
    found = STAKED + 9 * DAY
    proof = cast.broken(at_stake.defense, sent, found=found, by=cast.team("red"))
    ends.stakes_end(now=found)
    assert not selectors.staked(found).exists()
    prizes_settle(now=found)
    cast.overruled(proof, at=found + DAY)
    assert ends.stakes_end(now=found + DAY) == 1
    assert (end_of(at_stake), at_stake.clock_from) == (("", None), STAKED), "its clock is what it was"
    assert list(selectors.staked(found + DAY)) == [at_stake.defense]
    assert selectors.standing_of(at_stake.defense, now=factories.NOW) is DefenseStanding.STAKED
    prizes_settle(now=found + DAY)
    assert balance(at_stake) == PRIZE, "and the money is back on it"
    assert selectors.breaks_of_stake(at_stake) == []


def test_a_ruling_made_again_with_the_same_outcome_changes_nothing(at_stake: Stake) -> None:
    """More taskers who agree: the break holds on under the newer ruling, and no stake comes back in between."""
    found = STAKED + 9 * DAY
    proof = cast.broken(at_stake.defense, STAKED + DAY, found=found)
    ends.stakes_end(now=found)
    again = cast.overruled(proof, at=found + DAY, verdict="valid")
    assert ends.stakes_end(now=found + DAY) == 0
    assert breaks_record(now=found + 2 * DAY) == 1, "the break is recorded under the newest ruling too"
    assert Break.objects.get(ruling=again).prediction == proof.prediction
    assert (breaks_record(now=found + 3 * DAY), ends.stakes_end(now=found + 3 * DAY)) == (0, 0)


def test_a_class_that_changed_makes_other_answers_mistakes(at_stake: Stake) -> None:
    """Overruled from bird to bicycle: who said bicycle is right now, who said bird errs (R22)."""
    image, found = cast.picture(STAKED + DAY, cast.team("red")), STAKED + 9 * DAY
    ruled(image, label=Label.BIRD)
    cast.answered(at_stake.defense, image, found, answer=Outcome.BIRD)
    assert (breaks_record(now=found), ends.stakes_end(now=found)) == (0, 0)
    ruled(image, label=Label.BICYCLE, number=2)
    assert (breaks_record(now=found + DAY), ends.stakes_end(now=found + DAY)) == (1, 1)


def test_an_ended_stake_comes_back_before_another_can_begin(at_stake: Stake) -> None:
    found = STAKED + 9 * DAY
    proof = cast.broken(at_stake.defense, STAKED + DAY, found=found)
    ends.stakes_end(now=found)
    cast.overruled(proof, at=found)
    assert at_stake.defense not in selectors.stakeable(), "the board's page does not offer it"
    for door in (
        lambda: services.batch_check([at_stake.defense], now=found + DAY),  # what the page of a motion says
        lambda: cast.staked(at_stake.defense, now=found + DAY),
        lambda: cast.self_staked(at_stake.defense, found + DAY),
    ):
        refused("staked", door)
    ends.stakes_end(now=found + DAY)
    assert [each.end for each in Stake.objects.filter(defense=at_stake.defense)] == [""]


# Closed source


@pytest.fixture
def closed(db: None) -> Defense:
    """A defense of closed source at stake."""
    made = cast.published(cast.team(), now=STAKED - DAY, closed=True)
    cast.funded()
    cast.staked(made, now=STAKED)
    return made


def test_a_closed_defense_has_no_clock_and_the_source_handed_in_later_starts_a_new_90_days(
    closed: Defense, tmp_path: Path
) -> None:
    stake, late = cast.stake(closed), STAKED + 400 * DAY
    assert (selectors.unbroken_until(stake), selectors.is_due(stake, late), shown.clock_of(stake, late)) == (
        *(None, False),
        None,
    )
    assert list(selectors.staked(late)) == [closed], "it can be attacked for as long as it is closed"
    opened = STAKED + 80 * DAY
    entries.source_open(closed.entry, cast.zipped(tmp_path / "s.zip"), by=cast.captain(closed.entry.team), now=opened)
    stake = cast.stake(Defense.objects.get(pk=closed.pk))
    assert (stake.staked_at, stake.clock_from, selectors.unbroken_until(stake)) == (STAKED, opened, opened + 90 * DAY)
    cast.broken(closed, WEEK_BEGAN, found=opened)
    assert selectors.outcome_of(stake).end is StakeEnd.BROKEN, "what came while it was closed still breaks it"


def test_opened_while_its_break_was_wrongly_held_it_comes_back_with_the_new_clock(
    closed: Defense, tmp_path: Path
) -> None:
    proof = cast.broken(closed, STAKED + DAY, found=STAKED + 9 * DAY)
    ends.stakes_end(now=STAKED + 9 * DAY)
    opened = STAKED + 10 * DAY
    entries.source_open(closed.entry, cast.zipped(tmp_path / "s"), by=cast.captain(closed.entry.team), now=opened)
    cast.overruled(proof, at=opened)
    ends.stakes_end(now=opened + DAY)
    assert (cast.stake(closed).clock_from, cast.stake(closed).ended_at) == (opened, None)


# Taking back what is at stake


def returned(stake: Stake, now: datetime, *, granted: bool) -> Stake:
    told = {"granted": granted, "reason": "fair", "now": now}
    return services.return_decide(stake, **told, by=factories.mandate("return", cast.board(), now))


def test_the_board_refuses_and_later_returns_a_defense_that_its_team_asks_for(at_stake: Stake) -> None:
    captain, held = cast.captain(at_stake.defense.entry.team), balance(ATTACKERS)
    services.return_ask(at_stake, "we found a mistake of ours", by=captain, now=STAKED)
    assert list(selectors.staked(STAKED + DAY)) == [at_stake.defense], "until the board answers it stays at stake"
    returned(at_stake, STAKED + DAY, granted=False)
    assert (end_of(at_stake), at_stake.return_asked_at) == (("", None), None)
    assert BoardDecision.objects.get(kind=DecisionKind.RETURN).details == {"granted": False}
    services.return_ask(at_stake, "again", by=captain, now=STAKED + DAY)
    done = returned(at_stake, STAKED + 2 * DAY, granted=True)
    decision = BoardDecision.objects.filter(kind=DecisionKind.RETURN).order_by("-pk")[0]
    assert (done.end, done.ended_at) == (StakeEnd.WITHDRAWN, STAKED + 2 * DAY)
    subject = {"stake": [done.pk], "defense": [done.defense_id]}
    assert (decision.reason, decision.details, decision.subject) == ("fair", {"granted": True}, subject)
    assert (balance(done), balance(ATTACKERS)) == (0, held + PRIZE)
    standing = selectors.standing_of(Defense.objects.get(pk=done.defense_id), now=factories.NOW)
    assert standing is DefenseStanding.PUBLISHED, "what was sent in its time is run still"


def test_a_self_staker_that_is_returned_has_its_money_on_its_account(defense: Defense) -> None:
    stake = cast.self_staked(defense, STAKED)
    services.return_ask(stake, "r", by=cast.captain(defense.entry.team), now=STAKED)
    returned(stake, STAKED, granted=True)
    assert balance(defense.entry.team) == PRIZE


@tables.cases(
    "do error why",
    (lambda s: services.return_ask(s, " ", by=cast.captain(s.defense.entry.team), now=STAKED), InvalidInput, "why"),
    (lambda s: services.return_ask(s, "r", by=cast.member(s.defense.entry.team), now=STAKED), NotAllowed, "a member"),
    (lambda s: services.return_ask(s, "r", by=cast.captain(cast.team("red")), now=STAKED), NotAllowed, "another team"),
    (lambda s: services.return_decide(s, granted=True, reason="r", by=factories.mandate("return", cast.board(), STAKED),
                                      now=STAKED), Conflict, "nobody asked"),
    (lambda s: [services.return_ask(s, "r", by=cast.captain(s.defense.entry.team), now=STAKED) for _ in (1, 2)],
     Conflict, "asked twice"),
    (lambda s: [services.return_ask(s, "r", by=cast.captain(s.defense.entry.team), now=STAKED),
                answer_move(s, granted=True, reason="They ask for it in time.", by=cast.organizer(), now=STAKED)],
     NotAllowed, "an organizer is not the board"),
)  # fmt: skip
def test_returns_that_are_refused(do: Any, error: type[DomainError], why: str, at_stake: Stake) -> None:
    with pytest.raises(error):
        do(at_stake)
    at_stake.refresh_from_db()
    assert at_stake.ended_at is None, why


# The clock


@tables.cases(
    "at left over why",
    (STAKED, "90 d 00:00:00", False, "at its beginning"),
    (STAKED + INSTANT, "90 d 00:00:00", False, "a begun second is whole"),
    (STAKED + timedelta(seconds=1), "89 d 23:59:59", False, "a second later"),
    (UNTIL - DAY, "1 d 00:00:00", False, "a day before"),
    (UNTIL - timedelta(seconds=1), "00:00:01", False, "the last second"),
    (UNTIL - INSTANT, "00:00:01", False, "the last moment"),
    (UNTIL, "00:00:00", True, "exactly at its end it is over"),
    (UNTIL + DAY, "00:00:00", True, "and stays so"),
)
def test_the_clock(at: datetime, left: str, over: bool, why: str, at_stake: Stake) -> None:
    next_policy(stake_hours=24)  # moves no clock that runs
    clock = shown.clock_of(at_stake, at)
    assert (clock.left, clock.over, clock.until) == (left, over, UNTIL), why
    assert (selectors.is_due(at_stake, at), selectors.staked(at).exists(), clock.span) == (over, not over, "90 × 24 h")


@tables.cases(
    "zone begun until why",
    ("Europe/Berlin", "2026-03-01T12:00:00+00:00", "2026-05-30T12:00:00+00:00", "clocks go forward: hours count"),
    ("Europe/Berlin", "2026-10-01T12:00:00+00:00", "2026-12-30T12:00:00+00:00", "clocks go back"),
    ("Pacific/Auckland", "2028-01-15T12:00:00+00:00", "2028-04-14T12:00:00+00:00", "over a leap day"),
)
def test_90_days_are_hours_in_any_zone(zone: str, begun: str, until: str, why: str, at_stake: Stake) -> None:
    PolicyVersion.objects.update(numbers=replace(Policy(), time_zone=zone).to_json())
    forget_versions()
    at_stake.clock_from = datetime.fromisoformat(begun)
    assert selectors.unbroken_until(at_stake) == datetime.fromisoformat(until), why


# How far a defense is


def test_every_standing(at_stake: Stake) -> None:
    blue = at_stake.defense.entry.team
    received, published = cast.entry(blue, now=STAKED).defense, cast.published(blue, now=STAKED)
    broken, back, won = (cast.published(blue, now=STAKED) for _ in range(3))
    cast.broken(broken, STAKED, found=STAKED)
    entries.entry_withdraw(back.entry, by=cast.captain(blue), now=STAKED)
    cast.staked(won, now=STAKED)
    ends.stake_end(cast.stake(won), StakeEnd.WON, now=UNTIL)
    rows = [Defense.objects.get(pk=each.pk) for each in (received, published, at_stake.defense, broken, back, won)]
    assert [standing.value for standing in selectors.standings(rows, now=factories.NOW).values()] == [
        *("received", "published", "staked", "broken", "withdrawn", "won")
    ]
    assert won not in selectors.stakeable(), "who has won is not staked again"
