"""How a defense stands with each condition of R31, and what pages are told."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from adjudication.models import Ruling
from labeling.models import Image
from labeling.policy import Policy
from scoring.enums import Fault, RunState, TrialKind
from scoring.models import Defense, FrameworkCheck, PrivatePicture
from scoring.trials import selectors, services
from scoring.trials.enums import Condition, Standing
from scoring.trials.order import Order
from tests import factories
from tests.scoring import cast as scoring_cast
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db
POLICY = Policy()
SMOKE, PRIVATE, EARLIER, PROBE = TrialKind
PASSED, FAILED, PENDING, NOT_YET = Standing


def standing(defense: Defense, policy: Policy = POLICY) -> dict[Condition, Standing]:
    return {
        each.condition: each.standing for each in selectors.eligibility_of(defense, policy, now=factories.NOW).findings
    }


def eligible(defense: Defense) -> bool:
    return selectors.eligibility_of(Defense.objects.get(pk=defense.pk), POLICY, now=factories.NOW).eligible


def test_before_anything_nothing_is_passed() -> None:
    found = selectors.eligibility_of(cast.container(), POLICY, now=factories.NOW)
    assert [(each.condition, each.standing, each.at) for each in found.findings] == [
        (condition, NOT_YET, None) for condition in Condition
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
    found = selectors.eligibility_of(complete, POLICY, now=factories.NOW)
    assert {(each.standing, each.at) for each in found.findings} == {(PASSED, now)} and found.eligible is True
    by_name = {each.condition: each.figures for each in found.findings}
    assert by_name[Condition.SPEED] == {"rows": 16, "milliseconds": 900}
    assert (by_name[Condition.PRIVATE]["right"], by_name[Condition.FRAMEWORK]) == (9, {"reason": "PyTorch"})


G = cast.GOOD
# kind of the newest trial, its values, the condition, how it stands
CASES: list[tuple[TrialKind, dict[str, Any], Condition, Standing, str]] = [
    (SMOKE, {"totals": {"accepted": False}}, Condition.CONTAINER, FAILED, "not accepted"),
    (SMOKE, {"state": RunState.QUEUED, "totals": {}}, Condition.CONTAINER, PENDING, "waits"),
    (PRIVATE, {"totals": G[PRIVATE] | {"right": 7, "abstained": 3}}, Condition.PRIVATE, FAILED, "70 %"),
    (PRIVATE, {"totals": G[PRIVATE] | {"abstained": 0, "wrong": 1}}, Condition.PRIVATE, FAILED, "a wrong answer"),
    (PRIVATE, {"totals": G[PRIVATE] | {"abstained": 0, "faults": 1}}, Condition.PRIVATE, FAILED, "a fault"),
    (PRIVATE, {"totals": G[PRIVATE] | {"milliseconds": 10**7}}, Condition.SPEED, FAILED, "too slow"),
    (PRIVATE, {"totals": G[PRIVATE] | {"milliseconds": 10**7}}, Condition.PRIVATE, PASSED, "slow and right"),
    (PRIVATE, {"state": RunState.DEAD, "totals": {}}, Condition.PRIVATE, NOT_YET, "the platform failed"),
    (EARLIER, {"totals": {"pictures": 2, "right": 1, "wrong": 1}}, Condition.EARLIER, FAILED, "a mistake"),
    (EARLIER, {"state": RunState.RUNNING, "lease_until": factories.NOW}, Condition.EARLIER, PENDING, "under way"),
    (EARLIER, {"state": RunState.DEAD, "totals": {}, "fault": Fault.PLATFORM}, Condition.EARLIER, NOT_YET, "platform"),
]


@pytest.mark.parametrize(("kind", "values", "condition", "expected", "why"), CASES)
def test_how_a_condition_stands(
    kind: TrialKind, values: dict[str, Any], condition: Condition, expected: Standing, why: str, complete: Defense
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
    assert standing(complete)[Condition.EARLIER] is PASSED
    before = {"pk": -ruling.pk, "decided_at": factories.NOW - timedelta(hours=1)}  # its number was given out earlier
    told = {"number": 1, "verdict": "valid", "label": "bird", "policy": ruling.policy, "decided_by": "rules"}
    Ruling.objects.create(image=early, panel=factories.panel(early), response_ids=[], **before, **told)
    assert standing(complete)[Condition.EARLIER] is NOT_YET


@pytest.mark.parametrize(
    ("verdict", "label", "expected", "why"),
    [
        ("valid", "bird", PASSED, "ruled on again, the same attack"),
        ("valid", "bicycle", NOT_YET, "another class than it was asked for"),
        ("rejected", "", NOT_YET, "no attack any more"),
    ],
)
def test_another_ruling_on_an_attack(verdict: str, label: str, expected: Standing, why: str, complete: Defense) -> None:
    image = attack()
    cast.passed(complete, EARLIER)
    scoring_cast.ruled(image, verdict=verdict, label=label, number=2)
    assert standing(complete)[Condition.EARLIER] is expected, why


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
    origin: str, sent: dict[str, Any] | None, expected: Standing, why: str, complete: Defense
) -> None:
    scoring_cast.ruled(image := factories.image(origin=origin))
    if sent is not None:
        factories.attack_row(image, **sent)
    assert standing(complete)[Condition.EARLIER] is expected, why


@pytest.mark.parametrize("right", [9, 1])
def test_a_new_private_set_has_to_be_answered_by_everybody(right: int, complete: Defense) -> None:
    cast.passed(complete, PRIVATE, totals=G[PRIVATE] | {"right": right, "abstained": 10 - right})
    cast.private(4, seed=300)
    found = standing(complete)
    assert (found[Condition.PRIVATE], found[Condition.SPEED]) == (NOT_YET, NOT_YET)
    cast.passed(complete, PRIVATE)
    assert eligible(complete)


def test_who_failed_on_earlier_attacks_has_failed_whatever_came_later(complete: Defense) -> None:
    attack()
    cast.passed(complete, EARLIER)
    assert eligible(complete)
    cast.passed(complete, EARLIER, totals={"pictures": 2, "right": 1, "wrong": 1})
    attack()
    assert standing(complete)[Condition.EARLIER] is FAILED


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
def test_the_lenient_reading_is_the_policy_s(numbers: dict[str, Any], expected: Standing, complete: Defense) -> None:
    cast.passed(complete, PRIVATE, totals=G[PRIVATE] | {"abstained": 0, "wrong": 1})
    assert standing(complete, Policy(**numbers))[Condition.PRIVATE] is expected


def test_what_is_told_of_a_trial_names_no_picture(complete: Defense) -> None:
    private_set = cast.private(4, seed=300)
    cast.passed(complete, PRIVATE, answers=b"\x01" * 20, log="SECRET", totals=G[PRIVATE])
    told = repr(selectors.eligibility_of(complete, POLICY, now=factories.NOW)) + repr(selectors.private_sets())
    told += json.dumps(selectors.probe_of(complete)) + selectors.smoke_log_of(complete)
    pictures = PrivatePicture.objects.filter(private_set=private_set).values_list("pixels_sha256", "source")
    assert not [word for word in ("SECRET", "x01", *sum(pictures, ())) if word in told]


def test_the_board_is_told_of_the_framework_the_smoke_test_and_the_probe(
    complete: Defense, rita: User, now: datetime
) -> None:
    services.framework_check(complete, passed=False, reason=" compiled ", by=rita, now=now)
    assert standing(complete)[Condition.FRAMEWORK] is FAILED, "the newest check holds"
    kept = FrameworkCheck.objects.filter(defense=complete).order_by("pk").values_list("passed", "reason", "checked_by")
    assert list(kept) == [(True, "PyTorch", rita.pk), (False, "compiled", rita.pk)]
    cast.passed(complete, SMOKE, log="all of it")
    cast.passed(complete, PROBE, totals={"shown": True})
    other = cast.container("other")
    assert (selectors.smoke_log_of(complete), selectors.smoke_log_of(other)) == ("all of it", "")
    assert (selectors.probe_of(complete), selectors.probe_of(other)) == ({"shown": True}, {})


def test_organizers_see_the_sets_in_numbers(now: datetime) -> None:
    cast.private(5)
    factories.image(pixels_sha256=PrivatePicture.objects.order_by("pk")[0].pixels_sha256)
    (facts,) = selectors.private_sets()
    assert (facts.number, facts.birds, facts.bicycles, facts.known_now) == (1, 3, 2, 1)
    assert (facts.note, facts.completed_at) == ("our own garden", now)


def test_the_pictures_of_a_probe_are_drawn_for_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    cast.published(monkeypatch, scoring_cast.valid_pictures(12))
    monkeypatch.setattr(selectors, "PROBE_PICTURES", 5)
    orders = [Order("a secret", PROBE, 1, number) for number in (1, 1, 2)]
    drawn = [[each.picture for each in selectors.probe_questions(75, order)] for order in orders]
    assert drawn[0] == drawn[1] != drawn[2] and len(set(drawn[0])) == 5
    assert selectors.probe_questions(299, orders[0]) == []
    monkeypatch.setattr(selectors, "SMOKE_PICTURES", 3)
    assert len(set(selectors.smoke_pictures(75, 1))) == 3
