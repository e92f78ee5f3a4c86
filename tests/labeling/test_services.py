"""Panels, leases and states (R7, R8): who gets which picture, for how long, and which answers are voided (R6)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import product
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from adjudication.services import panels_settle
from common import versions
from common.errors import Conflict, InvalidInput, NotAllowed, NotFound, WrongFields
from labeling import dealing, leases, selectors, signals, submission, voiding
from labeling.dealing import mark_settled, panels_deal
from labeling.enums import NEXT_ASSIGNMENT_STATE, AssignmentState, PanelState, TaskerState, TieBreak
from labeling.models import Assignment, Image, Panel, PanelPlace, Report, Response, StateChange, Tasker, VoidedResponse
from labeling.states import NEXT_TASKER_STATE, tasker_state_change
from labeling.submission import MARK_AGE
from policy.numbers import MAX_PANEL_SIZE, Policy
from policy.selectors import policy_in_force
from tests import factories
from tests.factories import NOW
from tests.labeling.cast import (
    POLICY,
    beat,
    claim,
    full_panel,
    gets_nothing,
    give_back,
    kept,
    label,
    lease,
    linked,
    next_for,
    people,
    refused,
    refused_by_database,
    statements,
    submit,
)

pytestmark = pytest.mark.django_db


BIRD = {
    "contains_bird": "definitely_yes",
    "contains_bicycle": "definitely_no",
    "outline": [[[10, 10], [200, 10], [200, 200]]],
    "complete": True,
    "unoccluded": True,
    "real": True,
}


def held_by(taskers: Sequence[Tasker], now: datetime) -> Panel:
    """A new panel that each of these holds a lease on."""
    panel = factories.panel()
    for tasker in taskers:
        claim(tasker, now)
    return panel


@pytest.fixture
def full(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> Panel:
    """A panel that three have answered."""
    panel = factories.panel()
    for tasker in (tara, otto, uma):
        label(tasker, now)
    return panel


def test_every_due_picture_gets_one_panel_of_the_policys_size(now: datetime) -> None:
    due, *_ = [factories.image(label_from=at) for at in (now, now + timedelta(days=1), None)]
    assert [panels_deal(policy=Policy(panel_size=5), now=now) for _ in range(2)] == [1, 0]
    panel = Panel.objects.get()
    assert (panel.image, panel.size, panel.missing, panel.places.count()) == (due, 5, 5, 5)


def test_pictures_are_dealt_oldest_first_in_parts_unless_they_are_due_no_more(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing, "DEALT_AT_ONCE", 2)
    images = [factories.image(label_from=now - timedelta(hours=n)) for n in range(3)]
    assert [panels_deal(policy=POLICY, now=now) for _ in range(3)] == [2, 1, 0]
    assert [panel.image for panel in Panel.objects.order_by("pk")] == images[::-1]
    dealt_or_withdrawn = [factories.image(**since) for since in ({"dealt_at": now}, {"label_from": None})]
    monkeypatch.setattr(selectors, "images_waiting_for_panel", lambda *_: dealt_or_withdrawn)
    assert panels_deal(policy=POLICY, now=now) == 0


def test_a_held_picture_comes_again_and_two_more_when_it_is_named(tara: Tasker, otto: Tasker, now: datetime) -> None:
    for _ in range(4):
        factories.panel()
    theirs, held = claim(otto, now), [claim(tara, now)]
    again = claim(tara, now + timedelta(minutes=1))
    assert (again, again.expires_at, kept(theirs, "expires_at")) == (
        held[0],
        now + timedelta(minutes=21),
        now + timedelta(minutes=20),
    )
    for _ in range(2):
        held.append(claim(tara, now, holding=[each.public_id for each in held]))
    assert ({each.slot for each in held}, len({each.panel_id for each in held})) == ({1, 2, 3}, 3)
    assert refused(Conflict, claim, tara, now, holding=[each.public_id for each in held]).code == "enough_held"


def test_pictures_that_miss_the_fewest_answers_come_first(
    tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    old, newer, newest = (factories.panel(dealt_at=now - timedelta(hours=n)) for n in (3, 2, 1))
    for person, panel in ((otto, newer), (otto, newest), (uma, newest)):
        factories.response(person, panel)
    assert [label(tara, now).response.panel_id for _ in range(3)] == [newest.pk, newer.pk, old.pk]


def test_the_oldest_pictures_come_first_beyond_the_window(tara: Tasker, now: datetime) -> None:
    """Nobody sees a picture twice."""
    panels = [factories.panel(dealt_at=now - timedelta(hours=100 - n)).pk for n in range(40)]
    order = [label(tara, now).response.panel_id for _ in panels]
    assert set(order) == set(panels) and gets_nothing(tara, now)
    assert all(abs(place - panels.index(panel)) <= selectors.WINDOW for place, panel in enumerate(order))
    assert set(order[:20]) <= set(panels[: 20 + selectors.WINDOW])


def test_the_order_of_pictures_differs_per_tasker(tara: Tasker, otto: Tasker, now: datetime) -> None:
    for _ in range(12):
        factories.panel(dealt_at=now)
    orders = [[label(person, now).response.panel_id for _ in range(12)] for person in (tara, otto)]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]


@pytest.mark.both("own SQL chooses among the open panels")
def test_what_may_be_offered_is_the_same_read_at_once(tara: Tasker, otto: Tasker, now: datetime) -> None:
    """The demo's people choose among all open panels; the queue offers the first of the very same."""
    Tasker.objects.update(person=tara.pk)
    stranger = factories.tasker("uma")
    offered, taken, seen, linked_saw, as_gold = [factories.panel() for _ in range(5)]
    Panel.objects.filter(pk=taken.pk).update(leased=3)
    for who, panel in ((stranger, offered), (tara, seen), (otto, linked_saw)):
        factories.assignment(who, panel)
    factories.assignment(otto, as_gold, known=factories.gold())
    for person in (Tasker.objects.get(pk=tara.pk), stranger):
        read_at_once = {panel.pk for panel in selectors.panels_open_to(person)}
        assert read_at_once == {panel for panel, _ in selectors.claimable_panels(person).panels}
    tara.refresh_from_db()
    assert {panel.pk for panel in selectors.panels_open_to(tara)} == {offered.pk, as_gold.pk}
    asked: dict[str, Any] = {"tasker": tara, "policy": POLICY, "now": now, "rng": Random(1)}
    given = [leases.assignment_lease(panel=panel, **asked) for panel in (taken, seen, linked_saw, offered, as_gold)]
    assert [each and each.panel for each in given] == [None, None, None, offered, None], "then she holds one"


