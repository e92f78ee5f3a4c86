"""The weekly release of a contest with teams, money and a board: what it tells of the board, nothing of who voted or
what waits; and that the verifier finds each forgery (R39)."""

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adjudication.schema import cells as written
from adjudication.schema import release_format as form
from adjudication.verify import verify
from contest.board.motions import motion_drop
from contest.core.enums import CaseState
from contest.core.models import Attack, BoardDecision, Case, Stake, Team
from contest.ledger.models import Account, LedgerEntry
from contest.prizes.models import Examination
from contest.releases.selectors import changed_since, unreleased_weeks
from contest.releases.services import ReleaseResult, release_week
from tests import factories, tables
from tests.adjudication.test_verify import Forger, cells, rows, table
from tests.contest import release_fixtures
from tests.contest.board import cast as board
from tests.contest.record import cast
from tests.contest.release_fixtures import Contest

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def published(module_world: Path) -> tuple[Contest, list[ReleaseResult]]:
    contest = cast.two_weeks_of_the_board()
    return contest, [release_week(week, out=module_world / "releases", now=cast.NOW) for week in (cast.W47, cast.W48)]


@pytest.fixture
def contest(published: tuple[Contest, list[ReleaseResult]], db: None) -> Contest:
    """Two weeks in which the board was at work; both are released."""
    return deepcopy(published[0])


@pytest.fixture
def made(published: tuple[Contest, list[ReleaseResult]], settings: Any, db: None) -> list[ReleaseResult]:
    return cast.copied(published[1], settings.RELEASE_DIR)


def first(among: list[dict[str, str]], where: dict[str, str]) -> dict[str, str]:
    return next(row for row in among if where.items() <= row.items())


def case_on(folder: Path, image: Any) -> dict[str, str]:
    return first(table(folder, form.CASES), {"image_id": image.public_id})


@pytest.mark.both("the bytes of a release, whichever database it is made from")
def test_nothing_differs_and_the_manifest_counts_the_rows(made: list[ReleaseResult]) -> None:
    assert [verify(each.folder).differences for each in made] == [[], []]
    assert made[0].release.counts.items() >= {"appeals": 2, "statements": 1, "cases": 4, "motions": 0}.items()
    assert made[1].release.counts.items() >= {"appeals": 0, "cases": 0, "motions": 3, "examinations": 2}.items()
    assert "appeals, cases and motions of the board: 2, 4 and 0 checked" in verify(made[0].folder).figures


def test_an_overrule_says_all_but_who_voted(made: list[ReleaseResult], contest: Contest) -> None:
    folder, image = made[0].folder, contest.images["valid bird"]
    row = case_on(folder, image)
    assert row.items() >= {
        "outcome": "overrule", "label": "", "reasons": "truncated", "ruling_number": "1", "made_ruling_number": "2",
        "result_ruling_number": "2",
    }.items()  # fmt: skip
    assert [(vote["choice"], vote["dissent"], vote["words"]) for vote in json.loads(row["votes"])] == [
        ("uphold", True, cast.DISSENT), ("overrule", False, ""), ("overrule", False, ""),
    ]  # fmt: skip
    appeal = first(table(folder, form.APPEALS), {"image_id": image.public_id})
    told = {"side": "defender", "defense_id": "D-00001", "case_id": row["case_id"]}
    assert appeal.items() >= (told | {"argument": f"'{cast.ARGUMENT}"}).items()
    assert json.loads(appeal["marks"]) == cast.MARKS
    [answer] = table(folder, form.STATEMENTS)
    assert (answer["case_id"], answer["words"]) == (row["case_id"], f"'{cast.ANSWER}")


def test_more_taskers_name_the_panel_and_what_came_of_it(made: list[ReleaseResult], contest: Contest) -> None:
    told = {"outcome": "more_taskers", "made_ruling_number": "", "result_ruling_number": "2"}
    told["closed_at"] = written.time(cast.CLOSED)
    for case, panel in (("valid bicycle", "1"), ("uncertain", "2")):
        row = case_on(made[0].folder, contest.images[case])
        assert row.items() >= (told | {"asked_panel": panel}).items(), case


