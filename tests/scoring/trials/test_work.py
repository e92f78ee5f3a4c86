"""Trials under a lease, from the claim to the totals: every kind, every way to go wrong (R30, R31)."""

import json
import operator
import random
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import InterfaceError, OperationalError

from defense_kit.faults import WORDS
from labeling.models import Image
from picture_files.store import picture_key, picture_store
from scoring import leases
from scoring.arrays import load_picture
from scoring.enums import DefenseAnswer, Fault, RunState, TrialKind, Variant
from scoring.models import PrivatePicture, Run, Trial
from scoring.runner import BatchAnswers, RunnerFault
from scoring.trials import answers as kept
from scoring.trials import selectors, services
from scoring.trials.order import TrialOrder
from scoring.trials.private_set import private_key
from scoring.trials.work import trial_order
from tests import factories
from tests.scoring import cast as scoring_cast
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_pictures(db: None) -> None:
    cast.policy_in_force()


SMOKE, PRIVATE, EARLIER, PROBE = TrialKind


POLICY, SIZE = scoring_cast.POLICY, scoring_cast.SIZE


def done(trial: Trial) -> Trial:
    return Trial.objects.get(pk=trial.pk)


def worked(trial: Trial, now: datetime, find_runner: Any) -> Trial:
    """The trial, after all that waited was worked on."""
    cast.work(now, find_runner)
    return done(trial)


def private_trial(now: datetime, pictures: int = 4) -> Trial:
    """A private trial of so many pictures, queued."""
    cast.private(pictures)
    return cast.ask(cast.container(), PRIVATE, now)


def saying(answer: int) -> cast.Opening:
    """A defense that gives one answer to everything."""
    return cast.Opening(lambda images: cast.answers([answer] * len(images)))


def private_truth() -> dict[bytes, int]:
    in_force = selectors.private_set_in_force()
    assert in_force is not None
    return cast.truth_of(selectors.private_questions(in_force, SIZE), private_key)


# Private


def test_the_private_set_is_asked_in_full_batches_and_its_answers_kept_by_picture(now: datetime) -> None:
    trial = private_trial(now, 10)
    shapes: list[Any] = []
    pictures = PrivatePicture.objects.order_by("pk")
    first = load_picture(pictures[0].pixels_sha256, SIZE, private_key, cached=False).tobytes()
    knows = cast.knowing(private_truth() | {first: DefenseAnswer.ABSTAIN})
    opening = cast.Opening(lambda images: (shapes.append(images.shape), knows(images))[1])
    found = worked(trial, now, opening)
    assert (found.state, found.device, found.fault, found.log) == (RunState.FINISHED, "cpu, test", "", "")
    parts = {"pictures": 10, "right": 9, "wrong": 0, "abstained": 1, "faults": 0, "rows": 12, "device": "cpu, test"}
    assert found.totals | parts == found.totals and found.totals["pictures_per_minute"] > 1
    assert selectors.has_passed(found, POLICY)
    assert shapes == [(4, 75, 75, 3)] * 3
    assert opening.opened == [{"device": "cpu", "image_size": 75, "batch_size": 4, "seed": trial.seed}]
    assert all(session.closed for session in opening.sessions)
    rows = kept.unpack_rows(found.answers)
    right = [DefenseAnswer.ABSTAIN, *(cast.NAMED[selectors.Label(each.label)] for each in pictures[1:])]
    assert list(rows["picture"]) == [each.pk for each in pictures]
    assert (list(rows["label"]), set(rows["scores"][:, 1].tolist())) == (right, {0.75})


FOLDERS = [*[cast.Label.BICYCLE] * 30, *[cast.Label.BIRD] * 30]  # as an import of two folders leaves them


