"""Groups the panels that no remaining tasker may finish, with cause and advice in words for organizers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from common.database.grouping import grouped
from common.remembered import remembered
from labeling.enums import StuckCause
from labeling.stuck_panels import AWAY_AFTER, MAX_PANELS_PER_KIND, StuckPanel, stuck_panels

FRESH_SECONDS = 60
MAX_NAMED = 10
_DAYS = AWAY_AFTER.days


@dataclass(frozen=True, slots=True)
class StuckGroup:
    """The stuck panels of one cause, the longest waiting first; MAX_PANELS_PER_KIND of each kind are searched."""

    cause: StuckCause
    panels: tuple[StuckPanel, ...]

    @property
    def since(self) -> datetime:
        """Return since when the panel that waits longest has waited."""
        return min(each.panel.waiting_since for each in self.panels)

    @property
    def needed(self) -> int:
        """Return how many more taskers would be enough for all of them."""
        return max(each.needed for each in self.panels)

    @property
    def count_words(self) -> str:
        """Return how many pictures these are, in words."""
        count = len(self.panels)
        more = " or more" if count >= MAX_PANELS_PER_KIND else ""
        return f"{count:,}{more} picture{'' if count == 1 else 's'}"

    @property
    def why(self) -> str:
        """Return the cause in words, for the picture that needs most taskers."""
        return CAUSES[self.cause](max(self.panels, key=lambda each: each.needed))

    @property
    def advice(self) -> str:
        """Return what organizers can do."""
        invite = f"Invite {self.needed} more tasker{'' if self.needed == 1 else 's'}"
        return f"{invite}{ADVICE[self.cause]}."

    @property
    def named(self) -> tuple[StuckPanel, ...]:
        """Return the panels that a page or a letter names."""
        return self.panels[:MAX_NAMED]

    @property
    def others(self) -> int:
        """Return how many panels are not among the named ones."""
        return len(self.panels) - len(self.named)


def stuck_groups(*, now: datetime) -> tuple[StuckGroup, ...]:
    """Return the causes that keep panels from being finished, cached for FRESH_SECONDS."""
    return remembered("stuck-panels", FRESH_SECONDS, lambda: read_stuck_groups(now=now))


def read_stuck_groups(*, now: datetime) -> tuple[StuckGroup, ...]:
    """Return the causes that keep panels from being finished, read from the database."""
    found = grouped((each.cause, each) for each in stuck_panels(now=now))
    return tuple(StuckGroup(cause, tuple(found[cause])) for cause in StuckCause if cause in found)


def _people_left(stuck: StuckPanel) -> str:
    who = f"{_people(stuck.people)} may still be asked" if stuck.people else "nobody may still be asked"
    return f"{_number(stuck.places, 'answer')} missing that nobody is giving, and {who}"


def _people(count: int) -> str:
    return f"{count} {'person' if count == 1 else 'people'}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


CAUSES: Mapping[StuckCause, Callable[[StuckPanel], str]] = {
    StuckCause.LINKED: lambda stuck: (
        f"{_people_left(stuck)}. {_number(stuck.linked, 'account')} not asked yet cannot be: they are linked with "
        "another account that was, or with each other, and linked accounts are one person"
    ),
    StuckCause.REQUALIFYING: lambda stuck: (
        f"{_people_left(stuck)}. {_number(stuck.requalifying, 'tasker')} must pass the short qualification first"
    ),
    StuckCause.PAUSED: lambda stuck: f"{_people_left(stuck)}. {_number(stuck.paused, 'tasker')} who could be: paused",
    StuckCause.SEEN: lambda stuck: (
        f"{_people_left(stuck)}. {_people(stuck.seen)} who may label: asked about the picture before"
    ),
    StuckCause.TOO_FEW: lambda stuck: (
        f"{_people_left(stuck)}. Fewer people may label than the {stuck.panel.size - stuck.panel.joined} that a panel "
        "needs"
    ),
    StuckCause.AWAY: lambda stuck: (
        f"{_people_left(stuck)} of those here in the last {_DAYS} days. {_people(stuck.away)} away may be asked too"
    ),
}
ADVICE: Mapping[StuckCause, str] = {
    StuckCause.LINKED: ", or end a link that is wrong",
    StuckCause.REQUALIFYING: ", or remind those who have to qualify again",
    StuckCause.PAUSED: ", or let somebody who is paused label again",
    StuckCause.SEEN: "",
    StuckCause.TOO_FEW: "",
    StuckCause.AWAY: ", or write to those who may label",
}
