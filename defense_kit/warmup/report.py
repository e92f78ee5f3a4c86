"""The report of a run: figures for each attack, and every picture. Pure but for the versions that it states."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any

import numpy as np
import PIL
import scipy
from numpy.typing import NDArray

from defense_kit.frames import CLASSES
from defense_kit.warmup import VERSION
from defense_kit.warmup.attacks import Scores
from defense_kit.warmup.coverage import covered_accuracy, risk_coverage
from defense_kit.warmup.pictures import LabelledPicture, set_sha256


@dataclass(frozen=True, slots=True)
class MeasuredPicture:
    """What an attack came to on a picture: the scores there, and of the picture rounded to 8 bits."""

    scores: Scores
    rounded: Scores
    queries: int
    bad_rows: int
    chosen: Mapping[str, Any]


Results = Mapping[bytes, MeasuredPicture]  # by the SHA-256 of the picture


@dataclass(frozen=True, slots=True)
class Measured:
    """What a defense was, and what was found by each attack."""

    defense: str
    digest: str
    batch: int
    randomised: bool
    found: Mapping[str, Results]


def report(pictures: Sequence[LabelledPicture], measured: Measured) -> dict[str, Any]:
    """Return the report; the same results give the same one. Accuracies, coverages and risks are shares, 0 to 1."""
    attacks = {name: _attack(pictures, results) for name, results in measured.found.items()}
    return {
        "defense": measured.defense,
        "digest": measured.digest,
        "version": VERSION,
        "mode": "default",
        "pictures_sha256": set_sha256(pictures),
        "pictures_of_class": {name: sum(each.of_class == name for each in pictures) for name in CLASSES},
        "batch_size": measured.batch,
        "made_with": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "pillow": PIL.__version__,
        },
        "attacks": attacks,
        "pictures": [_picture(each, measured) for each in pictures],
        "warnings": _warnings(measured),
    }


def _attack(pictures: Sequence[LabelledPicture], results: Results) -> dict[str, Any]:
    of = [(each, results[each.picture.sha256]) for each in pictures if each.picture.sha256 in results]
    confidences = np.array([_confidence(result.scores) for _, result in of])
    wrong = np.array([is_wrong(each, result.scores) for each, result in of])
    at_80 = covered_accuracy(confidences, wrong)
    queries = [result.queries for _, result in of]
    return {
        "n": len(of),
        "accuracy_at_80": at_80.accuracy,
        "accuracy_at_100": 1 - float(wrong.mean()),
        "coverage_reached": at_80.coverage_reached,
        "interval": list(at_80.interval),
        "queries": {"min": min(queries), "median": median(queries), "max": max(queries), "sum": sum(queries)},
        "bad_rows": sum(result.bad_rows for _, result in of),
        "curve": [list(point) for point in risk_coverage(confidences, wrong)],
    }


def _confidence(scores: Scores) -> float:
    return float(scores.max()) if np.isfinite(scores).all() else -inf


def is_wrong(of: LabelledPicture, scores: Scores) -> bool:
    """Say whether an answer is wrong: the other class is at least as high, or a score is not finite."""
    return not np.isfinite(scores).all() or bool(of.picture.margins(scores[np.newaxis])[0] >= 0)


def _picture(each: LabelledPicture, measured: Measured) -> dict[str, Any]:
    key = each.picture.sha256
    return {
        "id": key.hex(),
        "file": each.name,
        "class": each.of_class,
        "attacks": {name: _result(each, results[key]) for name, results in measured.found.items() if key in results},
    }


def _result(each: LabelledPicture, result: MeasuredPicture) -> dict[str, Any]:
    return {
        "scores": _plain(result.scores),
        "wrong": is_wrong(each, result.scores),
        "wrong_when_rounded": is_wrong(each, result.rounded),
        "margin": _plain(each.picture.margins(result.scores[np.newaxis]))[0],
        "queries": result.queries,
        "chosen": dict(result.chosen),
    }


def _plain(scores: NDArray[np.floating]) -> list[float | None]:
    return [float(score) if np.isfinite(score) else None for score in scores]


def _warnings(measured: Measured) -> list[str]:
    found = []
    if measured.randomised:
        found.append("randomised: the same pictures got other scores when they were sent again")
    bad = sum(each.bad_rows for results in measured.found.values() for each in results.values())
    if bad:
        found.append(f"bad rows: {bad:,} answers were not finite; an attack cannot use them, and they count as wrong")
    steps = [result.chosen for result in measured.found.get("spsa", {}).values()]
    flat, taken = sum(each["flat_steps"] for each in steps), sum(each["steps"] for each in steps)
    if flat:
        found.append(f"flat: in {flat:,} of {taken:,} SPSA steps all probes got the same loss: the gradient is masked")
    if lost := sum("no_start" in each.chosen for each in measured.found.get("boundary", {}).values()):
        found.append(f"no_start: the boundary attack had no picture to start from for {lost:,}")
    return found


def table(told: Mapping[str, Any]) -> str:
    """Return the figures of a report as text, a line for each attack."""
    lines = [f"{'attack':<14}{'pictures':>9}{'at 80 %':>9}{'95 % interval':>17}{'at 100 %':>10}{'queries':>12}"]
    for name, each in told["attacks"].items():
        low, high = (100 * end for end in each["interval"])
        lines.append(
            f"{name:<14}{each['n']:>9,}{100 * each['accuracy_at_80']:>8.1f}%{f'{low:.1f} to {high:.1f}%':>17}"
            f"{100 * each['accuracy_at_100']:>9.1f}%{each['queries']['sum']:>12,}"
        )
    return "\n".join([*lines, *(f"Warning: {each}" for each in told["warnings"])])
