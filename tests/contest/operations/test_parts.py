"""What the overview says beside deadlines: ages, hanging leases, gold, disagreement, taskers, cases, what waits; the
pages behind it, and that each of its lines leads somewhere; who enters is in `tests/test_pages.py`."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from adjudication.models import Ruling
from config.context import ORGANIZER
from contest.core.models import Case
from contest.core.weeks import week_at, week_called
from contest.operations.disagreement import read_disagreement
from contest.operations.flagged_taskers import flagged_taskers
from contest.operations.gold_supply import GoldLeft, SuspiciousGold, gold_supply
from contest.operations.hanging_leases import hanging_leases
from contest.operations.late_cases import case_backlog
from contest.operations.picture_ages import panel_ages
from contest.operations.waiting_items import WaitingItem, in_line, oldest_first, waiting_items
from labeling.models import (
    Assignment,
    GoldMark,
    MonitoringEvent,
    MonitoringRule,
    Panel,
    Question,
    StateChange,
    Tasker,
)
from policy.numbers import Policy
from scoring.models import Defense, Run
from tests import factories
from tests.contest.operations.test_deadlines import waiting, worked
from tests.contest.pages import lacking, main, words

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


# Ages ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "name"),
    [
        (-timedelta(seconds=1), "under 1 h"),  # written by a machine whose clock is ahead
        (timedelta(0), "under 1 h"),
        (HOUR, "1 to 6 h"),
        (6 * HOUR - timedelta(seconds=1), "1 to 6 h"),
        (30 * HOUR, "1 to 2 days"),
        (timedelta(days=7), "7 days and more"),
        (timedelta(days=700), "7 days and more"),
    ],
)
def test_a_panel_is_counted_once_at_its_age(age: timedelta, name: str, now: datetime) -> None:
    factories.panel(dealt_at=now - age)
    found = panel_ages(now=now)
    assert [(row.name, row.counts) for row in found.rows if row.total] == [(name, (1,))]
    assert [bar.value.number for bar in found.chart.bars] == [row.total for row in found.rows]


def test_panels_are_counted_by_what_they_miss(tara: Tasker, now: datetime) -> None:
    factories.response(tara, factories.panel(dealt_at=now - 2 * HOUR))
    factories.panel(dealt_at=now - 2 * HOUR)
    factories.settle(factories.panel())
    again = factories.panel(dealt_at=now - timedelta(days=30), size=4)
    Panel.objects.filter(pk=again.pk).update(joined=1, joined_at=now - 8 * HOUR, ruled_through=3, urgent=True)
    found = panel_ages(now=now)
    assert found.missing == (2, 3, 4)
    assert {row.name: row.counts for row in found.rows if row.total} == {"1 to 6 h": (1, 1, 0), "6 to 24 h": (0, 0, 1)}


# Leases -------------------------------------------------------------------------------------------------------------


def leased(to: Tasker, *, since: datetime, until: datetime) -> Assignment:
    held = factories.assignment(to, factories.panel(), state="leased")
    Assignment.objects.filter(pk=held.pk).update(leased_at=since, expires_at=until, ended_at=None)
    return held


def test_leases_that_hang_say_what_helps_the_oldest_first(
    tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    held = leased(tara, since=now - 5 * HOUR, until=now + HOUR)
    leased(otto, since=now - 9 * HOUR, until=now - 8 * HOUR)
    leased(uma, since=now - HOUR, until=now + HOUR)  # it is in use
    leased(factories.tasker("ann"), since=now - HOUR, until=now - timedelta(seconds=30))  # the next sweep has it
    over, long = hanging_leases(now=now)
    assert (over.what, over.since) == ("1 picture held by taskers beyond the end of the lease", now - 8 * HOUR)
    assert "./unanimous work" in over.help and not over.page
    what = f"{held.image.public_id} held and renewed by {tara.public_id}"
    told = (what, now - 5 * HOUR, "organizer-tasker", tara.public_id)
    assert (long.what, long.since, long.page, long.argument) == told


def a_run(created: datetime, **told: Any) -> Run:
    defense, _ = Defense.objects.get_or_create(name="Small CNN", digest="a", defaults={"created_at": created})
    return Run.objects.create(defense=defense, created_at=created, seed=1, batch_size=16, round=1, **told)


def test_work_whose_scorer_is_silent_hangs(now: datetime) -> None:
    for lease in (now - HOUR, now + HOUR):
        a_run(now - HOUR, state="running", worker="gpu-1", lease_until=lease)
    (silent,) = hanging_leases(now=now)
    assert (silent.page, silent.since) == ("scoring-queue", now - HOUR)
    assert silent.what.endswith("of Small CNN: gpu-1 is silent")


# Gold ---------------------------------------------------------------------------------------------------------------


def answered_gold(by: Tasker, known: Any, *, right: bool, now: datetime) -> None:
    response = factories.response(by, known.panel, known=known, counted=False, now=now)
    GoldMark.objects.create(response=response, known=known, tasker=by, right=right, marks={}, marked_at=now)


def test_gold_is_counted_by_how_worn_it_is(now: datetime) -> None:
    for uses in (0, 7, 8, 9, 10, 11):
        factories.gold(uses=uses)
    factories.gold(held_at=now, uses=2)
    factories.gold(retired_at=now, retired_because="leaked", uses=2)
    assert (
        gold_supply(Policy(gold_most_uses=10), now=now).items()
        >= {"usable": 4, "uses_left": 10 + 3 + 2 + 1, "worn": 2, "used_up": 2, "held": 1}.items()
    )


def test_what_is_left_is_told_per_tasker_and_for_how_long_it_lasts(tara: Tasker, otto: Tasker, now: datetime) -> None:
    pictures = [factories.gold() for _ in range(4)]
    factories.response(otto, factories.panel(), now=now - HOUR)
    for known in pictures[:2]:
        answered_gold(tara, known, right=True, now=now - HOUR)
    factories.tasker("long gone")
    found = gold_supply(Policy(), now=now)
    assert found["left"] == [GoldLeft(tara.public_id, 2, 2), GoldLeft(otto.public_id, 4, 0)]
    assert ([each.days for each in found["left"]], found["taskers"], found["short"]) == ([7, None], 2, 2)


@pytest.mark.parametrize(
    ("right", "asked", "suspicious", "why"),
    [
        (0, 4, False, "four answers say too little"),
        (0, 5, True, "nobody of five"),
        (2, 10, False, "two of ten may still be half"),
        (1, 10, True, "one of ten is not"),
        (8, 10, False, "most are right"),
    ],
)
def test_gold_that_many_fail_is_suspicious(right: int, asked: int, suspicious: bool, why: str, now: datetime) -> None:
    known = factories.gold()
    for number in range(asked):
        answered_gold(factories.tasker(f"g{number}"), known, right=number < right, now=now)
    expected = (SuspiciousGold(known.image.public_id, right, asked),) if suspicious else ()
    assert gold_supply(Policy(), now=now)["suspicious"] == expected, why


# Disagreement -------------------------------------------------------------------------------------------------------

SQUARE, HALF = "[[[0,0],[200,0],[200,200],[0,200]]]", "[[[0,0],[100,0],[100,200],[0,200]]]"


def ruled(panel: Panel, at: datetime) -> str:
    factories.settle(panel, now=at)
    Ruling.objects.create(
        image=panel.image,
        number=1,
        panel=panel,
        verdict="rejected",
        reasons=["uncertain"],
        response_ids=[],
        policy=factories.policy_version(),
        decided_at=at,
        decided_by="rules",
    )
    return str(panel.image.public_id)


def test_disagreement_is_counted_by_question_where_two_could_differ(
    tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    agreed, split, old = (factories.panel() for _ in range(3))
    for each in (tara, otto, uma):
        factories.response(each, agreed, outline=SQUARE)
        factories.response(each, old, bird="unsure_yes" if each is uma else "definitely_yes")
    factories.response(tara, split, outline=SQUARE)
    factories.response(otto, split, outline=HALF, complete=False)
    factories.response(uma, split, bird="unsure_no", box=None, complete=None, unoccluded=None, real=None)
    ruled(agreed, now - HOUR)
    name = ruled(split, now - HOUR)
    ruled(old, now - timedelta(days=15))
    found = read_disagreement(now=now)
    assert found.panels == 2 and {each.name: (each.differ, each.panels) for each in found.questions} == {
        "1 bird": (1, 2),
        "2 bicycle": (0, 2),
        "3 outline": (1, 2),
        "4 complete": (1, 2),
        "4 unoccluded": (0, 2),
        "4 real": (0, 2),
    }
    told = (name, "bird, complete, outline", pytest.approx(50))
    assert [(each.public_id, each.words, each.overlap) for each in found.pictures] == [told]


def test_without_answers_to_compare_there_is_no_share(tara: Tasker, now: datetime) -> None:
    ruled(factories.response(tara, factories.panel()).panel, now)
    found = read_disagreement(now=now)
    assert ([each.share for each in found.questions], found.pictures, found.chart.bars) == ([None] * 6, (), ())


# Taskers ------------------------------------------------------------------------------------------------------------


def test_taskers_to_look_at_are_the_paused_and_those_a_rule_fired_for(
    tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    rule = MonitoringRule.objects.create(
        name="Too fast", collector="fast_share", window=20, minimum=15, comparison=">", threshold=0.5,
        action="warn", words="Take your time.", created_at=now,
    )  # fmt: skip
    for hours, tasker in ((2, otto), (3, otto), (200, uma)):
        MonitoringEvent.objects.create(rule=rule, tasker=tasker, action="warn", figures={}, fired_at=now - hours * HOUR)
    Tasker.objects.filter(pk=tara.pk).update(state="paused")
    StateChange.objects.create(
        tasker=tara, before="qualified", after="paused", code="paused", reason="r", changed_at=now - 9 * HOUR
    )
    first, second = flagged_taskers(now=now)
    assert (first.public_id, first.paused, first.rules, first.last) == (tara.public_id, True, (), now - 9 * HOUR)
    told = (otto.public_id, ("Too fast",), 2, now - 2 * HOUR)
    assert (second.public_id, second.rules, second.events, second.last) == told


# Cases --------------------------------------------------------------------------------------------------------------


def case(opened: datetime, due: datetime, **values: Any) -> Case:
    told = {"kind": "motion", "motion": "grant", "policy": factories.policy_version(), "opened_at": opened}
    return Case.objects.create(due_at=due, **told | values)


def test_open_cases_are_listed_by_id_alone_the_first_due_first(now: datetime) -> None:
    late = case(now - 30 * HOUR, now - HOUR, reason="The secret argument.")
    soon, short = case(now - 3 * HOUR, now + 5 * HOUR), case(now - 3 * HOUR, now + 50 * HOUR, told_at=now - HOUR)
    other = case(now, now + 25 * HOUR)
    case(now, now - HOUR, state="closed", closed_at=now)
    case(now, now - HOUR, state="panel")
    found = case_backlog(now=now)
    assert (found["open"], found["oldest"]) == (4, now - 30 * HOUR)
    assert (found["with_taskers"], found["late"], found["without_quorum"]) == (1, 1, 1)
    assert [(each.public_id, each.late, each.soon, each.without_quorum) for each in found["listed"]] == [
        (late.public_id, True, False, None),
        (soon.public_id, False, True, None),
        (other.public_id, False, False, None),
        (short.public_id, False, False, now - HOUR),
    ]
    assert "secret" not in str(found)


# What waits ---------------------------------------------------------------------------------------------------------


def test_what_waits_is_told_with_since_when_the_oldest_does(tara: Tasker, now: datetime) -> None:
    for hours in (3, 30):
        Question.objects.create(tasker=tara, text="Is a weathercock a bird?", asked_at=now - hours * HOUR)
    assert waiting_items(now=now) == (
        WaitingItem("organizer-questions", "2 questions without an answer", now - 30 * HOUR),
    )


def test_lines_that_go_on_by_themselves_are_told_too(now: datetime) -> None:
    for hours, state in ((1, "queued"), (5, "queued"), (9, "finished"), (2, "dead")):
        a_run(now - hours * HOUR, state=state, finished_at=now - hours * HOUR)
    case(now - HOUR, now + HOUR)
    found = list(in_line(to_release=week_called("2026-W45"), board=case_backlog(now=now)))
    assert [(each.words, each.since, each.fragment) for each in found] == [
        ("2 runs wait for a scorer", now - 5 * HOUR, ""),
        ("1 run gave up", now - 2 * HOUR, "dead-runs"),
        ("1 case before the board", now - HOUR, "board-cases"),
        ("week 2026-W45 is not released", week_called("2026-W45").end, "releases"),
    ]


def test_the_oldest_comes_first_and_what_has_no_time_before_it(now: datetime) -> None:
    young, old, timeless = (
        WaitingItem("a", "young", now),
        WaitingItem("b", "old", now - HOUR),
        WaitingItem("c", "timeless"),
    )
    assert oldest_first((young, timeless, old)) == (timeless, old, young)


# The pages -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Any:
    return signed_in(olga)


@pytest.fixture
def last_week() -> datetime:
    """An hour before the present week began: its pictures are labeled now."""
    return week_at(timezone.now()).start - timedelta(hours=1)


def test_what_is_no_week_is_not_found(organizer: Client) -> None:
    for name in ("2026-W60", "W46", "46", "2026-w46", "1999-W01"):
        assert organizer.get(f"/organizer/weeks/{name}/").status_code == 404, name


def test_an_empty_contest_has_quiet_pages(organizer: Client) -> None:
    assert "No picture of this week is missing an answer." in words(organizer, "/organizer/weeks/2026-W46/")
    assert "did taskers differ" in words(organizer, "/organizer/differing/")
    assert not lacking(
        words(organizer, "/organizer/"),
        "No picture waits for an answer.",
        "No panel is open.",
        "None: no lease is past its end",
        "There is no gold",
        "No panel was ruled on in the last 2 weeks.",
        "Nobody is paused, and no rule fired in the last 7 days.",
        "No case waits for the board.",
    )


def test_without_answers_the_deadline_is_told_without_a_forecast(organizer: Client, last_week: datetime) -> None:
    waiting(2, received=last_week)
    name, page = week_at(last_week).name, words(organizer, "/organizer/")
    assert not lacking(page, f"{name} 2 2 in ", "No answer in the last 24 hours: no forecast.")
    assert "How this is reached" not in page
    assert "2 pictures, 2 of them to finish, 6 answers missing." in words(organizer, f"/organizer/weeks/{name}/")


def test_pictures_at_risk_are_shown_with_their_chance(
    organizer: Client, tara: Tasker, otto: Tasker, uma: Tasker, last_week: datetime
) -> None:
    worked([tara, otto, uma], timezone.now())
    hopeless, name = waiting(40, received=last_week)[-1].image.public_id, week_at(last_week).name
    page, week = main(organizer, "/organizer/"), words(organizer, f"/organizer/weeks/{name}/")
    assert not lacking(page, f'href="/organizer/weeks/{name}/#at-risk"', "How this is reached", tara.public_id)
    assert not lacking(week, "at risk.", "under 1 %", "Invite taskers", hopeless), "the last of the queue is at risk"


def test_the_pictures_taskers_differ_on_are_shown_with_their_answers_and_no_names(
    organizer: Client, tara: Tasker, otto: Tasker, uma: Tasker
) -> None:
    split = factories.panel()
    for tasker, outline in ((tara, SQUARE), (otto, HALF), (uma, SQUARE)):
        factories.response(tasker, split, outline=outline, complete=tasker is not uma)
    name, page = ruled(split, timezone.now() - HOUR), words(organizer, "/organizer/differing/")
    told = (
        "Differed on complete, outline; the outline that fits least overlaps 50 %.",
        "not complete, unoccluded, real",
    )
    assert not lacking(page, name, *told)
    assert not any(tasker.public_id in page for tasker in (tara, otto, uma))
    assert 'href="/organizer/differing/"' in main(organizer, "/organizer/")


def test_every_line_of_the_overview_leads_to_a_page(
    organizer: Client, tara: Tasker, otto: Tasker, uma: Tasker, last_week: datetime
) -> None:
    now = timezone.now()
    worked([tara, otto, uma], now, days=2)
    waiting(2, received=last_week)
    Panel.objects.filter(pk=waiting(1, received=last_week)[0].pk).update(state="held")
    leased(tara, since=now - timedelta(hours=5), until=now + timedelta(hours=1))
    factories.gold()
    Tasker.objects.filter(pk=factories.tasker("pat").pk).update(state="paused")
    case(now - timedelta(days=9), now - timedelta(days=1), reason="The secret argument.")
    again = factories.panel(size=9)
    Panel.objects.filter(pk=again.pk).update(urgent=True)
    week = f"/organizer/weeks/{week_at(last_week).name}/"
    markup = main(organizer, "/organizer/") + main(organizer, week)
    found = {unescape(link) for link in re.findall(r'<a [^>]*href="(/[^"#]*)', markup)}
    alike = {f"/organizer/taskers/{each.public_id}/" for each in (otto, uma)}
    assert alike | {f"/organizer/taskers/{tara.public_id}/", "/organizer/reports/", "/organizer/conflicts/"} <= found
    for link in sorted(found - alike):
        assert organizer.get(link).status_code == 200, link
    page = words(organizer, "/organizer/")
    assert "secret" not in page
    assert not lacking(
        page,
        "1 case to be decided, 1 past its time",
        f"{again.image.public_id} (asked about again for the board)",
        "9 answers missing that nobody is giving, and 3 people may still be asked",
        "1 reported picture is held and not counted in this. Decide",
    )


def links_of(page: str, place: str) -> list[str]:
    (found,) = re.findall(rf"<{place}.*?</nav>", page, re.DOTALL)
    return re.findall(r'href="([^"]+)"', found)


def test_every_page_of_organizers_is_two_steps_away(organizer: Client) -> None:
    """A group, and a page of it; each page says where in both one is."""
    groups = links_of(organizer.get("/organizer/").content.decode(), 'nav aria-label="Pages"')
    assert len(groups) == len(ORGANIZER) == 4
    for group in groups:
        pages = links_of(organizer.get(group).content.decode(), 'nav class="page-group"')
        assert pages[0] == group
        for address in pages:
            header = organizer.get(address).content.decode().partition("<main")[0]
            assert f'href="{group}" aria-current="true"' in header, address
            assert f'href="{address}" aria-current="page"' in header, address


def test_a_page_of_details_stands_in_the_group_of_its_list(organizer: Client) -> None:
    tara = factories.tasker("tara")
    header = organizer.get(f"/organizer/taskers/{tara.public_id}/").content.decode().partition("<main")[0]
    assert 'aria-label="People"' in header and 'aria-current="page"' not in header
    assert 'class="page-group"' not in organizer.get("/account/").content.decode()


def test_a_member_of_the_board_finds_their_conflicts_from_every_page(signed_in: Any) -> None:
    client = signed_in(factories.user("rita", "review board"))
    for address in ("/", "/board/", "/board/awards/", "/board/withheld/"):
        assert 'href="/board/conflicts/"' in client.get(address).content.decode(), address
    assert "Your conflicts: the teams that you do not judge" in main(client, "/board/")


def test_the_overview_names_the_open_steps_of_the_last_week(organizer: Client, last_week: datetime) -> None:
    week = week_at(last_week)
    factories.panel(factories.image(origin="attack", received_at=last_week, label_from=last_week), dealt_at=last_week)
    told = words(organizer, "/organizer/")
    assert f"Week {week.name} has ended. Pictures waiting: 1 for answers." in told
