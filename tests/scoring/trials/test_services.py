"""Asking for trials, planning them one after the other, and the check of the framework (R31)."""

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, transaction

from labeling.policy import Policy
from scoring import selectors as scoring
from scoring import tasks
from scoring.enums import Fault, RunState, TrialKind
from scoring.models import FrameworkCheck, Trial
from scoring.trials import selectors, services
from tests import factories
from tests.refusals import refused
from tests.scoring import cast as scoring_cast
from tests.scoring.cast import POLICY
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db
SMOKE, PRIVATE, EARLIER, PROBE = TrialKind


def plan(now: datetime, policy: Policy = POLICY) -> int:
    return services.trials_plan(policy=policy, now=now, rng=random.Random(5))


def finish(trial: Trial, now: datetime, totals: dict[str, Any], **values: Any) -> None:
    claimed = services.trial_claim(worker="one", now=now)
    assert claimed == trial
    services.trial_finish(claimed, totals=totals, now=now, **values)


def test_trials_follow_each_other_and_end(now: datetime) -> None:
    cast.private(2)
    newcomer = cast.container()
    for kind in TrialKind:
        assert (plan(now), plan(now)) == (1, 0), "one at a time"
        trial = Trial.objects.get(defense=newcomer, kind=kind)
        assert (trial.state, trial.number, trial.asked_by, trial.batch_size) == (RunState.QUEUED, 1, None, 4)
        asked = {selectors.ASKED: {"sha256": selectors.fingerprint([])}} if kind is EARLIER else {}
        finish(trial, now, cast.GOOD[kind] | asked)
    assert plan(now) == 0
    in_force = selectors.private_set_in_force()
    assert {each.private_set for each in Trial.objects.exclude(kind=PRIVATE)} == {None}
    assert Trial.objects.get(kind=PRIVATE).private_set == in_force


def test_seeds_are_as_long_as_those_of_official_runs(now: datetime) -> None:
    seeds = [cast.ask(cast.container(f"d{seed}"), SMOKE, now, seed=seed).seed for seed in range(40)]
    assert all(0 <= seed < 2**63 for seed in seeds) and 8 < sum(seed >= 2**62 for seed in seeds) < 32


def test_attacks_and_a_private_set_that_came_later_are_asked_about(now: datetime) -> None:
    newcomer = cast.container()
    for kind in TrialKind:
        cast.passed(newcomer, kind)
    assert plan(now) == 0
    factories.attack_row(image := factories.image(origin="attack"))
    scoring_cast.ruled(image)
    newest = cast.private(4, seed=300)
    assert plan(now) == 1, "one at a time"
    again = Trial.objects.get(state=RunState.QUEUED)
    assert (again.kind, again.number, again.private_set) == (PRIVATE, 2, newest)
    finish(again, now, cast.GOOD[PRIVATE])
    assert (plan(now), plan(now)) == (1, 0)
    again = Trial.objects.get(state=RunState.QUEUED)
    assert (again.kind, again.number) == (EARLIER, 2)
    asked = {"sha256": selectors.fingerprint(selectors.earlier_questions(now=factories.NOW))}
    finish(again, now, cast.GOOD[EARLIER] | {selectors.ASKED: asked})
    assert plan(now) == 0


@pytest.mark.parametrize(
    ("kind", "totals", "answered", "why"),
    [
        (PRIVATE, {"pictures": 4, "faults": 4, "rows": 0}, False, "it faulted at once"),
        (PRIVATE, {"pictures": 4, "right": 4, "rows": 4}, True, "a batch"),
        (SMOKE, {"accepted": False, "pictures": 40, "rounds": 0}, False, "no round"),
        (SMOKE, {"accepted": False, "pictures": 40, "rounds": 1}, True, "a round"),
        (EARLIER, {"pictures": 0, "rows": 0}, False, "there was nothing to answer"),
        (SMOKE, {}, False, "nothing is known"),
    ],
)
def test_a_trial_with_an_answer_is_an_answer(kind: TrialKind, totals: dict[str, Any], answered: bool, why: str) -> None:
    newcomer = cast.container()
    cast.passed(newcomer, kind, totals=totals)
    assert scoring.has_answered(newcomer.pk) is answered, why
    Trial.objects.update(state=RunState.DEAD)
    assert scoring.has_answered(newcomer.pk) is False


BAD = [
    (SMOKE, {"accepted": False}, "the smoke test was not accepted"),
    (PRIVATE, cast.GOOD[PRIVATE] | {"right": 7, "abstained": 3}, "too few right"),
    (PRIVATE, cast.GOOD[PRIVATE] | {"milliseconds": 10**9}, "too slow"),
    (EARLIER, {"pictures": 1, "wrong": 1}, "a mistake on an earlier attack"),
]


@pytest.mark.parametrize(("kind", "totals", "why"), BAD)
def test_nothing_follows_a_trial_that_is_not_passed(
    kind: TrialKind, totals: dict[str, Any], why: str, now: datetime
) -> None:
    newcomer = cast.container()
    for earlier in selectors.IN_ORDER[: selectors.IN_ORDER.index(kind)]:
        cast.passed(newcomer, earlier)
    cast.passed(newcomer, kind, totals=totals)
    assert plan(now) == 0, why


