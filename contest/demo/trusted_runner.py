"""Lets the demo's defenses run without containers; elsewhere every defense is sealed."""

from typing import TYPE_CHECKING

from django.conf import settings

from scoring.models import Defense

if TYPE_CHECKING:  # arrays are loaded where something runs
    from scoring.runner import Runner


def known_runner(defense: Defense) -> "Runner | None":
    """Return what runs a defense of the demo; None for every other one, and always outside the demo."""
    if not settings.DEMO:
        return None
    from contest.demo.programs import ProgramRunner, program_of

    program = program_of(defense)
    return None if program is None else ProgramRunner(program)