def test_motions_and_confirmations_are_of_their_week_with_what_was_done(made: list[ReleaseResult]) -> None:
    before, week = (each.folder for each in made)
    told = {row["outcome"]: row for row in table(week, form.MOTIONS)}
    assert set(told) == {"carried", "lost", "dropped"} and told["lost"]["explanation"] == "'=As said."
    [named] = [row for row in table(week, form.DECISIONS) if row["case_id"]]
    assert (named["case_id"], named["reason"]) == (told["carried"]["case_id"], "'+We know them, and they asked for it.")
    old = [row["case_id"] for row in table(before, form.DECISIONS)]
    assert old == [""], "what was decided before the board voted has no motion"
    one, other = table(week, form.EXAMINATIONS)
    assert one | {"number": other["number"]} == other, "two confirmations of one moment, without a name"
    assert (one["defense_id"], one["ruling_number"]) == ("D-00001", "1")


def test_no_file_says_who_voted_nor_what_waits(made: list[ReleaseResult]) -> None:
    for path in [path for each in made for path in each.folder.glob("*.*")]:
        said = path.read_bytes().decode("utf-8", "replace")
        assert not [word for word in cast.kept_back() if word in said], path.name


def test_what_is_decided_later_is_errata_and_nothing_waits_for_it(contest: Contest, settings: Any) -> None:
    out, later = settings.RELEASE_DIR, cast.NOW + timedelta(hours=1)
    case = Case.objects.get(image=contest.images["depiction"])
    members = [board.member(f"later {number}") for number in range(2)]
    assert not release_week(cast.W47, out=out, now=cast.NOW).new
    board.votes(case, members, cast.UPHOLD, later)
    board.decide(case, members[0], later)
    assert changed_since(cast.W47, cast.NOW) == ["1 case of the board"]
    again = release_week(cast.W47, out=out, now=later)
    assert (again.new, again.release.part) == (True, 1)
    assert again.release.counts.items() >= {"cases": 5, "appeals": 3}.items()
    assert (verify(again.folder).differences, release_week(cast.W48, out=out, now=later).new) == ([], False)


def test_while_more_taskers_are_asked_nothing_of_the_case_is_told(contest: Contest, settings: Any) -> None:
    """Who still has to answer shall not read what was argued (R8)."""
    members = [board.member(f"later {number}") for number in range(2)]
    case = cast.opened(contest.images["too_small"])
    board.votes(case, members, cast.MORE, cast.NOW - timedelta(days=1))
    board.decide(case, members[0], cast.NOW - timedelta(days=1))
    case.refresh_from_db()
    folder = release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.NOW, incomplete=True).folder
    assert case.state == CaseState.PANEL and case.public_id not in (folder / form.CASES).read_text()
    assert verify(folder).differences == []


def took_back(contest: Contest, now: datetime) -> None:
    member = board.member("somebody")
    motion_drop(case=cast.grant(Team.objects.get(name="waits"), member, now), by=member, now=now)


def confirmed(contest: Contest, now: datetime) -> None:
    Examination.objects.create(image=contest.images["occluded"], defense=contest.defenses[0], at=now)


@pytest.mark.parametrize(("happened", "name"), [(took_back, form.MOTIONS), (confirmed, form.EXAMINATIONS)])
def test_a_week_with_a_motion_or_a_confirmation_alone_is_released(
    happened: Callable[[Contest, datetime], None], name: str, contest: Contest, settings: Any
) -> None:
    third = cast.week_named("2026-W49", "UTC")
    assert third.name not in [week.name for week in unreleased_weeks(third.end)]
    happened(contest, third.start)
    assert third.name in [week.name for week in unreleased_weeks(third.end)]
    folder = release_week(third, out=settings.RELEASE_DIR, now=third.end).folder
    assert (len(table(folder, name)), verify(folder).differences) == (1, [])


def test_what_happens_in_a_later_week_makes_no_errata(made: list[ReleaseResult], settings: Any) -> None:
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
    assert (again.new, again.release) == (False, made[0].release)


# Forgeries ------------------------------------------------------------------------------------------------------------


