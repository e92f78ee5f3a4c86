"""The verifier and what the second revision of the format added: forgeries are found, old releases are still read."""

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudication import release_format as form
from adjudication.verify import verify
from adjudication.verify_reading import NotARelease
from contest.releases import release_week
from labeling.enums import PanelState
from labeling.models import Panel, Report
from labeling.selectors import forget_versions
from tests import factories
from tests.adjudication.test_verify import Forger, with_a_copy
from tests.contest import release_fixtures
from tests.contest.record import cast

pytestmark = pytest.mark.django_db


def two_weeks_published(out: Path) -> Forger:
    contest = cast.two_weeks()
    folders = [release_week(week, out=out, now=cast.NOW).folder for week in (cast.W47, cast.W48)]
    assert [verify(folder).differences for folder in folders] == [[], []]
    return Forger(folders[1], contest)


@pytest.fixture
def forger(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    """Somebody with the release of the second week, and that of the first beside it."""
    return with_a_copy(two_weeks_published, tmp_path_factory)


def _first(forger: Forger) -> Forger:
    forger.folder = forger.folder.with_name("release-2026-W47")
    return forger


def _drop(forger: Forger, name: str) -> None:
    forger.rows(name, lambda rows: rows.pop(0))


FORGERIES: dict[str, tuple[str, Callable[[Forger], None]]] = {
    "an attack of a later week": (
        form.ATTACKS,
        lambda f: f.cell(form.ATTACKS, {}, received_at="2026-11-28T00:00:00.000000Z"),
    ),
    "an attack that names another week": (form.ATTACKS, lambda f: f.cell(form.ATTACKS, {}, week="2026-W49")),
    "an attack given to another team": (
        form.IMAGES,
        lambda f: f.cell(form.IMAGES, {"origin": "attack"}, team=_team(f, "blue")),
    ),
    "an attack left out": (form.IMAGES, lambda f: f.rows(form.ATTACKS, lambda rows: rows.pop(-1))),
    "a team left out": (form.ATTACKS, lambda f: f.rows(form.TEAMS, lambda rows: rows.clear())),
    "a picture without provenance": (form.PROVENANCE, lambda f: _drop(f, form.PROVENANCE)),
    "a panel left out": (form.PANELS, lambda f: _drop(f, form.PANELS)),
    "an award of another week": (
        form.AWARDS,
        lambda f: f.cell(form.AWARDS, {}, awarded_at="2026-11-18T00:00:00.000000Z"),
    ),
    "an award for no defense": (form.AWARDS, lambda f: f.cell(form.AWARDS, {}, defense_id="D-99999")),
    "money that goes nowhere": (form.LEDGER, lambda f: f.cell(form.LEDGER, {}, target="pool")),
    "no money": (form.LEDGER, lambda f: f.cell(form.LEDGER, {}, cents="0")),
    "money of another week": (
        form.LEDGER,
        lambda f: f.cell(form.LEDGER, {}, made_at="2026-11-20T23:59:59.999999Z"),
    ),
    "a correction of what comes later": (
        form.LEDGER,
        lambda f: f.cell(form.LEDGER, {"corrects": ""}, corrects="999999999"),
    ),
    "cents of a fraction": (form.LEDGER, lambda f: f.cell(form.LEDGER, {}, cents="1.5")),
    "a stake that did not change": (
        form.STAKES,
        lambda f: f.cell(form.STAKES, {}, ended_at="2026-11-20T00:00:00.000000Z"),
    ),
    "a stake on nothing": (form.STAKES, lambda f: f.cell(form.STAKES, {}, defense_id="D-99999")),
    "a decision taken back": (form.BATCHES, lambda f: _drop(_first(f), form.DECISIONS)),
    "a proof hidden": (form.UNPROVED, lambda f: _hidden(_first(f))),
}


def _team(forger: Forger, name: str) -> str:
    rows: list[dict[str, str]] = []
    forger.rows(form.TEAMS, rows.extend)
    return next(row["team_id"] for row in rows if row["name"] == name)


def _hidden(forger: Forger) -> None:
    """A break that an answer proves, among those that none does."""
    taken: list[dict[str, str]] = []
    forger.rows(form.BREAKS, lambda rows: taken.append(rows.pop(0)))
    forger.rows(form.UNPROVED, lambda rows: rows.insert(0, taken[0]))


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forgery_is_found_although_the_hashes_fit(what: str, forger: Forger) -> None:
    file, forge = FORGERIES[what]
    forge(forger)
    forger.rehash()
    found = verify(forger.folder, pictures=False).differences
    assert [line for line in found if line.startswith(f"{file}: ")], found


def _made_as_of(folder: Path, revision: int) -> Forger:
    """Make a release one of an earlier revision: without what was added since, and under the first rule book."""
    coco = folder / form.COCO
    coco.write_text(coco.read_text().replace('"version": "2"', '"version": "1"', 1))
    for name in form.FILES - form.files_of(revision):
        (folder / name).unlink()
    forger = Forger(folder, release_fixtures.Contest([]))
    forger.manifest(lambda values: _say_revision(values, revision))
    for name, columns in form.tables_of(revision).items():
        if len(columns) < len(form.TABLES[name]):
            _cut(folder / name, len(columns))
    forger.rehash()
    return forger


def _cut(path: Path, columns: int) -> None:
    rows = list(csv.reader(path.read_text().splitlines(keepends=True)))
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(row[:columns] for row in rows)


def _say_revision(values: dict[str, Any], revision: int) -> None:
    values["revision"], values["rule_book"] = revision, "1"
    for key in ("revision", "policy_from", "policy_reason") if revision == 1 else ():
        del values[key]
    tables = {name.partition(".")[0] for name in [*form.tables_of(revision), form.TASKER_DATA]}
    values["counts"] = {name: number for name, number in values["counts"].items() if name in tables}


@pytest.mark.parametrize("revision", [1, 2, 3])
def test_a_release_of_an_earlier_revision_is_still_read(revision: int, settings: Any) -> None:
    forger = _made_as_of(release_week_of_one(settings.RELEASE_DIR), revision)
    assert verify(forger.folder).differences == []
    forger.cell(form.RULINGS, {"verdict": "valid"}, verdict="rejected", label="", reasons="occluded")
    forger.rehash()
    assert [line for line in verify(forger.folder).differences if line.startswith("rulings.csv")]


@pytest.fixture
def two_sizes() -> release_fixtures.Contest:
    """Since the first day of the week five taskers are asked; the panels of before have three."""
    first = factories.policy_version()
    told = {"numbers": first.numbers | {"panel_size": 5}, "in_force_from": cast.W47.start, "reason": "test"}
    type(first).objects.create(version=2, **told)
    forget_versions()
    return release_fixtures.a_week()


def _kept_out(contest: release_fixtures.Contest, answered: int) -> None:
    """A picture with a panel of five that an organizer kept out after so many had answered."""
    panel = factories.panel(release_fixtures.picture(80), size=5, dealt_at=release_fixtures.MONDAY)
    at = release_fixtures.MONDAY
    given_back = factories.assignment(factories.tasker("reporter"), panel, now=at, state="released")
    told = {"kind": "offensive", "reported_at": at, "decision": "kept_out", "decided_at": at}
    Report.objects.create(assignment=given_back, image=panel.image, tasker=given_back.tasker, **told)
    for tasker in contest.taskers[:answered]:
        factories.response(tasker, panel, now=at, **release_fixtures.EXCLUDED)
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)


