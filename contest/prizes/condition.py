"""A condition of an award, and who can meet it (R36)."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

MOST_NAMED = 5


class ConditionOwner(StrEnum):
    """Who can meet a condition that is not met (R36). Their order is that in which the page names them."""

    TIME = "time"
    TEAM = "team"
    SCORER = "scorer"
    ORGANIZERS = "organizers"
    BOARD = "board"

    @property
    def words(self) -> str:
        """Return the party as the page names it."""
        return self.value if self is ConditionOwner.TIME else f"the {self.value}"


TEAM = (ConditionOwner.TEAM,)


@dataclass(frozen=True, slots=True)
class AwardCondition:
    """One line of the checklist: a name for programs, words, whether it is met, what is known, and where to look.

    `who` can meet it while it is not met (R36); nobody can once the stake is over.
    """

    name: str
    title: str
    passed: bool
    figures: str
    link: str = ""
    who: tuple[ConditionOwner, ...] = ()

    def __post_init__(self) -> None:
        if self.passed:  # whoever could have met it, nobody has to any more
            object.__setattr__(self, "who", ())

    @property
    def waits_for(self) -> str:
        """Return in words who can meet it; empty when it is met, and where nobody can."""
        return ", ".join(party.words for party in self.who)

    def record(self) -> dict[str, Any]:
        """Return what an award keeps of a condition that was met."""
        kept = asdict(self)
        del kept["who"]
        return kept


def in_order(parties: Collection[ConditionOwner]) -> tuple[ConditionOwner, ...]:
    return tuple(party for party in ConditionOwner if party in parties)
