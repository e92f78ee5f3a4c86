"""A month of labeling, played through the services that people's clicks go through; only the clock is told.

People answer in the order in which the hours of a working day bring them; the sweeps run as they do in the contest,
only less often. What happens is the rows' to say: see `contest.simulation.outcome`.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from adjudication.services import panels_settle
from common.errors import InvalidInput
from contest.simulation.people import NO, YES, Form, Person, draw_people
from contest.simulation.pictures import SIDE, Truth, draw_picture
from labeling import services, voiding
from labeling.answers import read_answers
from labeling.enums import KnownUse, Origin, PanelState, TaskerState, Topic
from labeling.gold import marks_of_answers
from labeling.models import Assignment, Image, KnownPicture, Panel, Tasker
from labeling.people import ORGANIZERS, role_give, tasker_register
from labeling.selectors import PolicyInForce, policy_at, policy_in_force
from labeling.states import tasker_state_change
from labeling.watching.actions import answers_void
from labeling.watching.gold import USUAL_IOU_PERCENT, Expected, gold_add
from labeling.watching.leaks import gold_flag_leaks
from labeling.watching.links import copies_look
from labeling.watching.watch import watch

BEGIN = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)  # a Monday
WORKING_DAYS = 5
OPENING_HOURS = 3.0  # within which people begin
SESSION_HOURS = 4.0
SWEEP = timedelta(hours=4)
EVENING = timedelta(hours=12)
SPARE = 1.15  # pictures imported for each one that is answered to the end
GOLD_HARD = 1.3  # organizers choose gold that people agree on
TURNS_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Plan:
    """What is simulated; the same plan gives the same month."""

    seed: int = 1
    honest: int = 44
    careless: int = 3
    random: int = 1
    copying: int = 2
    days: int = 22
    pictures_a_day: int = 20
    first_gold: int = 80
    gold_a_day: int = 5

    @property
    def taskers(self) -> int:
        """Return how many people label."""
        return self.honest + self.careless + self.random + self.copying


@dataclass(slots=True)
class Worker:
    """A person at work: the picture at hand and its form, and how many are left for today."""

    person: Person
    tasker: Tasker
    left: int = 0
    held: Assignment | None = None
    form: Form | None = None


class Month:
    """One month: `play` it, then read the rows."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.rng = plan, Random(f"month {plan.seed}")
        self.policy: PolicyInForce = policy_in_force(BEGIN)
        self.organizer = User.objects.create_user("organizer")
        role_give(user=self.organizer, role=ORGANIZERS)
        self.workers = [self._hire(person) for person in self._people()]
        self.truths: dict[int, Truth] = {}

    def _people(self) -> list[Person]:
        plan = self.plan
        return draw_people(
            honest=plan.honest, careless=plan.careless, random=plan.random, copying=plan.copying, seed=str(plan.seed)
        )

    def _hire(self, person: Person) -> Worker:
        user = User.objects.create_user(person.name)
        tasker = tasker_register(user=user, state=TaskerState.QUALIFIED, now=BEGIN, rng=self.rng)
        return Worker(person, tasker)

    def play(self, say: Callable[[str], Any]) -> None:
        """Play every working day."""
        for number, morning in enumerate(mornings(self.plan.days), start=1):
            answers = Day(self, morning).play()
            self._evening(morning + EVENING)
            say(f"seed {self.plan.seed}, day {number} of {self.plan.days}: {answers:,} answers")

    def _evening(self, now: datetime) -> None:
        """After work: the sweeps, the look for copies, and what an organizer does."""
        self.sweep(now)
        copies_look(now=now)
        self._void_answers_of_paused(now)
        known = KnownPicture.objects.filter(use=KnownUse.GOLD)
        self._choose_gold(self.plan.gold_a_day if known.exists() else self.plan.first_gold, now)

    def sweep(self, now: datetime) -> None:
        """Run the sweeps of labeling, and rule on full panels."""
        services.leases_lapse(now=now)
        panels_settle(policy_at=policy_in_force, now=now)
        watch(policy=self.policy.policy, now=now)
        gold_flag_leaks(policy=self.policy.policy, now=now)

    def _void_answers_of_paused(self, now: datetime) -> None:
        for tasker in Tasker.objects.filter(state=TaskerState.PAUSED).order_by("pk"):
            if voiding.unsettled_responses(tasker, None).exists():
                answers_void(tasker=tasker, since=None, reason="Clearly under the share.", by=self.organizer, now=now)

    def _choose_gold(self, count: int, now: datetime) -> None:
        """Choose some of the day's pictures on which a panel of good people would agree: half clear, half not."""
        today = Q(state=PanelState.SETTLED, full_at__gt=now - timedelta(days=1), image__known__isnull=True)
        settled = Panel.objects.filter(today).select_related("image").order_by("pk")
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

    def requalify(self, worker: Worker, now: datetime) -> bool:
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


def mornings(days: int) -> Iterator[datetime]:
    """Yield when each working day begins."""
    for number in range(days):
        weeks, day = divmod(number, WORKING_DAYS)
        yield BEGIN + timedelta(days=7 * weeks + day)


