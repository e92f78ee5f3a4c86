"""Confident mistakes and who answers for a fault (R29, R30)."""

from datetime import timedelta

import pytest

from labeling.enums import Label
from scoring.enums import NEXT_RUN_STATE, Fault, Outcome, RunState
from scoring.rules import is_confident_mistake, is_retried, wait_before_retry


@pytest.mark.parametrize(
    ("label", "answer", "mistake", "why"),
    [
        (Label.BIRD, Outcome.BICYCLE, True, "the other class"),
        (Label.BICYCLE, Outcome.BIRD, True, "the other class"),
        (Label.BIRD, Outcome.BIRD, False, "right"),
        (Label.BICYCLE, Outcome.BICYCLE, False, "right"),
        (Label.BIRD, Outcome.ABSTAIN, False, "an abstention is no mistake"),
        (Label.BICYCLE, Outcome.ABSTAIN, False, "an abstention is no mistake"),
    ],
)
def test_confident_mistake(label: Label, answer: Outcome, mistake: bool, why: str) -> None:
    assert is_confident_mistake(label, answer) is mistake, why


@pytest.mark.parametrize(
    ("fault", "platform"),
    [
        (Fault.IMAGE_PULL, True),
        (Fault.START_TIMEOUT, False),
        (Fault.HELLO_TIMEOUT, False),
        (Fault.BATCH_TIMEOUT, False),
        (Fault.CRASHED, False),
        (Fault.OUT_OF_MEMORY, False),
        (Fault.GPU_OUT_OF_MEMORY, False),
        (Fault.PROTOCOL, False),
        (Fault.NONFINITE, False),
        (Fault.DISK, False),
        (Fault.CANCELLED, True),
        (Fault.PLATFORM, True),
    ],
)
def test_only_the_platforms_faults_are_tried_again_and_three_times_at_most(fault: Fault, platform: bool) -> None:
    assert [is_retried(fault, attempt) for attempt in (1, 2, 3)] == [platform, platform, False]


def test_the_rest_before_another_try_grows_up_to_an_hour() -> None:
    seconds = [wait_before_retry(attempt) / timedelta(seconds=1) for attempt in (1, 2, 3, 4, 5, 9)]
    assert seconds == [30, 120, 480, 1920, 3600, 3600]


def test_the_transition_table_names_every_state() -> None:
    assert set(NEXT_RUN_STATE) == set(RunState)