Forgery = Callable[[Forger], object]


def votes(change: Callable[[list[dict[str, Any]]], Any], **where: str) -> Forgery:
    """Change the votes of the first case, or motion, with the values of `where`."""

    def edit(among: list[dict[str, str]]) -> None:
        row = first(among, where)
        told = json.loads(row["votes"])
        change(told)
        row["votes"] = written.json_cell(told)

    return rows(form.MOTIONS if where["outcome"] in ("carried", "lost", "dropped") else form.CASES, edit)


def drop(name: str, **where: str) -> Forgery:
    return rows(name, lambda among: among.remove(first(among, where)))


def again(name: str, where: dict[str, str], **changed: str) -> Forgery:
    """Add a row like the first with the values of `where`, under a name that comes behind all others."""
    return rows(name, lambda among: among.append(first(among, where) | changed))


def of_the_lost(forger: Forger) -> None:
    lost = first(table(forger.folder, form.MOTIONS), LOST)
    forger.cell(form.DECISIONS, {"kind": "grant"}, case_id=lost["case_id"])


def given_to_blue(forger: Forger) -> None:
    blue = first(table(forger.folder, form.TEAMS), {"name": "blue"})
    forger.cell(form.IMAGES, {"origin": "attack"}, team=blue["team_id"])


def taken(forger: Forger, name: str) -> dict[str, str]:
    row = table(forger.folder, name)[0]
    drop(name)(forger)
    return row


def hidden(forger: Forger) -> None:
    """A break that an answer proves, among those that none does."""
    row = taken(forger, form.BREAKS)
    forger.rows(form.UNPROVED, lambda among: among.insert(0, row))


def made_a_break(file: str) -> Forgery:
    """The mistake on a picture of the organizers as a break."""

    def forge(forger: Forger) -> None:
        row = taken(forger, form.MISTAKES)
        said = {"break_id": "999", "defense_id": row["defense_id"], "image_id": row["image_id"], "ruling_number": "1",
                "round": row["round"], "answer": "bicycle", "found_at": row["found_at"]}  # fmt: skip
        forger.rows(file, lambda among: among.append(said))

    return forge


def made_a_mistake(forger: Forger) -> None:
    row = taken(forger, form.BREAKS)
    said = {name: row.get(name, "bird") for name in ("defense_id", "image_id", "round", "label", "found_at")}
    forger.rows(form.MISTAKES, lambda among: among.append(said))


def made_sent(forger: Forger) -> None:
    """An attack from before the organizers took the picture in."""
    image = table(forger.folder, form.MISTAKES)[0]["image_id"]
    forger.cell(form.ATTACKS, {}, image_id=image, received_at="2026-11-14T00:00:01.000000Z")


OVERRULE, UPHELD, ASKED = {"outcome": "overrule"}, {"outcome": "uphold"}, {"outcome": "more_taskers"}
JOINED = {"outcome": "more_taskers", "asked_panel": "1"}
CARRIED, LOST = {"outcome": "carried"}, {"outcome": "lost"}
DEFENDER, ATTACKER = {"side": "defender"}, {"side": "attacker"}
OUTSIDE = written.json_cell([cast.MARKS[0] | {"x": 31}])
EARLY, LATE = "2026-11-16T00:00:00.000000Z", "2026-12-24T00:00:00.000000Z"
LAST_WEEK = "2026-11-20T23:59:59.999999Z"

