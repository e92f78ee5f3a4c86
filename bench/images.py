"""Container images with a defense in them, for the benchmarks: this machine's own Python and torch, nothing pulled."""

import io
from pathlib import Path

import defense_kit
from bench import networks
from tests.images import PYTHON, Image, Layer, files_layer, numpy_layer, python_layer, torch_layer

_KIT = Path(defense_kit.__file__).parent
# What a participant would write around a network, but for its threads: as in the kit's own example for torch.
_TORCH = """
import numpy as np
import torch
from defense_kit import serve
from network import build_network

torch.set_num_threads(THREADS)
NETWORK = build_network(torch)
NETWORK.load_state_dict(torch.load("/opt/weights.pt", weights_only=True))
NETWORK.eval()


def predict(images):
    with torch.inference_mode():
        scores = NETWORK(torch.from_numpy(images)).softmax(dim=1).numpy()
    return np.where(scores.max(axis=1) >= 0.8, scores.argmax(axis=1), -1), scores


def on_ready(ready):
    predict(np.zeros((ready.batch_size, ready.image_size, ready.image_size, 3), np.uint8))


serve(predict, name="bench", on_ready=on_ready)
"""
_WIRE = """
from defense_kit import serve
serve(lambda images: ["abstain"] * len(images), name="wire")
"""


def wire_image(folder: Path) -> Image:
    """Return the image of a program that reads every batch and abstains."""
    return Image([python_layer(), numpy_layer(), _program(folder, _WIRE, {})], [PYTHON, "/opt/run.py"])


def network_image(name: str, folder: Path) -> Image:
    """Return the image of a defense that asks the network of this name."""
    files = {"opt/network.py": networks.source(name).encode(), "opt/weights.pt": torch_weights(name, folder)}
    program = _TORCH.replace("THREADS", str(networks.THREADS))
    layers = [python_layer(), numpy_layer(), torch_layer(), _program(folder, program, files)]
    return Image(layers, [PYTHON, "/opt/run.py"])


def _program(folder: Path, program: str, files: dict[str, bytes]) -> Layer:
    kit = {f"opt/defense_kit/{path.name}": path.read_bytes() for path in _KIT.glob("*.py")}
    return files_layer(folder, kit | files | {"opt/run.py": program.encode()})


def torch_weights(name: str, folder: Path) -> bytes:
    """Return the same weights as torch keeps them."""
    from safetensors.torch import load_file

    from scoring.inference import load_torch

    buffer = io.BytesIO()
    load_torch().save(load_file(networks.weights(name, folder)), buffer)
    return buffer.getvalue()
