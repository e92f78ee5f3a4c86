"""An image archive is read before an engine sees it: what does not belong there is refused, names are left out, and
what its layers unpack to is bounded. Containers are sealed, flag by flag, in a real engine."""

import functools
import gzip
import hashlib
import io
import json
import lzma
import socket
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from defense_kit import archive, check, container, pulling
from defense_kit.archive import UnpackingBudget, glance_at_archive, read_archive, without_names
from defense_kit.faults import Fault, RunnerFault
from defense_kit.harness import LaunchedDefense
from defense_kit.limits import DefenseLimits
from defense_kit.sealing import ATTEMPT_LABEL, SCORER_LABEL, SOCKET, Sealing, container_options
from tests.images import PYTHON, Image, Layer, files_layer, python_layer, write_archive
from tests.refusals import faulted
from tests.registry import registry

LIMITS = DefenseLimits(memory_mib=128, cpus=1, processes=24, scratch_mib=8, files=64, log_kib=32)


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
    started: list[LaunchedDefense] = []

    def _start(code: str, *, limits: DefenseLimits = LIMITS, scorer: str = SCORER, **more: Any) -> Any:
        image = Image([python_layer()], [PYTHON, "-c", code], more=more)
        container.load_archive(containers, write_archive(tmp_path / "image.tar", [image]), image.id)
        started.append(container.start_container(containers, Sealing(image.id, scorer, "41"), limits, listening))
        return started[-1]

    yield _start
    for each in started:
        each.stop()


def over(launched: LaunchedDefense) -> tuple[Fault, str]:
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
        "LogConfig": {"Type": "none", "Config": {}},
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
    assert {"/proc/kcore", "/proc/keys", "/sys/firmware"} <= set(host["MaskedPaths"])
    assert {"/proc/sys", "/proc/sysrq-trigger"} <= set(host["ReadonlyPaths"])
    (mount,) = made["Mounts"]
    bind = {"Type": "bind", "Source": str(listening), "Destination": SOCKET, "RW": False}
    assert mount | bind == mount
    labels = {"unanimous.scorer": SCORER, "unanimous.attempt": "41", "unanimous.digest": made["Image"]}
    asked = {"User": "65534:65534", "Hostname": "defense", "Healthcheck": {"Test": ["NONE"]}, "Labels": labels}
    assert configuration | asked | {"Image": made["Image"]} == configuration
    assert (launched.container.image.id, launched.uid, launched.can_share) == (made["Image"], 65534, True)


def test_a_card_and_another_runtime_are_asked_for_where_they_are_wanted(tmp_path: Path) -> None:
    sealing = Sealing(DIGEST, SCORER, gpu=GPU, runtime="runsc")
    options = container_options(sealing, LIMITS, RUNNABLE, tmp_path)
    (request,) = options["device_requests"]
    assert (options["runtime"], request.device_ids, request.count) == ("runsc", [GPU], 0)
    plain = container_options(Sealing(DIGEST, SCORER), LIMITS, RUNNABLE, tmp_path)
    assert not {"runtime", "device_requests"} & set(plain)


@pytest.mark.parametrize(
    ("runtime", "default", "shares", "why"),
    [
        ("", "runc", True, "the engine's own, as it comes"),
        ("", "nvidia", True, "runc with cards"),
        ("runsc", "runc", False, "gVisor has a kernel of its own"),
        ("", "runsc", False, "and may be the engine's own"),
        ("", "kata", False, "unknown"),
        ("", None, False, "an engine that does not say"),
    ],
)
def test_memory_is_shared_where_containers_run_on_this_kernel(
    runtime: str, default: str | None, shares: bool, why: str
) -> None:
    assert container.can_share(runtime, {"DefaultRuntime": default}) is shares, why


@pytest.mark.parametrize("image", ["python:3.11", "sha256:abc", "python@latest", f"{DIGEST} ", ""])
def test_only_a_digest_names_an_image(image: str, tmp_path: Path) -> None:
    with pytest.raises(RunnerFault, match="is not the digest of an image"):
        container_options(Sealing(image, SCORER), LIMITS, RUNNABLE, tmp_path)


