"""The facts as they are read out of the database; the tables stored of them, for ever of a past week, and compared with
the facts every night; and the page, the file and the call that show them."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from contest.core.enums import AccountKind, DefenseStanding, StakeKind
from contest.core.models import Attack, Break, Release, Stake, Team
from contest.defenses.models import DefenseEntry, StakeChange
from contest.defenses.stake_ends import stakes_end
from contest.ledger.models import Account, LedgerEntry
from contest.operations.overview import read_overview
from contest.record.leaderboard import snapshots
from contest.record.leaderboard.columns import ATTACKERS, DEFENSES, sorting
from contest.record.leaderboard.fact_reader import read_facts
from contest.record.leaderboard.rows import DefenseRank, Tables, TeamRow
from contest.record.leaderboard.tables import tables
from contest.record.models import Leaderboard, LeaderboardCheck
from contest.teams.models import Association, TeamMerge
from labeling.models import Image, Tasker
from scoring.enums import DefenseAnswer, RunState, TrialKind
from scoring.models import Defense, PrivateSet, Trial
from tests import factories
from tests.contest import release_fixtures as fixtures
from tests.contest.ledger import cast as money
from tests.contest.pages import lacking
from tests.refusals import refused
from tests.unprotected import unprotected

pytestmark = pytest.mark.django_db
W47 = "2026-W47"
MONDAY, AFTER = fixtures.MONDAY, fixtures.AFTER
W47_END = datetime(2026, 11, 21, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
STAKED = MONDAY - 3 * DAY
PAGE = "/leaderboard/"


@pytest.fixture(autouse=True)
def week(db: None) -> fixtures.Contest:
    """A week with every verdict, which is over and not released; team `=red` sent the valid bird, which the second
    defense, called `=SUM(A1)`, took for a bicycle."""
    found = fixtures.a_week()
    Attack.objects.update(week=W47)
    Image.objects.filter(attacks__isnull=False).update(origin="attack")
    return found


def release(at: datetime = AFTER) -> None:
    """The record of a release; its files are nobody's matter here."""
    Release.objects.create(week=W47, manifest_sha256="0" * 64, counts={}, bytes=1, released_at=at)


# Reading the facts ----------------------------------------------------------------------------------------------------


def now() -> Tables:
    return tables(read_facts(), AFTER + DAY)


def attacker() -> TeamRow:
    return next(row for row in now().attackers if row.name == "=red")


def of(defense: Defense) -> DefenseRank:
    return next(row for row in now().defenses if row.id == defense.public_id)


def staked(defense: Defense, **more: Any) -> Stake:
    payer = more.pop("paid_by", None) or Team.objects.create(name=f"payer of {defense.pk}", created_at=STAKED)
    values = {"kind": StakeKind.TEAM, "paid_by": payer, "cents": 100_000, "asked_at": STAKED}
    return Stake.objects.create(defense=defense, **({"staked_at": STAKED, "clock_from": STAKED} | values | more))


def test_of_a_released_week_verdicts_and_breaks_are_told(week: fixtures.Contest) -> None:
    red = attacker()
    assert (red.sent, red.valid, red.breaks) == (1, 0, 0), "before the release only the pictures are"
    assert {row.state for row in now().defenses} == {DefenseStanding.PUBLISHED}
    release()
    red = attacker()
    assert (red.valid, red.breaks, red.defenses) == (1, 1, 1)
    cautious, wrong = (of(each) for each in week.defenses)
    assert (cautious.state, wrong.state) == (DefenseStanding.PUBLISHED, DefenseStanding.BROKEN)
    assert (wrong.broken_at, wrong.broken_week, wrong.broken_by[0].name) == (MONDAY, W47, "=red")
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
    withdrawn_at: datetime | None, origin: str, counted: list[tuple[int, int]], why: str
) -> None:
    release()
    Attack.objects.update(withdrawn_at=withdrawn_at)
    Image.objects.filter(attacks__isnull=False).update(origin=origin, label_from=MONDAY)
    assert [(row.sent, row.valid) for row in now().attackers] == counted, why


