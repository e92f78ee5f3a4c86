"""More taskers for a picture (R19), and the panels that nobody left may finish, each with its cause (R7, R8)."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from common.errors import Conflict, InvalidInput
from labeling import leases, more_taskers, selectors, voiding
from labeling.dealing import mark_settled
from labeling.enums import PanelState, StuckCause, TaskerState
from labeling.models import Assignment, InstructionVersion, Panel, PanelPlace, Report, Tasker, Voiding
from labeling.more_taskers import panel_fresh, panel_join
from labeling.states import tasker_state_change
from labeling.stuck_panels import AWAY_AFTER, stuck_panels
from monitoring import gold_choice, links
from policy.enums import OutlineGate
from policy.numbers import MAX_PANEL_SIZE
from policy.selectors import policy_in_force
from tests import factories
from tests.labeling.cast import (
    claim,
    gets_nothing,
    give_back,
    kept,
    label,
    lease,
    linked,
    people,
    refused,
    refused_by_database,
    statements,
    submit,
)
from tests.tables import cases

pytestmark = pytest.mark.django_db


def answered(panel: Panel, *by: Tasker) -> Panel:
    """A panel with a counted answer of each of these."""
    for tasker in by:
        factories.response(tasker, panel)
    return Panel.objects.get(pk=panel.pk)


def named(name: str) -> Tasker:
    return Tasker.objects.get(user__username=name)


def void(tasker: Tasker, now: datetime) -> Voiding:
    return voiding.responses_void(tasker=tasker, since=None, reason="Clicks at random.", by=None, now=now)


@pytest.fixture
def settled(db: None) -> Panel:
    """A panel that Ann, Ben and Cas answered, as if a ruling had followed."""
    panel = answered(factories.panel(), *people("ann", "ben", "cas"))
    mark_settled(panel=panel)
    return panel


def test_a_joined_panel_waits_again_with_further_places(settled: Panel, now: datetime) -> None:
    panel = panel_join(settled, 2, now=now)
    assert kept(panel, "size", "answered", "missing", "joined") == (5, 3, 2, 2)
    assert (panel.state, panel.full_at, panel.waiting_since) == (PanelState.OPEN, None, now)
    assert (panel.urgent, panel.joined_at, panel.ruled_through) == (True, now, 3)
    assert list(panel.places.order_by("number").values_list("number", flat=True)) == [1, 2, 3, 4, 5]


def test_the_numbers_of_further_places_go_on_behind_those_of_voided_answers(tara: Tasker, now: datetime) -> None:
    panel = answered(factories.panel(), *people("ann", "ben", "cas"))
    void(named("ann"), now)
    label(tara, now)
    mark_settled(panel=panel)
    assert kept(panel_join(panel, 2, now=now), "ruled_through", "missing") == (4, 2)
    assert sorted(panel.places.values_list("number", flat=True)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.both("locks the panel and its places")
def test_a_joined_panel_fills_up_and_can_be_joined_once_more(settled: Panel, tara: Tasker, now: datetime) -> None:
    panel_join(settled, 1, now=now)
    label(tara, now)
    assert kept(settled, "state") == PanelState.FULL
    mark_settled(panel=settled)
    panel_join(settled, 2, now=now + timedelta(days=1))
    assert kept(settled, "size", "joined", "ruled_through", "missing") == (6, 3, 4, 2)


def test_another_panel_replaces_the_first_and_is_joined_in_its_stead(settled: Panel, now: datetime) -> None:
    fresh = panel_fresh(settled.image, 3, now=now)
    assert (fresh.number, fresh.size, fresh.missing, fresh.urgent, fresh.dealt_at) == (2, 3, 3, True, now)
    assert (fresh.places.count(), kept(settled, "state", "answered")) == (3, (PanelState.SETTLED, 3))
    for tasker in people("dan", "eva", "fay"):
        label(tasker, now)
    mark_settled(panel=fresh)
    assert refused(Conflict, panel_join, settled, 1, now=now).code == "replaced"
    assert panel_join(fresh, 1, now=now).number == 2


def join(panel: Panel, now: datetime) -> Panel:
    return panel_join(panel, 3, now=now)


def fresh(panel: Panel, now: datetime) -> Panel:
    return panel_fresh(panel.image, 3, now=now)


BOTH = pytest.mark.parametrize("ask", [join, fresh])


Ask = Callable[[Panel, datetime], Panel]


def _reported(panel: Panel, now: datetime, **decided: object) -> None:
    late = factories.assignment(factories.tasker("late"), panel, state="released")
    Report.objects.create(
        assignment=late, image=panel.image, tasker=late.tasker, kind="other", reported_at=now, **decided
    )


@BOTH
class TestRefused:
    @pytest.mark.parametrize(
        ("made", "code", "why"),
        [
            (
                lambda *_: Panel.objects.update(state="open", answered=2, missing=1, full_at=None),
                "not_settled",
                "taskers are being asked",
            ),
            (lambda *_: Panel.objects.update(state="full"), "not_settled", "its ruling is still to come"),
            (join, "not_settled", "more were asked for already"),
            (fresh, "not_settled", "a fresh panel is being asked already"),
            (
                lambda panel, _: factories.gold(panel),
                "known_already",
                "gold would be recognised, and those who answered it know the picture",
            ),
            (
                lambda panel, now: factories.gold(panel, retired_at=now, retired_because="It leaked."),
                "known_already",
                "its right answers may be shown to taskers",
            ),
            (
                partial(_reported, decision="kept_out", decided_at=factories.NOW),
                "kept_out",
                "an organizer decided that nobody is asked",
            ),
        ],
    )
    def test_while(
        self, made: Callable[[Panel, datetime], object], code: str, why: str, ask: Ask, settled: Panel, now: datetime
    ) -> None:
        made(settled, now)
        before = list(Panel.objects.order_by("pk").values())
        settled.refresh_from_db()
        assert refused(Conflict, ask, settled, now).code == code, why
        assert list(Panel.objects.order_by("pk").values()) == before, "nothing is changed"

    def test_before_anybody_was_asked(self, ask: Ask, now: datetime) -> None:
        assert refused(Conflict, ask, Panel(image=factories.image()), now).code == "no_panel"


@pytest.mark.parametrize(
    ("ask", "more", "words", "why"),
    [
        (panel_join, 0, "", "nobody"),
        (panel_join, -1, "", "fewer than nobody"),
        (panel_join, MAX_PANEL_SIZE - 2, "this one has 3: ask for 6 more at most", "one more than a panel may have"),
        (panel_fresh, 2, "", "too few for a panel"),
        (panel_fresh, MAX_PANEL_SIZE + 1, "", "too many for a panel"),
    ],
)
def test_a_panel_has_from_three_to_nine_places(
    ask: Any, more: int, words: str, why: str, settled: Panel, now: datetime
) -> None:
    of = settled if ask is panel_join else settled.image
    assert words in str(refused(Conflict if words else InvalidInput, ask, of, more, now=now)), why
    assert panel_join(settled, MAX_PANEL_SIZE - 3, now=now).size == MAX_PANEL_SIZE, "as many as a panel may have"


def test_a_panel_that_has_all_its_places_is_not_joined(now: datetime) -> None:
    panel = factories.settle(answered(factories.panel(size=9), *people(*"abcdefghi")))
    assert "decide without further taskers" in str(refused(Conflict, panel_join, panel, 1, now=now))


class TestWhoIsAsked:
    """At once, before all others; nobody twice, nor anybody who may be the same person (R6, R8)."""

    @BOTH
    @pytest.mark.parametrize("largest", [False, True], ids=["three", "as many as a panel may have"])
    def test_the_next_picture_of_everybody_new(
        self, largest: bool, ask: Ask, settled: Panel, tara: Tasker, now: datetime
    ) -> None:
        answered(factories.panel(dealt_at=now - timedelta(days=9)), *people("dan", "eva"))
        most = {join: lambda: panel_join(settled, 6, now=now), fresh: lambda: panel_fresh(settled.image, 9, now=now)}
        wanted = most[ask]() if largest else ask(settled, now)
        assert claim(tara, now).panel == wanted, "although the other misses one alone"

    @pytest.mark.both("own SQL and a constraint")
    @BOTH
    @pytest.mark.parametrize("link_first", [True, False], ids=["linked before", "linked after they were asked for"])
    def test_neither_who_answered_before_nor_who_is_linked_with_them(
        self, link_first: bool, ask: Ask, settled: Panel, tara: Tasker, olga: User, now: datetime
    ) -> None:
        """The database refuses them too, whoever writes."""
        ann = named("ann")
        if not link_first:
            ask(settled, now)
        links.link_declare(first=ann, second=tara, reason="Sisters.", by=olga, now=now)
        wanted = ask(settled, now) if link_first else Panel.objects.get(urgent=True)
        assert gets_nothing(ann, now) and gets_nothing(tara, now)
        refused_by_database(factories.assignment, tara, wanted)
        assert factories.panel() == claim(ann, now).panel, "who answered before gets something else"

    @BOTH
    def test_who_is_linked_no_more_is_asked(
        self, ask: Ask, settled: Panel, tara: Tasker, olga: User, now: datetime
    ) -> None:
        """The first panel was answered while they were linked, and so knows both as one person."""
        ann = named("ann")
        link = links.link_declare(first=ann, second=tara, reason="Sisters.", by=olga, now=now)
        Assignment.objects.filter(tasker=ann).update(person=min(ann.pk, tara.pk))
        links.end_tasker_link(link=link, reason="Not so.", by=olga, now=now)
        assert ask(settled, now) == claim(tara, now).panel

    def test_two_who_turned_out_to_be_one_are_no_obstacle(self, settled: Panel, tara: Tasker, now: datetime) -> None:
        linked(named("ann"), named("ben"))
        assert panel_join(settled, 1, now=now).missing == 1
        assert claim(tara, now).panel == settled

    def test_somebody_linked_with_who_had_it_as_gold_is_no_concern_of_another_picture(
        self, settled: Panel, tara: Tasker, now: datetime
    ) -> None:
        known = factories.gold()
        factories.assignment(named("ann"), known.panel, known=known)  # type: ignore[arg-type]
        linked(named("ann"), tara)
        assert factories.panel() == claim(tara, now).panel

    def test_a_mark_of_the_queue_never_hides_it(self, settled: Panel, tara: Tasker, now: datetime) -> None:
        tomorrow = (now + timedelta(days=1)).isoformat()
        Tasker.objects.filter(pk=tara.pk).update(passed={str(n): tomorrow for n in selectors.ALL_LEVELS}, passed_at=now)
        wanted = join(settled, now)
        factories.panel(dealt_at=now + timedelta(days=2))
        assert claim(tara, now).panel_id == wanted.pk

    def test_several_of_them_come_in_an_order_of_each_taskers_own(
        self, tara: Tasker, otto: Tasker, now: datetime
    ) -> None:
        wanted = [join(factories.settle(factories.panel()), now) for _ in range(8)]
        orders = [
            list(dict.fromkeys(panel for panel, _ in selectors.claimable_panels(who).panels)) for who in (tara, otto)
        ]
        assert set(orders[0]) == set(orders[1]) == {panel.pk for panel in wanted} and orders[0] != orders[1]

    @BOTH
    def test_a_report_that_waits_holds_it(self, ask: Ask, settled: Panel, tara: Tasker, now: datetime) -> None:
        _reported(settled, now)
        assert ask(settled, now).state == PanelState.HELD
        assert gets_nothing(tara, now)


def test_a_claim_takes_no_further_statement(settled: Panel, tara: Tasker, otto: Tasker, now: datetime) -> None:
    """With a panel that the board waits for, and without one."""
    factories.panel(), factories.panel()
    policy_in_force(now), selectors.instructions_in_force(now)
    without = statements(lambda: claim(tara, now))
    join(settled, now)
    assert len(statements(lambda: claim(otto, now))) == len(without)


def test_what_a_ruling_counted_stays_counted_while_others_join_and_may_be_voided(
    settled: Panel, tara: Tasker, now: datetime
) -> None:
    """The first answers are for the board (R6)."""
    join(settled, now)
    assert not void(named("ann"), now).responses.exists()
    assert voiding.settled_responses(named("ann"), None).count() == 1
    assert kept(settled, "answered", "missing") == (3, 3)
    label(tara, now)
    assert void(tara, now).responses.count() == 1
    assert kept(settled, "answered", "missing", "state") == (3, 3, PanelState.OPEN)
    assert PanelPlace.objects.values_list("number", "replaces__number").get(replaces__isnull=False) == (7, 4)


def test_a_picture_that_is_asked_again_cannot_become_gold(settled: Panel, olga: User, now: datetime) -> None:
    panel_fresh(settled.image, 3, now=now)
    assert not gold_choice.panels_for_gold(gold_choice.free_panels())
    expected = gold_choice.GoldAnswers(("definitely_no",), ("definitely_no",), "", 70, None, None, None, "clear")
    asked = {"panel": settled, "expected": expected, "gate": OutlineGate.BEST_GUESS_YES, "by": olga, "now": now}
    assert refused(Conflict, gold_choice.gold_add, **asked).code == "not_settled"


@pytest.mark.both("locks all panels of the picture in order")
def test_the_lock_gives_the_newest_panel(settled: Panel, now: datetime) -> None:
    newest = panel_fresh(settled.image, 3, now=now)
    with transaction.atomic():
        assert more_taskers.newest_panel_locked(settled.image_id) == newest != settled


LINKED, REQUALIFYING, PAUSED, SEEN, TOO_FEW, AWAY = StuckCause


def found(now: datetime) -> list[tuple[StuckCause, int, int]]:
    return [(each.cause, each.places, each.people) for each in stuck_panels(now=now)]


def six_accounts_two_persons(panel: Panel) -> None:
    six = people(*"abcdef")
    answered(panel, six[0], six[3])
    linked(*six[:3])
    linked(*six[3:])


def newer_instructions(panel: Panel) -> None:
    people(*"abc")
    InstructionVersion.objects.create(
        version=2, in_force_from=factories.NOW - timedelta(days=1), summary="new", requalify=True
    )
    selectors.forget_versions()


def some_paused(panel: Panel) -> None:
    answered(panel, people(*"abc")[0])
    Tasker.objects.exclude(user__username="a").update(state=TaskerState.PAUSED)


def all_have_seen_it(panel: Panel) -> None:
    """Three answered, one answer was voided with its tasker going on: nobody is asked twice."""
    answered(panel, *people(*"abc"))
    void(named("a"), factories.NOW)


def gone(panel: Panel) -> None:
    """The accounts of two of three were closed."""
    answered(panel, people(*"abc")[0])
    Tasker.objects.exclude(user__username="a").update(user=None, left_at=factories.NOW)
    User.objects.filter(username__in="bc").delete()


@pytest.mark.both("own SQL counts persons, not accounts")
@cases(
    "make expected why",
    (lambda panel: None, (TOO_FEW, 3, 0), "nobody labels at all"),
    (lambda panel: people("a", "b"), (TOO_FEW, 3, 2), "two people for three places"),
    (lambda panel: people("a", "b", "c", state=TaskerState.LEARNING), (TOO_FEW, 3, 0), "nobody is qualified yet"),
    (gone, (TOO_FEW, 2, 0), "the others have left"),
    (
        lambda panel: User.objects.filter(tasker__in=people(*"abc")).update(is_active=False),
        (TOO_FEW, 3, 0),
        "their accounts are shut",
    ),
    (six_accounts_two_persons, (LINKED, 1, 0), "six accounts turned out to be two persons"),
    (newer_instructions, (REQUALIFYING, 3, 0), "everybody has to qualify again"),
    (some_paused, (PAUSED, 2, 0), "the others are paused"),
    (all_have_seen_it, (SEEN, 1, 0), "an answer was voided, and everybody has seen the picture"),
)
def test_the_cause_is_named_and_one_more_person_for_each_place_mends_it(
    make: Callable[[Panel], Any], expected: tuple[StuckCause, int, int], why: str, now: datetime
) -> None:
    make(factories.panel())
    assert found(now) == [expected], why
    people(*(f"new {number}" for number in range(stuck_panels(now=now)[0].needed)))
    new = Tasker.objects.filter(user__username__startswith="new")
    new.update(instructions=InstructionVersion.objects.latest("version").version)
    assert found(now) == []
    new.filter(user__username="new 0").update(state=TaskerState.PAUSED)
    assert len(found(now)) == 1, "not one fewer"


def test_ending_the_links_or_pauses_mends_it_as_well(now: datetime) -> None:
    six_accounts_two_persons(factories.panel())
    Tasker.objects.filter(user__username__in="abc").update(person=None)
    assert found(now) == []
    Tasker.objects.filter(user__username__in="bcef").update(state=TaskerState.PAUSED)
    assert [cause for cause, *_ in found(now)] == [PAUSED]


def test_places_that_somebody_holds_need_nobody(now: datetime) -> None:
    factories.panel()
    for each in people(*"abc"):
        claim(each, now)
    Tasker.objects.update(state=TaskerState.PAUSED)
    assert found(now) == [], "they may still answer what they hold"


@pytest.mark.parametrize(
    ("accounts", "asked", "why"),
    [(3, 1, "one of the two was asked"), (4, 2, "each may not because the other was asked, though nobody answered")],
)
def test_who_let_it_lapse_may_take_it_up_again_unless_an_account_of_theirs_was_asked(
    accounts: int, asked: int, why: str, now: datetime
) -> None:
    factories.panel()
    crew = people(*"abcd"[:accounts])
    for each in crew[:asked]:
        claim(each, now)
    leases.leases_lapse(now=now + timedelta(hours=1))
    assert found(now) == []
    linked(*crew[:2])
    assert found(now) == [(LINKED, 3, 2)], why


@cases(
    "away back why",
    (TaskerState.PAUSED, [], "at once"),
    (TaskerState.PAUSED, [TaskerState.LEARNING], "by a qualification"),
    (TaskerState.LEARNING, [], "an organizer wanted a qualification"),
)
def test_an_answer_that_came_while_its_tasker_could_not_label(
    away: TaskerState, back: Sequence[TaskerState], why: str, now: datetime
) -> None:
    """It is surplus: its place is free, and who gave it is never asked again, also after they come back."""
    panel, (one, *_) = factories.panel(), people(*"abc")
    held = claim(one, now)
    leases.leases_release(tasker=one, now=now)
    said: dict[str, Any] = {"tasker": held.tasker, "code": "test", "reason": "test", "now": now}
    tasker_state_change(after=away, **said)
    submit(held, now)
    for state in (*back, TaskerState.QUALIFIED):
        tasker_state_change(after=state, **said)
    assert (kept(panel, "missing"), found(now)) == (3, [(SEEN, 3, 2)]), why


def test_an_answer_that_came_while_a_link_stood_that_has_ended(now: datetime) -> None:
    """It is surplus beside the other's lease (R6), and the link that was the cause is no more."""
    panel, (one, two, _) = factories.panel(), people(*"abc")
    late = claim(one, now)
    leases.leases_lapse(now=now + timedelta(hours=1))
    beside = claim(two, now + timedelta(hours=1))
    linked(one, two)
    assert not submit(late, now + timedelta(hours=1)).counted
    submit(beside, now + timedelta(hours=1))
    Tasker.objects.update(person=None)
    assert (kept(panel, "missing"), found(now)) == (2, [(SEEN, 2, 1)])


