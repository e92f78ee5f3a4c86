"""Recording versions and calling them back: what is refused, that nothing holds backwards, and two at once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.errors import DomainError
from common.models import AuditEntry
from contest.models import LedgerEntry
from contest.policy.selectors import State, history, holding
from contest.policy.services import AHEAD, Draft, policy_call_back, policy_draft, policy_record
from labeling.models import PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions, policies_between, policy_at, policy_in_force, time_zones
from tests import factories
from tests.at_once import at_once
from tests.contest.money import cast
from tests.contest.policy.test_numbers import POLICIES
from tests.refusals import refused

pytestmark = pytest.mark.django_db
NOW = factories.NOW  # a Wednesday at noon
DAY = timedelta(days=1)


def record(
    by: User, *, base: int = 1, since: datetime = NOW + DAY, now: datetime = NOW, reason: str = "why", **numbers: Any
) -> PolicyVersion:
    policy = replace(history(now=now)[0].policy, **numbers)
    return policy_record(Draft(policy, base, since, reason), by=by, zone="UTC", now=now)


def states(now: datetime = NOW) -> dict[int, State]:
    return {each.version: each.state for each in history(now=now)}


@pytest.fixture(autouse=True)
def first(db: None) -> None:
    factories.policy_version()
    forget_versions()


def test_a_version_holds_from_its_moment_on(olga: User) -> None:
    row = record(olga, min_box_fraction=Fraction(1, 5))
    assert (row.version, row.recorded_by, row.recorded_at) == (2, olga, NOW)
    assert policy_in_force(NOW + DAY - timedelta(microseconds=1)).version == 1
    assert policy_in_force(NOW + DAY).policy == Policy(min_box_fraction=Fraction(1, 5))
    assert states() == {2: State.TO_COME, 1: State.IN_FORCE}
    assert states(NOW + DAY) == {2: State.IN_FORCE, 1: State.PAST}


def recorded(by: User, *acts: Callable[[User], object], **numbers: Any) -> None:
    """Record version 2, which is to come, and then act."""
    record(by, appeal_days=8)
    for act in acts:
        act(by)
    if numbers:
        record(by, base=2, **numbers)


def back(version: int, after: timedelta = timedelta(0), reason: str = "why") -> Callable[[User], object]:
    """Return what calls a version back."""
    return lambda by: policy_call_back(version, reason=reason, by=by, now=NOW + after)


def in_yen(by: User) -> None:
    """Draft another currency, with money in the ledger."""
    cast.deposit(100, by)
    policy_draft(Draft(Policy(currency="JPY"), 1, NOW + DAY, "why"), by=by, zone="UTC", now=NOW)


SHORT = NOW + AHEAD - timedelta(microseconds=1)
READ = DAY - AHEAD + timedelta(microseconds=1)
REFUSED: list[tuple[Callable[[User], object], str, str | None, str]] = [
    (lambda by: record(by, appeal_days=7), "unchanged", None, "Nothing differs from version 1"),
    (lambda by: record(by, reason=" \n", appeal_days=8), "invalid", "reason", "Give the reason"),
    (lambda by: record(by, reason="x" * 4001, appeal_days=8), "invalid", "reason", "at most 4,000"),
    (lambda by: record(by, since=NOW, appeal_days=8), "too_early", "since", "at least one minute from now"),
    (lambda by: record(by, since=SHORT, appeal_days=8), "too_early", "since", "No policy holds backwards"),
    (lambda by: record(by, since=NOW - 365 * DAY, appeal_days=8), "too_early", "since", "No policy holds backwards"),
    (lambda by: record(by, base=0, appeal_days=8), "policy_changed", None, "version 1 was recorded meanwhile"),
    (lambda by: record(by, base=7, appeal_days=8), "policy_changed", None, "version 1 was recorded meanwhile"),
    # None comes before or with one that is to come.
    (
        lambda by: recorded(by, since=NOW + AHEAD, appeal_days=9),
        "too_early",
        "since",
        "Version 2 holds from Thu 19 Nov",
    ),
    (lambda by: recorded(by, since=NOW + DAY, appeal_days=9), "too_early", "since", "Version 2 holds from Thu 19 Nov"),
    # The currency stays what the ledger is kept in.
    (in_yen, "currency_fixed", "currency", "the ledger has entries in USD"),
    # Calling back: it holds; somebody may have read it already; not the newest; there is none; the reason is public.
    (lambda by: recorded(by, back(2, DAY)), "policy_in_force", None, ""),
    (lambda by: recorded(by, back(2, READ)), "policy_in_force", None, ""),
    (lambda by: recorded(by, back(1)), "policy_changed", None, ""),
    (lambda by: recorded(by, back(9)), "policy_changed", None, ""),
    (lambda by: recorded(by, back(2, reason=" ")), "invalid", "reason", ""),
    (
        lambda by: PolicyVersion.objects.update(in_force_from=NOW + DAY) and back(1)(by),  # the first one
        "policy_in_force",
        None,
        "",
    ),
]


@pytest.mark.parametrize(("act", "code", "field", "words"), REFUSED)
def test_what_is_refused_and_not_called_back(
    act: Callable[[User], object], code: str, field: str | None, words: str, olga: User
) -> None:
    found = refused(code, act, olga)
    assert (found.field, words in found.message) == (field, True)


@pytest.mark.both("a constraint refuses it")
def test_the_database_has_each_version_once(olga: User) -> None:
    record(olga, appeal_days=8)
    with pytest.raises(IntegrityError), transaction.atomic():
        PolicyVersion.objects.create(version=2, numbers=Policy().to_json(), in_force_from=NOW, reason="again")


# Calling back --------------------------------------------------------------------------------------------------------


def test_one_that_is_to_come_is_called_back_by_one_that_goes_on(olga: User) -> None:
    record(olga, appeal_days=8, time_zone="Asia/Tokyo")
    row = policy_call_back(2, reason="a mistake", by=olga, now=NOW)
    assert (row.version, row.in_force_from, row.reason, row.recorded_by) == (3, NOW, "a mistake", olga)
    found = history(now=NOW + 2 * DAY)
    assert [(each.version, each.state, each.replaced_by) for each in found] == [
        (3, State.IN_FORCE, None),
        (2, State.NEVER, 3),
        (1, State.PAST, None),
    ]
    assert (found[0].changes, found[0].before and found[0].before.version) == ((), 1)
    assert [change.number.name for change in found[1].changes] == ["appeal_days", "time_zone"]
    assert policy_at(NOW + 2 * DAY) == Policy()
    assert (
        Policy(appeal_days=8, time_zone="Asia/Tokyo") not in dict(policies_between(NOW - DAY, NOW + 2 * DAY)).values()
    )
    assert [zone for _, zone in time_zones()] == ["UTC"], "nothing is left of its zone"
    assert record(olga, base=3, since=NOW + AHEAD, appeal_days=9).version == 4, "and the way is free again"


def test_with_two_to_come_the_newer_one_is_called_back_first(olga: User) -> None:
    record(olga, appeal_days=8)
    record(olga, base=2, since=NOW + 2 * DAY, appeal_days=9)
    refused("policy_changed", policy_call_back, 2, reason="a mistake", by=olga, now=NOW)
    row = policy_call_back(3, reason="a mistake", by=olga, now=NOW)
    assert (row.version, row.in_force_from) == (4, NOW + DAY), "it stands for version 2, which was to come"
    assert [policy_at(NOW + days * DAY).appeal_days for days in (0, 1, 2, 3)] == [7, 8, 8, 8]
    policy_call_back(4, reason="that too", by=olga, now=NOW)
    assert {policy_at(NOW + days * DAY).appeal_days for days in (0, 1, 2, 3)} == {7}


def test_both_are_in_the_audit_trail(olga: User) -> None:
    record(olga, appeal_days=8)
    policy_call_back(2, reason="a mistake", by=olga, now=NOW)
    rows = AuditEntry.objects.order_by("pk").values_list("action", "subject", "why", "user", "published")
    assert list(rows) == [
        ("policy.record", {"policy": [2]}, "why", olga.pk, True),
        ("policy.call_back", {"policy": [2]}, "a mistake", olga.pk, True),
    ]
    refused("policy_changed", record, olga, base=1, appeal_days=9)
    assert AuditEntry.objects.count() == 2


# What is told --------------------------------------------------------------------------------------------------------


def test_each_number_names_the_version_that_brought_it(olga: User) -> None:
    record(olga, appeal_days=8)
    record(olga, base=2, since=NOW + 2 * DAY, board_days=20)
    record(olga, base=3, since=NOW + 9 * DAY, appeal_days=9)
    held = {each.number.name: each for each in holding(history(now=NOW + 3 * DAY))}
    told = {name: (each.words, each.version) for name, each in held.items() if each.version > 1}
    assert told == {"appeal_days": ("8 days", 2), "board_days": ("20 days", 3)}
    assert [(words, each.version) for words, each in held["appeal_days"].coming] == [("9 days", 4)]
    assert held["panel_size"].coming == ()
    olga.delete()
    assert history(now=NOW)[0].row.recorded_by is None, "a deleted account leaves the version"


# Whatever is recorded ------------------------------------------------------------------------------------------------

_STEPS = st.lists(
    st.tuples(
        st.integers(0, 60 * 48),  # minutes until it is done
        st.one_of(st.none(), st.tuples(POLICIES, st.integers(-60 * 24, 60 * 96))),  # called back, or what and for when
    ),
    max_size=6,
)


@pytest.mark.slow("it tries many histories")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS)
def test_whatever_is_recorded_nothing_holds_backwards(olga: User, steps: Sequence[tuple[int, Any]]) -> None:
    PolicyVersion.objects.exclude(version=1).delete()
    forget_versions()
    now, looked = NOW, [NOW - DAY]
    for minutes, step in steps:
        now += timedelta(minutes=minutes)
        looked.append(now)
        before = [policy_at(moment) for moment in looked]
        rows, newest = list(PolicyVersion.objects.order_by("version").values()), history(now=now)[0]
        try:
            if step is None:
                row = policy_call_back(newest.version, reason="why", by=olga, now=now)
            else:
                policy, ahead = step
                draft = Draft(policy, newest.version, now + timedelta(minutes=ahead), "why")
                row = policy_record(draft, by=olga, zone="UTC", now=now)
        except DomainError:
            assert list(PolicyVersion.objects.order_by("version").values()) == rows, "a refusal records nothing"
            continue
        assert [policy_at(moment) for moment in looked] == before, "what held stays what held"
        assert list(PolicyVersion.objects.exclude(pk=row.pk).order_by("version").values()) == rows, "only added"
        assert step is None or Policy.from_json(PolicyVersion.objects.get(pk=row.pk).numbers) == step[0]
        # Versions that hold follow each other without a gap, and one is in force; it is the one that decides.
        held = [each for each in reversed(history(now=now)) if each.state is not State.NEVER]
        assert [each.until for each in held] == [*(each.since for each in held[1:]), None]
        assert [each.since for each in held] == sorted({each.since for each in held})
        assert [policy_in_force(each.since).version for each in held] == [each.version for each in held]
        assert [each.version for each in held if each.state is State.IN_FORCE] == [policy_in_force(now).version]


# Two organizers at once ----------------------------------------------------------------------------------------------


def recording(by: User, base: int, days: int, number: int) -> Callable[[], Any]:
    """Return what records a version that holds so many days from now on."""
    draft = Draft(Policy(appeal_days=number), base, NOW + days * DAY, "why")
    return lambda: policy_record(draft, by=by, zone="UTC", now=NOW) and ""


BESIDE = pytest.mark.postgres("several at once: SQLite has one writer")


@BESIDE
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("many", [2, pytest.param(6, marks=pytest.mark.long("more at once"))])
def test_one_of_all_is_recorded(many: int, olga: User) -> None:
    for base in range(1, 4):
        told = sorted(at_once(*(recording(olga, base, base, 10 * base + each) for each in range(many))))
        assert (told, PolicyVersion.objects.count()) == (["", *["policy_changed"] * (many - 1)], base + 1)


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_calling_back_beside_recording(olga: User) -> None:
    for _ in range(3):
        PolicyVersion.objects.exclude(version=1).delete()
        forget_versions()
        recording(olga, 1, 1, 9)()
        back = lambda: policy_call_back(2, reason="why", by=olga, now=NOW) and ""  # noqa: E731 - beside the other one
        assert sorted(at_once(back, recording(olga, 2, 2, 10))) == ["", "policy_changed"]
        assert len(history(now=NOW)) == 3


# The currency, which is fixed once money moved (R34) -----------------------------------------------------------------

COMING = cast.BEFORE + 3 * DAY


def put(currency: str, *, since: datetime = cast.BEFORE, **numbers: int) -> PolicyVersion:
    """Write a version into the database, whatever the services would say."""
    told, version = replace(Policy(), currency=currency, **numbers), PolicyVersion.objects.count() + 1
    forget_versions()
    return PolicyVersion.objects.create(version=version, numbers=told.to_json(), in_force_from=since, reason="x")


def test_a_policy_of_another_currency_is_refused_once_there_is_an_entry(olga: User) -> None:
    """R34: one that is recorded before may have any."""
    put("EUR")
    cast.deposit(100, olga, now=cast.BEFORE + DAY)
    assert "its currency is JPY, and the ledger has entries in EUR" in refused("currency_fixed", put, "JPY").message
    assert put("EUR", appeal_days=8).version == PolicyVersion.objects.count() == 3


@pytest.mark.parametrize(("then", "moment"), [("EUR", COMING), ("USD", cast.BEFORE + DAY)], ids=["changed", "not so"])
def test_the_first_entry_waits_while_the_currency_is_to_change(then: str, moment: datetime, olga: User) -> None:
    """Else what was entered as cents of the one would be read as cents of the other from then on (R34)."""
    put("EUR", since=COMING)
    found = refused("currency_changes", cast.deposit, 100, olga, now=cast.BEFORE + DAY)
    assert "the currency is USD now and EUR from " in found.message and not LedgerEntry.objects.exists()
    put(then, since=COMING)
    cast.deposit(100, olga, now=moment)
    assert LedgerEntry.objects.exists()


def test_numbers_from_before_there_were_currencies_are_of_the_first(olga: User) -> None:
    """R34."""
    first = PolicyVersion.objects.get()
    first.numbers.pop("currency", None)
    first.save()
    cast.deposit(100, olga)
    put("USD")
    first.numbers["currency"] = "EUR"
    refused("currency_fixed", first.save)
