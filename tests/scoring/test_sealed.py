"""The contest's container runner: where images come from, and what a scorer finds when it starts again."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from defense_kit import container
from defense_kit.faults import Fault, RunnerFault
from defense_kit.limits import Limits
from labeling.store import picture_store
from scoring.models import Defense
from scoring.sealed import ContainerRunner, Patience, archive_key
from tests.images import PYTHON, Image, files_layer, numpy_layer, python_layer, write_archive

KIT = Path(container.__file__).parent
PROGRAM = b"""
import numpy as np
from defense_kit.serve import serve
serve(lambda images: ["bird" if image.mean() > 127 else "bicycle" for image in images], name="by brightness")
"""
LIMITS = Limits(memory_mib=256, cpus=1, processes=32, scratch_mib=8)
PATIENCE = Patience(start=60, hello=30, per_picture=15)


@pytest.fixture
def runner(engine_address: str, tmp_path: Path) -> Callable[..., ContainerRunner]:
    def _runner(**changes: Any) -> ContainerRunner:
        usual = {"scorer": "test-sealed", "folder": tmp_path / "scorer", "limits": LIMITS, "patience": PATIENCE}
        return ContainerRunner(**{**usual, "address": engine_address, "least_free_bytes": 1 << 20, **changes})

    return _runner


def kit_image(folder: Path, program: bytes = PROGRAM) -> Image:
    """A defense as a participant would write it, with the kit beside its program."""
    files = {f"opt/defense_kit/{path.name}": path.read_bytes() for path in KIT.glob("*.py")}
    return Image(
        [python_layer(), numpy_layer(), files_layer(folder, files | {"opt/run.py": program})], [PYTHON, "/opt/run.py"]
    )


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return kit_image(tmp_path)


def handed_in(image: Image, tmp_path: Path, *, key: str = "") -> Defense:
    """A defense whose image archive is in the store."""
    archive = write_archive(tmp_path / "image.tar", [image]).read_bytes()
    sha256 = key or hashlib.sha256(archive).hexdigest()
    picture_store().put(archive_key(sha256), archive)
    return Defense(name="by brightness", image=image.id, digest=image.id, archive=sha256)


def opened(runner: ContainerRunner, defense: Defense, **changes: Any) -> Any:
    usual = {"device": "cpu", "image_size": 32, "batch_size": 2, "seed": 7}
    return runner.open(defense, **{**usual, **changes})


def fault_of(runner: ContainerRunner, defense: Defense, **changes: Any) -> RunnerFault:
    with pytest.raises(RunnerFault) as caught:
        opened(runner, defense, **changes)
    return caught.value


def test_a_defense_comes_out_of_the_store_and_answers(
    runner: Callable[..., ContainerRunner], containers: Any, image: Image, tmp_path: Path
) -> None:
    defense = handed_in(image, tmp_path)
    session = opened(runner(), defense, attempt="5")
    try:
        (running,) = containers.containers.list()
        assert running.labels[container.ATTEMPT_LABEL] == "5"
        assert running.labels[container.DIGEST_LABEL] == image.id
        batch = np.stack([np.full((32, 32, 3), shade, np.uint8) for shade in (10, 200)])
        session.send(batch)
        session.send(batch[::-1])
        assert session.receive().labels.tolist() == [0, 1]
        assert session.receive().labels.tolist() == [1, 0]
        assert session.name == "by brightness"
        assert session.device.startswith("cpu, ") and session.device.endswith(", container")
    finally:
        session.close()
    assert containers.containers.list(all=True) == []
    assert list((tmp_path / "scorer").iterdir()) == [], "neither the archive nor the socket is left"


def test_what_a_killed_scorer_or_a_failed_stop_left_is_removed(
    runner: Callable[..., ContainerRunner], containers: Any, image: Image, tmp_path: Path
) -> None:
    """When it begins again, and before the next defense opens; another scorer's containers stay."""
    defense, one = handed_in(image, tmp_path), runner()
    other = opened(runner(scorer="test-sealed-2"), defense)
    opened(one, defense)  # and never closed, as if its stop had failed
    opened(one, defense)  # nor this one, as if killed
    found = sorted(each.labels[container.SCORER_LABEL] for each in containers.containers.list(all=True))
    assert found == ["test-sealed", "test-sealed-2"]
    other.close()
    (tmp_path / "scorer" / "archive-half").mkdir()
    (tmp_path / "scorer" / "gate-left").mkdir()
    (tmp_path / "scorer" / "gate-left" / "link").symlink_to(tmp_path / "image.tar")
    assert runner().start_clean() == 1
    assert containers.containers.list(all=True) == []
    assert list((tmp_path / "scorer").iterdir()) == []
    assert (tmp_path / "image.tar").exists(), "links are not followed"