@pytest.mark.slow("sixty pictures, as an import of two folders leaves them")
@pytest.mark.parametrize(
    "kind",
    [
        PRIVATE,
        *(pytest.param(kind, marks=pytest.mark.long("the same order; PRIVATE stays")) for kind in (EARLIER, PROBE)),
    ],
)
def test_the_order_tells_no_class_to_who_knows_the_seed(
    kind: TrialKind, now: datetime, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SECRET_KEY = "always the same for this test"
    if kind is PRIVATE:
        cast.private(len(FOLDERS), labels=FOLDERS)
        truth = private_truth()
    else:
        rng = np.random.default_rng(7)
        images = [scoring_cast.stored(cast.draw(label, rng, SIZE)) for label in FOLDERS]
        for image, label in zip(images, FOLDERS, strict=True):
            scoring_cast.ruled(image, label=label)
            factories.attack_row(image)
        cast.published(monkeypatch, images)
        truth = cast.truth_of(selectors.earlier_questions(now=factories.NOW), picture_key)
    trial, knows, seen = cast.ask(cast.container(), kind, now), cast.knowing(truth), list[int]()
    cast.work(now, cast.Opening(lambda images: (seen.extend(knows(images).labels.tolist()), knows(images))[1]))
    shown = [label for label in seen if label != DefenseAnswer.ABSTAIN][: len(FOLDERS)]  # without the padding
    guess: list[int] = [cast.NAMED[label] for label in FOLDERS]
    assert Counter(shown) == Counter(guess)
    random.Random(trial.seed).shuffle(guess)  # what somebody can do who numbers the pictures by class
    assert abs(sum(map(operator.eq, guess, shown)) - 30) < 22  # 30 by chance, give or take 4
    assert np.abs(np.cumsum([1 if label == DefenseAnswer.BIRD else -1 for label in shown])).max() <= 24


def test_the_seconds_of_a_trial_are_the_defenses_own(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """R31: reading the pictures counts for nobody."""
    trial = private_trial(now, 12)

    def slowly_read(*asked: Any, **values: Any) -> Any:
        time.sleep(0.05)
        return load_picture(*asked, **values)

    def slowly_answered(images: Any) -> BatchAnswers:
        time.sleep(0.1)
        return cast.answers([-1] * len(images))

    monkeypatch.setattr("scoring.trials.work.load_picture", slowly_read)
    assert 300 <= worked(trial, now, cast.Opening(slowly_answered)).totals["milliseconds"] < 500, "reading took 600"


def failing_at(batch: int, error: Exception, truth: dict[bytes, int]) -> Any:
    asked: list[int] = []

    def answer(images: Any) -> Any:
        asked.append(1)
        if len(asked) == batch:
            raise error
        return cast.knowing(truth)(images)

    return answer


SECRET = "the third picture shows a heron"


@pytest.mark.parametrize(
    ("fault", "batch", "right", "why"),
    [
        (Fault.CRASHED, 1, 0, "at once"),
        (Fault.BATCH_TIMEOUT, 2, 4, "after a batch"),
        (Fault.OUT_OF_MEMORY, 3, 8, "in the last batch"),
    ],
)
def test_a_fault_of_the_defense_counts_as_wrong_from_its_batch_on(
    fault: Fault, batch: int, right: int, why: str, now: datetime
) -> None:
    """R31; its words, which may tell of a picture, are kept nowhere."""
    trial = private_trial(now, 10)
    found = worked(trial, now, cast.Opening(failing_at(batch, RunnerFault(fault, SECRET), private_truth())))
    assert (found.state, found.fault, found.attempt) == (RunState.FINISHED, fault, 1), why
    assert found.totals | {"pictures": 10, "right": right, "faults": 10 - right} == found.totals
    assert found.fault_text == WORDS[fault].meaning and SECRET not in json.dumps(found.totals) + found.log
    assert not selectors.has_passed(found, POLICY)


def test_an_illegal_answer_is_a_fault(now: datetime) -> None:
    """`tests/scoring/test_reference.py` has every kind of answer."""
    found = worked(private_trial(now), now, cast.Opening(lambda images: cast.answers([1] * 3)))
    assert (found.fault, found.totals["faults"]) == (Fault.PROTOCOL, 4)


def not_starting(fault: Fault) -> cast.Opening:
    """A defense that does not open."""
    return cast.Opening(RunnerFault(fault, SECRET))


def test_a_defense_that_does_not_start_has_answered_everything_wrongly(now: datetime) -> None:
    found = worked(private_trial(now), now, not_starting(Fault.START_TIMEOUT))
    assert (found.state, found.fault) == (RunState.FINISHED, Fault.START_TIMEOUT)
    assert found.totals | {"faults": 4, "pictures_per_minute": 0} == found.totals


@pytest.mark.both("trials are claimed with SKIP LOCKED")
def test_a_fault_of_the_platform_is_tried_again_and_dies_after_the_third(now: datetime) -> None:
    trial = private_trial(now)
    for hours in range(3):
        assert cast.work(now + timedelta(hours=hours), not_starting(Fault.IMAGE_PULL)) == 1
        assert done(trial).state == (RunState.DEAD if hours == 2 else RunState.QUEUED)
    assert list(selectors.dead_trials()) == [trial]
    assert services.trials_plan(policy=POLICY, now=now, rng=random.Random(1)) == 0
    assert (cast.ask(trial.defense, PRIVATE, now).number, list(selectors.dead_trials())) == (2, [])


def test_a_missing_private_picture_is_nobody_s_to_know(now: datetime, caplog: pytest.LogCaptureFixture) -> None:
    trial = private_trial(now)
    sha = PrivatePicture.objects.order_by("pk").values_list("pixels_sha256", flat=True)[1]
    picture_store()._path(private_key(sha)).unlink()  # type: ignore[attr-defined]
    found = worked(trial, now, cast.Opening(cast.knowing({})))
    assert (found.state, found.fault) == (RunState.QUEUED, Fault.PLATFORM)
    assert "private set" in found.fault_text and sha not in found.fault_text + caplog.text


def test_an_error_of_the_platform_in_a_private_trial_is_named_by_its_kind(now: datetime) -> None:
    found = worked(private_trial(now), now, cast.Opening(failing_at(1, OSError(SECRET), {})))
    assert (found.fault, found.fault_text) == (Fault.PLATFORM, "OSError")


@pytest.mark.parametrize("kept_first", [False, True])
def test_a_database_that_restarts_does_not_cost_a_trial(
    kept_first: bool, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, truth = private_trial(now), private_truth()
    errors: list[Exception] = [OperationalError("the server is going away")]
    if not kept_first:
        errors.append(InterfaceError("the connection is closed"))
    scoring_cast.away(monkeypatch, services, "trial_finish", errors, kept=kept_first)
    found = worked(trial, now, cast.Opening(cast.knowing(truth)))
    assert (found.state, found.attempt, found.tries, found.totals["right"]) == (RunState.FINISHED, 1, 0, 4)
    assert errors == []


def test_a_fault_is_kept_too_when_the_database_is_back(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = cast.ask(cast.container(), SMOKE, now)
    scoring_cast.away(monkeypatch, leases, "record_fault", [OperationalError("the server is going away")], kept=False)
    found = worked(trial, now, not_starting(Fault.PLATFORM))
    assert (found.state, found.tries) == (RunState.QUEUED, 1)


# Earlier attacks


def attacked(count: int, **values: Any) -> list[Image]:
    images = scoring_cast.valid_pictures(count, **values)
    for image in images:
        factories.attack_row(image)
    return images


@pytest.mark.parametrize(
    ("otherwise", "passes", "why"),
    [
        (DefenseAnswer.ABSTAIN, True, "it abstains on all of them"),
        (DefenseAnswer.BIRD, False, "it calls bicycles birds"),
    ],
)
def test_earlier_attacks_are_answered_without_a_mistake(otherwise: int, passes: bool, why: str, now: datetime) -> None:
    """R31: all that are valid now, and no other pictures."""
    attacked(5)
    scoring_cast.valid_pictures(3, seed=8)  # no attacks
    rejected = scoring_cast.stored(cast.draw(cast.Label.BIRD, np.random.default_rng(5), SIZE))
    factories.attack_row(rejected)
    scoring_cast.ruled(rejected, verdict="rejected")
    found = worked(cast.ask(cast.container(), EARLIER, now), now, saying(otherwise))
    assert (found.totals["pictures"], selectors.has_passed(found, POLICY)) == (5, passes), why
    assert not selectors.is_outdated(found, selectors.TrialSources(now))
    attacked(1, seed=12)
    assert selectors.is_outdated(found, selectors.TrialSources(now)) is passes


def test_attacks_of_two_sizes_are_asked_in_two_sessions_and_a_fault_in_the_first_counts_for_both(now: datetime) -> None:
    attacked(3)
    attacked(2, size=60, seed=9)
    opening = saying(-1)
    found = worked(cast.ask(cast.container(), TrialKind.EARLIER, now), now, opening)
    assert [values["image_size"] for values in opening.opened] == [60, 75]
    assert (found.totals["pictures"], found.totals["abstained"], len(kept.unpack_rows(found.answers))) == (5, 5, 5)
    opening = cast.Opening(failing_at(1, RunnerFault(Fault.CRASHED, "x"), {}))
    found = worked(cast.ask(cast.container("another"), TrialKind.EARLIER, now), now, opening)
    assert (len(opening.opened), found.totals["faults"]) == (1, 5)


def test_without_attacks_there_is_nothing_to_fail(now: datetime) -> None:
    found = worked(cast.ask(cast.container(), EARLIER, now), now, not_starting(Fault.PLATFORM))
    assert selectors.has_passed(found, POLICY)


# The memorisation probe


def test_a_defense_that_learned_by_heart_is_found_out(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.published(monkeypatch, scoring_cast.valid_pictures(12))
    trial = cast.ask(cast.container(), PROBE, now)
    known = cast.truth_of(selectors.probe_questions(75, trial_order(trial)), picture_key)
    found = worked(trial, now, cast.Opening(cast.knowing(known)))
    right = [found.totals[name]["right"] for name in ("plain", "noise", "shift")]
    noise, shift = (found.totals["differences"][name] for name in ("noise", "shift"))
    assert (right, found.totals["noise"]["abstained"], found.totals["shown"]) == ([12, 0, 0], 12, True)
    assert (noise["lost"], noise["points"], shift["p"]) == (12, 100.0, pytest.approx(2 / 2**12))
    assert len(kept.unpack_rows(found.answers)) == 36


def test_variants_of_a_picture_have_the_same_companions(
    now: datetime, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.published(monkeypatch, scoring_cast.valid_pictures(6))
    trial, name_of = cast.ask(cast.container(), PROBE, now), operator.attrgetter("name")
    settings.SECRET_KEY = next(
        secret
        for secret in map(str, range(1000))
        if TrialOrder(secret, trial.kind, trial.defense_id, 1).of(Variant, name_of)[0] is not Variant.PLAIN
    )
    seen: list[Any] = []
    opening = cast.Opening(lambda images: (seen.append(images.copy()), cast.answers([-1] * 4))[1])
    cast.work(now, opening)
    by_variant = dict(zip(trial_order(trial).of(Variant, name_of), (seen[:2], seen[2:4], seen[4:]), strict=True))
    for plain, noise, shift in zip(*(by_variant[variant] for variant in Variant), strict=True):
        assert np.array_equal(shift[:, :, 1:], plain[:, :, :-1])
        assert int(np.abs(noise.astype(int) - plain.astype(int)).max()) == 1
    # Each in a session of its own, under the same seed: only the pictures differ.
    assert [values["seed"] for values in opening.opened] == [trial.seed] * 3
    assert (len(seen), all(session.closed for session in opening.sessions)) == (6, True)


def test_only_published_valid_pictures_are_probed(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    images = scoring_cast.valid_pictures(4)
    cast.published(monkeypatch, images[:2])
    scoring_cast.ruled(images[0], verdict="rejected", number=2)
    found = selectors.probe_questions(75, TrialOrder("a secret", PROBE, 1, 1))
    assert [each.picture for each in found] == [images[1].pk]


# The smoke test

PROGRAM = """
import sys
from defense_kit import serve
def predict(images):
    print("saw", len(images), "pictures", file=sys.stderr)
    return ["abstain"] * len(images)
serve(predict, name="a quiet one")
"""


def test_a_smoke_test_keeps_the_whole_log_and_shows_public_pictures_alone(now: datetime, tmp_path: Path) -> None:
    cast.private(4)
    found = worked(cast.ask(cast.container(), SMOKE, now), now, cast.InProcess(tmp_path, PROGRAM))
    assert (found.state, found.fault, found.device) == (RunState.FINISHED, "", "cpu, process")
    assert found.totals["accepted"] is True and found.totals["answers"]["abstain"] == found.totals["pictures"] > 10
    assert all(words in found.log for words in ("a quiet one", "saw 4 pictures", "Result: accepted"))
    assert bytes(found.answers) == b""


def test_after_the_highest_seed_comes_the_lowest(now: datetime) -> None:
    trial, opening = cast.ask(cast.container(), SMOKE, now), saying(-1)
    Trial.objects.filter(pk=trial.pk).update(seed=2**63 - 1)
    cast.work(now, opening)
    assert [values["seed"] for values in opening.opened] == [2**63 - 1, 0]


def test_what_a_program_says_is_kept_of_a_smoke_test_and_of_no_private_trial(now: datetime, tmp_path: Path) -> None:
    program = cast.InProcess(tmp_path, PROGRAM.replace("return [", "raise ValueError('no weights') #"))
    found = worked(cast.ask(cast.container("another"), SMOKE, now), now, program)
    assert (found.state, found.fault, found.totals["accepted"]) == (RunState.FINISHED, Fault.CRASHED, False)
    assert "no weights" in found.fault_text and "Result: not accepted" in found.log
    assert not selectors.has_passed(found, POLICY)
    found = worked(private_trial(now), now, program)
    assert (found.state, found.fault, found.totals["faults"]) == (RunState.FINISHED, Fault.CRASHED, 4)
    kept_words = found.log + found.fault_text + json.dumps(found.totals)
    assert "no weights" not in kept_words and "saw" not in kept_words


def test_published_pictures_come_before_those_of_the_tutorial(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.published(monkeypatch, scoring_cast.valid_pictures(5))
    found = worked(cast.ask(cast.container(), SMOKE, now), now, saying(-1))
    assert found.totals["pictures"] == 5 and found.log.startswith("Defense: newcomer\nPictures: 5 of 75 x 75")


# The queue


def test_what_waits_longest_is_done_first(now: datetime) -> None:
    later, order = now + timedelta(seconds=2), list[str]()
    scoring_cast.queued(now, "always-abstain", pictures=1)
    attacked(1, seed=4)
    trial = cast.ask(cast.container(), EARLIER, now + timedelta(seconds=1))
    assert selectors.trial_waits_longest(now=later) is False
    Run.objects.update(created_at=later)
    assert cast.work(later, lambda defense: (order.append(defense.name), saying(-1))[1]) == 4
    assert order[0] == "newcomer" and set(order[1:]) == {"always-abstain"}
    assert done(trial).state == RunState.FINISHED and not Run.objects.exclude(state=RunState.FINISHED).exists()


def test_a_scorer_that_lost_its_lease_writes_nothing(now: datetime) -> None:
    trial = private_trial(now)

    def answer(images: Any) -> BatchAnswers:
        Trial.objects.filter(pk=trial.pk).update(attempt=7)
        return cast.answers([1] * len(images))

    found = worked(trial, now, cast.Opening(answer))
    assert (found.state, found.attempt, found.totals, bytes(found.answers)) == (RunState.RUNNING, 7, {}, b"")
    assert leases.reclaim(Trial, now=now + leases.LEASE + timedelta(seconds=1)) == 1
    assert done(trial).state == RunState.QUEUED
