"""Parameters of a simulated contest and of a simulated month; the same plan gives the same results. Pure."""

from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any


def number(default: int, least: int, most: int, words: str) -> Any:
    """Return a number of a plan with its bounds; `words` are the help of its option."""
    return field(default=default, metadata={"least": least, "most": most, "words": words})


@dataclass(frozen=True)
class Plan:
    """Numbers, each between its bounds."""

    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be played, naming the number."""
        bounds = {each.name: each.metadata for each in fields(self) if "least" in each.metadata}
        wrong = [
            name for name, within in bounds.items() if not within["least"] <= getattr(self, name) <= within["most"]
        ]
        if wrong:
            raise ValueError(f"out of range: {', '.join(wrong)}")


@dataclass(frozen=True)
class ContestPlan(Plan):
    """What is simulated of a whole contest, from the day `begin` on."""

    weeks: int = number(12, 1, 104, "weeks in which teams attack")
    teams: int = number(40, 2, 400, "teams, of every kind in turn")
    attacks: int = number(2_000, 1, 100_000, "pictures that teams send, beside what is refused")
    taskers: int = number(30, 4, 1_000, "people who label")
    begin: date = field(default=date(2026, 1, 3), metadata={"words": "the first day, as 2026-01-03"})
    stake_days: int = number(90, 1, 366, "days a defense has to stay unbroken")
    cents_per_label: int = number(12, 0, 1_000_000, "what a label costs")
    taken_in: int = number(60, 0, 1_000, "pictures that organizers take in at the beginning")
    private: int = number(30, 2, 1_000, "pictures of the private set")


@dataclass(frozen=True)
class MonthPlan(Plan):
    """What is simulated of a month of labeling."""

    honest: int = number(44, 0, 1_000, "taskers who do their best")
    careless: int = number(3, 0, 1_000, "taskers who overlook what is cut off or covered")
    random: int = number(1, 0, 1_000, "taskers who press anything")
    copying: int = number(2, 0, 1_000, "taskers who look up what the other one said")
    days: int = number(22, 0, 1_000, "working days")
    pictures_a_day: int = number(20, 1, 1_000, "pictures each tasker answers in a day")
    first_gold: int = number(80, 0, 10_000, "gold pictures at the beginning")
    gold_a_day: int = number(5, 0, 1_000, "gold pictures that are added each day")

    @property
    def taskers(self) -> int:
        """Return how many people label."""
        return self.honest + self.careless + self.random + self.copying
