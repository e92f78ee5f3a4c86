"""Gold (R6): dealt at the policy's rate and told by nothing; made of settled pictures (R10), held where it leaked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from common.errors import Conflict, InvalidInput, NotFound, WrongFields
from labeling import leases
from labeling.enums import Answer, AssignmentState, PanelState, ReportDecision, ReportKind
from labeling.gold import GOLD_DRAWN_FROM, gold_for
from labeling.models import Assignment, GoldMark, KnownPicture, Panel, Report, Tasker
from labeling.pages.assignment_calls import assignment_json, response_receipt_json
from labeling.questions.services import report_create, report_decide
from labeling.submission import SubmittedResponse, response_submit
from monitoring import gold_choice as gold
from monitoring.gold_choice import GoldAnswers
from monitoring.gold_leaks import GoldRise, gold_flag_leaks, rise_of
from monitoring.models import GoldFlag
from policy.enums import OutlineGate
from policy.numbers import Policy
from tests import factories
from tests.factories import NOW
from tests.labeling import cast
from tests.labeling.cast import (
    BICYCLE,
    BIRD,
    NEITHER,
    Heads,
    beat,
    full_panel,
    gets_nothing,
    give_back,
    gold_answer,
    kept,
    people,
    refused,
    statements,
)
from tests.tables import cases

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


class _Tails(Random):
    def randrange(self, *_: int) -> int:
        return 99


def claim(
    tasker: Tasker, now: datetime, policy: Policy = ALWAYS, rng: Random | None = None, **given: Any
) -> Assignment:
    return cast.claim(tasker, now, policy=policy, rng=rng or Heads(1), **given)


def submit(held: Assignment, now: datetime, data: dict[str, object] = RIGHT) -> SubmittedResponse:
    return cast.submit(held, now, data, ALWAYS)


@pytest.fixture(params=[True, False], ids=["gold", "ordinary"])
def held(request: pytest.FixtureRequest, tara: Tasker, now: datetime) -> Assignment:
    """What a tasker got when a gold picture and an ordinary one were there: either of them."""
    factories.panel()
    factories.gold()
    found = claim(tara, now, rng=Heads(1) if request.param else _Tails(1))
    assert (found.known is not None) == request.param
    return found


@pytest.mark.both("own SQL draws the gold picture")
def test_gold_takes_the_place_of_an_ordinary_picture_once_per_tasker(tara: Tasker, now: datetime) -> None:
    waiting, gold = factories.panel(), factories.gold()
    other = factories.gold(factories.panel(factories.image(width=320, height=320)))
    held = claim(tara, now)
    assert (held.image, held.known, kept(gold, "uses"), kept(other, "uses")) == (gold.image, gold, 1, 0)
    assert kept(waiting, "leased") == 0, "no place of the picture that was passed over is held"
    submit(held, now)
    assert claim(tara, now).known is None


@cases(
    "make why",
    (lambda tara: factories.gold(use="qualification"), "another use"),
    (lambda tara: factories.gold(retired_at=factories.NOW, retired_because="leaked"), "retired"),
    (lambda tara: factories.gold(held_at=factories.NOW), "held for an organizer"),
    (lambda tara: factories.gold(uses=200), "used as often as the policy allows"),
    (
        lambda tara: factories.gold(factories.response(tara, factories.panel()).panel),
        "the tasker was asked about the picture before",
    ),
    (
        lambda tara: factories.gold(factories.panel(factories.image(width=320, height=320))),
        "of another size than the others, after a change of the size (R2)",
    ),
)
def test_gold_that_is_not_dealt(make: Callable[[Tasker], KnownPicture], why: str, tara: Tasker, now: datetime) -> None:
    factories.panel()
    make(tara)
    assert claim(tara, now).known is None, why


def test_one_use_is_left_and_one_tasker_gets_it(tara: Tasker, otto: Tasker, now: datetime) -> None:
    factories.panel()
    gold = factories.gold(uses=ALWAYS.gold_most_uses - 1)
    assert [claim(tasker, now).known for tasker in (tara, otto)] == [gold, None]


@pytest.mark.parametrize("since", [{"uses": 200}, {"retired_at": NOW, "retired_because": "leaked"}, {"held_at": NOW}])
def test_gold_that_ends_when_it_is_drawn_is_not_dealt(
    since: dict[str, Any], tara: Tasker, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.panel()
    factories.gold()
    draw = leases.gold_for
    monkeypatch.setattr(leases, "gold_for", lambda *given: (draw(*given), KnownPicture.objects.update(**since))[0])
    assert (claim(tara, now).known, Assignment.objects.count()) == (None, 1)


@pytest.mark.postgres("a plan follows the statistics of the moment")
def test_a_seed_draws_the_same_gold_with_any_plan(tara: Tasker) -> None:
    golds = [factories.gold().pk for _ in range(GOLD_DRAWN_FROM + 2)]
    for known in golds[::-15]:  # a changed row lies behind all others
        KnownPicture.objects.filter(pk=known).update(uses=1)
    image = factories.image()
    drawn: list[list[int]] = []
    for ways in (["seqscan"], ["indexscan"], ["nestloop", "hashjoin"]):
        with connection.cursor() as cursor:
            for way in ways:
                cursor.execute(f"SET LOCAL enable_{way} = off")
            cursor.execute("DISCARD PLANS")
            found = [gold_for(tara, image, 200, Random(seed)) for seed in range(8)]
            for way in ways:
                cursor.execute(f"SET LOCAL enable_{way} = on")
        drawn.append([each.known_id for each in found if each])
    assert drawn[1:] == drawn[:-1] and len(set(drawn[0])) > 2


def test_never_when_nothing_ordinary_is_left(tara: Tasker, now: datetime) -> None:
    """Or gold would be known by coming when the queue is empty."""
    factories.gold()
    assert gets_nothing(tara, now, policy=ALWAYS, rng=Heads(1))


def test_a_lease_on_gold_is_nothing_worth_waiting_for(tara: Tasker, now: datetime) -> None:
    factories.gold()
    only = factories.panel()
    claim(tara, now)
    *three, last = people("otto", "ute", "ken", "new")
    for tasker in three:
        submit(claim(tasker, now, NEVER), now)
    assert kept(only, "state") == PanelState.FULL
    assert gets_nothing(last, now)


LONG = pytest.mark.long("320 claims for each share, which a small walk shows less sharply")


@pytest.mark.parametrize(
    ("percent", "taskers"),
    [(0, 1), (20, 2), pytest.param(0, 8, marks=LONG), pytest.param(5, 8, marks=LONG), pytest.param(20, 8, marks=LONG)],
)
def test_the_share_follows_the_policy(percent: int, taskers: int, now: datetime) -> None:
    policy, rng, dealt = replace(ALWAYS, gold_percent=percent), Random("rate"), 0
    for _ in range(40):
        factories.panel(size=9)
        factories.gold()
    for tasker in people(*"abcdefgh"[:taskers]) * 40:
        held = claim(tasker, now, policy, rng)
        dealt += held.known_id is not None
        submit(held, now, cast.NO_TO_BOTH)
    expected = 40 * taskers * percent / 100
    assert abs(dealt - expected) <= 3.5 * (expected * (1 - percent / 100)) ** 0.5


def test_an_answer_is_marked_and_holds_no_place(tara: Tasker, otto: Tasker, now: datetime) -> None:
    factories.panel()
    of_gold = Panel.objects.filter(image__known=factories.gold())
    before = of_gold.values().get()
    right, wrong = submit(claim(tara, now), now), submit(claim(otto, now), now, RIGHT | {"real": False})
    marks = [GoldMark.objects.get(response=sent.response) for sent in (right, wrong)]
    assert [[name for name, fine in mark.marks.items() if not fine] for mark in marks] == [[], ["real"]]
    assert [mark.right for mark in marks] == [True, False]
    assert (right.response.place, of_gold.values().get()) == (None, before), "it fills no place of a settled panel"


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
    unsure = (RIGHT if asked else cast.NO_TO_BOTH) | {"contains_bird": "unsure_no"}
    in_force = {"policy_at": lambda at: wider if at > now - timedelta(days=30) else ALWAYS, "now": now}
    sent = response_submit(**cast.own(held), data=unsure, **in_force)
    assert (bool(sent.response.outline), bool(held.known)) == (asked, True), why


def test_the_story_of_a_lease_is_the_same(held: Assignment, now: datetime) -> None:
    """Claimed, lapsed, taken up again, given back, answered all the same: nothing tells gold from any other."""
    later = now + timedelta(minutes=21)
    assert leases.leases_lapse(now=later) == 1
    assert beat(held, later, ALWAYS) > later
    give_back(held, later)
    assert all(submit(held, later).counted for _ in range(2))
    assert kept(held, "state") == AssignmentState.ANSWERED


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
    panel, tomorrow = factories.panel(), now + timedelta(days=1)
    factories.gold()
    held = claim(tara, now)
    if own:
        submit(claim(tara, now, NEVER, holding=[held.public_id]), now)
    leases.leases_lapse(now=tomorrow)
    for tasker in people(*"abc"[:others]):
        submit(claim(tasker, tomorrow, NEVER), tomorrow)
    assert kept(panel, "answered") == others + own
    if free:
        claim(tara, tomorrow, rng=_Tails(1))
        assert beat(held, tomorrow, ALWAYS) > tomorrow, why
    else:
        assert "this place is not yours now" in str(refused(Conflict, beat, held, tomorrow, ALWAYS))
    assert [submit(held, tomorrow).counted for _ in range(2)] == [free, free], why
    assert GoldMark.objects.count() == 1, "the answer is kept and marked all the same"


@pytest.mark.both("own SQL finds what lapsed, with locks")
def test_what_lapsed_is_offered_again_when_nothing_else_is_left(held: Assignment, tara: Tasker, now: datetime) -> None:
    if held.known:
        submit(claim(tara, now, NEVER, holding=[held.public_id]), now)
    leases.leases_lapse(now=now + timedelta(days=1))
    again = claim(tara, now + timedelta(days=1), NEVER)
    assert (again, again.lease_token, again.tie_break) == (held, held.lease_token, held.tie_break)


def test_while_a_report_holds_the_picture_neither_is_taken_up_again_and_both_count(
    held: Assignment, tara: Tasker, now: datetime
) -> None:
    tomorrow = now + timedelta(days=1)
    leases.leases_lapse(now=tomorrow)
    Panel.objects.filter(image__known=None).update(state=PanelState.HELD)
    assert isinstance(cast.next_for(tara, tomorrow), leases.NothingLeft)
    refused(Conflict, beat, held, tomorrow, ALWAYS)
    assert all(submit(held, tomorrow).counted for _ in range(2)), "nor does the same again say otherwise"


@pytest.mark.parametrize("lapsed", [False, True])
def test_where_the_picture_is_kept_out_neither_counts(
    lapsed: bool, held: Assignment, otto: Tasker, now: datetime
) -> None:
    tomorrow = now + timedelta(days=1)
    if lapsed:
        leases.leases_lapse(now=tomorrow)
    panel = Panel.objects.get(image__known=None)
    asked = factories.assignment(otto, panel, state="released")
    told = {"kind": "other", "reported_at": now, "decision": "kept_out", "decided_at": now}
    Report.objects.create(assignment=asked, image=panel.image, tasker=otto, **told)
    Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
    assert not any(submit(held, tomorrow).counted for _ in range(2)), "nor does the same again say otherwise"


@pytest.mark.parametrize("lapsed", [False, True])
def test_an_answer_about_a_picture_that_another_reported_and_that_is_kept_out_does_not_count(
    lapsed: bool, held: Assignment, otto: Tasker, olga: User, now: datetime
) -> None:
    """Gold as any other picture: the receipt would show which it is (R6)."""
    tomorrow = now + timedelta(days=1)
    if lapsed:
        leases.leases_lapse(now=tomorrow)
    theirs = factories.assignment(otto, held.panel, state=AssignmentState.RELEASED, known=held.known)
    report_create(**cast.own(theirs), kind=ReportKind.OFFENSIVE, words="", now=tomorrow)
    report_decide(image=held.image, decision=ReportDecision.KEPT_OUT, reply="A wound.", by=olga, now=tomorrow)
    assert not any(submit(held, tomorrow).counted for _ in range(2)), "nor does the same again say otherwise"


def test_a_picture_that_another_reported_is_not_taken_up_again_until_it_is_decided(
    held: Assignment, tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    """Gold as any other picture: it may be offensive (R8)."""
    tomorrow = now + timedelta(days=1)
    leases.leases_lapse(now=tomorrow)
    theirs = factories.assignment(otto, held.panel, state=AssignmentState.RELEASED, known=held.known)
    report_create(**cast.own(theirs), kind=ReportKind.OFFENSIVE, words="", now=tomorrow)
    tara.refresh_from_db()
    assert leases._resume_lapsed(tara, 1, ALWAYS, tomorrow) is None
    refused(Conflict, beat, held, tomorrow, ALWAYS)
    report_decide(image=held.image, decision=ReportDecision.REOPENED, reply="", by=olga, now=tomorrow)
    assert beat(held, tomorrow, ALWAYS) > tomorrow


def test_a_late_answer_to_a_reported_picture_counts(held: Assignment, otto: Tasker, now: datetime) -> None:
    tomorrow = now + timedelta(days=1)
    leases.leases_lapse(now=tomorrow)
    theirs = factories.assignment(otto, held.panel, state=AssignmentState.RELEASED, known=held.known)
    report_create(**cast.own(theirs), kind=ReportKind.OFFENSIVE, words="", now=tomorrow)
    assert submit(held, tomorrow).counted


def test_gold_that_an_organizer_holds_is_taken_up_again(tara: Tasker, olga: User, now: datetime) -> None:
    """As any other picture: no such hold is on one."""
    factories.panel()
    known, tomorrow = factories.gold(), now + timedelta(days=1)
    held = claim(tara, now)
    leases.leases_lapse(now=tomorrow)
    gold.gold_hold(known=known, by=olga, now=now)
    assert beat(held, tomorrow, ALWAYS) > tomorrow


@pytest.mark.parametrize(("asked", "comes"), [("gold", True), ("picture", False)])
def test_for_linked_taskers_gold_comes_back_as_the_picture_in_its_place(
    asked: str, comes: bool, held: Assignment, tara: Tasker, otto: Tasker, now: datetime
) -> None:
    tomorrow = now + timedelta(days=1)
    leases.leases_lapse(now=tomorrow)
    panel = Panel.objects.get(image__known__isnull=asked == "picture")
    factories.response(otto, panel, now=now, counted=asked == "picture")
    tara.refresh_from_db()
    cast.linked(tara, otto)
    assert leases._resume_lapsed(tara, 1, ALWAYS, tomorrow) == (held if comes else None)
    leases.leases_lapse(now=tomorrow + timedelta(days=1))
    if not comes:
        assert refused(Conflict, beat, held, tomorrow, ALWAYS).code == "place_taken"
    assert submit(held, tomorrow).counted == comes


@pytest.mark.parametrize("lapsed", [False, True])
def test_after_a_pause_neither_is_taken_up_again_nor_counts(
    lapsed: bool, held: Assignment, tara: Tasker, now: datetime
) -> None:
    """Whoever is paused does not learn which picture would have counted."""
    later = now + timedelta(minutes=21)
    if lapsed:
        assert leases.leases_lapse(now=later) == 1
    leases.leases_release(tasker=tara, now=later)
    Tasker.objects.filter(pk=tara.pk).update(state="paused")
    held.tasker.refresh_from_db()
    assert refused(Conflict, beat, held, later, ALWAYS).code == "lease_ended"
    assert not any(submit(held, later + timedelta(seconds=n)).counted for n in (5, 9)), "nor when it is sent again"


def test_what_the_api_tells_is_of_one_shape(tara: Tasker, now: datetime) -> None:
    factories.panel(), factories.panel(), factories.gold()
    told = []
    for rng in (Heads(1), _Tails(1)):
        held = claim(tara, now, ALWAYS, rng)
        asked, receipt = assignment_json(held), response_receipt_json(submit(held, now))
        image = asked["image"]
        told.append((asked.keys(), receipt.keys(), image.keys(), len(image["url"]), receipt["counted"]))
    assert told[0] == told[1]


def test_claim_and_submit_cost_as_many_statements(tara: Tasker, now: datetime) -> None:
    factories.gold(), factories.gold()
    for _ in range(4):
        factories.panel()
    held, costs = [], []
    for rng in (_Tails(1), Heads(1), _Tails(1)):
        claiming = statements(lambda rng=rng: held.append(claim(tara, now, ALWAYS, rng)))
        costs.append((len(claiming), len(statements(lambda: submit(held[-1], now)))))
    assert [each.known is not None for each in held] == [False, True, False]
    (_, gold, ordinary) = costs  # the first one reads what the others remember
    assert gold[0] - ordinary[0] <= 1 and abs(gold[1] - ordinary[1]) <= 1


def test_the_draw_cannot_be_foreseen_from_the_order(now: datetime) -> None:
    """Which gold picture comes is drawn as well, not the first of the list."""
    factories.panel()
    for _ in range(8):
        factories.gold()
    drawn = {claim(tasker, now, rng=_Drawn(n)).known_id for n, tasker in enumerate(people(*"abcdefghijkl"))}
    assert 3 < len(drawn) == KnownPicture.objects.filter(uses__gt=0).count()


class _Drawn(Random):
    """Draws gold, and which."""

    def randrange(self, start: int, *rest: int) -> int:
        return 0 if start == 100 else super().randrange(start, *rest)


SQUARE = "[[[10,10],[200,10],[200,200],[10,200]]]"


CLEAR_BIRD = GoldAnswers(
    accepts_bird=("definitely_yes",),
    accepts_bicycle=("definitely_no",),
    outline=SQUARE,
    min_iou_percent=70,
    complete=True,
    unoccluded=True,
    real=True,
    topic="clear",
)


NOTHING_THERE = GoldAnswers(("definitely_no",), ("definitely_no",), "", 70, None, None, None, "neither_class")


@pytest.fixture
def three(tara: Tasker, otto: Tasker, uma: Tasker) -> list[Tasker]:
    return [tara, otto, uma]


@pytest.fixture
def settled(three: list[Tasker]) -> Panel:
    return factories.settle(full_panel(three, [BIRD] * 3))


def add(panel: Panel, by: User, expected: GoldAnswers = CLEAR_BIRD) -> KnownPicture:
    return gold.gold_add(panel=panel, expected=expected, gate=OutlineGate.BEST_GUESS_YES, by=by, now=factories.NOW)


def suggested(panel: Panel) -> GoldAnswers:
    return gold.proposal(gold.counted_answers([panel.pk])[panel.pk])


def test_what_is_suggested(settled: Panel, three: list[Tasker]) -> None:
    """What all said; or else what most said, and the outline nearest to the others."""
    assert suggested(settled) == CLEAR_BIRD
    loose, near, tight = (f"[[[{n},{n}],[200,{n}],[200,200],[{n},200]]]" for n in (1, 10, 12))
    said = [BIRD | {"outline": loose}, BIRD | {"outline": near, "complete": False}, BIRD | {"outline": tight}]
    assert suggested(factories.settle(full_panel(three, said))) == replace(CLEAR_BIRD, outline=near)


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        (BIRD | {"real": False}, "painting"),
        (BIRD | {"unoccluded": False}, "occluded"),
        (BIRD | {"complete": False}, "truncated"),
        (BIRD | {"bird": Answer.UNSURE_YES}, "uncertain"),
        (NEITHER, "neither_class"),
        (NEITHER | {"bird": Answer.DEFINITELY_YES, "bicycle": Answer.DEFINITELY_YES}, "both_classes"),
    ],
)
def test_what_a_picture_tests_is_suggested(said: dict[str, Any], topic: str, three: list[Tasker]) -> None:
    assert suggested(factories.settle(full_panel(three, [said] * 3))).topic == topic


@pytest.mark.parametrize(
    ("expected", "outline", "complete"),
    [(CLEAR_BIRD, SQUARE, True), (NOTHING_THERE, "", None)],
    ids=["a bird", "nothing to outline"],
)
def test_a_settled_picture_becomes_gold(
    expected: GoldAnswers, outline: str, complete: bool | None, settled: Panel, olga: User
) -> None:
    known = add(settled, olga, expected)
    assert (known.use, known.image, known.panel, known.created_by) == ("gold", settled.image, settled, olga)
    assert (known.accepts_bird, known.outline, known.complete) == (list(expected.accepts_bird), outline, complete)


@pytest.mark.parametrize(
    ("change", "fields", "why"),
    [
        ({"accepts_bird": ()}, {"accepts_bird"}, "nothing would be right"),
        ({"accepts_bicycle": ("maybe",)}, {"accepts_bicycle"}, "no answer of the form"),
        ({"topic": "cats"}, {"topic"}, "not what a picture can test"),
        ({"min_iou_percent": 0}, {"min_iou_percent"}, "any outline would be right"),
        ({"min_iou_percent": 101}, {"min_iou_percent"}, "none would"),
        ({"outline": "[[[0,0],"}, {"outline"}, "no JSON"),
        ({"outline": "[[[0,0],[9,9],[0,9],[9,0]]]"}, {"outline"}, "crosses itself"),
        ({"outline": "[[[0,0],[9,9]]]"}, {"outline"}, "too few corners"),
        (
            {"accepts_bird": ("definitely_no",)},
            {"outline", "complete", "unoccluded", "real"},
            "questions 3 and 4 are never asked with these answers",
        ),
        ({"accepts_bird": (), "topic": ""}, {"accepts_bird", "topic"}, "all that is wrong is told at once"),
    ],
)
def test_right_answers_that_cannot_be(
    change: dict[str, Any], fields: set[str], why: str, settled: Panel, olga: User
) -> None:
    wrong = refused(WrongFields, add, settled, olga, replace(CLEAR_BIRD, **change))
    assert (set(wrong.fields), KnownPicture.objects.count()) == (fields, 0), why


def test_only_settled_pictures_that_are_free(settled: Panel, three: list[Tasker], olga: User) -> None:
    assert "not settled" in str(refused(Conflict, add, full_panel(three, [BIRD] * 3), olga))
    add(settled, olga)
    assert "known answer already" in str(refused(Conflict, add, settled, olga))


def test_candidates_are_settled_free_and_unanimous_ones_first(three: list[Tasker]) -> None:
    differing = factories.settle(full_panel(three, [BIRD, BIRD, BICYCLE]))
    same = factories.settle(full_panel(three, [BIRD] * 3))
    full_panel(three, [BIRD] * 3)
    factories.gold(full_panel(three, [BIRD] * 3))
    found = gold.panels_for_gold(gold.free_panels())
    assert [(each.panel, each.unanimous, each.answers) for each in found] == [(same, True, 3), (differing, False, 3)]
    assert gold.candidate_panel(same.image.public_id) == same


@pytest.mark.parametrize("make", [lambda: factories.panel(), lambda: factories.gold().panel])
def test_other_pictures_are_no_candidates(make: Callable[[], Panel]) -> None:
    refused(NotFound, gold.candidate_panel, make().image.public_id)


def test_gold_is_held_let_go_and_retired(olga: User, now: datetime) -> None:
    said: dict[str, Any] = {"known": factories.gold(), "by": olga, "now": now}
    for act, held in ((gold.gold_hold, now), (gold.gold_release, None)):
        act(**said)
        assert KnownPicture.objects.get().held_at == held
    refused(InvalidInput, gold.gold_retire, **said, reason=" ")
    gold.gold_retire(**said, reason="It leaked.")
    assert KnownPicture.objects.values_list("retired_at", "retired_because").get() == (now, "It leaked.")
    for again in (partial(gold.gold_retire, reason="Again."), gold.gold_hold, gold.gold_release):
        refused(Conflict, again, **said)


def test_pass_rates_by_question(tara: Tasker, otto: Tasker) -> None:
    known = factories.gold()
    for tasker in (tara, otto):
        gold_answer(tasker, right=tasker == tara, known=known)
    rate = gold.pass_rates([known.pk])[known.pk]
    told = {name: (share.part, share.whole) for name, share in ({"": rate.right} | rate.questions).items()}
    assert told == {"": (1, 2), "contains_bird": (1, 2), "contains_bicycle": (2, 2)}
    assert gold.pass_rates([]) == {}


@pytest.mark.parametrize(
    ("right", "rise", "why"),
    [
        ([True] * 29, None, "too few answers to split"),
        ([False] * 15 + [True] * 15, GoldRise(15, 15, 0, 15), "none before, all of the latest"),
        ([True] * 20 + [False] * 15, GoldRise(0, 15, 20, 20), "a fall"),
    ],
)
def test_the_split(right: list[bool], rise: GoldRise | None, why: str) -> None:
    assert rise_of(right) == rise, why


@pytest.mark.parametrize(
    ("rise", "flagged", "why"),
    [
        (GoldRise(15, 15, 20, 40), True, "from half right to all right: 0.03 %"),
        (GoldRise(15, 15, 32, 40), False, "from 80 % to all right happens by chance"),
        (GoldRise(15, 15, 60, 60), False, "always easy"),
        (GoldRise(10, 15, 40, 60), False, "no rise"),
    ],
)
def test_what_looks_like_a_leak(rise: GoldRise, flagged: bool, why: str) -> None:
    assert (rise.chance < 0.01) is flagged, why


def answered(known: KnownPicture, by: Sequence[Tasker], right: Sequence[bool], now: datetime) -> None:
    for number, (tasker, hit) in enumerate(zip(by, right, strict=True)):
        gold_answer(tasker, right=hit, known=known, now=now + timedelta(seconds=number))


@pytest.fixture
def crowd(db: None) -> list[Tasker]:
    """Forty taskers."""
    return people(*(f"tasker{number}" for number in range(40)))


@pytest.mark.both("own SQL reads the marks of gold")
def test_a_sudden_rise_is_flagged_and_held(crowd: list[Tasker], now: datetime) -> None:
    for known in [factories.gold() for _ in range(4)]:
        answered(known, crowd, [True] * 40, now - timedelta(days=3))
    leaked = factories.gold()
    answered(leaked, crowd, [number % 2 == 0 for number in range(25)] + [True] * 15, now)
    assert [gold_flag_leaks(policy=Policy(), now=now + timedelta(hours=1)) for _ in range(2)] == [1, 0]
    flag = GoldFlag.objects.get()
    assert (flag.known, kept(leaked, "held_at")) == (leaked, now + timedelta(hours=1))
    assert flag.figures.items() >= {"late_right": 15, "late": 15, "early_right": 13, "early": 25}.items()
    assert KnownPicture.objects.get(held_at__isnull=False) == leaked


def test_after_an_organizer_looked_it_takes_new_answers(crowd: list[Tasker], now: datetime) -> None:
    answered(factories.gold(), crowd[:35], [False] * 20 + [True] * 15, now)
    trusting = Policy(gold_pass_percent=1, gold_minimum=1)
    for tasker in crowd[:20]:
        gold_answer(tasker, right=True, now=now - timedelta(days=2))
    assert gold_flag_leaks(policy=trusting, now=now + timedelta(hours=1)) == 1
    KnownPicture.objects.update(held_at=None)
    assert gold_flag_leaks(policy=trusting, now=now + timedelta(hours=2)) == 0


def test_careless_taskers_who_leave_are_no_leak(crowd: list[Tasker], now: datetime) -> None:
    answered(factories.gold(), crowd, [False] * 20 + [True] * 20, now)
    assert gold_flag_leaks(policy=Policy(), now=now + timedelta(hours=1)) == 0


def test_false_alarms_are_rare_at_any_honest_share() -> None:
    rng = Random(7)
    shares = [rng.uniform(0.7, 1) for _ in range(2_000)]
    rises = [rise_of([rng.random() < share for _ in range(60)]) for share in shares]
    assert sum(rise.chance < 0.01 for rise in rises) <= 20  # type: ignore[union-attr]  # exact tests stay below 1 %
