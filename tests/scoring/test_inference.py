"""torch: deterministic, on the device asked for, and in the scoring worker alone."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from common.errors import InvalidInput
from scoring import inference
from scoring.enums import Outcome
from scoring.reference import REFERENCES, Reference, reference

PICTURES = np.random.default_rng(5).integers(0, 256, (8, 75, 75, 3), dtype=np.uint8)


def cnn() -> Reference:
    declared = reference("demo-cnn")
    assert declared is not None
    return declared


def cuda_or_skip() -> Any:
    torch = inference.load_torch()
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return torch


@pytest.mark.parametrize(
    "module",
    [
        "scoring.models",
        "scoring.services",
        "scoring.selectors",
        "scoring.reference",
        "scoring.runner",
        "scoring.engine",
        "scoring.tasks",
        "config.urls",
    ],
)
def test_importing_does_not_bring_torch(module: str) -> None:
    program = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'; django.setup(); "
        f"import {module}; assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_torch_is_set_to_be_deterministic() -> None:
    torch = inference.load_torch()
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.backends.cudnn.benchmark and not torch.backends.cudnn.allow_tf32
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.is_autocast_enabled("cpu")


def test_the_processor_is_always_there() -> None:
    assert inference.choose_device("cpu") == "cpu"
    assert inference.describe_device("cpu").startswith("cpu, ")


def test_auto_takes_cuda_when_there() -> None:
    expected = "cuda" if inference.load_torch().cuda.is_available() else "cpu"
    assert inference.choose_device("auto") == expected


def test_cuda_without_a_device_is_refused_in_words() -> None:
    if inference.load_torch().cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(InvalidInput, match="SCORING_DEVICE is cuda"):
        inference.choose_device("cuda")


@pytest.mark.parametrize("declared", REFERENCES, ids=lambda each: each.key)
def test_permuted_rows_of_the_same_batch_size_get_the_same_numbers_bit_for_bit(declared: Reference) -> None:
    model = declared.load("cpu", 75, 8)
    order = np.random.default_rng(1).permutation(8)
    labels, scores = model.predict(PICTURES)
    again_labels, again_scores = model.predict(PICTURES[order])
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


def test_the_weights_are_small_and_nothing_is_unpickled(tmp_path: Any) -> None:
    assert cnn().weights_path.stat().st_size < 300_000
    torch = inference.load_torch()
    torch.save({"0.weight": torch.zeros(1)}, tmp_path / "pickled.safetensors")
    from scoring.reference import demo_cnn

    with pytest.raises(Exception, match="(?i)header"):
        inference.load_weights(demo_cnn.network(torch), tmp_path / "pickled.safetensors")


def test_weights_of_another_architecture_are_refused(tmp_path: Any) -> None:
    torch = inference.load_torch()
    from scoring.reference import demo_cnn

    inference.save_weights(torch.nn.Linear(2, 2), tmp_path / "other.safetensors", {"about": "test"})
    with pytest.raises(RuntimeError, match="Missing key"):
        inference.load_weights(demo_cnn.network(torch), tmp_path / "other.safetensors")


def test_statistics_abstain_on_what_is_unlike_anything_drawn() -> None:
    declared = reference("numpy-statistics")
    assert declared is not None
    blank = np.full((1, 75, 75, 3), 128, np.uint8)
    labels, _ = declared.load("cpu", 75, 1).predict(blank)
    assert labels.tolist() == [Outcome.ABSTAIN]


@pytest.mark.cuda
def test_a_card_gives_the_same_numbers_each_time_and_in_any_order() -> None:
    cuda_or_skip()
    model = cnn().load("cuda", 75, 8)
    order = np.random.default_rng(1).permutation(8)
    labels, scores = model.predict(PICTURES)
    for _ in range(5):
        again_labels, again_scores = model.predict(PICTURES[order])
        assert (labels[order] == again_labels).all() and (scores[order] == again_scores).all()
    assert model.device.startswith("cuda, ")


@pytest.mark.cuda
def test_a_card_and_the_processor_agree_closely() -> None:
    cuda_or_skip()
    on_card, on_processor = cnn().load("cuda", 75, 8), cnn().load("cpu", 75, 8)
    assert np.allclose(on_card.predict(PICTURES)[1], on_processor.predict(PICTURES)[1], atol=1e-4)


@pytest.mark.cuda
def test_a_card_running_out_of_memory_has_its_own_name() -> None:
    torch = cuda_or_skip()
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    assert inference.is_gpu_out_of_memory(caught.value)