def test_what_an_image_asks_for_is_overruled_and_its_program_kept(start: Callable[..., Any]) -> None:
    """Its environment is taken over by name only, its labels are emptied, its user and health check ignored."""
    brought = [
        *("PATH=/opt/bin:/usr/local/bin", "LANG=C.UTF-8", "DEFENSE_THRESHOLD=0.9"),
        *("LD_PRELOAD=/x.so", "LD_LIBRARY_PATH=/x", "NVIDIA_VISIBLE_DEVICES=all", "PYTHONHASHSEED=7", "HOME=/root"),
        *("DEFENSE_SOCKET=/elsewhere", "GODEBUG=x", "SECRET=1"),
    ]
    names = ("com.docker.compose.project", ATTEMPT_LABEL, SCORER_LABEL)
    launched = start(
        "import os; print((os.getuid(), os.getcwd(), dict(os.environ)))",
        Env=brought,
        User="0:0",
        WorkingDir="/usr",
        Healthcheck={"Test": ["CMD", PYTHON, "-c", "1"], "Interval": 10**9},
        Labels=dict(zip(names, ("theirs", "999", "somebody else"), strict=True)),
    )
    over(launched)
    uid, folder, found = eval(launched.log())  # noqa: S307 - our own program's words
    wanted = {
        "PATH": "/opt/bin:/usr/local/bin",
        "LANG": "C.UTF-8",
        "DEFENSE_THRESHOLD": "0.9",
        "HOME": "/tmp",
        "PYTHONHASHSEED": "0",
        "DEFENSE_SOCKET": SOCKET,
    }
    assert (uid, folder, found | wanted) == (65534, "/usr", found)
    assert not {"LD_PRELOAD", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES", "GODEBUG", "SECRET"} & set(found)
    assert [launched.container.labels[name] for name in names] == ["", "41", SCORER]


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
        assert launched.killed is (fault is Fault.PLATFORM), why


def test_no_container_is_left_where_the_engine_does_not_tell_who_its_users_are(
    containers: Any, start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "info", functools.partial(open, "/the/engine/went/away"))
    with pytest.raises(RunnerFault, match="went/away"):
        start("pass")
    assert containers.containers.list(all=True) == []


def test_a_program_that_is_not_there_is_the_defenses_fault(start: Callable[..., Any]) -> None:
    launched = start("", Cmd=None, Entrypoint=["/not/there"])
    assert (over(launched)[0], "/not/there" in launched.log()) == (Fault.CRASHED, True)


def test_stopping_kills_removes_and_keeps_the_log(start: Callable[..., Any], containers: Any) -> None:
    launched = start("import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)")
    while not launched.log():
        time.sleep(0.05)
    assert launched.ended() is None
    for _ in range(2):
        launched.stop()
    assert containers.containers.list(all=True, filters={"id": launched.container.id}) == []
    # Nobody but the scorer could remove it.
    assert (launched.log(), launched.ended()[0]) == ("up\n", Fault.PLATFORM)


@pytest.fixture
def small(tmp_path: Path) -> Callable[[str], Image]:
    """An image of a few bytes, different for each name."""
    return lambda name: Image([files_layer(tmp_path, {"run": name.encode()})], ["/run"])


def test_an_archive_is_loaded_without_its_names(containers: Any, small: Callable[[str], Image], tmp_path: Path) -> None:
    image = small("named")
    path = write_archive(tmp_path / "image.tar", [image], names=["python:3.11"])
    assert not container.present(containers, image.id)
    container.load_archive(containers, path, image.id)
    assert container.present(containers, image.id)
    (name,) = containers.images.get(image.id).tags
    assert name.startswith(f"{container.IMAGE_NAME}:")


def test_another_image_or_layer_than_the_one_named_is_not_loaded(
    containers: Any, small: Callable[[str], Image], tmp_path: Path
) -> None:
    image = small("another")
    path = write_archive(tmp_path / "image.tar", [image])
    fault = faulted(Fault.IMAGE_PULL, container.load_archive, containers, path, DIGEST)
    assert "expected sha256:abab" in fault.text and not container.present(containers, image.id)
    image.layers[0].path.write_bytes(small("to this").layers[0].path.read_bytes())
    # The engine refuses a layer that is not what the image says.
    changed = write_archive(tmp_path / "changed.tar", [image])
    faulted(Fault.IMAGE_PULL, container.load_archive, containers, changed, image.id)


def test_the_longest_unused_images_go_first(containers: Any, small: Callable[[str], Image], tmp_path: Path) -> None:
    container.prune(containers, enough=lambda: False)
    images = [small(name) for name in ("oldest", "old", "used again", "in use now")]
    for image in images:
        container.load_archive(containers, write_archive(tmp_path / "image.tar", [image]), image.id)
    assert container.present(containers, images[0].id), "which notes that it is being used"
    left = iter([False, False, True])
    assert container.prune(containers, enough=lambda: next(left), keep=images[3].id) == 2
    assert [container.present(containers, image.id) for image in images] == [True, False, False, True]


def test_an_image_that_is_neither_there_nor_in_reach_is_not_started(containers: Any, listening: Path) -> None:
    sealing = Sealing(DIGEST, SCORER)
    fault = faulted(Fault.IMAGE_PULL, container.start_container, containers, sealing, LIMITS, listening)
    assert "the engine does not have" in fault.text
    faulted(Fault.PLATFORM, pulling.pull, containers, f"127.0.0.1:9/defense@{DIGEST}", has_room=lambda: True)


PULLED: list[tuple[dict[str, Any], str, Fault, str, str]] = [
    ({"max_bytes": 2 << 20}, "", Fault.IMAGE_PULL, "unpacks to more than 2 MiB", "a bomb that was let in is removed"),
    ({"seconds": 1.0}, "blobs", Fault.IMAGE_PULL, "not fetched and unpacked within 1 second", "a layer without end"),
    ({"seconds": 1.0}, "manifests", Fault.IMAGE_PULL, "not fetched and unpacked", "a registry that does not answer"),
    ({"has_room": lambda: False}, "blobs", Fault.PLATFORM, "disk is nearly full", "a disk that fills up meanwhile"),
    ({}, "gone", Fault.IMAGE_PULL, "cannot be fetched", "the registry does not have it"),
]


@pytest.mark.slow("five pulls by a real engine, three of them cut off after a second")
def test_an_image_of_a_registry_is_bounded_as_an_archive_is(
    containers: Any, engine_address: str, tmp_path: Path
) -> None:
    def pull(image: str, *, has_room: Callable[[], bool] = lambda: True, **limits: Any) -> None:
        with closing(container.connect(engine_address)) as client:
            pulling.pull(client, image, has_room=has_room, **limits)

    with registry() as source:
        for number, (changes, slow, fault, words, why) in enumerate(PULLED):
            # The engine keeps the manifests that it has seen.
            name = source.offer(Image([files_layer(tmp_path, {"run": bytes([number]) * (3 << 20)})], ["/run"]))
            source.slow, began = slow, time.monotonic()
            source.hung_up.clear()
            asked = f"{name[:-64]}{'ab' * 32}" if slow == "gone" else name
            assert words in faulted(fault, pull, asked, **changes).text, why
            assert time.monotonic() - began < 10, why
            assert not container.present(containers, asked), why
            assert slow != "blobs" or source.hung_up.wait(20), f"{why}: the engine stops too"
        source.slow = ""
        pull(name, max_bytes=4 << 20, seconds=30)
        assert container.present(containers, name)


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
    assert container.missing_seals({**able, "SecurityOptions": ["name=seccomp,profile=default"], **changes}) == missing


@pytest.fixture
def layer(tmp_path: Path) -> Layer:
    return files_layer(tmp_path, {"run": b"program"})


def image(layer: Layer, **changes: Any) -> Image:
    return Image(**{"layers": [layer], "command": ["/run"], **changes})


def add(archive: tarfile.TarFile, name: str, data: bytes = b"[]", **changes: Any) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in changes.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(data))


