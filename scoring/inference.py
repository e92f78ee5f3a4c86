"""PyTorch helpers for devices and memory; the only module that imports torch.

Same weights, same batch size, same machine: the same numbers, bit for bit. So no autocast, no TF32, no choice of
kernels by timing, and an error where an operation has no deterministic form.
"""

import atexit
import gc
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.errors import InvalidInput
from defense_kit.allocator import keep_memory
from defense_kit.limits import SHORT_WAIT
from defense_kit.protocol import Pixels
from scoring.machine import processor_name

Numbers = NDArray[np.float32]
MAX_STARTED = 2
_SWITCH_SECONDS = 0.00005  # after which a waiting thread requests the interpreter


@cache
def load_torch() -> ModuleType:
    """Import torch, set to be deterministic, and return it."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts, so before the import
    os.environ.setdefault("GOMP_SPINCOUNT", SHORT_WAIT["GOMP_SPINCOUNT"])
    tune_process()
    import torch

    # use_deterministic_algorithms also sets the compiler, which nothing here uses; its import takes as long as torch's.
    torch.set_deterministic_debug_mode("error")
    # This mode also fills all memory, for networks that read what nothing was written to. None here does, and filling
    # takes 5 % of a small network's time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    return torch


def tune_process() -> None:
    """Tune this process for quick batches: keep the memory of one for the next, and let waiting threads get Python's
    interpreter soon.

    A network needs the interpreter before each operation, a conversation at each step, while another thread reads
    pictures or keeps answers.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    keep_memory()


