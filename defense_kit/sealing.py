"""Builds the options of a sealed container: isolation, resource limits, environment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from defense_kit.archive import check_configuration
from defense_kit.faults import Fault, RunnerFault
from defense_kit.limits import DefenseLimits, library_settings

UID = 65534  # nobody
SOCKET = "/run/defense/defense.sock"
SCRATCH = "/tmp"
SCORER_LABEL, ATTEMPT_LABEL, DIGEST_LABEL = "unanimous.scorer", "unanimous.attempt", "unanimous.digest"
_DIGEST = re.compile(r"(?:[a-z0-9][a-z0-9./:_-]*@)?sha256:[0-9a-f]{64}")
_SHARED_MEMORY = "64m"
_MAX_FILES_IN_SCRATCH = 1 << 16  # their names take memory as well
# What a container may take over from its image. LD_* and NVIDIA_* are read by the container runtime's own programs,
# outside; everything else a participant sets under the name DEFENSE_*.
_FROM_IMAGE = re.compile(r"PATH|LANG|LC_[A-Z]+|PYTHONPATH|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|DEFENSE_\w+")


@dataclass(frozen=True, slots=True)
class Sealing:
    """Which image runs, for whom, and on what. `gpu` is a UUID, `runtime` another one than the engine's (`runsc`)."""

    image: str
    scorer: str
    attempt: str = ""
    gpu: str = ""
    runtime: str = ""


def container_options(
    sealing: Sealing, limits: DefenseLimits, image: Mapping[str, Any], socket: Path
) -> dict[str, Any]:
    """Return all arguments of `containers.create`. `image` is the configuration that the image brings along."""
    if not _DIGEST.fullmatch(sealing.image):
        raise RunnerFault(Fault.IMAGE_PULL, f"{sealing.image[:200]} is not the digest of an image")
    check_configuration(image)
    return {
        "image": sealing.image,
        "hostname": "defense",
        "user": f"{UID}:{UID}",
        "environment": _environment(image, limits),
        "labels": _labels(sealing, image),
        "healthcheck": {"test": ["NONE"]},
        "init": True,
        "restart_policy": {"Name": "no"},
        **_walls(socket),
        **_bounds(limits),
        **({"runtime": sealing.runtime} if sealing.runtime else {}),
        **({"device_requests": [_card(sealing.gpu)]} if sealing.gpu else {}),
    }


def _labels(sealing: Sealing, image: Mapping[str, Any]) -> dict[str, str]:
    """Return our labels, and the image's without their values: other programs on the machine act upon labels.

    The engine gives a container all labels of its image; a label can be emptied and not taken away.
    """
    ours = {SCORER_LABEL: sealing.scorer, ATTEMPT_LABEL: sealing.attempt, DIGEST_LABEL: sealing.image}
    return {**dict.fromkeys(image.get("Labels") or {}, ""), **ours}


def _walls(socket: Path) -> dict[str, Any]:
    """The isolation of a container. No seccomp profile is named: the engine's default one stays in force."""
    from docker.types import Mount

    return {
        "network_mode": "none",
        "dns": ["127.0.0.1"],  # otherwise the machine's own name servers are written down inside
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "ipc_mode": "private",
        "cgroupns": "private",
        "mounts": [Mount(type="bind", source=str(socket), target=SOCKET, read_only=True)],
    }


def _bounds(limits: DefenseLimits) -> dict[str, Any]:
    """The resource limits of a container. Scratch and shared memory count as memory."""
    from docker.types import LogConfig, Ulimit

    mebibytes = f"{limits.memory_mib}m"
    scratch = limits.scratch_mib << 20
    return {
        "mem_limit": mebibytes,
        "memswap_limit": mebibytes,
        "oom_score_adj": 500,  # where the whole machine runs out of memory, the defense goes and not the scorer
        "nano_cpus": limits.cpus * 1_000_000_000,
        "pids_limit": limits.processes,
        "shm_size": _SHARED_MEMORY,
        "tmpfs": {SCRATCH: f"rw,exec,nosuid,nodev,mode=1777,size={scratch},nr_inodes={_MAX_FILES_IN_SCRATCH}"},
        "ulimits": [
            Ulimit(name=name, soft=most, hard=most)
            for name, most in (("nofile", limits.files), ("fsize", scratch), ("core", 0))
        ],
        "log_config": LogConfig(type="none"),  # _Tap reads it; nothing of it reaches the disk
    }


def _environment(image: Mapping[str, Any], limits: DefenseLimits) -> dict[str, str | None]:
    """Return what a defense finds in its environment; None takes a variable of the image's away."""
    brought = dict(entry.partition("=")[::2] for entry in image.get("Env") or [])
    return {
        **{name: value if _FROM_IMAGE.fullmatch(name) else None for name, value in brought.items()},
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
        "TORCHINDUCTOR_CACHE_DIR": f"{SCRATCH}/inductor",
        **library_settings(limits.cpus),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # the same sums in the same order
        "PYTHONHASHSEED": "0",  # the same order of sets in each run
        "DEFENSE_SOCKET": SOCKET,
    }


def _card(uuid: str) -> Any:
    from docker.types import DeviceRequest

    return DeviceRequest(device_ids=[uuid], capabilities=[["gpu", "compute", "utility"]])
