"""Voided answers (R6): they stay on record, do not count, and their places are given to somebody else."""

from datetime import datetime, timedelta
from random import Random

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, transaction

from adjudication.services import panels_settle
from common.errors import InvalidInput
from labeling import services, voiding
from labeling.enums import AssignmentState, PanelState
from labeling.models import Assignment, Image, Panel, Place, Report, Response, Tasker, VoidedResponse
from labeling.policy import Policy
from labeling.selectors import policy_in_force
from tests import factories

pytestmark = pytest.mark.django_db
NOTHING = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}


def void(tasker: Tasker, now: datetime, since: datetime | None = None, by: User | None = None) -> voiding.Voiding:
    return voiding.responses_void(tasker=tasker, since=since, reason="Clicks at random.", by=by, now=now)


def label(tasker: Tasker, now: datetime) -> services.Submitted:
    held = services.assignment_next(tasker=tasker, holding=(), policy=Policy(), now=now, rng=Random(1))
    assert isinstance(held, Assignment), held
    return services.response_submit(
        tasker=tasker,
        assignment_id=held.public_id,
        lease_token=held.lease_token,
        data=NOTHING,
        policy_at=lambda _: Policy(),
        now=now,
    )


def counted(panel: Panel) -> int:
    return Response.objects.filter(panel=panel, place__isnull=False, voided__isnull=True).count()


def test_the_place_opens_again_and_the_answer_stays(tara: Tasker, otto: Tasker, olga: User, now: datetime) -> None:
    panel = factories.panel()
    response = label(tara, now).response
    done = void(tara, now, by=olga)
    panel.refresh_from_db()
    assert (panel.answered, panel.missing, panel.state) == (0, 3, PanelState.OPEN)
    assert Response.objects.get(pk=response.pk).contains_bird == response.contains_bird
    assert (response.voided.voiding, done.voided_by, done.reason) == (done, olga, "Clicks at random.")
    assert label(otto, now).response.place.number == 2, "the place of a voided answer is never filled again"


