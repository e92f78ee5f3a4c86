"""The change log of the instructions, newest first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from labeling.models import InstructionVersion
from labeling.notices import iso


@dataclass(frozen=True, slots=True)
class InstructionChange:
    """What one version of the instructions changed."""

    version: int
    since: datetime
    summary: str
    clarification: str


def news_since(version: int, *, now: datetime) -> list[InstructionChange]:
    """Return the versions in force at `now` that are newer than `version`, newest first."""
    rows = InstructionVersion.objects.filter(version__gt=version, in_force_from__lte=now).order_by("-version")
    return [InstructionChange(row.version, row.in_force_from, row.summary, row.clarification) for row in rows]


def news_json(news: list[InstructionChange]) -> list[dict[str, Any]]:
    """Return news for the page's script."""
    return [
        {
            "version": each.version,
            "since": iso(each.since),
            "summary": each.summary,
            "clarification": each.clarification,
        }
        for each in news
    ]
