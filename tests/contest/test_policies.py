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


def record(currency: str, *, since: datetime = cast.BEFORE, **numbers: int) -> PolicyVersion:
    told = replace(Policy(), currency=currency, **numbers)
    return PolicyVersion.objects.create(
        version=PolicyVersion.objects.count() + 1, numbers=told.to_json(), in_force_from=since, reason="x"
    )


def test_a_policy_of_another_currency_is_refused_once_there_is_an_entry(olga: User) -> None:
    factories.policy_version()
    cast.deposit(100, olga)
    with pytest.raises(Conflict, match="its currency is JPY, and the ledger has entries in USD") as refused:
        record("JPY")
    assert refused.value.code == "currency_fixed"
    assert PolicyVersion.objects.count() == 1
    record("USD", appeal_days=8)


def test_one_that_is_recorded_before_may_have_any(olga: User) -> None:
    factories.policy_version()
    record("EUR")
    cast.deposit(100, olga, now=cast.BEFORE + timedelta(1))
    record("EUR", appeal_days=8)
    with pytest.raises(Conflict):
        record("USD")


def test_the_first_entry_waits_while_the_currency_is_to_change(olga: User) -> None:
    """Else what was entered as cents of the one would be read as cents of the other from then on."""
    factories.policy_version()
    coming = record("EUR", since=cast.BEFORE + timedelta(3))
    forget_versions()
    with pytest.raises(Conflict, match="the currency is USD now and EUR from ") as refused:
        cast.deposit(100, olga, now=cast.BEFORE + timedelta(1))
    assert refused.value.code == "currency_changes"
    assert not LedgerEntry.objects.exists()
    cast.deposit(100, olga, now=coming.in_force_from)
    assert LedgerEntry.objects.exists()


def test_the_first_entry_goes_in_when_the_change_was_taken_back(olga: User) -> None:
    factories.policy_version()
    record("EUR", since=cast.BEFORE + timedelta(3))
    record("USD", since=cast.BEFORE + timedelta(3))
    forget_versions()
    cast.deposit(100, olga, now=cast.BEFORE + timedelta(1))
    assert LedgerEntry.objects.exists()


def test_numbers_from_before_there_were_currencies_are_of_the_first(olga: User) -> None:
    row = factories.policy_version()
    row.numbers.pop("currency", None)
    row.save()
    cast.deposit(100, olga)
    record("USD")


def test_a_recorded_one_keeps_its_currency_too(olga: User) -> None:
    row = factories.policy_version()
    cast.deposit(100, olga)
    row.numbers["currency"] = "EUR"
    with pytest.raises(Conflict):
        row.save()
