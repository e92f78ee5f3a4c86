"""From the releases alone an empty database is filled whose public pages and releases are equal (R39)."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import unified_diff
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone

from adjudication.mirror import LIST
from adjudication.schema import release_format as form
from adjudication.verify import verify
from common.errors import Conflict
from contest.attacks import attack_states
from contest.board import motions
from contest.board.cases import count_of, vote_cast
from contest.board.decisions import case_decide
from contest.board.models import CaseDecision
from contest.core.breaks import breaks_in_force, mistakes_outside, recorded_mistakes
from contest.core.enums import AccountKind, VoteChoice
from contest.core.models import Attack, BoardDecision, Break, Case, Release, Team
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import pool_deposit
from contest.prizes.models import Examination
from contest.record.rebuild import services
from contest.record.timeline.attack import attack_timeline
from contest.releases.folders import copy_folder, same_folder
from contest.releases.selectors import published_releases, unreleased_weeks
from contest.releases.services import ReleaseResult, release_week
from contest.teams.models import Entitlement
from labeling.models import Image, Response
from policy.calendar import week_named
from policy.selectors import policy_in_force
from scoring.enums import DefenseAnswer
from scoring.models import Defense
from scoring.rerun_scope import Scope
from scoring.reruns import rerun_start
from scoring.services import runs_plan
from tests import factories
from tests.adjudication.test_verify import table
from tests.contest import release_fixtures as fixtures
from tests.contest.board import cast as board
from tests.contest.pages import lacking
from tests.contest.record import cast
from tests.contest.record.cast import difference as _difference
from tests.contest.record.cast import empty_database as _empty_database
from tests.contest.record.cast import mirror_of as _mirror
from tests.contest.record.cast import shown as _shown
from tests.refusals import refused
from tests.worlds import _world

# Other modules go another way to an empty database with these.
__all__ = ["_difference", "_empty_database", "_mirror"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sites are looked at in the same moment."""
    monkeypatch.setattr(timezone, "now", lambda: cast.NOW)


def _addresses() -> list[str]:
    names = [each.name for each in published_releases()]
    defenses = sorted(Defense.objects.values_list("public_id", flat=True))
    images = Image.objects.exclude(rulings=None).order_by("public_id").values_list("public_id", flat=True).distinct()
    teams = Team.objects.filter(name__in=("=red", "blue", "waits")).order_by("public_id")
    return [
        "/releases/", "/feeds/releases.atom", "/feeds/releases.json", "/api/v1/releases/",
        *(f"/releases/{name}/" for name in names), *(f"/releases/{name}.zip" for name in names),
        *(f"/releases/{name}/{file}" for name in names
          for file in ("manifest.json", "responses.csv", "responses.parquet")),
        "/weeks/2026-W47/", "/weeks/2026-W48/", "/defenses/", "/leaderboard/", "/api/v1/leaderboard/",
        *(f"/leaderboard/?week={week}" for week in ("2026-W47", "2026-W48")),
        *(f"/defenses/{each}/{kind}" for each in defenses
          for kind in ("", "?show=mistakes", "?show=abstained", "?show=faults")),
        *(f"/defenses/{each}/risk-coverage.csv" for each in defenses),
        "/overrules/", "/overrules/?outcome=all", "/overrules.csv", "/feeds/overrules.atom", "/feeds/overrules.json",
        *(f"/record/{each}/" for each in images), *(f"/api/v1/images/{each}/" for each in images),
        *(f"/teams/{each.public_id}/" for each in teams),
    ]  # fmt: skip


def _grants() -> list[tuple[Any, ...]]:
    told = ("team__public_id", "kind", "state", "decided_at", "decision")
    return list(Entitlement.objects.order_by("team__public_id").values_list(*told))


def _grant_and_revoke() -> None:
    """A grant that was taken back, beside that of red."""
    ada, ben = (User.objects.get(username=f"member {number}") for number in range(2))
    waits, later = Team.objects.get(name="waits"), cast.LATER + timedelta(hours=4)
    _carried(cast.grant(waits, ada), ben, cast.LATER)
    why = "They left the lab and asked for it themselves."
    _carried(motions.revoke_move(Entitlement.objects.get(team=waits), reason=why, by=ada, now=later), ben, later)