def test_without_a_complete_private_set_trials_wait(now: datetime) -> None:
    smoke = {"kind": SMOKE, "number": 1, "seed": 1, "batch_size": 4, "totals": {"accepted": True}}
    Trial.objects.create(defense=cast.container(), state=RunState.FINISHED, created_at=now, **smoke)
    assert plan(now) == 0
    cast.private(2)
    assert plan(now) == 1


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"image": "", "reference": "always-abstain"}, "shipped with this project"),
        ({"published_at": factories.NOW}, "published already"),
        ({"retired_at": factories.NOW}, "a newer version took its place"),
    ],
)
def test_only_containers_before_publication_are_tried_by_themselves(
    values: dict[str, Any], why: str, now: datetime
) -> None:
    cast.container(**values)
    assert plan(now) == 0, why


@pytest.mark.both("a partial unique index refuses")
def test_the_same_trial_is_not_asked_for_twice_at_a_time(now: datetime) -> None:
    newcomer = cast.container()
    cast.ask(newcomer, SMOKE, now)
    refused("trial_under_way", cast.ask, newcomer, SMOKE, now)
    with pytest.raises(IntegrityError), transaction.atomic():
        Trial.objects.create(defense=newcomer, kind=SMOKE, number=9, seed=1, batch_size=4, created_at=now)


REFUSED = [
    (PRIVATE, {}, "trial_too_early", "the smoke test comes first"),
    (EARLIER, {}, "trial_too_early", "so it does here"),
    (PROBE, {}, "trial_too_early", "and here"),
    (SMOKE, {"retired_at": factories.NOW}, "retired", "a newer version took its place"),
    (PRIVATE, {"published_at": factories.NOW}, "no_private_set", "it may be tried with anything, were there a set"),
]


@pytest.mark.parametrize(("kind", "values", "code", "why"), REFUSED, ids=[row[3] for row in REFUSED])
def test_a_trial_that_may_not_be_is_refused(
    kind: TrialKind, values: dict[str, Any], code: str, why: str, olga: User, now: datetime
) -> None:
    asked = {"by": olga, "policy": POLICY, "now": now, "rng": random.Random(1)}
    refused(code, services.trial_ask, defense := cast.container(**values), kind, **asked)
    if values.get("published_at"):
        cast.private(2)
        services.trial_ask(defense, kind, **asked)
        assert [trial.kind for trial in Trial.objects.filter(asked_by=olga)] == [kind]


def test_trials_are_claimed_in_their_order_and_not_before_their_rest(now: datetime) -> None:
    first, second = (cast.ask(cast.container(name), SMOKE, now) for name in ("one", "two"))
    Trial.objects.filter(pk=first.pk).update(not_before=now + timedelta(minutes=1))
    minutes = (0, 0, 1)
    found = [services.trial_claim(worker="w", now=now + timedelta(minutes=each)) for each in minutes]
    assert found == [second, None, first]


def test_the_tasks_do_what_the_services_do(now: datetime) -> None:
    factories.policy_version()
    cast.container()
    tasks.plan_trials()
    assert Trial.objects.update(state=RunState.RUNNING, attempt=1, lease_until=now) == 1
    tasks.reclaim_trials()
    assert Trial.objects.get().state == RunState.QUEUED
    tasks.look_for_copied_defenses()


def test_only_what_the_platform_is_to_blame_for_is_tried_again(
    now: datetime, capsys: pytest.CaptureFixture[str]
) -> None:
    def dead(name: str, fault: Fault, **values: Any) -> Trial:
        return cast.passed(cast.container(name, **values), SMOKE, fault=fault, state=RunState.DEAD)

    again, other = dead("one", Fault.PLATFORM), dead("two", Fault.IMAGE_PULL)
    dead("three", Fault.CRASHED)
    dead("four", Fault.PLATFORM, retired_at=now)
    cast.passed(dead("five", Fault.PLATFORM).defense, SMOKE)  # which takes its place
    assert [services.trials_retry(now=now, trial=again.pk) for _ in range(2)] == [1, 0]
    call_command("retry_dead_runs")
    assert capsys.readouterr().out == "0 runs queued again, 1 trials\n"
    assert set(Trial.objects.filter(state=RunState.QUEUED)) == {again, other}


def test_a_trial_asked_for_at_the_same_moment_is_not_doubled(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    newcomer = cast.container()
    dead = cast.passed(newcomer, SMOKE, state=RunState.DEAD, fault=Fault.PLATFORM)
    cast.ask(newcomer, SMOKE, now)
    # As a statement sees it that began before the new trial was there.
    monkeypatch.setattr(selectors, "trials_to_retry", lambda: Trial.objects.filter(pk=dead.pk))
    refused("trial_under_way", services.trials_retry, now=now)
    assert Trial.objects.get(pk=dead.pk).state == RunState.DEAD


# The framework


@pytest.mark.parametrize("reason", ["", "  ", "x" * 4001])
def test_a_check_has_a_reason(reason: str, rita: User, now: datetime) -> None:
    refused("no_reason", services.framework_check, cast.container(), passed=True, reason=reason, by=rita, now=now)


def test_the_board_alone_checks_a_framework(olga: User, now: datetime) -> None:
    """Organizers run the trials; whether the code is readable is a board check (R31, 4)."""
    for by in (olga, factories.user("carl", "teams")):
        check = {"passed": True, "reason": "PyTorch", "by": by, "now": now}
        refused("not_on_board", services.framework_check, cast.container(by.username), **check)
    assert not FrameworkCheck.objects.exists()
