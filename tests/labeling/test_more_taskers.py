"""More taskers for a picture (R19): who may be asked, when, and what is refused."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from common.errors import Conflict, InvalidInput
from labeling import more_taskers, selectors, services, voiding
from labeling.enums import OutlineGate, PanelState
from labeling.models import Assignment, Image, Panel, Place, Report, Tasker
from labeling.more_taskers import panel_fresh, panel_join
from labeling.policy import LARGEST_PANEL, Policy
from labeling.watching import gold, links
from tests import factories

pytestmark = pytest.mark.django_db
NOTHING = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}


def answered(*names: str, settled: bool = True) -> Panel:
    """A panel that these taskers answered, as if a ruling had followed."""
    panel = factories.panel(size=max(3, len(names)))
    for name in names:
        factories.response(factories.tasker(name), panel)
    if settled:
        services.panel_settle(panel=panel)
    return Panel.objects.get(pk=panel.pk)


@pytest.fixture
def settled(db: None) -> Panel:
    return answered("ann", "ben", "cas")


def next_for(tasker: Tasker, now: datetime) -> Assignment | services.NothingLeft:
    tasker = Tasker.objects.get(pk=tasker.pk)
    return services.assignment_next(tasker=tasker, holding=(), policy=Policy(gold_percent=0), now=now, rng=Random(1))


def answer(tasker: Tasker, now: datetime) -> services.Submitted:
    held = next_for(tasker, now)
    assert isinstance(held, Assignment), held
    return services.response_submit(
        tasker=tasker, assignment_id=held.public_id, lease_token=held.lease_token, data=NOTHING,
        policy_at=lambda _: Policy(), now=now,
    )  # fmt: skip


class TestJoining:
    def test_the_panel_waits_again_with_further_places(self, settled: Panel, now: datetime) -> None:
        panel = panel_join(settled, 2, now=now)
        panel.refresh_from_db()
        assert (panel.size, panel.answered, panel.missing, panel.joined) == (5, 3, 2, 2)
        assert (panel.state, panel.full_at, panel.waiting_since) == (PanelState.OPEN, None, now)
        assert (panel.urgent, panel.joined_at, panel.ruled_through) == (True, now, 3)
        assert list(panel.places.order_by("number").values_list("number", flat=True)) == [1, 2, 3, 4, 5]

    def test_the_numbers_go_on_behind_those_of_voided_answers(self, tara: Tasker, now: datetime) -> None:
        panel = answered("ann", "ben", "cas", settled=False)
        voiding.responses_void(
            tasker=Tasker.objects.get(user__username="ann"), since=None, reason="no", by=None, now=now
        )
        answer(tara, now)
        services.panel_settle(panel=panel)
        panel = panel_join(panel, 2, now=now)
        assert sorted(panel.places.values_list("number", flat=True)) == [1, 2, 3, 4, 5, 6]
        assert (panel.ruled_through, panel.missing) == (4, 2)

    def test_it_fills_up_and_can_be_joined_once_more(self, settled: Panel, now: datetime) -> None:
        panel_join(settled, 1, now=now)
        answer(factories.tasker("dan"), now)
        settled.refresh_from_db()
        assert settled.state == PanelState.FULL
        services.panel_settle(panel=settled)
        again = panel_join(settled, 2, now=now + timedelta(days=1))
        assert (again.size, again.joined, again.ruled_through, again.missing) == (6, 3, 4, 2)


class TestFresh:
    def test_another_panel_replaces_it_and_both_stay(self, settled: Panel, now: datetime) -> None:
        fresh = panel_fresh(settled.image, 5, now=now)
        assert (fresh.number, fresh.size, fresh.missing, fresh.urgent, fresh.dealt_at) == (2, 5, 5, True, now)
        assert fresh.places.count() == 5
        settled.refresh_from_db()
        assert (settled.state, settled.answered) == (PanelState.SETTLED, 3)

    def test_the_first_one_is_joined_no_more(self, settled: Panel, now: datetime) -> None:
        fresh = panel_fresh(settled.image, 3, now=now)
        for name in ("dan", "eva", "fay"):
            answer(factories.tasker(name), now)
        services.panel_settle(panel=fresh)
        with pytest.raises(Conflict) as refusal:
            panel_join(settled, 1, now=now)
        assert refusal.value.code == "replaced"
        assert panel_join(fresh, 1, now=now).number == 2


def join(panel: Panel, now: datetime) -> Panel:
    return panel_join(panel, 3, now=now)


def fresh(panel: Panel, now: datetime) -> Panel:
    return panel_fresh(panel.image, 3, now=now)


BOTH = pytest.mark.parametrize("ask", [join, fresh])
Ask = Callable[[Panel, datetime], Panel]


def _open(panel: Panel, now: datetime) -> None:
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.OPEN, answered=2, missing=1, full_at=None)


def _full(panel: Panel, now: datetime) -> None:
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.FULL)


def _gold(panel: Panel, now: datetime) -> None:
    factories.gold(panel)


def _once_gold(panel: Panel, now: datetime) -> None:
    factories.gold(panel, retired_at=now, retired_because="It leaked.")


def _kept_out(panel: Panel, now: datetime) -> None:
    _reported(panel, now, decision="kept_out", decided_at=now)


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
            (_open, "not_settled", "taskers are being asked"),
            (_full, "not_settled", "its ruling is still to come"),
            (join, "not_settled", "more were asked for already"),
            (fresh, "not_settled", "a fresh panel is being asked already"),
            (_gold, "known_already", "gold would be recognised, and those who answered it know the picture"),
            (_once_gold, "known_already", "its right answers may be shown to taskers"),
            (_kept_out, "kept_out", "an organizer decided that nobody is asked"),
        ],
    )
    def test_while(
        self, made: Callable[[Panel, datetime], object], code: str, why: str, ask: Ask, settled: Panel, now: datetime
    ) -> None:
        made(settled, now)
        before = list(Panel.objects.order_by("pk").values())
        settled.refresh_from_db()
        with pytest.raises(Conflict) as refusal:
            ask(settled, now)
        assert refusal.value.code == code, why
        assert list(Panel.objects.order_by("pk").values()) == before, "nothing is changed"

    def test_before_anybody_was_asked(self, ask: Ask, now: datetime) -> None:
        with pytest.raises(Conflict) as refusal:
            ask(Panel(image=factories.image()), now)
        assert refusal.value.code == "no_panel"


class TestHowMany:
    @pytest.mark.parametrize("more", [0, -1])
    def test_none_is_refused(self, more: int, settled: Panel, now: datetime) -> None:
        with pytest.raises(InvalidInput):
            panel_join(settled, more, now=now)

    @pytest.mark.parametrize("size", [2, LARGEST_PANEL + 1])
    def test_a_fresh_panel_has_the_size_of_a_panel(self, size: int, settled: Panel, now: datetime) -> None:
        with pytest.raises(InvalidInput):
            panel_fresh(settled.image, size, now=now)

    def test_as_many_as_a_panel_may_have_and_no_more(self, settled: Panel, now: datetime) -> None:
        with pytest.raises(Conflict, match="this one has 3: ask for 6 more at most"):
            panel_join(settled, LARGEST_PANEL - 2, now=now)
        assert panel_join(settled, LARGEST_PANEL - 3, now=now).size == LARGEST_PANEL

    def test_a_panel_that_has_them_all(self, now: datetime) -> None:
        panel = answered(*"abcdefghi")
        with pytest.raises(Conflict, match="decide without further taskers"):
            panel_join(panel, 1, now=now)


class TestWhoIsAsked:
    """At once, before all others; nobody twice, nor anybody who may be the same person (R6, R8)."""

    @BOTH
    def test_the_next_picture_of_everybody_new(self, ask: Ask, settled: Panel, tara: Tasker, now: datetime) -> None:
        nearly = factories.panel(dealt_at=now - timedelta(days=9))
        for name in ("dan", "eva"):
            factories.response(factories.tasker(name), nearly)
        wanted = ask(settled, now)
        held = next_for(tara, now)
        assert isinstance(held, Assignment) and held.panel_id == wanted.pk, "although the other misses one alone"

    @BOTH
    def test_also_more_of_them_than_a_policy_asks(self, ask: Ask, settled: Panel, tara: Tasker, now: datetime) -> None:
        factories.panel()
        wanted = panel_join(settled, 6, now=now) if ask is join else panel_fresh(settled.image, 9, now=now)
        held = next_for(tara, now)
        assert isinstance(held, Assignment) and held.panel_id == wanted.pk

    @BOTH
    def test_who_answered_before_gets_something_else(self, ask: Ask, settled: Panel, now: datetime) -> None:
        other = factories.panel()
        ask(settled, now)
        held = next_for(Tasker.objects.get(user__username="ann"), now)
        assert isinstance(held, Assignment) and held.panel_id == other.pk

    @BOTH
    def test_so_does_who_is_linked_with_them(self, ask: Ask, settled: Panel, tara: Tasker, now: datetime) -> None:
        self._link("ann", tara)
        ask(settled, now)
        assert next_for(tara, now) == services.NothingLeft(others_hold_some=False)

    @BOTH
    def test_and_who_is_linked_with_them_after_they_were_asked_for(
        self, ask: Ask, settled: Panel, tara: Tasker, olga: User, now: datetime
    ) -> None:
        ask(settled, now)
        ann = Tasker.objects.get(user__username="ann")
        links.link_declare(first=ann, second=tara, reason="Sisters.", by=olga, now=now)
        assert next_for(tara, now) == services.NothingLeft(others_hold_some=False)

    @BOTH
    def test_the_database_refuses_them_too(self, ask: Ask, settled: Panel, tara: Tasker, now: datetime) -> None:
        self._link("ann", tara)
        wanted = ask(settled, now)
        with pytest.raises(IntegrityError), transaction.atomic():
            factories.assignment(Tasker.objects.get(pk=tara.pk), wanted)

    @BOTH
    def test_who_is_linked_no_more_is_asked(
        self, ask: Ask, settled: Panel, tara: Tasker, olga: User, now: datetime
    ) -> None:
        """The first panel was answered while they were linked, and so knows both as one person."""
        ann = Tasker.objects.get(user__username="ann")
        link = links.link_declare(first=ann, second=tara, reason="Sisters.", by=olga, now=now)
        Assignment.objects.filter(tasker=ann).update(person=min(ann.pk, tara.pk))
        links.link_end(link=link, reason="Not so.", by=olga, now=now)
        wanted = ask(settled, now)
        held = next_for(tara, now)
        assert isinstance(held, Assignment) and held.panel_id == wanted.pk

    def test_two_who_turned_out_to_be_one_are_no_obstacle(self, settled: Panel, tara: Tasker, now: datetime) -> None:
        self._link("ann", Tasker.objects.get(user__username="ben"))
        assert panel_join(settled, 1, now=now).missing == 1
        assert isinstance(next_for(tara, now), Assignment)

    def test_somebody_linked_with_who_had_it_as_gold_is_no_concern_of_another_picture(
        self, settled: Panel, tara: Tasker, now: datetime
    ) -> None:
        known = factories.gold()
        assert known.panel is not None
        factories.assignment(Tasker.objects.get(user__username="ann"), known.panel, known=known)
        self._link("ann", tara)
        other = factories.panel()
        held = next_for(tara, now)
        assert isinstance(held, Assignment) and held.panel_id == other.pk

    def test_a_mark_of_the_queue_never_hides_it(self, settled: Panel, tara: Tasker, now: datetime) -> None:
        Tasker.objects.filter(pk=tara.pk).update(
            passed={str(n): (now + timedelta(days=1)).isoformat() for n in selectors.ALL_LEVELS}, passed_at=now
        )
        wanted = join(settled, now)
        factories.panel(dealt_at=now + timedelta(days=2))
        held = next_for(tara, now)
        assert isinstance(held, Assignment) and held.panel_id == wanted.pk

    def test_several_of_them_come_in_an_order_of_each_taskers_own(self, now: datetime) -> None:
        panels = [answered(f"a{n}", f"b{n}", f"c{n}") for n in range(12)]
        wanted = {join(panel, now).pk for panel in panels}
        orders = [
            list(dict.fromkeys(panel for panel, _ in selectors.candidates(factories.tasker(name))))
            for name in ("tara", "otto")
        ]
        assert set(orders[0]) == set(orders[1]) == wanted and orders[0] != orders[1]

    @BOTH
    def test_a_report_that_waits_holds_it(self, ask: Ask, settled: Panel, tara: Tasker, now: datetime) -> None:
        _reported(settled, now)
        assert ask(settled, now).state == PanelState.HELD
        assert isinstance(next_for(tara, now), services.NothingLeft)

    @staticmethod
    def _link(name: str, other: Tasker) -> None:
        one = Tasker.objects.get(user__username=name)
        Tasker.objects.filter(pk__in=(one.pk, other.pk)).update(person=min(one.pk, other.pk))


def test_a_claim_takes_no_further_statement(settled: Panel, tara: Tasker, otto: Tasker, now: datetime) -> None:
    """With a panel that the board waits for, and without one."""
    factories.panel(), factories.panel()
    counts = []
    selectors.policy_in_force(now), selectors.instructions_in_force(now)
    for tasker in (tara, otto):
        with CaptureQueriesContext(connection) as asked:
            assert isinstance(next_for(tasker, now), Assignment)
        counts.append(len(asked))
        if tasker == tara:
            join(settled, now)
    assert counts[0] == counts[1]


class TestVoiding:
    """What a ruling counted stays counted, also while others join (R6)."""

    def test_the_first_answers_are_for_the_board(self, settled: Panel, now: datetime) -> None:
        join(settled, now)
        ann = Tasker.objects.get(user__username="ann")
        done = voiding.responses_void(tasker=ann, since=None, reason="Clicks at random.", by=None, now=now)
        assert not done.responses.exists()
        assert voiding.settled_responses(ann, None).count() == 1
        settled.refresh_from_db()
        assert (settled.answered, settled.missing) == (3, 3)

    def test_those_of_who_joined_may_be_voided(self, settled: Panel, tara: Tasker, now: datetime) -> None:
        join(settled, now)
        answer(tara, now)
        done = voiding.responses_void(tasker=tara, since=None, reason="Clicks at random.", by=None, now=now)
        assert done.responses.count() == 1
        settled.refresh_from_db()
        assert (settled.answered, settled.missing, settled.state) == (3, 3, PanelState.OPEN)
        replaced = Place.objects.get(panel=settled, replaces__isnull=False)
        assert (replaced.number, replaced.replaces.number) == (7, 4)  # type: ignore[union-attr]


class TestGold:
    def test_a_picture_that_is_asked_again_cannot_become_gold(self, settled: Panel, olga: User, now: datetime) -> None:
        panel_fresh(settled.image, 3, now=now)
        assert gold.candidates() == []
        expected = gold.Expected(("definitely_no",), ("definitely_no",), "", 70, None, None, None, "clear")
        with pytest.raises(Conflict) as refusal:
            gold.gold_add(panel=settled, expected=expected, gate=OutlineGate.BEST_GUESS_YES, by=olga, now=now)
        assert refusal.value.code == "not_settled"


def test_both_panels_may_not_ask_one_person(settled: Panel, now: datetime) -> None:
    """Whoever writes: a second assignment of one person on one image is refused, and gold is apart."""
    ann = Tasker.objects.get(user__username="ann")
    other = panel_fresh(settled.image, 3, now=now)
    double = factories.tasker("ann too")
    Tasker.objects.filter(pk=double.pk).update(person=ann.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.assignment(Tasker.objects.get(pk=double.pk), other)


def test_the_lock_gives_the_newest_panel(settled: Panel, now: datetime) -> None:
    newest = panel_fresh(settled.image, 3, now=now)
    with transaction.atomic():
        assert more_taskers.newest_panel_locked(settled.image_id).pk == newest.pk
    assert Image.objects.get(pk=settled.image_id).panels.count() == 2
