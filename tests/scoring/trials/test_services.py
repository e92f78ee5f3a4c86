"""Trials asked for and planned one after the other, the check of the framework, how a defense stands with each
condition of R31, and what pages are told."""

import json
import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, transaction

from adjudication.models import Ruling
from labeling.models import Image
from policy.numbers import Policy
from scoring import selectors as scoring
from scoring import tasks
from scoring.enums import ConditionStatus, EligibilityCondition, Fault, RunState, TrialKind
from scoring.models import Defense, FrameworkCheck, PrivatePicture, Trial
from scoring.trials import selectors, services
from scoring.trials.order import TrialOrder
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
        asked = {selectors.ASKED: {"sha256": selectors.pictures_fingerprint([])}} if kind is EARLIER else {}
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
    attack()
    for kind, private_set in ((PRIVATE, cast.private(4, seed=300)), (EARLIER, None)):
        assert plan(now) == 1
        again = Trial.objects.get(state=RunState.QUEUED)
        assert (again.kind, again.number, again.private_set) == (kind, 2, private_set)
        asked = {"sha256": selectors.pictures_fingerprint(selectors.earlier_questions(now=factories.NOW))}
        finish(again, now, cast.GOOD[kind] | {selectors.ASKED: asked})
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
    refused(code, services.trial_request, defense := cast.container(**values), kind, **asked)
    if values.get("published_at"):
        cast.private(2)
        services.trial_request(defense, kind, **asked)
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
    tasks.plan_trials.task()
    assert Trial.objects.update(state=RunState.RUNNING, attempt=1, lease_until=now) == 1
    tasks.reclaim_trials.task()
    assert Trial.objects.get().state == RunState.QUEUED
    tasks.look_for_copied_defenses.task()


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


@pytest.mark.parametrize("reason", ["", "  ", "x" * 4001])
def test_a_check_has_a_reason(reason: str, rita: User, now: datetime) -> None:
    refused("invalid", services.framework_check, cast.container(), passed=True, reason=reason, by=rita, now=now)


def test_the_board_alone_checks_a_framework(olga: User, now: datetime) -> None:
    """Organizers run the trials; whether the code is readable is a board check (R31, 4)."""
    for by in (olga, factories.user("carl", "teams")):
        check = {"passed": True, "reason": "PyTorch", "by": by, "now": now}
        refused("not_on_board", services.framework_check, cast.container(by.username), **check)
    assert not FrameworkCheck.objects.exists()


IN_FORCE = Policy()


PASSED, FAILED, PENDING, NOT_YET = ConditionStatus


def standing(defense: Defense, policy: Policy = IN_FORCE) -> dict[EligibilityCondition, ConditionStatus]:
    return {
        each.condition: each.standing for each in selectors.eligibility_of(defense, policy, now=factories.NOW).findings
    }


def eligible(defense: Defense) -> bool:
    return selectors.eligibility_of(Defense.objects.get(pk=defense.pk), IN_FORCE, now=factories.NOW).eligible


def test_before_anything_nothing_is_passed() -> None:
    found = selectors.eligibility_of(cast.container(), IN_FORCE, now=factories.NOW)
    assert [(each.condition, each.standing, each.at) for each in found.findings] == [
        (condition, NOT_YET, None) for condition in EligibilityCondition
    ]
    assert found.eligible is False


@pytest.fixture
def complete(rita: User, now: datetime) -> Defense:
    newcomer = cast.container()
    for kind in TrialKind:
        cast.passed(newcomer, kind)
    services.framework_check(newcomer, passed=True, reason="PyTorch", by=rita, now=now)
    return newcomer


def test_with_everything_passed_a_defense_is_eligible(complete: Defense, now: datetime) -> None:
    found = selectors.eligibility_of(complete, IN_FORCE, now=factories.NOW)
    assert {(each.standing, each.at) for each in found.findings} == {(PASSED, now)} and found.eligible is True
    by_name = {each.condition: each.figures for each in found.findings}
    assert by_name[EligibilityCondition.SPEED] == {"rows": 16, "milliseconds": 900}
    assert (by_name[EligibilityCondition.PRIVATE]["right"], by_name[EligibilityCondition.FRAMEWORK]) == (
        9,
        {"reason": "PyTorch"},
    )


G = cast.GOOD


