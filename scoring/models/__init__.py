"""The tables of scoring, one file for each part of the story."""

from scoring.models.defenses import CopyFlag, Defense, FrameworkCheck
from scoring.models.leased import Leased, Scorer
from scoring.models.runs import PlanMark, Prediction, Rerun, Run, RunItem, Superseded
from scoring.models.trials import PrivatePicture, PrivateSet, Trial

__all__ = [
    "CopyFlag",
    "Defense",
    "FrameworkCheck",
    "Leased",
    "PlanMark",
    "Prediction",
    "PrivatePicture",
    "PrivateSet",
    "Rerun",
    "Run",
    "RunItem",
    "Scorer",
    "Superseded",
    "Trial",
]
