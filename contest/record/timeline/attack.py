"""Builds the timeline of an attack, for its team, organizers and, once it is released, everybody."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import rulings_on
from contest.attacks.attack_states import (
    LOOKS,
    AttackState,
    kept_out_pictures,
    rounds_done,
    rounds_required,
    state_of_unscored,
    unreleased_copies,
)
from contest.core.appeal_window import window_closes_at, window_closes_for_sender
from contest.core.breaks import breaks_in_force
from contest.core.models import Attack
from contest.core.weeks import week_called
from contest.record.timeline import events
from contest.record.timeline.events import Event, is_in_force
from contest.record.timeline.outputs import first_by_defense
from labeling.enums import PanelState
from labeling.selectors import panels_of

_COPIED = (
    "The same pixels were sent first with another receipt, which has the credit. What comes of them is told when their "
    "week is released."
)


def attack_timeline(attack: Attack, *, own: bool, organizer: bool, now: datetime) -> list[Event]:
    """Return what happened to the attack and where it stands, for a member of the team that sent it (`own`), an
    organizer, or, once it is released, anybody (R8, R24)."""
    return events.events_in_order(_events(attack, own, organizer, now))


def _events(attack: Attack, own: bool, organizer: bool, now: datetime) -> Iterator[Event]:
    yield events.attack_received(attack)
    if attack.withdrawn_at is not None:
        yield events.attack_withdrawn(attack)
        yield is_in_force("It is never labeled nor published.", LOOKS[AttackState.WITHDRAWN])
    elif now < week_called(attack.week).end:
        words = "Under embargo until the week ends. Only your team and the organizers know of it."
        yield is_in_force(words, LOOKS[AttackState.EMBARGO])
    elif kept_out_pictures([attack]):
        yield events.week_ended(attack.week, public=False)
        words = "Kept out by the organizers: nothing comes of it unless they let it in."
        yield is_in_force(words, LOOKS[AttackState.KEPT_OUT])
    else:
        yield events.week_ended(attack.week)
        if not organizer and unreleased_copies([attack]):
            yield is_in_force(_COPIED, LOOKS[AttackState.COPY])
        else:
            rulings = list(rulings_on(attack.image).select_related("panel"))
            all_panels = organizer or (own and attack.copy_of_id is None)
            yield from _panels(attack) if all_panels else events.panels_counted(rulings)
            yield from _rulings(attack, rulings, now)


def _panels(attack: Attack) -> Iterator[Event]:
    for panel in panels_of(attack.image):
        yield from events.panel_events([panel])
        if panel.state == PanelState.HELD:
            yield is_in_force("An organizer looks at a report on the picture.", "open")


def _rulings(attack: Attack, rulings: Sequence[Ruling], now: datetime) -> Iterator[Event]:
    if not rulings:
        yield is_in_force("It is being labeled.", LOOKS[AttackState.LABELING])
        return
    yield from map(events.ruling_made, rulings)
    if rulings[-1].verdict == Verdict.VALID:
        yield from _scoring(attack, now)
    yield _appeals(attack, rulings[-1], now)


def _scoring(attack: Attack, now: datetime) -> Iterator[Event]:
    breaks = breaks_in_force().filter(image=attack.image_id).select_related("defense", "ruling")
    broken = first_by_defense(breaks.order_by("found_at", "pk"))
    yield from map(events.defense_broken, broken)
    done, required = rounds_done([attack.image_id]).get(attack.image_id, 0), rounds_required(now)
    if done < required:
        yield _unscored(done, required)
    elif not broken:
        words = "Every published defense was asked, and none was confidently wrong." if required else "No defense yet."
        yield is_in_force(words, LOOKS[AttackState.UNBROKEN])


def _unscored(done: int, required: int) -> Event:
    state = state_of_unscored()
    words = f"Being scored: {done} of {required} answers of the published defenses are in."
    if state is AttackState.NOT_HERE:
        words = (
            f"This copy was made from releases, and has {done} of {required} answers of the published defenses. It "
            "runs no defense: later parts of the release have the others."
        )
    return is_in_force(words, LOOKS[state])


def _appeals(attack: Attack, ruling: Ruling, now: datetime) -> Event:
    rejected = ruling.verdict == Verdict.REJECTED
    ends = window_closes_for_sender(attack, ruling) if rejected else window_closes_at(ruling)
    if ends is None:
        return is_in_force("The window for appeals begins with the release of the picture's week.")
    return is_in_force(f"The window for appeals {'ends' if now < ends else 'ended'}.", at=ends)
