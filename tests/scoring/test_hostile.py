"""Hostile defenses in containers: each ends in time and with its code, leaves nothing, and the next one runs clean."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from defense_kit import container
from defense_kit.conversation import Deadlines
from defense_kit.faults import Fault, RunnerFault
from tests.hostile_scorers import (
    EXPECTED,
    LIMITS,
    PATIENT,
    ROWS,
    Running,
    SealedScorer,
    as_process,
    picture_batch,
    sealed_scorer,
)

BATCHES = 4
NO_FAULT = "no fault"
SHORT = 1.0
PROBES = (
    *("network_probe", "host_files", "clock_and_environment"),
    *("system_calls", "links_and_devices", "second_connection"),
)
_ROOT = {".dockerenv", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "tmp", "usr"}
_DEVICES = {
    *("core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm"),
    *("stderr", "stdin", "stdout", "tty", "urandom", "zero"),
}
# The deadline that a program is expected to miss is short, all others are what a busy machine needs.
DEADLINES = {
    "start_timeout": replace(PATIENT, start=SHORT),
    "hello_timeout": replace(PATIENT, hello=SHORT),
    "batch_timeout": replace(PATIENT, batch=SHORT),
}


@pytest.fixture(scope="module")
def scorer(engine_address: str) -> Iterator[SealedScorer]:
    with sealed_scorer(engine_address) as running:
        yield running


def ask(running: Running) -> list[list[int]]:
    """Send all batches, two of them on their way at a time; return the labels."""
    labels = []
    running.send(picture_batch(0))
    for number in range(1, BATCHES):
        running.send(picture_batch(number))
        labels.append(running.receive().labels.tolist())
    labels.append(running.receive().labels.tolist())
    return labels


def outcome(scorer: SealedScorer, name: str, deadlines: Deadlines) -> tuple[str, str]:
    """Run a program and return its fault, or `no fault`, and its log."""
    try:
        running = scorer.open(name, deadlines)
    except RunnerFault as fault:
        return fault.fault, fault.log
    try:
        ask(running)
        return NO_FAULT, running.log()
    except RunnerFault as fault:
        return fault.fault, fault.log
    finally:
        running.close()


def ends_as_expected(scorer: SealedScorer, name: str) -> None:
    wanted = EXPECTED[name]
    started = time.monotonic()
    ended, log = outcome(scorer, name, DEADLINES.get(wanted, PATIENT))
    assert ended == wanted, log
    assert time.monotonic() - started < 30
    assert scorer.left() == []


@pytest.mark.long("each hostile defense in a container of its own; those that need one stay")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_hostile_defense_ends_with_its_code_and_leaves_nothing(scorer: SealedScorer, name: str) -> None:
    """R30; the next one runs clean."""
    ends_as_expected(scorer, name)
    ends_as_expected(scorer, "honest")


# Of each way to end: what the others do is shown over a socket (`tests/defense_kit/test_conversation.py`) and by plain
# processes (`tests/defense_kit/test_process.py`).
QUICK = ("fork_bomb", "zombies", "silent hang_up", "wrong_answer exit_in_the_middle", "honest")


def test_hostile_defenses_in_containers_leave_nothing_to_the_next(scorer: SealedScorer) -> None:
    """R30: one after the other, the honest one last."""
    for name in QUICK:
        ends_as_expected(scorer, name)


def test_what_is_left_would_be_noticed(scorer: SealedScorer) -> None:
    running = scorer.open("honest", PATIENT)
    try:
        found = {each.partition(" ")[0] for each in scorer.left()}
    finally:
        running.close()
    assert found == {"container", "process", "on"}


def test_every_fault_that_a_program_can_cause_is_caused() -> None:
    cannot = {Fault.IMAGE_PULL, Fault.CANCELLED, Fault.PLATFORM, Fault.GPU_OUT_OF_MEMORY}
    assert set(EXPECTED.values()) - {NO_FAULT} == set(Fault) - cannot


@pytest.fixture(scope="module")
def probed(scorer: SealedScorer) -> dict[str, Any]:
    """What the probing programs found out from inside, by program."""
    found = {}
    for name in PROBES:
        ended, log = outcome(scorer, name, PATIENT)
        assert ended == NO_FAULT, log
        lines = [line for line in log.splitlines() if line.startswith("PROBE ")]
        found[name] = json.loads(lines[0].removeprefix("PROBE "))
    return found


def test_no_network_is_reached(probed: dict[str, Any], containers: Any) -> None:
    said = probed["network_probe"]
    assert said["interfaces"] == ["lo"]
    assert said["listening"] == said["abstract"] == []
    assert said["resolvers"].split() == ["nameserver", "127.0.0.1"]
    # An old engine lets a program open a socket to the hypervisor, and says so to the organizers.
    assert said["reached"] == (["machine"] if container.weaknesses(containers) else [])


def test_nothing_of_the_host_is_read_or_written(probed: dict[str, Any]) -> None:
    said = probed["host_files"]
    assert said["readable"] == ["/proc/1/environ"], "its own init's, which has the same environment"
    assert said["writable"] == []
    assert said["user"] == [container.UID, container.UID, [container.UID]]
    assert set(said["root"]) <= _ROOT
    assert set(said["devices"]) <= _DEVICES
    masks = {
        "/proc/keys",
        "/proc/timer_list",
        "/proc/sched_debug",
        "/proc/latency_stats",
        "/proc/kcore",
    }  # null devices
    assert set(said["writable_mounts"]) - masks == {"/dev/mqueue", "/dev/shm", "/tmp"}


def test_it_is_alone_with_an_init_and_has_no_privileges(probed: dict[str, Any]) -> None:
    said = probed["host_files"]
    status = said["status"]
    assert len(said["processes"]) == 2 and said["first"] == "docker-init"
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert {group.rpartition(":")[2] for group in said["control_groups"]} == {"/"}, "no path of the host's"


def test_nothing_tells_the_contest_from_a_trial(probed: dict[str, Any]) -> None:
    said = probed["clock_and_environment"]
    assert said["environment"] == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOSTNAME": "defense",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "PYTHONHASHSEED": "0",
        "DEFENSE_SOCKET": "/run/defense/defense.sock",
    }
    assert said["hostname"] == "defense"
    assert not said["turns_clock"]


def test_the_kernel_refuses_what_breaks_out(probed: dict[str, Any], containers: Any) -> None:
    tried = dict(probed["system_calls"]["tried"])
    tried.pop("trace")  # its own init, which has its user: allowed, and leads nowhere
    refused = {"EPERM", "EACCES", "ENOSYS"}
    allowed = {name for name, result in tried.items() if result not in refused}
    assert allowed == ({"io_uring"} if container.weaknesses(containers) else set())


def test_what_it_leaves_lies_in_memory_only(probed: dict[str, Any]) -> None:
    said = probed["links_and_devices"]
    assert not said["socket_folder_writable"]
    assert {place for _, place in said["made"]} <= {"/tmp", "/dev/shm"}
    assert {what for what, _ in said["made"]} == {"link", "loop", "pipe", "socket", "setuid"}, "no device"


def test_a_second_connection_is_refused(probed: dict[str, Any]) -> None:
    assert probed["second_connection"]["refused"] == ["ConnectionRefusedError"] * 3


@pytest.mark.long("a flood at full speed, and the engine's seconds beside it")
def test_a_flood_of_output_costs_the_engine_next_to_nothing(engine_address: str, scorer: SealedScorer) -> None:
    running = scorer.open("log_flood", PATIENT)
    try:
        while len(running.log()) < LIMITS.log_kib << 10:
            time.sleep(0.1)
        time.sleep(container.LOG_BURST_BYTES / (50 << 20))  # a flood at full speed passes the burst in no time
        process = int(Path(engine_address.removeprefix("unix://")).with_name("pid").read_text())
        before, started = _processor_seconds(process), time.monotonic()
        ask(running)
        time.sleep(1)
        assert _processor_seconds(process) - before < 0.3 * (time.monotonic() - started)
        assert len(running.log()) == LIMITS.log_kib << 10
    finally:
        running.close()


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("way", ["guesses", "counts", "compares"])
def test_answers_that_depend_on_more_than_the_picture_differ(way: str) -> None:
    """The same pictures in another order, so with other companions: no fault, and found by comparing."""
    pictures = np.concatenate([picture_batch(seed) for seed in range(3)])
    order = np.random.default_rng(5).permutation(len(pictures))
    running = as_process(way)
    first = _labels(running, pictures)
    again = np.empty_like(first)
    again[order] = _labels(running, pictures[order])
    running.close()
    assert (first != again).any()


def _labels(running: Running, pictures: NDArray[np.uint8]) -> NDArray[np.int8]:
    labels = []
    for start in range(0, len(pictures), ROWS):
        running.send(pictures[start : start + ROWS])
        labels.append(running.receive().labels)
    return np.concatenate(labels)
