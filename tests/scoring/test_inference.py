"""torch: deterministic, on the device asked for, and in the scoring worker alone."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from scoring import inference
from scoring.enums import Fault, Outcome
from scoring.reference import REFERENCES, Reference, answered, reference
from scoring.runner import ReferenceSession, RunnerFault

PICTURES = np.random.default_rng(5).integers(0, 256, (8, 75, 75, 3), dtype=np.uint8)


@pytest.fixture(scope="module", autouse=True)
def torch_is_loaded() -> None:
    """Which takes a process more than a second, once."""
    inference.load_torch()


def cnn() -> Reference:
    declared = reference("demo-cnn")
    assert declared is not None
    return declared


def cuda_or_skip() -> Any:
    torch = inference.load_torch()
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return torch


IMPORTING = """
import importlib, os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
for module in sys.argv[1:]:
    importlib.import_module(module)
    assert not {"torch", "docker"} & set(sys.modules), module
"""


def test_importing_brings_neither_torch_nor_a_container_engine() -> None:
    modules = [f"scoring.{name}" for name in ("models", "services", "selectors", "reference", "runner", "engine")]
    command = [sys.executable, "-c", IMPORTING, *modules, "scoring.tasks", "config.urls"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_torch_is_set_to_be_deterministic() -> None:
    torch = inference.load_torch()
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.backends.cudnn.benchmark and not torch.backends.cudnn.allow_tf32
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.is_autocast_enabled("cpu")


def test_the_processor_is_always_there_and_auto_takes_cuda_where_it_is() -> None:
    assert inference.choose_device("cpu") == "cpu"
    assert inference.describe_device("cpu").startswith("cpu, ")
    assert inference.choose_device("auto") == ("cuda" if inference.load_torch().cuda.is_available() else "cpu")


@pytest.mark.parametrize("declared", REFERENCES, ids=lambda each: each.key)
def test_permuted_rows_of_the_same_batch_size_get_the_same_numbers_bit_for_bit(declared: Reference) -> None:
    model = declared.load("cpu", 75, 8)
    order = np.random.default_rng(1).permutation(8)
    labels, scores = answered(model, PICTURES)
    again_labels, again_scores = answered(model, PICTURES[order])
    assert (labels[order] == again_labels).all() and (scores[order] == again_scores).all()


@pytest.mark.parametrize("declared", REFERENCES, ids=lambda each: each.key)
def test_a_reference_is_declared_as_a_demo_with_a_digest_of_its_files(declared: Reference) -> None:
    assert declared.demo and declared.description.startswith("Demo.")
    assert declared.digest.startswith("sha256:") and len(declared.digest) == 71
    assert reference(declared.key) is declared


def test_the_digest_follows_the_weights(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = cnn()
    for name in ("demo_cnn.py", "demo_cnn.safetensors"):
        (tmp_path / name).write_bytes((declared.weights_path.parent / name).read_bytes())
    monkeypatch.setattr("scoring.reference.HERE", tmp_path)
    fields = ("key", "name", "description", "module", "weights")
    copies = [Reference(**{name: getattr(declared, name) for name in fields}) for _ in range(2)]
    assert copies[0].digest == declared.digest
    with (tmp_path / "demo_cnn.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    assert copies[1].digest != declared.digest


def test_the_weights_are_small_nothing_is_unpickled_and_another_architecture_is_refused(tmp_path: Any) -> None:
    assert cnn().weights_path.stat().st_size < 300_000
    torch = inference.load_torch()
    torch.save({"0.weight": torch.zeros(1)}, tmp_path / "pickled.safetensors")
    from scoring.reference import demo_cnn

    with pytest.raises(Exception, match="(?i)header"):
        inference.load_weights(demo_cnn.network(torch), tmp_path / "pickled.safetensors")
    inference.save_weights(torch.nn.Linear(2, 2), tmp_path / "other.safetensors", {"about": "test"})
    with pytest.raises(RuntimeError, match="Missing key"):
        inference.load_weights(demo_cnn.network(torch), tmp_path / "other.safetensors")


def test_statistics_abstain_on_what_is_unlike_anything_drawn() -> None:
    declared = reference("numpy-statistics")
    assert declared is not None
    blank = np.full((1, 75, 75, 3), 128, np.uint8)
    labels, _ = answered(declared.load("cpu", 75, 1), blank)
    assert labels.tolist() == [Outcome.ABSTAIN]


DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.mark.parametrize("device", DEVICES)
def test_batches_begun_while_others_are_worked_on_get_the_same_numbers_in_order(device: str) -> None:
    if device == "cuda":
        cuda_or_skip()
    batches = np.random.default_rng(6).integers(0, 256, (4, 8, 75, 75, 3), dtype=np.uint8)
    alone = [answered(cnn().load(device, 75, 8), batch)[1] for batch in batches]
    model = cnn().load(device, 75, 8)
    together = []
    for number, batch in enumerate(batches):
        model.send(batch)
        if number:
            together.append(model.receive()[1])
            batches[number - 1] = 0  # the caller may use its memory again
    together.append(model.receive()[1])
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


@pytest.mark.cuda
def test_a_card_gives_the_same_numbers_each_time_and_in_any_order() -> None:
    cuda_or_skip()
    model = cnn().load("cuda", 75, 8)
    order = np.random.default_rng(1).permutation(8)
    labels, scores = answered(model, PICTURES)
    for _ in range(5):
        again_labels, again_scores = answered(model, PICTURES[order])
        assert (labels[order] == again_labels).all() and (scores[order] == again_scores).all()
    assert model.device.startswith("cuda, ")


@pytest.mark.cuda
def test_a_card_and_the_processor_agree_closely() -> None:
    cuda_or_skip()
    on_card, on_processor = cnn().load("cuda", 75, 8), cnn().load("cpu", 75, 8)
    assert np.allclose(answered(on_card, PICTURES)[1], answered(on_processor, PICTURES)[1], atol=1e-4)


@pytest.mark.cuda
def test_a_card_running_out_of_memory_has_its_own_name() -> None:
    torch = cuda_or_skip()
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    assert inference.is_gpu_out_of_memory(caught.value)


@pytest.mark.cuda
def test_a_cards_memory_is_free_again_after_a_defense_that_filled_it() -> None:
    torch = cuda_or_skip()

    class Hog:
        device = "cuda"

        def send(self, images: Any) -> None:
            free, _ = torch.cuda.mem_get_info()
            self.held = [torch.empty(free // 2, dtype=torch.uint8, device="cuda") for _ in range(3)]

        def receive(self) -> Any:
            raise AssertionError("never got here")

    session = ReferenceSession(Hog())
    free, _ = torch.cuda.mem_get_info()
    with pytest.raises(RunnerFault) as caught:
        session.send(PICTURES)
    assert caught.value.fault == Fault.GPU_OUT_OF_MEMORY
    caught = None  # type: ignore[assignment] # its frames hold the memory
    session.close()
    assert torch.cuda.mem_get_info()[0] >= free - (64 << 20)
    assert answered(cnn().load("cuda", 75, 8), PICTURES)[0].shape == (8,)
