"""At once, on PostgreSQL: random steps of 32 threads, tabs of one person, reports, organizers and sweeps (R6, R7)."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from random import Random
from threading import Event, Lock
from time import sleep
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q

from common.errors import Conflict
from labeling import leases, voiding
from labeling.enums import (
    AssignmentState,
    KnownUse,
    MonitoringAction,
    PanelState,
    ReportDecision,
    ReportKind,
    TaskerState,
)
from labeling.learning.services import attempt_start, instructions_publish, lesson_mark_seen
from labeling.models import (
    Assignment,
    GoldMark,
    Image,
    InstructionVersion,
    KnownPicture,
    LessonSeen,
    MonitoringEvent,
    MonitoringRule,
    Notice,
    Panel,
    QualificationAttempt,
    QualificationItem,
    Question,
    Report,
    Response,
    StateChange,
    Tasker,
    VoidedResponse,
)
from labeling.questions.services import question_answer, question_send, report_create, report_decide
from monitoring import gold_leaks, links
from monitoring.actions import action_take
from monitoring.check_taskers import check_taskers
from monitoring.models import GoldFlag
from policy.numbers import Policy
from tests import factories
from tests.at_once import at_once, until_waiting
from tests.labeling.cast import (
    Heads,
    beat,
    claim,
    give_back,
    gold_answer,
    gold_answers,
    kept,
    linked,
    own,
    people,
    submit,
)
from tests.labeling.learning.cast import POLICY, RIGHT, UNSURE, answer, begin, known, pool, ready

pytestmark = [
    pytest.mark.postgres("what taskers, organizers and sweeps do at once, with row locks"),
    pytest.mark.django_db(transaction=True),
]


THREADS, PICTURES, GOLD, TASKERS, TABS, ROUNDS = 32, 500, 20, 24, 8, 10


FORMS = [
    {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"},
    {"contains_bird": "unsure_no", "contains_bicycle": "definitely_no"},
    {
        "contains_bird": "definitely_yes", "contains_bicycle": "definitely_no", "complete": True, "unoccluded": True,
        "real": False, "outline": [[[5, 5], [250, 9], [120, 280]]],
    },
]  # fmt: skip


@pytest.fixture(autouse=True)
def recorded(transactional_db: None) -> None:
    factories.policy_version()


class Clock:
    """A clock all threads share: each look is a second later, so that leases of 20 minutes run out in a test."""

    def __init__(self, start: datetime) -> None:
        self._start, self._ticks, self._lock = start, count(), Lock()

    def __call__(self) -> datetime:
        with self._lock:
            return self._start + timedelta(seconds=next(self._ticks))


class Person:
    """One thread's random walk as one of the taskers; several threads are the same person in several browsers."""

    def __init__(self, tasker: Tasker, clock: Clock, seed: int) -> None:
        self.tasker, self.clock, self.rng = tasker, clock, Random(seed)
        self.held: list[Assignment] = []
        self.receipts: list[str] = []
        self.refused: Counter[str] = Counter()

    def step(self) -> None:
        actions = [self.claim, self.beat, self.release, self.submit, self.lapse, self.void]
        try:
            self.rng.choices(actions, [40, 10, 5, 42.5, 2, 0.5])[0]()
        except Conflict as refusal:
            self.refused[refusal.code] += 1

    def claim(self) -> None:
        holding, tasker = [held.public_id for held in self.held[-2:]], Tasker.objects.get(pk=self.tasker.pk)
        found = leases.assignment_next(tasker=tasker, holding=holding, policy=POLICY, now=self.clock(), rng=self.rng)
        if isinstance(found, Assignment):
            self.held.append(found)

    def beat(self) -> None:
        if self.held:
            beat(self.rng.choice(self.held), self.clock(), POLICY)

    def release(self) -> None:
        if self.held:
            give_back(self.held.pop(self.rng.randrange(len(self.held))), self.clock())

    def submit(self) -> None:
        """Sometimes an old one: its lease ran out or it was answered in another browser meanwhile."""
        if self.held:
            held, form = self.held.pop(self.rng.randrange(len(self.held))), self.rng.choice(FORMS)
            for _ in range(2 if self.rng.random() < 0.2 else 1):
                self.receipts.append(submit(held, self.clock(), form, POLICY).response.receipt)

    def lapse(self) -> None:
        leases.leases_lapse(now=self.clock())

    def void(self) -> None:
        """An organizer voids the last minutes of somebody who is answering meanwhile (R6)."""
        since = (now := self.clock()) - timedelta(minutes=10)
        voiding.responses_void(tasker=self.tasker, since=since, reason="Looked at random.", by=None, now=now)


