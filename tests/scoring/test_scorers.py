"""Who scores on this machine: a device for one process, and how a defense is run there."""

import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from common import clock
from defense_kit.faults import Fault, RunnerFault
from labeling.policy import Policy
from scoring.models import Defense, Run, Scorer
from scoring.runner import ReferenceRunner
from scoring.scorers import LocalScorer, Runners, limits_of, patience_of
from scoring.sealed import ContainerRunner
from scoring.slots import Slot, take_slot
from tests import factories
from tests.scoring import cast

HOLDER = """
import sys, time
from pathlib import Path
from scoring.slots import take_slot
slot = take_slot(Path(sys.argv[1]), "cuda", 2)
print(slot and slot.name, flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Any:
    """Start processes that take a slot each; they end with the test."""
    started: list[subprocess.Popen[str]] = []

    def hold() -> tuple[str, subprocess.Popen[str]]:
        command = [sys.executable, "-c", HOLDER, str(tmp_path)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout is not None
        return started[-1].stdout.readline().strip(), started[-1]

    yield hold
    for process in started:
        process.kill()
        process.communicate()


def test_each_process_has_a_device_of_its_own_and_a_killed_one_gives_it_back(holder: Callable[[], Any]) -> None:
    (first, killed), (second, _), (third, _) = holder(), holder(), holder()
    assert (first, second, third) == ("cuda-0", "cuda-1", "None")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert holder()[0] == "cuda-0"


def slot_in(folder: Path) -> Slot:
    slot = take_slot(folder, "cpu", 1)
    assert slot is not None
    return slot


def test_a_slot_knows_itself_again_whatever_the_machine_is_called(tmp_path: Path) -> None:
    first = slot_in(tmp_path / "one")
    assert first.folder.is_dir() and take_slot(tmp_path / "one", "cpu", 1) is None, "the processor is one device"
    first.lock.close()
    again, another = slot_in(tmp_path / "one"), slot_in(tmp_path / "two")
    assert again.identity == first.identity != another.identity


@pytest.mark.django_db
@pytest.mark.parametrize(("seconds", "works"), [(4, True), (-4, True), (6, False), (-3600, False)])
def test_nothing_is_begun_with_a_clock_of_its_own(
    seconds: int, works: bool, tmp_path: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second scorer of the same device waits for the first."""
    factories.policy_version()
    cast.queued(now, "always-abstain")
    monkeypatch.setattr(clock, "apart", lambda: timedelta(seconds=seconds))
    first, second = (LocalScorer(folder=tmp_path, device="cpu", runtime="process") for _ in range(2))
    assert (first.work_one(), second.work_one()) == (works, False)
    (seen,) = Scorer.objects.all()
    assert ("clock" in seen.held) is not works, "the cockpit says why"
    assert seen.name.endswith(":cpu-0") and seen.device.startswith("cpu, ") and seen.runtime == "process"
    assert Run.objects.filter(attempt=0).count() == (2 if works else 3)


@pytest.mark.django_db
def test_how_a_defense_is_run(tmp_path: Path, now: datetime) -> None:
    factories.policy_version()
    theirs = Defense(name="theirs", image=f"sha256:{'0' * 64}", digest="sha256:1", created_at=now)
    ours = Defense(name="ours", reference="always-abstain", digest="sha256:1", created_at=now)
    slot = slot_in(tmp_path)
    assert isinstance(Runners(slot, "docker")(theirs), ContainerRunner)
    assert isinstance(Runners(slot, "docker")(ours), ReferenceRunner)
    assert isinstance(Runners(slot, "process")(ours), ReferenceRunner)
    with pytest.raises(RunnerFault, match="runs no containers") as caught:
        Runners(slot, "process")(theirs)
    assert caught.value.fault == Fault.PLATFORM


def test_limits_and_patience_are_the_policys() -> None:
    policy = Policy(
        batch_size=8, seconds_per_picture=5, start_seconds=7, hello_seconds=3, defense_memory_mib=512, defense_cpus=3
    )
    limits, patience = limits_of(policy), patience_of(policy)
    assert (limits.memory_mib, limits.cpus, limits.processes, limits.scratch_mib) == (512, 3, 256, 1024)
    assert (patience.start, patience.hello, patience.per_picture) == (7, 3, 5)


@pytest.mark.django_db
@pytest.mark.parametrize(("runtime", "told"), [("docker", ""), ("process", "process")])
def test_a_scorer_tells_whether_a_container_engine_answers(
    runtime: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.policy_version()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setattr(clock, "apart", lambda: timedelta(0))
    scorer = LocalScorer(folder=tmp_path, device="cpu", runtime=runtime)
    assert scorer.work_one() is False
    assert Scorer.objects.get().runtime == told