def _carried(motion: Case, member: User, now: datetime) -> None:
    board.tell(motion, member, now)
    vote_cast(case=motion, by=member, choice=VoteChoice.IN_FAVOUR, now=now)
    case_decide(case=motion, seen=count_of(motion).mark, explanation="", by=member, now=now)


@dataclass(frozen=True)
class Past:
    """What is left of a site whose database is gone: what everybody saw, its releases, and a stranger's mirror."""

    shown: dict[str, tuple[int, bytes]]
    grants: list[tuple[Any, ...]]
    made: list[ReleaseResult]
    mirror: Path


@pytest.fixture(scope="module")
def past(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Past:
    """Made once and rolled back: nothing here changes it, or it changes a copy."""
    folder = tmp_path_factory.mktemp("past")
    with _world(django_db_blocker, folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: cast.NOW)
        cast.two_weeks_of_the_board()
        _grant_and_revoke()
        made = cast.released(folder / "releases")
        told = {address: _shown(address) for address in _addresses()}
        return Past(told, _grants(), made, _mirror(folder / "mirror", made))


@pytest.fixture
def elsewhere(past: Past, tmp_path: Path, settings: Any) -> Past:
    """An empty database on another machine, as after `migrate`."""
    factories.policy_version()
    cache.clear()
    cast.elsewhere(settings, tmp_path)
    return past


@pytest.mark.slow("each public page and every release of a filled database")
@pytest.mark.both("new rows are numbered behind those of the releases, and a snapshot is read from")
def test_everything_is_as_it_was(elsewhere: Past, settings: Any, tmp_path: Path) -> None:
    call_command("rebuild_from_releases", str(elsewhere.mirror), verbosity=0)
    assert list(elsewhere.shown) == _addresses()
    assert {address: lines for address, told in elsewhere.shown.items() if (lines := _changed(told, address))} == {}
    for week in (cast.W47, cast.W48):
        again = release_week(week, out=tmp_path / "again", now=cast.NOW)
        assert not again.new, _difference(again.folder, settings.RELEASE_DIR)
        assert verify(again.folder, previous=None).differences == []
    assert (Release.objects.count(), LedgerEntry.objects.count()) == (3, 8)
    balances = {str(each.kind): each.balance_cents for each in Account.objects.exclude(balance_cents=0)}
    assert balances == {"outside": -500_001, "pool": 1, "attackers": 50_000, "stake": 100_000, "team": 250_000}

    # The board decided the same.
    assert _grants() == elsewhere.grants and len(elsewhere.grants) == 2
    assert (CaseDecision.objects.count(), Examination.objects.count()) == (9, 2)
    carried = BoardDecision.objects.exclude(case=None).values_list("case__decision__outcome", flat=True)
    assert list(carried) == ["carried"] * 3

    # New rows get numbers of their own.
    assert factories.image().pk == max(Image.objects.values_list("pk", flat=True))
    new = factories.response(factories.tasker("new"), factories.panel())
    assert new.pk == max(Response.objects.values_list("pk", flat=True))


def _changed(told: tuple[int, bytes], address: str) -> list[str]:
    """The lines in which a page differs now."""
    now = _shown(address)
    if now == told:
        return []
    lines = (text.decode("utf-8", "replace").splitlines() for text in (told[1], now[1]))
    return list(unified_diff(*lines, lineterm="", n=0)) or [f"status {now[0]}"]


def test_the_pages_compared_say_something(past: Past) -> None:
    assert {told[0] for told in past.shown.values()} == {200}
    page = past.shown["/defenses/D-00002/"][1].decode()
    assert lacking(page, "Pictures that broke it</dt><dd>1<", "crashed") == []
    assert (page.count("<figure>"), past.shown["/weeks/2026-W47/"][1].count(b"<figure>")) == (5, 12)
    assert cast.DISSENT.encode() in past.shown["/overrules/"][1]


def test_a_full_database_is_left_alone(past: Past) -> None:
    factories.image()
    with pytest.raises(CommandError, match="already"):
        call_command("rebuild_from_releases", str(past.mirror))
    assert Image.objects.count() == 1


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
    out = io.StringIO()
    call_command("rebuild_from_releases", str(elsewhere.mirror), stdout=out)
    said = out.getvalue()
    assert lacking(said, "3 releases of 2 weeks are here.", words) == [], why
    assert ("which is still to come here" in said) == bool(words), why
    for page in ("/", "/leaderboard/", "/overrules/", "/money/", "/defenses/D-00002/"):
        assert Client().get(page).status_code == 200, page


def _relist(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[Path], None]:
    def changed(mirror: Path) -> None:
        listed = json.loads((mirror / LIST).read_text())
        change(listed["releases"])
        (mirror / LIST).write_text(json.dumps(listed))

    return changed


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no list": (lambda mirror: (mirror / LIST).unlink(), "release_mirror"),
    "no manifest": (lambda mirror: (mirror / "release-2026-W48" / "manifest.json").unlink(), "cannot be read"),
    "a changed table": (lambda mirror: (mirror / "release-2026-W48" / "attacks.csv").write_text("x"), "differs"),
    "another manifest": (
        _relist(lambda rows: rows[-1].update(manifest_sha256="0" * 64)), "recorded manifest 0000",
    ),
    "the release between cut out, and the list mended": (
        _relist(cast.cut_out), "recorded previous [0-9a-f]+, follows",
    ),
    "the first one left out": (_relist(cast.without_the_first), "recorded previous nothing, follows"),
    "no chain": (_relist(lambda rows: rows.pop(1)), "no chain"),
    "another week": (_relist(lambda rows: rows[1].update(week="2026-W49")), "recorded week 2026-W49, follows 2026-W48"),
    "no zip": (lambda mirror: (mirror / "release-2026-W48.zip").unlink(), "zip is not there"),
    "no name": (_relist(lambda rows: rows[1].update(name="../release-2026-W48")), "release_mirror"),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES)
