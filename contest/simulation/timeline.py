"""Event counts and notes of a simulated contest, by week. Pure."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(slots=True)
class SimulationLog:
    """`counts` is by week and name, `notes` by week: what somebody would tell afterwards."""

    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    notes: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def count(self, week: str, name: str, more: int = 1) -> None:
        """Count something of a week."""
        self.counts[week][name] += more

    def note(self, week: str, at: datetime, sentence: str) -> None:
        """Write a sentence down, with its day."""
        self.notes[week].append(f"{at:%a %d %b}: {sentence}")

    def total(self, name: str) -> int:
        """Return a count over all weeks."""
        return sum(counts[name] for counts in self.counts.values())