def test_a_full_panel_waits_again(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    panel = factories.panel()
    for tasker in (tara, otto, uma):
        label(tasker, now)
    void(tara, now)
    panel.refresh_from_db()
    assert (panel.state, panel.missing, panel.full_at) == (PanelState.OPEN, 1, None)
    new = label(factories.tasker("ines"), now).response
    panel.refresh_from_db()
    assert panel.state == PanelState.FULL
    assert new.place.replaces == Response.objects.get(tasker=tara).place
    assert panels_settle(policy_at=policy_in_force, now=now) == 1
    ruling = panel.rulings.get()
    assert sorted(ruling.response_ids) == sorted(Response.objects.exclude(tasker=tara).values_list("pk", flat=True))


def test_settled_pictures_are_listed_and_left_alone(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    panel = factories.panel()
    for tasker in (tara, otto, uma):
        label(tasker, now)
    panels_settle(policy_at=policy_in_force, now=now)
    done = void(tara, now)
    assert not done.responses.exists()
    panel.refresh_from_db()
    assert panel.state == PanelState.SETTLED
    assert panel.rulings.count() == 1, "nothing is silently ruled again"
    assert [each.panel for each in voiding.settled_responses(tara, None)] == [panel]


def test_a_held_panel_stays_held(tara: Tasker, now: datetime) -> None:
    panel = factories.panel()
    label(tara, now)
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
    void(tara, now)
    panel.refresh_from_db()
    assert (panel.state, panel.missing) == (PanelState.HELD, 3)


@pytest.mark.parametrize(("decision", "state"), [("", "held"), ("kept_out", "held"), ("reopened", "open")])
def test_a_report_that_came_when_the_panel_was_full_holds_it_now(
    decision: str, state: str, tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    panel = factories.panel()
    for tasker in (tara, otto, uma):
        label(tasker, now)
    late = factories.assignment(factories.tasker("ines"), panel, state="released")
    decided = {"decision": decision, "decided_at": now} if decision else {}
    Report.objects.create(
        assignment=late, image=panel.image, tasker=late.tasker, kind="other", reported_at=now, **decided
    )
    void(tara, now)
    panel.refresh_from_db()
    assert panel.state == state


def test_only_since(tara: Tasker, now: datetime) -> None:
    factories.panel(), factories.panel()
    before, after = (label(tara, at).response.panel for at in (now - timedelta(days=1), now))
    void(tara, now, since=now - timedelta(hours=1))
    assert (counted(before), counted(after)) == (1, 0)


def test_twice_changes_nothing(tara: Tasker, now: datetime) -> None:
    panel = factories.panel()
    label(tara, now)
    void(tara, now)
    assert void(tara, now).responses.count() == 0
    panel.refresh_from_db()
    assert (panel.missing, Place.objects.filter(panel=panel).count()) == (3, 4)


def test_others_are_untouched(tara: Tasker, otto: Tasker, now: datetime) -> None:
    panel = factories.panel()
    label(tara, now)
    label(otto, now)
    void(tara, now)
    assert list(VoidedResponse.objects.values_list("response__tasker", flat=True)) == [tara.pk]
    assert counted(panel) == 1


def test_the_reason_is_published_so_it_is_needed(tara: Tasker, now: datetime) -> None:
    with pytest.raises(InvalidInput, match="Give the reason"):
        voiding.responses_void(tasker=tara, since=None, reason="  ", by=None, now=now)


def test_the_same_tasker_is_not_asked_again(tara: Tasker, now: datetime) -> None:
    factories.panel()
    label(tara, now)
    void(tara, now)
    found = services.assignment_next(tasker=tara, holding=(), policy=Policy(), now=now, rng=Random(1))
    assert found == services.NothingLeft(others_hold_some=False)


class TestTheDatabaseRefuses:
    def test_to_replace_a_place_twice(self, tara: Tasker, now: datetime) -> None:
        panel = factories.panel()
        label(tara, now)
        void(tara, now)
        replaced = Place.objects.exclude(replaces=None).get().replaces
        with pytest.raises(IntegrityError), transaction.atomic():
            Place.objects.create(panel=panel, number=11, replaces=replaced)

    def test_a_place_beyond_every_size_that_replaces_none(self, now: datetime) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            Place.objects.create(panel=factories.panel(), number=10)

    def test_to_take_a_voiding_back(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        label(tara, now)
        void(tara, now)
        with pytest.raises(DatabaseError), transaction.atomic():
            VoidedResponse.objects.all().delete()


class TestPaused:
    def test_what_they_hold_is_given_back(self, tara: Tasker, now: datetime) -> None:
        panel = factories.panel()
        services.assignment_next(tasker=tara, holding=(), policy=Policy(), now=now, rng=Random(1))
        assert services.leases_end(tasker=tara, now=now) == 1
        panel.refresh_from_db()
        assert panel.leased == 0
        assert Assignment.objects.get().state == AssignmentState.RELEASED

    def test_an_answer_sent_after_the_pause_is_kept_and_does_not_count(self, tara: Tasker, now: datetime) -> None:
        panel = factories.panel()
        held = services.assignment_next(tasker=tara, holding=(), policy=Policy(), now=now, rng=Random(1))
        assert isinstance(held, Assignment)
        tara.state = "paused"
        tara.save()
        sent = services.response_submit(
            tasker=tara,
            assignment_id=held.public_id,
            lease_token=held.lease_token,
            data=NOTHING,
            policy_at=lambda _: Policy(),
            now=now,
        )
        assert not sent.counted
        panel.refresh_from_db()
        assert (panel.leased, panel.answered) == (0, 0)


class TestHeld:
    """A picture that was reported: nobody new is asked, and nobody's work is lost."""

    def test_nobody_new_is_asked(self, tara: Tasker, now: datetime) -> None:
        panel = factories.panel()
        Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
        found = services.assignment_next(tasker=tara, holding=(), policy=Policy(), now=now, rng=Random(1))
        assert isinstance(found, services.NothingLeft)

    def test_who_was_asked_before_still_counts(self, tara: Tasker, now: datetime) -> None:
        panel = factories.panel()
        held = services.assignment_next(tasker=tara, holding=(), policy=Policy(), now=now, rng=Random(1))
        assert isinstance(held, Assignment)
        Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
        sent = services.response_submit(
            tasker=tara,
            assignment_id=held.public_id,
            lease_token=held.lease_token,
            data=NOTHING,
            policy_at=lambda _: Policy(),
            now=now,
        )
        assert sent.counted
        panel.refresh_from_db()
        assert (panel.state, panel.answered, panel.leased) == (PanelState.HELD, 1, 0)


class TestLinked:
    """Linked taskers are never on one panel (R6)."""

    @pytest.fixture
    def linked(self, tara: Tasker, otto: Tasker) -> tuple[Tasker, Tasker]:
        for tasker in (tara, otto):
            tasker.person = tara.pk
            tasker.save()
        return tara, otto

    def test_the_other_one_gets_other_pictures(self, linked: tuple[Tasker, Tasker], now: datetime) -> None:
        factories.panel(), factories.panel()
        first = label(linked[0], now).response.panel_id
        second = label(linked[1], now).response.panel_id
        assert first != second

    def test_also_where_the_link_is_younger_than_the_answer(self, tara: Tasker, otto: Tasker, now: datetime) -> None:
        factories.panel()
        label(otto, now)
        for tasker in (tara, otto):
            tasker.person = tara.pk
            tasker.save()
        found = services.assignment_next(tasker=tara, holding=(), policy=Policy(), now=now, rng=Random(1))
        assert found == services.NothingLeft(others_hold_some=False)

    def test_a_lapsed_picture_does_not_come_back_onto_a_shared_panel(
        self, tara: Tasker, otto: Tasker, now: datetime
    ) -> None:
        factories.panel()
        services.assignment_next(tasker=tara, holding=(), policy=Policy(), now=now, rng=Random(1))
        later = now + timedelta(hours=1)
        services.leases_lapse(now=later)
        label(otto, later)
        for tasker in (tara, otto):
            tasker.person = tara.pk
            tasker.save()
        found = services.assignment_next(tasker=tara, holding=(), policy=Policy(), now=later, rng=Random(1))
        assert isinstance(found, services.NothingLeft)

    def test_the_database_refuses_both_on_one_panel(self, linked: tuple[Tasker, Tasker], now: datetime) -> None:
        panel = factories.panel()
        factories.assignment(linked[0], panel, now=now)
        with pytest.raises(IntegrityError), transaction.atomic():
            factories.assignment(linked[1], panel, now=now)

    def test_gold_may_come_to_both(self, linked: tuple[Tasker, Tasker], now: datetime) -> None:
        gold = factories.gold()
        assert gold.panel is not None
        for tasker in linked:
            factories.assignment(tasker, gold.panel, now=now, known=gold)
        assert Image.objects.get(known=gold).known.assignments.count() == 2
