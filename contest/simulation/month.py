"""Simulates a month of labeling through the real services on a virtual clock, and reads the results.

People answer in the order in which the hours of a working day bring them; the sweeps run as they do in the contest,
only less often.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q

from accounts.roles import ORGANIZERS, role_give
from adjudication.enums import Verdict
from adjudication.models import Ruling
from contest.simulation.clock import VirtualClock
from contest.simulation.crowd import OPENING_HOURS, SESSION_SECONDS, Crowd, SimulatedTasker
from contest.simulation.people import Personality, draw_people
from contest.simulation.pictures import SIDE, PictureTruth, draw_picture
from contest.simulation.plans import MonthPlan
from labeling.dealing import panels_deal
from labeling.enums import MonitoringAction, Origin, PanelState
from labeling.models import (
    GoldMark,
    Image,
    KnownPicture,
    MonitoringEvent,
    MonitoringRule,
    Panel,
    Response,
    VoidedResponse,
)
from monitoring.models import GoldFlag, TaskerLink
from policy.selectors import policy_in_force

BEGIN = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)  # a Monday
WORKING_DAYS = 5
SWEEPS = [timedelta(hours=hours) for hours in (4, 8)]
EVENING = timedelta(hours=12)
SPARE = 1.15  # pictures imported for each one that is answered to the end
_STOPS = (MonitoringAction.PAUSE, MonitoringAction.REQUALIFY)
_RULE_COLUMNS = ("name", "collector", "window", "minimum", "comparison", "threshold", "action")


class SimulatedMonth:
    """One month: `play` it, then read the rows, or `figures`."""

    def __init__(self, plan: MonthPlan) -> None:
        self.plan, self.rng, self.clock = plan, Random(f"month {plan.seed}"), VirtualClock(BEGIN)
        self.policy = policy_in_force(BEGIN).policy
        organizer = User.objects.create_user("organizer")
        role_give(user=organizer, role=ORGANIZERS)
        self.truths: dict[int, PictureTruth] = {}
        counts = {kind.value: getattr(plan, kind.value) for kind in Personality}
        people = draw_people(**counts, seed=str(plan.seed))
        self.crowd = Crowd(people, rng=self.rng, policy=self.policy, organizer=organizer, truths=self.truths, now=BEGIN)

    def play(self, say: Callable[[str], Any]) -> None:
        """Play every working day."""
        for number, morning in enumerate(mornings(self.plan.days), start=1):
            before = Response.objects.count()
            self._import_pictures(morning)
            self._plan_day(morning)
            self.clock.play(morning + EVENING)
            self._evening(morning + EVENING)
            answers = Response.objects.count() - before
            say(f"seed {self.plan.seed}, day {number} of {self.plan.days}: {answers:,} answers")

    def _import_pictures(self, morning: datetime) -> None:
        """Have as many pictures waiting as the day's answers need, and some to spare."""
        wanted = int(SPARE * self.plan.taskers * self.plan.pictures_a_day / self.policy.panel_size)
        for _ in range(wanted - Panel.objects.filter(state=PanelState.OPEN).count()):
            truth = draw_picture(self.rng)
            self.truths[picture_row(f"{self.plan.seed}:{len(self.truths)}", morning).pk] = truth
        while panels_deal(policy=self.policy, now=morning):
            pass

    def _plan_day(self, morning: datetime) -> None:
        """Say when the sweeps run, and when each begins; those who copy sit together."""
        for hours in SWEEPS:
            self.clock.at(morning + hours, self._sweep)
        together = morning + timedelta(hours=self.rng.uniform(0, OPENING_HOURS))
        pictures = self.plan.pictures_a_day
        for worker in self.crowd.workers:
            begins = morning + timedelta(hours=self.rng.uniform(0, OPENING_HOURS))
            self.crowd.begin_day(worker, morning)
            worker.left = round(pictures * self.rng.uniform(0.85, 1.15))
            at = begins if worker.person.notebook is None else together
            self.clock.at(at, self.crowd.work, self.clock, worker, 1 / (SESSION_SECONDS / pictures))

    def _sweep(self) -> None:
        self.crowd.rule(self.clock.now)
        self.crowd.watch(self.clock.now)

    def _evening(self, now: datetime) -> None:
        """After work: the sweeps, the look for copies, and what an organizer does."""
        self.crowd.rule(now)
        self.crowd.look_back(now)
        self.crowd.choose_gold(self.plan.gold_a_day if self.crowd.has_gold() else self.plan.first_gold, now)


def mornings(days: int) -> Iterator[datetime]:
    """Yield when each working day begins."""
    for number in range(days):
        weeks, day = divmod(number, WORKING_DAYS)
        yield BEGIN + timedelta(days=7 * weeks + day)


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


# What came of it ------------------------------------------------------------------------------------------------------