def cleaned(path: Path) -> bytes:
    """What the engine is given of an archive; it is the same image."""
    clean = b"".join(without_names(path))
    copy = path.with_name("clean.tar")
    copy.write_bytes(clean)
    assert read_archive(copy) == read_archive(path)
    return clean


def test_an_archive_says_its_digest_before_it_is_started(tmp_path: Path, layer: Layer) -> None:
    """What is kept of a long run is kept under it."""
    found = []
    for number in range(2):
        wanted = image(layer, command=[f"/run-{number}"])
        path = write_archive(tmp_path / f"{number}.tar", [wanted])
        nobody: Any = None  # nothing is asked of an engine
        sealed = check.SealedDefense(nobody, DefenseLimits(), "", path)
        found.append(sealed.digest())
        assert found[-1] == wanted.id
    assert found[0] != found[1]


def test_names_are_left_out_and_all_else_is_kept(tmp_path: Path, layer: Layer) -> None:
    wanted = image(layer)
    path = write_archive(tmp_path / "image.tar", [wanted], names=["python:3.11"])
    index = {"manifests": [{"digest": "sha256:1", "annotations": {"io.containerd.image.name": "python:3.11"}}]}
    with tarfile.open(path, "a") as archive:
        add(archive, "repositories", b'{"python": {}}')
        add(archive, "index.json", json.dumps(index).encode())
        add(archive, "blobs", b"", type=tarfile.DIRTYPE)
        add(archive, "blobs/link", b"", type=tarfile.SYMTYPE, linkname="../layer")
    facts, clean = read_archive(path), cleaned(path)
    assert (facts.id, facts.layers, b"python" in clean) == (wanted.id, (f"sha256:{layer.digest}",), False)
    with tarfile.open(fileobj=io.BytesIO(clean)) as archive, tarfile.open(path) as whole:
        assert archive.getnames() == [name for name in whole.getnames() if name != "repositories"]
        assert archive.extractfile(f"{layer.digest}.tar").read() == layer.path.read_bytes()  # type: ignore[union-attr]
        assert archive.getmember("blobs/link").linkname == "../layer"


