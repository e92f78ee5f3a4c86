"""The verifier and what the second revision of the format added: forgeries are found, old releases are still read."""

from collections.abc import Callable
from typing import Any

import pytest

from adjudication import release_format as form
from adjudication.verify import verify
from contest.models import Account, Attack, BoardDecision, LedgerEntry, Stake, Team
from contest.releases import Released, release_week
from tests import factories
from tests.adjudication.test_verify import Forger
from tests.contest import release_fixtures
from tests.contest.record import cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def forger(parts: list[Released]) -> Forger:
    """Somebody with the release of the second week, and that of the first beside it."""
    return Forger(parts[1].folder, release_fixtures.Contest([]))


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


# Rule books ----------------------------------------------------------------------------------------------------------


def test_what_is_decided_later_makes_no_errata_of_an_earlier_week(parts: list[Released], settings: Any) -> None:
    late = cast.W48.end
    Stake.objects.filter(end="won").update(ended_at=late)
    Team.objects.filter(name="green").update(merged_at=late)
    team = Team.objects.create(name="violet", created_at=late)
    Attack.objects.create(team=team, image=Attack.objects.earliest("pk").image, received_at=late)
    decided = {"kind": "grant", "subject": {}, "reason": "new", "policy": factories.policy_version()}
    BoardDecision.objects.create(decided_at=late, **decided)
    outside, pool = Account.objects.get(kind="outside"), Account.objects.get(kind="pool")
    LedgerEntry.objects.create(source=outside, target=pool, cents=1, rule="R34", why="more", causes={}, made_at=late)
    again = release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.NOW)
    assert (again.new, again.release) == (False, parts[2].release)


BOOKS = {
    "a revision of the second rule book under the first": ({"rule_book": "1"}, "recorded 1, follows 2"),
    "a revision of the first rule book under the second": ({"revision": 3}, "recorded 2, follows 1"),
}


@pytest.mark.parametrize("what", BOOKS)
def test_a_rule_book_that_the_revision_has_not_is_found(what: str, forger: Forger) -> None:
    values, words = BOOKS[what]
    forger.manifest(lambda manifest: manifest.update(values))
    assert [line for line in verify(forger.folder).differences if words in line]


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
    made = {name: taken[0].get(name, "bird") for name in ("defense_id", "image_id", "round", "label", "found_at")}
    forger.rows(form.MISTAKES, lambda rows: rows.append(made))


def _made_sent(forger: Forger) -> None:
    """An attack from before the organizers took the picture in."""
    taken: list[dict[str, str]] = []
    forger.rows(form.MISTAKES, lambda rows: taken.extend(rows))
    early = "2026-11-14T00:00:01.000000Z"
    forger.rows(form.ATTACKS, lambda rows: rows[0].update(image_id=taken[0]["image_id"], received_at=early))