@cache
def _waiting_batches() -> "SimpleQueue[Callable[[], None] | None]":
    """Return the queue of batches for at most MAX_STARTED threads, among which torch's threads are divided.

    Why not an executor: docs/decisions/0037.
    """
    threads = load_torch().get_num_threads()
    batches, waiting = min(MAX_STARTED, threads), SimpleQueue[Callable[[], None] | None]()
    workers = [
        Thread(target=_work_on, args=(waiting, threads // batches), name="network", daemon=True) for _ in range(batches)
    ]
    for worker in workers:
        worker.start()
    atexit.register(_end, waiting, workers)
    return waiting


def _work_on(waiting: "SimpleQueue[Callable[[], None] | None]", threads: int) -> None:
    torch = load_torch()
    torch.set_num_threads(threads)
    with torch.inference_mode():
        while (work := waiting.get()) is not None:
            work()
            del work  # and the batch with it


def _end(waiting: "SimpleQueue[Callable[[], None] | None]", workers: Sequence[Thread]) -> None:
    """Wait for running batches to end: a thread that Python stops inside torch can abort the process."""
    for _ in workers:
        waiting.put(None)
    for worker in workers:
        worker.join()


@cache
def choose_device(setting: str) -> str:
    """Return `cpu` or `cuda` for the setting `auto`, `cpu` or `cuda`.

    Raise InvalidInput for `cuda` without a CUDA device: scoring on another device would be recorded wrongly.
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


def name_device(device: str) -> str:
    """Return kind and model of a device; torch is loaded only for a graphics card."""
    return f"{device}, {load_torch().cuda.get_device_name() if device == 'cuda' else processor_name()}"


def describe_device(device: str) -> str:
    """Return what a prediction records as its device: kind, model name and torch version."""
    return f"{name_device(device)}, torch {load_torch().__version__}"


def cards() -> int:
    """Return how many CUDA devices this machine offers."""
    return int(load_torch().cuda.device_count())


def use_card(number: int) -> None:
    """Let this process use the card `number` and no other."""
    load_torch().cuda.set_device(number)


def card_uuid(number: int) -> str:
    """Return the name by which a container engine knows the card `number`."""
    return f"GPU-{load_torch().cuda.get_device_properties(number).uuid}"


def is_gpu_out_of_memory(error: BaseException) -> bool:
    """Say whether `error` is a graphics card's memory running out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether `error` is the machine's memory running out; torch reports its own as a plain RuntimeError."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error))


def free_memory() -> None:
    """Free the card memory that torch caches, so that the next defense finds the card empty."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        gc.collect()  # reference cycles of a failed batch
        torch.cuda.empty_cache()


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
    """A network on a device, for batches of one fixed shape, at most two of them begun and not yet received.

    On a card every batch has a place of its own in page-locked memory, is copied over on one stream while the network
    works on the batch before on another, and only its few numbers come back.
    """

    def __init__(self, build: Callable[[Any], Any], weights: Path, *, device: str, rows: int, image_size: int) -> None:
        torch = self._torch = load_torch()
        network = build(torch)
        load_weights(network, weights)
        self._network = network.eval().to(device)
        shape = (rows, image_size, image_size, 3)
        place = OnCard if device == "cuda" else OnProcessor
        self._places: deque[OnCard | OnProcessor] = deque(
            place(torch, self._network, shape) for _ in range(MAX_STARTED)
        )
        self._begun: deque[OnCard | OnProcessor] = deque()

    def send(self, images: Pixels) -> None:
        """Begin with uint8 images [N, S, S, 3], N and S as declared; they stay as they are until they are received."""
        place = self._places.popleft()
        place.begin(images)
        self._begun.append(place)

    def receive(self) -> Numbers:
        """Return float32 [N, K] for the oldest batch begun."""
        place = self._begun.popleft()
        self._places.append(place)
        return place.finish()


class OnProcessor:
    """A batch's place without a card: one of the threads that share the processors works on it.

    Several batches at once use processors better than one batch divided among them, whose parts wait for each other,
    and the caller is free meanwhile.
    """

    def __init__(self, torch: Any, network: Any, shape: tuple[int, ...]) -> None:
        self._torch, self._network = torch, network
        self._done = SimpleQueue[Numbers | BaseException]()

    def begin(self, images: Pixels) -> None:
        """Have the network work on the batch where it lies."""
        self._done = SimpleQueue()  # an earlier batch that nobody waited for has its own
        _waiting_batches().put(partial(self._forward, images, self._done))

    def finish(self) -> Numbers:
        """Return the network's numbers, or raise what it raised."""
        done = self._done.get()
        try:
            if isinstance(done, BaseException):
                raise done
            return done
        finally:
            del done  # otherwise its traceback holds this frame, and the frame the error

    def _forward(self, images: Pixels, done: "SimpleQueue[Numbers | BaseException]") -> None:
        try:
            done.put(self._network(self._torch.from_numpy(images)).float().numpy())
        except BaseException as error:  # any error has to reach the caller who waits for this batch
            done.put(error)


class OnCard:
    """A batch's place on a card: page-locked memory here, memory there, and an event that says when it is done."""

    def __init__(self, torch: Any, network: Any, shape: tuple[int, ...]) -> None:
        self._torch, self._network = torch, network
        self._staging = torch.empty(shape, dtype=torch.uint8, pin_memory=True)
        self._images = torch.empty(shape, dtype=torch.uint8, device="cuda")
        self._copies = torch.cuda.Stream()
        self._numbers: Any = None
        self._done = torch.cuda.Event()

    def begin(self, images: Pixels) -> None:
        """Copy the batch over while the card may still work on the one before, and queue the network behind it."""
        torch = self._torch
        self._staging.copy_(torch.from_numpy(images))
        with torch.inference_mode():
            with torch.cuda.stream(self._copies):
                self._images.copy_(self._staging, non_blocking=True)
            torch.cuda.current_stream().wait_stream(self._copies)
            output = self._network(self._images).float()
            if self._numbers is None:
                self._numbers = torch.empty(output.shape, dtype=output.dtype, pin_memory=True)
            self._numbers.copy_(output, non_blocking=True)
            self._done.record()

    def finish(self) -> Numbers:
        """Wait until the card has done this batch and return the network's numbers."""
        self._done.synchronize()
        numbers: Numbers = self._numbers.numpy().copy()
        return numbers
