"""The two tables from facts: ranks, credit, embargo, stakes and prizes, and that no order of facts matters."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contest.core.enums import DefenseStanding
from contest.record.leaderboard import facts as of
from contest.record.leaderboard.rows import BreakerRow, DefenseRank, Tables, TeamName, TeamRow
from contest.record.leaderboard.tables import ordered, ranks, tables
from scoring.trials.totals import AnswerTotals

DAY = timedelta(days=1)
# Week 2026-W47 ends as Saturday 21 November begins.
W47_END = datetime(2026, 11, 21, tzinfo=UTC)
SENT = W47_END - 3 * DAY
STAKED = W47_END - 20 * DAY
RELEASED = W47_END + 2 * DAY
NOW = W47_END + 10 * DAY
NAMES = {number: TeamName(f"G-{number}", name) for number, name in ((1, "red"), (2, "blue"), (3, "green"))}


def attack(number: int, team: int = 1, *, at: datetime = SENT, **more: Any) -> of.AttackFacts:
    values = {"picture": number, "week": "2026-W47", "week_end": W47_END} | more
    return of.AttackFacts(number, team=team, received_at=at, **values)


def defense(number: int = 1, **more: Any) -> of.DefenseFacts:
    values = {"demo": False, "published_at": STAKED - DAY, "retired_at": None, "team": None, "opened_at": STAKED - DAY}
    return of.DefenseFacts(number, f"D-{number}", f"defense {number}", **(values | more))


def stake(number: int = 1, **more: Any) -> of.StakeFacts:
    values = {"cents": 100_000, "clock_from": STAKED, "until": STAKED + 90 * DAY, "ended_at": None, "end": ""}
    return of.StakeFacts(number, **({"at": STAKED} | values | more))


def broke(row: int, of_defense: int, picture: int, **more: Any) -> of.BreakFacts:
    return of.BreakFacts(row, of_defense, picture, **({"label": "bird", "at": SENT + 5 * DAY} | more))


def contest(**more: Any) -> of.LeaderboardFacts:
    """A released week: red sent 1 and 2, blue sent 3 and later the pixels of 1; 1 and 3 are valid birds."""
    pictures = tuple(of.PictureFacts(number, SENT, "2026-W47", True) for number in (1, 2, 3))
    rulings = tuple(
        of.RulingFacts(number, 1, W47_END + DAY, label) for number, label in ((1, "bird"), (2, ""), (3, "bird"))
    )
    values: dict[str, Any] = {
        "releases": (of.ReleaseFacts(W47_END - 7 * DAY, W47_END, RELEASED),),
        "pictures": pictures,
        "attacks": (attack(1), attack(2), attack(3, 2), attack(4, 2, at=SENT + DAY, picture=1)),
        "rulings": rulings,
        "answers": tuple(of.AnswerFacts(1, number, W47_END + DAY) for number in (1, 2, 3)),
        "names": NAMES,
        "defenses": (defense(),),
        "stakes": (stake(),),
    }
    return of.LeaderboardFacts(**(values | more))


def team(facts: of.LeaderboardFacts, name: str, at: datetime = NOW) -> TeamRow:
    return next(row for row in tables(facts, at).attackers if row.name == name)


def first(facts: of.LeaderboardFacts, at: datetime = NOW) -> DefenseRank:
    return tables(facts, at).defenses[0]


# Attackers ------------------------------------------------------------------------------------------------------------


ONE = (broke(1, 1, 1),)
CREDIT: list[tuple[dict[str, Any], tuple[int, int, int], tuple[int, int, int], str]] = [
    ({"breaks": ONE}, (2, 1, 1), (2, 1, 0), "the first receipt has the credit, and a copy none"),
    ({"breaks": ONE, "attacks": (attack(1, known=True), attack(3, 2))}, (1, 0, 0), (1, 1, 0),
     "it was to be labeled before anybody sent it: nobody's"),
    ({"breaks": ONE, "pictures": (of.PictureFacts(1, SENT, "2026-W47", False),)}, (2, 0, 0), (2, 0, 0),
     "a picture that no release may hold is never told of"),
    ({"breaks": (broke(1, 1, 1), broke(2, 2, 1)), "defenses": (defense(1), defense(2))}, (2, 1, 2), (2, 1, 0),
     "one picture that breaks two defenses is two breaks"),
    ({"breaks": (broke(1, 1, 1), broke(2, 1, 1))}, (2, 1, 1), (2, 1, 0), "ruled on again with the same outcome: one"),
    ({"breaks": (broke(1, 1, 1), broke(2, 1, 3)), "defenses": (defense(team=1),)}, (2, 1, 0), (2, 1, 1),
     "one's own defense counts for nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "red", "blue", "why"), CREDIT, ids=[row[3] for row in CREDIT])
def test_who_has_the_credit(
    more: dict[str, Any], red: tuple[int, int, int], blue: tuple[int, int, int], why: str
) -> None:
    rows = [team(contest(**more), name) for name in ("red", "blue")]
    assert [(row.sent, row.valid, row.breaks) for row in rows] == [red, blue], why


def test_merged_teams_count_as_the_one_they_are_part_of() -> None:
    merges = (of.MergeFacts(2, 3, W47_END + DAY), of.MergeFacts(3, 1, W47_END + 2 * DAY))
    facts = contest(breaks=(broke(1, 1, 3),), merges=merges, prizes=(of.PrizeFacts(2, 500, RELEASED, (1,)),))
    assert [row.name for row in tables(facts, NOW).attackers] == ["red"]
    assert (team(facts, "red").sent, team(facts, "red").valid, team(facts, "red").cents) == (4, 2, 500)
    assert first(facts).broken_by == (BreakerRow("G-1", "red", SENT),)
    assert [row.name for row in tables(facts, W47_END).attackers] == ["blue", "red"], "nobody knew of it then"


@pytest.mark.parametrize(
    ("since", "until", "declared", "marked"),
    [
        (SENT - DAY, None, SENT, True),  # still so
        (SENT - DAY, SENT + DAY, SENT, True),  # over, and covers what it sent
        (SENT + DAY, SENT + 2 * DAY, SENT, False),  # between its attacks and now
        (SENT - DAY, None, NOW + DAY, False),  # declared later: nobody knew
        (SENT - DAY, SENT, SENT, False),  # ended the moment it sent
    ],
)
def test_unpaid_teams_are_marked(since: datetime, until: datetime | None, declared: datetime, marked: bool) -> None:
    facts = contest(attacks=(attack(1),), associations=(of.AssociationFacts(1, since, until, declared),))
    assert team(facts, "red").unpaid is marked


def test_an_association_in_error_marks_until_that_was_known() -> None:
    wrong = of.AssociationFacts(1, SENT - DAY, None, SENT, mistaken_at=RELEASED + DAY)
    facts = contest(attacks=(attack(1),), associations=(wrong,))
    assert (team(facts, "red", RELEASED).unpaid, team(facts, "red", RELEASED + DAY).unpaid) == (True, False)


def test_prizes_are_what_was_got_less_what_went_back_and_told_with_their_breaks() -> None:
    prizes = (of.PrizeFacts(1, 70_000, W47_END + DAY, (1,)), of.PrizeFacts(1, -20_000, RELEASED + DAY, (1,)))
    facts = contest(breaks=(broke(1, 1, 1),), prizes=prizes)
    moments = (RELEASED - timedelta(microseconds=1), RELEASED, NOW)
    assert [team(facts, "red", at).cents for at in moments] == [0, 70_000, 50_000], "the correction came later"


# What is public when --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "sent", "valid", "breaks"),
    [
        (W47_END - timedelta(microseconds=1), 0, 0, 0),  # the week is not over (R24)
        (W47_END, 2, 0, 0),  # over: pictures are public, verdicts are not
        (RELEASED - timedelta(microseconds=1), 2, 0, 0),
        (RELEASED, 2, 1, 1),  # the release tells (R39)
    ],
)
def test_pictures_are_public_with_their_week_and_verdicts_with_its_release(
    at: datetime, sent: int, valid: int, breaks: int
) -> None:
    rows = [row for row in tables(contest(breaks=(broke(1, 1, 1),)), at).attackers if row.name == "red"]
    assert [(row.sent, row.valid, row.breaks) for row in rows] == ([(sent, valid, breaks)] if sent else [])


def test_a_later_ruling_counts_from_its_own_time_on() -> None:
    facts = contest(breaks=(broke(1, 1, 1),))
    facts = replace(facts, rulings=(*facts.rulings, of.RulingFacts(1, 2, RELEASED + DAY, "")))
    assert (team(facts, "red", RELEASED).breaks, team(facts, "red").breaks) == (1, 0)
    assert (first(facts, RELEASED).state, first(facts).state) == (DefenseStanding.BROKEN, DefenseStanding.STAKED)


# Defenses -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({"stakes": ()}, DefenseStanding.PUBLISHED),
        ({}, DefenseStanding.STAKED),
        ({"breaks": (broke(1, 1, 1),)}, DefenseStanding.BROKEN),
        ({"stakes": (), "breaks": (broke(1, 1, 1),)}, DefenseStanding.BROKEN),  # a break needs no stake
        # What ended a stake is known at once, before the release tells what it was.
        ({"releases": (), "stakes": (stake(ended_at=SENT, end="broken"),)}, DefenseStanding.BROKEN),
        ({"stakes": (stake(ended_at=SENT, end="void"),)}, DefenseStanding.BROKEN),
        ({"stakes": (stake(ended_at=SENT, end="won"),)}, DefenseStanding.WON),
        ({"stakes": (stake(ended_at=SENT, end="overtaken"),)}, DefenseStanding.PUBLISHED),
        ({"stakes": (stake(ended_at=NOW + DAY, end="won"),)}, DefenseStanding.STAKED),  # not yet
        ({"defenses": (defense(retired_at=SENT),)}, DefenseStanding.WITHDRAWN),
        ({"stakes": (stake(at=NOW + DAY),)}, DefenseStanding.PUBLISHED),
        # Staked a second time after the first came to nothing.
        ({"stakes": (stake(at=STAKED - DAY, ended_at=STAKED, end="withdrawn"), stake())}, DefenseStanding.STAKED),
    ],
)
def test_a_defense_stands_as_the_last_that_is_true_of_it(more: dict[str, Any], state: DefenseStanding) -> None:
    assert first(contest(**more)).state is state


@pytest.mark.parametrize(
    ("at", "state"),
    [
        (SENT - DAY, DefenseStanding.STAKED),
        (SENT, DefenseStanding.BROKEN),
        (SENT + 2 * DAY, DefenseStanding.STAKED),
        (SENT + 3 * DAY, DefenseStanding.WON),
    ],
)
def test_a_stake_stands_as_it_was_known_to(at: datetime, state: DefenseStanding) -> None:
    known = {SENT: "broken", SENT + 2 * DAY: "", SENT + 3 * DAY: "won"}
    changes = tuple(of.StakeChangeFacts(when, when if end else None, end) for when, end in known.items())
    assert first(contest(stakes=(stake(changes=changes),)), at).state is state


WON = stake(ended_at=NOW - DAY, end="won", until=SENT + DAY)


@pytest.mark.parametrize(
    ("more", "state", "why"),
    [
        ({}, DefenseStanding.WON, "unbroken"),
        ({"breaks": (broke(1, 1, 1),)}, DefenseStanding.BROKEN, "a break of its time was found late (R37)"),
        (
            {"breaks": (broke(1, 1, 1),), "stakes": (replace(WON, until=SENT),)},
            DefenseStanding.WON,
            "sent when its time was over",
        ),
        (
            {"defenses": (defense(team=3),), "associations": (of.AssociationFacts(3, STAKED, None, NOW),)},
            DefenseStanding.PUBLISHED,
            "its team is not paid (R27)",
        ),
        (
            {"defenses": (defense(team=3),), "associations": (of.AssociationFacts(3, STAKED, None, NOW + DAY),)},
            DefenseStanding.WON,
            "not declared yet",
        ),
        (
            {"defenses": (defense(team=3),), "associations": (of.AssociationFacts(3, NOW, None, STAKED),)},
            DefenseStanding.WON,
            "from after the award on",
        ),
    ],
)
def test_an_award_stands_while_the_facts_ask_for_it(more: dict[str, Any], state: DefenseStanding, why: str) -> None:
    assert first(contest(**({"stakes": (WON,)} | more))).state is state, why


def test_a_lost_award_ranks_behind_what_is_at_stake() -> None:
    stakes = (WON, replace(stake(2), at=NOW - DAY))
    facts = contest(defenses=(defense(), defense(2)), stakes=stakes, breaks=(broke(1, 1, 1),))
    assert [row.id for row in tables(facts, NOW).defenses] == ["D-2", "D-1"]


def test_days_unbroken_are_whole_ones_from_the_stake_to_the_first_picture_that_broke_it() -> None:
    broken = (broke(1, 1, 1),)
    row = first(contest(breaks=broken))
    assert (row.days_unbroken, row.broken_at, row.broken_week) == (17, SENT, "2026-W47")
    early = first(contest(stakes=(stake(at=SENT + DAY),), breaks=broken))
    assert early.days_unbroken == 0, "broken before it was at stake"
    ends = (STAKED + DAY - timedelta(microseconds=1), STAKED + DAY, NOW)
    assert [first(contest(), at).days_unbroken for at in ends] == [0, 1, 30], "days of 24 hours"


@pytest.mark.parametrize(
    ("more", "survived", "why"),
    [
        ({}, 2, "valid ones of others"),
        ({"answers": (of.AnswerFacts(1, 1, SENT),)}, 1, "3 was not answered"),
        ({"defenses": (defense(team=2),)}, 1, "3 is of its own team"),
        ({"stakes": (stake(at=SENT + DAY),)}, 0, "sent before the stake"),
        ({"stakes": ()}, None, "there is no stake"),
        (
            {"attacks": (attack(1), attack(3, 2, at=SENT - DAY)), "breaks": (broke(1, 1, 1),)},
            1,
            "1 is of the moment it broke",
        ),
    ],
)
def test_attacks_survived_are_valid_ones_of_others_that_it_answered(
    more: dict[str, Any], survived: int | None, why: str
) -> None:
    assert first(contest(**more)).survived == survived, why


def test_who_broke_it_are_the_teams_of_the_earliest_week_in_the_order_of_receipt() -> None:
    later = attack(5, 3, at=W47_END + DAY, week="2026-W48", week_end=W47_END + 7 * DAY)
    facts = contest()
    row = first(
        replace(
            facts,
            attacks=(attack(1), attack(3, 2, at=SENT - DAY), later),
            breaks=(broke(1, 1, 1), broke(2, 1, 3), broke(3, 1, 5)),
            releases=(of.ReleaseFacts(W47_END - 7 * DAY, W47_END + 7 * DAY, RELEASED),),
            pictures=(*facts.pictures, of.PictureFacts(5, later.received_at, "2026-W48", True)),
            rulings=(*facts.rulings, of.RulingFacts(5, 1, RELEASED, "bird")),
        )
    )
    assert [each.name for each in row.broken_by] == ["blue", "red"]


def of_organizers(number: int, at: datetime) -> of.PictureFacts:
    return of.PictureFacts(number, at, "2026-W47", True)


@pytest.mark.parametrize(
    ("also", "why"),
    [
        (None, "each with its own first picture"),
        (SENT - 2 * DAY, "a mistake on a picture of the organizers' own, which came first: it breaks nothing (R29)"),
        (SENT + DAY, "one that came later"),
    ],
)
@pytest.mark.parametrize("known", [False, True], ids=["sent by nobody", "sent when it was known"])
def test_every_team_is_named_with_the_time_of_its_own_picture(known: bool, also: datetime | None, why: str) -> None:
    attacks = [attack(1), attack(6, at=SENT + DAY), attack(3, 2, at=SENT - DAY)]
    breaks = [broke(1, 1, 1), broke(2, 1, 3), broke(3, 1, 6)]
    facts = contest()
    pictures, rulings = [of_organizers(6, SENT)], [of.RulingFacts(6, 1, W47_END, "bird")]
    if also is not None:
        pictures.append(of_organizers(5, also))
        rulings.append(of.RulingFacts(5, 1, W47_END, "bird"))
        breaks.append(broke(9, 1, 5))
        attacks += [attack(7, 2, at=also, picture=5, known=True)] if known else []
    row = first(
        replace(
            facts,
            attacks=tuple(attacks),
            breaks=tuple(breaks),
            pictures=(*facts.pictures, *pictures),
            rulings=(*facts.rulings, *rulings),
        )
    )
    days = (SENT - DAY - STAKED) // DAY
    assert (row.broken_at, row.broken_week, row.days_unbroken) == (SENT - DAY, "2026-W47", days), why
    assert [(each.name, each.at) for each in row.broken_by] == [("blue", SENT - DAY), ("red", SENT)], why


def test_a_mistake_outside_the_contest_breaks_nothing() -> None:
    pictures, rulings = (of_organizers(1, SENT),), (of.RulingFacts(1, 1, RELEASED, "bird"),)
    row = first(contest(attacks=(), pictures=pictures, rulings=rulings, breaks=(broke(1, 1, 1),)))
    assert (row.state, row.broken_at, row.broken_week, row.broken_by) == (DefenseStanding.STAKED, None, "", ())


@pytest.mark.parametrize(
    ("more", "moment", "over", "why"),
    [
        ({}, STAKED + 90 * DAY - timedelta(microseconds=1), False, "its last moment"),
        ({}, STAKED + 90 * DAY, True, "exactly at its end it is over"),
        ({"until": None}, STAKED + 90 * DAY, False, "a closed source has no time"),
        ({"ended_at": NOW, "end": "withdrawn"}, STAKED + 90 * DAY, False, "it is not at stake any more"),
    ],
)
def test_a_stake_whose_time_is_over_waits(more: dict[str, Any], moment: datetime, over: bool, why: str) -> None:
    assert first(contest(stakes=(stake(**more),)), moment).is_over(moment) is over, why


def test_a_closed_defense_has_no_clock_and_gets_one_when_it_is_opened() -> None:
    opened = NOW - DAY
    facts = contest(defenses=(defense(opened_at=opened),), stakes=(stake(clock_from=opened, until=opened + 90 * DAY),))
    rows = [first(facts, at) for at in (SENT, NOW)]
    assert [(row.clock_ends, row.open_source) for row in rows] == [(None, False), (opened + 90 * DAY, True)]


def test_the_newest_totals_of_the_private_set_are_told() -> None:
    trials = tuple(
        of.TrialFacts(1, at, AnswerTotals(100, right, 0, 100 - right, 0)) for at, right in ((SENT, 90), (STAKED, 80))
    )
    told = [first(contest(trials=trials), at).eligibility for at in (STAKED, NOW)]
    assert told == [AnswerTotals(100, 80, 0, 20, 0), AnswerTotals(100, 90, 0, 10, 0)]


def test_the_newest_warm_up_of_the_moment_is_told() -> None:
    warmups = tuple(of.WarmupFacts(1, at, accuracy, 1) for at, accuracy in ((SENT, 0.9), (STAKED, 0.8)))
    told = [first(contest(warmups=warmups), at).warmup for at in (STAKED, NOW)]
    assert told == [0.8, 0.9] and first(contest()).warmup is None


def test_warm_ups_are_compared_by_the_newest_version_of_the_attacks_at_that_moment() -> None:
    warmups = (of.WarmupFacts(1, STAKED, 0.8, 9), of.WarmupFacts(2, SENT, 0.7, 10))
    told = [first(contest(warmups=warmups, defenses=(defense(1), defense(2))), at).warmup for at in (STAKED, NOW)]
    assert told == [0.8, None]


def test_a_warm_up_on_other_pictures_than_the_newest_is_flagged() -> None:
    warmups = (of.WarmupFacts(1, STAKED, 0.8, 1, "week 1", ("flat",)), of.WarmupFacts(2, SENT, 0.7, 1, "week 2"))
    both = contest(warmups=warmups, defenses=(defense(1), defense(2)))
    assert [first(both, at).warmup_warnings for at in (STAKED, NOW)] == [("flat",), ("flat", "other pictures")]
    assert first(contest(warmups=warmups), NOW).warmup_warnings == ("flat",), "the other one is not published"
    again = of.WarmupFacts(1, SENT + DAY, 0.8, 1, "week 2")
    assert first(replace(both, warmups=(*warmups, again)), NOW).warmup_warnings == (), "measured again"


def test_randomised_is_told_of_released_pictures_alone() -> None:
    facts = contest(varied=(of.AnswerFacts(1, 1, W47_END),))
    assert (first(facts, W47_END).randomised, first(facts).randomised) == (False, True)


def test_a_defense_is_not_there_before_its_publication() -> None:
    assert tables(contest(), STAKED - 2 * DAY).defenses == ()


# Ranks ----------------------------------------------------------------------------------------------------------------


def test_equal_ranks_are_shared_and_the_next_ones_passed_over() -> None:
    assert (ranks([(3,), (2,), (2,), (1,)]), ranks([(1, 5), (1, 5), (2, 0)])) == ([1, 2, 2, 4], [2, 2, 1])
    assert ranks([]) == []


def test_teams_with_the_same_breaks_and_valid_attacks_share_a_rank() -> None:
    attacks = (attack(1), attack(2, 2), attack(3, 3))
    rows = tables(contest(attacks=attacks, rulings=(of.RulingFacts(1, 1, W47_END, "bird"),)), NOW).attackers
    assert [(row.name, row.rank) for row in rows] == [("red", 1), ("blue", 2), ("green", 2)]


def test_winners_come_before_what_is_at_stake_before_the_broken_ones_and_unstaked_ones_have_no_rank() -> None:
    facts = contest(
        defenses=tuple(defense(number) for number in (1, 2, 3, 4, 5)),
        stakes=(
            stake(1, at=STAKED - 30 * DAY, ended_at=SENT, end="broken"),
            stake(2),
            stake(3, ended_at=SENT, end="won"),
            stake(4),
        ),
    )
    rows = [(row.id, row.rank) for row in tables(facts, NOW).defenses]
    assert rows == [("D-3", 1), ("D-2", 2), ("D-4", 2), ("D-1", 4), ("D-5", None)]


def test_rows_without_a_value_come_last_either_way() -> None:
    found = [ordered([None, 1, 3, 2], lambda each: each, descending=descending) for descending in (False, True)]
    assert found == [[1, 2, 3, None], [3, 2, 1, None]]


def test_tables_come_back_from_json_as_they_were() -> None:
    trials = (of.TrialFacts(1, SENT, AnswerTotals(10, 9, 0, 1, 0)),)
    found = tables(contest(breaks=(broke(1, 1, 1),), defenses=(defense(team=2), defense(2)), trials=trials), NOW)
    assert Tables.from_json(found.to_json()) == found


# No order matters -----------------------------------------------------------------------------------------------------


def moments() -> st.SearchStrategy[datetime]:
    return st.integers(0, 400).map(lambda hours: W47_END - 10 * DAY + timedelta(hours=hours))


@st.composite
def contests(draw: st.DrawFn) -> of.LeaderboardFacts:
    """Facts that contradict nothing: pictures, attacks by three teams on three defenses, rulings, breaks, prizes."""
    sent = draw(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3), moments()), max_size=8))
    attacks = tuple(attack(number, who, at=at, picture=which) for number, (which, who, at) in enumerate(sent, 1))
    labels = st.sampled_from(["", "bird", "bicycle"])
    rulings = draw(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3), moments(), labels), max_size=8))
    distinct = {(picture, number): of.RulingFacts(picture, number, at, label) for picture, number, at, label in rulings}
    # Only what was valid can be broken, whatever became of the verdict later.
    classes = st.sampled_from(["bird", "bicycle"])
    mistakes = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5), classes, moments()), max_size=8))
    merges = draw(
        st.sampled_from([(), (of.MergeFacts(2, 1, SENT),), (of.MergeFacts(2, 3, SENT), of.MergeFacts(3, 1, W47_END))])
    )
    paid = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(-50, 50), moments()), max_size=4))
    return contest(
        attacks=attacks,
        rulings=tuple(distinct.values()),
        pictures=tuple(of.PictureFacts(number, SENT, "2026-W47", True) for number in range(1, 6)),
        breaks=tuple(broke(row, which, on, label=label, at=at) for row, (which, on, label, at) in enumerate(mistakes)),
        answers=tuple(of.AnswerFacts(which, on, SENT) for which in (1, 2, 3) for on in range(1, 6)),
        defenses=(defense(1), defense(2, team=1), defense(3, opened_at=None)),
        stakes=(stake(1), stake(2, at=SENT), stake(3, at=SENT + DAY, ended_at=W47_END, end="broken")),
        merges=merges,
        prizes=tuple(of.PrizeFacts(who, cents, at, ()) for who, cents, at in paid),
    )


def assert_breakers_sent_what_broke(facts: of.LeaderboardFacts, at: datetime) -> None:
    """Of the earliest week with a break (R35), and each team once."""
    broke_it = {(each.defense, each.picture) for each in facts.breaks}
    numbers = {each.public_id: each.defense for each in facts.defenses}
    into = {each.team: each.into for each in facts.merges if each.at <= at}
    ids = {team: name.id for team, name in facts.names.items()}

    def part_of(team: int) -> int:
        return part_of(into[team]) if team in into else team

    for row in tables(facts, at).defenses:
        mine = [each for each in facts.attacks if (numbers[row.id], each.picture) in broke_it]
        named = [(each.id, each.at) for each in row.broken_by]
        assert {(ids[part_of(each.team)], each.received_at) for each in mine}.issuperset(named)
        times = [each.at for each in row.broken_by]
        assert (len({name for name, _ in named}), sorted(times)) == (len(named), times)
        assert row.broken_at == (times[0] if times else None)


def assert_tables_hold(facts: of.LeaderboardFacts, at: datetime, seed: int) -> None:
    found, rng = tables(facts, at), Random(seed)
    rows = {each.name: getattr(facts, each.name) for each in fields(of.LeaderboardFacts) if each.name != "names"}
    mixed = {name: tuple(rng.sample(each, len(each))) for name, each in rows.items()}
    assert tables(replace(facts, **mixed), at) == found, "no order of facts matters"
    kinds = ("releases", "rulings", "breaks", "merges", "prizes", "answers", "varied")
    kept = {name: tuple(row for row in rows[name] if row.at <= at) for name in kinds}
    assert tables(replace(facts, **kept), at) == found, "what happens later does not change the table of a moment"
    assert sum(row.valid for row in found.attackers) <= len({each.picture for each in facts.attacks}), "credit is once"
    assert all(row.defenses <= row.breaks <= 3 * row.valid <= 3 * row.sent for row in found.attackers)
    assert_breakers_sent_what_broke(facts, at)


@settings(max_examples=20)
@given(contests(), moments(), st.integers(0, 9))
def test_whatever_the_facts_the_tables_hold(facts: of.LeaderboardFacts, at: datetime, seed: int) -> None:
    assert_tables_hold(facts, at, seed)


@pytest.mark.long("three hundred drawn contests")
@settings(max_examples=300)
@given(contests(), moments(), st.integers(0, 9))
def test_whatever_many_facts_the_tables_hold(facts: of.LeaderboardFacts, at: datetime, seed: int) -> None:
    assert_tables_hold(facts, at, seed)
