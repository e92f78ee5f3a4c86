"""Finds panels that no remaining tasker may finish, with the cause.

No tasker gets a picture twice, and none who is linked with a tasker who had it (R6, R8). Such a panel waits until an
organizer invites taskers, lets one label again, or ends a wrong link.

The search is quick however many panels are open. With as many people as a panel has places, a panel can be stuck only
where it has assignments beyond its counted answers: for the board (R19), before an answer was voided, by an account
linked since, with a surplus answer (R8), or where a tasker reported the picture. All have indexes. With fewer people
than places every panel may be stuck, and only the oldest of each number of missing answers are checked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from labeling.enums import AssignmentState, PanelState, StuckCause, TaskerState
from labeling.models import Assignment, Panel, Response, StateChange, Tasker
from labeling.selectors import ALL_LEVELS, instructions_in_force
from policy.selectors import largest_panel_dealt

# A tasker without an answer for so long is away; a panel that waits only for such taskers is stuck.
AWAY_AFTER = timedelta(days=3)
# At most so many panels of each kind are checked, the longest waiting first.
MAX_PANELS_PER_KIND = 200
_LAPSED = (AssignmentState.EXPIRED, AssignmentState.RELEASED)


@dataclass(frozen=True, slots=True)
class StuckPanel:
    """An open panel with more free places than people who may fill them.

    `people` may get the picture (for cause AWAY: those of them active lately). The other counts are the causes:
    accounts that count as another person by a link, taskers who are paused or have to qualify again, people who had
    the picture before, and people who may get it and are away.
    """

    panel: Panel
    cause: StuckCause
    places: int
    people: int
    linked: int
    paused: int
    requalifying: int
    seen: int
    away: int

    @property
    def needed(self) -> int:
        """Return how many more people would be enough."""
        return self.places - self.people


def stuck_panels(*, now: datetime) -> list[StuckPanel]:
    """Return the open panels that cannot become full with today's taskers, the longest waiting first."""
    crew = _Crew.read(now)
    panels = _may_be_stuck(crew, now)
    asked = _taskers_assigned(panels)
    found = (_stuck(panel, asked.get(panel.image_id, []), crew, now) for panel in panels)
    return [each for each in found if each is not None]


@dataclass(frozen=True, slots=True)
class _Crew:
    """All who label: tasker -> person, for those who may label, are paused, or have to qualify again; `present` are the
    persons who may label and were active lately."""

    able: Mapping[int, int]
    paused: frozenset[int]
    requalifying: frozenset[int]
    present: frozenset[int]

    @classmethod
    def read(cls, now: datetime) -> "_Crew":
        since, needed = now - AWAY_AFTER, instructions_in_force(now).qualified_since
        lately: Any = Q(created_at__gt=since) | Exists(
            Response.objects.filter(tasker=OuterRef("pk"), submitted_at__gt=since)
        )
        lately |= Exists(StateChange.objects.filter(tasker=OuterRef("pk"), changed_at__gt=since))
        rows = Tasker.objects.filter(user__is_active=True).annotate(lately=lately)
        able: dict[int, int] = {}
        paused, requalifying, present = set(), set(), set()
        for pk, person, state, instructions, here in rows.values_list(
            "pk", "person", "state", "instructions", "lately"
        ):
            if state == TaskerState.PAUSED:
                paused.add(pk)
            elif state == TaskerState.QUALIFIED and instructions < needed:
                requalifying.add(pk)
            elif state == TaskerState.QUALIFIED:
                able[pk] = person or pk
                present |= {person or pk} if here else set()
        return cls(able, frozenset(paused), frozenset(requalifying), frozenset(present))

    @property
    def people(self) -> frozenset[int]:
        """Return the persons who may label."""
        return frozenset(self.able.values())


# Where to look --------------------------------------------------------------------------------------------------------


def _may_be_stuck(crew: _Crew, now: datetime) -> list[Panel]:
    opened = Panel.objects.filter(state=PanelState.OPEN)
    found = {panel.pk: panel for rows in _panels_asked_in_vain(opened) for panel in rows[:MAX_PANELS_PER_KIND]}
    size = largest_panel_dealt()
    if len(crew.people) < size:
        found |= _oldest_of_each_level(opened)
    elif len(crew.present) < size:
        found |= _oldest_of_each_level(opened.filter(waiting_since__lte=now - AWAY_AFTER))
    return sorted(found.values(), key=lambda panel: (panel.waiting_since, panel.pk))


