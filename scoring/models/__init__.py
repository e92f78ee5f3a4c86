"""The models of scoring."""

from scoring.models.defenses import CopyFlag, Defense, FrameworkCheck
from scoring.models.leased import Leased, Scorer
from scoring.models.runs import PlanningProgress, Prediction, Rerun, Run, RunItem, SupersededPrediction
from scoring.models.trials import PrivatePicture, PrivateSet, Trial

__all__ = [
    "CopyFlag",
    "Defense",
    "FrameworkCheck",
    "Leased",
    "PlanningProgress",
    "Prediction",
    "PrivatePicture",
    "PrivateSet",
    "Rerun",
    "Run",
    "RunItem",
    "Scorer",
    "SupersededPrediction",
    "Trial",
]
