"""Builds the timeline of a picture on the page of its case, for board members (R21)."""

from collections.abc import Iterator
from datetime import datetime

from django.contrib.auth.models import User
from django.urls import reverse

from adjudication.selectors import rulings_on
from contest.attacks.selectors import public_attacks_with
from contest.board.recusal import cases_seen_by, cases_undisclosed
from contest.board.selectors import appeals_on, cases_on, statements_on
from contest.record.timeline import events
from contest.record.timeline.events import Event
from labeling.models import Image
from labeling.selectors import panels_of


def case_timeline(image: Image, member: User, *, now: datetime) -> list[Event]:
    """Return what happened to a picture as far as the member may know, the newest last.

    The links lead to what the page of the case shows of it.
    """
    parts = (_received(image, now), events.panel_events(panels_of(image)), _rulings(image), _cases(image, member))
    return events.events_in_order(each for part in parts for each in part)


def _received(image: Image, now: datetime) -> Iterator[Event]:
    attacks = public_attacks_with(image, now=now)
    if not attacks:
        yield events.image_imported(image)
    for attack in attacks:
        targets = ", ".join(each.name for each in attack.targets.all()) or "all at stake"
        yield events.attack_received(attack, targets=targets)


def _rulings(image: Image) -> Iterator[Event]:
    for ruling in rulings_on(image):
        yield events.ruling_made(ruling).linked("certificate", f"#ruling-{ruling.number}")


def _cases(image: Image, member: User) -> Iterator[Event]:
    """Yield the cases; what was argued and decided only after the member declared to have no conflict (R21)."""
    seen = cases_seen_by(member)
    appeals = list(appeals_on(image, within=seen))
    cases = list(cases_on(image, member))
    waiting = cases_undisclosed(cases, member)
    for case in cases:
        page = reverse("board-case", args=[case.public_id])
        yield events.case_opened(case, by_appeal=events.opened_by_appeal(case, appeals)).linked("case", page)
        decision = getattr(case, "decision", None)
        if decision is not None and case.pk not in waiting:
            yield events.case_decided(decision).linked("case", page)
    for appeal in appeals:
        if appeal.case_id not in waiting:
            page = reverse("board-case", args=[appeal.case.public_id])
            yield events.appeal_sent(appeal).linked("argument", f"{page}#appeal-{appeal.public_id}")
    for statement in statements_on(image, within=seen):
        if statement.case_id not in waiting:
            yield events.statement_sent(statement)