def _oldest_of_each_level(opened: QuerySet[Panel]) -> dict[int, Panel]:
    levels = (opened.filter(missing=missing).select_related("image") for missing in ALL_LEVELS)
    rows = (panel for level in levels for panel in level.order_by("waiting_since", "pk")[:MAX_PANELS_PER_KIND])
    return {panel.pk: panel for panel in rows}


def _panels_asked_in_vain(opened: QuerySet[Panel]) -> Iterable[QuerySet[Panel]]:
    """Yield the open panels whose picture a tasker had without a counted answer or a present lease."""
    ordered = opened.select_related("image").order_by("waiting_since", "pk")
    reported = Assignment.objects.filter(~Q(problem=""), known__isnull=True)
    linked = Assignment.objects.filter(tasker__person__isnull=False, state__in=_LAPSED, problem="", known__isnull=True)
    # Surplus, and answers about gold, whose panels are settled.
    without_place = Response.objects.filter(place__isnull=True)
    yield ordered.filter(urgent=True)
    yield ordered.filter(pk__in=Response.objects.filter(voided__isnull=False).values("panel"))
    yield ordered.filter(image__in=reported.values("image"))
    yield ordered.filter(image__in=linked.values("image"))
    yield ordered.filter(pk__in=without_place.values("panel"))


# Why ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _AssignedTasker:
    """A tasker who had a picture: their person, and the panel on which they may lease it again."""

    tasker: int
    person: int | None
    resumes: int | None
    known: bool


def _taskers_assigned(panels: Iterable[Panel]) -> dict[int, list[_AssignedTasker]]:
    """Return picture -> all taskers who had it, gold included."""
    images = {panel.image_id for panel in panels}
    columns = ("image_id", "tasker_id", "tasker__person", "state", "problem", "panel_id", "known_id")
    found: dict[int, list[_AssignedTasker]] = {}
    rows = Assignment.objects.filter(image__in=images).values_list(*columns)
    for image, tasker, person, state, problem, panel, known in rows:
        lapsed = state in _LAPSED and not problem and known is None
        found.setdefault(image, []).append(
            _AssignedTasker(tasker, person, panel if lapsed else None, known is not None)
        )
    return found


def _stuck(panel: Panel, asked: list[_AssignedTasker], crew: _Crew, now: datetime) -> StuckPanel | None:
    """Return the panel with its cause; None where enough people may get the picture."""
    over = {each.tasker for each in asked if each.resumes != panel.pk}
    accounts = [tasker for tasker in crew.able if tasker not in over]
    people = {crew.able[tasker] for tasker in accounts if not _linked_tasker_assigned(tasker, crew.able[tasker], asked)}
    places = panel.missing - panel.leased
    linked, paused = len(accounts) - len(people), len(crew.paused - over)
    requalifying, away = len(crew.requalifying - over), len(people - crew.present)
    cause: StuckCause | None = None
    count = len(people)
    if count < places:
        cause = _cause(panel, places, count, linked, requalifying, paused, len(crew.people))
    elif panel.waiting_since <= now - AWAY_AFTER and count - away < places:
        cause, count = StuckCause.AWAY, count - away
    if cause is None:
        return None
    seen = len({crew.able[tasker] for tasker in over if tasker in crew.able})
    return StuckPanel(panel, cause, places, count, linked, paused, requalifying, seen, away)


def _linked_tasker_assigned(tasker: int, person: int, asked: list[_AssignedTasker]) -> bool:
    return any(each.person == person and each.tasker != tasker and not each.known for each in asked)


def _cause(
    panel: Panel, places: int, people: int, linked: int, requalifying: int, paused: int, crew: int
) -> StuckCause:
    """Return the first cause that, undone with those before it, would be enough; else one that needs more people."""
    enough = people
    for cause, more in (
        (StuckCause.LINKED, linked),
        (StuckCause.REQUALIFYING, requalifying),
        (StuckCause.PAUSED, paused),
    ):
        enough += more
        if enough >= places:
            return cause
    return StuckCause.SEEN if crew >= panel.size - panel.joined else StuckCause.TOO_FEW