def test_names_in_another_case_are_left_out(tmp_path: Path, layer: Layer) -> None:
    """The engine's JSON does not mind the case of a key."""
    wanted = image(layer)
    entry = {"digest": "sha256:1", "size": 1, "Annotations": {"a": "python:3.11"}, "ANNOTATIONS": "python:3.11"}
    index = {"manifests": [entry], "Manifests": [{"annotations": "python:3.11"}], "annotations": "python:3.11"}
    kept = {"Config": f"{wanted.id.removeprefix('sha256:')}.json", "Layers": [f"{layer.digest}.tar"]}
    manifest = kept | dict.fromkeys(("RepoTags", "repotags", "REPOTAGS"), ["python:3.11"])
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        add(archive, "manifest.json", json.dumps([manifest]).encode())
        add(archive, "index.json", json.dumps(index).encode())
        add(archive, kept["Config"], wanted.configuration)
        archive.add(layer.path, f"{layer.digest}.tar")
    clean = cleaned(tmp_path / "image.tar")
    assert b"python" not in clean
    with tarfile.open(fileobj=io.BytesIO(clean)) as archive:
        found = [json.load(archive.extractfile(name)) for name in ("manifest.json", "index.json")]  # type: ignore[arg-type]
    assert found[0] == [kept | {"RepoTags": None}]
    assert found[1]["manifests"] == [{"digest": "sha256:1", "size": 1}]


def test_no_attribute_of_the_archives_own_reaches_the_engine(tmp_path: Path, layer: Layer) -> None:
    """A size among them would make the engine find other members than those that were checked."""
    path = write_archive(tmp_path / "image.tar", [image(layer)])
    with (
        tarfile.open(tmp_path / "own.tar", "w", pax_headers={"comment": "for all"}) as own,
        tarfile.open(path) as archive,
    ):
        *members, manifest = ((member, archive.extractfile(member).read()) for member in archive.getmembers())  # type: ignore[union-attr]
        for member, data in members:
            own.addfile(member, io.BytesIO(data))
        headers = {"size": str(len(manifest[1])), "comment": "for one", "SCHILY.xattr.user.x": "x"}
        add(own, "manifest.json", manifest[1], pax_headers=headers)
        add(own, "folder", b"", type=tarfile.DIRTYPE, mode=0o7777, uid=7, uname="somebody")
    clean = cleaned(tmp_path / "own.tar")
    assert read_archive(tmp_path / "own.tar") == read_archive(path)
    words = (b"manifest.json", b"comment", b"xattr", b"size=", b"somebody")
    assert [word for word in words if word in clean] == [b"manifest.json"]


