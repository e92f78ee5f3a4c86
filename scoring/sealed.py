"""Runs submitted defenses in sealed containers (R28).

A scorer has a name and a folder of its own. Containers carry the name, so that what a killed scorer or a failed stop
left behind is found and removed, when one of the same name starts and before it opens the next defense.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from defense_kit import container, pulling
from defense_kit.conversation import ConversationDeadlines
from defense_kit.faults import Fault, RunnerFault
from defense_kit.frames import CONTEST_PIXELS
from defense_kit.harness import Cancelled, DefenseSession, never_stopped, open_defense
from defense_kit.limits import DefenseLimits
from defense_kit.sealing import Sealing
from picture_files.store import PictureMissing, picture_store
from scoring.machine import free_memory_mib, processor_name
from scoring.models import Defense

if TYPE_CHECKING:
    from docker import DockerClient

MIN_FREE_BYTES = 10 << 30
FREE_WHILE_FETCHING = 10  # one part in so many of that stays free while an image is unpacked
_GATES, _ARCHIVES = "gate-*", "archive-*"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, which is read a piece at a time."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def archive_key(sha256: str) -> str:
    """Return the key of an image archive in the store."""
    return f"defenses/{sha256}.tar"


class ContainerRunner:
    """Opens defenses in containers, one at a time on one device; leftover containers are removed at each opening.

    `scorer` is the same after a restart, `folder` belongs to it alone. `deadlines` takes the most rows of a batch.
    `address` is the engine's (empty: DOCKER_HOST), `runtime` another one than the engine's own, `gpu` the UUID of the
    card for the device `cuda`.
    """

    def __init__(
        self,
        *,
        scorer: str,
        folder: Path,
        limits: DefenseLimits,
        deadlines: Callable[[int], ConversationDeadlines],
        address: str = "",
        runtime: str = "",
        gpu: str = "",
        min_free_bytes: int = MIN_FREE_BYTES,
    ) -> None:
        self._scorer, self._folder = scorer, folder
        self._limits, self._deadlines = limits, deadlines
        self._address, self._runtime, self._gpu = address, runtime, gpu
        self._min_free_bytes = min_free_bytes

    @cached_property
    def _client(self) -> "DockerClient":
        return container.connect(self._address)

    def start_clean(self) -> int:
        """Remove what a killed scorer of this name left, and return how many containers that were."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        removed = container.remove_leftovers(self._client, self._scorer)
        for pattern in (_GATES, _ARCHIVES):
            for left in self._folder.glob(pattern):
                shutil.rmtree(left)
        return removed

    def open(
        self,
        defense: Defense,
        *,
        device: str,
        image_size: int,
        batch_size: int,
        seed: int,
        attempt: str = "",
        cancelled: Cancelled = never_stopped,
        pixels: str = CONTEST_PIXELS,
    ) -> DefenseSession:
        """Start `defense`; RunnerFault when its image cannot be had or it does not start.

        A container of this scorer that could not be removed earlier is removed first, or nothing is started.
        """
        if device == "cuda" and not self._gpu:
            raise RunnerFault(Fault.PLATFORM, "the scorer does not know which card a container may use")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        container.remove_leftovers(self._client, self._scorer)
        self._refuse_without_memory()
        self._ensure_image(defense)
        gpu = self._gpu if device == "cuda" else ""
        sealing = Sealing(defense.image, self._scorer, attempt, gpu, self._runtime)
        opened = open_defense(
            partial(container.start_container, self._client, sealing, self._limits),
            image_size=image_size,
            batch_size=batch_size,
            seed=seed,
            deadlines=self._deadlines(batch_size),
            folder=self._folder,
            cancelled=cancelled,
            pixels=pixels,
        )
        opened.device = f"{device}, {gpu or processor_name()}, container"
        return opened

    def _refuse_without_memory(self) -> None:
        """Refuse a start for which the machine could run out of memory: the defense would be blamed for that."""
        free, needed = free_memory_mib(), self._limits.memory_mib
        if free is not None and free < needed:
            text = f"the scorer's machine has {free:,} MiB of memory free, and a defense may use {needed:,} MiB"
            raise RunnerFault(Fault.PLATFORM, f"{text}: end other programs, or lower defense_memory_mib in the policy")

    # Images of defenses are loaded into the engine; the longest unused are removed where room is short.

    def _ensure_image(self, defense: Defense) -> None:
        """Return when the engine has the image; `image_pull` when it cannot be had, `platform` without room for it."""
        if container.present(self._client, defense.image):
            return
        self._make_room(defense.image)
        with closing(container.connect(self._address, seconds=container.LOADING_SECONDS)) as patient:
            self._fetch(patient, defense)

    def _fetch(self, client: "DockerClient", defense: Defense) -> None:
        if not defense.archive:
            pulling.pull(client, defense.image, has_room=self._has(self._min_free_bytes // FREE_WHILE_FETCHING))
            return
        with tempfile.TemporaryDirectory(prefix=_ARCHIVES.rstrip("*"), dir=self._folder) as folder:
            path = Path(folder) / "image.tar"
            self._download(defense.archive, path)
            container.load_archive(client, path, defense.image)

    def _download(self, sha256: str, path: Path) -> None:
        try:
            with open(path, "wb") as file:
                picture_store().fetch(archive_key(sha256), file)
        except PictureMissing as error:
            raise RunnerFault(Fault.IMAGE_PULL, str(error)) from error
        except Exception as error:  # a bucket can fail in many ways, never by the defense's fault
            raise RunnerFault(Fault.PLATFORM, f"the image archive could not be read: {error}") from error
        if (found := file_sha256(path)) != sha256:
            raise RunnerFault(Fault.IMAGE_PULL, f"the image archive has the digest {found}, expected {sha256}")

    def _make_room(self, image: str) -> None:
        enough = self._has(self._min_free_bytes)
        if not enough():
            container.prune(self._client, enough=enough, keep=image)
        if not enough():
            raise RunnerFault(Fault.PLATFORM, "the scorer's disk is too full for another image")

    def _has(self, free_bytes: int) -> Callable[[], bool]:
        """Return a function that says whether the scorer's folder and the engine's image storage have so much room."""
        with container.engine_errors():
            engine = Path(self._client.info()["DockerRootDir"])
        places = [place for place in (self._folder, engine) if place.exists()]
        return lambda: all(shutil.disk_usage(place).free >= free_bytes for place in places)
