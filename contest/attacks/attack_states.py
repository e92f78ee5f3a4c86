"""Computes the state of attacks for pages and the API, from receipt to break."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q

from adjudication.enums import Verdict
from adjudication.selectors import newest_rulings
from contest.core.breaks import breaks_in_force
from contest.core.enums import RELEASED_ORIGINS
from contest.core.models import Attack
from contest.core.publication import released
from contest.core.weeks import week_at
from labeling.enums import PanelState
from labeling.models import Image, Panel
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force
from scoring.selectors import defenses_in_force, settled_items


class AttackState(StrEnum):
    """The states of an attack."""

    WITHDRAWN = "withdrawn"
    EMBARGO = "under embargo"
    LABELING = "being labeled"
    KEPT_OUT = "kept out"
    COPY = "waiting for the release"
    REJECTED = "rejected"
    SCORING = "being scored"
    NOT_HERE = "answers not in this copy"
    UNBROKEN = "broke nothing"
    BROKE = "broke"


# The states of the site's colours, for the words above.
LOOKS = {
    AttackState.WITHDRAWN: "withdrawn",
    AttackState.EMBARGO: "embargo",
    AttackState.LABELING: "open",
    AttackState.KEPT_OUT: "rejected",
    AttackState.COPY: "open",
    AttackState.REJECTED: "rejected",
    AttackState.SCORING: "open",
    AttackState.NOT_HERE: "open",
    AttackState.UNBROKEN: "unbroken",
    AttackState.BROKE: "broken",
}


# Those in which its sender knows the verdict.
_RULED = {
    AttackState.REJECTED,
    AttackState.SCORING,
    AttackState.NOT_HERE,
    AttackState.UNBROKEN,
    AttackState.BROKE,
}


@dataclass(frozen=True, slots=True)
class AttackStatus:
    """The state of one attack, and how many defenses it broke."""

    state: AttackState
    breaks: int = 0

    @property
    def look(self) -> str:
        """Return the name of the state's colour and shape."""
        return LOOKS[self.state]

    @property
    def words(self) -> str:
        """Return the state for a reader, for example `broke 2 defenses`."""
        if self.state is AttackState.BROKE:
            return f"broke {self.breaks} {'defense' if self.breaks == 1 else 'defenses'}"
        return str(self.state)


def attack_statuses(attacks: Sequence[Attack], *, unrestricted: bool, now: datetime) -> dict[int, AttackStatus]:
    """Return attack id -> its status, with as many queries for a page of attacks as for one.

    `unrestricted` is for organizers: others learn the result of a copy with the release of the picture's week.
    """
    unreleased = set() if unrestricted else unreleased_copies(attacks)
    images = [attack.image_id for attack in attacks]
    rulings, broken, scored = newest_rulings(images), _breaks_of(images), _scored_images(images, now)
    kept = kept_out_pictures(attacks)
    began = week_at(now).start
    waits = state_of_unscored()

    def standing(attack: Attack) -> AttackStatus:
        ruling = rulings.get(attack.image_id)
        held_back = {
            AttackState.WITHDRAWN: attack.withdrawn_at is not None,
            AttackState.EMBARGO: attack.received_at >= began,
            AttackState.KEPT_OUT: attack.image_id in kept,
            AttackState.COPY: attack.pk in unreleased,
            AttackState.LABELING: ruling is None,
            AttackState.REJECTED: ruling is not None and ruling.verdict != Verdict.VALID,
        }
        for state, applies in held_back.items():
            if applies:
                return AttackStatus(state)
        if found := broken.get(attack.image_id):
            return AttackStatus(AttackState.BROKE, found)
        return AttackStatus(AttackState.UNBROKEN if attack.image_id in scored else waits)

    return {attack.pk: standing(attack) for attack in attacks}


def kept_out_pictures(attacks: Iterable[Attack]) -> set[int]:
    """Return the pictures that are kept out: those that a report holds before their first ruling, and those that are
    also pictures of the contest that are never published (R5, R6). The sender does not learn which of the two."""
    images = Image.objects.filter(pk__in={attack.image_id for attack in attacks})
    held = Panel.objects.filter(image=OuterRef("pk"), image__rulings__isnull=True, state=PanelState.HELD)
    return set(images.filter(~Q(origin__in=RELEASED_ORIGINS) | Exists(held)).values_list("pk", flat=True))


def unreleased_copies(attacks: Iterable[Attack]) -> set[int]:
    """Return the copies of pictures that are not released: only the first sender knows their results (R24)."""
    copies = {attack.pk: attack.image_id for attack in attacks if attack.copy_of_id is not None}
    if not copies:
        return set()
    told = set(Image.objects.filter(released(), pk__in=copies.values()).values_list("pk", flat=True))
    return {attack for attack, image in copies.items() if image not in told}


def _breaks_of(images: Iterable[int]) -> dict[int, int]:
    pairs = set(breaks_in_force().filter(image__in=images).values_list("image", "defense"))
    return Counter(image for image, _ in pairs)


def _scored_images(images: Iterable[int], now: datetime) -> set[int]:
    """Return the pictures with a final result of every defense in force in every round (R29, R30)."""
    done, required = rounds_done(images), rounds_required(now)
    return {image for image, rounds in done.items() if rounds >= required} if required else set()


def state_of_unscored() -> AttackState:
    """Return the state of a picture that lacks predictions: in a copy made from releases, no defense is run."""
    copied = any(defense.copied for defense in defenses_in_force())
    return AttackState.NOT_HERE if copied else AttackState.SCORING


def rounds_required(now: datetime) -> int:
    """Return how many predictions of defenses in force a valid picture needs (R30)."""
    return len(defenses_in_force()) * policy_in_force(now).policy.evaluation_runs


def rounds_done(images: Iterable[int]) -> dict[int, int]:
    """Return image id -> how many of these predictions are made, or will never come."""
    rounds = settled_items().filter(image__in=images, defense__in=defenses_in_force())
    return dict(rounds.order_by().values_list("image").annotate(rounds=Count("pk")))


def attack_rows(shown: list[Attack], now: datetime) -> list[dict[str, Any]]:
    found = attack_statuses(shown, unrestricted=False, now=now)
    return [{"attack": each, "standing": found[each.pk], "url": picture_url(each.image, now=now)} for each in shown]


def own_attack_rows(shown: list[Attack], now: datetime) -> list[dict[str, Any]]:
    """Return the rows of a team's own attacks, each with its ruling where the team knows it."""
    rows = attack_rows(shown, now)
    rulings = newest_rulings({row["attack"].image_id for row in rows if row["standing"].state in _RULED})
    return [
        row | {"ruling": rulings.get(row["attack"].image_id) if row["standing"].state in _RULED else None}
        for row in rows
    ]
