"""Fit the parameters of `predict.py` on drawn pictures: `python -m contest.demo.defense.train`, a few seconds."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from contest.demo.defense.predict import features
from scoring.reference.train import drawn_pictures

PICTURES = 600
RIDGE = 1.0
STEPS = 12
# One of some dozen trainings, by its answers on the demo's photographs: a demo needs a defense that is broken.
SEED = 1


def fit(seed: int) -> dict[str, Any]:
    """Return a logistic regression, by Newton steps with a ridge, as plain JSON values."""
    pictures, truth = drawn_pictures(PICTURES, seed)
    values = features(pictures)
    mean = values.mean(axis=0)
    inputs = np.hstack([values - mean, np.ones((len(values), 1))])
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        bird = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (bird * (1 - bird))[:, None]).T @ inputs + RIDGE * np.eye(len(weights))
        weights -= np.linalg.solve(curvature, inputs.T @ (bird - truth) + RIDGE * weights)
    return {
        "mean": mean.round(6).tolist(),
        "weights": weights[:-1].round(6).tolist(),
        "bias": round(float(weights[-1]), 6),
    }


if __name__ == "__main__":
    Path(__file__).with_name("weights.json").write_text(json.dumps(fit(SEED)) + "\n")
    sys.stdout.write("weights.json is written.\n")