def test_a_stake_its_clock_and_what_it_survived(week: fixtures.Contest) -> None:
    release()
    cautious, team = week.defenses[0], Team.objects.create(name="makers", created_at=STAKED)
    DefenseEntry.objects.create(defense=cautious, team=team, received_at=STAKED, due_at=STAKED, licence="MIT")
    staked(cautious, paid_by=team, staked_at=None, clock_from=None)
    assert (of(cautious).state, of(cautious).open_source) == (DefenseStanding.PUBLISHED, False), "only asked for"
    Stake.objects.update(staked_at=STAKED, clock_from=STAKED)
    DefenseEntry.objects.update(opened_at=STAKED)
    row = of(cautious)
    assert (row.state, row.cents, row.staked_since) == (DefenseStanding.STAKED, 100_000, STAKED)
    assert (row.clock_ends, row.survived, row.team and row.team.name) == (STAKED + 90 * DAY, 1, "makers")
    assert (row.days_unbroken, row.open_source) == ((AFTER + DAY - STAKED).days, True)


def test_a_defense_that_answered_in_two_of_three_rounds_did_not_survive(week: fixtures.Contest) -> None:
    release()
    other = fixtures.defense(3)
    fixtures.scored(other, week.images["valid bird"], [DefenseAnswer.BIRD, DefenseAnswer.BIRD])
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


def test_merged_and_unpaid() -> None:
    red, blue = Team.objects.get(name="=red"), Team.objects.create(name="blue", created_at=MONDAY)
    TeamMerge.objects.create(team=red, into=blue, reason="one group", merged_at=AFTER)
    Association.objects.create(team=red, reason="helps", since=MONDAY, declared_at=MONDAY)
    assert [(row.name, row.unpaid) for row in now().attackers] == [("blue", True)]


def test_the_number_of_queries_does_not_depend_on_the_rows(
    week: fixtures.Contest, django_assert_max_num_queries: Any
) -> None:
    release()
    read_facts()
    with django_assert_max_num_queries(25) as few:
        read_facts()
    for number in range(5, 12):
        defense = fixtures.defense(number)
        fixtures.scored(defense, week.images["valid bird"], [DefenseAnswer.BIRD] * 3)
        staked(defense)
        team = Team.objects.create(name=f"team {number}", created_at=MONDAY)
        Attack.objects.create(team=team, image=factories.image(), received_at=MONDAY, week=W47)
    with django_assert_max_num_queries(len(few)):
        read_facts()


# Money ----------------------------------------------------------------------------------------------------------------


def move(source: Account, target: Account, cents: int, rule: str, **more: Any) -> LedgerEntry:
    values = {"why": "a test", "causes": {}, "made_at": AFTER} | more
    return LedgerEntry.objects.create(source=source, target=target, cents=cents, rule=rule, **values)


@pytest.fixture
def at(week: fixtures.Contest) -> dict[str, Account]:
    """Every kind of account; the outside has paid 1,000 into each of the others."""
    made = {kind.value: Account.objects.create(kind=kind) for kind in AccountKind if kind not in ("team", "stake")}
    made["team"] = Account.objects.create(kind=AccountKind.TEAM, team=Team.objects.get(name="=red"))
    made["stake"] = Account.objects.create(kind=AccountKind.STAKE, stake=staked(week.defenses[1]))
    for account in (made[name] for name in made if name != "outside"):
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
def test_prizes_of_attackers_are_shares_alone(source: str, rule: str, cents: int, at: dict[str, Account]) -> None:
    move(at[source], at["team"], 700, rule)
    assert attacker().cents == cents


def test_corrections_and_what_the_board_withholds_are_taken_off(at: dict[str, Account]) -> None:
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
        assert attacker().cents == left, why


def test_who_only_defends_is_no_attacker_however_much_it_wins(at: dict[str, Account]) -> None:
    team = Team.objects.create(name="makers of one", created_at=STAKED)
    makers = Account.objects.create(kind=AccountKind.TEAM, team=team)
    move(at["defenders"], makers, 600, "R36", causes={"award": [1]})
    for cents, causes in ((200, {"award": [1]}), (100, {})):
        move(makers, at["withheld"], cents, "R38", causes=causes | {"team": [makers.team_id]})
        assert [row.name for row in now().attackers] == ["=red"], "nor does what is withheld of it make it one"


