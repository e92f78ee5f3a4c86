"""A container engine of the tests' own: Debian's dockerd without a network, thrown away afterwards.

It never touches the machine's own engine: data, sockets and processes lie in a temporary folder. A small keeper process
starts it and takes everything down when the tests end, also when they are killed: it notices that their end of a
pipe is closed.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.images import PYTHON, Image, python_layer, write_archive
from tests.services import program

VARIABLE = "TEST_DOCKER_HOST"
_START_SECONDS = 30
_STOP_SECONDS = 20
_ALONE = ("--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-masq=false")


class EngineUnavailable(Exception):
    """No container engine can run here; the text says why."""


@contextlib.contextmanager
def engine() -> Iterator[str]:
    """Yield the address of a fresh engine, or of the one that TEST_DOCKER_HOST names; raises EngineUnavailable.

    Tests look at everything that their engine has, so each process of a test run has one of its own. What is no
    address in TEST_DOCKER_HOST (`none`, say) does without.
    """
    given = os.environ.get(VARIABLE, "")
    if "://" in given:
        yield given
        return
    if given:
        raise EngineUnavailable(f"{VARIABLE} is {given}")
    with _keeper() as (process, folder):
        _wait_for(process, folder)
        _try_out(_address(folder), folder)
        yield _address(folder)


@contextlib.contextmanager
def _keeper() -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    if os.geteuid() != 0:
        raise EngineUnavailable("a container engine of the tests' own needs root")
    try:
        program("dockerd", "/usr/sbin")
    except FileNotFoundError as error:
        raise EngineUnavailable(str(error)) from error
    # A short path: the addresses of sockets have at most 107 characters. Letters and digits alone: the engine's parts
    # name themselves after it.
    folder = Path("/var/tmp") / f"unanimous-engine-{uuid.uuid4().hex[:8]}"
    folder.mkdir(mode=0o700)
    command = [sys.executable, "-m", "tests.engine", str(folder)]
    keeper = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield keeper, folder
    finally:
        assert keeper.stdin is not None
        keeper.stdin.close()
        keeper.wait()


def _address(folder: Path) -> str:
    return f"unix://{folder}/docker.sock"


def _wait_for(keeper: "subprocess.Popen[bytes]", folder: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and keeper.poll() is None:
        if _answers(folder):
            return
        time.sleep(0.1)
    log = folder / "log"
    last = log.read_text(errors="replace").strip().splitlines()[-1:] if log.exists() else []
    raise EngineUnavailable(f"dockerd did not start: {' '.join(last)[:500]}")


def _try_out(address: str, folder: Path) -> None:
    """Run one container: an engine may start where the kernel, or what this machine itself runs in, forbids those."""
    import docker

    image = Image([python_layer()], [PYTHON, "-c", "print('ran')"])
    with contextlib.closing(docker.DockerClient(base_url=address, timeout=_START_SECONDS)) as client:
        try:
            client.images.load(write_archive(folder / "try.tar", [image]).read_bytes())
            client.containers.run(image.id, network_mode="none", init=True, remove=True)
        except docker.errors.DockerException as error:
            raise EngineUnavailable(f"a container does not run here: {error}"[:500]) from error


def _answers(folder: Path) -> bool:
    import docker
    import requests

    with (
        contextlib.suppress(docker.errors.DockerException, requests.RequestException),
        contextlib.closing(docker.DockerClient(base_url=_address(folder), timeout=5)) as client,
    ):
        return bool(client.ping())
    return False


def keep(folder: Path) -> None:
    """Run dockerd in `folder` until standard input is closed, then leave nothing of it."""
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, signal.SIG_IGN)  # only the end of the tests ends it
    paths = ("--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid")
    # Where the machine runs a containerd of its own, dockerd uses that one.
    spaces = ("--containerd-namespace", folder.name, "--containerd-plugins-namespace", f"{folder.name}-plugins")
    command = [program("dockerd", "/usr/sbin"), *_ALONE, *paths, *spaces, "--config-file", f"{folder}/none.json"]
    (folder / "none.json").write_text("{}")  # the machine's own settings are not read
    environment = os.environ | {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            [*command, "--host", _address(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
            preexec_fn=_with_usual_signals,
        )
    sys.stdin.buffer.read()
    _stop(server, folder)


def _with_usual_signals() -> None:
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, signal.SIG_DFL)


def _stop(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    server.terminate()
    try:
        server.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    deadline = time.monotonic() + _STOP_SECONDS
    while (left := _processes_of(folder)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    for mount in _mounts_under(folder):
        subprocess.run(["umount", "--lazy", mount], check=False)
    shutil.rmtree(folder, ignore_errors=True)


def _processes_of(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if os.fsencode(folder / "exec") in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def _mounts_under(folder: Path) -> list[str]:
    places = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((place for place in places if place.startswith(f"{folder}/")), key=len, reverse=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
