"""Staking by the board and by paying teams, what ends a stake, what brings it back, its clock, and two acts at once
(R22, R32-R37)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from contest.board.motions import answer_move, stakes_move
from contest.core.breaks import breaks_record
from contest.core.enums import AccountKind, DecisionKind, DefenseStanding, StakeEnd, StakeKind
from contest.core.models import Attack, BoardDecision, Break, Stake, StakeBatch
from contest.defenses import entries, selectors, stake_ends, stake_rows
from contest.defenses import staking as services
from contest.defenses.models import DefenseEntry
from contest.ledger.models import LedgerEntry
from contest.ledger.services import ledger_account, move
from contest.prizes.sweeps import prizes_settle
from labeling.enums import Label
from labeling.selectors import forget_versions
from policy.models import PolicyVersion
from policy.numbers import Policy
from scoring.enums import DefenseAnswer, RunState
from scoring.models import Defense
from tests import factories, tables
from tests.at_once import refusals_at_once, until_waiting
from tests.contest.board.at_once import beside
from tests.contest.defenses import cast
from tests.contest.ledger.cast import balance
from tests.refusals import refused
from tests.scoring.cast import ruled

pytestmark = pytest.mark.django_db
INSTANT, DAY = timedelta(microseconds=1), timedelta(days=1)
PRIZE, ATTACKERS = Policy().attacker_prize_cents, AccountKind.ATTACKERS
# Staked on a Wednesday; its week began on Saturday.
STAKED, WEEK_BEGAN = factories.NOW, datetime(2026, 11, 14, tzinfo=UTC)
FOUND, UNTIL = STAKED + 9 * DAY, STAKED + 90 * DAY


@pytest.fixture
def defense(db: None) -> Defense:
    """A published open defense of team blue, money in the pool, and a board."""
    cast.funded()
    cast.board()
    return cast.published(cast.team(), "steadfast", now=STAKED - DAY)


@pytest.fixture
def at_stake(defense: Defense) -> Stake:
    return cast.staked(defense, now=STAKED).stakes.get()


def end_of(stake: Stake) -> tuple[str, datetime | None]:
    stake.refresh_from_db()
    return stake.end, stake.ended_at


def next_policy(**numbers: Any) -> None:
    """Other numbers, just after STAKED."""
    numbers = replace(Policy(), **numbers).to_json()
    PolicyVersion.objects.create(version=2, numbers=numbers, in_force_from=STAKED + INSTANT, reason="other")
    forget_versions()


@pytest.fixture
def asked(defense: Defense) -> Stake:
    """A stake for which the captain asked, and nobody paid yet."""
    return services.stake_request(defense, by=cast.captain(defense.entry.team), now=STAKED)


# By the board


def test_a_batch_is_one_recorded_decision(defense: Defense) -> None:
    other = cast.published(cast.team("red"), "other", now=STAKED - DAY)
    cast.overruled(cast.broken(other, STAKED - DAY, found=STAKED), at=STAKED)  # in nobody's way
    before, by = balance(ATTACKERS), factories.mandate("stake", cast.board(), STAKED)
    batch = services.stake_batch([other, defense], " by age ", "ready", by=by, now=STAKED)
    decision, subject = BoardDecision.objects.get(), {"defense": sorted([defense.pk, other.pk])}
    assert (batch.criteria, batch.staked_at, batch.decision) == ("by age", STAKED, decision)
    assert (decision.kind, decision.reason, decision.decided_by) == (DecisionKind.STAKE, "ready", cast.board())
    assert (decision.subject, decision.details) == (subject, {"criteria": "by age"})
    for stake in batch.stakes.all():
        assert (stake.kind, stake.cents, stake.paid_by, balance(stake)) == (StakeKind.BOARD, PRIZE, None, PRIZE)
        times = (stake.asked_at, stake.staked_at, stake.clock_from, selectors.unbroken_until(stake))
        assert times == (STAKED, STAKED, STAKED, UNTIL), "now, for all of them"
    told = {(entry.decision, *entry.causes["stake"]) for entry in LedgerEntry.objects.filter(rule="R32")}
    assert told == {(decision, stake.pk) for stake in batch.stakes.all()}
    assert (balance(ATTACKERS), selectors.stakes_in_force().count()) == (before - 2 * PRIZE, 2)
    assert list(selectors.staked(STAKED)) == [other, defense]


def half_too_small(d: Defense) -> None:
    half, told = ledger_account(ATTACKERS), {"rule": "R34", "why": "Gone.", "causes": {}, "now": STAKED}
    move(half, ledger_account(AccountKind.POOL), half.balance_cents - 2 * PRIZE + 1, **told)


@tables.cases(
    "change code why",
    (lambda d: Defense.objects.filter(pk=d.pk).update(published_at=None), "not_published", "not published"),
    (lambda d: entries.entry_withdraw(d.entry, by=cast.captain(d.entry.team), now=STAKED), "withdrawn", "taken back"),
    (lambda d: cast.staked(d, now=STAKED), "staked", "one stake at a time for a defense"),
    (lambda d: services.stake_request(d, by=cast.captain(d.entry.team), now=STAKED), "staked", "its team asked to pay"),
    (lambda d: cast.broken(d, STAKED - 30 * DAY, found=STAKED), "broken", "broken by an old picture"),
    (lambda d: cast.broken(d, STAKED, found=STAKED), "broken", "broken by a new picture"),
    (lambda d: DefenseEntry.objects.filter(defense=d).delete(), "no_team", "nobody could win with it"),
    (half_too_small, "not_enough", "the half has one cent too few for both"),
)
def test_what_the_board_cannot_stake(change: Any, code: str, why: str, defense: Defense) -> None:
    change(defense)
    other = cast.published(cast.team("red"), "other", now=STAKED - DAY)
    batches, held, now = StakeBatch.objects.count(), balance(ATTACKERS), STAKED + DAY
    by = factories.mandate("stake", cast.board(), now)
    assert refused(code, services.stake_batch, [other, defense], "c", "r", by=by, now=now), why
    assert (StakeBatch.objects.count(), balance(ATTACKERS)) == (batches, held), "all of a batch or none"
    offered = [each in selectors.stakeable() for each in (other, defense)]
    assert (offered, selectors.newest_stakes([other])) == ([True, code == "not_enough"], {}), (
        "nor does the page offer it"
    )


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
    assert list(selectors.stakes_requested()) == [asked] and not selectors.staked(STAKED).exists()
    next_policy(attacker_prize_cents=7)
    later, held, by = STAKED + 3 * DAY, balance(ATTACKERS), cast.organizer()
    stake = services.stake_receive(asked, " wire 7 ", by=by, now=later)
    assert (stake.staked_at, stake.clock_from, stake.receipt, stake.received_by) == (later, later, "wire 7", by)
    assert selectors.unbroken_until(stake) == later + 90 * DAY, "the clock begins with the payment"
    assert (balance(stake), balance(ATTACKERS)) == (PRIZE, held), "as asked for, and from outside"
    said = f"Staked on {defense.name} by team {defense.entry.team.name}."
    assert (list(selectors.staked(later)), LedgerEntry.objects.get(rule="R32").why) == ([defense], said)


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
    receives = partial(services.stake_receive, asked, now=STAKED)
    for receipt in ("", " \x00", "x" * 201, "a\nb"):
        assert refused("invalid", receives, receipt, by=cast.organizer()).field == "receipt"
    for who in (cast.captain(team), cast.board(), cast.person("stan")):
        refused("not_an_organizer", receives, "x", by=who)
    refused("not_captain", services.stake_request, asked.defense, by=cast.member(team), now=STAKED)
    refused("not_yours", services.stake_request, asked.defense, by=cast.captain(red), now=STAKED)


def test_a_wish_is_over_with_a_break_and_nothing_moved(asked: Stake) -> None:
    cast.broken(asked.defense, STAKED, found=STAKED + DAY)
    assert [stake_ends.stakes_end(now=STAKED + days * DAY) for days in (1, 2)] == [1, 0]
    assert (end_of(asked), asked.staked_at) == ((StakeEnd.VOID, STAKED + DAY), None)
    assert not LedgerEntry.objects.filter(rule="R32").exists()


@pytest.mark.parametrize("who", [cast.captain, cast.member, lambda team: cast.organizer()])
def test_who_may_drop_a_wish(who: Any, asked: Stake, defense: Defense) -> None:
    """Its captain, a member, an organizer."""
    refused("not_yours", services.stake_cancel, asked, by=cast.captain(cast.team("red")), now=STAKED)
    services.stake_cancel(asked, by=who(defense.entry.team), now=STAKED)
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
    cast.broken(other, STAKED + DAY, found=FOUND)
    assert stake_ends.stakes_end(now=found) == 0, "what breaks another defense ends nothing"
    cast.broken(at_stake.defense, sent, found=found, by=other.entry.team)
    assert [stake_ends.stakes_end(now=found + days * DAY) for days in (0, 1)] == [end is not None, 0], "once"
    assert end_of(at_stake) == ((end, found) if end else ("", None)), why
    untold = selectors.defense_states([at_stake.defense], breaks=Break.objects.none(), now=factories.NOW)
    assert (untold[at_stake.defense_id] is DefenseStanding.BROKEN) is bool(end), "known before the release of the week"


def test_a_picture_of_the_organizers_ends_no_stake_and_one_never_to_be_labeled_counts_from_its_attack(
    at_stake: Stake,
) -> None:
    """Only attacks break (R29)."""
    image = cast.picture(STAKED + DAY)
    cast.break_of(at_stake.defense, image, ruled(image), FOUND)
    assert stake_ends.stakes_end(now=FOUND) == 0
    image = cast.picture(WEEK_BEGAN - 100 * DAY)
    type(image).objects.filter(pk=image.pk).update(label_from=None)
    Attack.objects.create(team=cast.team("red"), image=image, received_at=STAKED + DAY, week="2026-W47")
    cast.break_of(at_stake.defense, image, ruled(image), FOUND)
    stake_ends.stakes_end(now=FOUND)
    assert end_of(at_stake) == (StakeEnd.BROKEN, FOUND)


def test_the_first_break_found_that_holds_is_when_it_ended(at_stake: Stake) -> None:
    breaks = [cast.broken(at_stake.defense, STAKED + DAY, found=STAKED + days * DAY) for days in (12, 9, 10)]
    stake_ends.stakes_end(now=STAKED + 12 * DAY)
    assert end_of(at_stake) == (StakeEnd.BROKEN, FOUND)
    cast.overruled(breaks[1], at=STAKED + 13 * DAY)
    assert (stake_ends.stakes_end(now=STAKED + 13 * DAY), end_of(at_stake)) == (1, (StakeEnd.BROKEN, STAKED + 10 * DAY))


def test_a_late_break_of_an_earlier_week_changes_how_it_ended(at_stake: Stake) -> None:
    """By an appeal: the earlier week outranks the one that ended it (R35)."""
    cast.broken(at_stake.defense, STAKED + DAY, found=FOUND)
    stake_ends.stakes_end(now=FOUND)
    late = cast.broken(at_stake.defense, WEEK_BEGAN - DAY, found=STAKED + 20 * DAY)
    assert (stake_ends.stakes_end(now=STAKED + 20 * DAY), end_of(at_stake)) == (1, (StakeEnd.VOID, STAKED + 20 * DAY))
    cast.overruled(late, at=STAKED + 21 * DAY)
    assert (stake_ends.stakes_end(now=STAKED + 21 * DAY), end_of(at_stake)) == (1, (StakeEnd.BROKEN, FOUND))


@pytest.mark.parametrize("end", [StakeEnd.WON, StakeEnd.OVERTAKEN, StakeEnd.WITHDRAWN])
def test_an_end_that_people_decided_stays(end: StakeEnd, at_stake: Stake) -> None:
    stake_ends.stake_end(at_stake, end, now=UNTIL)
    cast.broken(at_stake.defense, STAKED + DAY, found=UNTIL + DAY)
    assert (stake_ends.stakes_end(now=UNTIL + DAY), end_of(at_stake)) == (0, (end, UNTIL))
    refused("stake_over", stake_ends.stake_end, at_stake, StakeEnd.WON, now=UNTIL)


# What brings it back


@pytest.mark.parametrize("sent", [STAKED + DAY, WEEK_BEGAN - DAY], ids=["broken", "void"])
def test_a_stake_comes_back_when_the_ruling_is_overruled(sent: datetime, at_stake: Stake) -> None:
    proof = cast.broken(at_stake.defense, sent, found=FOUND, by=cast.team("red"))
    stake_ends.stakes_end(now=FOUND)
    assert not selectors.staked(FOUND).exists()
    prizes_settle(now=FOUND)
    cast.overruled(proof, at=FOUND + DAY)
    assert stake_ends.stakes_end(now=FOUND + DAY) == 1
    assert (end_of(at_stake), at_stake.clock_from) == (("", None), STAKED), "its clock is what it was"
    assert list(selectors.staked(FOUND + DAY)) == [at_stake.defense]
    assert selectors.defense_state_of(at_stake.defense, now=factories.NOW) is DefenseStanding.STAKED
    prizes_settle(now=FOUND + DAY)
    assert (balance(at_stake), selectors.breaks_of_stake(at_stake)) == (PRIZE, []), "the money is back on it"


def test_a_ruling_made_again_with_the_same_outcome_changes_nothing(at_stake: Stake) -> None:
    """More taskers who agree: the break holds on under the newer ruling, and no stake comes back in between."""
    proof = cast.broken(at_stake.defense, STAKED + DAY, found=FOUND)
    stake_ends.stakes_end(now=FOUND)
    again = cast.overruled(proof, at=FOUND + DAY, verdict="valid")
    assert stake_ends.stakes_end(now=FOUND + DAY) == 0
    assert [breaks_record(now=FOUND + days * DAY) for days in (2, 3)] == [1, 0], "under the newest ruling too"
    assert (Break.objects.get(ruling=again).prediction, stake_ends.stakes_end(now=FOUND + 3 * DAY)) == (
        proof.prediction,
        0,
    )


def test_a_class_that_changed_makes_other_answers_mistakes(at_stake: Stake) -> None:
    """Overruled from bird to bicycle: who said bicycle is right now, who said bird errs (R22)."""
    image = cast.picture(STAKED + DAY, cast.team("red"))
    ruled(image, label=Label.BIRD)
    cast.answered(at_stake.defense, image, FOUND, answer=DefenseAnswer.BIRD)
    assert (breaks_record(now=FOUND), stake_ends.stakes_end(now=FOUND)) == (0, 0)
    ruled(image, label=Label.BICYCLE, number=2)
    assert (breaks_record(now=FOUND + DAY), stake_ends.stakes_end(now=FOUND + DAY)) == (1, 1)


def test_an_ended_stake_comes_back_before_another_can_begin(at_stake: Stake) -> None:
    proof = cast.broken(at_stake.defense, STAKED + DAY, found=FOUND)
    stake_ends.stakes_end(now=FOUND)
    cast.overruled(proof, at=FOUND)
    assert at_stake.defense not in selectors.stakeable(), "the board's page does not offer it"
    for door in (
        lambda: services.batch_check([at_stake.defense], now=FOUND + DAY),  # what the page of a motion says
        lambda: cast.staked(at_stake.defense, now=FOUND + DAY),
        lambda: cast.self_staked(at_stake.defense, FOUND + DAY),
    ):
        refused("staked", door)
    stake_ends.stakes_end(now=FOUND + DAY)
    assert [each.end for each in Stake.objects.filter(defense=at_stake.defense)] == [""]


# Closed source


@pytest.fixture
def closed(db: None) -> Defense:
    """A defense of closed source at stake."""
    cast.funded()
    return cast.staked(cast.published(cast.team(), now=STAKED - DAY, closed=True), now=STAKED).stakes.get().defense


def test_a_closed_defense_has_no_clock_and_the_source_handed_in_later_starts_a_new_90_days(
    closed: Defense, tmp_path: Path
) -> None:
    stake, late, opened = cast.stake(closed), STAKED + 400 * DAY, STAKED + 80 * DAY
    clock = (selectors.unbroken_until(stake), selectors.is_due(stake, late), stake_rows.stake_clock(stake, late))
    assert clock == (None, False, None)
    assert list(selectors.staked(late)) == [closed], "it can be attacked for as long as it is closed"
    entries.source_open(closed.entry, cast.zipped(tmp_path / "s.zip"), by=cast.captain(closed.entry.team), now=opened)
    stake = cast.stake(Defense.objects.get(pk=closed.pk))
    assert (stake.staked_at, stake.clock_from, selectors.unbroken_until(stake)) == (STAKED, opened, opened + 90 * DAY)
    cast.broken(closed, WEEK_BEGAN, found=opened)
    assert selectors.outcome_of(stake).end is StakeEnd.BROKEN, "what came while it was closed still breaks it"


def test_opened_while_its_break_was_wrongly_held_it_comes_back_with_the_new_clock(
    closed: Defense, tmp_path: Path
) -> None:
    proof, opened = cast.broken(closed, STAKED + DAY, found=FOUND), FOUND + DAY
    stake_ends.stakes_end(now=FOUND)
    entries.source_open(closed.entry, cast.zipped(tmp_path / "s"), by=cast.captain(closed.entry.team), now=opened)
    cast.overruled(proof, at=opened)
    stake_ends.stakes_end(now=opened + DAY)
    assert (cast.stake(closed).clock_from, cast.stake(closed).ended_at) == (opened, None)


# Taking back what is at stake


def returned(stake: Stake, now: datetime, *, granted: bool) -> Stake:
    by = factories.mandate("return", cast.board(), now)
    return services.return_decide(stake, granted=granted, reason="fair", by=by, now=now)


def test_the_board_refuses_and_later_returns_a_defense_that_its_team_asks_for(at_stake: Stake) -> None:
    captain, held = cast.captain(at_stake.defense.entry.team), balance(ATTACKERS)
    services.return_request(at_stake, "we found a mistake of ours", by=captain, now=STAKED)
    assert list(selectors.staked(STAKED + DAY)) == [at_stake.defense], "until the board answers it stays at stake"
    returned(at_stake, STAKED + DAY, granted=False)
    assert (end_of(at_stake), at_stake.return_asked_at) == (("", None), None)
    assert BoardDecision.objects.get(kind=DecisionKind.RETURN).details == {"granted": False}
    services.return_request(at_stake, "again", by=captain, now=STAKED + DAY)
    done = returned(at_stake, STAKED + 2 * DAY, granted=True)
    decision, subject = BoardDecision.objects.latest("pk"), {"stake": [done.pk], "defense": [done.defense_id]}
    assert (done.end, done.ended_at) == (StakeEnd.WITHDRAWN, STAKED + 2 * DAY)
    assert (decision.reason, decision.details, decision.subject) == ("fair", {"granted": True}, subject)
    assert (balance(done), balance(ATTACKERS)) == (0, held + PRIZE)
    # What was sent in its time is run still.
    assert selectors.defense_state_of(Defense.objects.get(), now=factories.NOW) is DefenseStanding.PUBLISHED


def test_a_self_staker_that_is_returned_has_its_money_on_its_account(defense: Defense) -> None:
    stake = cast.self_staked(defense, STAKED)
    services.return_request(stake, "r", by=cast.captain(defense.entry.team), now=STAKED)
    returned(stake, STAKED, granted=True)
    assert balance(defense.entry.team) == PRIZE


@tables.cases(
    "do code why",
    (lambda s: services.return_request(s, " ", by=cast.captain(s.defense.entry.team), now=STAKED), "invalid", "why"),
    (lambda s: services.return_request(s, "r", by=cast.member(s.defense.entry.team), now=STAKED), "not_captain",
     "a member"),
    (lambda s: services.return_request(s, "r", by=cast.captain(cast.team("red")), now=STAKED), "not_yours",
     "another team"),
    (lambda s: returned(s, STAKED, granted=True), "not_requested", "no team requested it"),
    (lambda s: [services.return_request(s, "r", by=cast.captain(s.defense.entry.team), now=STAKED) for _ in (1, 2)],
     "asked_before", "asked twice"),
    (lambda s: answer_move(s, granted=True, reason="They ask for it in time.", by=cast.organizer(), now=STAKED),
     "not_on_board", "an organizer is not the board"),
)  # fmt: skip
def test_returns_that_are_refused(do: Any, code: str, why: str, at_stake: Stake) -> None:
    refused(code, do, at_stake)
    assert end_of(at_stake) == ("", None), why


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
    clock = stake_rows.stake_clock(at_stake, at)
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
    stake_ends.stake_end(cast.stake(won), StakeEnd.WON, now=UNTIL)
    rows = [Defense.objects.get(pk=each.pk) for each in (received, published, at_stake.defense, broken, back, won)]
    found = [standing.value for standing in selectors.defense_states(rows, now=factories.NOW).values()]
    assert found == ["received", "published", "staked", "broken", "withdrawn", "won"]
    assert won not in selectors.stakeable(), "who has won is not staked again"


# Two at once: staking beside staking, beside a break, and handing in beside handing in

BESIDE = pytest.mark.postgres("several at once: SQLite has one writer")


def batch(*chosen: Defense) -> None:
    services.stake_batch(chosen, "c", "r", by=factories.mandate("stake", cast.board(), STAKED), now=STAKED)


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_two_batches_with_the_same_defense_lock_in_one_order(defense: Defense) -> None:
    other = cast.published(defense.entry.team, "other", now=STAKED - timedelta(days=1))
    told = sorted(refusals_at_once(partial(batch, defense, other), partial(batch, other, defense)))
    assert (told, StakeBatch.objects.count(), Stake.objects.count()) == (["", "staked"], 1, 2)


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_a_batch_beside_a_team_that_asks(defense: Defense) -> None:
    asking = partial(services.stake_request, defense, by=cast.captain(defense.entry.team), now=STAKED)
    told = sorted(refusals_at_once(partial(batch, defense), asking))
    assert (told, Stake.objects.filter(ended_at=None).count()) == (["", "staked"], 1)


def mistaken(defense: Defense) -> None:
    """A confident mistake in a run that nobody has looked at yet."""
    image = cast.picture(STAKED)
    ruled(image)
    cast.answered(defense, image, STAKED, state=RunState.FINISHED)
    factories.sent_by_somebody()


@BESIDE
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("paid", [False, True], ids=["a batch", "a payment"])
def test_a_break_that_is_being_recorded_is_waited_for(paid: bool, defense: Defense) -> None:
    staking = partial(batch, defense)
    if paid:
        wish = services.stake_request(defense, by=cast.captain(defense.entry.team), now=STAKED)
        staking = partial(services.stake_receive, wish, "x", by=cast.organizer(), now=STAKED)
    mistaken(defense)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert breaks_record(now=STAKED) == 1
            late = beside(pool, staking)
            until_waiting()
        assert late.result(60) == "broken"
    assert not Stake.objects.filter(staked_at__isnull=False).exists()


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_a_break_found_while_it_is_being_staked_ends_the_stake(defense: Defense) -> None:
    mistaken(defense)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            cast.staked(defense, now=STAKED)
            recording = beside(pool, lambda: breaks_record(now=STAKED))
            until_waiting()
        assert recording.result(60) == 1
    assert (stake_ends.stakes_end(now=STAKED), cast.stake(defense).end) == (1, StakeEnd.BROKEN)


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_two_sweeps_beside_each_other(defense: Defense) -> None:
    cast.staked(defense, now=STAKED)
    cast.broken(defense, STAKED, found=STAKED)
    changed: list[int] = []
    assert (refusals_at_once(*[lambda: changed.append(stake_ends.stakes_end(now=STAKED))] * 2), sum(changed)) == (
        ["", ""],
        1,
    )


@BESIDE
@pytest.mark.django_db(transaction=True)
@tables.cases(
    "numbers said there why",
    ((1, 2), ["", "quota_used"], 3, "two at the last place of the week"),
    ((1, 1), ["", ""], 3, "the same twice is one"),
)
def test_two_hand_ins_at_once(
    numbers: tuple[int, int], said: list[str], there: int, why: str, defense: Defense
) -> None:
    team, policy = defense.entry.team, cast.policy()
    cast.entry(team, now=STAKED)
    DefenseEntry.objects.filter(defense=defense).update(received_at=STAKED)

    def hand_in(number: int) -> None:
        entries.submit_defense(
            team,
            cast.given(name=f"late {number}", image=f"ghcr.io/blue/net@sha256:{number:064x}"),
            by=cast.captain(team),
            policy=policy,
            now=STAKED,
        )

    assert sorted(refusals_at_once(*(partial(hand_in, number) for number in numbers))) == said, why
    left = (selectors.submissions_left(team, policy, STAKED), DefenseEntry.objects.count(), Defense.objects.count())
    assert left == (0, there, there), "nothing is left of the one that was refused"