# kind of the newest trial, its values, the condition, how it stands
CASES: list[tuple[TrialKind, dict[str, Any], EligibilityCondition, ConditionStatus, str]] = [
    (SMOKE, {"totals": {"accepted": False}}, EligibilityCondition.CONTAINER, FAILED, "not accepted"),
    (SMOKE, {"state": RunState.QUEUED, "totals": {}}, EligibilityCondition.CONTAINER, PENDING, "waits"),
    (PRIVATE, {"totals": G[PRIVATE] | {"right": 7, "abstained": 3}}, EligibilityCondition.PRIVATE, FAILED, "70 %"),
    (
        PRIVATE,
        {"totals": G[PRIVATE] | {"abstained": 0, "wrong": 1}},
        EligibilityCondition.PRIVATE,
        FAILED,
        "a wrong answer",
    ),
    (PRIVATE, {"totals": G[PRIVATE] | {"abstained": 0, "faults": 1}}, EligibilityCondition.PRIVATE, FAILED, "a fault"),
    (PRIVATE, {"totals": G[PRIVATE] | {"milliseconds": 10**7}}, EligibilityCondition.SPEED, FAILED, "too slow"),
    (PRIVATE, {"totals": G[PRIVATE] | {"milliseconds": 10**7}}, EligibilityCondition.PRIVATE, PASSED, "slow and right"),
    (PRIVATE, {"state": RunState.DEAD, "totals": {}}, EligibilityCondition.PRIVATE, NOT_YET, "the platform failed"),
    (EARLIER, {"totals": {"pictures": 2, "right": 1, "wrong": 1}}, EligibilityCondition.EARLIER, FAILED, "a mistake"),
    (
        EARLIER,
        {"state": RunState.RUNNING, "lease_until": factories.NOW},
        EligibilityCondition.EARLIER,
        PENDING,
        "under way",
    ),
    (
        EARLIER,
        {"state": RunState.DEAD, "totals": {}, "fault": Fault.PLATFORM},
        EligibilityCondition.EARLIER,
        NOT_YET,
        "platform",
    ),
]


@pytest.mark.parametrize(("kind", "values", "condition", "expected", "why"), CASES)
def test_how_a_condition_stands(
    kind: TrialKind,
    values: dict[str, Any],
    condition: EligibilityCondition,
    expected: ConditionStatus,
    why: str,
    complete: Defense,
) -> None:
    cast.passed(complete, kind, **values)
    assert standing(complete)[condition] is expected, why
    assert eligible(complete) is (set(standing(complete).values()) == {PASSED}) is False


def attack() -> Image:
    image = factories.image(origin="attack")
    factories.attack_row(image)
    scoring_cast.ruled(image)
    return image


def test_an_attack_whose_ruling_is_older_and_was_seen_later_is_not_missed(complete: Defense) -> None:
    factories.attack_row(early := factories.image(origin="attack"))
    ruling = attack().rulings.get()
    cast.passed(complete, EARLIER)
    assert standing(complete)[EligibilityCondition.EARLIER] is PASSED
    before = {"pk": -ruling.pk, "decided_at": factories.NOW - timedelta(hours=1)}  # its number was given out earlier
    told = {"number": 1, "verdict": "valid", "label": "bird", "policy": ruling.policy, "decided_by": "rules"}
    Ruling.objects.create(image=early, panel=factories.panel(early), response_ids=[], **before, **told)
    assert standing(complete)[EligibilityCondition.EARLIER] is NOT_YET


@pytest.mark.parametrize(
    ("verdict", "label", "expected", "why"),
    [
        ("valid", "bird", PASSED, "ruled on again, the same attack"),
        ("valid", "bicycle", NOT_YET, "another class than it was asked for"),
        ("rejected", "", NOT_YET, "no attack any more"),
    ],
)
def test_another_ruling_on_an_attack(
    verdict: str, label: str, expected: ConditionStatus, why: str, complete: Defense
) -> None:
    image = attack()
    cast.passed(complete, EARLIER)
    scoring_cast.ruled(image, verdict=verdict, label=label, number=2)
    assert standing(complete)[EligibilityCondition.EARLIER] is expected, why


@pytest.mark.parametrize(
    ("origin", "sent", "expected", "why"),
    [
        ("dataset", {}, NOT_YET, "the pixels were taken in before, and a team sent them as an attack"),
        ("attack", {}, NOT_YET, "it came as an attack"),
        ("dataset", {"received_at": factories.NOW}, PASSED, "the attack is under embargo until its week ends"),
        ("dataset", {"withdrawn_at": factories.NOW}, PASSED, "the attack was withdrawn"),
        ("gold", {}, PASSED, "a gold picture is never published"),
        ("dataset", None, PASSED, "nobody sent it"),
    ],
)
def test_an_attack_is_asked_about_wherever_its_picture_came_from_first(
    origin: str, sent: dict[str, Any] | None, expected: ConditionStatus, why: str, complete: Defense
) -> None:
    scoring_cast.ruled(image := factories.image(origin=origin))
    if sent is not None:
        factories.attack_row(image, **sent)
    assert standing(complete)[EligibilityCondition.EARLIER] is expected, why