def test_what_is_no_whole_mirror_fills_nothing(
    damage: Callable[[Path], object], words: str, elsewhere: Past, tmp_path: Path
) -> None:
    mirror = shutil.copytree(elsewhere.mirror, tmp_path / "mirror")
    damage(mirror)
    with pytest.raises(CommandError, match=words):
        call_command("rebuild_from_releases", str(mirror))
    assert not Image.objects.exists()


# Ended early ---------------------------------------------------------------------------------------------------------


def _all_is_there(made: list[Any], out: Path) -> None:
    assert Release.objects.count() == len(made) and Image.objects.exists() and not (out / ".release.partial").exists()
    for each in made:
        assert same_folder(each.folder, out / each.folder.name)
        assert (out / each.archive.name).read_bytes() == each.archive.read_bytes()


def test_a_full_disk_is_survived(elsewhere: Past, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first release was copied when the second had no room: nothing is in the tables, and once more is enough."""
    copied = services.release_copy

    def full(released: Any, out: Path) -> None:
        if released.release.week == "2026-W48":
            raise OSError(28, "No space left on device")
        copied(released, out)

    with monkeypatch.context() as small, pytest.raises(OSError, match="No space left"):
        small.setattr(services, "release_copy", full)
        services.rebuild(elsewhere.mirror)
    assert not Release.objects.exists() and not Image.objects.exists()
    assert (settings.RELEASE_DIR / "release-2026-W47").is_dir()
    services.rebuild(elsewhere.mirror)
    _all_is_there(elsewhere.made, settings.RELEASE_DIR)


def test_what_a_killed_process_left_is_in_nobodys_way(elsewhere: Past, settings: Any) -> None:
    """Killed while it copied: a release in its place, half of the next one beside it, and a zip that is cut off."""
    made, out = elsewhere.made, settings.RELEASE_DIR
    out.mkdir()
    for each in made[:2]:
        copy_folder(each.folder, out / each.folder.name)
    (out / made[1].folder.name / "ledger.csv").unlink()
    (out / ".release.partial" / "release-2026-W47-errata-1").mkdir(parents=True)
    (out / made[1].archive.name).write_bytes(made[1].archive.read_bytes()[:100])
    services.rebuild(elsewhere.mirror)
    _all_is_there(made, out)


# Money before the first pictures -------------------------------------------------------------------------------------


def _balances() -> dict[str, int]:
    rows = Account.objects.exclude(balance_cents=0).values_list("kind", "team__public_id", "stake", "balance_cents")
    return {f"{kind} {team or ''}{stake or ''}": cents for kind, team, stake, cents in rows}


@pytest.mark.slow("releases two weeks, and fills a database from them")
def test_money_of_weeks_without_pictures_is_published_and_rebuilt(tmp_path: Path, settings: Any) -> None:
    beginning, olga = transaction.savepoint(), factories.user("olga", "organizers")
    pool_deposit(cents=10_000, reason="a sponsor", by=olga, now=cast.W47.start - timedelta(days=20))
    fixtures.a_week()
    paid = Account.objects.create(kind=AccountKind.TEAM, team=Team.objects.get(name="=red"))
    told = {"target": paid, "cents": 1_000, "rule": "R34", "why": "a share", "causes": {}, "made_at": fixtures.MONDAY}
    LedgerEntry.objects.create(source=Account.objects.get(kind=AccountKind.OUTSIDE), **told)
    made = [release_week(week, out=settings.RELEASE_DIR, now=cast.NOW) for week in unreleased_weeks(cast.NOW)]
    assert [each.release.week for each in made] == ["2026-W44", "2026-W47"] and made[0].release.counts["images"] == 0
    ledger = {int(row["number"]): int(row["cents"]) for each in made for row in table(each.folder, form.LEDGER)}
    assert ledger == dict(LedgerEntry.objects.values_list("pk", "cents"))
    for address in ("/releases/release-2026-W44/", "/weeks/2026-W44/", "/releases/"):
        assert Client().get(address).status_code == 200
    mirror, before = _mirror(tmp_path / "mirror", made), _balances()
    transaction.savepoint_rollback(beginning)
    factories.policy_version()
    cast.elsewhere(settings, tmp_path)
    services.rebuild(mirror)
    assert (_balances(), list(unreleased_weeks(cast.NOW))) == (before, [])
    again = release_week(week_named("2026-W44", "UTC"), out=tmp_path / "again", now=cast.NOW)
    assert not again.new and same_folder(again.folder, mirror / "release-2026-W44")


# A copy runs no defense ----------------------------------------------------------------------------------------------


def test_what_a_later_defense_did_not_answer_is_said_to_be_missing(elsewhere: Past, tmp_path: Path) -> None:
    """A defense was published after the first week's last part: the copy has no answers of it, and asks for none."""
    call_command("rebuild_from_releases", str(elsewhere.mirror), verbosity=0)
    fixtures.defense(3, published_at=cast.LATER, copied=True)
    assert runs_plan(policy=policy_in_force(cast.NOW).policy, now=cast.NOW, rng=Random(1)) == 0
    refusal = refused("a_copy", release_week, cast.W47, out=tmp_path / "again", now=cast.NOW)
    assert "filled from releases and runs no defense" in str(refusal)
    attack = Attack.objects.get(image__received_at=cast.LATER, withdrawn_at=None)
    (state,) = attack_states.attack_statuses([attack], unrestricted=True, now=cast.NOW).values()
    assert state.state is attack_states.AttackState.NOT_HERE
    words = " ".join(each.words for each in attack_timeline(attack, own=False, organizer=True, now=cast.NOW))
    assert ("runs no defense" in words, "Being scored" in words) == (True, False)
    asked = {"scope": Scope("All."), "reason": "A test.", "by": factories.user("o"), "now": cast.NOW}
    with pytest.raises(Conflict, match="its program is not here"):
        rerun_start(defense=Defense.objects.latest("pk"), **asked)


# A contest that went on from rule book 1 to rule book 2 (R29) --------------------------------------------------------


W49 = week_named("2026-W49", "UTC")
LATER = W49.end.replace(hour=9)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A stranger's copy of two releases of the first rule book."""
    folder, rows = tmp_path / "mirror", []
    for archive in sorted(cast.WRITTEN_BEFORE.glob("*.zip")):
        shutil.unpack_archive(archive, folder)
        shutil.copy(archive, folder)
        text = (folder / archive.stem / form.MANIFEST).read_bytes()
        told = {"bytes": archive.stat().st_size, "released_at": "2026-12-02T08:00:00Z"}
        rows.append(json.loads(text) | told | {"manifest_sha256": hashlib.sha256(text).hexdigest()})
    (folder / LIST).write_text(json.dumps({"releases": rows}))
    return folder


def _a_week_more() -> None:
    """The organizers took in a bird in the third week; one defense takes it for a bicycle."""
    image = fixtures.picture(90, received_at=W49.start, label_from=W49.start)
    contest = fixtures.Contest([factories.tasker(f"new {number}") for number in range(3)])
    fixtures.labeled(contest, "new", image, fixtures.CASES["valid bird"], W49.start)
    made, (cautious, wrong) = fixtures.ruled(contest.panels["new"]), Defense.objects.order_by("public_id")
    fixtures.scored(cautious, image, [DefenseAnswer.ABSTAIN] * 3)
    proof = fixtures.scored(wrong, image, [DefenseAnswer.BICYCLE] * 3)[0]
    found = {"prediction": proof, "found_at": proof.predicted_at}
    Break.objects.create(defense=wrong, image=image, ruling=made, **found)


@pytest.mark.slow("releases two weeks, and fills two databases")
def test_a_record_of_both_rule_books_is_one(mirror: Path, settings: Any, tmp_path: Path) -> None:
    factories.policy_version()
    rebuilt, beginning = cast.elsewhere(settings, tmp_path / "second"), transaction.savepoint()
    call_command("rebuild_from_releases", str(mirror), verbosity=0)

    # What broke under the first rule book is recorded still, and what came of the organizers' pictures breaks nothing.
    first = rebuilt / "release-2026-W47"
    before = table(first, form.BREAKS) + table(first, form.UNPROVED)
    assert {row["break_id"] for row in before} <= {str(pk) for pk in recorded_mistakes().values_list("pk", flat=True)}
    sent = {each.image.public_id for each in breaks_in_force().select_related("image")}
    outside = {each.image.public_id for each in mistakes_outside().select_related("image")}
    attacked = {row["image_id"] for row in table(first, form.IMAGES) if row["origin"] == "attack"}
    broken = {row["image_id"] for row in before}
    assert (sent & broken, outside) == (broken & attacked, broken - attacked) and broken - attacked

    # A week of the second rule book follows in the chain, and errata of an old week are of the second, too.
    _a_week_more()
    new, errata = (release_week(week, out=rebuilt, now=LATER) for week in (W49, cast.W47))
    names = ["release-2026-W47", "release-2026-W48", new.folder.name, errata.folder.name]
    books = [json.loads((rebuilt / name / form.MANIFEST).read_text())["rule_book"] for name in names]
    assert books == ["1", "1", "2", "2"]
    assert {name: verify(rebuilt / name).differences for name in names} == {name: [] for name in names}
    assert "chain: follows release-2026-W48" in verify(new.folder).figures
    assert (len(table(new.folder, form.BREAKS)), len(table(new.folder, form.MISTAKES))) == (0, 1)
    kept = table(errata.folder, form.BREAKS) + table(errata.folder, form.UNPROVED)
    assert {row["image_id"] for row in kept} == broken & attacked
    proved = {row["image_id"] for row in table(first, form.BREAKS)} - attacked
    assert {row["image_id"] for row in table(errata.folder, form.MISTAKES)} == proved

    # From a mirror of all of it another database is filled, which releases the same bytes again.
    mirror = _mirror(tmp_path / "whole", [])
    for name in names:
        shutil.copytree(rebuilt / name, mirror / name)
        shutil.copy(rebuilt / f"{name}.zip", mirror)
    transaction.savepoint_rollback(beginning)
    cache.clear()
    cast.elsewhere(settings, tmp_path / "third")
    call_command("rebuild_from_releases", str(mirror), verbosity=0)
    assert [each.name for each in Release.objects.order_by("pk")] == names
    assert {each.image.public_id for each in mistakes_outside().select_related("image")} > proved
    again = [release_week(week, out=tmp_path / "again", now=LATER).new for week in (cast.W47, W49)]
    assert again == [False, False]
