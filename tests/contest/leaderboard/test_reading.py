"""The facts as they are read out of the database, and the tables that follow from them."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from contest.enums import AccountKind, DefenseStanding, StakeKind
from contest.leaderboard.reading import read_facts
from contest.leaderboard.rows import DefenseRow, Tables, TeamRow
from contest.leaderboard.tables import tables
from contest.models import Account, Association, Attack, Entry, LedgerEntry, Release, Stake, Team, TeamMerge
from labeling.models import Image
from scoring.enums import Outcome, RunState, TrialKind
from scoring.models import Defense, PrivateSet, Trial
from tests import factories
from tests.contest import release_fixtures as fixtures

pytestmark = pytest.mark.django_db
MONDAY, AFTER = fixtures.MONDAY, fixtures.AFTER
STAKED = MONDAY - timedelta(days=3)


def released(week: str = "2026-W47") -> Release:
    """The record of a release; its files are nobody's matter here."""
    return Release.objects.create(week=week, manifest_sha256="0" * 64, counts={}, bytes=1, released_at=AFTER)


def now() -> Tables:
    return tables(read_facts(), AFTER + timedelta(days=1))


def attacker(name: str) -> TeamRow:
    return next(row for row in now().attackers if row.name == name)


def of(defense: Defense) -> DefenseRow:
    return next(row for row in now().defenses if row.id == defense.public_id)


def staked(defense: Defense, **more: Any) -> Stake:
    payer = more.pop("paid_by", None) or Team.objects.create(name=f"payer of {defense.pk}", created_at=STAKED)
    values = {"kind": StakeKind.TEAM, "paid_by": payer, "cents": 100_000, "asked_at": STAKED} | more
    return Stake.objects.create(defense=defense, **({"staked_at": STAKED, "clock_from": STAKED} | values))


@pytest.fixture
def week() -> fixtures.Contest:
    """A week with every verdict; team `=red` sent the valid bird, which the second defense took for a bicycle."""
    found = fixtures.a_week()
    Attack.objects.update(week="2026-W47")
    Image.objects.filter(attacks__isnull=False).update(origin="attack")
    return found


def test_of_a_released_week_verdicts_and_breaks_are_told(week: fixtures.Contest) -> None:
    red = attacker("=red")
    assert (red.sent, red.valid, red.breaks) == (1, 0, 0), "before the release only the pictures are"
    assert {row.state for row in now().defenses} == {DefenseStanding.PUBLISHED}
    released()
    red = attacker("=red")
    assert (red.valid, red.breaks, red.defenses) == (1, 1, 1)
    cautious, wrong = (of(each) for each in week.defenses)
    assert (cautious.state, wrong.state) == (DefenseStanding.PUBLISHED, DefenseStanding.BROKEN)
    assert (wrong.broken_at, wrong.broken_week, wrong.broken_by[0].name) == (MONDAY, "2026-W47", "=red")
    assert (cautious.randomised, wrong.randomised) == (True, True), "scores differ from round to round"


@pytest.mark.parametrize(
    ("withdrawn_at", "origin", "counted", "why"),
    [
        (None, "attack", [(1, 1)], "an attack"),
        (None, "dataset", [(1, 0)], "pixels that were to be labeled anyhow are nobody's"),
        (None, "gold", [], "gold pixels are not told of"),
        (MONDAY, "attack", [], "taken back"),
    ],
)
def test_which_attacks_are_told_of(
    withdrawn_at: datetime | None, origin: str, counted: list[tuple[int, int]], why: str, week: fixtures.Contest
) -> None:
    released()
    Attack.objects.update(withdrawn_at=withdrawn_at)
    Image.objects.filter(attacks__isnull=False).update(origin=origin)
    assert [(row.sent, row.valid) for row in now().attackers] == counted, why


def test_a_stake_its_clock_and_what_it_survived(week: fixtures.Contest) -> None:
    released()
    cautious, team = week.defenses[0], Team.objects.create(name="makers", created_at=STAKED)
    told = {"team": team, "received_at": STAKED, "due_at": STAKED, "licence": "MIT"}
    entry = Entry.objects.create(defense=cautious, **told)
    stake = staked(cautious, paid_by=team, staked_at=None, clock_from=None)
    assert (of(cautious).state, of(cautious).open_source) == (DefenseStanding.PUBLISHED, False), "only asked for"
    Stake.objects.filter(pk=stake.pk).update(staked_at=STAKED, clock_from=STAKED)
    Entry.objects.filter(pk=entry.pk).update(opened_at=STAKED)
    row = of(cautious)
    assert (row.state, row.cents, row.staked_since) == (DefenseStanding.STAKED, 100_000, STAKED)
    assert (row.clock_ends, row.survived) == (STAKED + timedelta(hours=90 * 24), 1)
    assert row.team and row.team.name == "makers"
    assert (row.days_unbroken, row.open_source) == ((AFTER + timedelta(days=1) - STAKED).days, True)


def test_a_defense_that_answered_in_two_of_three_rounds_did_not_survive(week: fixtures.Contest) -> None:
    released()
    other = fixtures.defense(3)
    fixtures.scored(other, week.images["valid bird"], [Outcome.BIRD, Outcome.BIRD])
    staked(other)
    assert of(other).survived == 0


