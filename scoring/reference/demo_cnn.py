"""A small convolutional network: a demo of a torch defense, trained on drawings only.

It is weak on purpose. A demo contest needs a defense that is mostly right on photographs and sometimes confidently
wrong, so that a break can be shown; `scoring.reference.train` says how it was chosen.

torch is an argument, so that this file imports nothing heavy and its digest pins the architecture.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.enums import DefenseAnswer
from scoring.inference import TorchForward, describe_device

SIDE = 32
MIN_CONFIDENCE = 0.8


def build_network(torch: Any) -> Any:
    """Return the untrained network: uint8 [N, S, S, 3] to logits [N, 2] = [bicycle, bird]."""

    class Shrink(torch.nn.Module):  # type: ignore[misc]
        """uint8 NHWC to float NCHW of SIDE x SIDE, each channel about -1..1."""

        def forward(self, images: Any) -> Any:
            pixels = images.permute(0, 3, 1, 2).float() / 127.5 - 1
            return torch.nn.functional.adaptive_avg_pool2d(pixels, SIDE)

    layers: list[Any] = [Shrink()]
    for in_channels, out_channels in ((3, 8), (8, 16), (16, 32)):
        layers += [
            torch.nn.Conv2d(in_channels, out_channels, 3, stride=2, padding=1, bias=False),
            torch.nn.BatchNorm2d(out_channels),
            torch.nn.ReLU(),
        ]
    layers += [torch.nn.Flatten(), torch.nn.Linear(32 * (SIDE // 8) ** 2, 2)]
    return torch.nn.Sequential(*layers)


class DemoCnn:
    """Answers where the network's larger probability reaches MIN_CONFIDENCE."""

    def __init__(self, forward: TorchForward, device: str) -> None:
        self._forward = forward
        self.device = device

    def send(self, images: NDArray[np.uint8]) -> None:
        """Begin with a batch."""
        self._forward.send(images)

    def receive(self) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return labels int8 [N] and the two classes' probabilities float32 [N, 2] of the oldest batch begun."""
        logits = self._forward.receive().astype(np.float64)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities = powers / powers.sum(axis=1, keepdims=True)
        labels = probabilities.argmax(axis=1)
        sure = probabilities.max(axis=1) >= MIN_CONFIDENCE
        return np.where(sure, labels, DefenseAnswer.ABSTAIN).astype(np.int8), probabilities.astype(np.float32)


def load(weights: Path, *, device: str, image_size: int, batch_size: int) -> DemoCnn:
    """Return the network with `weights` (safetensors) on `device`, for batches of exactly `batch_size` pictures."""
    forward = TorchForward(build_network, weights, device=device, rows=batch_size, image_size=image_size)
    return DemoCnn(forward, describe_device(device))