@pytest.mark.slow("32 threads take thousands of steps")
@pytest.mark.parametrize("steps", [2_000, pytest.param(10_000, marks=pytest.mark.long("takes half a minute"))])
def test_thousands_of_random_steps(steps: int, now: datetime) -> None:
    for make in [factories.panel] * PICTURES + [factories.gold] * GOLD:
        make()
    taskers, clock = people(*(f"tasker-{n}" for n in range(TASKERS))), Clock(now)

    def walk(number: int) -> Person:
        person = Person(taskers[number % TASKERS], clock, seed=number)
        for _ in range(steps // THREADS):
            person.step()
        return person

    walked = at_once(*[partial(walk, number) for number in range(THREADS)])
    _audit([receipt for person in walked for receipt in person.receipts], steps)
    refusals = set().union(*(person.refused for person in walked))
    assert refusals <= {"place_taken", "lease_ended", "already_answered", "enough_held", "ask_again"}, refusals


def _audit(receipts: list[str], steps: int) -> None:
    assert set(receipts) == set(Response.objects.values_list("receipt", flat=True)), "an answer was lost"
    assert Response.objects.count() > steps / 10, "the walk did something"
    assert VoidedResponse.objects.count() > steps / 1_000, "some were voided"
    gold = Response.objects.filter(assignment__known__isnull=False)
    assert gold.count() == GoldMark.objects.count() > 0
    assert not gold.filter(place__isnull=False).exists(), "gold fills no place"
    assert not Response.objects.values("image", "tasker").annotate(n=Count("pk")).filter(n__gt=1).exists()
    holders = Assignment.objects.filter(state=AssignmentState.LEASED).values("tasker").annotate(n=Count("pk"))
    assert not holders.filter(n__gt=3).exists()
    audit()
    for panel in Panel.objects.filter(image__known__isnull=True):
        assert (panel.state == PanelState.OPEN) == (panel.answered < panel.size)


@pytest.mark.slow("six sweeps at once of what forty taskers answered")
def test_of_several_sweeps_at_once_one_acts(now: datetime) -> None:
    judged = {"collector": "gold_doubt", "window": 50, "minimum": 1, "comparison": "<", "threshold": 1}
    MonitoringRule.objects.create(name="gold", action="pause", words="Too many differ.", created_at=now, **judged)
    for tasker in people(*"abcd"):
        gold_answers(tasker, right=0, wrong=10)
    leaked, crowd = factories.gold(), people(*(f"crowd{number}" for number in range(35)))
    for number, tasker in enumerate(crowd):
        gold_answer(tasker, right=number >= 20, known=leaked, now=now + timedelta(seconds=number))
    for tasker in crowd[:20]:
        gold_answer(tasker, right=True, now=now)
    later, trusting = now + timedelta(hours=1), Policy(gold_pass_percent=1)

    def sweep() -> tuple[int, int]:
        return check_taskers(policy=Policy(), now=later), gold_leaks.gold_flag_leaks(policy=trusting, now=later)

    assert [sum(counts) for counts in zip(*at_once(*[sweep] * 6), strict=True)] == [4, 1]
    paused = Tasker.objects.filter(state=TaskerState.PAUSED)
    assert [each.count() for each in (paused, MonitoringEvent.objects, StateChange.objects, Notice.objects)] == [4] * 4
    assert list(KnownPicture.objects.filter(held_at__isnull=False)) == [flag.known for flag in GoldFlag.objects.all()]


def in_tabs(act: Callable[[int], Any]) -> list[Any]:
    """What `act(number)` returns for each of several tabs, or the code it is refused with."""
    return at_once(*[partial(act, number) for number in range(TABS)])


def tried(nell: Tasker, now: datetime) -> list[QualificationItem]:
    """The ten pictures of a try."""
    pool(10)
    return list(begin(ready(nell), now).items.order_by("position"))


def test_two_starts_make_one_try(nell: Tasker, now: datetime) -> None:
    pool(40)
    ready(nell)
    started = in_tabs(lambda seed: attempt_start(tasker=nell, policy=POLICY, now=now, rng=Random(seed)).pk)
    assert (set(started), QualificationItem.objects.count()) == ({QualificationAttempt.objects.get().pk}, 10)


def test_the_last_answer_in_two_tabs_finishes_once(nell: Tasker, now: datetime) -> None:
    *items, last = tried(nell, now)
    for item in items:
        answer(item, now)
    said = in_tabs(lambda number: answer(last, now + timedelta(seconds=number)).repeated)
    assert sorted(said) == [False] + [True] * (TABS - 1)
    assert (kept(nell, "state"), StateChange.objects.count()) == ("qualified", 1)


def test_of_two_different_answers_one_is_kept(nell: Tasker, now: datetime) -> None:
    item, *_ = tried(nell, now)
    said = in_tabs(lambda number: answer(item, now, (RIGHT, UNSURE)[number % 2]).repeated)
    assert (said.count(False), said.count("already_answered")) == (1, TABS // 2)
    assert kept(item, "right") == (said.index(False) % 2 == 0)


def test_all_pictures_answered_at_once_finish_the_try(nell: Tasker, now: datetime) -> None:
    items = tried(nell, now)
    for item in items[TABS:]:
        answer(item, now)
    in_tabs(lambda number: answer(items[number], now))
    assert (QualificationAttempt.objects.get().passed, StateChange.objects.count()) == (True, 1)


def test_an_example_gone_through_twice_is_seen_once(nell: Tasker, now: datetime) -> None:
    only = known(KnownUse.TUTORIAL)
    in_tabs(lambda number: lesson_mark_seen(tasker=Tasker.objects.get(pk=nell.pk), known=only, now=now))
    assert (LessonSeen.objects.count(), kept(nell, "tutorial_done_at")) == (1, now)


def test_versions_published_at_once_follow_each_other(olga: Any, now: datetime) -> None:
    told = {"clarification": "", "requalify": False, "in_force_from": now, "by": olga, "now": now}
    published = in_tabs(lambda number: instructions_publish(summary=f"Change {number}.", **told).version)
    numbers = sorted(number for number in published if isinstance(number, int))
    assert numbers and numbers == list(range(2, 2 + len(numbers)))
    assert (InstructionVersion.objects.count(), published.count("ask_again")) == (1 + len(numbers), TABS - len(numbers))


def held_by(taskers: Sequence[Tasker], now: datetime) -> list[Assignment]:
    """A new panel with a lease for each of the taskers."""
    panel = factories.panel()
    for tasker in taskers:
        claim(tasker, now)
    return list(panel.assignments.select_related("tasker").order_by("pk"))


def report(held: Assignment, now: datetime) -> Report:
    return report_create(**own(held), kind=ReportKind.OTHER, words="grey", now=now)


def counts(held: Assignment, now: datetime) -> bool:
    """Answer, and say whether it counts."""
    return submit(held, now).counted


def decide(image: Image, decision: ReportDecision, by: User, now: datetime) -> str:
    report_decide(image=image, decision=decision, reply="Looked at.", by=by, now=now)
    return decision.value


def audit() -> None:
    """What holds whatever came first: the counters are right, and a picture with an open report is dealt to nobody."""
    held = Count("assignments", filter=Q(assignments__state=AssignmentState.LEASED))
    for panel in Panel.objects.annotate(held=held).exclude(state=PanelState.SETTLED):
        counted = panel.responses.filter(place__isnull=False, voided__isnull=True).count()
        assert (panel.answered, panel.leased, panel.missing) == (counted, panel.held, panel.size - counted)
    waiting = Report.objects.filter(decided_at__isnull=True).values("image")
    assert not Panel.objects.filter(image__in=waiting, state=PanelState.OPEN).exists()
    assert not KnownPicture.objects.filter(image__in=waiting, held_at__isnull=True).exists()


def test_a_report_while_the_others_answer(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    for _ in range(ROUNDS):
        first, second, third = held_by([tara, otto, uma], now)
        _, *counted = at_once(partial(report, first, now), partial(counts, second, now), partial(counts, third, now))
        assert counted == [True, True]
        assert kept(first.panel, "state", "answered", "leased") == (PanelState.HELD, 2, 0)
        audit()


def test_a_late_report_at_the_moment_the_panel_fills_up(tara: Tasker, now: datetime) -> None:
    later, others = now + timedelta(hours=1), people(*"abc")
    for _ in range(ROUNDS):
        (late,) = held_by([tara], now)
        leases.leases_lapse(now=later)
        leased = [factories.assignment(each, late.panel, state=AssignmentState.LEASED) for each in others]
        Panel.objects.filter(pk=late.panel_id).update(leased=3)
        results = at_once(partial(report, late, later), *[partial(counts, held, later) for held in leased])
        assert results[1:] == [True, True, True]
        assert kept(late.panel, "state", "answered", "leased") == (PanelState.FULL, 3, 0)
        audit()


def test_a_report_and_the_same_persons_answer(tara: Tasker, now: datetime) -> None:
    for _ in range(ROUNDS):
        (held,) = held_by([tara], now)
        reported, answered = at_once(partial(report, held, now), partial(counts, held, now))
        # Answered first: there is nothing to report. Reported first: what is sent all the same is kept and counts.
        assert answered is True and (reported == "already_answered" or isinstance(reported, Report))
        audit()


def test_two_reports_at_once_are_both_kept(tara: Tasker, otto: Tasker, now: datetime) -> None:
    for _ in range(ROUNDS):
        one, other = held_by([tara, otto], now)
        at_once(partial(report, one, now), partial(report, other, now), partial(report, one, now))
        assert kept(one.panel, "state", "leased") == (PanelState.HELD, 0)
        assert Report.objects.filter(image=one.image_id).count() == 2
        audit()


def test_two_organizers_decide_once(tara: Tasker, olga: User, now: datetime) -> None:
    olaf = factories.user("olaf", "organizers")
    for round_number in range(1, ROUNDS + 1):
        (held,) = held_by([tara], now)
        report(held, now)
        ways = ((ReportDecision.REOPENED, olga), (ReportDecision.KEPT_OUT, olaf))
        results = at_once(*[partial(decide, held.image, decision, by, now) for decision, by in ways])
        decision = Report.objects.get(image=held.image).decision
        assert sorted(results) == sorted([decision, "decided_already"])
        state = PanelState.OPEN if decision == ReportDecision.REOPENED else PanelState.HELD
        assert (kept(held.panel, "state"), Notice.objects.count()) == (state, round_number)
        Panel.objects.update(state=PanelState.HELD)


@pytest.mark.parametrize("gold", [False, True], ids=["an ordinary picture", "gold"])
def test_a_report_while_an_organizer_gives_the_picture_back(
    gold: bool, tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    for _ in range(ROUNDS):
        if gold:
            known = factories.gold()
            leased = {"known": known, "state": AssignmentState.LEASED}
            one, other = (factories.assignment(tasker, known.panel, **leased) for tasker in (tara, otto))
        else:
            one, other = held_by([tara, otto], now)
        report(one, now)
        at_once(partial(report, other, now), partial(decide, one.image, ReportDecision.REOPENED, olga, now))
        audit()
        Panel.objects.filter(state=PanelState.OPEN).update(state=PanelState.HELD)
        Assignment.objects.filter(state=AssignmentState.LEASED).update(state=AssignmentState.EXPIRED)


def test_taskers_are_locked_in_the_order_of_their_numbers_when_a_picture_is_given_back(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    """A link is made at the same moment, of two whose rows lie in the table the other way round."""
    factories.panel()
    held_by([tara], now)
    held, begun = Assignment.objects.select_related("tasker").get(tasker=tara), Event()  # of either picture
    report(held, now)
    for tasker in (otto, tara):
        Tasker.objects.filter(pk=tasker.pk).update(passed={"1": now.isoformat()}, passed_at=now)

    def link() -> str:
        with transaction.atomic():
            links._lock([tara.pk])
            begun.set()
            sleep(0.5)
            links._lock([otto.pk])
        return "linked"

    def give_back() -> str:
        begun.wait(10)
        return decide(held.image, ReportDecision.REOPENED, olga, now)

    assert at_once(link, give_back) == ["linked", ReportDecision.REOPENED]
    assert not Tasker.objects.exclude(passed={}).exists()


@pytest.mark.parametrize("what", ["reported", "decided"])
def test_gold_dealt_at_the_moment_it_is_reported_or_decided(
    what: str, tara: Tasker, otto: Tasker, olga: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim has the gold picture's row and its panel's key; the other one has the panel and needs the row."""
    known, used = factories.gold(), Event()
    factories.panel()
    held = factories.assignment(tara, known.panel, state=AssignmentState.LEASED, known=known)
    if what == "decided":
        report(held, now)
        KnownPicture.objects.update(held_at=None)
    use = leases._use_gold

    def use_and_wait(**named: Any) -> int:
        taken = use(**named)
        used.set()
        sleep(0.3)
        return taken

    def beside() -> Any:
        used.wait(10)
        return report(held, now) if what == "reported" else decide(known.image, ReportDecision.KEPT_OUT, olga, now)

    monkeypatch.setattr(leases, "_use_gold", use_and_wait)
    dealing = {"holding": (), "policy": Policy(gold_percent=50), "now": now, "rng": Heads(1)}
    dealt, other = at_once(partial(leases.assignment_next, tasker=otto, **dealing), beside)
    assert (dealt.known_id, dealt.tasker_id) == (known.pk, otto.pk)
    assert isinstance(other, Report) if what == "reported" else other == ReportDecision.KEPT_OUT


def test_two_who_hold_the_same_pictures_are_paused_at_once(tara: Tasker, otto: Tasker, now: datetime) -> None:
    for _ in range(ROUNDS):
        panels = [factories.panel() for _slot in range(3)]
        for tasker, order in ((tara, panels), (otto, panels[::-1])):
            for slot, panel in enumerate(order, start=1):
                held = factories.assignment(tasker, panel, state=AssignmentState.RELEASED)
                Assignment.objects.filter(pk=held.pk).update(slot=slot, state=AssignmentState.LEASED)
        Panel.objects.filter(pk__in=[panel.pk for panel in panels]).update(leased=2)
        assert at_once(*[partial(leases.leases_release, tasker=each, now=now) for each in (tara, otto)]) == [3, 3]
        audit()


def taken(tasker: Tasker, now: datetime) -> Any:
    """What a claim gives to a tasker as they were when they signed in."""
    return leases.assignment_next(tasker=tasker, holding=(), policy=POLICY, now=now, rng=Random(1))


def pause(tasker: Tasker, now: datetime) -> None:
    action_take(tasker=tasker, action=MonitoringAction.PAUSE, reason="Too many differ.", now=now)


def on_its_way(act: Callable[[], Any], begun: Event) -> Callable[[], Any]:
    """An act that is done and not committed when the other one begins, until that waits for it."""

    def acted() -> Any:
        with transaction.atomic():
            found = act()
            begun.set()
            until_waiting()
            return found

    return acted


def after(begun: Event, act: Callable[[], Any]) -> Callable[[], Any]:
    def acted() -> Any:
        begun.wait(10)
        return act()

    return acted


def test_a_claim_waits_for_a_pause_and_gives_nothing(tara: Tasker, now: datetime) -> None:
    factories.panel()
    signed_in, begun = Tasker.objects.get(pk=tara.pk), Event()
    first, second = on_its_way(partial(pause, tara, now), begun), after(begun, partial(taken, signed_in, now))
    assert at_once(first, second) == [None, "paused"]
    assert not Assignment.objects.exists()


def test_a_pause_waits_for_a_claim_and_takes_the_picture_back(tara: Tasker, now: datetime) -> None:
    panel, signed_in, begun = factories.panel(), Tasker.objects.get(pk=tara.pk), Event()
    at_once(on_its_way(partial(taken, signed_in, now), begun), after(begun, partial(pause, tara, now)))
    assert Assignment.objects.get().state == AssignmentState.RELEASED
    assert kept(panel, "leased") == 0


@pytest.mark.parametrize(
    ("paused_first", "state"), [(False, AssignmentState.RELEASED), (True, AssignmentState.EXPIRED)]
)
def test_a_lapsed_picture_is_taken_up_again_before_a_pause_or_not_at_all(
    paused_first: bool, state: AssignmentState, tara: Tasker, now: datetime
) -> None:
    (held,), later, begun = held_by([tara], now), now + timedelta(hours=1), Event()
    leases.leases_lapse(now=later)
    first, second = [partial(beat, held, later), partial(pause, tara, later)][:: -1 if paused_first else 1]
    at_once(on_its_way(first, begun), after(begun, second))
    assert (kept(held, "state"), kept(held.panel, "leased")) == (state, 0)


def test_a_claim_waits_for_a_link_and_gives_no_place_beside_the_other(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    held_by([tara], now)
    signed_in, begun = Tasker.objects.get(pk=otto.pk), Event()
    link = partial(links.link_declare, first=tara, second=otto, reason="Sisters.", by=olga, now=now)
    _, given = at_once(on_its_way(link, begun), after(begun, partial(taken, signed_in, now)))
    assert isinstance(given, leases.NothingLeft)


def test_a_link_waits_for_a_claim_and_names_the_person(tara: Tasker, otto: Tasker, olga: User, now: datetime) -> None:
    factories.panel()
    signed_in, begun = Tasker.objects.get(pk=otto.pk), Event()
    link = partial(links.link_declare, first=tara, second=otto, reason="Sisters.", by=olga, now=now)
    at_once(on_its_way(partial(taken, signed_in, now), begun), after(begun, link))
    assert Assignment.objects.get().person == tara.pk


def test_an_answer_that_waits_for_a_pause_does_not_count(tara: Tasker, now: datetime) -> None:
    (held,), begun = held_by([tara], now), Event()
    _, counted = at_once(on_its_way(partial(pause, tara, now), begun), after(begun, partial(counts, held, now)))
    assert counted is False
    assert kept(held.panel, "answered", "leased") == (0, 0)


@pytest.mark.parametrize("first", [beat, counts])
@pytest.mark.parametrize("second", [beat, counts])
def test_of_two_linked_taskers_who_come_back_at_once_one_has_a_place(
    first: Callable[..., Any], second: Callable[..., Any], tara: Tasker, otto: Tasker, now: datetime
) -> None:
    one, other = held_by([tara, otto], now)
    later, begun = now + timedelta(hours=1), Event()
    leases.leases_lapse(now=later)
    linked(tara, otto)
    _, refused = at_once(on_its_way(partial(first, one, later), begun), after(begun, partial(second, other, later)))
    assert refused == ("place_taken" if second is beat else False)
    panel = Panel.objects.get(pk=one.panel_id)
    assert panel.answered + panel.leased == 1


def test_two_organizers_answer_once(tara: Tasker, olga: User, now: datetime) -> None:
    everybody: dict[str, Any] = {"to_everybody": True, "requalify": False, "now": now}
    for number in range(ROUNDS):
        question = question_send(tasker=tara, text=f"Question {number}?", now=now)
        reply = partial(question_answer, question_id=question.pk, by=olga, **everybody)
        assert "answered_already" in at_once(partial(reply, answer="Yes."), partial(reply, answer="No."))
        assert kept(question, "instructions").clarification == question.answer
    assert InstructionVersion.objects.count() == 1 + ROUNDS


def test_a_question_sent_from_two_tabs_is_one(tara: Tasker, now: datetime) -> None:
    for number in range(1, ROUNDS + 1):
        at_once(*[partial(question_send, tasker=tara, text=f"Question {number}?", now=now)] * 4)
        assert Question.objects.count() == number
        Question.objects.update(answer="Yes.", answered_at=F("asked_at"))