# What is stored -------------------------------------------------------------------------------------------------------


def shown(now: datetime, week: str = "") -> Tables:
    return snapshots.leaderboard_tables(week, now=now).tables


def made(*moments: datetime) -> list[int]:
    return [snapshots.boards_make(now=each) for each in moments]


def test_a_sweep_makes_every_week_that_is_over_and_the_present_and_then_nothing() -> None:
    """What no sweep has made is made at once, and the same. The defenses were published nine days before MONDAY."""
    at_once = [shown(AFTER, week) for week in ("", W47)]
    assert made(AFTER, AFTER + MINUTE) == [3, 0]
    assert set(Leaderboard.objects.values_list("week", flat=True)) == {"2026-W46", W47, ""}
    assert [shown(AFTER, week) for week in ("", W47)] == at_once


def test_the_present_is_made_again_when_it_is_old() -> None:
    old = AFTER + snapshots.FRESH
    assert (made(AFTER, old - timedelta(seconds=1), old), snapshots.leaderboard_tables("", now=old).made_at) == (
        [3, 0, 1],
        old,
    )


@pytest.mark.parametrize(
    ("made_at", "recorded", "why"),
    [
        (AFTER, AFTER + MINUTE, "released since"),
        (AFTER + MINUTE, AFTER, "a build takes minutes, and says when it began: recorded since"),
    ],
)
def test_the_present_is_made_again_at_once_when_a_week_is_released(
    made_at: datetime, recorded: datetime, why: str
) -> None:
    made(made_at)
    release(recorded)
    now = AFTER + 2 * MINUTE
    assert (shown(now).attackers[0].valid, made(now), shown(now).attackers[0].valid) == (0, [1], 1), why
    found = snapshots.board_check(now=now)
    assert (found.compared, found.differences, snapshots.open_differences()) == (3, [], 0)
    assert made(now + MINUTE) == [0]


def test_a_sweep_that_comes_oftener_looks_now_and_then() -> None:
    assert snapshots.leaderboards_make_periodically(now=AFTER) == 3
    Leaderboard.objects.all().delete()
    assert snapshots.leaderboards_make_periodically(now=AFTER + snapshots.LOOK_EVERY - timedelta(microseconds=1)) == 0
    assert snapshots.leaderboards_make_periodically(now=AFTER + snapshots.LOOK_EVERY) == 3


def test_the_table_of_a_past_week_is_never_made_again() -> None:
    made(AFTER)
    release(AFTER + MINUTE)
    made(AFTER + 30 * MINUTE)
    past = snapshots.leaderboard_tables(W47, now=AFTER + 30 * MINUTE)
    assert (past.made_at, past.tables.at, past.tables.attackers[0].valid) == (AFTER, W47_END, 0), "released later"


@pytest.mark.parametrize(
    "name",
    ["2026-W48", "2027-W01", "2026-W45", "2026-W99", "nonsense", "2026-w47", "2026-W47 ", "٢٠٢٦-W٤٧", "2०26-W47"],
    ids=["present", "future", "before the contest", "no week", "no name", "small", "blank", "arabic", "mixed"],
)
def test_only_weeks_that_are_over_have_a_table(name: str) -> None:
    refused("unknown_week", snapshots.leaderboard_tables, name, now=AFTER)
    refused("unknown_week", snapshots.leaderboard_tables, W47, now=W47_END - timedelta(microseconds=1))
    assert snapshots.leaderboard_tables(W47, now=W47_END).week == W47, "from the moment it is over"


def test_without_a_fact_there_is_no_week_and_the_page_says_what_comes(client: Client) -> None:
    Attack.objects.all().delete()
    Defense.objects.update(published_at=None)
    assert (snapshots.weeks_over(now=AFTER), made(AFTER), shown(AFTER).defenses) == ([], [1], ())
    said = ("No defense is published yet.", "No attack is public yet", "<table")
    assert lacking(client.get(PAGE).content.decode(), *said) == ["<table"]


