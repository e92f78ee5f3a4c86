"""What the board does before an award, in one line each."""

from datetime import datetime

from django.contrib.auth.models import User

from adjudication.selectors import newest_rulings
from contest.board.examinations import picture_confirm
from contest.prizes.models import Examination
from labeling.models import Image
from scoring.models import Defense


def confirm(image: Image, defense: Defense, by: User, now: datetime) -> Examination:
    """A member confirms the ruling that holds."""
    return picture_confirm(image=image, defense=defense, ruling=newest_rulings([image.pk])[image.pk].pk, by=by, now=now)
