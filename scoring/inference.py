"""The one place that imports torch, when first asked for; only the scoring worker asks.

Same weights, same batch size, same machine: the same numbers, bit for bit. So no autocast, no TF32, no choice of
kernels by timing, and an error where an operation has no deterministic form.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.errors import InvalidInput
from scoring.machine import processor_name

Pixels = NDArray[np.uint8]
Numbers = NDArray[np.float32]


@cache
def load_torch() -> ModuleType:
    """Import torch, set to be deterministic, and return it."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts, so before the import
    import torch

    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    return torch


@cache
def choose_device(setting: str) -> str:
    """Return `cpu` or `cuda` for the setting `auto`, `cpu` or `cuda`.

    Raise InvalidInput for `cuda` where there is no CUDA device: scoring elsewhere than told would be recorded wrongly.
    """
    if setting == "cpu":
        return "cpu"
    present = load_torch().cuda.is_available()
    if setting == "cuda" and not present:
        raise InvalidInput(
            "SCORING_DEVICE is cuda and this machine offers no CUDA device: set it to auto or cpu, or mend the driver.",
            "no_cuda_device",
        )
    return "cuda" if present else "cpu"


def describe_device(device: str) -> str:
    """Return what a prediction records as its device: kind, model name and torch version."""
    torch = load_torch()
    model = torch.cuda.get_device_name() if device == "cuda" else processor_name()
    return f"{device}, {model}, torch {torch.__version__}"


def is_gpu_out_of_memory(error: BaseException) -> bool:
    """Say whether `error` is a graphics card's memory running out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether `error` is the machine's memory running out; torch reports its own as a plain RuntimeError."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error))


def load_weights(network: Any, path: Path) -> None:
    """Fill `network` from a safetensors file; missing or extra tensors are an error. Nothing is unpickled."""
    load_torch()
    from safetensors.torch import load_file

    network.load_state_dict(load_file(path), strict=True)


def save_weights(network: Any, path: Path, about: Mapping[str, str]) -> None:
    """Write `network` as safetensors with `about` in its header."""
    load_torch()
    from safetensors.torch import save_file

    tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    save_file(tensors, path, metadata=dict(about))
    path.chmod(0o644)  # safetensors leaves a file that only its writer may read


class TorchForward:
    """A network on a device, called with batches of one fixed shape."""

    def __init__(self, build: Callable[[Any], Any], weights: Path, *, device: str, rows: int, image_size: int) -> None:
        self._torch = load_torch()
        self._device = device
        network = build(self._torch)
        load_weights(network, weights)
        self._network = network.eval().to(device)
        # Page-locked memory lets the copy to the card run by itself; there is none without a card.
        self._staging = self._torch.empty(
            (rows, image_size, image_size, 3), dtype=self._torch.uint8, pin_memory=device == "cuda"
        )

    def __call__(self, images: Pixels) -> Numbers:
        """Return float32 [N, K] for uint8 images [N, S, S, 3] with N and S as declared."""
        with self._torch.inference_mode():
            self._staging.copy_(self._torch.from_numpy(images))
            output = self._network(self._staging.to(self._device, non_blocking=True))
            # Waits for the card: the next batch may overwrite the staging memory from here on.
            numbers: Numbers = output.to("cpu", dtype=self._torch.float32).numpy()
            return numbers
