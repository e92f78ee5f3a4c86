"""Finds defenses that copy another one: by image, weights and answers.

A flag is a hint with its figures, for people to judge; it has no automatic effect.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from scoring import selectors as scoring
from scoring.enums import Likeness, RunState, TrialKind, Variant
from scoring.models import CopyFlag, Defense, Trial
from scoring.trials import answers, selectors, totals
from scoring.trials.totals import Given

# The layer of a build step that changes no file: an empty tar.
EMPTY_LAYER = f"sha256:{hashlib.sha256(bytes(1024)).hexdigest()}"
_PICTURES, _PRIVATE = "image", "private"
_AT_ONCE = 1000  # pictures asked about in one statement
Key = tuple[str, int]


def copies_flag(*, now: datetime) -> int:
    """Compare each container before its publication with every defense that was ever published, broken ones included;
    return the number of new flags. Idempotent."""
    newcomers = [(newcomer, trial_answers(newcomer)) for newcomer in selectors.defenses_before_publication()]
    if not newcomers:
        return 0
    # The answers of a defense are read once, for all new defenses.
    images = sorted({number for _, given in newcomers for kind, number in given if kind == _PICTURES})
    published = Defense.objects.filter(published_at__isnull=False).order_by("id")
    return sum(_flag_all(newcomers, other, images, now) for other in published)


def _flag_all(
    newcomers: Sequence[tuple[Defense, dict[Key, Given]]], other: Defense, images: Sequence[int], now: datetime
) -> int:
    theirs = trial_answers(other) | _official(other, images)
    return sum(_flag(newcomer, other, given, theirs, now) for newcomer, given in newcomers if newcomer.pk != other.pk)


def _flag(newcomer: Defense, other: Defense, given: dict[Key, Given], theirs: dict[Key, Given], now: datetime) -> int:
    is_same_file = newcomer.weights != "" and newcomer.weights == other.weights
    found = {
        Likeness.LAYERS: shared_layers(newcomer.layers, other.layers),
        Likeness.WEIGHTS: {"weights": newcomer.weights} if is_same_file else None,
        Likeness.OUTPUTS: _same_answers(given, theirs),
    }
    return sum(_record(newcomer, other, by, figures, now) for by, figures in found.items() if figures is not None)


def _record(newcomer: Defense, other: Defense, by: Likeness, figures: dict[str, Any], now: datetime) -> int:
    told = {"figures": figures | {"same_name": newcomer.name == other.name}, "found_at": now}
    _, new = CopyFlag.objects.get_or_create(defense=newcomer, original=other, likeness=by, defaults=told)
    return int(new)


def shared_layers(newer: Sequence[str], older: Sequence[str]) -> dict[str, Any] | None:
    """Return how much of an image's layers another one has, where that is more than a common base; else None.

    Both lists go from the lowest layer up. A base is what both begin with; a copy has the other's top layer, or layers
    of it above the base. Layers without a file in them are left out.
    """
    ours = [layer for layer in newer if layer != EMPTY_LAYER]
    theirs = [layer for layer in older if layer != EMPTY_LAYER]
    base = next(
        (at for at, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs))
    )
    above = len(set(ours[base:]) & set(theirs[base:]))
    has_top = bool(theirs) and theirs[-1] in ours
    if not above and not has_top:
        return None
    shared = len(set(ours) & set(theirs))
    return {
        "shared": shared,
        "of_theirs": len(theirs),
        "of_ours": len(ours),
        "base": base,
        "above_the_base": above,
        "their_top_layer": has_top,
        "percent_of_theirs": totals.points(shared, len(theirs)),
    }


def _same_answers(given: dict[Key, Given], theirs: dict[Key, Given]) -> dict[str, Any] | None:
    if len(given) < totals.ALIKE_PICTURES:
        return None
    common = sorted(given.keys() & theirs.keys())
    compared = totals.compare_answers((given[key], theirs[key]) for key in common)
    if not compared.is_alike:
        return None
    varying = len({given[key][1:] for key in common}) > 1
    return asdict(compared) | {"scores_vary": varying}


def trial_answers(defense: Defense) -> dict[Key, Given]:
    """Return what a defense answered in its trials, by the kind and number of the picture as it is."""
    done = Trial.objects.filter(defense=defense, state=RunState.FINISHED).exclude(kind=TrialKind.SMOKE)
    found: dict[Key, Given] = {}
    for trial in done.only("kind", "answers").order_by("id"):
        kind = _PRIVATE if trial.kind == TrialKind.PRIVATE else _PICTURES
        for row in answers.unpack_rows(trial.answers):
            if row["variant"] == Variant.PLAIN:
                bicycle, bird = row["scores"]
                found[kind, int(row["picture"])] = (int(row["label"]), float(bicycle), float(bird))
    return found


def _official(defense: Defense, images: Sequence[int]) -> dict[Key, Given]:
    """Return its official answers of the first round to these pictures."""
    rows = scoring.predictions_in_force().filter(defense=defense, round=1)
    values = rows.values_list("image_id", "answer", "score_bicycle", "score_bird")
    found: dict[Key, Given] = {}
    for start in range(0, len(images), _AT_ONCE):
        for image, answer, bicycle, bird in values.filter(image__in=images[start : start + _AT_ONCE]):
            found[_PICTURES, image] = (answer, bicycle, bird)
    return found
