"""From the releases alone an empty database is filled whose public pages and releases are equal (R39)."""

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from django.utils import timezone

from adjudication.mirror import LIST, main
from adjudication.verify import verify
from common.errors import Conflict
from contest.attacks import life
from contest.enums import AccountKind
from contest.exports.folders import copy_folder, same_folder
from contest.models import Account, Attack, LedgerEntry, Release
from contest.money.deposits import pool_deposit
from contest.publishing import unreleased_weeks
from contest.record.rebuild import services
from contest.record.selectors import as_listed, releases
from contest.releases import Released, release_week
from contest.rules import week_named
from labeling.models import Image, Response
from labeling.pictures import pixels_of
from labeling.selectors import forget_versions, policy_in_force
from scoring.models import Defense
from scoring.rerun_scope import Scope
from scoring.reruns import rerun_start
from scoring.services import runs_plan
from tests import factories
from tests.contest import release_fixtures as fixtures
from tests.contest.record import cast

pytestmark = pytest.mark.django_db(transaction=True)
_TOKEN = re.compile(r"/pictures/([^\"]+)\.png")


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sites are looked at in the same moment."""
    monkeypatch.setattr(timezone, "now", lambda: cast.NOW)


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
    page = page.replace(">not in this copy<", ">not here<")  # the one word by which a copy says that it is one
    return answer.status_code, _TOKEN.sub(lambda found: str(pixels_of(found[1], now=cast.NOW)), page).encode()


def _empty_database() -> None:
    """As after `migrate`, with the picture store and the release folder of another machine."""
    call_command("flush", verbosity=0, interactive=False)
    factories.policy_version()
    cache.clear()


@dataclass(frozen=True)
class Past:
    """What is left of a site whose database is gone: what everybody saw, its releases, and a stranger's mirror."""

    shown: dict[str, tuple[int, bytes]]
    made: list[Released]
    mirror: Path


@pytest.fixture(scope="module")
def past(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Past:
    """Made once: nothing here changes it, or it changes a copy."""
    folder = tmp_path_factory.mktemp("past")
    places = {"RELEASE_DIR": folder / "releases", "IMAGE_STORE_URL": f"file://{folder / 'pictures'}"}
    with django_db_blocker.unblock(), override_settings(**places), pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: cast.NOW)
        forget_versions()
        cache.clear()
        cast.two_weeks()
        made = cast.released(places["RELEASE_DIR"])
        found = Past({address: _shown(address) for address in _addresses()}, made, _mirror(folder / "mirror", made))
        call_command("flush", verbosity=0, interactive=False)
    return found


@pytest.fixture
def elsewhere(past: Past, tmp_path: Path, settings: Any) -> Past:
    """An empty database on another machine, as after `migrate`."""
    factories.policy_version()
    cache.clear()
    settings.RELEASE_DIR = tmp_path / "elsewhere"
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'other pictures'}"
    return past


def test_everything_is_as_it_was(elsewhere: Past, settings: Any, tmp_path: Path) -> None:
    call_command("rebuild_from_releases", str(elsewhere.mirror), verbosity=0)
    _every_public_page_is_equal(elsewhere.shown)
    _the_same_bytes_are_released(settings.RELEASE_DIR, tmp_path / "again")
    _money_is_where_it_was()
    _new_rows_get_numbers_of_their_own()


def _every_public_page_is_equal(before: dict[str, tuple[int, bytes]]) -> None:
    assert list(before) == _addresses()
    for address, shown in before.items():
        assert shown[0] == 200, address
        assert _shown(address) == shown, address


def _the_same_bytes_are_released(rebuilt: Path, out: Path) -> None:
    for week in (cast.W47, cast.W48):
        again = release_week(week, out=out, now=cast.NOW)
        assert not again.new, f"{week.name}: {_difference(again.folder, rebuilt)}"
        assert verify(again.folder, previous=None).differences == []
    assert Release.objects.count() == 3


def _money_is_where_it_was() -> None:
    balances = {str(each.kind): each.balance_cents for each in Account.objects.exclude(balance_cents=0)}
    assert balances == {"outside": -500, "pool": 200, "stake": 100, "team": 200}
    assert LedgerEntry.objects.count() == 3


def _new_rows_get_numbers_of_their_own() -> None:
    before = set(Image.objects.values_list("pk", flat=True))
    assert factories.image().pk not in before
    panel = factories.panel()
    assert factories.response(factories.tasker("new"), panel).pk == max(Response.objects.values_list("pk", flat=True))


def test_the_pages_compared_say_something(past: Past) -> None:
    page = past.shown["/defenses/D-00002/"][1].decode()
    assert "Pictures that broke it</dt><dd>2<" in page
    assert "crashed" in page
    assert page.count("<figure>") == 4
    assert past.shown["/weeks/2026-W47/"][1].count(b"<figure>") == 12


def _difference(folder: Path, out: Path) -> list[str]:
    other = (
        out
        / sorted(each.name for each in out.iterdir() if each.name.startswith(folder.name[:16]) and each.is_dir())[-1]
    )
    return [path.name for path in sorted(folder.glob("*.*")) if path.read_bytes() != (other / path.name).read_bytes()]