# What is added to an image's archive, and the refusal.
ADDED: list[tuple[list[dict[str, Any]], str, str]] = [
    (
        [{"pax_headers": {"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,0"}}],
        "does not belong there: x",
        "holes that an engine fills",
    ),
    ([{"type": tarfile.GNUTYPE_SPARSE}], "does not belong there: x", "holes of GNU"),
    (
        [{"pax_headers": {"path": "index.json\0x"}}],
        "does not belong there: index.json",
        "a name with an end in it",
    ),
    (
        [{"name": "index.json", "type": tarfile.SYMTYPE, "linkname": "x"}],
        "does not belong there: index.json",
        "a link in the place of the index",
    ),
    ([{"pax_headers": {"comment": "x" * (1 << 17)}}], "a header of 1310", "a long header"),
    ([{"name": "index.json"}], "not an archive as docker save writes it", "an index that is none"),
    ([{"name": "manifest.json"}], "manifest.json twice", "the engine would take the second one"),
    ([{"name": "./manifest.json"}], "does not belong there: ./manifest.json", "another spelling"),
    (
        [{"name": "here", "type": tarfile.SYMTYPE, "linkname": "."}, {"name": "here/manifest.json"}],
        "here/manifest.json twice",
        "behind a link, written over the first",
    ),
    ([{"name": "/etc/passwd"}], "does not belong there: /etc/passwd", "an absolute path"),
    ([{"name": "../up"}], "does not belong there: ../up", "a way out"),
    ([{"name": "disk", "type": tarfile.BLKTYPE}], "does not belong there: disk", "a device"),
    ([{"name": "pipe", "type": tarfile.FIFOTYPE}], "does not belong there: pipe", "a pipe"),
    ([{"name": f"f{number}"} for number in range(10_000)], "holds more than 10000 members", "too many members"),
]


@pytest.mark.parametrize(("members", "words", "why"), ADDED, ids=[row[2] for row in ADDED])
def test_what_does_not_belong_in_an_archive_is_refused(
    members: list[dict[str, Any]], words: str, why: str, tmp_path: Path, layer: Layer
) -> None:
    """What an engine would read otherwise, too."""
    path = write_archive(tmp_path / "image.tar", [image(layer)])
    with tarfile.open(path, "a") as archive:
        for changes in members:
            add(archive, **{"name": "x", "data": b"", **changes})
    assert words in refusal(path), why


NO_LAYERS = [
    (b"no tar at all", "not an archive", "no tar"),
    (gzip.compress(b"no tar at all" * 100), "not an archive", "no tar, packed"),
    (lzma.compress(b"x"), "another way than with gzip", "packed in another way"),
]


@pytest.mark.parametrize(("content", "words", "why"), NO_LAYERS, ids=[row[2] for row in NO_LAYERS])
def test_a_glance_sees_what_is_no_layer(content: bytes, words: str, why: str, tmp_path: Path) -> None:
    path = holding(tmp_path, content)
    for read in (glance_at_archive, read_archive):
        assert words in faulted(Fault.IMAGE_PULL, read, path).text, why


def test_a_glance_costs_little_whatever_the_layers_unpack_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = tarfile.TarInfo("zeros")
    header.size = 128 << 20
    path = holding(tmp_path, gzip.compress(header.tobuf() + bytes(header.size + 2 * tarfile.BLOCKSIZE), 1))
    began = time.process_time()
    facts = glance_at_archive(path)
    assert time.process_time() - began < 0.2
    with monkeypatch.context() as patched:
        patched.setattr(archive, "UnpackingBudget", partial(UnpackingBudget, max_seconds=0.001))
        assert "seconds to unpack" in refusal(path)
    assert read_archive(path) == facts


