"""Lets the demo's defenses run without containers; every other defense runs in a sealed container."""

from typing import TYPE_CHECKING

from django.conf import settings

from scoring.models import Defense

if TYPE_CHECKING:  # NumPy is loaded only where a defense runs
    from scoring.runner import Runner


def known_runner(defense: Defense) -> "Runner | None":
    """Return the runner of a defense of the demo; None for every other defense, and always outside the demo."""
    if not settings.DEMO:
        return None
    from contest.demo.programs import ProgramRunner, program_of

    program = program_of(defense)
    return None if program is None else ProgramRunner(program)
