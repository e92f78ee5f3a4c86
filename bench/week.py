"""A database with a week that is over and answered, and its releases."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.answered import PANEL, write_week
from bench.servers import Cluster, environment, python


@dataclass(frozen=True, slots=True)
class Week:
    """A database with an answered week, its store, and the folder for both and for its releases."""

    database: str
    folder: Path
    pictures: int

    @classmethod
    def made(cls, cluster: Cluster, folder: Path, pictures: int, side: int) -> "Week":
        """Make a week of `pictures` pictures of `side` x `side` pixels in a database of its own."""
        week = cls(cluster.create_migrated(f"week-{pictures}-{side}"), folder, pictures)
        (folder / "static").mkdir(parents=True)
        write_week(week.database, folder / "store", pictures, side)
        return week

    @property
    def responses(self) -> int:
        """How many answers the week has."""
        return self.pictures * PANEL

    def environment(self) -> dict[str, str]:
        """Return what a process of the project needs to see it."""
        own = {"IMAGE_STORE_URL": f"file://{self.folder / 'store'}", "DATA_DIR": str(self.folder)}
        return environment("config.settings", self.database) | own

    def release(self, out: str) -> dict[str, Any]:
        """Release it into a new folder, in a process of its own, and return what that took."""
        took: dict[str, Any] = json.loads(python(["-m", "bench.release", str(self.folder / out)], self.environment()))
        return took
