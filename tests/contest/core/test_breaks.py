"""Confident mistakes become breaks (R29): once, of attacks alone, for all readers; what ended wrongly is back (R22)."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models import Exists

from adjudication.models import Ruling
from adjudication.services import panels_settle
from contest.attacks import attack_states
from contest.core import breaks
from contest.core.breaks import (
    all_breaks,
    breaks_in_force,
    breaks_record,
    broken_by,
    mistakes_outside,
    recorded_mistakes,
)
from contest.core.enums import AccountKind, DefenseStanding, StakeEnd
from contest.core.models import Attack, Award, Break, Stake, Team
from contest.core.weeks import week_at, week_called
from contest.defenses.models import StakeChange
from contest.defenses.selectors import defense_states, stakeable
from contest.defenses.stake_ends import stakes_end
from contest.ledger.models import LedgerEntry
from contest.ledger.services import check_ledger_sums
from contest.notifications import breaks as breaks_told
from contest.operations.overview import read_overview
from contest.pages.public.front_page import _breaks as breaks_of_front_page
from contest.prizes import prize_facts as money_facts
from contest.prizes.checklist import own_conditions
from contest.prizes.sweeps import prizes_settle
from contest.record import defense_figures
from contest.record import public_teams as team_public
from contest.record.leaderboard.fact_reader import read_facts
from contest.record.leaderboard.tables import tables as leaderboard_tables
from contest.record.overrules import _breaks as breaks_of_overrules
from contest.releases import tables
from labeling.models import Image
from policy.selectors import policy_in_force
from scoring.enums import DefenseAnswer, RunState
from scoring.models import Defense, Run
from tests import factories
from tests.contest import release_fixtures as fixtures
from tests.contest.ledger import cast
from tests.sources import sources

pytestmark = pytest.mark.django_db
BIRD, BICYCLE, ABSTAIN = DefenseAnswer.BIRD, DefenseAnswer.BICYCLE, DefenseAnswer.ABSTAIN


def ruled_image(now: datetime, **answers: object) -> Image:
    panel = factories.panel()
    for n in range(3):
        factories.response(factories.tasker(f"{panel.pk}-{n}"), panel, **answers)  # type: ignore[arg-type]
    panels_settle(policy_at=policy_in_force, now=now)
    return panel.image


def finished(image: Image, *answers: int) -> Defense:
    """A defense that gave these answers, one in each round; nobody looked for breaks yet."""
    defense = fixtures.defense(1)
    fixtures.scored(defense, image, answers, state=RunState.FINISHED)
    return defense


OUTCOMES = [
    ({}, BICYCLE, 1, "a valid bird called a bicycle"),
    ({}, BIRD, 0, "right"),
    ({}, ABSTAIN, 0, "abstaining never breaks"),
    ({"real": False}, BICYCLE, 0, "a rejected picture breaks nothing"),
]


def broken_in_story(image: Image) -> set[Defense]:
    return {each.defense for each in breaks.PictureMistakes.on(image).breaks_in_force}


@pytest.mark.parametrize(("answers", "answer", "breaks", "why"), OUTCOMES, ids=[row[3] for row in OUTCOMES])
def test_breaks(answers: dict[str, object], answer: int, breaks: int, why: str, now: datetime) -> None:
    finished(ruled_image(now, **answers), answer)
    assert [breaks_record(now=now) for _ in range(2)] == [1, 0], "running it twice changes nothing"
    assert (Break.objects.count(), Run.objects.get().state) == (breaks, RunState.ASSESSED), why


def test_one_mistake_in_any_of_the_official_runs_breaks_once(now: datetime) -> None:
    finished(ruled_image(now), BIRD, BICYCLE, BICYCLE)
    breaks_record(now=now)
    proof = Break.objects.get()
    assert (proof.prediction.round, proof.ruling) == (2, Ruling.objects.get())


@pytest.mark.both("a trigger refuses it, and recording locks the run")
def test_the_database_keeps_a_break(now: datetime) -> None:
    finished(ruled_image(now), BICYCLE)
    breaks_record(now=now)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Break.objects.all().delete()


@pytest.mark.parametrize("later", [False, True], ids=["at once", "by a later ruling"])
@pytest.mark.parametrize(("origin", "breaks"), [("attack", 1), ("dataset", 1), ("gold", 0), ("example", 0)])
def test_a_picture_that_is_never_published_breaks_nothing(origin: str, breaks: int, later: bool, now: datetime) -> None:
    """Nobody could check such a break (R39), and its prize would tell which pictures are gold (R6)."""
    image = ruled_image(now, real=not later)
    Image.objects.update(origin=origin)
    finished(image, BICYCLE)
    if later:
        breaks_record(now=now)
        Ruling.objects.create(
            image=image, panel=image.panels.get(), policy=factories.policy_version(), number=2, verdict="valid",
            label="bird", reasons=[], response_ids=[], decided_by="board", explanation="A bird.", decided_at=now,
        )  # fmt: skip
    breaks_record(now=now)
    assert Break.objects.count() == breaks


# One world, all readers -----------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[3]
NOW = cast.CLOSED


@dataclass
class World:
    """Defenses that were each confidently wrong on one valid picture, by how that picture came."""

    defense: dict[str, Defense]
    image: dict[str, Image]
    stake: dict[str, Stake]


SENT_AT = cast.MONDAY + timedelta(days=1)
BACK = {"withdrawn_at": SENT_AT}
# How the picture came -> whether it breaks, why, its origin, and on which days it was sent.
PICTURES: dict[str, tuple[bool, str, str, list[tuple[int, dict[str, Any]]]]] = {
    "an attack": (True, "that is what breaks", "attack", [(1, {})]),
    "an attack, and a copy by another team": (True, "the first receipt has the credit", "attack", [(1, {}), (2, {})]),
    "an attack on a picture that was not to be labeled": (True, "nobody knew of it", "not to be labeled", [(1, {})]),
    "a copy whose first attack was withdrawn": (True, "the second one was not", "attack", [(1, BACK), (2, {})]),
    "taken in": (False, "no attack sent it", "dataset", []),
    "taken in, and sent afterwards": (False, "it was known before it was sent", "dataset", [(2, {})]),
    "taken in, and sent in the moment it was": (False, "it was known when it was sent", "dataset", [(1, {})]),
    "an attack that was withdrawn": (False, "it is taken back", "attack", [(1, BACK)]),
    "gold that was sent": (False, "it is never published", "gold", [(2, {})]),
}


def _picture(how: str) -> Image:
    _, _, origin, sent = PICTURES[how]
    known = {"received_at": SENT_AT, "label_from": SENT_AT, "width": 40, "height": 40}
    if origin in ("attack", "not to be labeled"):
        known["label_from"] = week_at(SENT_AT).end
    image = factories.image(origin="dataset" if origin == "not to be labeled" else origin, **known)
    first = None
    for day, values in sent:
        attack = cast.attack(cast.team(f"{day} {how}"), days=day, image=image, copy_of=first, **values)
        first = first or (None if values else attack)
    return image


@pytest.fixture(scope="class")
def world(class_world: Path) -> World:
    factories.policy_version()
    cast.deposit(10_000_000, factories.user("olga", "organizers"))
    defenses = {how: cast.defense(how, cast.team(f"makers of {how}")) for how in PICTURES}
    stakes = {how: cast.staked(defense) for how, defense in defenses.items()}
    made = World(defenses, {how: _picture(how) for how in PICTURES}, stakes)
    for how, image in made.image.items():
        at = cast.ruled(image).decided_at
        proofs = {name: cast.answered(each, image, 0 if name == how else 1, at=at) for name, each in defenses.items()}
        kept = {"ruling": image.rulings.get(), "prediction": proofs[how], "found_at": at}
        Break.objects.create(defense=defenses[how], image=image, **kept)
    cast.released(*{week_at(image.received_at).name for image in made.image.values()})
    stakes_end(now=NOW)
    for stake in made.stake.values():
        stake.refresh_from_db()
    return made


Reader = Callable[[World, str], bool]


def _of_week(world: World, how: str) -> set[tuple[str, str]]:
    week = week_called(week_at(world.image[how].received_at).name)
    return {(row[1], row[2]) for row in (*tables._break_rows(week), *tables._unproved_rows(week))}


def _pair(world: World, how: str) -> tuple[str, str]:
    return world.defense[how].public_id, world.image[how].public_id


READERS: dict[str, Reader] = {
    "the selector": lambda w, how: breaks_in_force().filter(defense=w.defense[how]).exists(),
    "all breaks": lambda w, how: all_breaks().filter(defense=w.defense[how]).exists(),
    "what a picture broke": lambda w, how: w.defense[how] in broken_by([w.image[how].pk]).get(w.image[how].pk, ()),
    "the stake": lambda w, how: w.stake[how].end == StakeEnd.BROKEN,
    "how far a defense is": lambda w, how: (
        defense_states([w.defense[how]], now=NOW)[w.defense[how].pk] is DefenseStanding.BROKEN
    ),
    "the prizes": lambda w, how: bool(money_facts.stakes_with_breaks([w.stake[how]])[0].breaks),
    "the award": lambda w, how: (
        not next(
            each.passed
            for each in own_conditions(w.stake[how], policy=policy_in_force(NOW).policy, now=NOW)
            if each.name == "no_break"
        )
    ),
    "the leaderboard": lambda w, how: (
        (how, DefenseStanding.BROKEN)
        in [(each.name, each.state) for each in leaderboard_tables(read_facts(), NOW).defenses]
    ),
    "the release": lambda w, how: _pair(w, how) in _of_week(w, how),
    "the picture's page": lambda w, how: w.defense[how] in broken_in_story(w.image[how]),
    "the list of overrules": lambda w, how: bool(breaks_of_overrules([w.image[how]])),
    "the defense's breaks": lambda w, how: bool(
        defense_figures.breaks_of_defense(w.defense[how], public=True, now=NOW)
    ),
    "the defense's pictures": lambda w, how: (
        w.image[how]
        in [
            each.image
            for each in defense_figures.pictures(w.defense[how], public=True, kind="mistakes", before=None, now=NOW)[0]
        ]
    ),
    "the defense's row": lambda w, how: (
        w.defense[how] in [each.defense for each in defense_figures.defense_rows(public=True, now=NOW) if each.breaks]
    ),
    "the front page": lambda w, how: w.defense[how] in [each.defense for each, _ in breaks_of_front_page(NOW)],
    "the overview": lambda w, how: (
        w.defense[how] in [each["defense"] for each in read_overview(now=NOW)["defenses"] if each["breaks"]]
    ),
    "the letters": lambda w, how: breaks_told._news(cast.SETTLED).filter(defense=w.defense[how]).exists(),
    "the team's page": lambda w, how: (
        [each.standing for each in team_public.defenses_of([w.defense[how].entry.team], now=NOW)]
        == [DefenseStanding.BROKEN]
    ),
    "the senders' breaks": lambda w, how: (
        w.defense[how]
        in [
            row.defense
            for each in w.image[how].attacks.all()
            for row in team_public.breaks_of_team([each.team], now=NOW)
        ]
    ),
    "the senders' attacks": lambda w, how: any(
        each.breaks
        for each in attack_states.attack_statuses(
            list(w.image[how].attacks.filter(withdrawn_at=None, copy_of=None)), unrestricted=True, now=NOW
        ).values()
    ),
}


class TestOneWorld:
    @pytest.mark.parametrize("how", PICTURES)
    def test_every_reader_says_the_same(self, how: str, world: World) -> None:
        breaks, why, *_ = PICTURES[how]
        said = {name: reader(world, how) for name, reader in READERS.items()}
        assert said == dict.fromkeys(READERS, breaks), why

    def test_a_mistake_outside_the_contest_is_published_as_one_and_hinders_no_staking(self, world: World) -> None:
        outside = {how for how in PICTURES if how.startswith("taken in")}
        assert {each.defense.name for each in mistakes_outside()} == outside
        published = {row[:2] for how in outside for row in tables._mistake_rows(week_at(world.image[how].received_at))}
        assert published == {_pair(world, how) for how in outside}
        Stake.objects.update(ended_at=NOW, end=StakeEnd.WITHDRAWN)
        assert {each.name for each in stakeable()} == {how for how, (breaks, *_) in PICTURES.items() if not breaks}


def test_no_module_reads_the_rows_by_itself() -> None:
    """Which rows break is decided in one place; the rows are written there, and where a record is rebuilt."""
    own = {"contest/core/breaks.py", "contest/record/rebuild/scoring.py"}
    texts = {name: path.read_text() for name, path in sources().items()}
    found = {
        name
        for name, text in texts.items()
        if "Break." in text or ".breaks" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) in ("Break.objects", "Break._default_manager")
        or isinstance(node, ast.Attribute)
        and node.attr == "breaks"
        and ast.unparse(node.value).endswith("defense")
    }
    assert found <= own, "ask contest.core.breaks"


# What the first rule book ended ---------------------------------------------------------------------------------------


@pytest.fixture
def first_rule_book(olga: User, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every recorded mistake breaks, as by the first rule book, until it is undone; money is there."""
    factories.policy_version()
    cast.deposit(100_000, olga)
    monkeypatch.setattr(breaks, "sent_as_attack", lambda: Exists(Image.objects.all()))
    return monkeypatch


