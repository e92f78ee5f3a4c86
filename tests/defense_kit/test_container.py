"""Containers are sealed, flag by flag, and images kept and thrown away: in a real engine."""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from defense_kit import container
from defense_kit.container import Sealing
from defense_kit.faults import Fault, RunnerFault
from defense_kit.launch import Launched
from defense_kit.limits import Limits
from tests.images import PYTHON, Image, files_layer, python_layer, write_archive

LIMITS = Limits(memory_mib=128, cpus=1, processes=24, scratch_mib=8, files=64, log_kib=32)
SCORER = "test-container"
GPU = "GPU-00000000-1111-2222-3333-444444444444"
DIGEST = f"sha256:{'ab' * 32}"
RUNNABLE = {"Cmd": ["/run"]}


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    """The path of a socket as a scorer listens on one."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        yield tmp_path / "s"


@pytest.fixture
def start(containers: Any, listening: Path, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start a Python program in a container of its own; all are removed at the end."""
    started: list[Launched] = []

    def _start(code: str, *, limits: Limits = LIMITS, scorer: str = SCORER, **more: Any) -> Any:
        image = Image([python_layer()], [PYTHON, "-c", code], more=more)
        container.load_archive(containers, write_archive(tmp_path / "image.tar", [image]), image.id)
        started.append(container.start_container(containers, Sealing(image.id, scorer, "41"), limits, listening))
        return started[-1]

    yield _start
    for each in started:
        each.stop()