def _each_revision(folder: Path, contest: release_fixtures.Contest, tmp_path: Path) -> Iterator[Forger]:
    """Copies of a release, as each revision had written it."""
    for revision in range(1, form.REVISION + 1):
        copy = shutil.copytree(folder, tmp_path / f"revision {revision}" / folder.name)
        yield _made_as_of(copy, revision) if revision < form.REVISION else Forger(copy, contest)


@pytest.mark.parametrize("answered", [2, 3, 4])
def test_a_panel_of_five_is_not_full_with_three(
    answered: int, two_sizes: release_fixtures.Contest, settings: Any, tmp_path: Path
) -> None:
    """Though three were once all there were: nothing that is right is called wrong where the policy grew."""
    _kept_out(two_sizes, answered)
    folder = release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.NOW).folder
    found = {forger.folder: verify(forger.folder).differences for forger in _each_revision(folder, two_sizes, tmp_path)}
    assert list(found.values()) == [[], [], [], []], found


def test_a_ruling_left_out_is_found_whatever_the_size_of_its_panel(
    two_sizes: release_fixtures.Contest, settings: Any, tmp_path: Path
) -> None:
    """Also where the forger says that its picture waits for answers: what waits for them has none published."""
    _kept_out(two_sizes, 3)
    folder = release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.NOW).folder
    image = two_sizes.images["neither_class"].public_id
    for forger in _each_revision(folder, two_sizes, tmp_path):
        forger.rows(form.RULINGS, lambda rows: rows.remove(next(row for row in rows if row["image_id"] == image)))
        forger.manifest(lambda values: values["waiting"].update(answers=1))
        forger.rehash()
        assert f"{form.RULINGS}: row {image}: recorded no ruling, follows a ruling on every image" in "\n".join(
            verify(forger.folder).differences
        ), forger.folder