@pytest.mark.long("waits for a deadline; `test_scorers` shows whose seconds they are")
def test_a_batch_has_the_seconds_of_the_pictures_that_were_asked_for(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    slow = PROGRAM.replace(b"lambda images: [", b"lambda images: __import__('time').sleep(600) or [")
    defense = handed_in(kit_image(tmp_path, slow), tmp_path)
    patience = Patience(start=60, hello=30, per_picture=0.5)
    session = opened(runner(patience=patience), defense, batch_size=4)
    try:
        session.send(np.zeros((1, 32, 32, 3), np.uint8))
        started = time.monotonic()
        with pytest.raises(RunnerFault) as caught:
            session.receive()
    finally:
        session.close()
    assert caught.value.fault is Fault.BATCH_TIMEOUT
    assert 1.5 < time.monotonic() - started < 10


def test_a_store_without_the_archive_says_so(
    runner: Callable[..., ContainerRunner], tmp_path: Path, engine_address: str
) -> None:
    nowhere = f"sha256:{'cd' * 32}"
    fault = fault_of(runner(), Defense(name="d", image=nowhere, digest=nowhere, archive="cd" * 32))
    assert fault.fault is Fault.IMAGE_PULL and "has no defenses/" in fault.text


def test_an_archive_that_changed_in_the_store_is_not_loaded(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    image = Image([files_layer(tmp_path, {"run": b"changed"})], ["/run"])
    fault = fault_of(runner(), handed_in(image, tmp_path, key="ef" * 32))
    assert fault.fault is Fault.IMAGE_PULL and f"expected {'ef' * 32}" in fault.text
    assert not container.present(containers, image.id)


def test_a_full_disk_is_the_platforms_fault_and_old_images_go(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    kept, wanted = (Image([files_layer(tmp_path, {"run": name})], ["/run"]) for name in (b"kept", b"wanted"))
    container.load_archive(containers, write_archive(tmp_path / "kept.tar", [kept]), kept.id)
    fault = fault_of(runner(least_free_bytes=1 << 60), handed_in(wanted, tmp_path))
    assert fault.fault is Fault.PLATFORM and "too full" in fault.text
    assert not container.present(containers, kept.id)


def test_a_card_that_is_not_named_is_the_platforms_fault(runner: Callable[..., ContainerRunner]) -> None:
    fault = fault_of(runner(), Defense(name="d", image=f"sha256:{'cd' * 32}"), device="cuda")
    assert fault.fault is Fault.PLATFORM


@pytest.mark.long("a container of its own; the fault stays with `test_container`")
def test_an_engine_that_is_away_is_asked_again_the_next_time(
    runner: Callable[..., ContainerRunner], engine_address: str, image: Image, tmp_path: Path
) -> None:
    away = tmp_path / "docker.sock"
    late = runner(address=f"unix://{away}")
    defense = handed_in(image, tmp_path)
    assert fault_of(late, defense).fault is Fault.PLATFORM
    away.symlink_to(engine_address.removeprefix("unix://"))
    opened(late, defense).close()


def test_a_run_that_somebody_stops_is_cancelled(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    idle = Image([python_layer()], [PYTHON, "-c", "import time; time.sleep(600)"])
    fault = fault_of(runner(), handed_in(idle, tmp_path), cancelled=lambda: True)
    assert fault.fault is Fault.CANCELLED
    assert containers.containers.list(all=True) == []


def test_nothing_is_started_that_the_machine_could_run_out_of_memory_with(
    runner: Callable[..., ContainerRunner], image: Image, tmp_path: Path
) -> None:
    greedy = runner(limits=Limits(memory_mib=1 << 30, cpus=1, processes=32, scratch_mib=8))
    with pytest.raises(RunnerFault, match="MiB of memory free") as caught:
        opened(greedy, handed_in(image, tmp_path))
    assert caught.value.fault is Fault.PLATFORM