def test_which_object_to_outline_is_drawn(now: datetime) -> None:
    factories.panel(size=9)
    drawn = {claim(tasker, now, rng=Random(n)).tie_break for n, tasker in enumerate(people(*"abcdefghi"))}
    assert drawn == set(TieBreak)


def test_panels_of_every_size_are_offered_also_those_of_another_policy(tara: Tasker, now: datetime) -> None:
    panels = [factories.panel(size=size).pk for size in range(3, MAX_PANEL_SIZE + 1)]
    assert [label(tara, now).response.panel_id for _ in panels] == panels


def test_a_panel_whose_last_place_was_taken_since_it_was_offered(
    tara: Tasker, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = factories.panel()
    Panel.objects.update(answered=1, missing=2, leased=2)
    offered = [(panel.pk, panel.image)]
    monkeypatch.setattr(selectors, "claimable_panels", lambda *_, **__: selectors.Claimable(iter(offered), {}))
    assert (gets_nothing(tara, now), Assignment.objects.count()) == (True, 0)


def test_waiting_may_help_while_others_hold(now: datetime) -> None:
    *holding, last = people(*"abcd")
    assert gets_nothing(last, now)
    held_by(holding, now)
    held = selectors.HeldByOthers(pictures=1, until=now + timedelta(seconds=POLICY.lease_seconds))
    assert next_for(last, now) == leases.NothingLeft(held)


@pytest.mark.both("own SQL reads the marks out of JSON")
def test_a_mark_never_hides_work(tara: Tasker, otto: Tasker, now: datetime) -> None:
    for n in range(12):
        factories.panel(dealt_at=now - timedelta(hours=1))
        label(tara, now + timedelta(seconds=50 * n))
    assert kept(tara, "passed"), "the marks moved"
    fresh, returned = (factories.panel(dealt_at=now + timedelta(seconds=n)) for n in (601, 602))
    factories.response(otto, fresh, now=now + timedelta(seconds=603))
    Panel.objects.filter(pk=fresh.pk).update(waiting_since=now + timedelta(seconds=603))
    offered = {label(tara, now + timedelta(seconds=640)).response.panel_id for _ in range(2)}
    assert offered == {fresh.pk, returned.pk}


def test_marks_stay_behind_the_present_and_the_oldest_panel_that_is_left(tara: Tasker, now: datetime) -> None:
    """A transaction that is still open may add a panel with a time just past."""
    left, *_ = (factories.panel(dealt_at=now - timedelta(hours=hours)) for hours in (1, 2, 3))
    Panel.objects.filter(pk=left.pk).update(leased=3)
    for moment in (now - MARK_AGE, now):
        label(tara, moment)
    marks = dict.fromkeys(map(str, range(1, MAX_PANEL_SIZE + 1)), (now - MARK_AGE).isoformat())
    assert kept(tara, "passed", "passed_at") == (marks | {"3": left.waiting_since.isoformat()}, now)


def test_a_clock_set_back_never_hides_work(tara: Tasker, now: datetime) -> None:
    factories.panel(dealt_at=now)
    label(tara, now + timedelta(hours=1))
    behind_the_marks = factories.panel(dealt_at=now)
    assert claim(tara, now + timedelta(hours=1)).panel == behind_the_marks


@pytest.mark.both("locks that skip what is locked")
def test_a_lease_ends_after_twenty_minutes_and_gives_the_place_back(now: datetime) -> None:
    """Ending leases twice changes nothing."""
    *three, four = people(*"abcd")
    panel, end = held_by(three, now), now + timedelta(minutes=20)
    assert [leases.leases_lapse(now=moment) for moment in (end - timedelta(seconds=1), end, end)] == [0, 3, 0]
    assert (kept(panel, "leased"), claim(four, end).panel) == (0, panel)
    assert len(statements(lambda: leases.leases_lapse(now=end))) == 1, "what ended or runs on is not looked at again"


def test_a_heartbeat_renews_and_takes_a_lapsed_lease_up_again(tara: Tasker, now: datetime) -> None:
    panel, held = factories.panel(), claim(tara, now)
    assert beat(held, now + timedelta(minutes=15)) == now + timedelta(minutes=35)
    assert len(statements(lambda: beat(held, now + timedelta(minutes=15)))) == 1
    assert [leases.leases_lapse(now=now + timedelta(minutes=minutes)) for minutes in (30, 60)] == [0, 1]
    beat(held, now + timedelta(hours=1))
    assert (kept(panel, "leased"), kept(held, "state")) == (1, AssignmentState.LEASED)


@pytest.mark.parametrize("since", [{"state": AssignmentState.RELEASED}, {"expires_at": NOW + timedelta(days=1)}])
def test_a_lease_that_was_renewed_or_ended_meanwhile_does_not_lapse(
    since: dict[str, Any], tara: Tasker, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, lapse = lease(tara, now), leases._lapse
    monkeypatch.setattr(leases, "_lapse", lambda *given: Assignment.objects.update(**since) and lapse(*given))
    assert leases.leases_lapse(now=now + timedelta(hours=1)) == 0
    assert kept(held, "state") != AssignmentState.EXPIRED


def test_a_lapsed_lease_is_taken_up_in_two_tabs_at_once(
    tara: Tasker, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, later, lock = lease(tara, now), now + timedelta(hours=1), selectors.lock_own_lease
    leases.leases_lapse(now=later)

    def behind_the_other_tab(*given: Any) -> Assignment | None:
        monkeypatch.setattr(selectors, "lock_own_lease", lock)
        beat(held, later)
        return lock(*given)

    monkeypatch.setattr(selectors, "lock_own_lease", behind_the_other_tab)
    assert beat(held, later) == later + timedelta(minutes=20)


@pytest.mark.parametrize("slot", [1, 2, 3])
def test_a_lapsed_lease_is_taken_up_beside_two_others(slot: int, tara: Tasker, now: datetime) -> None:
    held: list[Assignment] = []
    for _ in range(3):
        held.append(lease(tara, now, holding=[each.public_id for each in held]))
    Assignment.objects.filter(slot=slot).update(expires_at=now)
    leases.leases_lapse(now=now)
    beat(held[slot - 1], now)
    assert kept(held[slot - 1], "state", "slot") == (AssignmentState.LEASED, slot)


def test_whoever_pauses_or_leaves_gives_back_what_they_hold(tara: Tasker, otto: Tasker, now: datetime) -> None:
    panel = held_by((tara, otto), now)
    assert (leases.leases_release(tasker=tara, now=now), kept(panel, "leased")) == (1, 1)
    assert Assignment.objects.get(state=AssignmentState.LEASED).tasker == otto


def test_an_answer_ends_its_own_lease_alone(tara: Tasker, otto: Tasker, now: datetime) -> None:
    mine, others = lease(tara, now), lease(otto, now)
    next_one = lease(tara, now, holding=[mine.public_id])
    submit(mine, now)
    states = {each.pk: each.state for each in Assignment.objects.all()}
    assert states == {mine.pk: "answered", others.pk: "leased", next_one.pk: "leased"}


def test_who_is_late_finds_the_places_taken_and_the_answer_is_kept(now: datetime) -> None:
    panel, later = factories.panel(), now + timedelta(hours=1)
    late, *others = people(*"abcd")
    held = claim(late, now)
    leases.leases_lapse(now=later)
    theirs = [claim(person, later) for person in others]
    assert refused(Conflict, beat, held, later).code == "place_taken"
    assert not submit(held, later).counted, "three leases hold the three places"
    assert all(submit(each, later).counted for each in theirs)
    assert (kept(panel, "answered"), Response.objects.count()) == (3, 4)


def test_giving_a_picture_back_frees_its_place_for_others_first(tara: Tasker, now: datetime) -> None:
    panels = [factories.panel(dealt_at=now) for _ in range(2)]
    give_back(held := claim(tara, now), now)
    assert (kept(held.panel, "leased"), {held.panel, claim(tara, now).panel}) == (0, set(panels))


@pytest.mark.parametrize("call", [beat, submit])
def test_a_lease_is_used_by_its_tasker_with_its_token_alone(
    call: Any, tara: Tasker, otto: Tasker, now: datetime
) -> None:
    held = lease(tara, now)
    held.tasker = otto
    refused(NotFound, call, held, now)
    held.tasker, held.lease_token = tara, lease(tara, now, holding=[held.public_id]).lease_token
    assert refused(Conflict, call, held, now).code == "wrong_token"


def test_a_problem_is_reported_when_the_lease_is_over(tara: Tasker, now: datetime) -> None:
    held, later = lease(tara, now), now + timedelta(minutes=5)
    give_back(held, now)
    give_back(held, later, problem="The file is cut off.")
    assert kept(held, "state", "problem", "ended_at") == (AssignmentState.RELEASED, "The file is cut off.", later)


def test_the_last_answer_alone_says_that_the_panel_is_full(now: datetime) -> None:
    panel, heard = factories.panel(), []

    def hear(panel_id: int, **_: Any) -> None:
        heard.append((panel_id, Response.objects.count()))

    signals.panel_full.connect(hear)  # as long as `hear` lives
    for tasker in people(*"abc"):
        label(tasker, now)
    assert heard == [(panel.pk, 3)]


def test_a_full_panel_is_settled_once(full: Panel, now: datetime) -> None:
    other = full_panel(people(*"abc"), [{}] * 3)
    mark_settled(panel=full)
    assert (kept(full, "state"), kept(other, "state")) == (PanelState.SETTLED, PanelState.FULL)
    refused(Conflict, mark_settled, panel=full)


def test_three_answers_fill_the_panel(full: Panel, now: datetime) -> None:
    assert [each.place.number for each in Response.objects.order_by("pk")] == [1, 2, 3]  # type: ignore[union-attr]
    assert kept(full, "state", "answered", "leased", "missing", "full_at") == (PanelState.FULL, 3, 0, 0, now)


def test_an_answer_keeps_what_was_said(tara: Tasker, now: datetime) -> None:
    said = submit(lease(tara, now), now, BIRD | {"seconds": 12.5}).response
    assert kept(said, "outline", "milliseconds") == ("[[[10,10],[200,10],[200,200]]]", 12500)
    assert kept(said, "box_xmin", "box_ymin", "box_xmax", "box_ymax") == (1000, 1000, 20000, 20000)
    assert kept(said, "complete", "unoccluded", "real") == (True, True, True)
    digest = sha256(f"{said.assignment.public_id} {said.answers_sha256} {now.isoformat()}".encode()).hexdigest()
    assert said.receipt == f"{digest[:4]}-{digest[4:8]}-{digest[8:12]}".upper()


def test_the_same_again_gives_the_same_receipt_and_another_answer_is_refused(tara: Tasker, now: datetime) -> None:
    held = lease(tara, now)
    first = submit(held, now, BIRD | {"seconds": 3})
    again = submit(held, now + timedelta(minutes=5), BIRD | {"seconds": 99})
    assert (again.repeated, again.response.receipt) == (True, first.response.receipt)
    assert refused(Conflict, submit, held, now).code == "already_answered"
    assert Response.objects.get().contains_bird == "definitely_yes"


def test_a_late_answer_counts_while_a_place_is_free(tara: Tasker, now: datetime) -> None:
    panel, held = factories.panel(), claim(tara, now)
    leases.leases_lapse(now=now + timedelta(hours=1))
    assert submit(held, now + timedelta(hours=2)).counted
    assert kept(panel, "answered", "leased", "missing") == (1, 0, 2)


def test_wrong_fields_keep_nothing_and_the_lease_stays(tara: Tasker, now: datetime) -> None:
    held = lease(tara, now)
    wrong = refused(WrongFields, submit, held, now, BIRD | {"outline": 7, "real": 7})
    assert sorted(wrong.fields) == ["outline", "real"]
    assert (kept(held, "state"), Response.objects.count()) == (AssignmentState.LEASED, 0)


@pytest.mark.both("constraints refuse")
def test_the_database_refuses_a_second_answer_a_fourth_place_and_counters_beyond_the_panel() -> None:
    panel = factories.panel()
    *three, fourth = people(*"abcd")
    first, *_ = [factories.response(person, panel) for person in three]
    extra = factories.assignment(fourth, panel)
    refused_by_database(_copy_of, first, place=None)  # two answers by one tasker on one picture
    refused_by_database(_copy_of, first, assignment=extra, tasker=fourth)  # two counted answers in one place
    refused_by_database(PanelPlace.objects.create, panel=panel, number=3)  # a place twice
    for beyond in ({"answered": 4}, {"leased": 4}):
        refused_by_database(Panel.objects.filter(pk=panel.pk).update, **beyond)
    refused_by_database(factories.panel, size=2)


@pytest.mark.both("a trigger refuses")
def test_the_database_refuses_to_change_a_response(tara: Tasker) -> None:
    row = Response.objects.filter(pk=factories.response(tara, factories.panel()).pk)
    assert "append-only" in refused_by_database(row.update, contains_bird="definitely_no")
    assert "append-only" in refused_by_database(row.delete)


def _copy_of(row: Response, **changes: Any) -> Response:
    fields = [field.name for field in Response._meta.concrete_fields if field.name != "id"]
    return Response.objects.create(**{name: getattr(row, name) for name in fields} | changes)


@pytest.mark.both("locks are statements of their own there")
@pytest.mark.parametrize("pictures", [100, pytest.param(10_000, marks=pytest.mark.long("takes ten seconds to deal"))])
def test_statements_do_not_grow_with_the_pictures(
    pictures: int, tara: Tasker, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim takes at most 4 statements and a submit at most 8, BEGIN and COMMIT not among them."""
    _many_panels(pictures, now)
    monkeypatch.setattr(versions, "_MEMORY_SECONDS", 600.0)
    for remembered in (policy_in_force, selectors.instructions_in_force):
        remembered(now)
    ask = {"tasker": tara, "holding": (), "policy": POLICY, "now": now, "rng": Random(1)}
    claiming = statements(lambda: leases.assignment_next(**ask))
    held = Assignment.objects.select_related("tasker").get()
    submitting = statements(lambda: submit(held, now, BIRD))
    assert len(claiming) <= 4 and len(submitting) <= 8, claiming + submitting


@pytest.mark.parametrize("ahead", [100, pytest.param(2_000, marks=pytest.mark.long("takes seconds to deal"))])
def test_a_claim_far_ahead_of_the_others_starts_behind_ones_own_answers(
    ahead: int, tara: Tasker, now: datetime
) -> None:
    """Pictures answered by one tasker alone: the candidates' scan steps over none of them."""
    _many_panels(ahead + 50, now - timedelta(days=1))
    panels = list(Panel.objects.order_by("pk")[:ahead])
    same = {"tasker": tara, "person": tara.pk, "lease_token": "0", "slot": 1, "tie_break": "leftmost"}
    same |= {"state": AssignmentState.ANSWERED, "leased_at": now, "expires_at": now}
    Assignment.objects.bulk_create(Assignment(panel=panel, image_id=panel.image_id, **same) for panel in panels)
    Panel.objects.filter(pk__in=[panel.pk for panel in panels]).update(
        answered=1, missing=2, waiting_since=now - timedelta(hours=1)
    )
    label(tara, now)
    mark = kept(tara, "passed")["2"]
    assert datetime.fromisoformat(mark) > now - timedelta(hours=1), "the mark stands beyond everything answered"
    assert claim(tara, now).panel_id not in {panel.pk for panel in panels}


def _many_panels(count: int, dealt_at: datetime) -> None:
    Image.objects.bulk_create(
        Image(
            public_id=f"P-{n:08}",
            pixels_sha256=f"{n:064}",
            original_sha256=f"{n:064}",
            original_format="PNG",
            width=299,
            height=299,
            origin="dataset",
            source="test",
            licence="CC0",
            received_at=dealt_at,
            label_from=dealt_at,
        )
        for n in range(count)
    )
    while panels_deal(policy=POLICY, now=dealt_at):
        pass
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # Plans of its checks of foreign keys were made when the tables were empty: without this, each reads all.
            cursor.execute("ANALYZE labeling_image, labeling_panel, labeling_panelplace")


def test_an_assignment_moves_along_its_table_and_no_other_way(tara: Tasker, now: datetime) -> None:
    held = factories.assignment(tara, factories.panel())
    for before, after in product(AssignmentState, AssignmentState):
        Assignment.objects.filter(pk=held.pk).update(state=before)
        if after in NEXT_ASSIGNMENT_STATE[before]:
            leases._move(held, after)
        else:
            assert "cannot become" in str(refused(ValueError, leases._move, held, after))


@pytest.mark.parametrize("before", TaskerState)
@pytest.mark.parametrize("after", TaskerState)
def test_a_change_goes_along_the_table(before: TaskerState, after: TaskerState, olga: User, now: datetime) -> None:
    tasker = factories.tasker("tim", state=before)
    told: dict[str, Any] = {"tasker": tasker, "after": after, "code": "test", "reason": "a reason"}
    if after not in NEXT_TASKER_STATE[before]:
        refused(Conflict, tasker_state_change, **told, now=now, by=olga)
        assert not StateChange.objects.exists()
        return
    change = tasker_state_change(**told, now=now, by=olga)
    assert (change.before, change.after, change.by, change.changed_at) == (before, after, olga, now)
    assert Tasker.objects.get().state == tasker.state == after


def test_whoever_is_late_changes_nothing(tara: Tasker, now: datetime) -> None:
    stale, told = Tasker.objects.get(pk=tara.pk), {"code": "test", "now": now}
    tasker_state_change(tasker=tara, after=TaskerState.PAUSED, reason="first", **told)
    refused(Conflict, tasker_state_change, tasker=stale, after=TaskerState.LEARNING, reason="late", **told)
    assert StateChange.objects.get().reason == "first"


# What services do with a lease that is there, by their names.
SERVICES: dict[str, Callable[[Assignment, datetime], Any]] = {
    "assignment_next": lambda held, now: next_for(held.tasker, now),
    "assignment_lease": lambda held, now: leases.assignment_lease(
        tasker=held.tasker, panel=held.panel, policy=POLICY, now=now, rng=Random(1)
    ),
    "assignment_heartbeat": beat,
    "assignment_release": give_back,
    "response_submit": submit,
    "leases_release": lambda held, now: leases.leases_release(tasker=held.tasker, now=now),
    "leases_lapse": lambda held, now: leases.leases_lapse(now=now),
}


# How a lease comes to be in each state.
BROUGHT: dict[AssignmentState, tuple[str, ...]] = {
    AssignmentState.LEASED: (),
    AssignmentState.EXPIRED: ("leases_lapse",),
    AssignmentState.RELEASED: ("assignment_release",),
    AssignmentState.ANSWERED: ("response_submit",),
}


def test_services_take_every_step_of_a_lease_that_is_in_the_table_and_no_other(tara: Tasker, now: datetime) -> None:
    """Every service that changes a lease is walked."""
    names = {*vars(leases), *vars(submission)}
    assert {name for name in names if name.startswith(("assignment_", "response_", "leases_"))} == set(SERVICES)
    factories.panel()
    taken: dict[AssignmentState, set[AssignmentState]] = {state: set() for state in AssignmentState}
    later = now + timedelta(hours=1)
    for before in AssignmentState:
        for service in SERVICES.values():
            with transaction.atomic():
                held = claim(tara, now)
                for name in BROUGHT[before]:
                    SERVICES[name](held, later)
                assert Assignment.objects.get().state == before
                with suppress(Conflict):
                    service(Assignment.objects.select_related("tasker").get(), later)
                after = AssignmentState(Assignment.objects.get().state)
                taken[before] |= {after} - {before}
                transaction.set_rollback(True)
    assert taken == {state: set(following) for state, following in NEXT_ASSIGNMENT_STATE.items()}


def void(tasker: Tasker, now: datetime, **given: Any) -> voiding.Voiding:
    said: dict[str, Any] = {"since": None, "reason": "Clicks at random.", "by": None} | given
    return voiding.responses_void(tasker=tasker, now=now, **said)


def test_the_place_opens_again_for_another_tasker_and_the_answer_stays(
    tara: Tasker, otto: Tasker, uma: Tasker, olga: User, now: datetime
) -> None:
    panel = factories.panel()
    response, others = label(tara, now).response, label(otto, now).response
    done = void(tara, now, by=olga)
    assert not void(tara, now).responses.exists(), "twice changes nothing"
    assert (kept(panel, "answered", "missing", "state"), panel.places.count()) == ((1, 2, PanelState.OPEN), 4)
    assert Response.objects.get(pk=response.pk).contains_bird == response.contains_bird
    assert (response.voided.voiding, done.voided_by, done.reason) == (done, olga, "Clicks at random.")
    assert not VoidedResponse.objects.filter(response=others).exists()
    assert gets_nothing(tara, now), "who has seen the picture is not asked again"
    assert label(uma, now).response.place.number == 3, "the place of a voided answer is never filled again"


@pytest.mark.both("locks the panels of the voided answers")
def test_a_full_panel_waits_again(full: Panel, tara: Tasker, now: datetime) -> None:
    void(tara, now)
    assert kept(full, "state", "missing", "full_at") == (PanelState.OPEN, 1, None)
    new = label(factories.tasker("ines"), now).response
    assert (kept(full, "state"), new.place.replaces) == (PanelState.FULL, Response.objects.get(tasker=tara).place)
    assert panels_settle(policy_at=policy_in_force, now=now) == 1
    counted = Response.objects.exclude(tasker=tara).values_list("pk", flat=True)
    assert sorted(full.rulings.get().response_ids) == sorted(counted)


def test_settled_pictures_are_listed_and_left_alone(full: Panel, tara: Tasker, now: datetime) -> None:
    panels_settle(policy_at=policy_in_force, now=now)
    assert not void(tara, now).responses.exists()
    assert (kept(full, "state"), full.rulings.count()) == (PanelState.SETTLED, 1), "nothing is silently ruled again"
    assert [each.panel for each in voiding.settled_responses(tara, None)] == [full]


def test_a_held_panel_stays_held(tara: Tasker, now: datetime) -> None:
    panel = factories.panel()
    label(tara, now)
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
    void(tara, now)
    assert kept(panel, "state", "missing") == (PanelState.HELD, 3)


@pytest.mark.parametrize(("decision", "state"), [("", "held"), ("kept_out", "held"), ("reopened", "open")])
def test_a_report_that_came_when_the_panel_was_full_holds_it_now(
    decision: str, state: str, full: Panel, tara: Tasker, now: datetime
) -> None:
    late = factories.assignment(factories.tasker("ines"), full, state="released")
    made = {"assignment": late, "image": full.image, "tasker": late.tasker, "kind": "other", "reported_at": now}
    Report.objects.create(**made, decision=decision, decided_at=now if decision else None)
    void(tara, now)
    assert kept(full, "state") == state


def test_answers_are_voided_since_a_moment(tara: Tasker, now: datetime) -> None:
    factories.panel(), factories.panel()
    before, after = (label(tara, at).response for at in (now - timedelta(days=1), now))
    assert [each.response for each in void(tara, now, since=now - timedelta(hours=1)).responses.all()] == [after]
    assert Panel.objects.get(pk=before.panel_id).answered == 1


def test_the_reason_is_published_so_it_is_needed(tara: Tasker, now: datetime) -> None:
    assert "Give the reason" in str(refused(InvalidInput, void, tara, now, reason="  "))


@pytest.mark.both("constraints and a trigger refuse")
def test_the_database_refuses_to_replace_a_place_twice_and_to_take_a_voiding_back(tara: Tasker, now: datetime) -> None:
    panel = factories.panel()
    label(tara, now)
    void(tara, now)
    replaced = PanelPlace.objects.exclude(replaces=None).get().replaces
    refused_by_database(PanelPlace.objects.create, panel=panel, number=11, replaces=replaced)
    refused_by_database(PanelPlace.objects.create, panel=panel, number=10)  # beyond every size, replacing none
    refused_by_database(VoidedResponse.objects.all().delete)


def test_an_answer_sent_after_a_pause_is_kept_and_does_not_count(tara: Tasker, now: datetime) -> None:
    panel, held = factories.panel(), claim(tara, now)
    Tasker.objects.update(state="paused")
    held.tasker.refresh_from_db()
    assert not submit(held, now).counted
    assert (kept(panel, "leased", "answered"), Response.objects.count()) == ((0, 0), 1)


@pytest.mark.parametrize("state", ["paused", "learning"])
def test_who_was_stopped_since_they_signed_in_gets_no_picture(state: str, tara: Tasker, now: datetime) -> None:
    factories.panel()
    Tasker.objects.update(state=state)
    asked: dict[str, Any] = {"tasker": tara, "policy": POLICY, "now": now, "rng": Random(1)}
    refused(NotAllowed, leases.assignment_next, holding=(), **asked)
    assert leases.assignment_lease(panel=Panel.objects.get(), **asked) is None
    assert not Assignment.objects.exists()


def test_who_was_stopped_since_they_signed_in_takes_nothing_up_again(tara: Tasker, now: datetime) -> None:
    """Nor does their late answer count."""
    panel, held, later = factories.panel(), claim(tara, now), now + timedelta(hours=1)
    leases.leases_lapse(now=later)
    Tasker.objects.update(state="paused")
    asked: dict[str, Any] = {"holding": (), "policy": POLICY, "now": later, "rng": Random(1)}
    assert isinstance(leases.assignment_next(tasker=held.tasker, **asked), leases.NothingLeft)
    assert refused(Conflict, beat, held, later).code == "lease_ended"
    assert not submit(held, later).counted
    assert kept(panel, "answered", "leased") == (0, 0)


def test_a_lapsed_picture_does_not_come_back_onto_a_shared_panel(tara: Tasker, otto: Tasker, now: datetime) -> None:
    held_by([tara], now)
    later = now + timedelta(hours=1)
    leases.leases_lapse(now=later)
    label(otto, later)
    linked(tara, otto)
    assert isinstance(next_for(tara, later), leases.NothingLeft)


def test_who_is_late_does_not_come_back_onto_a_shared_panel(tara: Tasker, otto: Tasker, now: datetime) -> None:
    """With the page still open since before the link: it takes the place up again, or sends the answer (R6)."""
    panel, later = held_by([tara], now), now + timedelta(hours=1)
    held = Assignment.objects.select_related("tasker").get()
    leases.leases_lapse(now=later)
    label(otto, later)
    linked(tara, otto)
    assert refused(Conflict, beat, held, later).code == "place_taken"
    assert not submit(held, later).counted
    assert (kept(panel, "answered", "leased"), Response.objects.count()) == ((1, 0), 2)


def test_of_two_linked_taskers_whose_leases_ended_the_first_answer_counts(
    tara: Tasker, otto: Tasker, now: datetime
) -> None:
    """No answer is thrown away for the sake of one that never comes (R8)."""
    panel, later = held_by([tara, otto], now), now + timedelta(hours=1)
    first, second = Assignment.objects.select_related("tasker").order_by("pk")
    leases.leases_lapse(now=later)
    linked(tara, otto)
    assert [submit(held, later).counted for held in (second, first)] == [True, False]
    assert kept(panel, "answered") == 1


def test_an_answer_within_the_lease_counts_beside_that_of_a_linked_tasker(
    tara: Tasker, otto: Tasker, now: datetime
) -> None:
    """Both were on the panel before the link: organizers see it, and nothing is done by itself."""
    held_by([tara], now)
    label(otto, now)
    linked(tara, otto)
    assert submit(Assignment.objects.select_related("tasker").get(tasker=tara), now).counted


def test_gold_may_come_to_both(tara: Tasker, otto: Tasker, now: datetime) -> None:
    gold = factories.gold()
    linked(tara, otto)
    for tasker in (tara, otto):
        factories.assignment(tasker, gold.panel, now=now, known=gold)  # type: ignore[arg-type]
    assert gold.assignments.count() == 2
