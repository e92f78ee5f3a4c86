"""The site as a browser meets it: served over a filled database, static files as deployed, photographs to label."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.labeling_loop import DUE, OURS, fill, migrated
from bench.machine import ROOT
from bench.servers import Cluster, WebServer, environment, python, serve
from picture_files.decoding import read_dataset
from picture_files.png import encode_png
from tests.services import redis

SIDE = 299
PHOTOGRAPHS = ROOT / "contest" / "demo" / "photos"

# The last `gold` pictures are settled, and what is right there is known: a bird in a box in the middle.
_GOLD = """
SET session_replication_role = replica;
UPDATE labeling_panel SET state = 'settled', answered = size, missing = 0, full_at = dealt_at
  WHERE id > {pictures} - {gold};
INSERT INTO labeling_knownpicture (public_id, image_id, panel_id, use, topic, position, accepts_bird, accepts_bicycle,
    outline, min_iou_percent, complete, unoccluded, real, reasons, uses, created_at, retired_because)
  SELECT gen_random_uuid(), image_id, id, 'gold', 'clear', 0, '["definitely_yes"]', '["definitely_no"]',
    '[[[60,60],[240,60],[240,240],[60,240]]]', 70, true, true, true, '{{}}', 0, {due}, ''
  FROM labeling_panel WHERE state = 'settled';
UPDATE policy_policyversion SET numbers = jsonb_set(numbers, '{{gold_percent}}', '{percent}');
VACUUM ANALYZE labeling_knownpicture, labeling_panel
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A running site and the cookies of its taskers."""

    web: WebServer
    cluster: Cluster
    database: str
    cookies: list[dict[str, str]]

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Return the rows of a query."""
        return self.cluster.execute(sql, self.database)


@dataclass(frozen=True, slots=True)
class Stock:
    """What there is to label: `pictures`, of which `gold` are gold and make up `gold_percent` of what is given."""

    pictures: int
    gold: int
    gold_percent: int = 5


@contextlib.contextmanager
def site(cluster: Cluster, name: str, stock: Stock, *, taskers: int = 1) -> Iterator[Site]:
    """Run the site over a database of its own."""
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder, redis() as broker:
        cookies = migrated(cluster, OURS, taskers)["cookies"]
        variables = environment(OURS.settings, cluster.create(name, f"{OURS.name}-template"), broker)
        fill(cluster, name, OURS, stock.pictures)
        gold = {"pictures": stock.pictures, "gold": stock.gold, "percent": stock.gold_percent, "due": DUE}
        cluster.execute(_GOLD.format(**gold), name)
        _put_files(Path(folder), stock.pictures, variables)
        with serve(variables, Path(folder)) as web:
            yield Site(web, cluster, name, cookies)


def _put_files(folder: Path, pictures: int, variables: dict[str, str]) -> None:
    """Collect and compress the static files, and put a photograph at the place of every picture."""
    python(["-m", "django", "collectstatic", "--noinput", "-v0"], variables | {"DATA_DIR": str(folder)})
    photographs = _photographs(folder)
    for number in range(1, pictures + 1):
        # As the rows have it: the hash of the number stands for that of the pixels.
        sha = hashlib.sha256(str(number).encode()).hexdigest()
        path = folder / "pictures" / "pictures" / sha[:2] / f"{sha}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(photographs[number % len(photographs)], path)


def _photographs(folder: Path) -> list[Path]:
    made = []
    for source in sorted(PHOTOGRAPHS.glob("*.jpg")):
        picture = read_dataset(source.read_bytes(), size=SIDE)
        made.append(folder / f"{source.stem}.png")
        made[-1].write_bytes(encode_png(picture.width, picture.height, picture.pixels))
    return made
