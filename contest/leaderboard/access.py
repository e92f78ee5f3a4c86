"""Who may not see the leaderboard."""

from typing import Any

from common.errors import NotAllowed


def not_for_taskers(user: Any) -> None:
    """Refuse taskers (R8): what programs make of pictures, and who sends them, is nothing they may know."""
    if getattr(user, "tasker", None) is not None:
        raise NotAllowed(
            "Who labels pictures does not see how attacks and defenses fare. The start page leads to your work.",
            "not_for_taskers",
        )
