"""Attacks: a team's picture, taken bit-exactly, under embargo until its week ends (R2, R23, R24)."""

from datetime import datetime

from django.db import IntegrityError, transaction

from common.errors import Conflict
from contest.models import Attack, Team
from contest.rules import week_of
from labeling.enums import Origin
from labeling.images import read_attack
from labeling.intake import image_add
from labeling.models import Image
from labeling.policy import Policy


@transaction.atomic
def attack_receive(*, team: Team, data: bytes, policy: Policy, now: datetime) -> Attack:
    """Record a team's picture received at `now`; its panel is dealt when the week has ended.

    A picture that is known already and was never meant to be labeled is labeled now, as this attack's.

    Raises PictureRefused with what to change, Conflict (`sent_before`) for pixels this team has sent already (R26).
    """
    picture = read_attack(data, size=policy.image_size)
    label_from = week_of(now, policy.time_zone).end
    image, _ = image_add(
        picture,
        origin=Origin.ATTACK,
        source="attack",
        source_id=team.public_id,
        licence="sent under the contest's terms",
        now=now,
        label_from=label_from,
    )
    Image.objects.filter(pk=image.pk, label_from__isnull=True).update(label_from=label_from)
    try:
        with transaction.atomic():
            return Attack.objects.create(team=team, image=image, received_at=now)
    except IntegrityError:
        raise Conflict("Your team has sent exactly this picture before.", "sent_before", field="image") from None
