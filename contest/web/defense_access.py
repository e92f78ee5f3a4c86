"""Which defense an address of the organizers means."""

from common.errors import NotFound
from scoring.models import Defense


def defense_of(public_id: str) -> Defense:
    """Return the defense with this ID, whether it is published or not; NotFound when there is none."""
    defense = Defense.objects.filter(public_id=public_id).first()
    if defense is None:
        raise NotFound("There is no defense with this ID.", "not_found")
    return defense
