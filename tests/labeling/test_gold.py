"""Gold in the stream (R6): dealt at the policy's rate, once per tasker, capped, and told by nothing."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.errors import Conflict
from labeling import services
from labeling.api import assignment_json, receipt_json
from labeling.enums import AssignmentState, OutlineGate, PanelState
from labeling.models import Assignment, GoldMark, KnownPicture, Panel, Tasker
from labeling.policy import Policy
from tests import factories

pytestmark = pytest.mark.django_db
ALWAYS, NEVER = Policy(gold_percent=50), Policy(gold_percent=0)
RIGHT = {
    "contains_bird": "definitely_yes",
    "contains_bicycle": "definitely_no",
    "outline": [[[12, 10], [200, 10], [200, 200], [10, 200]]],
    "complete": True,
    "unoccluded": True,
    "real": True,
}
WRONG = RIGHT | {"real": False}


class _Heads(Random):
    """Draws gold whenever the policy allows any."""

    def randrange(self, *_: int) -> int:
        return 0


class _Tails(Random):
    def randrange(self, *_: int) -> int:
        return 99


def claim(
    tasker: Tasker, now: datetime, policy: Policy = ALWAYS, rng: Random | None = None, beside: Assignment | None = None
) -> Assignment:
    holding = [beside.public_id] if beside else []
    found = services.assignment_next(tasker=tasker, holding=holding, policy=policy, now=now, rng=rng or _Heads(1))
    assert isinstance(found, Assignment), found
    return found


def submit(held: Assignment, now: datetime, data: dict[str, object] = RIGHT) -> services.Submitted:
    return services.response_submit(
        tasker=held.tasker,
        assignment_id=held.public_id,
        lease_token=held.lease_token,
        data=data,
        policy_at=lambda _: ALWAYS,
        now=now,
    )


def test_gold_takes_the_place_of_an_ordinary_picture(tara: Tasker, now: datetime) -> None:
    waiting, gold = factories.panel(), factories.gold()
    held = claim(tara, now)
    assert (held.image, held.known) == (gold.image, gold)
    waiting.refresh_from_db()
    assert waiting.leased == 0, "no place of the picture that was passed over is held"
    gold.refresh_from_db()
    assert gold.uses == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"use": "qualification"}, "another use"),
        ({"retired_at": factories.NOW, "retired_because": "leaked"}, "retired"),
        ({"held_at": factories.NOW}, "held for an organizer"),
        ({"uses": 200}, "used as often as the policy allows"),
    ],
)
def test_gold_that_is_not_dealt(change: dict[str, object], why: str, tara: Tasker, now: datetime) -> None:
    factories.panel()
    factories.gold(**change)
    assert claim(tara, now).known is None, why


def test_one_use_is_left_and_one_tasker_gets_it(tara: Tasker, otto: Tasker, now: datetime) -> None:
    factories.panel()
    gold = factories.gold(uses=ALWAYS.gold_most_uses - 1)
    assert claim(tara, now).known == gold
    assert claim(otto, now).known is None


def test_at_most_once_per_tasker_and_picture(tara: Tasker, now: datetime) -> None:
    factories.panel()
    factories.panel()
    factories.gold()
    first = claim(tara, now)
    submit(first, now)
    assert claim(tara, now).known is None


def test_not_for_who_was_asked_about_the_picture_before(tara: Tasker, now: datetime) -> None:
    settled = factories.panel()
    factories.response(tara, settled, now=now)
    factories.gold(settled)
    factories.panel()
    assert claim(tara, now).known is None


def test_never_when_nothing_ordinary_is_left(tara: Tasker, now: datetime) -> None:
    """Or gold would be known by coming when the queue is empty."""
    factories.gold()
    found = services.assignment_next(tasker=tara, holding=(), policy=ALWAYS, now=now, rng=_Heads(1))
    assert isinstance(found, services.NothingLeft)


def test_a_lease_on_gold_is_nothing_worth_waiting_for(tara: Tasker, otto: Tasker, now: datetime) -> None:
    factories.gold()
    only = factories.panel()
    claim(tara, now)
    for tasker in (otto, factories.tasker("ute"), factories.tasker("ken")):
        submit(claim(tasker, now, NEVER), now)
    only.refresh_from_db()
    assert only.state == PanelState.FULL
    found = services.assignment_next(tasker=factories.tasker("new"), holding=(), policy=NEVER, now=now, rng=Random(1))
    assert found == services.NothingLeft(others_hold_some=False)


@pytest.mark.parametrize("percent", [0, 5, 20])
def test_the_share_follows_the_policy(percent: int, now: datetime) -> None:
    policy, rng = replace(ALWAYS, gold_percent=percent), Random("rate")
    for _ in range(40):
        factories.panel(size=9)
        factories.gold()
    dealt = 0
    for number in range(8):
        tasker = factories.tasker(f"t{number}")
        for _ in range(40):
            held = claim(tasker, now, policy, rng)
            dealt += held.known_id is not None
            submit(held, now, {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"})
    expected = 320 * percent / 100
    assert abs(dealt - expected) <= 3.5 * (expected * (1 - percent / 100)) ** 0.5


def test_an_answer_is_marked_and_holds_no_place(tara: Tasker, otto: Tasker, now: datetime) -> None:
    factories.panel()
    gold = factories.gold()
    assert gold.panel is not None
    before = Panel.objects.filter(pk=gold.panel.pk).values().get()
    right, wrong = submit(claim(tara, now), now), submit(claim(otto, now), now, WRONG)
    assert GoldMark.objects.get(response=right.response).right
    mark = GoldMark.objects.get(response=wrong.response)
    assert not mark.right
    assert [name for name, fine in mark.marks.items() if not fine] == ["real"]
    assert right.response.place is None, "it fills no place of a panel that is settled"
    assert Panel.objects.filter(pk=gold.panel.pk).values().get() == before


@pytest.mark.parametrize(
    ("dealt", "gold_dealt", "asked", "why"),
    [
        (0, 60, True, "dealt after the change, beside older gold"),
        (60, 0, False, "dealt before the change, beside newer gold"),
        (60, 60, False, "both dealt before the change, and claimed after it"),
    ],
)
def test_gold_asks_what_the_picture_in_its_place_would_ask(
    dealt: int, gold_dealt: int, asked: bool, why: str, tara: Tasker, now: datetime
) -> None:
    """Under another gate (R10) than the picture that the tasker gets instead, it would be known as gold."""
    wider = replace(ALWAYS, outline_gate=OutlineGate.NOT_EXCLUDED)
    factories.panel(dealt_at=now - timedelta(days=dealt))
    factories.gold(factories.panel(dealt_at=now - timedelta(days=gold_dealt)))
    held = claim(tara, now, wider)
    assert held.known is not None
    unsure = RIGHT | {"contains_bird": "unsure_no"}
    not_asked = {"contains_bird": "unsure_no", "contains_bicycle": "definitely_no"}
    sent = services.response_submit(
        tasker=tara,
        assignment_id=held.public_id,
        lease_token=held.lease_token,
        data=unsure if asked else not_asked,
        policy_at=lambda moment: wider if moment > now - timedelta(days=30) else ALWAYS,
        now=now,
    )
    assert bool(sent.response.outline) == asked, why


def test_gold_of_another_size_is_not_dealt(tara: Tasker, now: datetime) -> None:
    """After a change of the size (R2), old gold would be known by its size."""
    factories.panel(factories.image(width=320, height=320))
    factories.gold()
    assert claim(tara, now).known is None


@pytest.mark.parametrize("gold", [True, False])
def test_the_story_of_a_lease_is_the_same(gold: bool, tara: Tasker, now: datetime) -> None:
    """Claimed, lapsed, taken up again, given back, answered all the same: nothing tells gold from any other."""
    factories.panel()
    factories.gold()
    held = claim(tara, now, ALWAYS, _Heads(1) if gold else _Tails(1))
    assert (held.known is not None) == gold
    later = now + timedelta(minutes=21)
    assert services.leases_lapse(now=later) == 1
    assert (
        services.assignment_heartbeat(
            tasker=tara, assignment_id=held.public_id, lease_token=held.lease_token, policy=ALWAYS, now=later
        )
        > later
    )
    services.assignment_release(tasker=tara, assignment_id=held.public_id, lease_token=None, problem="", now=later)
    sent = submit(held, later)
    assert sent.counted
    assert submit(held, later).counted
    assert Assignment.objects.get(pk=held.pk).state == AssignmentState.ANSWERED


@pytest.mark.parametrize(
    ("others", "own", "free", "why"),
    [
        (0, False, True, "nobody came: its picture waits still"),
        (2, False, True, "one place is left"),
        (3, False, False, "others have answered"),
        (2, True, True, "the last place is the tasker's own, who would not have both"),
        (0, True, True, "the tasker's own alone"),
    ],
)
def test_long_after_its_lease_gold_is_as_free_as_the_picture_in_its_place(
    others: int, own: bool, free: bool, why: str, tara: Tasker, now: datetime
) -> None:
    """A picture that nobody could take in a day, or that somebody took while all others waited, would be gold."""
    panel = factories.panel()
    factories.gold()
    held = claim(tara, now)
    if own:
        submit(claim(tara, now, NEVER, beside=held), now)
    tomorrow = now + timedelta(days=1)
    services.leases_lapse(now=tomorrow)
    for number in range(others):
        submit(claim(factories.tasker(f"other {number}"), tomorrow, NEVER), tomorrow)
    panel.refresh_from_db()
    assert panel.answered == others + own
    beat = {"tasker": tara, "assignment_id": held.public_id, "lease_token": held.lease_token, "policy": ALWAYS}
    if free:
        found = services.assignment_next(tasker=tara, holding=(), policy=ALWAYS, now=tomorrow, rng=_Tails(1))
        assert isinstance(found, Assignment)
        assert services.assignment_heartbeat(**beat, now=tomorrow) > tomorrow, why
    else:
        with pytest.raises(Conflict, match="somebody else has this place"):
            services.assignment_heartbeat(**beat, now=tomorrow)
    assert submit(held, tomorrow).counted == free, why
    assert submit(held, tomorrow).counted == free, "the very same again"
    assert GoldMark.objects.count() == 1, "the answer is kept and marked all the same"


@pytest.mark.parametrize("gold", [True, False])
def test_what_lapsed_is_offered_again_when_nothing_else_is_left(gold: bool, tara: Tasker, now: datetime) -> None:
    factories.panel()
    factories.gold()
    held = claim(tara, now, ALWAYS, _Heads(1) if gold else _Tails(1))
    if gold:
        submit(claim(tara, now, NEVER, beside=held), now)
    tomorrow = now + timedelta(days=1)
    services.leases_lapse(now=tomorrow)
    assert claim(tara, tomorrow, NEVER) == held


@pytest.mark.parametrize("gold", [True, False])
def test_while_a_report_holds_the_picture_neither_is_taken_up_again_and_both_count(
    gold: bool, tara: Tasker, now: datetime
) -> None:
    panel = factories.panel()
    factories.gold()
    held = claim(tara, now, ALWAYS, _Heads(1) if gold else _Tails(1))
    tomorrow = now + timedelta(days=1)
    services.leases_lapse(now=tomorrow)
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
    assert not isinstance(
        services.assignment_next(tasker=tara, holding=(), policy=NEVER, now=tomorrow, rng=_Tails(1)), Assignment
    )
    with pytest.raises(Conflict):
        services.assignment_heartbeat(
            tasker=tara, assignment_id=held.public_id, lease_token=held.lease_token, policy=ALWAYS, now=tomorrow
        )
    assert submit(held, tomorrow).counted
    assert submit(held, tomorrow).counted, "nor does the same again say otherwise"


@pytest.mark.parametrize("gold", [True, False])
@pytest.mark.parametrize(("asked", "comes"), [("gold", True), ("picture", False)])
def test_for_linked_taskers_gold_comes_back_as_the_picture_in_its_place(
    asked: str, comes: bool, gold: bool, tara: Tasker, otto: Tasker, now: datetime
) -> None:
    panel, known = factories.panel(), factories.gold()
    held = claim(tara, now, ALWAYS, _Heads(1) if gold else _Tails(1))
    tomorrow = now + timedelta(days=1)
    services.leases_lapse(now=tomorrow)
    factories.assignment(otto, panel if asked == "picture" else known.panel, now=now)
    for each in (tara, otto):
        each.person = tara.pk
        each.save()
    found = services._resume_lapsed(tara, 1, ALWAYS, tomorrow)
    assert found == (held if comes else None)


@pytest.mark.parametrize("gold", [True, False])
def test_after_a_pause_neither_counts(gold: bool, tara: Tasker, now: datetime) -> None:
    factories.panel()
    factories.gold()
    held = claim(tara, now, ALWAYS, _Heads(1) if gold else _Tails(1))
    services.leases_end(tasker=tara, now=now)
    Tasker.objects.filter(pk=tara.pk).update(state="paused")
    held.tasker.refresh_from_db()
    assert not submit(held, now + timedelta(seconds=5)).counted
    assert not submit(held, now + timedelta(seconds=9)).counted, "nor when it is sent again"


@pytest.mark.parametrize("gold", [True, False])
def test_nor_does_what_had_lapsed_before_the_pause(gold: bool, tara: Tasker, now: datetime) -> None:
    """Whoever is paused neither takes a picture up again nor learns which one would have counted."""
    factories.panel()
    factories.gold()
    held = claim(tara, now, ALWAYS, _Heads(1) if gold else _Tails(1))
    later = now + timedelta(minutes=21)
    assert services.leases_lapse(now=later) == 1
    services.leases_end(tasker=tara, now=later)
    Tasker.objects.filter(pk=tara.pk).update(state="paused")
    held.tasker.refresh_from_db()
    with pytest.raises(Conflict) as refusal:
        services.assignment_heartbeat(
            tasker=held.tasker, assignment_id=held.public_id, lease_token=held.lease_token, policy=ALWAYS, now=later
        )
    assert refusal.value.code == "lease_ended"
    assert not submit(held, later + timedelta(seconds=5)).counted
    assert not submit(held, later + timedelta(seconds=9)).counted, "nor when it is sent again"


def test_what_the_api_tells_is_of_one_shape(tara: Tasker, now: datetime) -> None:
    factories.panel()
    factories.panel()
    factories.gold()
    told = []
    for rng in (_Heads(1), _Tails(1)):
        held = claim(tara, now, ALWAYS, rng)
        told.append((assignment_json(held), receipt_json(submit(held, now))))
    gold, ordinary = told
    assert [each.keys() for each in gold] == [each.keys() for each in ordinary]
    assert gold[0]["image"].keys() == ordinary[0]["image"].keys()
    assert len(gold[0]["image"]["url"]) == len(ordinary[0]["image"]["url"])
    assert gold[1]["counted"] == ordinary[1]["counted"]


def test_claim_and_submit_cost_as_many_statements(tara: Tasker, now: datetime) -> None:
    for _ in range(4):
        factories.panel()
    factories.gold()
    factories.gold()
    counted = {}
    for name, rng in (("warm", _Tails(1)), ("gold", _Heads(1)), ("ordinary", _Tails(1))):
        with CaptureQueriesContext(connection) as claiming:
            held = claim(tara, now, ALWAYS, rng)
        with CaptureQueriesContext(connection) as submitting:
            submit(held, now)
        assert (held.known is not None) == (name == "gold")
        counted[name] = len(claiming), len(submitting)
    assert counted["gold"][0] - counted["ordinary"][0] <= 1
    assert abs(counted["gold"][1] - counted["ordinary"][1]) <= 1


def test_the_draw_cannot_be_foreseen_from_the_order(tara: Tasker, now: datetime) -> None:
    """Which gold picture comes is drawn as well, not the first of the list."""
    for _ in range(8):
        factories.gold()
    factories.panel()
    drawn = set()
    for seed in range(12):
        held = claim(factories.tasker(f"s{seed}"), now, Policy(gold_percent=50), _seeded_heads(seed))
        drawn.add(held.known_id)
    assert len(drawn) > 3
    assert KnownPicture.objects.filter(uses__gt=0).count() == len(drawn)


def _seeded_heads(seed: int) -> Random:
    class Drawn(Random):
        def randrange(self, start: int, *rest: int) -> int:
            return 0 if start == 100 else super().randrange(start, *rest)

    return Drawn(seed)
