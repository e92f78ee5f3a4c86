"""The networks that scoring is measured with: the shipped CNN, and one of ResNet-50's size.

As a program, `python -m bench.networks NETWORK WEIGHTS DEVICE ROWS` is the bare forward pass: it reads numbers of
batches, and prints for each how many pictures a second went through the network. Nothing else is in its process.
"""

import inspect
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench import resnet50
from defense_kit.limits import KEPT_MEMORY, LARGE_PAGES, SHORT_WAIT

SIDE = 299
CNN, RESNET50 = "demo-cnn", "resnet50"
# The other processors do the contest's work, as they do where a network runs on a card: docs/decisions/0045.
THREADS = 1
# What others are measured against is the network that keeps its memory: one that allocates each batch again is no fair
# measure, the CNN is three times as slow.
FLOOR = "bare, memory kept"
FLOOR_SETTINGS = KEPT_MEMORY | SHORT_WAIT
BARE_WAYS = {
    "bare": {},
    FLOOR: FLOOR_SETTINGS,
    f"{FLOOR} in large pages": FLOOR_SETTINGS | LARGE_PAGES,
}


def build(name: str, torch: Any) -> Any:
    """Return the network of this name with fresh weights: uint8 [N, S, S, 3] to logits [N, 2]."""
    from scoring.reference import demo_cnn

    return {CNN: demo_cnn.build_network, RESNET50: resnet50.build_network}[name](torch)


def source(name: str) -> str:
    """Return Python that defines the same `build_network`, and needs nothing of this project."""
    from scoring.reference import demo_cnn

    if name == RESNET50:
        return inspect.getsource(resnet50)
    return f"from typing import Any\n\nSIDE = {demo_cnn.SIDE}\n\n\n{inspect.getsource(demo_cnn.build_network)}"


def weights(name: str, folder: Path) -> Path:
    """Return a safetensors file with the network's weights, the same ones each time."""
    from scoring.inference import load_torch, save_weights
    from scoring.reference import REFERENCES

    if name == CNN:
        return next(each for each in REFERENCES if each.key == CNN).weights_path
    path = folder / f"{name}.safetensors"
    if not path.exists():
        torch = load_torch()
        torch.manual_seed(1)
        save_weights(build(name, torch), path, {})
    return path


class Bare:
    """The network alone in a process of its own, which has these settings in its environment."""

    def __init__(self, name: str, file: Path, device: str, rows: int, settings: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "bench.networks", name, str(file), device, str(rows)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | settings
        )

    def __call__(self, batches: int) -> float:
        """Return how many pictures a second go through."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{batches}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()


def main(name: str, file: str, device: str, rows: str) -> None:
    """Time the bare forward pass as often as asked."""
    import torch
    from safetensors.torch import load_file

    network = build(name, torch)
    network.load_state_dict(load_file(file))
    network = network.eval().to(device)
    batches = torch.randint(0, 256, (2, int(rows), SIDE, SIDE, 3), dtype=torch.uint8, device=device)
    for line in sys.stdin:
        with torch.inference_mode():
            started = time.perf_counter()
            for number in range(int(line)):
                numbers = network(batches[number % 2])
            numbers.cpu()  # waits for the card
        print(int(line) * int(rows) / (time.perf_counter() - started), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
