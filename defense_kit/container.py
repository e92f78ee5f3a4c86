"""Runs a defense in a sealed container, and manages the images.

The image is not trusted. Its settings (user, health checks, environment) are overruled by `container_options`, the
only place that says how a container is made. Every failure is a RunnerFault: `platform` for the engine, `image_pull`
for an image that is not available, the rest for the defense.

The docker package is loaded only here, and only by whoever talks to an engine.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from defense_kit.archive import check_platform, read_archive, without_names
from defense_kit.faults import Fault, RunnerFault
from defense_kit.harness import LaunchedDefense
from defense_kit.limits import DefenseLimits
from defense_kit.logs import LogRing
from defense_kit.protocol import cause
from defense_kit.sealing import SCORER_LABEL, UID, Sealing, container_options

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

IMAGE_NAME = "unanimous-defense"  # the name under which images are kept, so that only our own are thrown away
ENGINE_SECONDS = 60
LOADING_SECONDS = 1800  # an image has gigabytes
# Runtimes whose containers run on this machine's kernel: those of others may be unable to map its memory.
ON_THIS_KERNEL = ("runc", "crun", "nvidia")
CLOSED_SINCE = 25  # the first engine whose default seccomp profile refuses io_uring and sockets to the hypervisor

LOG_BYTES_PER_SECOND = 1 << 20
LOG_BURST_BYTES = 4 << 20
DRAIN_SECONDS = 3.0
LAST_WORDS = 2000  # characters of the log that may tell why a program ended
_REMOVALS = 5
# A program that could not be found or not be executed, as a shell says it.
_NOT_EXECUTABLE = (126, 127)
_OTHER_STORE = "an engine whose images lie in containerd's store must have the feature containerd-snapshotter off"
NO_ROOM = "no space left on device"
_FILE_TOO_LARGE = 128 + 25  # SIGXFSZ
# SIGKILL and SIGTERM: what a container gets from an engine that stops or restarts, or from somebody on the machine. A
# program that does it to itself cannot be told from that, but by doing it on three tries (`scoring.rules`).
_KILLED = (128 + 9, 128 + 15)

# ---------------------------------------------------------------------------------------------------- the engine


def connect(address: str = "", *, seconds: float = ENGINE_SECONDS) -> "DockerClient":
    """Return a client of the engine at `address` (empty: where DOCKER_HOST says), if it can seal; else `platform`."""
    import docker
    from docker.errors import DockerException

    with engine_errors():
        try:
            client = (
                docker.DockerClient(base_url=address, timeout=seconds) if address else docker.from_env(timeout=seconds)
            )
        except DockerException as error:
            place = address or os.environ.get("DOCKER_HOST") or "the usual place"
            words = f"the container engine does not answer at {place}: start it, or set DOCKER_HOST to its address"
            raise RunnerFault(Fault.PLATFORM, words) from error
        missing = missing_seals(client.info())
    if missing:
        words = f"the container engine cannot seal a defense: {', '.join(missing)}; name another one in DOCKER_HOST"
        raise RunnerFault(Fault.PLATFORM, words)
    return client


def missing_seals(info: Mapping[str, Any]) -> list[str]:
    """Return what an engine, by what it says of itself, cannot enforce."""
    limits = {
        "MemoryLimit": "no memory limit",
        "PidsLimit": "no limit of processes",
        "CpuCfsQuota": "no limit of processor time",
    }
    missing = [words for key, words in limits.items() if not info.get(key)]
    options = info.get("SecurityOptions") or []
    profiles = [option for option in options if option.startswith("name=seccomp")]
    if not profiles or "unconfined" in profiles[0]:
        missing.append("no seccomp profile")
    return missing


def weaknesses(client: "DockerClient") -> list[str]:
    """Return what this engine leaves open that a newer or better set up one closes, for the organizers to read."""
    with engine_errors():
        major = int(str(client.version()["Version"]).partition(".")[0])
        info = client.info()
    found = []
    if major < CLOSED_SINCE:
        found.append(f"engine {major} lets a defense use io_uring and sockets to the hypervisor: use {CLOSED_SINCE}")
    if not info.get("SwapLimit"):
        found.append("no limit of swap: a defense may use twice its memory")
    return found


@contextmanager
def engine_errors() -> Iterator[None]:
    """Turn whatever the engine, or the way to it, says into a `platform` fault."""
    from docker.errors import DockerException
    from requests import RequestException
    from urllib3.exceptions import HTTPError  # of an answer that breaks off while it is read

    try:
        yield
    except (DockerException, RequestException, HTTPError, OSError) as error:
        raise RunnerFault(Fault.PLATFORM, f"the container engine: {error}") from error


# -------------------------------------------------------------------------------------------------- the container


def start_container(client: "DockerClient", sealing: Sealing, limits: DefenseLimits, socket: Path) -> LaunchedDefense:
    """Start a container in which the defense finds `socket` under DEFENSE_SOCKET. The image has to be there already."""
    configuration = _image(client, sealing.image).attrs["Config"] or {}
    options = container_options(sealing, limits, configuration, socket)
    with engine_errors():
        info = client.info()
        container = client.containers.create(**options)
    uid = None if sealing.runtime else _user_outside(info)  # another runtime may connect as somebody else
    launched = _Container(container, limits, uid, can_share=can_share(sealing.runtime, info))
    try:
        launched.start()
    except BaseException:
        launched.stop()
        raise
    return launched


def can_share(runtime: str, info: Mapping[str, Any]) -> bool:
    """Say whether containers of a runtime (empty: the engine's own) can map this machine's memory."""
    return (runtime or info.get("DefaultRuntime")) in ON_THIS_KERNEL


def _user_outside(info: Mapping[str, Any]) -> int | None:
    """Return who the container's user is on this side; None where the engine maps users."""
    mapped = any("userns" in option or "rootless" in option for option in info.get("SecurityOptions") or [])
    return None if mapped else UID


class _Tap:
    """Reads what a container prints, and no faster than a limit: a program that prints more has to wait.

    Measured: the engine spends a whole processor, which no limit of the container's counts, on carrying a flood.
    """

    def __init__(self, container: "Container", limits: DefenseLimits) -> None:
        self._ring = LogRing(limits.log_kib << 10)
        self._ended = threading.Event()
        with engine_errors():
            stream = container.attach(stdout=True, stderr=True, stream=True, logs=False)
        self._thread = threading.Thread(target=self._read, args=(stream,), name="defense-log", daemon=True)
        self._thread.start()

    def _read(self, stream: Iterator[bytes]) -> None:
        began, total = time.monotonic(), 0
        try:
            with engine_errors():
                for chunk in stream:
                    self._ring.append(chunk)
                    total += len(chunk)
                    due = began + (total - LOG_BURST_BYTES) / LOG_BYTES_PER_SECOND
                    self._ended.wait(max(0.0, due - time.monotonic()))
        except RunnerFault as fault:  # why the defense failed matters more than its log
            self._ring.append(f"(the log could not be read: {fault.text})".encode())

    def finish(self) -> None:
        """Read on to the end of a container that is over, without a limit."""
        self._ended.set()
        self._thread.join(DRAIN_SECONDS)

    def text(self) -> str:
        """Return the end of what was printed."""
        return self._ring.text()


class _Container:
    """A container that was created here."""

    def __init__(self, container: "Container", limits: DefenseLimits, uid: int | None, *, can_share: bool) -> None:
        self.uid, self.can_share, self.container = uid, can_share, container
        self._tap: _Tap | None = None
        self._limits, self._stopped, self.killed = limits, False, False

    def start(self) -> None:
        """Start it; `crashed` when the image's program cannot be executed."""
        from docker.errors import APIError

        self._tap = _Tap(self.container, self._limits)
        with engine_errors():
            try:
                self.container.start()
            except APIError as error:
                if self._state()["ExitCode"] in _NOT_EXECUTABLE:
                    raise RunnerFault(Fault.CRASHED, f"the program could not be started: {error.explanation}") from None
                raise

    def ended(self) -> tuple[Fault, str] | None:
        """Say why it is over. Out of memory is told by the engine, a full disk only by the program's last words."""
        try:
            with engine_errors():
                state = self._state()
        except RunnerFault as fault:
            return fault.fault, fault.text
        if state["Running"]:
            return None
        self._finish_log()
        return self._reason(state)

    def _reason(self, state: Mapping[str, Any]) -> tuple[Fault, str]:
        status = state["ExitCode"]
        words = f"the program ended with status {status}"
        if state["OOMKilled"]:
            return Fault.OUT_OF_MEMORY, f"{words}: it used more memory than it may"
        if status == _FILE_TOO_LARGE:
            return Fault.DISK, f"{words}: it wrote more than it may"
        if status in _KILLED:
            self.killed = True
            return Fault.PLATFORM, f"{words}: it was killed, and not for its memory"
        return (cause(self.log()[-LAST_WORDS:]) if status else Fault.CRASHED), words

    def log(self) -> str:
        """Return the end of what it printed; also after it was removed."""
        return self._tap.text() if self._tap else ""

    def stop(self) -> None:
        """Kill and remove it with everything in it."""
        if self._stopped:
            return
        remove(self.container)
        self._finish_log()
        self._stopped = True

    def _finish_log(self) -> None:
        if self._tap:
            self._tap.finish()

    def _state(self) -> Mapping[str, Any]:
        self.container.reload()
        state: Mapping[str, Any] = self.container.attrs["State"]
        return state


def remove(container: "Container") -> None:
    """Kill and remove a container and its volumes; `platform` when it will not go."""
    from docker.errors import APIError, NotFound

    with engine_errors():
        for remaining in reversed(range(_REMOVALS)):
            try:
                container.remove(force=True, v=True)
                return
            except NotFound:
                return
            except APIError:  # being removed already, or still starting
                if not remaining:
                    raise
                time.sleep(0.2)


def remove_leftovers(client: "DockerClient", scorer: str) -> int:
    """Remove the containers that a scorer of this name left when it was killed; return how many."""
    with engine_errors():
        found = client.containers.list(all=True, filters={"label": f"{SCORER_LABEL}={scorer}"}, ignore_removed=True)
    for container in found:
        remove(container)
    return len(found)


# ----------------------------------------------------------------------------------------------------- the images


def present(client: "DockerClient", image: str) -> bool:
    """Say whether the engine has `image`, and note that it is being used; `image_pull` when it is not for this kind."""
    from docker.errors import ImageNotFound

    with engine_errors():
        try:
            found = client.images.get(image)
        except ImageNotFound:
            return False
        check_platform(found.attrs["Os"], found.attrs["Architecture"])
        found.tag(IMAGE_NAME, tag=found.id.removeprefix("sha256:")[:32])
    return True


def load_archive(client: "DockerClient", path: Path, image: str) -> None:
    """Give the archive at `path` to the engine; `image_pull` unless its one image has the id `image`."""
    from docker.errors import ImageLoadError

    found = read_archive(path).id
    if found != image:
        raise RunnerFault(Fault.IMAGE_PULL, f"the archive holds {found}, expected {image}")
    with engine_errors():
        try:
            client.images.load(without_names(path))
        except ImageLoadError as error:
            if NO_ROOM in str(error):
                raise
            raise RunnerFault(Fault.IMAGE_PULL, f"the engine refused the archive: {error}") from None
    if not present(client, image):
        raise RunnerFault(Fault.PLATFORM, f"the engine does not know what it loaded as {image}: {_OTHER_STORE}")


def prune(client: "DockerClient", *, enough: Callable[[], bool], keep: str = "") -> int:
    """Throw away images that were kept here, the longest unused first, until there is `enough`; return how many."""
    from docker.errors import APIError

    removed = 0
    with engine_errors():
        kept = [image for image in client.images.list(IMAGE_NAME) if image.id != keep]
        for image in sorted(kept, key=lambda each: str(each.attrs["Metadata"]["LastTagTime"])):
            if enough():
                break
            with suppress(APIError):  # in use by a container
                client.images.remove(image.id, force=True)
                removed += 1
    return removed


def _image(client: "DockerClient", image: str) -> Any:
    from docker.errors import ImageNotFound

    with engine_errors():
        try:
            return client.images.get(image)
        except ImageNotFound:
            raise RunnerFault(Fault.IMAGE_PULL, f"the engine does not have {image}") from None
