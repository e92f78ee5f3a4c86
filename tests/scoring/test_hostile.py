"""Hostile defenses in containers: each ends in time and with its code, leaves nothing, and the next one runs clean."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from defense_kit import container
from defense_kit.conversation import ConversationDeadlines
from defense_kit.faults import Fault, RunnerFault
from defense_kit.sealing import UID
from tests.hostile_scorers import (
    EXPECTED,
    LIMITS,
    PATIENT,
    Running,
    SealedScorer,
    picture_batch,
    sealed_scorer,
)

NO_FAULT = "no fault"
_ROOT = {".dockerenv", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "tmp", "usr"}
_DEVICES = {
    *("core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm"),
    *("stderr", "stdin", "stdout", "tty", "urandom", "zero"),
}
# The deadline that a program is expected to miss is short, all others are what a busy machine needs.
DEADLINES = {f"{name}_timeout": replace(PATIENT, **{name: 1.0}) for name in ("start", "hello", "batch")}


@pytest.fixture(scope="module")
def scorer(engine_address: str) -> Iterator[SealedScorer]:
    with sealed_scorer(engine_address) as running:
        yield running


def ask(running: Running) -> None:
    """Send four batches, two of them on their way at a time."""
    running.send(picture_batch(0))
    for number in (1, 2, 3):
        running.send(picture_batch(number))
        running.receive()
    running.receive()


def outcome(scorer: SealedScorer, name: str, deadlines: ConversationDeadlines) -> tuple[str, str]:
    """Run a program and return its fault, or `no fault`, and its log."""
    try:
        with closing(scorer.open(name, deadlines)) as running:
            ask(running)
            return NO_FAULT, running.log()
    except RunnerFault as fault:
        return fault.fault, fault.log


def ends_as_expected(scorer: SealedScorer, name: str) -> None:
    wanted, started = EXPECTED[name], time.monotonic()
    ended, log = outcome(scorer, name, DEADLINES.get(wanted, PATIENT))
    assert ended == wanted, log
    assert time.monotonic() - started < 30 and scorer.left() == []


@pytest.mark.long("each hostile defense in a container of its own; those that need one stay")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_hostile_defense_ends_with_its_code_and_leaves_nothing(scorer: SealedScorer, name: str) -> None:
    """R30; the next one runs clean."""
    ends_as_expected(scorer, name)
    ends_as_expected(scorer, "honest")


# Of each way to end: what the others do is shown over a socket (`tests/defense_kit/test_conversation.py`) and by plain
# processes (`tests/defense_kit/test_process.py`).
QUICK = ("greedy processes", "zombies", "misbehaving hang_up", "misbehaving exit_in_the_middle", "honest")


def test_hostile_defenses_in_containers_leave_nothing_to_the_next(scorer: SealedScorer) -> None:
    """R30: one after the other, the honest one last."""
    for name in QUICK:
        ends_as_expected(scorer, name)


def test_what_is_left_would_be_noticed(scorer: SealedScorer) -> None:
    with closing(scorer.open("honest", PATIENT)):
        assert {each.partition(" ")[0] for each in scorer.left()} == {"container", "process", "on"}


def test_every_fault_that_a_program_can_cause_is_caused() -> None:
    cannot = {Fault.IMAGE_PULL, Fault.CANCELLED, Fault.PLATFORM, Fault.GPU_OUT_OF_MEMORY}
    assert set(EXPECTED.values()) - {NO_FAULT} == set(Fault) - cannot


@pytest.fixture(scope="module")
def probed(scorer: SealedScorer) -> dict[str, Any]:
    """What a probing program found out from inside."""
    ended, log = outcome(scorer, "probe", PATIENT)
    assert ended == NO_FAULT, log
    (line,) = (line for line in log.splitlines() if line.startswith("PROBE "))
    return dict(json.loads(line.removeprefix("PROBE ")))


def test_no_network_is_reached(probed: dict[str, Any], containers: Any) -> None:
    assert (probed["interfaces"], probed["listening"], probed["abstract"]) == (["lo"], [], [])
    assert probed["resolvers"].split() == ["nameserver", "127.0.0.1"]
    # An old engine lets a program open a socket to the hypervisor, and says so to the organizers.
    assert probed["reached"] == (["machine"] if container.weaknesses(containers) else [])


def test_nothing_of_the_host_is_read_or_written(probed: dict[str, Any]) -> None:
    assert probed["readable"] == ["/proc/1/environ"], "its own init's, which has the same environment"
    assert (probed["writable"], probed["user"]) == ([], [UID, UID, [UID]])
    assert set(probed["root"]) <= _ROOT and set(probed["devices"]) <= _DEVICES
    null_devices = {f"/proc/{name}" for name in ("keys", "timer_list", "sched_debug", "latency_stats", "kcore")}
    assert set(probed["writable_mounts"]) - null_devices == {"/dev/mqueue", "/dev/shm", "/tmp"}


def test_it_is_alone_with_an_init_and_has_no_privileges(probed: dict[str, Any]) -> None:
    status = probed["status"]
    assert (len(probed["processes"]), probed["first"]) == (2, "docker-init")
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert {group.rpartition(":")[2] for group in probed["control_groups"]} == {"/"}, "no path of the host's"


def test_nothing_tells_the_contest_from_a_trial(probed: dict[str, Any]) -> None:
    assert probed["environment"] == {
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
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "GOMP_SPINCOUNT": "1000",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "PYTHONHASHSEED": "0",
        "DEFENSE_SOCKET": "/run/defense/defense.sock",
    }
    assert (probed["hostname"], probed["turns_clock"]) == ("defense", False)


def test_the_kernel_refuses_what_breaks_out(probed: dict[str, Any], containers: Any) -> None:
    assert len(probed["tried"]) > 15, "a probe that tried nothing, or root"
    # To trace its own init, which has its user, is allowed, and leads nowhere.
    refused = {"EPERM", "EACCES", "ENOSYS"}
    allowed = {name for name, result in probed["tried"].items() if result not in refused} - {"trace"}
    assert allowed == ({"io_uring"} if container.weaknesses(containers) else set())


def test_what_it_leaves_lies_in_memory_only_and_a_second_connection_is_refused(probed: dict[str, Any]) -> None:
    assert (probed["socket_folder_writable"], probed["connects_again"]) == (False, ["ConnectionRefusedError"] * 3)
    assert {place for _, place in probed["made"]} <= {"/tmp", "/dev/shm"}
    assert {what for what, _ in probed["made"]} == {"link", "loop", "pipe", "socket", "setuid"}, "no device"


@pytest.mark.long("a flood at full speed, and the engine's seconds beside it")
def test_a_flood_of_output_costs_the_engine_next_to_nothing(engine_address: str, scorer: SealedScorer) -> None:
    process = Path(engine_address.removeprefix("unix://")).with_name("pid").read_text()

    def processor_seconds() -> float:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    with closing(scorer.open("honest flood", PATIENT)) as running:
        while len(running.log()) < LIMITS.log_kib << 10:
            time.sleep(0.1)
        time.sleep(container.LOG_BURST_BYTES / (50 << 20))  # a flood at full speed passes the burst in no time
        before, started = processor_seconds(), time.monotonic()
        ask(running)
        time.sleep(1)
        assert processor_seconds() - before < 0.3 * (time.monotonic() - started)
        assert len(running.log()) == LIMITS.log_kib << 10
