"""The attacks and figures of each mode. `--quick` uses the contest's, with fewer pictures and steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from defense_kit.warmup import (
    AS_PUBLISHED,
    QUICK,
    QUICK_STEPS,
    boundary,
    changes,
    corruptions,
    coverage,
    pictures,
    spatial_grid,
    spsa,
)
from defense_kit.warmup.as_published import boundary as published_boundary
from defense_kit.warmup.as_published import corruptions as published_corruptions
from defense_kit.warmup.as_published import coverage as published_coverage
from defense_kit.warmup.as_published import moves as published_moves
from defense_kit.warmup.as_published import pictures as published_pictures
from defense_kit.warmup.as_published import spatial_grid as published_spatial_grid
from defense_kit.warmup.as_published import spsa as published_spsa
from defense_kit.warmup.attacks import Attack, AttackedPicture, clean
from defense_kit.warmup.checkpoints import StateType
from defense_kit.warmup.coverage import Confidences, CoveredAccuracy, Wrong
from defense_kit.warmup.pictures import LabelledPicture

Choice = Callable[[Sequence[LabelledPicture]], Sequence[LabelledPicture]]


@dataclass(frozen=True, slots=True)
class Method:
    """The attacks, the pictures that they take, and how their results are counted.

    `stateless` are the attacks that begin again after an interruption, by name; `states` are the types that the others
    keep, and `steps` how many steps of theirs a picture has at most. `rows_at_once` is how many rows a query of an
    attack has, on average.
    """

    arranged: Choice
    stateless: Mapping[str, Callable[[AttackedPicture], Attack]]
    first_move: changes.FirstMove
    spsa: Callable[..., Attack]
    boundary: Callable[..., Attack]
    boundary_pictures: Choice
    states: Mapping[str, StateType]
    steps: Mapping[str, int]
    rows_at_once: Mapping[str, int]
    covered_accuracy: Callable[[Confidences, Wrong], CoveredAccuracy]
    risk_coverage: Callable[[Confidences, Wrong], list[tuple[float, float]]]


_ROWS_AT_ONCE = {"clean": 1, "spatial_grid": 31, "corruptions": 17, "boundary": 1}
OURS = Method(
    arranged=list,
    stateless={
        "clean": clean,
        "spatial_grid": spatial_grid.spatial_grid,
        "corruptions": corruptions.corruptions,
    },
    first_move=spsa.first_move,
    spsa=spsa.spsa,
    boundary=boundary.boundary,
    boundary_pictures=pictures.boundary_pictures,
    states={"spsa": spsa.SpsaState, "boundary": boundary.BoundaryState},
    steps={"spsa": spsa.STEPS, "boundary": boundary.STEPS},
    rows_at_once=_ROWS_AT_ONCE | {"spsa": 32},  # 64 and one in turn
    covered_accuracy=coverage.covered_accuracy,
    risk_coverage=coverage.risk_coverage,
)

PUBLISHED = Method(
    arranged=published_pictures.shuffled,
    stateless={
        "clean": clean,
        "spatial_grid": published_spatial_grid.spatial_grid,
        "corruptions": published_corruptions.corruptions,
    },
    first_move=published_moves.first_move,
    spsa=published_spsa.spsa,
    boundary=published_boundary.boundary,
    boundary_pictures=published_pictures.boundary_pictures,
    states={"spsa": spsa.SpsaState, "boundary": published_boundary.PublishedBoundaryState},
    steps={"spsa": spsa.STEPS, "boundary": published_boundary.STEPS},
    rows_at_once=_ROWS_AT_ONCE | {"spsa": 65},
    covered_accuracy=published_coverage.covered_accuracy,
    risk_coverage=published_coverage.risk_coverage,
)


def method_of(mode: str) -> Method:
    """Return the method of a mode."""
    return PUBLISHED if mode == AS_PUBLISHED else OURS


def max_steps(mode: str, attack: str) -> int | None:
    """Return how many steps of an attack a picture has at most in a mode; None for an attack without steps."""
    return (QUICK_STEPS if mode == QUICK else method_of(mode).steps).get(attack)