def test_a_full_database_is_left_alone(past: Past) -> None:
    factories.image()
    with pytest.raises(CommandError, match="already"):
        call_command("rebuild_from_releases", str(past.mirror))
    assert Image.objects.count() == 1


def _rebuilt(past: Past) -> str:
    said = io.StringIO()
    call_command("rebuild_from_releases", str(past.mirror), stdout=said)
    return said.getvalue()


LAST = cast.NOW - timedelta(hours=2)  # when the newest release was published
CLOCKS: list[tuple[datetime, bool, str, str]] = [
    (LAST, False, "", "nothing is to come"),
    (LAST - timedelta(seconds=1), False, "Read it after that time", "a contest has no clock that can be moved"),
    (LAST - timedelta(seconds=1), True, "./unanimous demo_clock +1d.", "a day is the least"),
    (LAST - timedelta(days=101), True, "by 101 days: ./unanimous demo_clock +100d, and the rest after.", "two moves"),
]


@pytest.mark.parametrize(("now", "demo", "words", "why"), CLOCKS, ids=[row[3] for row in CLOCKS])
def test_a_clock_behind_the_releases_is_warned_of(
    now: datetime, demo: bool, words: str, why: str, elsewhere: Past, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DEMO = demo
    monkeypatch.setattr(timezone, "now", lambda: now)
    said = _rebuilt(elsewhere)
    assert "3 releases of 2 weeks are here." in said
    assert ("which is still to come here" in said, words in said) == (bool(words), True), why
    defenses = [f"/defenses/{each.public_id}/" for each in Defense.objects.exclude(published_at=None)]
    for page in ("/", "/leaderboard/", "/overrules/", "/money/", *defenses):
        assert Client().get(page).status_code == 200, page


def _unlist(mirror: Path) -> None:
    (mirror / LIST).unlink()


def _no_manifest(mirror: Path) -> None:
    (mirror / "release-2026-W48" / "manifest.json").unlink()


def _changed_table(mirror: Path) -> None:
    (mirror / "release-2026-W48" / "attacks.csv").write_text("x")


def _relist(mirror: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    listed = json.loads((mirror / LIST).read_text())
    change(listed["releases"])
    (mirror / LIST).write_text(json.dumps(listed))


def _another_manifest(mirror: Path) -> None:
    _relist(mirror, lambda rows: rows[-1].update(manifest_sha256="0" * 64))


def _cut_out(mirror: Path) -> None:
    """The release between the others, and the list made to fit."""

    def change(rows: list[dict[str, Any]]) -> None:
        del rows[1]
        rows[1]["previous_sha256"] = rows[0]["manifest_sha256"]

    _relist(mirror, change)


def _without_the_first(mirror: Path) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        del rows[0]
        rows[0]["previous_sha256"] = ""

    _relist(mirror, change)


def _no_chain(mirror: Path) -> None:
    _relist(mirror, lambda rows: rows.pop(1))


def _another_week(mirror: Path) -> None:
    _relist(mirror, lambda rows: rows[1].update(week="2026-W49"))


def _no_zip(mirror: Path) -> None:
    (mirror / "release-2026-W48.zip").unlink()


def _no_name(mirror: Path) -> None:
    _relist(mirror, lambda rows: rows[1].update(name="../release-2026-W48"))


DAMAGES = [
    (_unlist, "release_mirror"),
    (_no_manifest, "cannot be read"),
    (_changed_table, "differs"),
    (_another_manifest, "recorded manifest 0000"),
    (_cut_out, "recorded previous [0-9a-f]+, follows"),
    (_without_the_first, "recorded previous nothing, follows"),
    (_no_chain, "no chain"),
    (_another_week, "recorded week 2026-W49, follows 2026-W48"),
    (_no_zip, "zip is not there"),
    (_no_name, "release_mirror"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGES)
def test_what_is_no_whole_mirror_fills_nothing(damage: Any, words: str, elsewhere: Past, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    shutil.copytree(elsewhere.mirror, mirror)
    damage(mirror)
    with pytest.raises(CommandError, match=words):
        call_command("rebuild_from_releases", str(mirror))
    assert not Image.objects.exists()


# Ended early ---------------------------------------------------------------------------------------------------------


def _all_is_there(made: list[Any], out: Path) -> None:
    assert Release.objects.count() == len(made) and Image.objects.exists()
    for each in made:
        assert same_folder(each.folder, out / each.folder.name)
        assert (out / each.archive.name).read_bytes() == each.archive.read_bytes()
    assert not (out / ".release.partial").exists()


def test_a_full_disk_is_survived(elsewhere: Past, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first release was copied when the second had no room: nothing is in the tables, and once more is enough."""
    copied = services.release_copy

    def full(released: Any, out: Path) -> None:
        if released.release.week == "2026-W48":
            raise OSError(28, "No space left on device")
        copied(released, out)

    monkeypatch.setattr(services, "release_copy", full)
    with pytest.raises(OSError, match="No space left"):
        services.rebuild(elsewhere.mirror)
    assert not Release.objects.exists() and not Image.objects.exists()
    assert (settings.RELEASE_DIR / "release-2026-W47").is_dir()
    monkeypatch.undo()
    monkeypatch.setattr(timezone, "now", lambda: cast.NOW)
    services.rebuild(elsewhere.mirror)
    _all_is_there(elsewhere.made, settings.RELEASE_DIR)


def test_what_a_killed_process_left_is_in_nobodys_way(elsewhere: Past, settings: Any) -> None:
    """Killed while it copied: a release in its place, half of the next one beside it, and a zip that is cut off."""
    made, out = elsewhere.made, settings.RELEASE_DIR
    out.mkdir()
    copy_folder(made[0].folder, out / made[0].folder.name)
    copy_folder(made[1].folder, out / made[1].folder.name)
    (out / made[1].folder.name / "ledger.csv").unlink()
    (out / ".release.partial" / "release-2026-W47-errata-1").mkdir(parents=True)
    (out / made[1].archive.name).write_bytes(made[1].archive.read_bytes()[:100])
    services.rebuild(elsewhere.mirror)
    _all_is_there(made, out)


# Money before the first pictures -------------------------------------------------------------------------------------


def _balances() -> dict[str, int]:
    rows = Account.objects.exclude(balance_cents=0).values_list("kind", "team__public_id", "stake", "balance_cents")
    return {f"{kind} {team or ''}{stake or ''}": cents for kind, team, stake, cents in rows}


def _ledger(folders: list[Path]) -> dict[int, int]:
    """Number -> cents over all releases."""
    tables = [csv.DictReader((folder / "ledger.csv").read_text().splitlines()) for folder in folders]
    return {int(row["number"]): int(row["cents"]) for rows in tables for row in rows}


def test_money_of_weeks_without_pictures_is_published_and_rebuilt(
    tmp_path: Path, settings: Any, live_server: Any, capsys: Any
) -> None:
    olga = factories.user("olga", "organizers")
    pool_deposit(cents=10_000, reason="a sponsor", by=olga, now=cast.W47.start - timedelta(days=20))
    cast.two_weeks()
    paid = Account.objects.get(kind=AccountKind.TEAM)
    LedgerEntry.objects.create(
        source=Account.objects.get(kind=AccountKind.ATTACKERS), target=paid, cents=1_000, rule="R35", why="a share",
        causes={}, made_at=cast.LATER,
    )  # fmt: skip
    made = [release_week(week, out=settings.RELEASE_DIR, now=cast.NOW) for week in unreleased_weeks(cast.NOW)]
    assert [each.release.week for each in made] == ["2026-W44", "2026-W47", "2026-W48"]
    assert made[0].release.counts["images"] == 0
    assert _ledger([each.folder for each in made]) == dict(LedgerEntry.objects.values_list("pk", "cents"))

    mirror = tmp_path / "mirror"
    assert main([live_server.url, str(mirror), "--quiet"]) == 0, capsys.readouterr().out
    for address in ("/releases/release-2026-W44/", "/weeks/2026-W44/", "/releases/"):
        assert Client().get(address).status_code == 200
    before = _balances()
    _empty_database()
    settings.RELEASE_DIR = tmp_path / "elsewhere"
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'other pictures'}"
    services.rebuild(mirror)
    assert _balances() == before
    assert list(unreleased_weeks(cast.NOW)) == []
    again = release_week(week_named("2026-W44", "UTC"), out=tmp_path / "again", now=cast.NOW)
    assert not again.new and same_folder(again.folder, mirror / "release-2026-W44")


# A copy runs no defense ----------------------------------------------------------------------------------------------


def test_what_a_later_defense_did_not_answer_is_said_to_be_missing(elsewhere: Past, tmp_path: Path) -> None:
    """A defense was published after the first week's last part: the copy has no answers of it, and asks for none."""
    call_command("rebuild_from_releases", str(elsewhere.mirror), verbosity=0)
    fixtures.defense(3, published_at=cast.LATER, copied=True)
    policy = policy_in_force(cast.NOW).policy
    assert runs_plan(policy=policy, now=cast.NOW, rng=Random(1)) == 0
    with pytest.raises(Conflict, match="filled from releases and runs no defense") as refused:
        release_week(cast.W47, out=tmp_path / "again", now=cast.NOW)
    assert refused.value.code == "a_copy"
    attack = Attack.objects.get(image__received_at=cast.LATER, withdrawn_at=None)
    (state,) = life.standings([attack], all_told=True, now=cast.NOW).values()
    assert state.state is life.AttackState.NOT_HERE
    words = " ".join(each.words for each in life.story(attack, all_told=True, now=cast.NOW))
    assert ("runs no defense" in words, "Being scored" in words) == (True, False)
    asked = {"scope": Scope("All."), "reason": "A test.", "by": factories.user("o"), "now": cast.NOW}
    with pytest.raises(Conflict, match="its program is not here"):
        rerun_start(defense=Defense.objects.latest("pk"), **asked)