@pytest.mark.parametrize(
    ("images", "words"),
    [
        ([{"architecture": "arm64"}], "the image is for linux/arm64, expected linux/amd64"),
        ([{"more": {"Volumes": {"/data": {}}}}], "the image declares volumes"),
        ([{"command": []}], "does not say what to run"),
        ([{}, {"command": ["/other"]}], "holds 2 images, expected one"),
    ],
)
def test_an_image_that_cannot_run_sealed_is_refused(
    tmp_path: Path, layer: Layer, images: list[dict[str, Any]], words: str
) -> None:
    path = write_archive(tmp_path / "image.tar", [image(layer, **changes) for changes in images])
    assert words in refusal(path)


@pytest.mark.parametrize(
    "manifest",
    [b"{}", b"[1]", b"[{}]", b"nonsense", b"[" * 100_000, b'[{"Config": "missing"}]', b'[{"Config": "manifest.json"}]'],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, manifest: bytes) -> None:
    path = tmp_path / "image.tar"
    with tarfile.open(path, "w") as archive:
        add(archive, "manifest.json", manifest)
    assert refusal(path)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b compressed", b"x" * 4096], ids=["empty", "compressed", "nonsense"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "image.tar").write_bytes(content)
    assert "not an archive as docker save writes it" in refusal(tmp_path / "image.tar")


def holding(folder: Path, content: bytes) -> Path:
    """The archive of an image whose one layer is `content`."""
    (folder / "layer").write_bytes(content)
    layer = Layer(folder / "layer", f"sha256:{hashlib.sha256(content).hexdigest()}")
    return write_archive(folder / "image.tar", [image(layer)])


def refusal(path: Path) -> str:
    return faulted(Fault.IMAGE_PULL, read_archive, path).text


MIB = 1 << 20


def layer_of(files: int = 1, size: int = MIB, **headers: str) -> bytes:
    """A tar with so many files of zeros."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(files):
            add(archive, f"file-{number}", bytes(size), pax_headers=headers)
    return whole.getvalue()


FITS = [
    (layer_of(), "as it is"),
    (gzip.compress(layer_of()), "compressed with gzip"),
    (gzip.compress(layer_of()) + gzip.compress(bytes(512)), "compressed in two pieces"),
    (layer_of(files=3, size=0), "files without content"),
]


@pytest.mark.parametrize(("content", "why"), FITS, ids=[why for _, why in FITS])
def test_a_layer_that_fits_is_passed(content: bytes, why: str) -> None:
    UnpackingBudget(max_bytes=2 * MIB, max_files=3).spend(io.BytesIO(content))


TOO_MUCH = [
    (layer_of(size=3 * MIB), "2 MiB", "too large as it is"),
    (gzip.compress(layer_of(size=3 * MIB)), "2 MiB", "a few kilobytes that unpack to too much"),
    (gzip.compress(layer_of() + bytes(3 * MIB)), "2 MiB", "zeros behind the end of the tar"),
    (layer_of(files=4, size=0), "3 files", "too many files"),
    (
        layer_of(**{"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": f"0,{MIB}"}),
        *("sparse file", "holes that an engine fills"),
    ),
    (layer_of(comment="x" * (1 << 17)), "a header of", "a header that fills the memory"),
    (lzma.compress(layer_of()), "another way than with gzip", "what is not looked into"),
]


@pytest.mark.parametrize(("content", "said", "why"), TOO_MUCH, ids=[why for *_, why in TOO_MUCH])
def test_a_layer_that_unpacks_to_too_much_is_refused(content: bytes, said: str, why: str) -> None:
    budget = UnpackingBudget(max_bytes=2 * MIB, max_files=3)
    assert said in faulted(Fault.IMAGE_PULL, budget.spend, io.BytesIO(content)).text, why


def test_all_layers_of_an_image_count_together() -> None:
    budget = UnpackingBudget(max_bytes=3 * MIB)
    for _ in range(2):
        budget.spend(io.BytesIO(layer_of()))
    assert "3 MiB" in faulted(Fault.IMAGE_PULL, budget.spend, io.BytesIO(layer_of())).text