def test_a_picture_that_a_tasker_reported_and_an_organizer_let_in_again(now: datetime) -> None:
    give_back(lease(people(*"abc")[0], now), now, problem="torn")
    Panel.objects.update(state="open")
    assert found(now) == [(SEEN, 3, 2)]


@BOTH
def test_what_the_board_asked_for(ask: Ask, now: datetime) -> None:
    ask(factories.settle(answered(factories.panel(), *people(*"abc"))), now)
    assert found(now) == [(SEEN, 3, 0)]
    people(*"def")
    assert found(now) == []


@pytest.mark.parametrize("state", ["held", "full", "settled"])
def test_what_waits_for_somebody_else_is_not_stuck(state: str, now: datetime) -> None:
    answered(factories.panel(), *people(*"abc"))
    Panel.objects.update(state=state, **({"answered": 0, "missing": 3, "full_at": None} if state == "held" else {}))
    assert found(now) == []


def test_people_who_have_not_been_here_for_days(now: datetime) -> None:
    panel, other = (factories.panel(dealt_at=now - AWAY_AFTER + late) for late in (timedelta(0), timedelta(hours=1)))
    crew = people(*"abc")
    Tasker.objects.update(created_at=now - timedelta(days=30))
    (stuck,) = stuck_panels(now=now)
    assert (stuck.panel, stuck.cause, stuck.places, stuck.people, stuck.away) == (panel, AWAY, 3, 0, 3)
    for each, left in zip(crew, ([(AWAY, 3, 1)], [(AWAY, 3, 2)], []), strict=True):
        factories.response(each, other, now=now - timedelta(days=1))
        assert found(now) == left


def test_with_enough_people_no_panel_of_the_queue_is_read(now: datetime) -> None:
    """The statements are those of a database with nothing to find, and none reads the panels one by one."""
    people(*"abc")
    for _ in range(30):
        factories.panel()
    asked = statements(lambda: stuck_panels(now=now))
    assert (stuck_panels(now=now), len(asked) <= 8) == ([], True)
    of_panels = [sql for sql in asked if 'FROM "labeling_panel"' in sql]
    assert of_panels and all("urgent" in sql.partition("WHERE")[2] or " IN (SELECT" in sql for sql in of_panels)


def test_of_very_many_the_oldest_are_looked_at(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labeling.stuck_panels.MAX_PANELS_PER_KIND", 3)
    panels = [factories.panel(dealt_at=now - timedelta(minutes=number)) for number in range(6)]
    assert [each.panel.pk for each in stuck_panels(now=now)] == [each.pk for each in panels[:2:-1]]
