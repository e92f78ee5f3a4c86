"""The shipped defenses and how one is run: drawn pictures, deterministic torch, legal answers, and what each fault is
called (R28, R30)."""

import gc
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from datetime import datetime
from io import StringIO
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from labeling.enums import Label
from scoring import inference
from scoring.enums import DefenseAnswer, Fault
from scoring.models import Defense
from scoring.reference import REFERENCES, Reference, answered, demo_cnn, reference, train
from scoring.reference.drawing import draw
from scoring.reference.picture_statistics import PictureStatistics
from scoring.runner import BatchAnswers, ReferenceRunner, ReferenceSession, RunnerFault, as_fault, check_answers
from tests.refusals import faulted
from tests.scoring import cast

PICTURES = np.random.default_rng(5).integers(0, 256, (8, 75, 75, 3), dtype=np.uint8)


@pytest.fixture(scope="module", autouse=True)
def torch_is_loaded() -> None:
    """Which takes a process more than a second, once."""
    inference.load_torch()


def cnn() -> Reference:
    return next(each for each in REFERENCES if each.key == "demo-cnn")


IMPORTING = """
import importlib, os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
for module in sys.argv[1:]:
    importlib.import_module(module)
    assert not {"torch", "docker"} & set(sys.modules), module
"""


@pytest.fixture
def cuda() -> Any:
    torch = inference.load_torch()
    return torch if torch.cuda.is_available() else pytest.skip("needs a CUDA device")


def test_importing_brings_neither_torch_nor_a_container_engine() -> None:
    modules = [f"scoring.{name}" for name in ("models", "services", "selectors", "reference", "runner", "engine")]
    subprocess.run([sys.executable, "-c", IMPORTING, *modules, "scoring.tasks", "config.urls"], check=True)


