"""Simulated taskers at work through the real services and sweeps."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from random import Random

from django.contrib.auth.models import User
from django.db.models import Q

from adjudication.services import panels_settle
from common.errors import InvalidInput
from contest.simulation.people import NO, YES, Form, SimulatedPerson
from contest.simulation.pictures import SIDE, PictureTruth, draw_picture
from labeling import leases, voiding
from labeling.answers import read_answers
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
from policy.selectors import PolicyInForce, policy_at, policy_in_force

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
    """Everybody who labels. `truths` says of each picture, by its number, what is true of it."""

    def __init__(
        self,
        people: Iterable[SimulatedPerson],
        *,
        rng: Random,
        policy: PolicyInForce,
        organizer: User,
        truths: dict[int, PictureTruth],
        now: datetime,
    ) -> None:
        self.rng, self.policy, self.organizer, self.truths = rng, policy, organizer, truths
        self.workers = [self._hire(person, now) for person in people]

    def _hire(self, person: SimulatedPerson, now: datetime) -> SimulatedTasker:
        user = User.objects.create_user(person.name)
        tasker = tasker_register(user=user, state=TaskerState.QUALIFIED, now=now, rng=self.rng)
        return SimulatedTasker(person, tasker)

    # The sweeps, and what an organizer does about taskers ------------------------------------------------------------

    def sweep(self, now: datetime) -> None:
        """Run the sweeps of labeling, and rule on full panels."""
        self.rule(now)
        self.watch(now)

    def rule(self, now: datetime) -> None:
        """End the leases that ran out, and rule on full panels."""
        leases.leases_lapse(now=now)
        panels_settle(policy_at=policy_in_force, now=now)

    def watch(self, now: datetime) -> None:
        """Let the rules of monitoring look at who labeled in the last day."""
        check_taskers(policy=self.policy.policy, now=now)
        gold_flag_leaks(policy=self.policy.policy, now=now)

    def void_answers_of_paused(self, now: datetime) -> None:
        """Void what those whom a rule paused have said of pictures without a ruling."""
        for tasker in Tasker.objects.filter(state=TaskerState.PAUSED).order_by("pk"):
            if voiding.unsettled_responses(tasker, None).exists():
                answers_void(tasker=tasker, since=None, reason="Clearly under the share.", by=self.organizer, now=now)

    def choose_gold(self, count: int, now: datetime, *, days: int = 1) -> None:
        """Choose some of the pictures of the last days on which good people would agree: half clear, half not."""
        lately = Q(state=PanelState.SETTLED, full_at__gt=now - timedelta(days=days), image__known__isnull=True)
        settled = Panel.objects.filter(lately).select_related("image").order_by("pk")
        panels = [panel for panel in settled if self.truths[panel.image_id].hard < GOLD_HARD]
        self.rng.shuffle(panels)
        clear = [panel for panel in panels if self.truths[panel.image_id].topic == Topic.CLEAR]
        unclear = [panel for panel in panels if self.truths[panel.image_id].topic != Topic.CLEAR]
        chosen = [*clear[: count // 2], *unclear[: count - count // 2]]
        for panel in chosen:
            gold_add(
                panel=panel,
                expected=expected_of(self.truths[panel.image_id]),
                gate=self.policy.policy.outline_gate,
                by=self.organizer,
                now=now,
            )

    def has_gold(self) -> bool:
        """Say whether any picture is gold."""
        return KnownPicture.objects.filter(use=KnownUse.GOLD).exists()

    def requalify(self, worker: SimulatedTasker, now: datetime) -> bool:
        """Let somebody whom a rule sent to a short qualification answer its pictures; says whether they passed."""
        policy = self.policy.policy
        right = 0
        for number in range(policy.short_qualification_size):
            truth = draw_picture(self.rng)
            form = dict(worker.person.answer(truth, f"{now} {number}"))
            answers = read_answers(form, width=SIDE, height=SIDE, gate=policy.outline_gate)
            right += marks_of_answers(answers, KnownPicture(**asdict(expected_of(truth)))).right
        passed = right >= policy.short_qualification_needed
        if passed:
            tasker_state_change(
                tasker=worker.tasker, after=TaskerState.QUALIFIED, code="passed", reason="Passed again.", now=now
            )
        return passed

    # Answering --------------------------------------------------------------------------------------------------------

    def begin_day(self, worker: SimulatedTasker, now: datetime) -> None:
        """Let somebody come to work; who was sent back to learn tries the qualification first."""
        worker.tasker.refresh_from_db()
        if worker.tasker.state == TaskerState.LEARNING:
            self.requalify(worker, now)

    def turn(self, worker: SimulatedTasker, at: datetime) -> tuple[bool, float | None]:
        """Send the answer at hand and take the next picture.

        Returns whether an answer was sent, and how many seconds the next one takes; None when there is none.
        """
        worker.tasker = Tasker.objects.get(pk=worker.tasker.pk)
        if worker.tasker.state != TaskerState.QUALIFIED:
            worker.held = None  # the page says so, and what was at hand is given back
            return False, None
        sent = self._submit(worker, at)
        if worker.left > 0 and self._claim(worker, at) and worker.form:
            return sent, worker.form["seconds"]
        return sent, None

    def _submit(self, worker: SimulatedTasker, at: datetime) -> bool:
        held, form = worker.held, worker.form
        if held is None or form is None:
            return False
        response_submit(
            tasker=worker.tasker,
            assignment_id=held.public_id,
            lease_token=held.lease_token,
            data=form,
            policy_at=policy_at,
            now=at,
        )
        worker.held = None
        worker.left -= 1
        return True

    def _claim(self, worker: SimulatedTasker, at: datetime) -> bool:
        found = leases.assignment_next(
            tasker=worker.tasker, holding=(), policy=self.policy.policy, now=at, rng=self.rng
        )
        if not isinstance(found, Assignment):
            return False
        worker.held, worker.form = found, self._form(worker.person, found)
        return True

    def _form(self, person: SimulatedPerson, assignment: Assignment) -> Form:
        """What the person fills in; who draws an outline that crosses itself is told, and draws it again."""
        truth = self.truths[assignment.image_id]
        for _ in range(10):
            form = person.answer(truth, assignment.image_id)
            try:
                read_answers(form, width=SIDE, height=SIDE, gate=self.policy.policy.outline_gate)
            except InvalidInput:
                continue
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
