"""Voided answers (R6): they stay on record, do not count, and their places are given to somebody else."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, transaction

from adjudication.services import panels_settle
from common.errors import InvalidInput
from labeling import services, voiding
from labeling.enums import PanelState
from labeling.models import Panel, Place, Report, Response, Tasker, VoidedResponse
from labeling.selectors import policy_in_force
from tests import factories
from tests.labeling.cast import claim, gets_nothing, kept, label, linked, next_for, submit

pytestmark = pytest.mark.django_db


def void(tasker: Tasker, now: datetime, since: datetime | None = None, by: User | None = None) -> voiding.Voiding:
    return voiding.responses_void(tasker=tasker, since=since, reason="Clicks at random.", by=by, now=now)


def test_the_place_opens_again_for_another_tasker_and_the_answer_stays(
    tara: Tasker, otto: Tasker, uma: Tasker, olga: User, now: datetime
) -> None:
    panel = factories.panel()
    response, others = label(tara, now).response, label(otto, now).response
    done = void(tara, now, by=olga)
    assert not void(tara, now).responses.exists(), "twice changes nothing"
    panel.refresh_from_db()
    assert (panel.answered, panel.missing, panel.state, panel.places.count()) == (1, 2, PanelState.OPEN, 4)
    assert Response.objects.get(pk=response.pk).contains_bird == response.contains_bird
    assert (response.voided.voiding, done.voided_by, done.reason) == (done, olga, "Clicks at random.")
    assert not VoidedResponse.objects.filter(response=others).exists()
    assert gets_nothing(tara, now), "who has seen the picture is not asked again"
    assert label(uma, now).response.place.number == 3, "the place of a voided answer is never filled again"


@pytest.mark.both("locks the panels of the voided answers")
def test_a_full_panel_waits_again(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    panel = factories.panel()
    for tasker in (tara, otto, uma):
        label(tasker, now)
    void(tara, now)
    panel.refresh_from_db()
    assert (panel.state, panel.missing, panel.full_at) == (PanelState.OPEN, 1, None)
    new = label(factories.tasker("ines"), now).response
    assert Panel.objects.get().state == PanelState.FULL
    assert new.place.replaces == Response.objects.get(tasker=tara).place
    assert panels_settle(policy_at=policy_in_force, now=now) == 1
    counted = Response.objects.exclude(tasker=tara).values_list("pk", flat=True)
    assert sorted(panel.rulings.get().response_ids) == sorted(counted)


def test_settled_pictures_are_listed_and_left_alone(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    panel = factories.panel()
    for tasker in (tara, otto, uma):
        label(tasker, now)
    panels_settle(policy_at=policy_in_force, now=now)
    assert not void(tara, now).responses.exists()
    panel.refresh_from_db()
    assert panel.state == PanelState.SETTLED
    assert panel.rulings.count() == 1, "nothing is silently ruled again"
    assert [each.panel for each in voiding.settled_responses(tara, None)] == [panel]


def test_a_held_panel_stays_held(tara: Tasker, now: datetime) -> None:
    panel = factories.panel()
    label(tara, now)
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
    void(tara, now)
    assert kept(panel, "state", "missing") == (PanelState.HELD, 3)


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
    assert kept(panel, "state") == state


def test_only_since(tara: Tasker, now: datetime) -> None:
    factories.panel(), factories.panel()
    before, after = (label(tara, at).response for at in (now - timedelta(days=1), now))
    done = void(tara, now, since=now - timedelta(hours=1))
    assert [each.response for each in done.responses.all()] == [after]
    assert Panel.objects.get(pk=before.panel_id).answered == 1


def test_the_reason_is_published_so_it_is_needed(tara: Tasker, now: datetime) -> None:
    with pytest.raises(InvalidInput, match="Give the reason"):
        voiding.responses_void(tasker=tara, since=None, reason="  ", by=None, now=now)


@pytest.mark.both("constraints and a trigger refuse")
def test_the_database_refuses_to_replace_a_place_twice_and_to_take_a_voiding_back(tara: Tasker, now: datetime) -> None:
    panel = factories.panel()
    label(tara, now)
    void(tara, now)
    replaced = Place.objects.exclude(replaces=None).get().replaces
    for write, error, why in (
        (lambda: Place.objects.create(panel=panel, number=11, replaces=replaced), IntegrityError, "replaced twice"),
        (lambda: Place.objects.create(panel=panel, number=10), IntegrityError, "beyond every size, replacing none"),
        (VoidedResponse.objects.all().delete, DatabaseError, "a voiding taken back"),
    ):
        with pytest.raises(error), transaction.atomic():
            write()
            pytest.fail(why)


def test_an_answer_sent_after_a_pause_is_kept_and_does_not_count(tara: Tasker, now: datetime) -> None:
    panel = factories.panel()
    held = claim(tara, now)
    tara.state = "paused"
    tara.save()
    held.tasker.refresh_from_db()
    assert not submit(held, now).counted
    panel.refresh_from_db()
    assert (panel.leased, panel.answered, Response.objects.count()) == (0, 0, 1)


# Linked taskers are never on one panel (R6): more in watching/test_links.py.


def test_a_lapsed_picture_does_not_come_back_onto_a_shared_panel(tara: Tasker, otto: Tasker, now: datetime) -> None:
    factories.panel()
    claim(tara, now)
    later = now + timedelta(hours=1)
    services.leases_lapse(now=later)
    label(otto, later)
    linked(tara, otto)
    assert isinstance(next_for(tara, later), services.NothingLeft)


def test_gold_may_come_to_both(tara: Tasker, otto: Tasker, now: datetime) -> None:
    gold = factories.gold()
    assert gold.panel is not None
    linked(tara, otto)
    for tasker in (tara, otto):
        factories.assignment(tasker, gold.panel, now=now, known=gold)
    assert gold.assignments.count() == 2
