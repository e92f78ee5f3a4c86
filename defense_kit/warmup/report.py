"""Builds the report of a run: figures for each attack, and every picture. Pure but for machine and versions.

Every field is described in docs/defenses.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from statistics import median
from typing import Any

import numpy as np

from defense_kit.frames import CLASSES
from defense_kit.machine import processor_name
from defense_kit.warmup import AS_PUBLISHED, QUICK, VERSION
from defense_kit.warmup.answer_checks import AnswerChecks
from defense_kit.warmup.attacks import AttackResult, Scores
from defense_kit.warmup.boundary import GOAL
from defense_kit.warmup.changes import Distance
from defense_kit.warmup.coverage import wilson
from defense_kit.warmup.libraries import made_with
from defense_kit.warmup.methods import Method, max_steps, method_of
from defense_kit.warmup.pictures import LabelledPicture, set_sha256

REQUIRED_PER_SECOND = 100  # pictures; what the contest of 2018 required of a defense
_GOAL_TOLERANCE = 1e-4
# To come to a plane, the boundary attack takes thousands of steps: who stops it sooner does not answer by the picture.
_EARLY_STEPS = 1000
_WORST_NOTE = (
    "our own measure, not in the publication of 2018: each picture counts with the worst answer of the attacks that "
    "ran on it, the most confident wrong one, or where all are right the least confident"
)


@dataclass(frozen=True, slots=True)
class MeasuredPicture:
    """What an attack led to on a picture, how far from its start, in which PNG, and the scores of that PNG's pixels."""

    result: AttackResult  # without its picture
    distance: Distance | None
    png: str
    rounded: Scores


@dataclass(frozen=True, slots=True)
class AttackTiming:
    """What was measured of an attack in this run. Forward passes are rows of whole batches, padding included."""

    pictures: int
    queries: int
    forward_passes: int
    seconds: float

    @property
    def pictures_per_second(self) -> float | None:
        """Return the forward passes per second; None where all results are of earlier runs."""
        return self.forward_passes / self.seconds if self.forward_passes else None


Results = Mapping[bytes, MeasuredPicture]  # by the key of the picture


@dataclass(frozen=True, slots=True)
class Measured:
    """What a defense was, what it ran on if that is known, and what was found by each attack; `originals` are the paths
    of the clean pictures' PNGs."""

    defense: str
    digest: str
    device: str | None
    mode: str
    batch: int
    checks: AnswerChecks
    found: Mapping[str, Results]
    originals: Mapping[bytes, str]
    timing: Mapping[str, AttackTiming]


def report(pictures: Sequence[LabelledPicture], measured: Measured) -> dict[str, Any]:
    """Return the report; the same results give the same one but for `timing`. Shares are from 0 to 1."""
    method = method_of(measured.mode)
    attacks = {name: _attack(method, pictures, name, results) for name, results in measured.found.items()}
    rows = [_picture(each, measured, attacks) for each in pictures]
    worst = [each["attacks"][each["worst"]] for each in rows if each["worst"]]
    return {
        "defense": measured.defense,
        "digest": measured.digest,
        "version": VERSION,
        "mode": measured.mode,
        "pictures_sha256": set_sha256(pictures),
        "pictures_of_class": {name: sum(each.of_class == name for each in pictures) for name in CLASSES},
        "batch_size": measured.batch,
        "made_with": made_with(),
        "attacks_ran_on": processor_name(),
        "attacks": attacks,
        "worst": {
            "note": _WORST_NOTE,
            **_figures(method, [confidence_of(each) for each in worst], [each["wrong"] for each in worst]),
        },
        "pictures": rows,
        "warnings": _warnings(pictures, measured),
        "timing": _timing(measured.timing, measured.device),
    }


def _figures(method: Method, confidences: Sequence[float], wrong: Sequence[bool]) -> dict[str, Any]:
    at, is_wrong_ = np.array(confidences), np.array(wrong)
    at_80, wrong_ones = method.covered_accuracy(at, is_wrong_), int(is_wrong_.sum())
    return {
        "n": at_80.pictures,
        "accuracy_at_80": at_80.accuracy,
        "interval": list(at_80.interval),
        "accuracy_at_100": 1 - float(is_wrong_.mean()),
        "interval_at_100": list(wilson(at_80.pictures - wrong_ones, at_80.pictures)),
        "threshold": _finite(at_80.threshold),
        "covered": at_80.covered,
        "coverage_reached": at_80.coverage_reached,
        "wrong": wrong_ones,
        "curve": [list(point) for point in method.risk_coverage(at, is_wrong_)],
    }


