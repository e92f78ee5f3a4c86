"""Fetches the image of a defense from a registry, within limits of time, size and disk.

An engine unpacks whatever a registry sends, and says nothing until it is done.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from defense_kit.archive import MAX_BYTES, PLATFORM, UnpackingBudget
from defense_kit.container import LOADING_SECONDS, NO_ROOM, engine_errors, present
from defense_kit.faults import Fault, RunnerFault

if TYPE_CHECKING:
    from docker import DockerClient

GONE = "manifest unknown"  # a registry's word; without more of them an engine takes it for an error of its own
LOOK_SECONDS = 0.5  # between two looks at the pull and at the disk


def pull(
    client: "DockerClient",
    image: str,
    *,
    has_room: Callable[[], bool],
    max_bytes: int = MAX_BYTES,
    seconds: float = LOADING_SECONDS,
) -> None:
    """Fetch `name@sha256:…` from its registry; `image_pull` when the registry does not have it.

    So too where it takes longer than `seconds`, or unpacks to more than `max_bytes`; `platform` as soon as the disk has
    no room. The client is of no use after a fault: close it.
    """
    pulling, until = _Pull(client, image), time.monotonic() + seconds
    while not pulling.is_over(LOOK_SECONDS):
        if not has_room():
            pulling.cancel()
            raise RunnerFault(Fault.PLATFORM, f"the scorer's disk is nearly full, while {image} is unpacked")
        if time.monotonic() >= until:
            pulling.cancel()
            raise RunnerFault(Fault.IMAGE_PULL, f"{image} was not fetched and unpacked within {seconds:,.0f} seconds")
    pulling.check()
    _refuse_large(client, image, max_bytes)
    if not present(client, image):
        raise RunnerFault(Fault.IMAGE_PULL, f"the registry sent something else than {image}")


class _Pull:
    """An image that an engine is fetching, waited for in a thread: the engine may be silent for as long as it likes."""

    def __init__(self, client: "DockerClient", image: str) -> None:
        self._client, self._image = client, image
        self._cancelled = threading.Event()
        self._answers: list[Any] = []
        self._fault: RunnerFault | None = None
        self._thread = threading.Thread(target=self._run, name="image-pull", daemon=True)
        self._thread.start()

    def is_over(self, seconds: float) -> bool:
        """Wait for its end, `seconds` at most, and say whether it has come."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def check(self) -> None:
        """Raise what went wrong."""
        if self._fault is not None:
            raise self._fault

    def cancel(self) -> None:
        """Hang up, at once or when the engine begins to answer: it stops fetching, and throws away what it has."""
        self._cancelled.set()
        for answer in self._answers:
            _hang_up(answer)

    def _run(self) -> None:
        from docker.errors import APIError

        hooks = self._client.api.hooks["response"]
        hooks.append(self._answered)  # the stream itself does not lead to its socket
        try:
            with engine_errors():
                try:
                    for step in self._client.api.pull(self._image, stream=True, decode=True, platform=PLATFORM):
                        self._refuse(step.get("error"))
                except APIError as error:
                    if error.is_client_error() or GONE in str(error.explanation):
                        self._refuse(error.explanation)
                    raise
        except RunnerFault as fault:
            self._fault = fault
        finally:
            hooks.remove(self._answered)

    def _answered(self, answer: Any, **_: object) -> None:
        self._answers.append(answer)
        if self._cancelled.is_set():
            _hang_up(answer)

    def _refuse(self, words: object) -> None:
        if words:
            fault = Fault.PLATFORM if NO_ROOM in str(words) else Fault.IMAGE_PULL
            raise RunnerFault(fault, f"{self._image} cannot be fetched: {words}")


def _hang_up(answer: Any) -> None:
    from docker.errors import DockerException
    from docker.types import CancellableStream

    with suppress(OSError, AttributeError, DockerException):  # it has ended meanwhile, or is no socket of this machine
        CancellableStream(iter(()), answer).close()


def _refuse_large(client: "DockerClient", image: str, max_bytes: int) -> None:
    """Remove an image that is larger than an archive may be unpacked; `image_pull`."""
    from docker.errors import ImageNotFound

    with engine_errors(), suppress(ImageNotFound):
        found = client.images.get(image)
        try:
            UnpackingBudget(max_bytes).take(found.attrs["Size"])
        except RunnerFault:
            client.images.remove(found.id, force=True)
            raise
