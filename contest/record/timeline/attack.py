"""The timeline of an attack, for who sent it: what happened so far, and what is awaited."""

from collections.abc import Iterator
from datetime import datetime

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import rulings_on
from contest.attacks.attack_states import (
    LOOKS,
    AttackState,
    kept_out,
    rounds_asked,
    rounds_done,
    state_of_unscored,
    untold_copies,
)
from contest.core.appeal_window import closes_at, closes_for_sender
from contest.core.breaks import standing_breaks
from contest.core.models import Attack
from contest.core.weeks import week_called
from contest.record.timeline import events
from contest.record.timeline.events import Event, awaited
from contest.record.timeline.outputs import first_by_defense
from labeling.enums import PanelState
from labeling.selectors import panels_of

_COPIED = (
    "The same pixels were sent first with another receipt, which has the credit. What comes of them is told when their "
    "week is released."
)


def attack_timeline(attack: Attack, *, all_told: bool, now: datetime) -> list[Event]:
    """Return what happened to the attack and what is awaited, as far as who sent it may know, or, `all_told`, an
    organizer."""
    return events.in_order(_events(attack, all_told, now))


def _events(attack: Attack, all_told: bool, now: datetime) -> Iterator[Event]:
    yield events.attack_received(attack)
    if attack.withdrawn_at is not None:
        yield events.attack_withdrawn(attack)
        yield awaited("It is never labeled nor published.", LOOKS[AttackState.WITHDRAWN])
    elif now < week_called(attack.week).end:
        words = "Under embargo until the week ends. Only your team and the organizers know of it."
        yield awaited(words, LOOKS[AttackState.EMBARGO])
    elif kept_out([attack]):
        words = "Kept out by the organizers: nothing comes of it unless they let it in."
        yield awaited(words, LOOKS[AttackState.KEPT_OUT])
    else:
        yield events.week_ended(attack.week)
        if not all_told and untold_copies([attack]):
            yield awaited(_COPIED, LOOKS[AttackState.COPY])
        else:
            yield from _panels(attack)
            yield from _rulings(attack, now)


def _panels(attack: Attack) -> Iterator[Event]:
    for panel in panels_of(attack.image):
        yield events.panel_opened(panel)
        if panel.joined_at is not None:
            yield events.taskers_joined(panel)
        if panel.state == PanelState.HELD:
            yield awaited("An organizer looks at a report on the picture.", "open")


def _rulings(attack: Attack, now: datetime) -> Iterator[Event]:
    rulings = list(rulings_on(attack.image))
    if not rulings:
        yield awaited("It is being labeled.", LOOKS[AttackState.LABELING])
        return
    yield from map(events.ruling_made, rulings)
    if rulings[-1].verdict == Verdict.VALID:
        yield from _scoring(attack, now)
    yield _appeals(attack, rulings[-1], now)


def _scoring(attack: Attack, now: datetime) -> Iterator[Event]:
    breaks = standing_breaks().filter(image=attack.image_id).select_related("defense", "ruling")
    broken = first_by_defense(breaks.order_by("found_at", "pk"))
    yield from map(events.defense_broken, broken)
    done, asked = rounds_done([attack.image_id]).get(attack.image_id, 0), rounds_asked(now)
    if done < asked:
        yield _unscored(done, asked)
    elif not broken:
        words = "Every published defense was asked, and none was confidently wrong." if asked else "No defense yet."
        yield awaited(words, LOOKS[AttackState.UNBROKEN])


def _unscored(done: int, asked: int) -> Event:
    state = state_of_unscored()
    words = f"Being scored: {done} of {asked} answers of the published defenses are in."
    if state is AttackState.NOT_HERE:
        words = (
            f"This copy was made from releases, and has {done} of {asked} answers of the published defenses. It "
            "runs no defense: later parts of the release have the others."
        )
    return awaited(words, LOOKS[state])


def _appeals(attack: Attack, ruling: Ruling, now: datetime) -> Event:
    rejected = ruling.verdict == Verdict.REJECTED
    ends = closes_for_sender(attack, ruling) if rejected else closes_at(ruling)
    if ends is None:
        return awaited("The window for appeals begins with the release of the picture's week.")
    return awaited(f"The window for appeals {'ends' if now < ends else 'ended'}.", at=ends)
