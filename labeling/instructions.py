"""The change log of the instructions, newest first."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from labeling.models import InstructionVersion
from labeling.notices import iso


def news_since(version: int, *, now: datetime) -> list[InstructionVersion]:
    """Return the versions in force at `now` that are newer than `version`, newest first."""
    rows = InstructionVersion.objects.filter(version__gt=version, in_force_from__lte=now)
    return list(rows.order_by("-version"))


def news_json(news: Iterable[InstructionVersion]) -> list[dict[str, Any]]:
    """Return news for the page's script."""
    return [
        {
            "version": each.version,
            "since": iso(each.in_force_from),
            "summary": each.summary,
            "clarification": each.clarification,
        }
        for each in news
    ]