def test_a_file_that_a_revision_does_not_have_is_found(settings: Any) -> None:
    folder = release_week_of_one(settings.RELEASE_DIR)
    _made_as_of(folder, 1)
    (folder / form.ATTACKS).write_text("number\n")
    assert verify(folder).differences == [
        "manifest.json: attacks.csv: recorded an extra file, follows no such file"
    ]  # fmt: skip


def test_a_newer_revision_asks_for_a_newer_program(settings: Any) -> None:
    folder = release_week_of_one(settings.RELEASE_DIR)
    Forger(folder, release_fixtures.Contest([])).manifest(lambda values: values.update(revision=form.REVISION + 1))
    with pytest.raises(NotARelease, match="take a newer one"):
        verify(folder)


def release_week_of_one(out: Path) -> Path:
    """The release of the first week."""
    release_fixtures.a_week()
    return release_week(cast.W47, out=out, now=cast.NOW).folder


def test_what_is_decided_later_makes_no_errata_of_an_earlier_week(tmp_path: Path) -> None:
    cast.two_weeks()
    first = release_week(cast.W47, out=tmp_path, now=cast.NOW)
    from contest.models import Account, Attack, BoardDecision, LedgerEntry, Stake, Team
    from tests import factories

    late = cast.W48.end
    Stake.objects.filter(end="won").update(ended_at=late)
    Team.objects.filter(name="green").update(merged_at=late)
    team = Team.objects.create(name="violet", created_at=late)
    Attack.objects.create(team=team, image=Attack.objects.earliest("pk").image, received_at=late)
    BoardDecision.objects.create(
        kind="grant", subject={}, reason="new", policy=factories.policy_version(), decided_at=late
    )
    outside, pool = Account.objects.get(kind="outside"), Account.objects.get(kind="pool")
    LedgerEntry.objects.create(source=outside, target=pool, cents=1, rule="R34", why="more", causes={}, made_at=late)
    again = release_week(cast.W47, out=tmp_path, now=cast.NOW)
    assert (again.new, again.release) == (False, first.release)


# Rule books ----------------------------------------------------------------------------------------------------------

WRITTEN_BEFORE = Path(__file__).parent / "rule_book_1"


@pytest.fixture
def first_rule_book(tmp_path: Path) -> list[Path]:
    """Two releases as they were published under the first rule book, byte for byte; a picture of the organizers broke a
    defense there."""
    for archive in sorted(WRITTEN_BEFORE.glob("*.zip")):
        shutil.unpack_archive(archive, tmp_path)
    return [tmp_path / f"release-{week.name}" for week in (cast.W47, cast.W48)]


def test_a_release_of_the_first_rule_book_verifies_as_before(first_rule_book: list[Path]) -> None:
    assert [verify(folder).differences for folder in first_rule_book] == [[], []]
    assert {row["rule_book"] for row in map(_manifest, first_rule_book)} == {"1"}


def test_a_break_left_out_of_the_first_rule_book_is_found(first_rule_book: list[Path]) -> None:
    forger = Forger(first_rule_book[0], release_fixtures.Contest([]))
    forger.rows(form.BREAKS, lambda rows: rows.clear())
    forger.rehash()
    assert [line for line in verify(forger.folder).differences if line.startswith("breaks.csv: ")]


