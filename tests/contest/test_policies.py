"""The currency of the contest is fixed once money moved (R34)."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict
from contest.models import LedgerEntry
from labeling.models import PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions
from tests import factories
from tests.contest.money import cast

pytestmark = pytest.mark.django_db
COMING = cast.BEFORE + timedelta(3)


@pytest.fixture(autouse=True)
def first() -> PolicyVersion:
    return factories.policy_version()


def record(currency: str, *, since: datetime = cast.BEFORE, **numbers: int) -> PolicyVersion:
    told = replace(Policy(), currency=currency, **numbers)
    return PolicyVersion.objects.create(
        version=PolicyVersion.objects.count() + 1, numbers=told.to_json(), in_force_from=since, reason="x"
    )


def test_a_policy_of_another_currency_is_refused_once_there_is_an_entry(olga: User) -> None:
    cast.deposit(100, olga)
    with pytest.raises(Conflict, match="its currency is JPY, and the ledger has entries in USD") as refused:
        record("JPY")
    assert refused.value.code == "currency_fixed"
    assert PolicyVersion.objects.count() == 1
    record("USD", appeal_days=8)


def test_one_that_is_recorded_before_may_have_any(olga: User) -> None:
    record("EUR")
    cast.deposit(100, olga, now=cast.BEFORE + timedelta(1))
    record("EUR", appeal_days=8)
    with pytest.raises(Conflict):
        record("USD")


def test_the_first_entry_waits_while_the_currency_is_to_change(olga: User) -> None:
    """Else what was entered as cents of the one would be read as cents of the other from then on."""
    record("EUR", since=COMING)
    forget_versions()
    with pytest.raises(Conflict, match="the currency is USD now and EUR from ") as refused:
        cast.deposit(100, olga, now=cast.BEFORE + timedelta(1))
    assert refused.value.code == "currency_changes"
    assert not LedgerEntry.objects.exists()
    cast.deposit(100, olga, now=COMING)
    assert LedgerEntry.objects.exists()


def test_the_first_entry_goes_in_when_the_change_was_taken_back(olga: User) -> None:
    for currency in ("EUR", "USD"):
        record(currency, since=COMING)
    forget_versions()
    cast.deposit(100, olga, now=cast.BEFORE + timedelta(1))
    assert LedgerEntry.objects.exists()


def test_numbers_from_before_there_were_currencies_are_of_the_first(olga: User, first: PolicyVersion) -> None:
    first.numbers.pop("currency", None)
    first.save()
    cast.deposit(100, olga)
    record("USD")
    first.numbers["currency"] = "EUR"
    with pytest.raises(Conflict):
        first.save()
