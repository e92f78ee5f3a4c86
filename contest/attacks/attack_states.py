"""What became of an attack, from its receipt to the end of its appeals: a state for lists, a story for its page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q

from adjudication.enums import DecidedBy, Verdict
from adjudication.models import Ruling
from adjudication.selectors import newest_rulings
from adjudication.wording import reasons_words
from contest.core.appeal_window import closes_at, closes_for_sender
from contest.core.breaks import standing_breaks
from contest.core.enums import RELEASED_ORIGINS
from contest.core.models import Attack, Break
from contest.core.publication import released
from contest.core.weeks import week_at, week_called
from labeling.enums import PanelState
from labeling.models import Image, Panel
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force
from scoring.models import Defense
from scoring.selectors import defenses_in_force, settled_items


class AttackState(StrEnum):
    """Where an attack stands."""

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
_COPIED = (
    "The same pixels were sent first with another receipt, which has the credit. What comes of them is told when their "
    "week is released."
)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one attack stands, and how many defenses it broke."""

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


@dataclass(frozen=True, slots=True)
class Entry:
    """One sentence of the story: what happened and when, or what is awaited. `defenses` are those it tells of."""

    at: datetime | None
    words: str
    look: str = ""
    defenses: tuple[Defense, ...] = ()


def standings(attacks: Sequence[Attack], *, all_told: bool, now: datetime) -> dict[int, Standing]:
    """Return attack id -> where it stands, with as many questions for a page of them as for one.

    `all_told` is for organizers: what comes of a copy is told to others with the release of the picture's week.
    """
    untold = set() if all_told else _untold_copies(attacks)
    images = [attack.image_id for attack in attacks]
    rulings, broken, scored = newest_rulings(images), _breaks_of(images), _scored_images(images, now)
    kept_out = _kept_out(attacks)
    began = week_at(now).start
    waits = _what_waits()

    def standing(attack: Attack) -> Standing:
        ruling = rulings.get(attack.image_id)
        held_back = {
            AttackState.WITHDRAWN: attack.withdrawn_at is not None,
            AttackState.EMBARGO: attack.received_at >= began,
            AttackState.KEPT_OUT: attack.image_id in kept_out,
            AttackState.COPY: attack.pk in untold,
            AttackState.LABELING: ruling is None,
            AttackState.REJECTED: ruling is not None and ruling.verdict != Verdict.VALID,
        }
        for state, applies in held_back.items():
            if applies:
                return Standing(state)
        if found := broken.get(attack.image_id):
            return Standing(AttackState.BROKE, found)
        return Standing(AttackState.UNBROKEN if attack.image_id in scored else waits)

    return {attack.pk: standing(attack) for attack in attacks}


def _kept_out(attacks: Iterable[Attack]) -> set[int]:
    """Return the pictures that are kept out: one that a report holds before its first ruling, and one that the contest
    has among its own, which is never published (R5, R6). Neither who sent it nor the page says which of the two."""
    images = Image.objects.filter(pk__in={attack.image_id for attack in attacks})
    held = Panel.objects.filter(image=OuterRef("pk"), image__rulings__isnull=True, state=PanelState.HELD)
    return set(images.filter(~Q(origin__in=RELEASED_ORIGINS) | Exists(held)).values_list("pk", flat=True))


def _untold_copies(attacks: Iterable[Attack]) -> set[int]:
    """Return the copies of pictures that are not released: what comes of them, the first sender alone knows (R24)."""
    copies = {attack.pk: attack.image_id for attack in attacks if attack.copy_of_id is not None}
    if not copies:
        return set()
    told = set(Image.objects.filter(released(), pk__in=copies.values()).values_list("pk", flat=True))
    return {attack for attack, image in copies.items() if image not in told}


def _breaks_of(images: Iterable[int]) -> dict[int, int]:
    pairs = set(standing_breaks().filter(image__in=images).values_list("image", "defense"))
    found: dict[int, int] = {}
    for image, _ in pairs:
        found[image] = found.get(image, 0) + 1
    return found


def _scored_images(images: Iterable[int], now: datetime) -> set[int]:
    """Return those that every defense in force has answered in every round, or never will (R29, R30)."""
    done, asked = _rounds_done(images), _rounds_asked(now)
    return {image for image, rounds in done.items() if rounds >= asked} if asked else set()


def _what_waits() -> AttackState:
    """Return the state of a picture without all answers: in a copy made from releases nobody is asked for them."""
    copied = any(defense.copied for defense in defenses_in_force())
    return AttackState.NOT_HERE if copied else AttackState.SCORING


def _rounds_asked(now: datetime) -> int:
    return len(defenses_in_force()) * policy_in_force(now).policy.evaluation_runs


def _rounds_done(images: Iterable[int]) -> dict[int, int]:
    rounds = settled_items().filter(image__in=images, defense__in=defenses_in_force())
    return dict(rounds.order_by().values_list("image").annotate(rounds=Count("pk")))


