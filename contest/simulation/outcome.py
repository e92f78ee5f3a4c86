"""Reads the results of a simulated month: who was found, when, by which rule, and false alarms."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from adjudication.enums import Verdict
from adjudication.models import Ruling
from contest.simulation.crowd import SimulatedTasker
from contest.simulation.month import SimulatedMonth, mornings
from contest.simulation.people import Personality
from labeling.enums import MonitoringAction
from labeling.models import GoldMark, KnownPicture, MonitoringEvent, MonitoringRule, Response, VoidedResponse
from monitoring.models import GoldFlag, TaskerLink

LINKED = "answers alike"
_STOPS = (MonitoringAction.PAUSE, MonitoringAction.REQUALIFY)
_RULE_COLUMNS = ("name", "collector", "window", "minimum", "comparison", "threshold", "action")


def rules_in_force() -> list[dict[str, Any]]:
    """Return the rules of monitoring as the report lists them."""
    return list(MonitoringRule.objects.filter(retired_at__isnull=True).order_by("pk").values(*_RULE_COLUMNS))


class MonthOutcome:
    """Reads one month."""

    def __init__(self, month: SimulatedMonth) -> None:
        self.month = month
        self.days = {morning.date(): number for number, morning in enumerate(mornings(month.plan.days), start=1)}
        self.names = {worker.tasker.pk: worker.person.name for worker in month.workers}
        self.honest = self._of(Personality.HONEST)

    def _of(self, *kinds: Personality) -> list[SimulatedTasker]:
        return [worker for worker in self.month.workers if worker.person.kind in kinds]

    def to_json(self) -> dict[str, Any]:
        """Return everything the report tells of this month; nothing in it depends on chance but the plan's seed."""
        return {
            "seed": self.month.plan.seed,
            "answers": Response.objects.count(),
            "gold": self._gold(),
            "rulings": self._rulings(),
            "found": [
                self._found(worker)
                for worker in self._of(Personality.CARELESS, Personality.RANDOM, Personality.COPYING)
            ],
            "honest": self._honest(),
            "links": [self._link(link) for link in TaskerLink.objects.order_by("pk")],
            "voided_answers": VoidedResponse.objects.count(),
        }

    def _gold(self) -> dict[str, Any]:
        asked, answers = GoldMark.objects.count(), max(1, Response.objects.count())
        return {
            "pictures": KnownPicture.objects.count(),
            "dealt": asked,
            "percent_of_answers": round(100 * asked / answers, 2),
            "flagged_as_leaked": GoldFlag.objects.count(),
            "right_percent": {kind.value: self._right_percent(self._of(kind)) for kind in Personality},
        }

    def _right_percent(self, workers: Iterable[SimulatedTasker]) -> float | None:
        marks = GoldMark.objects.filter(tasker__in=[worker.tasker.pk for worker in workers])
        asked = marks.count()
        return round(100 * marks.filter(right=True).count() / asked, 1) if asked else None

    def _rulings(self) -> dict[str, int]:
        truths = self.month.truths
        rows = list(Ruling.objects.values_list("image_id", "verdict", "response_ids"))
        wrong = [row for row in rows if (row[1] == Verdict.VALID) != truths[row[0]].valid]
        careless = [worker.tasker.pk for worker in self._of(Personality.CARELESS, Personality.RANDOM)]
        theirs = set(Response.objects.filter(tasker__in=careless).values_list("pk", flat=True))
        bad = [row for row in rows if theirs.intersection(row[2])]
        return {
            "all": len(rows),
            "valid": sum(row[1] == Verdict.VALID for row in rows),
            "wrongly_valid": sum(row[1] == Verdict.VALID for row in wrong),
            "wrongly_rejected": sum(row[1] != Verdict.VALID for row in wrong),
            "with_a_careless_or_random_answer": len(bad),
        }

    def _found(self, worker: SimulatedTasker) -> dict[str, Any]:
        """When somebody was first warned, and when and by what they were found: stopped by a rule, or linked."""
        events = MonitoringEvent.objects.filter(tasker=worker.tasker).order_by("fired_at", "pk")
        warned = events.filter(action=MonitoringAction.WARN).first()
        at, by = self._first_stop(worker, events)
        return {
            "who": worker.person.name,
            "warned_on_day": self._day(warned.fired_at) if warned else None,
            "found_on_day": self._day(at) if at else None,
            "by": by,
            "answers_until_then": self._answers(worker, at).count(),
            "gold_until_then": self._marks(worker, at).count(),
            "gold_right_until_then": self._marks(worker, at).filter(right=True).count(),
        }

    def _first_stop(
        self, worker: SimulatedTasker, events: QuerySet[MonitoringEvent]
    ) -> tuple[datetime | None, str | None]:
        stop = events.filter(action__in=_STOPS).select_related("rule").first()
        found = [(stop.fired_at, f"{stop.rule.name} ({stop.action})")] if stop else []
        if worker.person.kind is Personality.COPYING:
            found += [(link.linked_at, LINKED) for link in self._links_of(worker)]
        return min(found, default=(None, None))

    def _links_of(self, worker: SimulatedTasker) -> list[TaskerLink]:
        return [link for link in TaskerLink.objects.all() if worker.tasker.pk in (link.first_id, link.second_id)]

    def _day(self, at: datetime) -> int:
        return self.days[at.date()]

    def _answers(self, worker: SimulatedTasker, until: datetime | None) -> QuerySet[Response]:
        mine = Response.objects.filter(tasker=worker.tasker)
        return mine.filter(submitted_at__lte=until) if until else mine

    def _marks(self, worker: SimulatedTasker, until: datetime | None) -> QuerySet[GoldMark]:
        mine = GoldMark.objects.filter(tasker=worker.tasker)
        return mine.filter(marked_at__lte=until) if until else mine

    def _honest(self) -> dict[str, Any]:
        ids = [worker.tasker.pk for worker in self.honest]
        events = list(MonitoringEvent.objects.filter(tasker__in=ids).values_list("tasker", "action", "rule__name"))
        linked = {each for link in TaskerLink.objects.all() for each in (link.first_id, link.second_id)}
        return {
            "taskers": len(ids),
            **{action.value: len({who for who, done, _ in events if done == action}) for action in MonitoringAction},
            "linked": len(linked.intersection(ids)),
            "by_rule": dict(sorted(Counter(rule for _, _, rule in events).items())),
        }

    def _link(self, link: TaskerLink) -> dict[str, Any]:
        return {
            "between": [self.names[link.first_id], self.names[link.second_id]],
            "on_day": self._day(link.linked_at),
            "reason": link.reason,
        }


def plan_json(month: SimulatedMonth) -> dict[str, Any]:
    """Return the plan without its seed."""
    numbers = asdict(month.plan)
    del numbers["seed"]
    return numbers
