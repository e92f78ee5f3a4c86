"""The currency of the contest is fixed once money moved (R34)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict
from labeling.models import PolicyVersion
from labeling.policy import Policy
from tests import factories
from tests.contest.money import cast

pytestmark = pytest.mark.django_db


def record(currency: str, **numbers: int) -> PolicyVersion:
    told = replace(Policy(), currency=currency, **numbers)
    return PolicyVersion.objects.create(
        version=PolicyVersion.objects.count() + 1, numbers=told.to_json(), in_force_from=cast.BEFORE, reason="x"
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