def test_releases_of_both_rule_books_are_one_chain(first_rule_book: list[Path], tmp_path: Path) -> None:
    """A week of the first rule book, and after it one of the second."""
    shutil.rmtree(first_rule_book[1])
    before = _manifest(first_rule_book[0])
    cast.two_weeks()
    release_week(cast.W47, out=tmp_path / "own", now=cast.NOW)
    folder = release_week(cast.W48, out=tmp_path, now=cast.NOW).folder
    sha256 = hashlib.sha256((first_rule_book[0] / form.MANIFEST).read_bytes()).hexdigest()
    forger = Forger(folder, release_fixtures.Contest([]))
    forger.manifest(lambda values: values.update(previous_name=before["name"], previous_sha256=sha256))
    assert (before["rule_book"], _manifest(folder)["rule_book"]) == ("1", "2")
    found = [verify(each) for each in (first_rule_book[0], folder)]
    assert [line for each in found for line in each.differences if "audit.csv" not in line] == []
    assert f"chain: follows {before['name']}" in found[1].figures


BOOKS = {
    "a revision of the second rule book under the first": ({"rule_book": "1"}, "recorded 1, follows 2"),
    "a revision of the first rule book under the second": ({"revision": 3}, "recorded 2, follows 1"),
}


@pytest.mark.parametrize("what", BOOKS)
def test_a_rule_book_that_the_revision_has_not_is_found(what: str, forger: Forger) -> None:
    values, words = BOOKS[what]
    forger.manifest(lambda manifest: manifest.update(values))
    assert [line for line in verify(forger.folder).differences if words in line]


def test_a_rule_book_to_come_asks_for_a_newer_program(forger: Forger) -> None:
    forger.manifest(lambda values: values.update(rule_book="3"))
    with pytest.raises(NotARelease, match="take a newer one"):
        verify(forger.folder)


OUTSIDE: dict[str, tuple[str, Callable[[Forger], None]]] = {
    "a mistake left out": (form.MISTAKES, lambda f: f.rows(form.MISTAKES, lambda rows: rows.clear())),
    "a mistake in another round": (form.MISTAKES, lambda f: f.cell(form.MISTAKES, {}, round="3")),
    "a mistake on another class": (form.MISTAKES, lambda f: f.cell(form.MISTAKES, {}, label="bicycle")),
    "a mistake made a break": (form.BREAKS, lambda f: _made_a_break(f)),
    "a mistake made a break that nothing proves": (form.UNPROVED, lambda f: _made_a_break(f, form.UNPROVED)),
    "a break made a mistake": (form.BREAKS, lambda f: _made_a_mistake(f)),
    "an attack that makes a mistake a break": (form.BREAKS, lambda f: _made_sent(f)),
    "an attack left out to hide a break": (form.BREAKS, lambda f: f.rows(form.ATTACKS, lambda rows: rows.clear())),
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_only_attacks_break(what: str, forger: Forger) -> None:
    file, forge = OUTSIDE[what]
    forge(_first(forger))
    forger.rehash()
    found = verify(forger.folder, pictures=False).differences
    assert [line for line in found if line.startswith(f"{file}: ")], found


def _made_a_break(forger: Forger, file: str = form.BREAKS) -> None:
    taken: list[dict[str, str]] = []
    forger.rows(form.MISTAKES, lambda rows: taken.append(rows.pop(0)))
    (row,) = taken
    said = {"ruling_number": "1", "round": row["round"], "answer": "bicycle", "found_at": row["found_at"]}
    same = {name: row[name] for name in ("defense_id", "image_id")}
    forger.rows(file, lambda rows: rows.append({"break_id": "999", **same, **said}))


def _made_a_mistake(forger: Forger) -> None:
    taken: list[dict[str, str]] = []
    forger.rows(form.BREAKS, lambda rows: taken.append(rows.pop(0)))
    row = {name: taken[0][name] for name in ("defense_id", "image_id", "round", "found_at")}
    made = {"defense_id": row["defense_id"], "image_id": row["image_id"], "round": row["round"], "label": "bird"}
    forger.rows(form.MISTAKES, lambda rows: rows.append(made | {"found_at": row["found_at"]}))


def _made_sent(forger: Forger) -> None:
    """An attack from before the organizers took the picture in."""
    taken: list[dict[str, str]] = []
    forger.rows(form.MISTAKES, lambda rows: taken.extend(rows))
    early = "2026-11-14T00:00:01.000000Z"
    forger.rows(form.ATTACKS, lambda rows: rows[0].update(image_id=taken[0]["image_id"], received_at=early))


def _manifest(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / form.MANIFEST).read_text())
    return values
