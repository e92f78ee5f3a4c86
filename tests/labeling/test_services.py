"""Panels and leases (R7, R8): who gets which picture, for how long, and what becomes of each answer."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import product
from random import Random
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from common.errors import Conflict, NotFound, WrongFields
from labeling import selectors, services
from labeling.enums import NEXT_ASSIGNMENT_STATE, AssignmentState, PanelState, TieBreak
from labeling.models import Assignment, Panel, Place, Response, Tasker
from labeling.policy import Policy
from tests import factories

pytestmark = pytest.mark.django_db
POLICY = Policy()
NEGATIVE = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}
BIRD = {
    "contains_bird": "definitely_yes",
    "contains_bicycle": "definitely_no",
    "outline": [[[10, 10], [200, 10], [200, 200]]],
    "complete": True,
    "unoccluded": True,
    "real": True,
}


def claim(tasker: Tasker, now: datetime, holding: Sequence[UUID] = ()) -> Assignment:
    found = services.assignment_next(tasker=tasker, holding=holding, policy=POLICY, now=now, rng=Random(1))
    assert isinstance(found, Assignment), found
    return found


def nothing(tasker: Tasker, now: datetime) -> services.NothingLeft:
    found = services.assignment_next(tasker=tasker, holding=(), policy=POLICY, now=now, rng=Random(1))
    assert isinstance(found, services.NothingLeft), found
    return found


def submit(held: Assignment, now: datetime, data: dict[str, Any] = NEGATIVE) -> services.Submitted:
    return services.response_submit(
        tasker=held.tasker,
        assignment_id=held.public_id,
        lease_token=held.lease_token,
        data=data,
        policy_at=lambda _: POLICY,
        now=now,
    )


def label(tasker: Tasker, now: datetime) -> services.Submitted:
    return submit(claim(tasker, now), now)


def beat(held: Assignment, now: datetime) -> datetime:
    return services.assignment_heartbeat(
        tasker=held.tasker, assignment_id=held.public_id, lease_token=held.lease_token, policy=POLICY, now=now
    )


def many_taskers(count: int) -> list[Tasker]:
    return [factories.tasker(f"tasker-{number}") for number in range(count)]


class TestDealing:
    def test_every_due_picture_gets_one_panel_with_its_places(self, now: datetime) -> None:
        due, later = factories.image(label_from=now), factories.image(label_from=now + timedelta(days=1))
        never = factories.image(label_from=None)
        assert services.panels_deal(policy=POLICY, now=now) == 1
        assert services.panels_deal(policy=POLICY, now=now) == 0, "running it twice adds none"
        assert due.panels.get().places.count() == 3
        assert not later.panels.exists() and not never.panels.exists()

    def test_the_size_is_the_policys_when_dealt(self, now: datetime) -> None:
        image = factories.image(label_from=now)
        services.panels_deal(policy=Policy(panel_size=5), now=now)
        panel = image.panels.get()
        assert (panel.size, panel.missing, panel.places.count()) == (5, 5, 5)


class TestClaim:
    def test_a_held_picture_comes_again(self, tara: Tasker, now: datetime) -> None:
        factories.panel(), factories.panel()
        assert claim(tara, now).pk == claim(tara, now + timedelta(minutes=1)).pk

    def test_another_one_when_the_first_is_named_as_held(self, tara: Tasker, now: datetime) -> None:
        factories.panel(), factories.panel()
        first = claim(tara, now)
        second = claim(tara, now, [first.public_id])
        assert second.pk != first.pk and second.slot != first.slot

    def test_three_at_most(self, tara: Tasker, now: datetime) -> None:
        for _ in range(4):
            factories.panel()
        held: list[UUID] = []
        for _ in range(3):
            held.append(claim(tara, now, held).public_id)
        with pytest.raises(Conflict) as refusal:
            claim(tara, now, held)
        assert refusal.value.code == "enough_held"

    def test_nobody_sees_a_picture_twice(self, tara: Tasker, now: datetime) -> None:
        panels = {factories.panel().pk for _ in range(20)}
        seen = {label(tara, now + timedelta(seconds=n)).response.panel_id for n in range(20)}
        assert seen == panels
        assert not nothing(tara, now + timedelta(minutes=1)).others_hold_some

    def test_fewest_missing_answers_first(self, tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
        old, newer, newest = (factories.panel(dealt_at=now - timedelta(hours=n)) for n in (3, 2, 1))
        factories.response(otto, newer)
        for person in (otto, uma):
            factories.response(person, newest)
        order = [label(tara, now).response.panel_id for _ in range(3)]
        assert order == [newest.pk, newer.pk, old.pk]

    def test_oldest_first_beyond_the_window(self, tara: Tasker, now: datetime) -> None:
        panels = [factories.panel(dealt_at=now - timedelta(hours=100 - n)).pk for n in range(60)]
        order = [label(tara, now).response.panel_id for _ in range(60)]
        for place, panel in enumerate(order):
            assert abs(place - panels.index(panel)) <= selectors.WINDOW
        assert set(order[:20]) <= set(panels[: 20 + selectors.WINDOW])

    def test_order_differs_per_tasker(self, tara: Tasker, otto: Tasker, now: datetime) -> None:
        for _ in range(12):
            factories.panel(dealt_at=now)
        orders = [[panel for panel, _ in selectors.candidates(person)] for person in (tara, otto)]
        assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]

    def test_what_may_be_offered_is_the_same_read_at_once(self, tara: Tasker, otto: Tasker, now: datetime) -> None:
        """The demo's people choose among all open panels; the queue offers the first of the very same."""
        Tasker.objects.update(person=tara.pk)
        stranger = factories.tasker("uma")
        offered, taken, seen, linked_saw, as_gold = [factories.panel() for _ in range(5)]
        Panel.objects.filter(pk=taken.pk).update(leased=3)
        factories.assignment(stranger, offered)
        factories.assignment(tara, seen)
        factories.assignment(otto, linked_saw)
        factories.assignment(otto, as_gold, known=factories.gold())
        for person in (Tasker.objects.get(pk=tara.pk), stranger):
            at_once = {panel.pk for panel in selectors.panels_open_to(person)}
            assert at_once == {panel for panel, _ in selectors.candidates(person)}
        tara.refresh_from_db()
        assert {panel.pk for panel in selectors.panels_open_to(tara)} == {offered.pk, as_gold.pk}
        for panel, open_to_her in ((offered, True), (taken, False), (seen, False), (linked_saw, False)):
            found = services.assignment_of(tasker=tara, panel=panel, policy=POLICY, now=now, rng=Random(1))
            assert (found is not None) == open_to_her
        assert services.assignment_of(tasker=tara, panel=as_gold, policy=POLICY, now=now, rng=Random(1)) is None, (
            "she holds one"
        )

    def test_which_object_to_outline_is_drawn(self, tara: Tasker, now: datetime) -> None:
        draws = set()
        for n in range(20):
            factories.panel()
            found = services.assignment_next(tasker=tara, holding=(), policy=POLICY, now=now, rng=Random(n))
            assert isinstance(found, Assignment)
            draws.add(found.tie_break)
            submit(found, now)
        assert draws == set(TieBreak)

    def test_waiting_may_help_while_others_hold(self, now: datetime) -> None:
        factories.panel()
        one, two, three, four = many_taskers(4)
        for person in (one, two, three):
            claim(person, now)
        assert nothing(four, now).others_hold_some

    def test_nothing_at_all(self, tara: Tasker, now: datetime) -> None:
        assert not nothing(tara, now).others_hold_some

    def test_a_mark_never_hides_work(self, tara: Tasker, otto: Tasker, now: datetime) -> None:
        for n in range(30):
            factories.panel(dealt_at=now - timedelta(hours=1))
            label(tara, now + timedelta(seconds=20 * n))
        tara.refresh_from_db()
        assert tara.passed, "the marks moved"
        fresh = factories.panel(dealt_at=now + timedelta(seconds=601))
        returned = factories.panel(dealt_at=now + timedelta(seconds=602))
        factories.response(otto, fresh, now=now + timedelta(seconds=603))
        fresh.waiting_since = now + timedelta(seconds=603)
        fresh.save()
        later = now + timedelta(seconds=640)
        assert {label(tara, later).response.panel_id for _ in range(2)} == {fresh.pk, returned.pk}

    def test_a_clock_set_back_never_hides_work(self, tara: Tasker, now: datetime) -> None:
        factories.panel(dealt_at=now)
        label(tara, now + timedelta(hours=1))
        behind_the_marks = factories.panel(dealt_at=now)
        tara.refresh_from_db()
        assert claim(tara, now + timedelta(hours=1)).panel_id == behind_the_marks.pk


