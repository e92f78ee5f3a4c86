"""Two organizers at once, on real PostgreSQL: one version is recorded, and the other one is told."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from contest.policy.selectors import history
from contest.policy.services import Draft, policy_call_back, policy_record
from labeling.models import PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions
from tests import factories
from tests.at_once import at_once
from tests.contest.policy.test_recording import DAY, NOW

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]


def recording(by: User, base: int, days: int, number: int) -> Callable[[], Any]:
    """Return what records a version that holds so many days from now on."""
    draft = Draft(Policy(appeal_days=number), base, NOW + days * DAY, "why")
    return lambda: policy_record(draft, by=by, zone="UTC", now=NOW) and ""


@pytest.mark.parametrize("many", [2, pytest.param(6, marks=pytest.mark.long("more at once"))])
def test_one_of_all_is_recorded(many: int, olga: User) -> None:
    factories.policy_version()
    forget_versions()
    for base in range(1, 4):
        told = sorted(at_once(*(recording(olga, base, base, 10 * base + each) for each in range(many))))
        assert told == ["", *["policy_changed"] * (many - 1)]
        assert PolicyVersion.objects.count() == base + 1


def test_calling_back_beside_recording(olga: User) -> None:
    factories.policy_version()
    for _ in range(3):
        PolicyVersion.objects.exclude(version=1).delete()
        forget_versions()
        recording(olga, 1, 1, 9)()
        back = lambda: policy_call_back(2, reason="why", by=olga, now=NOW) and ""  # noqa: E731 - beside the other one
        assert sorted(at_once(back, recording(olga, 2, 2, 10))) == ["", "policy_changed"]
        assert len(history(now=NOW)) == 3