@pytest.mark.parametrize("right", [9, 1])
def test_a_new_private_set_has_to_be_answered_by_everybody(right: int, complete: Defense) -> None:
    cast.passed(complete, PRIVATE, totals=G[PRIVATE] | {"right": right, "abstained": 10 - right})
    cast.private(4, seed=300)
    found = standing(complete)
    assert (found[EligibilityCondition.PRIVATE], found[EligibilityCondition.SPEED]) == (NOT_YET, NOT_YET)
    cast.passed(complete, PRIVATE)
    assert eligible(complete)


def test_who_failed_on_earlier_attacks_has_failed_whatever_came_later(complete: Defense) -> None:
    attack()
    cast.passed(complete, EARLIER)
    assert eligible(complete)
    cast.passed(complete, EARLIER, totals={"pictures": 2, "right": 1, "wrong": 1})
    attack()
    assert standing(complete)[EligibilityCondition.EARLIER] is FAILED


def test_what_came_after_the_publication_is_for_official_runs(complete: Defense, now: datetime) -> None:
    Defense.objects.filter(pk=complete.pk).update(published_at=now)
    attack()
    cast.private(4, seed=300)
    assert eligible(complete)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"eligibility_strict": False}, PASSED),
        ({"eligibility_strict": True}, FAILED),
        ({"eligibility_strict": False, "eligibility_percent": 91}, FAILED),
    ],
)
def test_the_lenient_reading_is_the_policy_s(
    numbers: dict[str, Any], expected: ConditionStatus, complete: Defense
) -> None:
    cast.passed(complete, PRIVATE, totals=G[PRIVATE] | {"abstained": 0, "wrong": 1})
    assert standing(complete, Policy(**numbers))[EligibilityCondition.PRIVATE] is expected


def test_what_is_told_of_a_trial_names_no_picture(complete: Defense) -> None:
    private_set = cast.private(4, seed=300)
    cast.passed(complete, PRIVATE, answers=b"\x01" * 20, log="SECRET", totals=G[PRIVATE])
    told = repr(selectors.eligibility_of(complete, IN_FORCE, now=factories.NOW))
    told += json.dumps(selectors.probe_of(complete)) + selectors.smoke_log_of(complete)
    pictures = PrivatePicture.objects.filter(private_set=private_set).values_list("pixels_sha256", "source")
    assert not [word for word in ("SECRET", "x01", *sum(pictures, ())) if word in told]


def test_the_board_is_told_of_the_framework_the_smoke_test_and_the_probe(
    complete: Defense, rita: User, now: datetime
) -> None:
    services.framework_check(complete, passed=False, reason=" compiled ", by=rita, now=now)
    assert standing(complete)[EligibilityCondition.FRAMEWORK] is FAILED, "the newest check holds"
    kept = FrameworkCheck.objects.filter(defense=complete).order_by("pk").values_list("passed", "reason", "checked_by")
    assert list(kept) == [(True, "PyTorch", rita.pk), (False, "compiled", rita.pk)]
    cast.passed(complete, SMOKE, log="all of it")
    cast.passed(complete, PROBE, totals={"shown": True})
    other = cast.container("other")
    assert (selectors.smoke_log_of(complete), selectors.smoke_log_of(other)) == ("all of it", "")
    assert (selectors.probe_of(complete), selectors.probe_of(other)) == ({"shown": True}, {})


def test_the_pictures_of_a_probe_are_drawn_for_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    cast.published(monkeypatch, scoring_cast.valid_pictures(12))
    monkeypatch.setattr(selectors, "PROBE_PICTURES", 5)
    orders = [TrialOrder("a secret", PROBE, 1, number) for number in (1, 1, 2)]
    drawn = [[each.picture for each in selectors.probe_questions(75, order)] for order in orders]
    assert drawn[0] == drawn[1] != drawn[2] and len(set(drawn[0])) == 5
    assert selectors.probe_questions(299, orders[0]) == []
    monkeypatch.setattr(selectors, "SMOKE_PICTURES", 3)
    assert len(set(selectors.smoke_pictures(75, 1))) == 3
