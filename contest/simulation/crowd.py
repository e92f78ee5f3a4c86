"""Simulated taskers at work through the real services and sweeps."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from random import Random

from django.contrib.auth.models import User
from django.db.models import Q

from adjudication.services import panels_settle
from common.errors import InvalidInput
from contest.simulation.clock import VirtualClock
from contest.simulation.people import NO, YES, Form, SimulatedPerson
from contest.simulation.pictures import SIDE, PictureTruth, draw_picture
from labeling import leases, voiding
from labeling.answers import read_form
from labeling.enums import KnownUse, PanelState, TaskerState, Topic
from labeling.gold import marks_of_answers
from labeling.models import Assignment, KnownPicture, Panel, Tasker
from labeling.states import tasker_state_change
from labeling.submission import response_submit
from labeling.taskers import tasker_register
from monitoring.actions import answers_void
from monitoring.check_taskers import check_taskers
from monitoring.gold_choice import USUAL_IOU_PERCENT, GoldAnswers, gold_add
from monitoring.gold_leaks import gold_flag_leaks
from monitoring.links import find_copies
from policy.numbers import Policy
from policy.selectors import policy_at, policy_in_force

OPENING_HOURS = 3.0  # within which people begin
SESSION_SECONDS = 4 * 3600
GOLD_HARD = 1.3  # organizers choose gold that people agree on


@dataclass(slots=True)
class SimulatedTasker:
    """A person at work: the picture at hand and its form, and how many are left for today."""

    person: SimulatedPerson
    tasker: Tasker
    left: int = 0
    held: Assignment | None = None
    form: Form | None = None


class Crowd:
    """Everybody who labels. `truths` maps a picture's number to its true answers."""

    def __init__(
        self,
        people: Iterable[SimulatedPerson],
        *,
        rng: Random,
        policy: Policy,
        organizer: User,
        truths: dict[int, PictureTruth],
        now: datetime,
    ) -> None:
        self.rng, self.policy, self.organizer, self.truths = rng, policy, organizer, truths
        self.workers = []
        for person in people:
            user = User.objects.create_user(person.name)
            tasker = tasker_register(user=user, state=TaskerState.QUALIFIED, now=now, rng=rng)
            self.workers.append(SimulatedTasker(person, tasker))

    # The sweeps, and what an organizer does about taskers ------------------------------------------------------------

    def rule(self, now: datetime) -> None:
        """End the leases that ran out, and rule on full panels."""
        leases.leases_lapse(now=now)
        panels_settle(policy_at=policy_in_force, now=now)

    def watch(self, now: datetime) -> None:
        """Let the rules of monitoring look at who labeled in the last day."""
        check_taskers(policy=self.policy, now=now)
        gold_flag_leaks(policy=self.policy, now=now)

    def look_back(self, now: datetime) -> None:
        """After work: monitor, look for copies, and void the answers of paused taskers on pictures without a ruling."""
        self.watch(now)
        find_copies(now=now)
        for tasker in Tasker.objects.filter(state=TaskerState.PAUSED).order_by("pk"):
            if voiding.unsettled_responses(tasker, None).exists():
                answers_void(tasker=tasker, since=None, reason="Clearly under the share.", by=self.organizer, now=now)

    def has_gold(self) -> bool:
        """Say whether any picture is gold."""
        return KnownPicture.objects.filter(use=KnownUse.GOLD).exists()

    def choose_gold(self, count: int, now: datetime, *, days: int = 1) -> None:
        """Choose some of the pictures of the last days on which good people would agree: half clear, half not."""
        lately = Q(state=PanelState.SETTLED, full_at__gt=now - timedelta(days=days), image__known__isnull=True)
        settled = Panel.objects.filter(lately).select_related("image").order_by("pk")
        panels = [panel for panel in settled if self.truths[panel.image_id].hard < GOLD_HARD]
        self.rng.shuffle(panels)
        clear = [panel for panel in panels if self.truths[panel.image_id].topic == Topic.CLEAR]
        unclear = [panel for panel in panels if self.truths[panel.image_id].topic != Topic.CLEAR]
        for panel in (*clear[: count // 2], *unclear[: count - count // 2]):
            expected, gate = expected_of(self.truths[panel.image_id]), self.policy.outline_gate
            gold_add(panel=panel, expected=expected, gate=gate, by=self.organizer, now=now)

    # Answering --------------------------------------------------------------------------------------------------------

    def begin_day(self, worker: SimulatedTasker, now: datetime) -> None:
        """Let somebody come to work; a tasker whom a rule sent to a short qualification takes it first."""
        worker.tasker.refresh_from_db()
        if worker.tasker.state != TaskerState.LEARNING:
            return
        tries = range(self.policy.short_qualification_size)
        right = sum(self._is_right(worker.person, f"{now} {number}") for number in tries)
        if right >= self.policy.short_qualification_needed:
            tasker_state_change(
                tasker=worker.tasker, after=TaskerState.QUALIFIED, code="passed", reason="Passed again.", now=now
            )

    def _is_right(self, person: SimulatedPerson, name: str) -> bool:
        """Let somebody answer a known picture."""
        truth = draw_picture(self.rng)
        answers = read_form(person.answer(truth, name), width=SIDE, height=SIDE, gate=self.policy.outline_gate)
        return marks_of_answers(answers, KnownPicture(**asdict(expected_of(truth)))).right

    def work(self, clock: VirtualClock, worker: SimulatedTasker, pace: float) -> None:
        """Send the answer at hand and take the next picture; with breaths, so that `pace` pictures come in a second."""
        worker.tasker = Tasker.objects.get(pk=worker.tasker.pk)
        if worker.tasker.state != TaskerState.QUALIFIED:
            worker.held = None  # the page says so, and what was at hand is given back
            return
        if worker.held is not None and worker.form is not None:
            response_submit(
                tasker=worker.tasker,
                assignment_id=worker.held.public_id,
                lease_token=worker.held.lease_token,
                data=worker.form,
                policy_at=policy_at,
                now=clock.now,
            )
            worker.held, worker.left = None, worker.left - 1
        if worker.left <= 0:
            return
        found = leases.assignment_next(
            tasker=worker.tasker, holding=(), policy=self.policy, now=clock.now, rng=self.rng
        )
        if isinstance(found, Assignment):
            worker.held, worker.form = found, self._form(worker.person, found)
            seconds = worker.form["seconds"] + self.rng.expovariate(pace)
            clock.at(clock.now + timedelta(seconds=seconds), self.work, clock, worker, pace)

    def _form(self, person: SimulatedPerson, assignment: Assignment) -> Form:
        """What the person fills in; who draws an outline that crosses itself is told, and draws it again."""
        for _ in range(10):
            form = person.answer(self.truths[assignment.image_id], assignment.image_id)
            with suppress(InvalidInput):
                read_form(form, width=SIDE, height=SIDE, gate=self.policy.outline_gate)
                return form
        raise ValueError(f"{person.name} cannot draw")


def expected_of(truth: PictureTruth) -> GoldAnswers:
    """Return the right answers to a picture, as an organizer gives them."""
    outlined = truth.label is not None
    return GoldAnswers(
        accepts_bird=(YES if truth.bird else NO,),
        accepts_bicycle=(YES if truth.bicycle else NO,),
        outline=truth.shape.outline if truth.shape else "",
        min_iou_percent=USUAL_IOU_PERCENT,
        complete=truth.complete if outlined else None,
        unoccluded=truth.unoccluded if outlined else None,
        real=truth.real if outlined else None,
        topic=truth.topic,
    )
