"""Builds the participants' kit (`defense_kit`) as a Python wheel, from the source that the contest itself runs.

`python -m contest.web.kit_wheel FOLDER` writes it into a folder.
"""

import hashlib
import sys
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from flit_core.wheel import WheelBuilder  # type: ignore[import-untyped]

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
# Any moment, always the same: the bytes depend on the source alone, not on when it was checked out.
_WRITTEN_AT = (2016, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class KitWheel:
    """A wheel: its file name, its version and its bytes with their SHA-256."""

    name: str
    version: str
    content: bytes
    sha256: str


@lru_cache(maxsize=1)
def kit_wheel() -> KitWheel:
    """Return the wheel of this version of `defense_kit`, built once per process."""
    file = BytesIO()
    builder = WheelBuilder.from_ini_path(_PROJECT, file)
    builder.source_time_stamp = _WRITTEN_AT
    builder.build()
    content = file.getvalue()
    return KitWheel(builder.wheel_filename, builder.metadata.version, content, hashlib.sha256(content).hexdigest())


if __name__ == "__main__":
    wheel, folder = kit_wheel(), Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / wheel.name).write_bytes(wheel.content)
    print(f"{folder / wheel.name}  sha256:{wheel.sha256}")