def expected_of(truth: Truth) -> Expected:
    """Return the right answers to a picture, as an organizer gives them."""
    outlined = truth.label is not None
    return Expected(
        accepts_bird=(YES if truth.bird else NO,),
        accepts_bicycle=(YES if truth.bicycle else NO,),
        outline=truth.shape.outline if truth.shape else "",
        min_iou_percent=USUAL_IOU_PERCENT,
        complete=truth.complete if outlined else None,
        unoccluded=truth.unoccluded if outlined else None,
        real=truth.real if outlined else None,
        topic=truth.topic,
    )


class Day:
    """One working day of a month."""

    def __init__(self, month: Month, morning: datetime) -> None:
        self.month, self.morning = month, morning
        self.policy = month.policy.policy
        self.answers = 0
        self.next_sweep = morning + SWEEP
        self.queue: list[tuple[datetime, int]] = []

    def play(self) -> int:
        """Play the day; returns how many answers were given."""
        self._import_pictures()
        self._begin()
        while self.queue:
            with transaction.atomic():  # many turns in one, which is what takes long on a disk
                for _ in range(min(TURNS_AT_ONCE, len(self.queue) * 2)):
                    if self.queue:
                        self._turn_of_next()
        return self.answers

    def _import_pictures(self) -> None:
        """Have as many pictures waiting as the day's answers need, and some to spare."""
        month = self.month
        wanted = int(SPARE * month.plan.taskers * month.plan.pictures_a_day / self.policy.panel_size)
        waiting = Panel.objects.filter(state=PanelState.OPEN).count()
        for _ in range(max(0, wanted - waiting)):
            truth = draw_picture(month.rng)
            image = picture_row(f"{month.plan.seed}:{len(month.truths)}", self.morning)
            month.truths[image.pk] = truth
        while services.panels_deal(policy=self.policy, now=self.morning):
            pass

    def _begin(self) -> None:
        """Say when each begins; those who copy sit together."""
        together = self.morning + timedelta(hours=self.month.rng.uniform(0, OPENING_HOURS))
        for place, worker in enumerate(self.month.workers):
            alone = self.morning + timedelta(hours=self.month.rng.uniform(0, OPENING_HOURS))
            worker.tasker.refresh_from_db()
            if worker.tasker.state == TaskerState.LEARNING:
                self.month.requalify(worker, self.morning)
            worker.left = round(self.month.plan.pictures_a_day * self.month.rng.uniform(0.85, 1.15))
            heapq.heappush(self.queue, (together if worker.person.notebook else alone, place))

    def _turn_of_next(self) -> None:
        at, place = heapq.heappop(self.queue)
        while at >= self.next_sweep:
            self.month.sweep(self.next_sweep)
            self.next_sweep += SWEEP
        worker = self.month.workers[place]
        worker.tasker = Tasker.objects.get(pk=worker.tasker.pk)
        if worker.tasker.state != TaskerState.QUALIFIED:
            worker.held = None  # the page says so, and what was at hand is given back
            return
        self._submit(worker, at)
        if worker.left > 0 and self._claim(worker, at) and worker.form:
            heapq.heappush(self.queue, (at + self._until_next(worker.form["seconds"]), place))

    def _until_next(self, seconds: float) -> timedelta:
        """The time an answer takes, and a breath, so that a day's pictures fill a session."""
        breath = 3600 * SESSION_HOURS / self.month.plan.pictures_a_day
        return timedelta(seconds=seconds + self.month.rng.expovariate(1 / breath))

    def _submit(self, worker: Worker, at: datetime) -> None:
        held, form = worker.held, worker.form
        if held is None or form is None:
            return
        services.response_submit(
            tasker=worker.tasker,
            assignment_id=held.public_id,
            lease_token=held.lease_token,
            data=form,
            policy_at=policy_at,
            now=at,
        )
        worker.held = None
        worker.left -= 1
        self.answers += 1

    def _claim(self, worker: Worker, at: datetime) -> bool:
        found = services.assignment_next(
            tasker=worker.tasker, holding=(), policy=self.policy, now=at, rng=self.month.rng
        )
        if not isinstance(found, Assignment):
            return False
        worker.held, worker.form = found, self._form(worker.person, found)
        return True

    def _form(self, person: Person, assignment: Assignment) -> Form:
        """What the person fills in; who draws an outline that crosses itself is told, and draws it again."""
        truth = self.month.truths[assignment.image_id]
        for _ in range(10):
            form = person.answer(truth, assignment.image_id)
            try:
                read_answers(form, width=SIDE, height=SIDE, gate=self.policy.outline_gate)
            except InvalidInput:
                continue
            return form
        raise ValueError(f"{person.name} cannot draw")


def picture_row(name: str, now: datetime) -> Image:
    """Record a picture that has no pixels."""
    sha = hashlib.sha256(name.encode()).hexdigest()
    return Image.objects.create(
        pixels_sha256=sha,
        original_sha256=sha,
        original_format="PNG",
        width=SIDE,
        height=SIDE,
        origin=Origin.DATASET,
        source="simulation",
        licence="none: it has no pixels",
        received_at=now,
        label_from=now,
    )
