"""The events of a picture's timeline, each with one sentence for all readers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.text import capfirst

from adjudication.enums import DecidedBy
from adjudication.models import Ruling
from contest.board.case_messages import OUTCOME_WORDS
from contest.board.models import Appeal, AppealStatement, CaseDecision
from contest.board.public_decisions import PublicDecision
from contest.core.enums import AppealSide, CaseOutcome
from contest.core.models import Attack, Break, Case, Release
from contest.core.weeks import week_called
from contest.record.picture_answers import RulingShown
from labeling.models import Image, Panel
from scoring.models import Defense

# What comes first of things that happened at the same moment: the board decides, and a panel or a ruling follows.
_ORDER = ("sent", "week", "case", "appeal", "statement", "decision", "panel", "ruling", "outputs", "break", "money")


@dataclass(frozen=True, slots=True)
class EvidenceLink:
    """A link of an event to its evidence."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, or that holds now: a sentence, its permanent anchor, and links to its evidence.

    `at` is None for what holds now. `kind` is one of _ORDER, `release` or `now`; `look` is one of the site's states.
    What follows is there for the kinds that show it.
    """

    at: datetime | None
    kind: str
    anchor: str
    words: str
    look: str = ""
    links: tuple[EvidenceLink, ...] = ()
    text: str = ""
    marks: tuple[dict[str, Any], ...] = ()
    ruling: RulingShown | None = None
    decision: PublicDecision | None = None

    def linked(self, words: str, url: str) -> "Event":
        """Return the event with this link instead of its own."""
        return replace(self, links=(EvidenceLink(words, url),))


def events_in_order(events: Iterable[Event]) -> list[Event]:
    """Return events in the order in which they happened, and what holds now last."""
    listed = list(events)
    timed = [(each.at, _place(each), each) for each in listed if each.at is not None]
    return [each for *_, each in sorted(timed, key=lambda row: row[:2])] + [each for each in listed if each.at is None]


def _place(event: Event) -> int:
    return _ORDER.index(event.kind) if event.kind in _ORDER else len(_ORDER)


def is_in_force(words: str, look: str = "", *, at: datetime | None = None) -> Event:
    """Return where the picture stands, or what ends `at`."""
    return Event(at, "now", "", words, look)


# Links ----------------------------------------------------------------------------------------------------------------


def team_link(of: Attack | Appeal | AppealStatement) -> EvidenceLink:
    """Return the link to the page of who sent something."""
    return EvidenceLink(f"Team {of.team.name}", reverse("team-public", args=[of.team.public_id]))


def defense_link(defense: Defense) -> EvidenceLink:
    """Return the link to the page of a defense."""
    return EvidenceLink(defense.name, reverse("defense", args=[defense.public_id]))


def ruling_link(ruling: Ruling) -> EvidenceLink:
    """Return the link to a ruling on the same page."""
    return EvidenceLink(f"ruling {ruling.number}", f"#ruling-{ruling.number}")


# Where it came from ---------------------------------------------------------------------------------------------------


def attack_received(attack: Attack, *, targets: str = "") -> Event:
    """Return that a team sent the picture; `targets` names what it is aimed at."""
    aimed = f", aimed at: {targets}" if targets else ""
    words = f"Team {attack.team.name} sent it in week {attack.week}{aimed}."
    links = (EvidenceLink(attack.public_id, reverse("attack", args=[attack.public_id])), team_link(attack))
    return Event(attack.received_at, "sent", f"attack-{attack.public_id}", words, "embargo", links)


def attack_withdrawn(attack: Attack) -> Event:
    """Return that a team withdrew its attack."""
    words = f"Team {attack.team.name} withdrew it. It counts for the quota of its day."
    return Event(attack.withdrawn_at, "sent", f"withdrawn-{attack.public_id}", words, "withdrawn", (team_link(attack),))


def image_imported(image: Image) -> Event:
    """Return that organizers imported the picture."""
    by = f", by {image.author}" if image.author else ""
    licence = f", licence {image.licence}" if image.licence else ""
    return Event(image.received_at, "sent", "received", f"The organizers imported it from {image.source}{by}{licence}.")


def week_ended(name: str, *, public: bool = True) -> Event:
    """Return that the week of an attack ended, which made it `public`."""
    words = f"Week {name} ended: its attacks became public." if public else f"Week {name} ended."
    links = (EvidenceLink("its pictures", reverse("week", args=[name])),) if public else ()
    return Event(week_called(name).end, "week", f"week-{name}", words, links=links)


# Answers and rulings --------------------------------------------------------------------------------------------------


def panels_counted(rulings: Iterable[Ruling]) -> Iterator[Event]:
    """Yield the panels that these rulings counted, with who joined before. Who is asked at present is told to nobody
    but who sent the picture first, organizers and the board (R8)."""
    last = {each.panel: each.decided_at for each in rulings}
    for panel, ruled_at in last.items():
        yield panel_opened(panel)
        if panel.joined_at is not None and panel.joined_at <= ruled_at:
            yield taskers_joined(panel)


def panel_events(panels: Iterable[Panel]) -> Iterator[Event]:
    """Yield that each panel was opened, and that further taskers joined it."""
    for panel in panels:
        yield panel_opened(panel)
        if panel.joined_at is not None:
            yield taskers_joined(panel)


def panel_opened(panel: Panel) -> Event:
    """Return that the taskers of a panel were asked, without those who joined it later."""
    words = f"Panel {panel.number}: {panel.size - panel.joined} taskers were asked."
    if panel.number > 1:
        words += " It replaces the panel before (R19)."
    return Event(panel.dealt_at, "panel", f"panel-{panel.number}", words)


def taskers_joined(panel: Panel) -> Event:
    """Return that more taskers were asked."""
    words = f"{panel.joined} more taskers were asked to join panel {panel.number} (R19)."
    return Event(panel.joined_at, "panel", f"joined-{panel.number}", words)


def ruling_made(ruling: Ruling) -> Event:
    """Return what a ruling says."""
    by = "board" if ruling.decided_by == DecidedBy.BOARD else "rules"
    words = f"Ruling {ruling.number} ({by}). {capfirst(ruling.words)}."
    look = "valid" if ruling.label else "rejected"
    return Event(ruling.decided_at, "ruling", f"ruling-{ruling.number}", words, look)


# The board ------------------------------------------------------------------------------------------------------------


def case_opened(case: Case, *, by_appeal: bool) -> Event:
    """Return that a case was opened: by an appeal, or else by a member of the board."""
    by = "by an appeal" if by_appeal else "by a member of the board"
    about = f", about ruling {case.ruling.number}" if case.ruling is not None else ""
    return Event(case.opened_at, "case", f"opened-{case.public_id}", f"Case {case.public_id} was opened {by}{about}.")


def opened_by_appeal(case: Case, appeals: Iterable[Appeal]) -> bool:
    """Say whether one of these appeals opened the case; others may have come into it later."""
    return any(each.case_id == case.pk and each.sent_at <= case.opened_at for each in appeals)


def appeal_sent(appeal: Appeal) -> Event:
    """Return that a team appealed a ruling, without its argument."""
    side, links = "as the sender of the picture", [team_link(appeal)]
    if appeal.side == AppealSide.DEFENDER and appeal.defense is not None:
        side = f"for its defense {appeal.defense.name}"
        links.append(defense_link(appeal.defense))
    words = f"Team {appeal.team.name} appealed ruling {appeal.ruling.number} {side}: {appeal.public_id}."
    return Event(appeal.sent_at, "appeal", f"appeal-{appeal.public_id}", words, "open", tuple(links))


def statement_sent(statement: AppealStatement) -> Event:
    """Return that a team of the other side answered, without what it wrote."""
    case = statement.case.public_id
    words = f"Team {statement.team.name} answered in case {case}."
    anchor = f"answer-{case}-{statement.team.public_id}"
    return Event(statement.sent_at, "statement", anchor, words, links=(team_link(statement),))


def case_decided(decision: CaseDecision) -> Event:
    """Return what the board decided, without its explanation."""
    case = decision.case
    words = f"Case {case.public_id}: {OUTCOME_WORDS[CaseOutcome(decision.outcome)]}."
    return Event(decision.decided_at, "decision", f"case-{case.public_id}", words, "open")


# What followed --------------------------------------------------------------------------------------------------------


def defense_broken(found: Break, *, ended_by: Ruling | None = None) -> Event:
    """Return that the picture broke a defense; `ended_by` is the later ruling since which that holds no more."""
    words = f"It broke {found.defense.name}: confidently wrong on a valid {found.ruling.label} (R29)."
    if ended_by is not None:
        words += f" Since ruling {ended_by.number} it holds no more (R22)."
    anchor = f"break-{found.defense.public_id}-{found.ruling.number}"
    return Event(found.found_at, "break", anchor, words, "broken", (defense_link(found.defense),))


def record_published(release: Release) -> Event:
    """Return that the record of the picture's week was published."""
    link = EvidenceLink(release.name, reverse("release", args=[release.name]))
    words = f"The record of week {release.week} was published."
    return Event(release.released_at, "release", f"release-{release.week}", words, links=(link,))