def test_batches_at_once_share_the_processors_and_have_the_numbers_of_one_alone() -> None:
    torch, threads = inference.load_torch(), inference.load_torch().get_num_threads()
    batches = min(2, threads)
    counts = SimpleQueue[int]()
    for _ in range(4):
        inference._waiting_batches().put(lambda: counts.put(torch.get_num_threads()))
    inside = [counts.get(timeout=60) for _ in range(4)]
    assert inside == [threads // batches] * 4 and torch.get_num_threads() == threads
    network = demo_cnn.build_network(torch)
    inference.load_weights(network, cnn().weights_path)
    with torch.inference_mode():
        alone = [network.eval()(torch.from_numpy(each)).numpy() for each in (PICTURES, PICTURES[::-1].copy())]
    forward = inference.TorchForward(
        demo_cnn.build_network, cnn().weights_path, device="cpu", rows=len(PICTURES), image_size=75
    )
    for images in (PICTURES, PICTURES[::-1].copy()):
        forward.send(images)
    assert all(np.array_equal(forward.receive(), numbers) for numbers in alone)


def finished(place: inference.OnProcessor) -> Any:
    until = time.monotonic() + 60
    while place._done.empty():
        assert time.monotonic() < until, "the network's thread is gone"
        time.sleep(0.001)
    return place.finish()


@pytest.mark.parametrize("error", [MemoryError, SystemExit], ids=["an error", "what would end a thread"])
def test_what_a_network_raises_reaches_who_waits_and_the_next_batch_is_answered(error: type[BaseException]) -> None:
    torch = inference.load_torch()

    def network(_images: Any) -> Any:
        raise error("no room")

    for _ in range(4):
        failing = inference.OnProcessor(torch, network, ())
        failing.begin(PICTURES)
        with pytest.raises(error, match="no room"):
            finished(failing)
    place = inference.OnProcessor(torch, lambda images: images[:, 0, 0, :2].float(), ())
    place.begin(PICTURES)
    assert np.array_equal(finished(place), PICTURES[:, 0, 0, :2])


def test_the_memory_of_a_batch_that_failed_is_free_at_once() -> None:
    def network(_images: Any) -> Any:
        raise MemoryError

    place, images = inference.OnProcessor(inference.load_torch(), network, ()), PICTURES.copy()
    batch = weakref.ref(images)
    gc.disable()
    try:
        place.begin(images)
        del images
        with suppress(MemoryError):
            finished(place)
        assert batch() is None
    finally:
        gc.enable()


def test_an_answer_that_nobody_took_is_not_the_next_batchs() -> None:
    place = inference.OnProcessor(inference.load_torch(), lambda images: images[:, 0, 0, :2].float(), ())
    place.begin(PICTURES)
    place.begin(PICTURES[::-1].copy())
    assert np.array_equal(finished(place), PICTURES[::-1, 0, 0, :2])


def test_torch_is_set_to_be_deterministic() -> None:
    torch = inference.load_torch()
    assert torch.get_deterministic_debug_mode() == 2, "what is not deterministic is refused"
    assert not torch.backends.cudnn.benchmark and not torch.backends.cudnn.allow_tf32
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.is_autocast_enabled("cpu")


def test_a_network_answers_the_same_whatever_its_memory_held(monkeypatch: pytest.MonkeyPatch) -> None:
    deterministic = inference.load_torch().utils.deterministic
    assert deterministic.fill_uninitialized_memory is False
    found = []
    for filled in (False, True):
        monkeypatch.setattr(deterministic, "fill_uninitialized_memory", filled)
        model = cnn().load("cpu", PICTURES.shape[1], len(PICTURES))
        model.send(PICTURES)
        found.append(model.receive())
    assert all(map(np.array_equal, *found))


def test_the_processor_is_always_there_and_auto_takes_cuda_where_it_is() -> None:
    assert inference.choose_device("cpu") == "cpu"
    assert inference.describe_device("cpu").startswith("cpu, ")
    assert inference.choose_device("auto") == ("cuda" if inference.load_torch().cuda.is_available() else "cpu")


@pytest.mark.parametrize("declared", REFERENCES, ids=lambda each: each.key)
def test_permuted_rows_of_the_same_batch_size_get_the_same_numbers_bit_for_bit(declared: Reference) -> None:
    in_any_order(declared.load("cpu", 75, 8))


@pytest.mark.parametrize("declared", REFERENCES, ids=lambda each: each.key)
def test_a_reference_is_declared_as_a_demo_with_a_digest_of_its_files(declared: Reference) -> None:
    assert declared.demo and declared.description.startswith("Demo.")
    assert declared.digest.startswith("sha256:") and len(declared.digest) == 71
    assert reference(declared.key) is declared


def in_any_order(model: Any) -> None:
    order = np.random.default_rng(1).permutation(8)
    labels, scores = answered(model, PICTURES)
    again_labels, again_scores = answered(model, PICTURES[order])
    assert (labels[order] == again_labels).all() and (scores[order] == again_scores).all()


def test_the_digest_follows_the_weights(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = cnn()
    for name in ("demo_cnn.py", "demo_cnn.safetensors"):
        (tmp_path / name).write_bytes((declared.weights_path.parent / name).read_bytes())
    monkeypatch.setattr("scoring.reference.HERE", tmp_path)
    fields = ("key", "name", "description", "module", "weights")
    same, changed = (Reference(**{name: getattr(declared, name) for name in fields}) for _ in range(2))
    assert same.digest == declared.digest
    weights = tmp_path / "demo_cnn.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    assert changed.digest != declared.digest


def test_the_weights_are_small_nothing_is_unpickled_and_another_architecture_is_refused(tmp_path: Any) -> None:
    assert cnn().weights_path.stat().st_size < 300_000
    torch, path = inference.load_torch(), tmp_path / "other.safetensors"
    torch.save({"0.weight": torch.zeros(1)}, path)
    with pytest.raises(Exception, match="(?i)header"):
        inference.load_weights(demo_cnn.build_network(torch), path)
    inference.save_weights(torch.nn.Linear(2, 2), path, {"about": "test"})
    with pytest.raises(RuntimeError, match="Missing key"):
        inference.load_weights(demo_cnn.build_network(torch), path)


def test_statistics_abstain_on_what_is_unlike_anything_drawn() -> None:
    (statistics,) = (each for each in REFERENCES if each.key == "numpy-statistics")
    labels, _ = answered(statistics.load("cpu", 75, 1), np.full((1, 75, 75, 3), 128, np.uint8))
    assert labels.tolist() == [DefenseAnswer.ABSTAIN]


DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.mark.parametrize("device", DEVICES)
def test_batches_begun_while_others_are_worked_on_get_the_same_numbers_in_order(
    device: str, request: pytest.FixtureRequest
) -> None:
    if device == "cuda":
        request.getfixturevalue("cuda")
    batches = np.random.default_rng(6).integers(0, 256, (4, 8, 75, 75, 3), dtype=np.uint8)
    alone = [answered(cnn().load(device, 75, 8), batch)[1] for batch in batches]
    model, together = cnn().load(device, 75, 8), []
    for number, batch in enumerate(batches):
        model.send(batch)
        if number:
            together.append(model.receive()[1])
            batches[number - 1] = 0  # the caller may use its memory again
    together.append(model.receive()[1])
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


# NODECO test_a_card_gives_the_same_numbers_each_time_and_in_any_order
@pytest.mark.cuda
def test_a_card_gives_the_same_numbers_each_time_and_in_any_order(cuda: Any) -> None:
    model = cnn().load("cuda", 75, 8)
    for _ in range(5):
        in_any_order(model)
    assert model.device.startswith("cuda, ")


@pytest.mark.cuda
def test_a_card_and_the_processor_agree_closely(cuda: Any) -> None:
    on_card, on_processor = (answered(cnn().load(device, 75, 8), PICTURES)[1] for device in ("cuda", "cpu"))
    assert np.allclose(on_card, on_processor, atol=1e-4)


@pytest.mark.cuda
def test_a_card_running_out_of_memory_has_its_own_name(cuda: Any) -> None:
    with pytest.raises(cuda.OutOfMemoryError) as caught:
        cuda.empty(1 << 50, dtype=cuda.uint8, device="cuda")
    assert inference.is_gpu_out_of_memory(caught.value)


@pytest.mark.cuda
def test_a_cards_memory_is_free_again_after_a_defense_that_filled_it(cuda: Any) -> None:
    class Hog:
        device = "cuda"

        def send(self, images: Any) -> None:
            free, _ = cuda.cuda.mem_get_info()
            self.held = [cuda.empty(free // 2, dtype=cuda.uint8, device="cuda") for _ in range(3)]

        def receive(self) -> Any:
            raise AssertionError("never got here")

    session, free = ReferenceSession(Hog(), image_size=75, batch_size=8), cuda.cuda.mem_get_info()[0]
    with pytest.raises(RunnerFault) as caught:
        session.send(PICTURES)
    assert caught.value.fault == Fault.GPU_OUT_OF_MEMORY
    caught = None  # type: ignore[assignment] # its frames hold the memory
    session.close()
    assert cuda.cuda.mem_get_info()[0] >= free - (64 << 20)
    assert answered(cnn().load("cuda", 75, 8), PICTURES)[0].shape == (8,)


@pytest.mark.parametrize("label", [Label.BICYCLE, Label.BIRD, None])
def test_the_same_seed_draws_the_same_picture(label: Label | None) -> None:
    pictures = [draw(label, np.random.default_rng(seed), 80) for seed in (1, 1, 2)]
    assert pictures[0].shape == (80, 80, 3) and pictures[0].dtype == np.uint8
    assert (pictures[0] == pictures[1]).all() and (pictures[0] != pictures[2]).any()


@pytest.mark.slow("draws the pictures that it fits on")
def test_fitting_on_few_drawn_pictures_already_tells_the_classes_apart() -> None:
    fresh, truth = train.drawn_pictures(60, seed=2)
    fitted = train.fit_statistics(*train.drawn_pictures(120, seed=1))
    assert ((PictureStatistics(fitted).predict(fresh)[1][:, 1] > 0.5) == truth).mean() > 0.85


@pytest.mark.long("torch trains on 400 pictures; fitting on few stays")
def test_the_network_learns() -> None:
    pictures, truth = train.drawn_pictures(400, seed=1)
    network, torch = train.fit_network(pictures, truth, epochs=4), train.load_torch()
    with torch.inference_mode():
        assert (network(torch.from_numpy(pictures)).argmax(1).numpy() == truth).mean() > 0.75


@pytest.mark.django_db
def test_the_command_publishes_once() -> None:
    said = [StringIO(), StringIO()]
    for out in said:
        call_command("publish_reference_defenses", stdout=out)
    counts = [
        out.getvalue().count(words) for out, words in zip(said, (": published", ": already in force"), strict=True)
    ]
    assert (Defense.objects.count(), counts) == (len(REFERENCES), [3, 3])


def answers(labels: Any = None, scores: Any = None) -> BatchAnswers:
    """Two rows of legal answers, but for what is given."""
    return BatchAnswers(
        np.array([0, -1], np.int8) if labels is None else labels,
        np.zeros((2, 2), np.float32) if scores is None else scores,
    )


ILLEGAL: list[tuple[Any, Fault, str]] = [
    (None, Fault.PROTOCOL, "no answers at all"),
    ([0, 1], Fault.PROTOCOL, "a list instead of answers"),
    (answers(labels=[0, 1]), Fault.PROTOCOL, "labels that are no array"),
    (answers(labels=np.array([0, 1, 1], np.int8)), Fault.PROTOCOL, "one label too many"),
    (answers(labels=np.array([0], np.int8)), Fault.PROTOCOL, "one label too few"),
    (answers(labels=np.array([[0, 1]], np.int8)), Fault.PROTOCOL, "labels of another shape"),
    (answers(labels=np.array([0, 2], np.int8)), Fault.PROTOCOL, "a label that does not exist"),
    (answers(labels=np.array([0, 256])), Fault.PROTOCOL, "a label that would wrap around to 0"),
    (answers(labels=np.array([0.0, 1.0])), Fault.PROTOCOL, "labels that are not whole numbers"),
    (answers(labels=np.array(["bird", "bird"])), Fault.PROTOCOL, "words for labels"),
    (answers(scores=np.zeros((2, 3), np.float32)), Fault.PROTOCOL, "three scores a row"),
    (answers(scores=np.zeros((1, 2), np.float32)), Fault.PROTOCOL, "scores for one row of two"),
    (answers(scores=np.zeros((2, 2), object)), Fault.PROTOCOL, "scores that are objects"),
    (answers(scores=np.full((2, 2), np.nan)), Fault.NONFINITE, "NaN"),
    (answers(scores=np.array([[0, np.inf], [0, 0]])), Fault.NONFINITE, "infinite"),
    (answers(scores=np.array([[0, 1e300], [0, 0]])), Fault.NONFINITE, "infinite once it is a float of 32 bits"),
]


@pytest.mark.parametrize(("given", "fault", "why"), ILLEGAL, ids=[why for _, _, why in ILLEGAL])
def test_an_illegal_answer_is_a_fault_with_its_code(given: Any, fault: Fault, why: str) -> None:
    faulted(fault, check_answers, given, 2)


def test_legal_answers_come_out_in_the_recorded_types() -> None:
    checked = check_answers(answers(np.array([1, -1], np.int64), np.ones((2, 2), np.float64)), 2)
    assert (checked.labels.dtype, checked.scores.dtype, checked.labels.tolist()) == (np.int8, np.float32, [1, -1])


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ValueError("any bug"), Fault.CRASHED),
        (RuntimeError("shapes do not fit"), Fault.CRASHED),
        (MemoryError(), Fault.OUT_OF_MEMORY),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), Fault.OUT_OF_MEMORY),
        (lambda torch: torch.OutOfMemoryError("CUDA out of memory"), Fault.GPU_OUT_OF_MEMORY),
        (lambda torch: torch.empty(1 << 60, dtype=torch.uint8), Fault.OUT_OF_MEMORY),
    ],
)
def test_an_exception_of_a_defense_has_a_code(error: Any, fault: Fault) -> None:
    try:
        raise error if isinstance(error, Exception) else error(inference.load_torch())
    except Exception as raised:  # as torch itself raises it, too
        assert as_fault(raised).fault == fault


def test_a_model_that_raises_is_a_fault_of_the_defense() -> None:
    class Broken:
        device = "cpu"

        def send(self, *_: Any) -> Any:
            raise ZeroDivisionError("by itself")

        receive = send

    session = ReferenceSession(Broken(), image_size=75, batch_size=8)
    for asked in (session.receive, lambda: session.send(PICTURES)):
        assert faulted(Fault.CRASHED, asked).text == "ZeroDivisionError: by itself"


def opened(defense: Defense) -> ReferenceSession:
    return ReferenceRunner().open(defense, device="cpu", image_size=75, batch_size=1, seed=1)


# NODECO test_a_closed_session_answers_no_more
def test_a_closed_session_answers_no_more(db: None, now: datetime) -> None:
    session = opened(cast.publish(now, "always-abstain")[0])
    session.close()
    faulted(Fault.CANCELLED, session.send, PICTURES[:1])


@pytest.mark.parametrize(
    "reference", ["demo-cnn", "no-such-thing"], ids=["not the version that is shipped", "not shipped"]
)
def test_an_unknown_version_is_the_platforms_fault(reference: str, now: datetime) -> None:
    faulted(Fault.PLATFORM, opened, Defense(name="x", reference=reference, digest="sha256:0", created_at=now))
