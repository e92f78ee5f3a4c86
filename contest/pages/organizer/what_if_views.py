"""The page where organizers try other numbers on all answers there are, and see which verdicts would change."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from accounts.access import organizer_of
from adjudication.enums import Verdict
from adjudication.rules import Decision
from adjudication.what_if import PictureChange, TriedNumbers, pictures_decided, try_batch, try_on_all
from adjudication.wording import reasons_words
from common.domain_clock import domain_now
from common.errors import WrongFields
from common.typed import whole_number
from common.web.page import page
from contest.pages.organizer.what_if_forms import TypedNumbers
from contest.policy_changes.number_words import GATES
from labeling.pictures.addresses import picture_url
from policy.numbers import LARGEST_PANEL, SMALLEST_PANEL, Policy
from policy.selectors import policy_in_force

# How many of the changed pictures are shown; the counts are of all.
MOST_SHOWN = 200
# What may become of a picture, in the order in which it is told: key -> words.
KINDS = {
    "valid": "would be valid",
    "rejected": "would be rejected",
    "other": "would be of the other class",
    "waiting": "would need more answers first",
    "reasons": "would be rejected for other reasons",
}


@dataclass(frozen=True, slots=True)
class ChangedPicture:
    """One changed picture as the page shows it."""

    id: str
    url: str
    width: int
    height: int
    kind: str
    before: str
    after: str

    @property
    def words(self) -> str:
        """Return what would become of it."""
        return KINDS[self.kind]


@page(organizer_of)
def what_if(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the form, and with something typed what it would change; the figures follow part by part."""
    now = domain_now()
    policy = policy_in_force(now)
    typed = _typed(request, policy.policy)
    context = _form(typed, policy.version, TypedNumbers.of(policy.policy))
    if not request.GET:
        return render(request, "what_if/what_if.html", context)
    try:
        numbers = typed.numbers(policy.policy)
    except WrongFields as refused:
        return render(request, "what_if/what_if.html", context | {"errors": refused.fields}, status=400)
    # Without scripts the page asks for all parts at once.
    found = _everything(numbers, now) if "whole" in request.GET else None
    return render(request, "what_if/what_if.html", context | {"tried": True, "found": found})


@page(organizer_of)
def part(request: HttpRequest, organizer: User) -> HttpResponse:
    """Answer one part of the pictures, those behind row `behind`: what would change, and where to go on."""
    now = domain_now()
    policy = policy_in_force(now).policy
    found = try_batch(_typed(request, policy).numbers(policy), behind=whole_number(request.GET.get("behind", "")) or 0)
    shown = [_shown(each, now) for each in found.changes[:MOST_SHOWN]]
    return JsonResponse(
        {
            "looked": found.looked,
            "through": found.through,
            "kinds": Counter(_kind(each) for each in found.changes),
            "items": [render_to_string("what_if/_picture.html", {"each": each}) for each in shown],
        }
    )


def _typed(request: HttpRequest, policy: Policy) -> TypedNumbers:
    return TypedNumbers.read(request.GET.dict()) if request.GET else TypedNumbers.of(policy)


def _form(typed: TypedNumbers, version: int, in_force: TypedNumbers) -> dict[str, Any]:
    return {
        "typed": typed,
        "version": version,
        "in_force": in_force,
        "gates": GATES,
        "kinds": KINDS,
        "smallest": SMALLEST_PANEL,
        "largest": LARGEST_PANEL,
        "pictures": pictures_decided(),
        "most_shown": MOST_SHOWN,
    }


def _everything(numbers: TriedNumbers, now: datetime) -> dict[str, Any]:
    looked, kinds, shown = 0, Counter[str](), list[ChangedPicture]()
    for each in try_on_all(numbers):
        looked += each.looked
        kinds.update(_kind(change) for change in each.changes)
        shown += [_shown(change, now) for change in each.changes[: MOST_SHOWN - len(shown)]]
    return {"looked": looked, "kinds": {key: kinds[key] for key in KINDS}, "shown": shown}


def _kind(change: PictureChange) -> str:
    if change.after is None:
        return "waiting"
    if not change.turns:
        return "reasons"
    if change.after.verdict == Verdict.REJECTED:
        return "rejected"
    return "other" if change.before else "valid"


def _shown(change: PictureChange, now: datetime) -> ChangedPicture:
    image, ruling = change.image, change.ruling
    return ChangedPicture(
        id=image.public_id,
        url=picture_url(image, now=now),
        width=image.width,
        height=image.height,
        kind=_kind(change),
        before=_verdict(ruling.label, ruling.reasons),
        after=_decided(change.after),
    )


def _decided(decision: Decision | None) -> str:
    return (decision.label or _verdict("", decision.reasons)) if decision else ""


def _verdict(label: str, reasons: Iterable[str]) -> str:
    return f"valid: {label}" if label else reasons_words(reasons)