def story(attack: Attack, *, all_told: bool, now: datetime) -> list[Entry]:
    """Tell everything that happened to the attack so far, and what is awaited, to who sent it or, `all_told`, to an
    organizer."""
    week = week_called(attack.week)
    told = [Entry(attack.received_at, f"Received whole, in week {attack.week}.")]
    if attack.withdrawn_at is not None:
        words = "Withdrawn. It is never labeled nor published; it counts for the quota of its day."
        return [*told, Entry(attack.withdrawn_at, words, LOOKS[AttackState.WITHDRAWN])]
    if now < week.end:
        words = "Under embargo until the week ends. Only your team and the organizers know of it."
        return [*told, Entry(None, words, LOOKS[AttackState.EMBARGO])]
    if _kept_out([attack]):
        words = "Kept out by the organizers: nothing comes of it unless they let it in."
        return [*told, Entry(week.end, "The week ended."), Entry(None, words, LOOKS[AttackState.KEPT_OUT])]
    told.append(Entry(week.end, "The week ended: public with all attacks of the week."))
    if not all_told and _untold_copies([attack]):
        return [*told, Entry(None, _COPIED, LOOKS[AttackState.COPY])]
    return [*told, *_labeling(attack), *_after_rulings(attack, now)]


def _labeling(attack: Attack) -> list[Entry]:
    told = []
    for panel in attack.image.panels.order_by("number"):
        dealt = panel.size - panel.joined
        words = f"Given to a panel of {dealt} taskers." if panel.number == 1 else "Given to another panel."
        told.append(Entry(panel.dealt_at, words))
        if panel.joined_at is not None:
            told.append(Entry(panel.joined_at, f"{panel.joined} more taskers joined the panel, as the board asked."))
        if panel.state == PanelState.HELD:
            told.append(Entry(None, "A report on the picture is looked at by an organizer.", "open"))
    return told


def _after_rulings(attack: Attack, now: datetime) -> list[Entry]:
    rulings = list(Ruling.objects.filter(image=attack.image_id).order_by("number"))
    if not rulings:
        return [Entry(None, "It is being labeled.", LOOKS[AttackState.LABELING])]
    told = [_ruled(ruling) for ruling in rulings]
    if rulings[-1].verdict == Verdict.VALID:
        told += _scoring(attack, now)
    return [*told, _appeals(attack, rulings[-1], now)]


def _ruled(ruling: Ruling) -> Entry:
    by = "The review board" if ruling.decided_by == DecidedBy.BOARD else "The rules"
    if ruling.verdict == Verdict.VALID:
        return Entry(ruling.decided_at, f"{by} found it valid: {ruling.label}.", "valid")
    return Entry(ruling.decided_at, f"{by} rejected it: {reasons_words(ruling.reasons)}.", "rejected")


def _scoring(attack: Attack, now: datetime) -> list[Entry]:
    told = [_broke(each) for each in _first_breaks(attack)]
    done, asked = _rounds_done([attack.image_id]).get(attack.image_id, 0), _rounds_asked(now)
    if done < asked:
        state = _what_waits()
        words = f"Being scored: {done} of {asked} answers of the published defenses are in."
        if state is AttackState.NOT_HERE:
            words = (
                f"This copy was made from releases, and has {done} of {asked} answers of the published defenses. It "
                "runs no defense: later parts of the release have the others."
            )
        return [*told, Entry(None, words, LOOKS[state])]
    if not told:
        words = "Every published defense was asked, and none was confidently wrong." if asked else "No defense yet."
        told.append(Entry(None, words, LOOKS[AttackState.UNBROKEN]))
    return told


def _first_breaks(attack: Attack) -> list[Break]:
    """Return the breaks that hold, each defense once, in the order in which they were found."""
    rows = standing_breaks().filter(image=attack.image_id).select_related("defense").order_by("found_at", "pk")
    found: dict[int, Break] = {}
    for each in rows:
        found.setdefault(each.defense_id, each)
    return list(found.values())


def _broke(found: Break) -> Entry:
    return Entry(found.found_at, "It broke", LOOKS[AttackState.BROKE], (found.defense,))


def _appeals(attack: Attack, ruling: Ruling, now: datetime) -> Entry:
    rejected = ruling.verdict == Verdict.REJECTED
    ends = closes_for_sender(attack, ruling) if rejected else closes_at(ruling)
    if ends is None:
        return Entry(None, "The window for appeals begins with the release of the picture's week.")
    if now < ends:
        return Entry(ends, "The window for appeals ends.")
    return Entry(ends, "The window for appeals ended.")


def attack_rows(shown: list[Attack], now: datetime) -> list[dict[str, Any]]:
    found = standings(shown, all_told=False, now=now)
    return [{"attack": each, "standing": found[each.pk], "url": picture_url(each.image, now=now)} for each in shown]