def _broken_by_the_organizers(stake: Stake, *, sent: bool = False) -> None:
    """A picture of the organizers, which a team sends afterwards where that is said, ends a stake."""
    at = cast.MONDAY + timedelta(days=1)
    image = factories.image(origin="dataset", received_at=at, label_from=at, width=40, height=40)
    cast.broken(stake.defense, cast.attack(cast.team("red"), days=2, image=image) if sent else Attack(image=image))
    _sweep()
    assert _state(stake)[0] == StakeEnd.BROKEN


def _sweep(now: Any = NOW) -> None:
    stakes_end(now=now)
    while prizes_settle(now=now):
        pass


def _state(stake: Stake) -> tuple[str, Any]:
    stake.refresh_from_db()
    return stake.end, stake.ended_at


@pytest.mark.parametrize("by_team", [False, True], ids=["the board's stake", "a team's stake"])
@pytest.mark.parametrize("sent", [False, True], ids=["never sent", "sent afterwards"])
def test_a_stake_that_the_organizers_picture_ended_comes_back(
    by_team: bool, sent: bool, first_rule_book: pytest.MonkeyPatch
) -> None:
    """By rows that correct, and to the cent: no entry and no break is taken away (R22)."""
    makers = cast.team("makers")
    stake = cast.staked(cast.defense("net", makers), by=makers if by_team else None)
    before = {kind: cast.balance(kind) for kind in (AccountKind.ATTACKERS, AccountKind.DEFENDERS)}
    _broken_by_the_organizers(stake, sent=sent)
    moved, rows = LedgerEntry.objects.count(), Break.objects.count()

    first_rule_book.undo()
    _sweep()
    assert (_state(stake), cast.balance(stake)) == (("", None), cast.PRIZE)
    assert {kind: cast.balance(kind) for kind in before} == before
    assert [cast.balance(each) for each in Team.objects.all()] == [0] * (2 if sent else 1)
    assert (LedgerEntry.objects.count() >= moved, Break.objects.count()) == (True, rows)
    assert list(StakeChange.objects.order_by("pk").values_list("end", flat=True)) == [StakeEnd.BROKEN, ""]
    moved = LedgerEntry.objects.count()
    _sweep()
    assert (LedgerEntry.objects.count(), StakeChange.objects.count()) == (moved, 2), "once"
    assert check_ledger_sums().wrong == ()


