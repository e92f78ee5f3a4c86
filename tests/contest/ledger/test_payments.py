"""What of a team's money is due, and money that leaves by the hands of two organizers (R22, R34, R35, R37, R38)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from contest.board.motions import withhold_move
from contest.core.enums import AccountKind, StakeEnd
from contest.core.models import Attack, BoardDecision, Member, Stake, Team
from contest.defenses.stake_ends import stakes_end
from contest.ledger.models import Account, LedgerEntry, Payment
from contest.ledger.services import check_ledger_sums, ledger_account, move
from contest.ledger.withholding import money_withhold, withheld_amounts, withheld_of
from contest.payments import corrections, exports
from contest.payments.payable import payable, payables, payables_of
from contest.payments.services import payment_cancel, payment_pay, payment_request
from contest.prizes.sweeps import prizes_settle
from contest.teams.models import Association
from tests import factories, tables
from tests.at_once import refusals_at_once
from tests.contest.ledger import cast
from tests.contest.ledger.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance
from tests.contest.pages import one_line, queries
from tests.refusals import refused

pytestmark = pytest.mark.django_db
RULED = MONDAY.replace(hour=0) + timedelta(days=7)  # two days after the end of its week


@tables.cases(
    "at due why",
    (RULED, 0, "just ruled"),
    (RULED + timedelta(days=7, microseconds=-1), 0, "a moment before the appeals close"),
    (RULED + timedelta(days=7), PRIZE, "the appeals are closed"),
)
def test_nothing_is_due_before_the_appeals_of_the_week_are_closed(
    at: datetime, due: int, why: str, red: Team, olga: User
) -> None:
    found = payable(red, now=at)
    assert (found.balance, found.due, found.waiting) == (PRIZE, due, PRIZE - due), why
    assert found.weeks == (("2026-W47",) if not due else ()) and payables(now=at) == [found]
    if not due:
        refused("nothing_due", payment_request, team=red, by=olga, now=at)
    cast.ruled(cast.attack(cast.team("blue"), days=2).image, "", at=CLOSED - timedelta(1))
    assert [payable(red, now=CLOSED + timedelta(days)).due for days in (0, 6)] == [0, PRIZE], "ruled again: it waits"


@pytest.mark.both("a constraint refuses the same organizer")
def test_two_organizers_pay(red: Team, olga: User, olaf: User) -> None:
    asked = payment_request(team=red, by=olga, now=CLOSED)
    assert (asked.cents, asked.asked_by, balance(red)) == (PRIZE, olga, PRIZE), "nothing moves yet"
    refused("payment_open", payment_request, team=red, by=olaf, now=CLOSED)
    same = refused("same_person", payment_pay, payment_id=asked.pk, reference="SEPA 7", by=olga, now=CLOSED)
    assert "another organizer" in same.message
    with pytest.raises(IntegrityError, match="payment_by_two"), transaction.atomic():
        Payment.objects.filter(pk=asked.pk).update(paid_by=olga)
    for reference in ("", "  ", "\x00", "x" * 201):
        refused("invalid", payment_pay, payment_id=asked.pk, reference=reference, by=olaf, now=CLOSED)
    paid = payment_pay(payment_id=asked.pk, reference=" SEPA 7 ", by=olaf, now=CLOSED)
    assert (paid.paid_by, paid.reference, paid.paid_at) == (olaf, "SEPA 7", CLOSED)
    assert (paid.entry.rule, paid.entry.causes) == ("R34", {"payment": [paid.pk]})
    assert balance(red) == 0 and check_ledger_sums().wrong == ()


def pays(payment: Payment, by: User) -> object:
    return payment_pay(payment_id=payment.pk, reference="SEPA 8", by=by, now=CLOSED)


def cancels(payment: Payment, by: User) -> object:
    return payment_cancel(payment_id=payment.pk, by=by, now=CLOSED)


@pytest.mark.parametrize("first", [pays, cancels])
def test_a_payment_that_is_over_stays_as_it_is(
    first: Callable[[Payment, User], object], red: Team, olga: User, olaf: User
) -> None:
    asked = payment_request(team=red, by=olga, now=CLOSED)
    first(asked, olaf)
    for second in (pays, cancels):
        refused("payment_over", second, asked, olaf)
    assert LedgerEntry.objects.filter(source__team=red).count() == (first is pays)
    asked.refresh_from_db()
    if first is cancels:
        assert (asked.cancelled_by, payment_request(team=red, by=olaf, now=CLOSED).cents) == (olaf, PRIZE)


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_mark_it_at_once_one_does(red: Team, olga: User, olaf: User) -> None:
    asked, third = payment_request(team=red, by=olga, now=CLOSED), factories.user("oona", "organizers")
    assert sorted(refusals_at_once(partial(pays, asked, olaf), partial(pays, asked, third))) == ["", "payment_over"]
    assert (balance(red), LedgerEntry.objects.filter(source__team=red).count()) == (0, 1)


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_four_sweeps_at_once_post_a_share_once(olga: User) -> None:
    cast.deposit(4 * PRIZE, olga)
    red, blue = cast.team("red"), cast.team("blue")
    for number in range(3):
        stake = cast.staked(cast.defense(f"net {number}", cast.team(f"makers {number}")), cents=1001)
        cast.broken(stake.defense, cast.attack(red, days=1))
        cast.broken(stake.defense, cast.attack(blue, days=2))
        cast.ended(stake)
    cast.all_caught_up()
    posted: list[int] = []
    assert refusals_at_once(*[lambda: posted.append(prizes_settle(now=SETTLED))] * 4) == [""] * 4
    assert (sum(posted), balance(red), balance(blue), check_ledger_sums().wrong) == (3, 3 * 501, 3 * 500, ())


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.slow("three threads")
@pytest.mark.django_db(transaction=True)
def test_of_merged_teams_nothing_is_paid_that_a_sweep_takes_at_once(red: Team, olga: User, olaf: User) -> None:
    blue = cast.team("blue")
    cast.ended(cast.broken_stake(blue, cast.team("others"), "second"))
    cast.all_caught_up()
    prizes_settle(now=SETTLED)
    Team.objects.filter(pk=blue.pk).update(merged_into=red, merged_at=SETTLED)
    asked = [payment_request(team=each, by=olga, now=CLOSED) for each in (red, blue)]
    assert [each.cents for each in asked] == [PRIZE, PRIZE]
    Association.objects.create(team=red, since=MONDAY, until=SETTLED, reason="Worked here.", declared_at=CLOSED)
    acts = [*(partial(pays, each, olaf) for each in asked), partial(prizes_settle, now=CLOSED)]
    assert refusals_at_once(*acts) == ["less_due", "", ""]
    assert (corrections.owed_by_teams(), balance(red), balance(blue), check_ledger_sums().wrong) == ([], 0, 0, ())


# Withheld -------------------------------------------------------------------------------------------------------------


def test_the_board_withholds_with_a_public_reason_and_gives_back(red: Team, rita: User) -> None:
    entry = cast.withheld(red, 1_000, rita)
    assert (entry.rule, entry.decision.kind, entry.causes) == ("R38", "withhold", {"team": [red.pk]})  # type: ignore[union-attr]
    assert (balance(red), balance(AccountKind.WITHHELD)) == (PRIZE - 1_000, 1_000)
    assert [(each.account, each.cents) for each in withheld_amounts()] == [(cast.account_of(red), 1_000)]
    back = cast.given_back(red, rita)
    assert (back.details["cents"], balance(red), balance(AccountKind.WITHHELD), withheld_amounts()) == (
        1_000,
        PRIZE,
        0,
        [],
    )
    assert BoardDecision.objects.get(kind="return").reason == "Cleared up."


@pytest.fixture
def two_broke_it(olga: User) -> Stake:
    """A stake of 10,000 that red and blue broke in the same week."""
    cast.deposit(10 * PRIZE, olga)
    stake = cast.broken_stake(cast.team("red"), cast.team("makers"), cents=10_000)
    cast.broken(stake.defense, cast.attack(cast.team("blue"), days=2))
    return cast.ended(stake)


@tables.cases(
    "team cents got why",
    ("red", 5_000, {"red": 0, "blue": 5_000}, "the first one"),
    ("blue", 5_000, {"red": 5_000, "blue": 0}, "the second one"),
    ("red", 2_000, {"red": 3_000, "blue": 5_000}, "a part"),
    ("red", 10_000, {"red": 0, "blue": 5_000}, "more than its share"),
    ("makers", 10_000, {"red": 5_000, "blue": 5_000}, "a team without a share"),
)
def test_what_is_withheld_of_one_team_is_missing_to_no_other(
    team: str, cents: int, got: dict[str, int], why: str, two_broke_it: Stake, rita: User
) -> None:
    cheat = Team.objects.get(name=team)
    cast.withheld(two_broke_it, cents, rita, team=cheat, now=MONDAY)
    prizes_settle(now=SETTLED)
    assert {name: balance(Team.objects.get(name=name)) for name in got} == got, why
    assert balance(AccountKind.WITHHELD) == 10_000 - sum(got.values())
    assert prizes_settle(now=SETTLED) == 0 and check_ledger_sums().wrong == ()
    cast.given_back(two_broke_it, rita, team=cheat, now=SETTLED)
    prizes_settle(now=SETTLED)
    assert {balance(Team.objects.get(name=name)) for name in ("red", "blue")} == {5_000}
    assert (withheld_amounts(), withheld_of(cast.account_of(two_broke_it), cheat)) == ([], None)


def test_what_is_withheld_of_a_share_grows_with_it_up_to_what_was_decided(two_broke_it: Stake, rita: User) -> None:
    red, blue = Team.objects.filter(name__in=["red", "blue"]).order_by("pk")
    cast.withheld(two_broke_it, 8_000, rita, team=red, now=MONDAY)
    prizes_settle(now=SETTLED)
    assert [each.cents for each in withheld_amounts()] == [5_000]
    green = cast.team("green")
    Team.objects.filter(pk=red.pk).update(merged_into=green, merged_at=CLOSED)
    assert withheld_amounts()[0].team == green, "it stays withheld of a team that was merged"
    cast.overruled(blue.attacks.get().image)
    prizes_settle(now=CLOSED)
    assert (balance(green) + balance(red), balance(blue), [each.cents for each in withheld_amounts()]) == (
        2_000,
        0,
        [8_000],
    )


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"cents": PRIZE + 1}, "not_enough", "more than is there"),
    ({"reason": " "}, "invalid", "no reason"),
    ({"of": AccountKind.ATTACKERS}, "invalid", "the account of no team"),
    ({"of": AccountKind.STAKE}, "invalid", "a stake, and nobody says whose share"),
]


def test_only_the_board_withholds_and_only_what_is_there(red: Team, olga: User, rita: User) -> None:
    refused(
        "not_on_board",
        withhold_move,
        cast.account_of(red),
        1,
        reason="Two accounts are one person.",
        by=olga,
        now=CLOSED,
    )
    for changed, code, why in WRONG:
        told = {"of": AccountKind.TEAM, "cents": 1, "reason": "Why."} | changed
        told["of"] = Account.objects.filter(kind=told["of"])[0]
        assert refused(code, money_withhold, **told, by=factories.mandate("withhold", rita, CLOSED), now=CLOSED), why
    refused("nothing_withheld", cast.given_back, red, rita)
    assert not BoardDecision.objects.filter(kind__in=["withhold", "return"]).exists(), "a decision that came to nothing"


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "−1"])
def test_no_cell_is_read_as_a_formula(cell: str) -> None:
    assert exports.formula_guarded(["ok", cell]) == ("ok", f"'{cell}")


def test_what_is_due_as_a_file(red: Team, olga: User) -> None:
    Team.objects.filter(pk=red.pk).update(name="=red")
    payment_request(team=red, by=olga, now=CLOSED)
    (row,) = exports.payable_rows(currency="USD", now=CLOSED)
    assert row[1:7] == ("'=red", "USD", "100.01", "0.00", "", "100.01") and row[7] == "olga"
    (waits,) = exports.payable_rows(currency="USD", now=SETTLED)
    assert waits[3:6] == ("0.00", "100.01", "2026-W47")


def test_what_came_in_and_went_out_as_a_file(red: Team, olga: User, olaf: User) -> None:
    cast.staked(cast.defense("own", red), by=red)
    Stake.objects.filter(paid_by=red).update(receipt="-SEPA 1")
    cast.paid(red, olga, olaf)
    deposit, received, went = exports.receipt_rows(currency="USD")
    assert (deposit[2], deposit[4], deposit[9]) == ("received", "400.04", "A gift.")
    assert (received[2], received[7], received[8]) == ("received", "red", "'-SEPA 1")
    assert (went[2], went[4], went[8]) == ("paid", "100.01", "SEPA 7")


DAY = timedelta(1)


@pytest.fixture
def makers(olga: User) -> Team:
    cast.deposit(20 * PRIZE, olga)
    return cast.team("makers")


def _broken_by(team: Team, makers: Team, name: str = "net", days: float = 1) -> None:
    cast.ended(cast.broken_stake(team, makers, name, days=days))


def test_the_refund_of_a_void_stake_waits_for_the_appeals_on_the_break_that_voids_it(
    makers: Team, olga: User, olaf: User
) -> None:
    """Or its makers, whose own picture it may be, have the money back before they appeal that very picture."""
    stake = cast.staked(cast.defense("own", makers), by=makers)
    early = cast.attack(makers, days=-7)
    cast.ruled(early.image, at=MONDAY + DAY)
    cast.broken(stake.defense, early)
    stakes_end(now=MONDAY + DAY)
    stake.refresh_from_db()
    assert stake.end == StakeEnd.VOID and prizes_settle(now=MONDAY + DAY) == 1
    found = payable(makers, now=MONDAY + DAY)
    assert (found.balance, found.due, found.weeks) == (PRIZE, 0, (early.week,))
    later = MONDAY + 8 * DAY
    assert payable(makers, now=later).due == PRIZE
    asked = payment_request(team=makers, by=olga, now=later)
    cast.overruled(early.image, at=later)
    found = payable(makers, now=later + 60 * DAY)
    assert (found.balance, found.due, found.weeks) == (PRIZE, 0, ()), (
        "the break was overruled, and no sweep has seen it"
    )
    refused("less_due", payment_pay, payment_id=asked.pk, reference="SEPA 7", by=olaf, now=later)
    cast.swept(later)
    assert (balance(stake), balance(makers), corrections.owed_by_teams()) == (PRIZE, 0, [])


def test_what_waits_of_merged_teams_is_held_back_once_and_listed_as_the_action_does(makers: Team, olga: User) -> None:
    """Their names and their numbers sort differently."""
    zed, abe = cast.team("zed"), cast.team("abe")
    _broken_by(zed, makers, "first")
    prizes_settle(now=SETTLED)
    late = CLOSED + 3 * DAY
    _broken_by(abe, makers, "second", days=(late - MONDAY) / DAY)
    cast.all_caught_up()
    now = late + 8 * DAY
    prizes_settle(now=now)
    assert (payable(zed, now=now).due, payable(abe, now=now).due) == (PRIZE, 0)
    zed.merged_into, zed.merged_at = abe, now
    zed.save()
    listed = payables(now=now)
    assert [(row.team.name, row.due, row.waiting) for row in listed] == [("abe", PRIZE, 0), ("zed", 0, PRIZE)]
    assert {row.team: row for row in listed} == {row.team: row for row in payables_of(abe, now=now)}
    assert payment_request(team=abe, by=olga, now=now).cents == PRIZE
    refused("nothing_due", payment_request, team=zed, by=olga, now=now)


# What is not due any more ---------------------------------------------------------------------------------------------


def _overruled_and_in_force_again(sent: Attack) -> None:
    cast.overruled(sent.image)
    stakes_end(now=CLOSED)
    assert Stake.objects.get().ended_at is None


@pytest.fixture
def sent(makers: Team) -> Attack:
    """A break of the week after that of the stake, whose prize can be paid."""
    red = cast.team("red")
    cast.broken_stake(red, makers, days=8)
    stakes_end(now=SETTLED + 3 * DAY)
    prizes_settle(now=CLOSED)
    assert payable(red, now=CLOSED).due == PRIZE
    return red.attacks.get()


@tables.cases(
    "change why",
    (lambda sent: cast.overruled(sent.image), "the break was overruled, and no sweep has seen it"),
    (_overruled_and_in_force_again, "the stake is in force again"),
    (
        lambda sent: Association.objects.create(team=sent.team, since=MONDAY, reason="Works here.", declared_at=CLOSED),
        "the team turned out to be unpaid",
    ),
)
def test_what_is_not_due_any_more_is_neither_asked_for_nor_paid(
    change: Callable[[Attack], object], why: str, sent: Attack, olga: User
) -> None:
    asked = payment_request(team=sent.team, by=olga, now=CLOSED)
    change(sent)
    olaf = factories.user("olaf", "organizers")
    refused("less_due", payment_pay, payment_id=asked.pk, reference="SEPA 7", by=olaf, now=CLOSED)
    payment_cancel(payment_id=asked.pk, by=olaf, now=CLOSED)
    assert refused("nothing_due", payment_request, team=sent.team, by=olga, now=CLOSED), why
    later = payable(sent.team, now=CLOSED + 60 * DAY)
    assert (later.balance, later.due) == (PRIZE, 0), "whenever"
    assert prizes_settle(now=CLOSED) == 1 and corrections.owed_by_teams() == []


def test_a_part_that_is_not_due_any_more_waits_alone(sent: Attack, olga: User, olaf: User) -> None:
    """Another team shares it since; its week is closed again when nobody has swept."""
    stake, blue = Stake.objects.get(), cast.team("blue")
    asked = payment_request(team=sent.team, by=olga, now=CLOSED)
    cast.broken(stake.defense, cast.attack(blue, days=8.5))
    refused("less_due", payment_pay, payment_id=asked.pk, reference="SEPA 7", by=olaf, now=CLOSED)
    payment_cancel(payment_id=asked.pk, by=olaf, now=CLOSED)
    found = payable(sent.team, now=CLOSED)
    assert (found.balance, found.due, found.waiting, found.weeks) == (PRIZE, 5_001, 5_000, ())
    own, half = ledger_account(AccountKind.TEAM, team=sent.team), ledger_account(AccountKind.ATTACKERS)
    move(half, own, 100, rule="R35", why="Another share.", causes={}, now=CLOSED)
    assert payable(sent.team, now=CLOSED).due == 5_101


def test_the_pages_say_that_it_goes_back(
    sent: Attack, olga: User, signed_in: Callable[[User], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    Member.objects.create(team=sent.team, user=factories.user("carl"), captain=True)
    _overruled_and_in_force_again(sent)
    monkeypatch.setattr("django.utils.timezone.now", lambda: CLOSED)
    listed = one_line(signed_in(olga).get("/organizer/money/").content.decode())
    assert "USD 100.01, not due any more: it goes back" in listed and "Ask for payment" not in listed
    own = signed_in(User.objects.get(username="carl")).get("/team/money/").content.decode()
    assert "which is not due any more and goes back" in own


# Weeks before the stake -----------------------------------------------------------------------------------------------


def test_a_prize_waits_for_a_picture_of_before_the_stake_that_may_void_it(makers: Team) -> None:
    red, stake = cast.team("red"), cast.staked(cast.defense("net", makers))
    own = cast.staked(cast.defense("own", makers), by=makers)
    early = cast.attack(cast.team("blue"), days=-20)
    cast.broken(stake.defense, cast.attack(red, days=1))
    cast.ended(own, StakeEnd.WITHDRAWN)
    cast.swept(SETTLED)
    found = payable(red, now=CLOSED)
    assert (found.balance, found.due, found.weeks) == (PRIZE, 0, (early.week,))
    assert payable(makers, now=CLOSED).due == PRIZE, "what goes back to who paid it waits for nothing of before"
    cast.ruled(early.image, at=CLOSED)
    assert payable(red, now=CLOSED + 8 * DAY).due == 0, "it is not run yet"
    cast.answered(stake.defense, early.image, 1, at=CLOSED)
    assert payable(red, now=CLOSED + 7 * DAY - DAY / 24).due == 0, "it can be appealed"
    assert payable(red, now=CLOSED + 7 * DAY).due == PRIZE


def test_a_defense_more_asks_two_questions_more_however_many_weeks_there_are(makers: Team, olga: User) -> None:
    red, blue = cast.team("red"), cast.team("blue")
    assert (payable(red, now=CLOSED).due, payables(now=CLOSED)) == (0, []), "a team without money"
    _broken_by(red, makers, "net 0")
    prizes_settle(now=SETTLED)
    red_due = partial(payable, red, now=CLOSED)
    one = queries(red_due)
    for week in range(3):
        cast.ruled(cast.attack(blue, days=-7 * week - 5).image)
    cast.caught_up(Stake.objects.get().defense)
    assert payable(red, now=CLOSED).due == PRIZE and queries(red_due) == one, "weeks before the stake ask nothing more"
    for number in range(1, 4):
        _broken_by(red, makers, f"net {number}")
    cast.all_caught_up()
    prizes_settle(now=SETTLED)
    assert payable(red, now=CLOSED).due == 4 * PRIZE and queries(red_due) <= one + 2 * 3
    cast.paid(red, olga, factories.user("olaf", "organizers"))
    assert queries(red_due) < one / 2, "nothing is asked of weeks whose money is paid out"


def test_each_share_names_what_it_waits_for(makers: Team) -> None:
    """A share of a later week waits for the earlier weeks of its own stake: a picture of those would outrank it."""
    red = cast.team("red")
    _broken_by(red, makers, "first")
    _broken_by(red, makers, "second", days=8)
    cast.all_caught_up()
    prizes_settle(now=SETTLED)
    found = payable(red, now=SETTLED)
    assert {each.defense: each.weeks for each in found.shares} == {
        "first": ("2026-W47",),
        "second": ("2026-W47", "2026-W48"),
    }
    assert sum(each.cents for each in found.shares) == found.waiting == 2 * PRIZE