# The check ------------------------------------------------------------------------------------------------------------


def differences(now: datetime = AFTER) -> list[str]:
    return list(snapshots.board_check(now=now).differences)


def test_what_differs_from_the_facts_is_told_to_the_organizers() -> None:
    made(AFTER)
    red = Team.objects.get(name="=red")
    Team.objects.update(name="crimson")  # which is no difference
    past, present = Leaderboard.objects.get(week=W47), Leaderboard.objects.get(week="")
    past.tables["attackers"][0]["breaks"] = 7
    past.save()
    assert snapshots.leaderboards_check_nightly(now=AFTER) == 1
    changed = f"2026-W47: team {red.public_id}, breaks: shown 7, by the facts 0"
    assert snapshots.newest_comparison().differences == [changed]  # type: ignore[union-attr]
    waits = [(each.page, each.words) for each in read_overview(now=AFTER)["waits"]]
    assert ("leaderboard-check", "1 difference in the leaderboard") in waits
    present.tables["defenses"][0]["id"] = "D-NONE"
    present.save()
    Attack.objects.create(team=red, image=factories.image(), received_at=MONDAY + timedelta(hours=3), week=W47)
    words = differences()
    assert "Now: defense D-NONE is shown, and by the facts it is not there" in words
    assert any(each.endswith(" is missing") for each in words)
    assert f"2026-W47: team {red.public_id}, sent: shown 1, by the facts 2" in words, "a fact written with an old time"


@pytest.fixture
def stake(olga: User) -> Stake:
    """A stake of the board on the defense that took the bird for a bicycle, which that ended within W47."""
    money.deposit(10**6, olga)
    stake = money.staked(Break.objects.get().defense, at=STAKED)
    with connection.cursor() as cursor, unprotected(connection, cursor, [Break._meta.db_table]):
        Break.objects.update(found_at=MONDAY + timedelta(hours=3))
    assert stakes_end(now=W47_END - timedelta(hours=1)) == 1
    return stake


@pytest.mark.parametrize("made_before", [True, False], ids=["made before the overrule", "made after it"])
def test_an_overrule_is_no_difference_of_a_past_week(made_before: bool, stake: Stake) -> None:
    later = AFTER + 8 * DAY
    if made_before:
        made(AFTER, later)
    money.overruled(Break.objects.get().image, at=later + MINUTE)
    assert (stakes_end(now=later + MINUTE), Stake.objects.get().ended_at) == (1, None)
    assert made(later + 2 * MINUTE) == [1 if made_before else 4], "the present is made at once"
    assert differences(later + 2 * MINUTE) == []
    states = [[row.state for row in shown(later, week).defenses if row.staked_since] for week in (W47, "")]
    assert states == [[DefenseStanding.BROKEN], [DefenseStanding.STAKED]], "of the week what was known in it"


def test_a_stake_that_was_tampered_with_is_found(stake: Stake) -> None:
    made(AFTER)
    assert differences() == []
    Stake.objects.update(end="", ended_at=None)
    (words,) = differences()
    assert f"defense {stake.defense.public_id}, the stake says in force, its changes say broken" in words
    StakeChange.objects.create(stake=stake, end="", ended_at=None, known_at=W47_END - timedelta(hours=1))
    assert not lacking(" ".join(differences()), *(("2026-W47: defense", "state: shown broken, by the facts staked")))


@pytest.mark.both("a trigger refuses it")
def test_a_change_of_a_stake_is_never_changed(stake: Stake) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        StakeChange.objects.update(end="won")


def test_the_check_runs_once_a_day_of_the_contest_s_zone() -> None:
    made(AFTER)  # at 8 o'clock
    moments = (AFTER, AFTER + timedelta(hours=15, minutes=59), AFTER + timedelta(hours=16))
    assert [snapshots.leaderboards_check_nightly(now=each) for each in moments] == [1, 0, 1]
    assert LeaderboardCheck.objects.count() == 2


# Who may read it, and how it is shown ---------------------------------------------------------------------------------


