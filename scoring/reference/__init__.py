"""The defenses shipped with this project (R28): simple, and not eligible for prizes.

A declaration names the code and the weights that decide the answers; their digest pins the version.
"""

import hashlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # the web process reads the declarations and needs no NumPy
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Answered = tuple[NDArray[np.int8], NDArray[np.float32]]

HERE = Path(__file__).resolve().parent


class Model(Protocol):
    """A loaded reference defense. `device` says where it runs, for the record.

    At most two batches may be between `send` and `receive`, which lets a card work on one while the next is copied.
    """

    device: str

    def send(self, images: "Pixels") -> None:
        """Begin with images uint8 [N, S, S, 3]."""

    def receive(self) -> "Answered":
        """Return labels int8 [N] and scores float32 [N, 2] = [bicycle, bird] of the oldest batch begun."""


class AtOnce(ABC):
    """A defense on the processor: a batch is answered when its answers are asked for."""

    def __init__(self) -> None:
        self._begun: deque[Pixels] = deque()

    def send(self, images: "Pixels") -> None:
        """Keep the batch until its turn comes."""
        self._begun.append(images)

    def receive(self) -> "Answered":
        """Answer the oldest batch begun."""
        return self.predict(self._begun.popleft())

    @abstractmethod
    def predict(self, images: "Pixels") -> "Answered":
        """Return labels int8 [N] and scores float32 [N, 2] = [bicycle, bird] for images uint8 [N, S, S, 3]."""


def answered(model: Model, images: "Pixels") -> "Answered":
    """Return the answers of `model` to one batch."""
    model.send(images)
    return model.receive()


@dataclass(frozen=True)
class Reference:
    """The declaration of a shipped defense; `key` is what `Defense.reference` holds."""

    key: str
    name: str
    description: str
    module: str
    weights: str = ""
    demo: bool = True

    @property
    def weights_path(self) -> Path:
        """Return the file of its parameters."""
        return HERE / self.weights

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 over the code file and the weights file, each preceded by its length."""
        whole = hashlib.sha256()
        files = [HERE / f"{self.module}.py"] + ([self.weights_path] if self.weights else [])
        for file in files:
            content = file.read_bytes()
            whole.update(len(content).to_bytes(8, "little") + content)
        return f"sha256:{whole.hexdigest()}"

    def load(self, device: str, image_size: int, batch_size: int) -> Model:
        """Load it for batches uint8 [batch_size, image_size, image_size, 3] on `device` (`cpu` or `cuda`)."""
        load: Callable[..., Any] = import_module(f"scoring.reference.{self.module}").load
        model: Model = load(self.weights_path, device=device, image_size=image_size, batch_size=batch_size)
        return model


REFERENCES = (
    Reference(
        key="numpy-statistics",
        name="numpy-statistics",
        description=(
            "Demo. Measures edges, thin lines, colour and symmetry with NumPy and weighs them linearly; fitted on "
            "drawn pictures. Abstains when unsure or when a picture is unlike anything it was fitted on."
        ),
        module="picture_statistics",
        weights="picture_statistics.json",
    ),
    Reference(
        key="demo-cnn",
        name="demo-cnn",
        description=(
            "Demo. A small convolutional network on torch, trained briefly on drawn pictures alone. Weak on "
            "purpose: this training was picked because it errs on some of the demo's photographs. Abstains below a "
            "confidence threshold."
        ),
        module="demo_cnn",
        weights="demo_cnn.safetensors",
    ),
    Reference(
        key="always-abstain",
        name="always-abstain",
        description="Demo. Abstains on every picture: it cannot be broken and is of no use.",
        module="always_abstain",
    ),
)
_BY_KEY = {declared.key: declared for declared in REFERENCES}


def reference(key: str) -> Reference | None:
    """Return the shipped defense called `key`; None when there is no such thing."""
    return _BY_KEY.get(key)