def test_the_totals_of_the_private_set_are_those_of_the_newest_finished_trial(week: fixtures.Contest) -> None:
    private = PrivateSet.objects.create(number=1, note="n", imported_at=STAKED, completed_at=STAKED)
    for number, (state, right) in enumerate(((RunState.FINISHED, 8), (RunState.FINISHED, 9), (RunState.QUEUED, 0)), 1):
        numbers = {"pictures": 10, "right": right, "wrong": 0, "abstained": 10 - right, "faults": 0} if right else {}
        Trial.objects.create(
            defense=week.defenses[0], kind=TrialKind.PRIVATE, number=number, private_set=private, seed=1, batch_size=16,
            state=state, totals=numbers, created_at=STAKED,
            finished_at=STAKED + timedelta(hours=number) if right else None,
        )  # fmt: skip
    found = of(week.defenses[0]).eligibility
    assert found and (found.right, found.pictures, found.wrong) == (9, 10, 0)


# Money ----------------------------------------------------------------------------------------------------------------


def move(source: Account, target: Account, cents: int, rule: str, **more: Any) -> LedgerEntry:
    values = {"why": "a test", "causes": {}, "made_at": AFTER} | more
    return LedgerEntry.objects.create(source=source, target=target, cents=cents, rule=rule, **values)


def accounts(week: fixtures.Contest) -> dict[str, Account]:
    """Every kind of account; the outside has paid 1,000 into each of the others."""
    red = Team.objects.get(name="=red")
    made = {kind.value: Account.objects.create(kind=kind) for kind in AccountKind if kind not in ("team", "stake")}
    made["team"] = Account.objects.create(kind=AccountKind.TEAM, team=red)
    made["stake"] = Account.objects.create(kind=AccountKind.STAKE, stake=staked(week.defenses[1]))
    for name, account in made.items():
        if name != "outside":
            move(made["outside"], account, 1_000, "R34")
    return made


@pytest.mark.parametrize(
    ("source", "rule", "cents"),
    [
        ("stake", "R35", 700),  # a share of an attacker prize
        ("defenders", "R36", 0),  # an award, which is told with the defense that won it
        ("defenders", "R37", 0),
        ("stake", "R36", 0),  # the stake back to who paid it
        ("outside", "R34", 0),  # money that came in
    ],
)
def test_prizes_of_attackers_are_shares_alone(source: str, rule: str, cents: int, week: fixtures.Contest) -> None:
    at = accounts(week)
    move(at[source], at["team"], 700, rule)
    assert attacker("=red").cents == cents


def test_corrections_and_what_the_board_withholds_are_taken_off(week: fixtures.Contest) -> None:
    at = accounts(week)
    share = move(at["stake"], at["team"], 700, "R35")
    award = move(at["defenders"], at["team"], 250, "R36", causes={"award": [1]})
    of_award = {"award": [1], "team": [at["team"].team_id]}
    moves: list[tuple[str, str, int, str, dict[str, Any], int, str]] = [
        ("team", "stake", 200, "R36", {"corrects": share}, 500, "a correction"),
        ("team", "withheld", 400, "R38", {}, 100, "withheld"),
        ("withheld", "team", 400, "R38", {}, 500, "given back"),
        ("team", "outside", 500, "R34", {}, 500, "a payment takes no prize away"),
        ("team", "withheld", 150, "R38", {"causes": of_award}, 500, "withheld of an award"),
        ("withheld", "team", 150, "R38", {"causes": of_award}, 500, "and given back"),
        ("team", "defenders", 250, "R37", {"corrects": award, "causes": {"award": [1]}}, 500, "an award that is lost"),
    ]
    for source, target, cents, rule, more, left, why in moves:
        move(at[source], at[target], cents, rule, **more)
        assert attacker("=red").cents == left, why


def test_who_only_defends_is_no_attacker_however_much_it_wins(week: fixtures.Contest) -> None:
    at = accounts(week)
    makers = Account.objects.create(
        kind=AccountKind.TEAM, team=Team.objects.create(name="makers of one", created_at=STAKED)
    )
    move(at["defenders"], makers, 600, "R36", causes={"award": [1]})
    move(makers, at["withheld"], 200, "R38", causes={"award": [1], "team": [makers.team_id]})
    assert [row.name for row in now().attackers] == ["=red"]
    move(makers, at["withheld"], 100, "R38", causes={"team": [makers.team_id]})
    assert [row.name for row in now().attackers] == ["=red"], "nor does what is withheld of it make it one"


# Teams ----------------------------------------------------------------------------------------------------------------


def test_merged_and_unpaid(week: fixtures.Contest) -> None:
    red, blue = Team.objects.get(name="=red"), Team.objects.create(name="blue", created_at=MONDAY)
    TeamMerge.objects.create(team=red, into=blue, reason="one group", merged_at=AFTER)
    Association.objects.create(team=red, reason="helps", since=MONDAY, declared_at=MONDAY)
    assert [(row.name, row.unpaid) for row in now().attackers] == [("blue", True)]


def test_the_number_of_queries_does_not_depend_on_the_rows(
    week: fixtures.Contest, django_assert_max_num_queries: Any
) -> None:
    released()
    read_facts()
    with django_assert_max_num_queries(25) as few:
        read_facts()
    for number in range(5, 12):
        defense = fixtures.defense(number)
        fixtures.scored(defense, week.images["valid bird"], [Outcome.BIRD] * 3)
        staked(defense)
        team = Team.objects.create(name=f"team {number}", created_at=MONDAY)
        Attack.objects.create(team=team, image=factories.image(), received_at=MONDAY, week="2026-W47")
    with django_assert_max_num_queries(len(few)):
        read_facts()
