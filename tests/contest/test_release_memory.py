"""What a process holds while it writes a release does not grow with the week. A small week read in the smallest pieces
is in `test_releases.py`."""

import gc
import hashlib
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from contest import releases
from contest.exports import archive, folders, tables
from contest.exports.content import write_tables
from contest.rules import week_named
from labeling.geometry import Box, canonical_json
from labeling.models import Assignment, Image, Panel, Place, Response
from labeling.png import encode_png
from labeling.store import picture_key, picture_store
from tests import factories
from tests.contest import release_fixtures as cast

pytestmark = [pytest.mark.long("memory at size"), pytest.mark.django_db]
WEEK = week_named("2026-W47", "UTC")


def _many_pictures(number: int, received: datetime) -> None:
    """Tiny pictures that nobody was asked about yet."""
    template = factories.image(origin="gold")
    fields = {field.attname: getattr(template, field.attname) for field in Image._meta.concrete_fields}
    fields |= {"id": None, "origin": "dataset", "received_at": received, "label_from": received}
    day = received.strftime("%m%d")
    hashes = [hashlib.sha256(f"{day} {at}".encode()).hexdigest() for at in range(number)]
    made = ({"public_id": f"P-{day}{at:04}", "pixels_sha256": sha, "source_id": sha} for at, sha in enumerate(hashes))
    Image.objects.bulk_create(Image(**(fields | own)) for own in made)
    picture = encode_png(1, 1, b"rgb")
    for sha in hashes:
        picture_store().put(picture_key(sha), picture)


def _peak(name: str, out: Path) -> int:
    """Return the most bytes Python held while a week was released, found unchanged, and copied."""
    week = week_named(name, "UTC")
    # A whole collection waits for a quarter of all that lives, which in a process of many tests is more than a release.
    gc.collect()
    gc.freeze()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(2):
            released = releases.release_week(week, out=out, now=cast.AFTER, incomplete=True)
        releases.release_copy(released, out / "copy")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.unfreeze()


def test_memory_does_not_grow_with_the_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Buffers as in a release of a hundred thousand pictures would hide what a few hundred of them take.
    for module, name, size in ((tables, "CHUNK", 50), (folders, "_NAMES", 50), (archive, "_CHUNK", 1 << 12)):
        monkeypatch.setattr(module, name, size)
    factories.policy_version()
    for number, weeks in ((1, 3), (50, 2), (350, 1), (350, 0)):
        _many_pictures(number, cast.MONDAY - timedelta(weeks=weeks))
    _, few, first, second = (_peak(f"2026-W{week}", tmp_path / "out") for week in (44, 45, 46, 47))
    assert len(list((tmp_path / "out").rglob("*.png"))) == 2 * 751, "released and copied"
    # The rows of the pictures, held as a list, take more than 100,000 bytes. After a week that loads what is loaded
    # once, and twice, because threads that other tests left behind may just then be busy.
    assert min(first, second) - few < 60_000


def _resident() -> int:
    """This process's memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _many_responses(images: int) -> None:
    """Panels of three on many images, in the fewest statements."""
    taskers = [factories.tasker(f"busy {number}") for number in range(3)]
    rings = [[(500 + 10 * at, 512 + 91 * (at % 2)) for at in range(300)]]
    outline, box = canonical_json(rings), Box.from_rings(rings)
    template = factories.image(received_at=cast.MONDAY)
    fields = {field.attname: getattr(template, field.attname) for field in Image._meta.concrete_fields}
    own = ({"id": None, "public_id": f"P-{at:08d}", "pixels_sha256": f"{at:064x}"} for at in range(images))
    made = Image.objects.bulk_create(Image(**(fields | each)) for each in own)
    dealt = {"size": 3, "answered": 3, "missing": 0, "state": "settled", "dealt_at": cast.MONDAY}
    panels = Panel.objects.bulk_create(Panel(image=image, waiting_since=cast.MONDAY, **dealt) for image in made)
    places = Place.objects.bulk_create(Place(panel=panel, number=at) for panel in panels for at in (1, 2, 3))
    lease = {"lease_token": "x", "state": "answered", "slot": 1, "tie_break": "leftmost"}
    times = {"leased_at": cast.MONDAY, "expires_at": cast.MONDAY, "ended_at": cast.MONDAY}
    asked = Assignment.objects.bulk_create(
        Assignment(
            panel=place.panel,
            image_id=place.panel.image_id,
            tasker=taskers[place.number - 1],
            person=taskers[place.number - 1].pk,
            **lease,
            **times,
        )
        for place in places
    )
    Response.objects.bulk_create(
        Response(
            assignment=assignment, image_id=assignment.image_id, panel_id=assignment.panel_id,
            tasker_id=assignment.tasker_id, place=place, contains_bird="definitely_yes",
            contains_bicycle="definitely_no", outline=outline, box_xmin=box.xmin, box_ymin=box.ymin,
            box_xmax=box.xmax, box_ymax=box.ymax, complete=True, unoccluded=True, real=True, milliseconds=1,
            submitted_at=cast.MONDAY, answers_sha256="a" * 64, receipt=f"r{place.pk}",
        )
        for assignment, place in zip(asked, places, strict=True)
    )  # fmt: skip


@pytest.mark.skipif(connection.vendor == "postgresql", reason="the large bench measures it there")
def test_memory_stays_flat_while_rows_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CHUNK", 100)  # as many as there are in a large week would hide what thousands take
    cast.a_week()
    seen: list[int] = []
    with ThreadPoolExecutor(1) as packer:
        (tmp_path / "small").mkdir()
        write_tables(tmp_path / "small", WEEK, packer, lambda *_: None)  # what is loaded once is loaded now
        _many_responses(2_000)
        before = _resident()
        (tmp_path / "large").mkdir()
        content = write_tables(tmp_path / "large", WEEK, packer, lambda *_: seen.append(_resident()))
    assert content.counts["responses"] == 6_028
    assert len(seen) > 15
    # The rows alone, held as a list, are more than 20 MB.
    assert max(seen) - before < 25 * 2**20
