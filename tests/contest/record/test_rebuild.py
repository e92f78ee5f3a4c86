"""From the releases alone an empty database is filled whose public pages and releases are equal (R39)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from adjudication.mirror import LIST
from adjudication.verify import verify
from contest.exports.folders import copy_folder
from contest.models import LedgerEntry, Release
from contest.record.selectors import as_listed, releases
from contest.releases import release_week
from labeling.models import Image, Response
from labeling.pictures import pixels_of
from scoring.models import Defense
from tests import factories
from tests.conftest import _each_fact_table
from tests.contest.record import cast

pytestmark = pytest.mark.django_db(transaction=True)
_TOKEN = re.compile(r"/pictures/([^\"]+)\.png")


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sites are looked at in the same moment, and nothing of other tests is remembered."""
    monkeypatch.setattr(timezone, "now", lambda: cast.NOW)
    cache.clear()


def _mirror(into: Path, made: list[Any]) -> Path:
    """What `release_mirror` leaves, without the network: that is another test's."""
    into.mkdir()
    for each in made:
        copy_folder(each.folder, into / each.folder.name)
        (into / each.archive.name).write_bytes(each.archive.read_bytes())
    (into / LIST).write_text(json.dumps({"releases": [as_listed(each) for each in releases()]}))
    return into


def _addresses() -> list[str]:
    names = [each.name for each in releases()]
    files = ("manifest.json", "responses.csv", "responses.parquet")
    defenses = sorted(Defense.objects.values_list("public_id", flat=True))
    kinds = ("", "?show=mistakes", "?show=abstained", "?show=faults")
    return [
        "/releases/", "/feeds/releases.atom", "/feeds/releases.json", "/api/v1/releases/",
        *(f"/releases/{name}/" for name in names), *(f"/releases/{name}.zip" for name in names),
        *(f"/releases/{name}/{file}" for name in names for file in files),
        "/weeks/2026-W47/", "/weeks/2026-W48/", "/defenses/", "/leaderboard/", "/api/v1/leaderboard/",
        *(f"/leaderboard/?week={week}" for week in ("2026-W47", "2026-W48")),
        *(f"/defenses/{each}/{kind}" for each in defenses for kind in kinds),
        *(f"/defenses/{each}/risk-coverage.csv" for each in defenses),
    ]  # fmt: skip


def _shown(address: str) -> tuple[int, bytes]:
    """What a stranger is answered; addresses of pictures differ each time, so the picture stands in their place."""
    answer = Client().get(address)
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
    if not answer["Content-Type"].startswith("text/html"):
        return answer.status_code, body
    page = re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", body.decode())
    return answer.status_code, _TOKEN.sub(lambda found: str(pixels_of(found[1], now=cast.NOW)), page).encode()


def _empty_database() -> None:
    """As after `migrate`, with the picture store and the release folder of another machine."""
    from django.db import connection

    from common.append_only import protect, unprotect

    if connection.vendor == "sqlite":
        _each_fact_table(unprotect)
    call_command("flush", verbosity=0, interactive=False)
    if connection.vendor == "sqlite":
        _each_fact_table(protect)
    factories.policy_version()
    cache.clear()


@pytest.fixture
def rebuilt(tmp_path: Path, settings: Any) -> dict[str, tuple[int, bytes]]:
    """The pages as they were; the database is the rebuilt one."""
    cast.two_weeks()
    mirror = _mirror(tmp_path / "mirror", cast.released(settings.RELEASE_DIR))
    before = {address: _shown(address) for address in _addresses()}
    _empty_database()
    settings.RELEASE_DIR = tmp_path / "elsewhere"
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'other pictures'}"
    call_command("rebuild_from_releases", str(mirror), verbosity=0)
    return before


def test_every_public_page_is_equal(rebuilt: dict[str, tuple[int, bytes]]) -> None:
    assert list(rebuilt) == _addresses()
    for address, shown in rebuilt.items():
        assert shown[0] == 200, address
        assert _shown(address) == shown, address


def test_the_pages_compared_say_something(rebuilt: dict[str, tuple[int, bytes]]) -> None:
    page = rebuilt["/defenses/D-00002/"][1].decode()
    assert "Pictures that broke it</dt><dd>2<" in page
    assert "crashed" in page
    assert page.count("<figure>") == 3
    assert rebuilt["/weeks/2026-W47/"][1].count(b"<figure>") == 11


def test_the_rebuilt_database_releases_the_same_bytes(rebuilt: object, settings: Any, tmp_path: Path) -> None:
    for week in (cast.W47, cast.W48):
        again = release_week(week, out=tmp_path / "again", now=cast.NOW)
        assert not again.new, f"{week.name}: {_difference(again.folder, settings.RELEASE_DIR)}"
        assert verify(again.folder, previous=None).differences == []
    assert Release.objects.count() == 3


def _difference(folder: Path, out: Path) -> list[str]:
    other = (
        out
        / sorted(each.name for each in out.iterdir() if each.name.startswith(folder.name[:16]) and each.is_dir())[-1]
    )
    return [path.name for path in sorted(folder.glob("*.*")) if path.read_bytes() != (other / path.name).read_bytes()]


def test_money_is_where_it_was(rebuilt: object) -> None:
    from contest.models import Account

    balances = {str(each.kind): each.balance_cents for each in Account.objects.exclude(balance_cents=0)}
    assert balances == {"outside": -500, "pool": 200, "stake": 100, "team": 200}
    assert LedgerEntry.objects.count() == 3


def test_new_rows_get_numbers_of_their_own(rebuilt: object) -> None:
    before = set(Image.objects.values_list("pk", flat=True))
    assert factories.image().pk not in before
    panel = factories.panel()
    assert factories.response(factories.tasker("new"), panel).pk == max(Response.objects.values_list("pk", flat=True))


def test_a_full_database_is_left_alone(tmp_path: Path, settings: Any) -> None:
    cast.two_weeks()
    mirror = _mirror(tmp_path / "mirror", cast.released(settings.RELEASE_DIR))
    number = Image.objects.count()
    with pytest.raises(CommandError, match="already"):
        call_command("rebuild_from_releases", str(mirror))
    assert Image.objects.count() == number


def _unlist(mirror: Path) -> None:
    (mirror / LIST).unlink()


def _no_manifest(mirror: Path) -> None:
    (mirror / "release-2026-W48" / "manifest.json").unlink()


def _changed_table(mirror: Path) -> None:
    (mirror / "release-2026-W48" / "attacks.csv").write_text("x")


def _another_manifest(mirror: Path) -> None:
    listed = json.loads((mirror / LIST).read_text())
    listed["releases"][-1]["manifest_sha256"] = "0" * 64
    (mirror / LIST).write_text(json.dumps(listed))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_unlist, "release_mirror"),
        (_no_manifest, "cannot be read"),
        (_changed_table, "differs"),
        (_another_manifest, "not the one that is listed"),
    ],
)
def test_what_is_no_whole_mirror_fills_nothing(damage: Any, words: str, tmp_path: Path, settings: Any) -> None:
    cast.two_weeks()
    mirror = _mirror(tmp_path / "mirror", cast.released(settings.RELEASE_DIR))
    _empty_database()
    damage(mirror)
    with pytest.raises(CommandError, match=words):
        call_command("rebuild_from_releases", str(mirror))
    assert not Image.objects.exists()
