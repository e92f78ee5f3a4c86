"""Registry of programs that run without a container, in a demo only; the contest fills it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from scoring.models import Defense

if TYPE_CHECKING:  # the web process never runs one and needs no NumPy
    from scoring.runner import Runner

Find = Callable[[Defense], "Runner | None"]


class TrustedPrograms:
    """The registered function; before registration no program is trusted."""

    find: Find = staticmethod(lambda _: None)


def needs_engine(defense: Defense) -> bool:
    """Say whether a defense runs in a container; those shipped with this project and the programs of a demo do not."""
    return bool(defense.image) and not defense.reference and TrustedPrograms.find(defense) is None


def register_trusted_programs(find: Find) -> None:
    """Register `find`, which returns the runner of a trusted program; called at the application's start."""
    TrustedPrograms.find = staticmethod(find)
