"""Describes in words which conditions of publication a defense failed (R31).

It gives totals and thresholds only, and never names pictures of the private set.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from defense_kit.faults import WORDS, Fault
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.enums import EligibilityCondition, TrialKind
from scoring.models import Defense
from scoring.trials import totals
from scoring.trials.selectors import (
    DECIDES,
    ConditionFinding,
    DefenseEligibility,
    defenses_before_publication,
    eligibilities,
    framework_checks_of,
)

CONDITIONS: Mapping[EligibilityCondition, str] = {
    EligibilityCondition.CONTAINER: "Runs in a container and speaks the protocol",
    EligibilityCondition.PRIVATE: "Enough right on the private set",
    EligibilityCondition.EARLIER: "No confident mistake on an earlier valid attack",
    EligibilityCondition.SPEED: "At least one picture a minute",
    EligibilityCondition.FRAMEWORK: "Readable TensorFlow, PyTorch, Caffe or NumPy",
}
_HAND_IN = "This defense is not published. Hand in a new version, under a name of its own."
_NEW_SET = "Its trial on the private set begins again by itself when organizers import a new private set."


@dataclass(frozen=True, slots=True)
class ConditionFailure:
    """A condition that failed: what was found and what is needed, what to change, and when it was found."""

    condition: EligibilityCondition
    words: str
    advice: str
    at: datetime | None

    @property
    def title(self) -> str:
        """Return the condition."""
        return CONDITIONS[self.condition]


def eligibilities_waiting(defenses: Iterable[Defense], *, now: datetime) -> dict[int, DefenseEligibility]:
    """Return defense -> its eligibility, for those of `defenses` that wait for their publication."""
    waiting = [each for each in defenses if each.published_at is None and each.retired_at is None]
    return eligibilities(waiting, policy_in_force(now).policy, now=now) if waiting else {}


def failures(
    defenses: Iterable[Defense], *, now: datetime, known: Mapping[int, DefenseEligibility] | None = None
) -> dict[int, tuple[ConditionFailure, ...]]:
    """Return defense -> the conditions that it failed, for those that wait for their publication and failed any.

    `known` is the result of `eligibilities_waiting`, for callers that have it.
    """
    found, policy = eligibilities_waiting(defenses, now=now) if known is None else known, policy_in_force(now).policy
    return {pk: failures_of(each, policy) for pk, each in found.items() if each.failed}


def failures_of(eligibility: DefenseEligibility, policy: Policy) -> tuple[ConditionFailure, ...]:
    """Return the conditions that failed under `policy`, in the order of R31; empty where none did."""
    return tuple(_failure(each, policy) for each in eligibility.failed)


def next_step(failed: Iterable[ConditionFailure]) -> str:
    """Return what a team can do about these failures.

    A new private set repeats only the trial on the private set: it cannot resolve another failure (scoring.trials).
    """
    repeated = all(each.condition in DECIDES[TrialKind.PRIVATE] for each in failed)
    return f"{_HAND_IN} {_NEW_SET}" if repeated else _HAND_IN


def _failure(found: ConditionFinding, policy: Policy) -> ConditionFailure:
    words, advice = _WORDS[found.condition], _ADVICE[found.condition]
    if fault := _fault(found.figures):
        advice = f"{WORDS[fault].advice} {advice}"
    return ConditionFailure(found.condition, words(found.figures, policy), advice, found.at)


def _container(figures: Mapping[str, Any], policy: Policy) -> str:
    if fault := _fault(figures):
        return f"The smoke test ended in the fault {fault}: {WORDS[fault].meaning}"
    return f"The smoke test was not accepted. {_speed(figures, policy)}"


def _private(figures: Mapping[str, Any], policy: Policy) -> str:
    found, percent = totals.read_totals(figures), policy.eligibility_percent
    needed = -(-percent * found.pictures // 100)
    words = f"{found.right} of {found.pictures} right. At least {percent} % is needed: {needed}."
    if policy.eligibility_strict and found.mistakes:
        words += f" {found.mistakes} counted as wrong. None may be: abstaining is not wrong."
    return words + _faults(found, figures)


def _earlier(figures: Mapping[str, Any], policy: Policy) -> str:
    found = totals.read_totals(figures)
    words = f"{found.mistakes} of {found.pictures} answers to earlier valid attacks counted as wrong. None may be."
    return words + _faults(found, figures)


def _faults(found: totals.AnswerTotals, figures: Mapping[str, Any]) -> str:
    fault = _fault(figures)
    if not found.faults:
        return ""
    named = f" ({fault}: {WORDS[fault].meaning.rstrip('.')})" if fault else ""
    return (
        f" {found.faults} of them had no answer because of a fault{named}; before publication that is a wrong answer."
    )


def _speed(figures: Mapping[str, Any], policy: Policy) -> str:
    a_minute = int(figures.get("pictures_per_minute", 0))
    return f"It answered {a_minute} pictures a minute. A picture may take at most {policy.seconds_per_picture} s."


def _framework(figures: Mapping[str, Any], policy: Policy) -> str:
    return f"The review board's check: {figures.get('reason', '')}"


_WORDS: Mapping[EligibilityCondition, Callable[[Mapping[str, Any], Policy], str]] = {
    EligibilityCondition.CONTAINER: _container,
    EligibilityCondition.PRIVATE: _private,
    EligibilityCondition.EARLIER: _earlier,
    EligibilityCondition.SPEED: _speed,
    EligibilityCondition.FRAMEWORK: _framework,
}
_ADVICE: Mapping[EligibilityCondition, str] = {
    EligibilityCondition.CONTAINER: "Try the new version with python -m defense_kit check before.",
    EligibilityCondition.PRIVATE: "Let it abstain where it is not sure, and answer more of the clear pictures.",
    EligibilityCondition.EARLIER: "The released attacks are public: try the new version on them before.",
    EligibilityCondition.SPEED: "Make it quicker, for example with a smaller network or larger batches.",
    EligibilityCondition.FRAMEWORK: "Hand in source that people can read and that makes the same answers.",
}


def _fault(figures: Mapping[str, Any]) -> Fault | None:
    return Fault(figures["fault"]) if figures.get("fault") else None


def failed_trials(defenses: Iterable[Defense], now: datetime) -> dict[int, tuple[ConditionFailure, ...]]:
    """Return defense -> the conditions that its trials failed. The board may check a framework again."""
    found = failures(defenses, now=now)
    trials = {
        pk: tuple(row for row in rows if row.condition != EligibilityCondition.FRAMEWORK) for pk, rows in found.items()
    }
    return {pk: rows for pk, rows in trials.items() if rows}


def frameworks_unchecked(now: datetime) -> list[Defense]:
    """Return the defenses whose framework the board has not checked yet (R31, 4), without those that failed a trial."""
    unpublished = list(defenses_before_publication())
    failed = failed_trials(unpublished, now)
    return [each for each in unpublished if each.pk not in failed and not framework_checks_of(each)]