def test_a_stake_recorded_since_stays_and_the_ended_one_stays_over(first_rule_book: pytest.MonkeyPatch) -> None:
    """Two stakes in force on one defense there never are; the later one is not ended by what breaks nothing."""
    stake = cast.staked(cast.defense("net", cast.team("makers")))
    _broken_by_the_organizers(stake)
    first_rule_book.undo()
    later = cast.staked(stake.defense, at=cast.SETTLED)
    _sweep()
    assert (_state(stake)[0], _state(later), check_ledger_sums().wrong) == (StakeEnd.BROKEN, ("", None), ())


def test_an_award_made_in_between_stands(first_rule_book: pytest.MonkeyPatch) -> None:
    """The mate of a batch whose stake comes back contends from then on; what was awarded is not taken away."""
    of = cast.batch()
    broken, whole = (cast.staked(cast.defense(name, cast.team(f"makers of {name}")), of=of) for name in "ab")
    _broken_by_the_organizers(broken)
    late = cast.MONDAY + timedelta(days=100)
    told = {"cents": 1, "statement": "It held.", "conditions": [], "awarded_at": late}
    award = Award.objects.create(stake=whole, decision=of.decision, **told)
    cast.ended(whole, StakeEnd.WON, at=late)
    first_rule_book.undo()
    _sweep(late + timedelta(days=1))
    assert (_state(broken), _state(whole)[0]) == (("", None), StakeEnd.WON)
    assert (Award.objects.get(), recorded_mistakes().count(), check_ledger_sums().wrong) == (award, 1, ())