def _attack(method: Method, pictures: Sequence[LabelledPicture], name: str, results: Results) -> dict[str, Any]:
    of = [(each, results[each.picture.key]) for each in pictures if each.picture.key in results]
    wrong = [is_wrong(each, measured.result.scores) for each, measured in of]
    successes = [_success(name, bad, measured.distance) for bad, (_, measured) in zip(wrong, of, strict=True)]
    queries = [measured.result.queries for _, measured in of]
    wrong_when_rounded = sum(is_wrong(each, measured.rounded) for each, measured in of)
    found = sum(filter(None, successes)) if name == "boundary" else None
    return {
        **_figures(method, [_confidence(measured.result.scores) for _, measured in of], wrong),
        "wrong_when_rounded": wrong_when_rounded,
        "interval_when_rounded": list(wilson(len(of) - wrong_when_rounded, len(of))),
        "successes": found,
        "interval_of_successes": None if found is None else list(wilson(found, len(of))),
        "queries": {"min": min(queries), "median": median(queries), "max": max(queries), "sum": sum(queries)},
        "bad_rows": sum(measured.result.bad_rows for _, measured in of),
    }


def _confidence(scores: Scores) -> float:
    return float(scores.max()) if np.isfinite(scores).all() else -inf


def is_wrong(of: LabelledPicture, scores: Scores) -> bool:
    """Say whether an answer is wrong: the other class is at least as high, or a score is not finite."""
    return not np.isfinite(scores).all() or of.picture.is_wrong(scores)


def _picture(each: LabelledPicture, measured: Measured, attacks: Mapping[str, Any]) -> dict[str, Any]:
    key = each.picture.key
    results = {
        name: _result(each, name, found[key], attacks[name]["threshold"])
        for name, found in measured.found.items()
        if key in found
    }
    return {
        "id": each.picture.sha256.hex(),
        "file": each.name,
        "class": each.of_class,
        "original": measured.originals[key],
        "attacks": results,
        "worst": max(results, key=lambda name: _badness(results[name]), default=None),
    }


def _badness(result: Mapping[str, Any]) -> tuple[bool, float]:
    """Return what the worst answer is the largest by: wrong before right, then sure where wrong, unsure where right."""
    return result["wrong"], confidence_of(result) if result["wrong"] else -confidence_of(result)


def confidence_of(result: Mapping[str, Any]) -> float:
    """Return the confidence of a result in the report; -inf where its answer was not finite."""
    return -inf if result["confidence"] is None else float(result["confidence"])


def _success(attack: str, wrong: bool, distance: Distance | None) -> bool | None:
    """Say whether the boundary attack found a wrong picture that is near enough; None for the other attacks."""
    if attack != "boundary" or distance is None:
        return None
    return wrong and distance.l2 <= GOAL + _GOAL_TOLERANCE


def _result(each: LabelledPicture, attack: str, measured: MeasuredPicture, threshold: float | None) -> dict[str, Any]:
    result, distance = measured.result, measured.distance
    confidence, wrong = _confidence(result.scores), is_wrong(each, result.scores)
    return {
        "scores": [_finite(score) for score in result.scores],
        "confidence": _finite(confidence),
        "margin": _finite(each.picture.margins(result.scores[np.newaxis])[0]),
        "wrong": wrong,
        "covered": threshold is None or confidence >= threshold,
        "wrong_when_rounded": is_wrong(each, measured.rounded),
        "success": _success(attack, wrong, distance),
        "queries": result.queries,
        "chosen": result.chosen,
        "distance": None if distance is None else asdict(distance),
        "png": measured.png,
    }


def _finite(value: float | np.floating) -> float | None:
    return float(value) if np.isfinite(value) else None


_OF_MODE = {
    QUICK: "quick: there are fewer steps, so these figures cannot be compared with those of other runs",
    AS_PUBLISHED: "as-published: these figures have the deviations of the published code, and are not the contest's",
}