class TestLease:
    def test_ends_after_twenty_minutes_and_gives_the_place_back(self, now: datetime) -> None:
        panel = factories.panel()
        one, two, three, four = many_taskers(4)
        for person in (one, two, three):
            claim(person, now)
        assert services.leases_lapse(now=now + timedelta(minutes=19, seconds=59)) == 0
        assert services.leases_lapse(now=now + timedelta(minutes=20)) == 3
        assert services.leases_lapse(now=now + timedelta(minutes=20)) == 0, "running it twice changes nothing"
        panel.refresh_from_db()
        assert panel.leased == 0
        assert claim(four, now + timedelta(minutes=21)).panel_id == panel.pk

    def test_heartbeat_renews(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        later = now + timedelta(minutes=15)
        assert beat(held, later) == later + timedelta(minutes=20)
        assert services.leases_lapse(now=now + timedelta(minutes=30)) == 0

    def test_heartbeat_takes_a_lapsed_lease_up_again_while_there_is_room(self, tara: Tasker, now: datetime) -> None:
        panel = factories.panel()
        held = claim(tara, now)
        services.leases_lapse(now=now + timedelta(hours=1))
        beat(held, now + timedelta(hours=1))
        panel.refresh_from_db()
        held.refresh_from_db()
        assert (panel.leased, held.state) == (1, AssignmentState.LEASED)

    def test_heartbeat_says_when_the_place_is_gone(self, now: datetime) -> None:
        factories.panel()
        late, *others = many_taskers(4)
        held = claim(late, now)
        services.leases_lapse(now=now + timedelta(hours=1))
        for person in others:
            claim(person, now + timedelta(hours=1))
        with pytest.raises(Conflict) as refusal:
            beat(held, now + timedelta(hours=1))
        assert refusal.value.code == "place_taken"

    def test_a_lapsed_picture_is_offered_again_when_nothing_else_is_left(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        services.leases_lapse(now=now + timedelta(hours=1))
        again = claim(tara, now + timedelta(hours=1))
        assert (again.pk, again.lease_token, again.tie_break) == (held.pk, held.lease_token, held.tie_break)

    def test_giving_back_frees_the_place_for_others_first(self, tara: Tasker, otto: Tasker, now: datetime) -> None:
        panel, other = factories.panel(dealt_at=now), factories.panel(dealt_at=now)
        held = claim(tara, now)
        services.assignment_release(
            tasker=tara, assignment_id=held.public_id, lease_token=held.lease_token, problem="", now=now
        )
        assert Panel.objects.get(pk=held.panel_id).leased == 0
        assert claim(tara, now).panel_id == ({panel.pk, other.pk} - {held.panel_id}).pop()

    def test_a_reported_picture_never_comes_back_to_the_reporter(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        services.assignment_release(
            tasker=tara, assignment_id=held.public_id, lease_token=held.lease_token, problem="all black", now=now
        )
        assert not nothing(tara, now).others_hold_some
        assert Assignment.objects.get().problem == "all black"

    @pytest.mark.parametrize("call", [beat, submit])
    def test_somebody_elses_lease_is_not_there(self, call: Any, tara: Tasker, otto: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        held.tasker = otto
        with pytest.raises(NotFound):
            call(held, now)

    @pytest.mark.parametrize("call", [beat, submit])
    def test_a_wrong_token_is_refused(self, call: Any, tara: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        held.lease_token = "0" * 32
        with pytest.raises(Conflict) as refusal:
            call(held, now)
        assert refusal.value.code == "wrong_token"


class TestSubmit:
    def test_three_answers_fill_the_panel(self, now: datetime) -> None:
        panel = factories.panel()
        places = [label(person, now).response.place.number for person in many_taskers(3)]  # type: ignore[union-attr]
        panel.refresh_from_db()
        assert places == [1, 2, 3]
        assert (panel.state, panel.answered, panel.leased, panel.missing) == (PanelState.FULL, 3, 0, 0)
        assert panel.full_at == now

    def test_keeps_what_was_said(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        response = submit(claim(tara, now), now, BIRD | {"seconds": 12.5}).response
        assert response.outline == "[[[10,10],[200,10],[200,200]]]"
        assert (response.box_xmin, response.box_ymin, response.box_xmax, response.box_ymax) == (
            1000,
            1000,
            20000,
            20000,
        )
        assert (response.complete, response.unoccluded, response.real, response.milliseconds) == (
            True,
            True,
            True,
            12500,
        )

    def test_the_very_same_again_gives_the_same_receipt(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        first = submit(held, now, BIRD | {"seconds": 3})
        again = submit(held, now + timedelta(minutes=5), BIRD | {"seconds": 99})
        assert (again.repeated, again.response.receipt) == (True, first.response.receipt)
        assert Response.objects.count() == 1

    def test_a_different_answer_afterwards_is_refused(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        submit(held, now, BIRD)
        with pytest.raises(Conflict) as refusal:
            submit(held, now, NEGATIVE)
        assert refusal.value.code == "already_answered"
        assert Response.objects.get().contains_bird == "definitely_yes"

    def test_a_late_answer_counts_while_a_place_is_free(self, tara: Tasker, now: datetime) -> None:
        panel = factories.panel()
        held = claim(tara, now)
        services.leases_lapse(now=now + timedelta(hours=1))
        assert submit(held, now + timedelta(hours=2)).counted
        panel.refresh_from_db()
        assert (panel.answered, panel.leased, panel.missing) == (1, 0, 2)

    def test_a_late_answer_is_surplus_when_the_places_are_taken(self, now: datetime) -> None:
        panel = factories.panel()
        late, *others = many_taskers(4)
        held = claim(late, now)
        services.leases_lapse(now=now + timedelta(hours=1))
        for person in others:
            claim(person, now + timedelta(hours=1))
        assert not submit(held, now + timedelta(hours=1)).counted, "three leases hold the three places"
        for person in others:
            assert submit(claim(person, now + timedelta(hours=1)), now + timedelta(hours=1)).counted
        panel.refresh_from_db()
        assert (panel.answered, Response.objects.count()) == (3, 4)

    def test_an_answer_after_giving_back_is_kept(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        services.assignment_release(
            tasker=tara, assignment_id=held.public_id, lease_token=held.lease_token, problem="", now=now
        )
        assert submit(held, now).counted

    def test_wrong_fields_keep_nothing_and_the_lease_stays(self, tara: Tasker, now: datetime) -> None:
        factories.panel()
        held = claim(tara, now)
        with pytest.raises(WrongFields) as refusal:
            submit(held, now, {k: v for k, v in BIRD.items() if k not in ("outline", "real")})
        assert set(refusal.value.fields) == {"outline", "real"}
        held.refresh_from_db()
        assert held.state == AssignmentState.LEASED and not Response.objects.exists()


class TestDatabaseRefuses:
    """Whoever writes, these hold."""

    def test_two_answers_by_one_tasker_on_one_image(self, tara: Tasker) -> None:
        panel = factories.panel()
        factories.response(tara, panel)
        with pytest.raises(IntegrityError), transaction.atomic():
            Response.objects.create(**_copy_of(Response.objects.get(), place=None))

    def test_a_counted_answer_beyond_the_panel(self, now: datetime) -> None:
        panel = factories.panel()
        people = many_taskers(4)
        for person in people[:3]:
            factories.response(person, panel)
        extra = factories.assignment(people[3], panel)
        counted = Response.objects.first()
        with pytest.raises(IntegrityError), transaction.atomic():
            Response.objects.create(**_copy_of(counted, assignment=extra, tasker=people[3]))
        with pytest.raises(IntegrityError), transaction.atomic():
            Place.objects.create(panel=panel, number=3)
        with pytest.raises(IntegrityError), transaction.atomic():
            Panel.objects.filter(pk=panel.pk).update(answered=4)

    def test_more_leases_and_answers_than_places(self) -> None:
        panel = factories.panel()
        with pytest.raises(IntegrityError), transaction.atomic():
            Panel.objects.filter(pk=panel.pk).update(leased=4)

    def test_a_panel_of_two(self) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            factories.panel(size=2)

    @pytest.mark.parametrize("change", ["update", "delete"])
    def test_changing_a_response(self, change: str, tara: Tasker) -> None:
        row = factories.response(tara, factories.panel())
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            if change == "update":
                Response.objects.filter(pk=row.pk).update(contains_bird="definitely_no")
            else:
                Response.objects.filter(pk=row.pk).delete()


def _copy_of(row: Response | None, **changes: Any) -> dict[str, Any]:
    assert row is not None
    fields = [field.name for field in Response._meta.concrete_fields if field.name != "id"]
    return {name: getattr(row, name) for name in fields} | changes


@pytest.mark.parametrize("pictures", [100, 10_000])
def test_statements_do_not_grow_with_the_pictures(
    pictures: int, tara: Tasker, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim takes at most 4 statements and a submit at most 8, BEGIN and COMMIT not among them."""
    _many_panels(pictures, now)
    monkeypatch.setattr(selectors, "_MEMORY_SECONDS", 600.0)
    selectors.policy_in_force(now)
    selectors.instructions_in_force(now)
    with CaptureQueriesContext(connection) as claiming:
        held = claim(tara, now)
    with CaptureQueriesContext(connection) as submitting:
        submit(held, now, BIRD)
    assert len(_statements(claiming)) <= 4, _statements(claiming)
    assert len(_statements(submitting)) <= 8, _statements(submitting)


def test_a_claim_far_ahead_of_the_others_starts_behind_ones_own_answers(tara: Tasker, now: datetime) -> None:
    """2,000 pictures answered by one tasker alone: the candidates' scan steps over none of them."""
    _many_panels(2_100, now - timedelta(days=1))
    panels = list(Panel.objects.order_by("pk")[:2_000])
    Assignment.objects.bulk_create(
        Assignment(
            panel=panel,
            image_id=panel.image_id,
            tasker=tara,
            person=tara.pk,
            lease_token="0",
            slot=1,
            tie_break="leftmost",
            state=AssignmentState.ANSWERED,
            leased_at=now,
            expires_at=now,
        )
        for panel in panels
    )
    Panel.objects.filter(pk__in=[panel.pk for panel in panels]).update(
        answered=1, missing=2, waiting_since=now - timedelta(hours=1)
    )
    label(tara, now)
    tara.refresh_from_db()
    mark = datetime.fromisoformat(tara.passed["2"])
    assert mark > now - timedelta(hours=1), "the mark stands beyond everything answered"
    assert claim(tara, now).panel_id not in {panel.pk for panel in panels}


def _many_panels(count: int, dealt_at: datetime) -> None:
    from labeling.models import Image

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
    while services.panels_deal(policy=POLICY, now=dealt_at):
        pass
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # Plans of its checks of foreign keys were made when the tables were empty: without this, each reads all.
            cursor.execute("ANALYZE labeling_image, labeling_panel, labeling_place")


def _statements(captured: CaptureQueriesContext) -> list[str]:
    plain = [query["sql"] for query in captured.captured_queries]
    return [sql for sql in plain if not sql.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))]


def test_an_assignment_moves_along_its_table_and_no_other_way(tara: Tasker, now: datetime) -> None:
    held = factories.assignment(tara, factories.panel())
    for before, after in product(AssignmentState, AssignmentState):
        Assignment.objects.filter(pk=held.pk).update(state=before)
        if after in NEXT_ASSIGNMENT_STATE[before]:
            services._move(held, after)
        else:
            with pytest.raises(ValueError, match="cannot become"):
                services._move(held, after)