def over(launched: Launched) -> tuple[Fault, str]:
    """Wait until it has ended."""
    deadline = time.monotonic() + 30
    while (ended := launched.ended()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return ended


def test_a_created_container_has_every_flag(start: Callable[..., Any], listening: Path) -> None:
    launched = start("import time; time.sleep(600)")
    launched.container.reload()
    made = launched.container.attrs
    host, configuration = made["HostConfig"], made["Config"]
    wanted = {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "CapAdd": None,
        "Privileged": False,
        "SecurityOpt": ["no-new-privileges:true"],  # nothing about seccomp: the engine's default profile
        "IpcMode": "private",
        "PidMode": "",
        "UTSMode": "",
        "UsernsMode": "",
        "CgroupnsMode": "private",
        "Memory": 128 << 20,
        "MemorySwap": 128 << 20,
        "OomKillDisable": False,
        "OomScoreAdj": 500,
        "PidsLimit": 24,
        "NanoCpus": 1_000_000_000,
        "ShmSize": 64 << 20,
        "Init": True,
        "AutoRemove": False,
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "Tmpfs": {"/tmp": "rw,exec,nosuid,nodev,mode=1777,size=8388608,nr_inodes=65536"},
        "Binds": None,
        "Devices": None,
        "DeviceRequests": None,
        "PortBindings": None,
        "PublishAllPorts": False,
        "GroupAdd": None,
        "Dns": ["127.0.0.1"],
        "Runtime": "runc",
    }
    assert {name: host[name] or (None if wanted[name] is None else host[name]) for name in wanted} == wanted
    assert {each["Name"]: (each["Soft"], each["Hard"]) for each in host["Ulimits"]} == {
        "nofile": (64, 64),
        "fsize": (8 << 20, 8 << 20),
        "core": (0, 0),
    }
    assert host["LogConfig"] == {"Type": "none", "Config": {}}
    assert {"/proc/kcore", "/proc/keys", "/sys/firmware"} <= set(host["MaskedPaths"])
    assert {"/proc/sys", "/proc/sysrq-trigger"} <= set(host["ReadonlyPaths"])
    (mount,) = made["Mounts"]
    assert (mount["Type"], mount["Source"], mount["Destination"], mount["RW"]) == (
        "bind",
        str(listening),
        container.SOCKET,
        False,
    )
    assert configuration["User"] == "65534:65534"
    assert configuration["Hostname"] == "defense"
    assert configuration["Image"] == made["Image"] == launched.container.image.id
    assert configuration["Healthcheck"] == {"Test": ["NONE"]}
    assert configuration["Labels"] == {
        "unanimous.scorer": SCORER,
        "unanimous.attempt": "41",
        "unanimous.digest": made["Image"],
    }
    assert launched.uid == 65534


def test_a_card_and_another_runtime_are_asked_for_where_they_are_wanted(tmp_path: Path) -> None:
    sealing = Sealing(DIGEST, SCORER, gpu=GPU, runtime="runsc")
    options = container.container_options(sealing, LIMITS, RUNNABLE, tmp_path)
    assert options["runtime"] == "runsc"
    (request,) = options["device_requests"]
    assert (request.device_ids, request.count) == ([GPU], 0)
    plain = container.container_options(Sealing(DIGEST, SCORER), LIMITS, RUNNABLE, tmp_path)
    assert not {"runtime", "device_requests"} & set(plain)


@pytest.mark.parametrize("image", ["python:3.11", "sha256:abc", "python@latest", f"{DIGEST} ", ""])
def test_only_a_digest_names_an_image(image: str, tmp_path: Path) -> None:
    with pytest.raises(RunnerFault, match="is not the digest of an image"):
        container.container_options(Sealing(image, SCORER), LIMITS, RUNNABLE, tmp_path)


def test_what_an_image_asks_for_is_overruled_and_its_program_kept(start: Callable[..., Any]) -> None:
    """Its environment is taken over by name only, its labels are emptied, its user and health check ignored."""
    brought = [
        *("PATH=/opt/bin:/usr/local/bin", "LANG=C.UTF-8", "DEFENSE_THRESHOLD=0.9"),
        *("LD_PRELOAD=/x.so", "LD_LIBRARY_PATH=/x", "NVIDIA_VISIBLE_DEVICES=all", "PYTHONHASHSEED=7", "HOME=/root"),
        *("DEFENSE_SOCKET=/elsewhere", "GODEBUG=x", "SECRET=1"),
    ]
    launched = start(
        "import os; print((os.getuid(), os.getcwd(), dict(os.environ)))",
        Env=brought,
        User="0:0",
        WorkingDir="/usr",
        Healthcheck={"Test": ["CMD", PYTHON, "-c", "1"], "Interval": 10**9},
        Labels={
            "com.docker.compose.project": "theirs",
            container.ATTEMPT_LABEL: "999",
            container.SCORER_LABEL: "somebody else",
        },
    )
    over(launched)
    uid, folder, found = eval(launched.log())  # noqa: S307 - our own program's words
    assert (uid, folder) == (65534, "/usr")
    wanted = {
        "PATH": "/opt/bin:/usr/local/bin",
        "LANG": "C.UTF-8",
        "DEFENSE_THRESHOLD": "0.9",
        "HOME": "/tmp",
        "PYTHONHASHSEED": "0",
        "DEFENSE_SOCKET": container.SOCKET,
    }
    assert found | wanted == found
    assert not {"LD_PRELOAD", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES", "GODEBUG", "SECRET"} & set(found)
    labels = launched.container.labels
    names = ("com.docker.compose.project", container.ATTEMPT_LABEL, container.SCORER_LABEL)
    assert [labels[name] for name in names] == ["", "41", SCORER]


FILLING = """
from pathlib import Path
for number in range(9):
    Path(f"/tmp/{number}").write_bytes(bytes(1 << 20))
"""
TOO_LARGE = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
with open("/dev/shm/file", "wb") as file:
    file.write(bytes(9 << 20))
"""


ENDS = [
    ("import sys; sys.exit(7)", Fault.CRASHED, "status 7", "status"),
    # It cannot be told from a kill from outside: it is tried three times, which is what it costs.
    ("import os; os.kill(os.getpid(), 9)", Fault.PLATFORM, "status 137: it was killed", "killed"),
    ("x = bytearray(b'x') * (256 << 20)", Fault.OUT_OF_MEMORY, "more memory than it may", "memory"),
    (FILLING, Fault.DISK, "status 1", "disk"),
    (TOO_LARGE, Fault.DISK, "wrote more than it may", "file"),
    ("raise RuntimeError('CUDA out of memory. Tried to allocate')", Fault.GPU_OUT_OF_MEMORY, "status 1", "card"),
]
ENDS_ALIKE = [
    ("pass", Fault.CRASHED, "status 0", "by itself"),
    ("import os; os.kill(os.getpid(), 15)", Fault.PLATFORM, "status 143: it was killed", "ended"),
]


@pytest.mark.slow("gives an image to the engine and starts a container for each end")
@pytest.mark.parametrize(
    "ends", [ENDS, pytest.param(ENDS_ALIKE, marks=pytest.mark.long("judged as others are"))], ids=["each", "alike"]
)
def test_the_reason_for_an_end_is_told(start: Callable[..., Any], ends: list[Any]) -> None:
    """R30; and where somebody kills it from outside."""
    started = [(start(code), *told) for code, *told in ends]
    killed = start("import time; time.sleep(600)")
    killed.container.kill()
    for launched, fault, words, why in [*started, (killed, Fault.PLATFORM, "killed", "from outside")]:
        ended, text = over(launched)
        assert ended is fault and words in text, why


def test_no_container_is_left_where_the_engine_does_not_tell_who_its_users_are(
    containers: Any, start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def _fail() -> None:
        raise OSError("the engine went away")

    monkeypatch.setattr(containers, "info", _fail)
    with pytest.raises(RunnerFault, match="went away"):
        start("pass")
    assert containers.containers.list(all=True) == []


def test_a_program_that_is_not_there_is_the_defenses_fault(start: Callable[..., Any]) -> None:
    launched = start("", Cmd=None, Entrypoint=["/not/there"])
    assert over(launched)[0] is Fault.CRASHED
    assert "/not/there" in launched.log()


def test_stopping_kills_removes_and_keeps_the_log(start: Callable[..., Any], containers: Any) -> None:
    launched = start("import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)")
    while not launched.log():
        time.sleep(0.05)
    assert launched.ended() is None
    for _ in range(2):
        launched.stop()
    assert containers.containers.list(all=True, filters={"id": launched.container.id}) == []
    assert launched.log() == "up\n"
    assert launched.ended()[0] is Fault.PLATFORM, "nobody but the scorer could remove it"


def test_only_the_leftovers_of_this_scorer_are_removed(start: Callable[..., Any], containers: Any) -> None:
    ours, others = start("import time; time.sleep(600)"), start("import time; time.sleep(601)", scorer=f"{SCORER}-2")
    assert container.remove_leftovers(containers, SCORER) == 1
    assert ours.ended()[0] is Fault.PLATFORM
    assert others.ended() is None
    assert container.remove_leftovers(containers, SCORER) == 0


@pytest.fixture
def small(tmp_path: Path) -> Callable[[str], Image]:
    """An image of a few bytes, different for each name."""
    return lambda name: Image([files_layer(tmp_path, {"run": name.encode()})], ["/run"])


def test_an_archive_is_loaded_without_its_names(containers: Any, small: Callable[[str], Image], tmp_path: Path) -> None:
    image = small("named")
    path = write_archive(tmp_path / "image.tar", [image], names=["python:3.11"])
    assert not container.present(containers, image.id)
    assert container.load_archive(containers, path, image.id).id == image.id
    assert container.present(containers, image.id)
    (name,) = containers.images.get(image.id).tags
    assert name.startswith(f"{container.IMAGE_NAME}:")


def test_another_image_or_layer_than_the_one_named_is_not_loaded(
    containers: Any, small: Callable[[str], Image], tmp_path: Path
) -> None:
    image = small("another")
    with pytest.raises(RunnerFault, match="expected sha256:abab") as caught:
        container.load_archive(containers, write_archive(tmp_path / "image.tar", [image]), DIGEST)
    assert caught.value.fault is Fault.IMAGE_PULL
    assert not container.present(containers, image.id)
    image.layers[0].path.write_bytes(small("to this").layers[0].path.read_bytes())
    with pytest.raises(RunnerFault) as caught:  # the engine refuses a layer that is not what the image says
        container.load_archive(containers, write_archive(tmp_path / "changed.tar", [image]), image.id)
    assert caught.value.fault is Fault.IMAGE_PULL


def test_an_image_that_is_not_there_is_not_started(containers: Any, listening: Path) -> None:
    with pytest.raises(RunnerFault, match="the engine does not have") as caught:
        container.start_container(containers, Sealing(DIGEST, SCORER), LIMITS, listening)
    assert caught.value.fault is Fault.IMAGE_PULL


def test_a_registry_out_of_reach_is_the_platforms_fault(containers: Any) -> None:
    with pytest.raises(RunnerFault) as caught:
        container.pull(containers, f"127.0.0.1:9/defense@{DIGEST}")
    assert caught.value.fault is Fault.PLATFORM


def test_the_longest_unused_images_go_first(containers: Any, small: Callable[[str], Image], tmp_path: Path) -> None:
    container.prune(containers, enough=lambda: False)
    images = [small(name) for name in ("oldest", "old", "used again", "in use now")]
    for image in images:
        container.load_archive(containers, write_archive(tmp_path / "image.tar", [image]), image.id)
    assert container.present(containers, images[0].id), "which notes that it is being used"
    left = iter([False, False, True])
    assert container.prune(containers, enough=lambda: next(left), keep=images[3].id) == 2
    assert [container.present(containers, image.id) for image in images] == [True, False, False, True]


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({}, []),
        ({"MemoryLimit": False}, ["no memory limit"]),
        ({"PidsLimit": False}, ["no limit of processes"]),
        ({"CpuCfsQuota": False}, ["no limit of processor time"]),
        ({"SecurityOptions": []}, ["no seccomp profile"]),
        ({"SecurityOptions": None}, ["no seccomp profile"]),
        ({"SecurityOptions": ["name=seccomp,profile=unconfined"]}, ["no seccomp profile"]),
        ({"SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin"]}, []),
    ],
)
def test_an_engine_that_cannot_seal_is_not_used(changes: dict[str, Any], missing: list[str]) -> None:
    able = {"MemoryLimit": True, "PidsLimit": True, "CpuCfsQuota": True}
    info = {**able, "SecurityOptions": ["name=seccomp,profile=default"], **changes}
    assert container.missing_seals(info) == missing
