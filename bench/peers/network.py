"""The network that peers attack: the shipped CNN on float pictures, with a record of what was asked about.

Runs in a peer's environment: it needs torch, NumPy and safetensors alone.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import networks

Rows = NDArray[np.float32]  # [N, H, W, 3], 0 to 1


class Enough(Exception):
    """Raised out of an attack that has no end of its own where we need one."""


class Record:
    """What an attack on pictures asked about: rows, and the nearest wrong ones by picture, row and second.

    `at` is the picture of all rows of a batch; None where row and picture have the same number.
    """

    def __init__(
        self, originals: Rows, is_bird: NDArray[np.bool_], goals: NDArray[np.float64], least: int, max_seconds: float
    ) -> None:
        self._originals, self._true = originals, is_bird.astype(int)
        self._goals, self._least, self._max_seconds = goals, least, max_seconds
        self.at: int | None = None
        self.rows = 0
        self.nearest = np.full(len(originals), np.inf)
        self.asked = np.zeros(len(originals), int)
        self.events: list[tuple[float, float, float, float]] = []  # picture, rows of that picture, seconds, L2
        self.begin()

    def begin(self) -> None:
        """Let the time begin now."""
        self._started, self._own = time.perf_counter(), 0.0

    @property
    def seconds(self) -> float:
        """Return how long it takes until now, without what the record itself takes."""
        return time.perf_counter() - self._started - self._own

    def add(self, rows: Any, logits: Any) -> None:
        """Keep what was answered, NCHW rows and logits [N, 2].

        Enough after too long, and at the goal once each picture has had its `least` rows: a comparison at equal queries
        needs those too.
        """
        began, seconds = time.perf_counter(), self.seconds
        self.rows += len(rows)
        if np.isfinite(self._goals).all():
            self._measure(rows.permute(0, 2, 3, 1).numpy(), logits.numpy(), seconds)
        self._own += time.perf_counter() - began
        if seconds > self._max_seconds or self._is_there():
            raise Enough

    def _measure(self, rows: Rows, logits: Rows, seconds: float) -> None:
        pictures = range(len(rows)) if self.at is None else [self.at] * len(rows)
        for picture, row, (bicycle, bird) in zip(pictures, rows, logits, strict=True):
            self.asked[picture] += 1
            margin = (bicycle - bird) if self._true[picture] else (bird - bicycle)
            far = float(np.sqrt(((row.astype(np.float64) - self._originals[picture]) ** 2).sum()))
            if margin >= 0 and far < self.nearest[picture]:
                self.nearest[picture] = far
                self.events.append((picture, self.asked[picture], seconds, far))

    def _is_there(self) -> bool:
        those = slice(None) if self.at is None else slice(self.at, self.at + 1)
        is_near = np.median(self.nearest[those]) <= np.median(self._goals[those])
        return bool(is_near and self.asked[those].min() >= self._least)


def recorded(torch: Any, record: Record | None = None) -> Any:
    """Return the network: float NCHW in 0 to 1 to logits [N, 2]."""
    from safetensors.torch import load_file

    inner = networks.build(networks.CNN, torch)
    inner.load_state_dict(load_file(networks.weights(networks.CNN, Path())))

    class Recorded(torch.nn.Module):  # type: ignore[misc]
        """The CNN, which takes 0 to 255 NHWC."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, rows: Any) -> Any:
            with torch.inference_mode():
                logits = self.inner(255 * rows.permute(0, 2, 3, 1))
            if record is not None:
                record.add(rows.detach(), logits)
            return logits.clone()

    return Recorded().eval()