def _warnings(pictures: Sequence[LabelledPicture], measured: Measured) -> list[str]:
    found = [_OF_MODE[measured.mode]] if measured.mode in _OF_MODE else []
    if measured.checks.randomised:
        found.append("randomised: the same pictures got other scores when they were sent again")
    elif measured.checks.changed:
        found.append("changed: after an attack, clean pictures got other scores than before the first one")
    bad = sum(each.result.bad_rows for results in measured.found.values() for each in results.values())
    if bad:
        found.append(f"bad rows: {bad:,} answers were not finite; an attack cannot use them, and they count as wrong")
    if flat := _flat(measured):
        found.append(f"flat: {flat}: no gradient shows there")
    if stuck := _stuck(pictures, measured):
        found.append(f"stuck: {stuck}")
    boundary = measured.found.get("boundary", {}).values()
    if lost := sum("no_start" in each.result.chosen for each in boundary):
        found.append(f"no_start: the boundary attack had no picture to start from for {lost:,} pictures")
    return found


def _flat(measured: Measured) -> str:
    """Return where scores do not follow small changes; nothing where they always do."""
    words, checks = [], measured.checks
    if checks.flat:
        words.append(f"{checks.flat:,} of {checks.tried:,} clean pictures got the same scores with small changes")
    steps = [each.result.chosen for each in measured.found.get("spsa", {}).values()]
    flat, taken = sum(each["flat_steps"] for each in steps), sum(each["steps"] for each in steps)
    if flat:
        words.append(f"in {flat:,} of {taken:,} SPSA steps ({flat / taken:.0%}) all probes got the same loss")
    return "; ".join(words)


def _stuck(pictures: Sequence[LabelledPicture], measured: Measured) -> str:
    """Return on how many pictures attacks came nowhere although the scores follow small changes."""
    words, spsa = [], measured.found.get("spsa", {})
    of = [(each, spsa[each.picture.key].result) for each in pictures if each.picture.key in spsa]
    right = [result for each, result in of if not (is_wrong(each, result.scores) or result.bad_rows)]
    usable = [each.chosen for each in right if each.chosen["steps"] > each.chosen["flat_steps"]]
    if useless := sum(not each["best_step"] for each in usable):
        words.append(f"no step of SPSA made a score worse on {useless:,} of {len(usable):,} pictures that stay right")
    boundary = [each.result.chosen for each in measured.found.get("boundary", {}).values()]
    most = max_steps(measured.mode, "boundary") or 0
    early = min(_EARLY_STEPS, most)
    if ended := sum("distance" in each and each["steps"] < early for each in boundary):
        words.append(
            f"the boundary attack found nothing wrong nearby after fewer than {early:,} of {most:,} steps "
            f"on {ended:,} of {len(boundary):,} pictures"
        )
    return "; ".join(words)


def _timing(timing: Mapping[str, AttackTiming], device: str | None) -> dict[str, Any]:
    """Return what may differ from run to run. The speed is that of the fastest attack: others may wait for the attack
    itself more than for the defense."""
    attacks = {name: {**asdict(each), "pictures_per_second": each.pictures_per_second} for name, each in timing.items()}
    fastest = max((each.pictures_per_second or 0 for each in timing.values()), default=0)
    warnings = []
    if 0 < fastest < REQUIRED_PER_SECOND:
        warnings.append(f"slow: {fastest:,.0f} pictures/s; {REQUIRED_PER_SECOND} were required in 2018 (a note)")
    return {"attacks": attacks, "defense_ran_on": device, "warnings": warnings}


def table(told: Mapping[str, Any]) -> str:
    """Return the figures of a report as text, a line for each attack."""
    lines = [f"{'attack':<14}{'pictures':>9}{'at 80 %':>9}{'95 % interval':>17}{'at 100 %':>10}{'queries':>12}"]
    for name, each in {**told["attacks"], "worst of them": told["worst"]}.items():
        low, high = (100 * end for end in each["interval"])
        queries = f"{each['queries']['sum']:,}" if "queries" in each else ""
        lines.append(
            f"{name:<14}{each['n']:>9,}{100 * each['accuracy_at_80']:>8.1f}%{f'{low:.1f} to {high:.1f}%':>17}"
            f"{100 * each['accuracy_at_100']:>9.1f}%{queries:>12}".rstrip()
        )
    warnings = [*told["warnings"], *told["timing"]["warnings"]]
    return "\n".join([*lines, *(f"Warning: {each}" for each in warnings)])