# What is done, to which week's release; the file of a line that is found, and what the line says.
FORGERIES: dict[str, tuple[int, Forgery, str, str]] = {
    "a case left out": (0, drop(form.CASES, **OVERRULE), form.RULINGS, "0 cases that made it, follows one case"),
    "a case twice": (0, again(form.CASES, OVERRULE, case_id="C-ZZZZZZ"), form.RULINGS, "2 cases that made it"),
    "a ruling taken from the board": (
        0, cells(form.RULINGS, {"decided_by": "board"}, decided_by="rules", explanation=""), form.CASES,
        "by the rules, follows a ruling by the board",
    ),
    "another explanation": (0, cells(form.CASES, OVERRULE, explanation="Because."), form.CASES, "explanation Because."),
    "an explanation of a ruling changed": (
        0, cells(form.RULINGS, {"decided_by": "board"}, explanation="Because."), form.CASES, "follows explanation",
    ),
    "other reasons": (0, cells(form.CASES, OVERRULE, reasons="occluded"), form.CASES, "follows reasons truncated"),
    "a class": (0, cells(form.CASES, OVERRULE, label="bird"), form.CASES, "recorded label bird"),
    "another time of decision": (
        0, cells(form.CASES, OVERRULE, decided_at=LATE), form.CASES, "ruling, opened, decided, closed",
    ),
    "a case before its ruling": (
        0, cells(form.CASES, OVERRULE, opened_at=EARLY), form.CASES, "ruling, opened, decided, closed",
    ),
    "closed later than decided": (0, cells(form.CASES, UPHELD, closed_at=LATE), form.CASES, "follows closed_at"),
    "no such ruling": (0, cells(form.CASES, UPHELD, ruling_number="7"), form.CASES, "recorded ruling 7"),
    "no such picture": (0, cells(form.CASES, UPHELD, image_id="P-ZZZZZZ"), form.CASES, "a ruling of this release"),
    "another ruling made": (0, cells(form.CASES, OVERRULE, made_ruling_number="3"), form.CASES, "made_ruling_number 2"),
    "a ruling made by nobody": (0, cells(form.CASES, OVERRULE, made_ruling_number=""), form.RULINGS, "0 cases"),
    "a ruling made by an uphold": (0, cells(form.CASES, UPHELD, made_ruling_number="2"), form.CASES, "made ruling 2"),
    "another result": (0, cells(form.CASES, ASKED, result_ruling_number="1"), form.CASES, "result_ruling_number 2"),
    "another outcome": (0, cells(form.CASES, UPHELD, outcome="overrule"), form.CASES, "follows outcome uphold"),
    "an outcome of motions": (0, cells(form.CASES, UPHELD, outcome="lost"), form.CASES, "another form"),
    "a panel that nobody asked": (0, cells(form.CASES, UPHELD, asked_panel="1"), form.CASES, "recorded asked_panel 1"),
    "another panel asked": (0, cells(form.CASES, JOINED, asked_panel="2"), form.CASES, "follows asked_panel 1"),
    "a panel joined earlier": (
        0, cells(form.PANELS, {"joined": "3"}, joined_at=EARLY), form.CASES, "a panel that was asked when",
    ),
    "a vote left out": (0, votes(lambda told: told.pop(), **OVERRULE), form.CASES, "follows outcome uphold"),
    "votes below the quorum": (
        0, votes(lambda told: told.clear(), **UPHELD), form.CASES, "recorded 0 votes, follows at least 2",
    ),
    "a smaller quorum": (0, cells(form.CASES, OVERRULE, quorum="1"), form.CASES, "quorum 1, follows quorum 2"),
    "a policy that is not there": (0, cells(form.CASES, OVERRULE, policy_version="9"), form.CASES, "policy_version 9"),
    "opened under no policy": (
        0, cells(form.CASES, UPHELD, opened_policy_version="9"), form.CASES, "a policy of the manifest",
    ),
    "a vote turned": (0, votes(lambda told: told[1].update(choice="uphold", reasons=[]), **OVERRULE),
                      form.CASES, "follows outcome uphold"),
    "a dissent hidden": (
        0, votes(lambda told: told[0].update(dissent=False), **OVERRULE), form.CASES, "vote 1: no dissent",
    ),
    "a vote for nothing": (0, votes(lambda told: told[1].update(reasons=[]), **OVERRULE), form.CASES, "0 reasons"),
    "a vote for no class": (0, votes(lambda told: told[1].update(label="cat"), **OVERRULE), form.CASES, "no class"),
    "reasons in another order": (
        0, votes(lambda told: told[1].update(reasons=["truncated", "occluded"]), **OVERRULE), form.CASES, "no class or",
    ),
    "a vote of a motion": (
        0, votes(lambda told: told[0].update(choice="against"), **OVERRULE), form.CASES, "nobody votes for against",
    ),
    "a vote with a name": (0, votes(lambda told: told[0].update(member="Ada"), **OVERRULE), form.CASES, "no choice"),
    "votes that are none": (0, cells(form.CASES, OVERRULE, votes="[1]"), form.CASES, "no choice, dissent"),
    "votes that are no JSON": (0, cells(form.CASES, OVERRULE, votes="[,]"), form.CASES, "cannot be read"),
    "votes written otherwise": (0, cells(form.CASES, OVERRULE, votes="[ ]"), form.CASES, "JSON in another form"),
    "votes without end": (0, cells(form.CASES, OVERRULE, votes="[" * 99_999 + "]"), form.CASES, "JSON without end"),
    "an appeal of no case": (0, cells(form.APPEALS, DEFENDER, case_id="C-ZZZZZZ"), form.APPEALS, "a row of cases.csv"),
    "an appeal against another ruling": (
        0, cells(form.APPEALS, DEFENDER, ruling_number="2"), form.APPEALS, "follows ruling_number 1",
    ),
    "an appeal on another picture": (
        0, cells(form.APPEALS, DEFENDER, image_id="P-ZZZZZZ"), form.APPEALS, "follows image_id",
    ),
    "an appeal of the other side": (0, cells(form.APPEALS, ATTACKER, side="defender"), form.APPEALS, "follows side"),
    "an appeal for no defense": (0, cells(form.APPEALS, DEFENDER, defense_id=""), form.APPEALS, "filled exactly where"),
    "an attacker with a defense": (
        0, cells(form.APPEALS, ATTACKER, defense_id="D-00001"), form.APPEALS, "filled exactly where `side` is defender",
    ),
    "an appeal of nobody": (0, cells(form.APPEALS, DEFENDER, team_id="G-ZZZZZZ"), form.APPEALS, "a row of teams.csv"),
    "an appeal after the decision": (0, cells(form.APPEALS, DEFENDER, sent_at=LATE), form.APPEALS, "the case was open"),
    "an appeal without words": (0, cells(form.APPEALS, DEFENDER, argument=""), form.APPEALS, "no words"),
    "an appeal twice": (0, again(form.APPEALS, {}, appeal_id="L-ZZZZZZ"), form.APPEALS, "one appeal of each team"),
    "a mark outside the picture": (
        0, cells(form.APPEALS, DEFENDER, marks=OUTSIDE), form.APPEALS, "marks: 31, 2, 10, 20",
    ),
    "a mark without words": (0, cells(form.APPEALS, DEFENDER, marks='[{"x":1}]'), form.APPEALS, "no x, y, width"),
    "marks that are no JSON": (0, cells(form.APPEALS, DEFENDER, marks="[x]"), form.APPEALS, "cannot be read"),
    "an answer in no case": (0, cells(form.STATEMENTS, {}, case_id="C-ZZZZZZ"), form.STATEMENTS, "a row of cases.csv"),
    "an answer of nobody": (0, cells(form.STATEMENTS, {}, team_id="G-ZZZZZZ"), form.STATEMENTS, "a row of teams.csv"),
    "an answer before the case": (0, cells(form.STATEMENTS, {}, sent_at=EARLY), form.STATEMENTS, "the case was open"),
    "an answer without words": (0, cells(form.STATEMENTS, {}, words=""), form.STATEMENTS, "no words"),
    "a carried motion lost": (1, cells(form.MOTIONS, CARRIED, outcome="lost"), form.MOTIONS, "follows outcome carried"),
    "a lost motion carried": (1, cells(form.MOTIONS, LOST, outcome="carried"), form.MOTIONS, "carried with 0"),
    "a carried motion dropped": (
        1, cells(form.MOTIONS, CARRIED, outcome="dropped"), form.MOTIONS, "dropped with 1 decisions",
    ),
    "a motion left out": (1, drop(form.MOTIONS, **CARRIED), form.DECISIONS, "a row of motions.csv"),
    "a decision left out": (1, drop(form.DECISIONS, kind="grant"), form.MOTIONS, "carried with 0 decisions"),
    "a decision of a lost motion": (1, of_the_lost, form.MOTIONS, "lost with 1 decisions"),
    "a motion of another kind": (1, cells(form.MOTIONS, CARRIED, kind="award"), form.MOTIONS, "kind award"),
    "a motion for another reason": (1, cells(form.MOTIONS, CARRIED, reason="No."), form.MOTIONS, "reason No."),
    "a motion of another week": (1, cells(form.MOTIONS, LOST, decided_at=EARLY), form.MOTIONS, "from 2026-"),
    "a motion opened later": (1, cells(form.MOTIONS, LOST, opened_at=LATE), form.MOTIONS, "no later than"),
    "a subject that is no JSON": (1, cells(form.MOTIONS, LOST, subject="{x}"), form.MOTIONS, "subject that cannot"),
    "a motion carried by too few": (
        1, votes(lambda told: told.pop(), **CARRIED), form.MOTIONS, "recorded 1 votes, follows at least 2",
    ),
    "a confirmation of another week": (1, cells(form.EXAMINATIONS, {}, at=EARLY), form.EXAMINATIONS, "before 2026"),
    "a confirmation for no award": (
        1, cells(form.EXAMINATIONS, {}, defense_id="D-99999"), form.EXAMINATIONS, "a row of defenses.csv",
    ),
    # Attacks, teams, stakes and money
    "an attack of a later week": (
        1, cells(form.ATTACKS, {}, received_at="2026-11-28T00:00:00.000000Z"), form.ATTACKS, "",
    ),
    "an attack that names another week": (1, cells(form.ATTACKS, {}, week="2026-W49"), form.ATTACKS, ""),
    "an attack given to another team": (1, given_to_blue, form.IMAGES, ""),
    "an attack left out": (1, rows(form.ATTACKS, lambda among: among.pop(-1)), form.IMAGES, ""),
    "a team left out": (1, rows(form.TEAMS, lambda among: among.clear()), form.ATTACKS, ""),
    "a picture without provenance": (1, drop(form.PROVENANCE), form.IMAGES, "no provenance"),
    "a panel left out": (1, drop(form.PANELS), form.RESPONSES, "a panel of the picture"),
    "an award of another week": (1, cells(form.AWARDS, {}, awarded_at=LAST_WEEK), form.AWARDS, ""),
    "an award for no defense": (1, cells(form.AWARDS, {}, defense_id="D-99999"), form.AWARDS, ""),
    "money that goes nowhere": (1, cells(form.LEDGER, {}, target="pool"), form.LEDGER, ""),
    "no money": (1, cells(form.LEDGER, {}, cents="0"), form.LEDGER, ""),
    "money of another week": (1, cells(form.LEDGER, {}, made_at=LAST_WEEK), form.LEDGER, ""),
    "a correction of what comes later": (
        1, cells(form.LEDGER, {"corrects": ""}, corrects="999999999"), form.LEDGER, "",
    ),
    "cents of a fraction": (1, cells(form.LEDGER, {}, cents="1.5"), form.LEDGER, ""),
    "a stake that did not change": (1, cells(form.STAKES, {}, ended_at=LAST_WEEK), form.STAKES, ""),
    "a stake on nothing": (1, cells(form.STAKES, {}, defense_id="D-99999"), form.STAKES, ""),
    "a decision on stakes taken back": (0, drop(form.DECISIONS), form.BATCHES, ""),
    "a proof hidden": (0, hidden, form.UNPROVED, ""),
    # Only attacks break (R29)
    "a mistake left out": (0, rows(form.MISTAKES, lambda among: among.clear()), form.MISTAKES, ""),
    "a mistake in another round": (0, cells(form.MISTAKES, {}, round="3"), form.MISTAKES, ""),
    "a mistake on another class": (0, cells(form.MISTAKES, {}, label="bicycle"), form.MISTAKES, ""),
    "a mistake made a break": (0, made_a_break(form.BREAKS), form.BREAKS, ""),
    "a mistake made a break that nothing proves": (0, made_a_break(form.UNPROVED), form.UNPROVED, ""),
    "a break made a mistake": (0, made_a_mistake, form.MISTAKES, "follows no mistake"),
    "an attack that makes a mistake a break": (0, made_sent, form.BREAKS, ""),
    "an attack left out to hide a break": (0, rows(form.ATTACKS, lambda among: among.clear()), form.BREAKS, ""),
}  # fmt: skip