def figures(month: SimulatedMonth) -> dict[str, Any]:
    """Return the plan, the numbers that held, and what the report tells of this month; nothing in it depends on chance
    but the plan's seed."""
    plan, rules = asdict(month.plan), MonitoringRule.objects.filter(retired_at__isnull=True).order_by("pk")
    seed = plan.pop("seed")
    workers = {kind: [each for each in month.crowd.workers if each.person.kind is kind] for kind in Personality}
    suspects = [each for kind, each_of in workers.items() if kind is not Personality.HONEST for each in each_of]
    names = {worker.tasker.pk: worker.person.name for worker in month.crowd.workers}
    links = [
        {
            "between": [names[link.first_id], names[link.second_id]],
            "on_day": _day(link.linked_at),
            "reason": link.reason,
        }
        for link in TaskerLink.objects.order_by("pk")
    ]
    told = {
        "seed": seed,
        "answers": Response.objects.count(),
        "gold": _gold(workers),
        "rulings": _rulings(month.truths, [*workers[Personality.CARELESS], *workers[Personality.RANDOM]]),
        "found": [_how_found(worker) for worker in suspects],
        "honest": _honest(workers[Personality.HONEST]),
        "links": links,
        "voided_answers": VoidedResponse.objects.count(),
    }
    return {
        "plan": plan,
        "policy": month.policy.to_json(),
        "rules": list(rules.values(*_RULE_COLUMNS)),
        "months": [told],
    }


def _pks(workers: list[SimulatedTasker]) -> list[int]:
    return [worker.tasker.pk for worker in workers]


def _day(at: datetime) -> int:
    """Return the number of a working day, the first being 1."""
    weeks, day = divmod((at.date() - BEGIN.date()).days, 7)
    return weeks * WORKING_DAYS + day + 1


def _gold(workers: dict[Personality, list[SimulatedTasker]]) -> dict[str, Any]:
    dealt, shares = GoldMark.objects.count(), {}
    for kind, each_of in workers.items():
        marks = GoldMark.objects.filter(tasker__in=_pks(each_of))
        shares[kind.value] = round(100 * marks.filter(right=True).count() / marks.count(), 1) if marks else None
    return {
        "pictures": KnownPicture.objects.count(),
        "dealt": dealt,
        "percent_of_answers": round(100 * dealt / max(1, Response.objects.count()), 2),
        "flagged_as_leaked": GoldFlag.objects.count(),
        "right_percent": shares,
    }


def _rulings(truths: dict[int, PictureTruth], careless: list[SimulatedTasker]) -> dict[str, int]:
    """Compare the rulings with what is true of the pictures."""
    rows = [
        (verdict == Verdict.VALID, truths[image].valid, responses)
        for image, verdict, responses in Ruling.objects.values_list("image_id", "verdict", "response_ids")
    ]
    theirs = set(Response.objects.filter(tasker__in=_pks(careless)).values_list("pk", flat=True))
    return {
        "all": len(rows),
        "valid": sum(valid for valid, _, _ in rows),
        "wrongly_valid": sum(valid and not truly for valid, truly, _ in rows),
        "wrongly_rejected": sum(truly and not valid for valid, truly, _ in rows),
        "with_a_careless_or_random_answer": sum(not theirs.isdisjoint(responses) for _, _, responses in rows),
    }


def _how_found(worker: SimulatedTasker) -> dict[str, Any]:
    """When somebody was first warned, and when and by what they were found: stopped by a rule, or linked."""
    tasker, events = worker.tasker, MonitoringEvent.objects.filter(tasker=worker.tasker).order_by("fired_at", "pk")
    warned = events.filter(action=MonitoringAction.WARN).first()
    stops = events.filter(action__in=_STOPS).select_related("rule")[:1]
    found = [(stop.fired_at, f"{stop.rule.name} ({stop.action})") for stop in stops]
    if worker.person.kind is Personality.COPYING:
        links = TaskerLink.objects.filter(Q(first=tasker) | Q(second=tasker))
        found += [(link.linked_at, "answers alike") for link in links]
    at, by = min(found, default=(None, None))
    answers, marks = Response.objects.filter(tasker=tasker), GoldMark.objects.filter(tasker=tasker)
    if at is not None:
        answers, marks = answers.filter(submitted_at__lte=at), marks.filter(marked_at__lte=at)
    return {
        "who": worker.person.name,
        "warned_on_day": _day(warned.fired_at) if warned else None,
        "found_on_day": _day(at) if at else None,
        "by": by,
        "answers_until_then": answers.count(),
        "gold_until_then": marks.count(),
        "gold_right_until_then": marks.filter(right=True).count(),
    }


def _honest(workers: list[SimulatedTasker]) -> dict[str, Any]:
    events, ids = MonitoringEvent.objects.filter(tasker__in=_pks(workers)), set(_pks(workers))
    linked = {each for pair in TaskerLink.objects.values_list("first", "second") for each in pair}
    stopped = dict(events.values_list("action").annotate(Count("tasker", distinct=True)))
    return {
        "taskers": len(ids),
        **{action.value: stopped.get(action.value, 0) for action in MonitoringAction},
        "linked": len(linked & ids),
        "by_rule": dict(sorted(Counter(events.values_list("rule__name", flat=True)).items())),
    }