PAGES = [PAGE, "/leaderboard.csv", "/api/v1/leaderboard/"]


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the day after the release."""
    release()
    monkeypatch.setattr(timezone, "now", lambda: AFTER + DAY)


@pytest.mark.parametrize("page", PAGES)
def test_strangers_boards_and_organizers_may_read_it_and_taskers_may_not(
    page: str, rita: User, olga: User, tara: Tasker, nell: Tasker, signed_in: Any
) -> None:
    for client in (Client(), signed_in(rita), signed_in(olga)):
        assert client.get(page).status_code == 200
    for tasker in (tara, nell):
        answer = signed_in(tasker).get(page)
        assert (answer.status_code, b"not_for_taskers" in answer.content) == (403, True)


@pytest.mark.parametrize("page", PAGES)
def test_a_week_that_is_not_over_has_none(page: str, released: None, client: Client) -> None:
    for week in ("2026-W48", "nonsense", "2026-W47'"):
        answer = client.get(page, {"week": week})
        assert (answer.status_code, b"unknown_week" in answer.content) == (404, True)


def test_the_page_tells_both_tables_with_their_links(
    released: None, client: Client, django_assert_max_num_queries: Any
) -> None:
    made(timezone.now() - 4 * MINUTE)
    with django_assert_max_num_queries(4):
        page = client.get(PAGE).content.decode()
    link = f'href="/teams/{Team.objects.get(name="=red").public_id}/"'
    assert page.count(link) == 2, "as an attacker, and as who broke a defense"
    assert not lacking(page, 'href="/defenses/D-00002/"', "state-broken", "4 min ago")


def test_the_page_of_a_past_week_says_which_it_is(released: None, client: Client) -> None:
    said = ("when week 2026-W47 ended, on Sat 21 Nov 2026 00:00:00 UTC", 'value="2026-W47" selected')
    page = client.get(PAGE, {"week": W47}).content.decode()
    assert lacking(page, *said, "state-broken") == ["state-broken"], "its release came later"


# Sorting --------------------------------------------------------------------------------------------------------------


HEADINGS = {
    "": ("Rank", "ascending"),
    "name": ("Defense", "ascending"),
    "-name": ("Defense", "descending"),
    "-days": ("Days unbroken", "descending"),
    "nothing": ("Rank", "ascending"),
    "--name": ("Rank", "ascending"),
}


def test_the_sorted_column_says_so(released: None, client: Client) -> None:
    for asked, expected in HEADINGS.items():
        page = client.get(PAGE, {"defenses": asked, "attackers": "-sent"}).content.decode()
        for table, heading in (("defenses", expected), ("attackers", ("Pictures sent", "descending"))):
            part = page.partition(f'<h2 id="{table}">')[2].partition("</table>")[0]
            found = re.findall(r'<th scope="col"[^>]* aria-sort="(\w+)"><a href="[^"]*">([^<]*)</a>', part)
            assert [each[::-1] for each in found] == [heading], (asked, table)


def test_a_heading_keeps_the_week_and_the_order_of_the_other_table(released: None, client: Client) -> None:
    assert not lacking(
        client.get(PAGE, {"defenses": "-days", "attackers": "name", "week": W47}).content.decode(),
        'href="?defenses=days&amp;attackers=name&amp;week=2026-W47#defenses">Days unbroken',
        'href="?defenses=-days&amp;attackers=-breaks&amp;week=2026-W47#attackers">Breaks',
    )


def test_every_column_of_defenses_sorts(released: None, client: Client) -> None:
    rows = shown(timezone.now()).defenses
    for order in (sign + each.name for sign in ("", "-") for each in DEFENSES):
        assert client.get(PAGE, {"defenses": order}).status_code == 200, order
        assert sorted(row.id for row in sorting(DEFENSES, order).of(rows)) == sorted(row.id for row in rows), order


def test_every_column_of_attackers_sorts(released: None, client: Client) -> None:
    blue = Team.objects.create(name="blue", created_at=MONDAY)
    Attack.objects.create(team=blue, image=fixtures.picture(60, origin="attack"), received_at=MONDAY, week=W47)
    for column in (each.name for each in ATTACKERS):
        up, down = (
            [row[2] for row in read_csv(client, {"table": "attackers", "sort": sign + column})] for sign in ("", "-")
        )
        assert sorted(up) == sorted(down) == ["'=red", "blue"], column
        assert up == down[::-1] or column in ("sent", "prizes"), f"{column} is not the same for both"


# Files and calls ------------------------------------------------------------------------------------------------------


def read_csv(client: Client, asked: dict[str, str]) -> list[list[str]]:
    answer = client.get("/leaderboard.csv", asked)
    heading, *rows = csv.reader(io.StringIO(answer.content.decode()))
    assert (answer["Content-Type"], heading[:3]) == ("text/csv; charset=utf-8", ["rank", "id", "name"])
    return rows


def test_the_file_of_defenses_is_no_formula_and_is_named_after_its_week(released: None, client: Client) -> None:
    rows, sent = {row[1]: row for row in read_csv(client, {})}, MONDAY.isoformat()
    assert (rows["D-00002"][2], rows["D-00002"][6]) == ("'=SUM(A1)", "broken")
    assert rows["D-00002"][-4:] == [sent, W47, Team.objects.get().public_id, sent]
    assert rows["D-00001"][3] == "yes", "a demo"
    answer = client.get("/leaderboard.csv", {"week": W47, "table": "attackers"})
    assert 'filename="leaderboard-attackers-2026-W47.csv"' in answer["Content-Disposition"]


def test_the_call_tells_what_the_page_does(released: None, client: Client) -> None:
    answer = client.get("/api/v1/leaderboard/").json()
    red = {"id": Team.objects.get(name="=red").public_id, "name": "=red"}
    told = {row["id"]: (row["state"], row["broken_by"]) for row in answer["defenses"]}
    assert told["D-00002"] == ("broken", [red | {"at": "2026-11-16T09:30:00Z"}])
    numbers = {"rank": 1, "sent": 1, "valid": 1, "breaks": 1, "defenses": 1, "cents": 0}
    assert answer["attackers"] == [red | numbers | {"unpaid": False}]
    assert (answer["week"], answer["currency"]) == ("", "USD")
    past = client.get("/api/v1/leaderboard/", {"week": W47}).json()
    assert (past["week"], past["at"]) == (W47, "2026-11-21T00:00:00Z")


# The organizers' page -------------------------------------------------------------------------------------------------


ORGANIZERS_PAGE = "/organizer/leaderboard/"


def test_organizers_see_the_check_and_make_the_tables_anew(released: None, olga: User, signed_in: Any) -> None:
    client = signed_in(olga)
    assert "No check has run yet" in client.get(ORGANIZERS_PAGE).content.decode()
    made(timezone.now())
    empty = {"defenses": [], "attackers": []}
    Leaderboard.objects.filter(week="").update(tables=empty | {"at": timezone.now().isoformat()})
    Leaderboard.objects.filter(week=W47).update(tables=empty | {"at": W47_END.isoformat()})
    wrong = f">{len(differences(timezone.now()))} differences"
    assert not lacking(client.get(ORGANIZERS_PAGE).content.decode(), wrong, "Now: defense D-00001 is missing")
    answer = client.post(ORGANIZERS_PAGE, follow=True)
    assert answer.redirect_chain == [(ORGANIZERS_PAGE, 303)] and "no difference" in answer.content.decode()
    assert (snapshots.open_differences(), len(shown(timezone.now(), W47).attackers)) == (0, 1), "the alarm is over"
    assert snapshots.boards_remake(by=olga, now=timezone.now()) == 3


@pytest.mark.parametrize(("who", "status"), [("stan", 404), ("rita", 403), ("tara", 403)])
def test_nobody_else_sees_it(who: str, status: int, request: pytest.FixtureRequest, signed_in: Any) -> None:
    client = signed_in(request.getfixturevalue(who))
    assert [ask(ORGANIZERS_PAGE).status_code for ask in (client.get, client.post)] == [status, status]
    assert Client().get(ORGANIZERS_PAGE)["Location"].startswith("/sign-in/"), "a stranger is sent to sign in"