@pytest.mark.parametrize(("week", "forge", "file", "words"), FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_found_although_the_hashes_fit(
    week: int, forge: Forgery, file: str, words: str, made: list[ReleaseResult]
) -> None:
    forger = Forger(made[week].folder, release_fixtures.Contest([]))
    forge(forger)
    forger.rehash()
    found = verify(forger.folder, pictures=False).differences
    assert [line for line in found if line.startswith(f"{file}: ") and words in line], found


Moves = list[tuple[str, str, int, bool]]
WITHHELD, AGAIN = ("team", "withheld", 150_000, False), ("defenders", "team", 150_000, True)
FORFEITED = ("withheld", "defenders", 150_000, False)


@tables.cases(
    "moves agrees why",
    ([WITHHELD, FORFEITED, AGAIN], True, "forfeited, and given as another is not paid"),
    ([WITHHELD, AGAIN], True, "withheld, so that the half advances what it owes"),
    ([("team", "outside", 150_000, False), AGAIN], True, "paid out, so that the half advances what it owes"),
    ([AGAIN], False, "given twice"),
    ([WITHHELD, ("withheld", "team", 150_000, False), AGAIN], False, "withheld, given back, and given twice"),
    ([WITHHELD, FORFEITED, AGAIN, ("defenders", "team", 1, True)], False, "more than was forfeited"),
)
def test_an_award_gives_no_more_than_it_says_and_what_came_back(
    moves: Moves, agrees: bool, why: str, made: list[ReleaseResult]
) -> None:
    forger, (award,) = Forger(made[1].folder, release_fixtures.Contest([])), table(made[1].folder, form.AWARDS)
    given = first(table(made[1].folder, form.LEDGER), {"decision": award["decision"]})
    accounts = {"team": given["target"]}

    def add(ledger: list[dict[str, str]]) -> None:
        at = written.time(cast.LATER + timedelta(seconds=1))
        for number, (source, target, cents, of_award) in enumerate(moves, 1 + int(ledger[-1]["number"])):
            changed = {"number": str(number), "made_at": at, "cents": str(cents), "rule": "R36" if of_award else "R38"}
            changed |= {"source": accounts.get(source, source), "target": accounts.get(target, target)}
            ledger.append(given | changed | ({} if of_award else {"decision": ""}))

    forger.rows(form.LEDGER, add)
    forger.rehash()
    found = verify(forger.folder, pictures=False).differences
    assert ([line for line in found if line.startswith(form.AWARDS)] == []) is agrees, (why, found)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rule_book": "1"}, "recorded 1, follows 2"),  # a revision of the second rule book under the first
        ({"revision": 3}, "recorded 2, follows 1"),  # a revision of the first one under the second
    ],
)
def test_a_rule_book_that_the_revision_has_not_is_found(
    values: dict[str, Any], words: str, made: list[ReleaseResult]
) -> None:
    Forger(made[1].folder, release_fixtures.Contest([])).manifest(lambda manifest: manifest.update(values))
    assert [line for line in verify(made[1].folder).differences if words in line]


def test_a_confirmation_of_a_valid_picture_is_found(contest: Contest, settings: Any) -> None:
    image = contest.images["occluded"]
    told = {"ruling": image.rulings.get(), "at": release_fixtures.MONDAY + timedelta(hours=2)}
    Examination.objects.create(image=image, defense=contest.defenses[0], **told)
    folder = release_week(cast.W47, out=settings.RELEASE_DIR, now=cast.NOW).folder
    assert verify(folder, pictures=False).differences == []
    forger = Forger(folder, contest)
    for changed in ({"image_id": contest.images["valid bird"].public_id}, {"ruling_number": "2"}):
        forger.cell(form.EXAMINATIONS, {}, **changed)
        forger.rehash()
        found = verify(folder, pictures=False).differences
        assert [line for line in found if line.startswith(form.EXAMINATIONS) and "a rejection that there was" in line]
