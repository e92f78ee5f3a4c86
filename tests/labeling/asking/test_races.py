"""Several at once, on PostgreSQL: a report while the panel fills up, two organizers, two reports, two answers."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from random import Random
from threading import Event
from time import sleep
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q

from labeling import services
from labeling.asking.services import question_answer, question_ask, report_decide, report_make
from labeling.enums import AssignmentState, PanelState, ReportDecision, ReportKind
from labeling.models import Assignment, Image, InstructionVersion, KnownPicture, Notice, Panel, Question, Report, Tasker
from labeling.policy import Policy
from labeling.watching import links
from tests import factories
from tests.labeling.cast import at_once, claim, own, people
from tests.labeling.cast import submit as answer

pytestmark = [
    pytest.mark.postgres("reports, answers and decisions at once, with row locks"),
    pytest.mark.django_db(transaction=True),
]
ROUNDS = 10


@pytest.fixture(autouse=True)
def policy(transactional_db: None) -> None:
    factories.policy_version()


def held_by(taskers: Sequence[Tasker], now: datetime) -> list[Assignment]:
    """A new panel with a lease for each of the taskers."""
    panel = factories.panel()
    for tasker in taskers:
        claim(tasker, now)
    return list(panel.assignments.select_related("tasker").order_by("pk"))


def report(held: Assignment, now: datetime) -> Report:
    return report_make(**own(held), kind=ReportKind.OTHER, words="grey", now=now)


def counts(held: Assignment, now: datetime) -> bool:
    """Answer, and say whether it counts."""
    return answer(held, now).counted


def decide(image: Image, decision: ReportDecision, by: User, now: datetime) -> str:
    report_decide(image=image, decision=decision, reply="Looked at.", by=by, now=now)
    return decision.value


def audit() -> None:
    """What holds whatever came first: the counters are right, and a picture with an open report is dealt to nobody."""
    held = Count("assignments", filter=Q(assignments__state=AssignmentState.LEASED))
    for panel in Panel.objects.annotate(held=held).exclude(state=PanelState.SETTLED):
        counted = panel.responses.filter(place__isnull=False).count()
        assert (panel.answered, panel.leased, panel.missing) == (counted, panel.held, panel.size - counted)
    waiting = Report.objects.filter(decided_at__isnull=True).values("image")
    assert not Panel.objects.filter(image__in=waiting, state=PanelState.OPEN).exists()
    assert not KnownPicture.objects.filter(image__in=waiting, held_at__isnull=True).exists()


def test_a_report_while_the_others_answer(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    for _ in range(ROUNDS):
        first, second, third = held_by([tara, otto, uma], now)
        results = at_once(partial(report, first, now), partial(counts, second, now), partial(counts, third, now))
        assert results[1:] == [True, True]
        panel = Panel.objects.get(pk=first.panel_id)
        assert (panel.state, panel.answered, panel.leased) == (PanelState.HELD, 2, 0)
        audit()


def test_a_late_report_at_the_moment_the_panel_fills_up(tara: Tasker, now: datetime) -> None:
    later, others = now + timedelta(hours=1), people(*"abc")
    for _ in range(ROUNDS):
        (late,) = held_by([tara], now)
        services.leases_lapse(now=later)
        leased = [factories.assignment(each, late.panel, state=AssignmentState.LEASED) for each in others]
        Panel.objects.filter(pk=late.panel_id).update(leased=3)
        results = at_once(partial(report, late, later), *[partial(counts, held, later) for held in leased])
        assert results[1:] == [True, True, True]
        panel = Panel.objects.get(pk=late.panel_id)
        assert (panel.state, panel.answered, panel.leased) == (PanelState.FULL, 3, 0)
        audit()


def test_a_report_and_the_same_persons_answer(tara: Tasker, now: datetime) -> None:
    for _ in range(ROUNDS):
        (held,) = held_by([tara], now)
        reported, answered = at_once(partial(report, held, now), partial(counts, held, now))
        # Answered first: there is nothing to report. Reported first: what is sent all the same is kept and counts.
        assert answered is True
        assert reported == "already_answered" or isinstance(reported, Report)
        audit()


def test_two_reports_at_once_are_both_kept(tara: Tasker, otto: Tasker, now: datetime) -> None:
    for _ in range(ROUNDS):
        one, other = held_by([tara, otto], now)
        at_once(partial(report, one, now), partial(report, other, now), partial(report, one, now))
        panel = Panel.objects.get(pk=one.panel_id)
        assert (panel.state, panel.leased) == (PanelState.HELD, 0)
        assert Report.objects.filter(image=panel.image_id).count() == 2
        audit()


def test_two_organizers_decide_once(tara: Tasker, olga: User, now: datetime) -> None:
    olaf = factories.user("olaf", "organizers")
    for round_number in range(1, ROUNDS + 1):
        (held,) = held_by([tara], now)
        report(held, now)
        give_back = partial(decide, held.image, ReportDecision.REOPENED, olga, now)
        results = at_once(give_back, partial(decide, held.image, ReportDecision.KEPT_OUT, olaf, now))
        kept = Report.objects.get(image=held.image)
        assert sorted(results) == sorted([kept.decision, "decided_already"])
        state = PanelState.OPEN if kept.decision == ReportDecision.REOPENED else PanelState.HELD
        assert Panel.objects.get(pk=held.panel_id).state == state
        assert Notice.objects.count() == round_number
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
    held = Assignment.objects.select_related("tasker").get(tasker=tara)  # of either picture
    report(held, now)
    begun = Event()
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


class _Heads(Random):
    """Draws gold whenever there is any."""

    def randrange(self, *_: int) -> int:
        return 0


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
    use = services._use_gold

    def use_and_wait(**named: Any) -> int:
        taken = use(**named)
        used.set()
        sleep(0.3)
        return taken

    def beside() -> Any:
        used.wait(10)
        if what == "reported":
            return report(held, now)
        return decide(known.image, ReportDecision.KEPT_OUT, olga, now)

    monkeypatch.setattr(services, "_use_gold", use_and_wait)
    policy = Policy(gold_percent=50)
    claim = partial(services.assignment_next, tasker=otto, holding=(), policy=policy, now=now, rng=_Heads(1))
    dealt, other = at_once(claim, beside)
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
        assert at_once(*[partial(services.leases_end, tasker=each, now=now) for each in (tara, otto)]) == [3, 3]
        audit()


def test_two_organizers_answer_once(tara: Tasker, olga: User, now: datetime) -> None:
    everybody: dict[str, Any] = {"to_everybody": True, "requalify": False, "now": now}
    for number in range(ROUNDS):
        question = question_ask(tasker=tara, text=f"Question {number}?", now=now)
        reply = partial(question_answer, question_id=question.pk, by=olga, **everybody)
        assert "answered_already" in at_once(partial(reply, answer="Yes."), partial(reply, answer="No."))
        question.refresh_from_db()
        assert question.instructions is not None
        assert question.instructions.clarification == question.answer
    assert InstructionVersion.objects.count() == 1 + ROUNDS


def test_a_question_sent_from_two_tabs_is_one(tara: Tasker, now: datetime) -> None:
    for round_number in range(ROUNDS):
        Question.objects.update(answer="Yes.", answered_at=F("asked_at"))
        text = f"Question {round_number}?"
        at_once(*[partial(question_ask, tasker=tara, text=text, now=now)] * 4)
        assert Question.objects.filter(text=text).count() == 1
