"""A defense of the warm-up around a network of the benchmarks, and the network alone on the same float pictures."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import networks
from bench.images import torch_weights
from defense_kit.conversation import ConversationDeadlines
from defense_kit.harness import DefenseSession, open_defense
from defense_kit.limits import DefenseLimits
from defense_kit.process import start_process
from defense_kit.warmup.attacks import SIDE

_PROGRAM = """
import sys
import time

import numpy as np
import torch
from network import build_network

torch.set_num_threads(THREADS)
NETWORK = build_network(torch)
NETWORK.load_state_dict(torch.load("weights.pt", weights_only=True))
NETWORK.eval()


def classify(pictures):
    with torch.inference_mode():
        return NETWORK(255 * torch.from_numpy(pictures)).numpy()


def bare(rows):
    pictures = np.random.default_rng(1).random((2, rows, 224, 224, 3), dtype=np.float32)
    classify(pictures[0])
    for line in sys.stdin:
        started = time.perf_counter()
        for number in range(int(line)):
            classify(pictures[number % 2])
        print(int(line) * rows / (time.perf_counter() - started), flush=True)


if len(sys.argv) > 1:
    bare(int(sys.argv[1]))
else:
    from defense_kit import from_warmup, serve

    serve(from_warmup(classify, 0.8), name="bench")
"""
_COMMAND = (sys.executable, "defense.py")


def written(network: str, folder: Path, threads: int) -> Path:
    """Write the program with a network that has so many threads into a folder of its own, and return that."""
    place = folder / network
    place.mkdir()
    (place / "defense.py").write_text(_PROGRAM.replace("THREADS", str(threads)))
    (place / "network.py").write_text(networks.source(network))
    (place / "weights.pt").write_bytes(torch_weights(network, folder))
    return place


def opened(place: Path, rows: int) -> DefenseSession:
    """Start the defense for float32 batches of so many rows."""
    return open_defense(
        lambda socket: start_process(_COMMAND, place, socket, DefenseLimits()),
        image_size=SIDE,
        batch_size=rows,
        seed=0,
        deadlines=ConversationDeadlines(start=120, hello=60, batch=300),
        pixels="float32",
    )


@contextmanager
def bare(place: Path, rows: int) -> Iterator["subprocess.Popen[str]"]:
    """Run the network alone, keeping its memory; it reads numbers of batches and writes rows/s."""
    settings = os.environ | networks.FLOOR_SETTINGS
    command = [*_COMMAND, str(rows)]
    process = subprocess.Popen(
        command, cwd=place, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.communicate()


def bare_speed(process: "subprocess.Popen[str]", batches: int) -> float:
    """Return how many rows a second go through the network alone."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{batches}\n")
    process.stdin.flush()
    return float(process.stdout.readline())
