"""The board's look at the rejected pictures before an award: each is confirmed as invalid (R37)."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from adjudication.enums import Verdict
from adjudication.models import Ruling
from common.errors import Conflict, NotAllowed
from contest.models import Attack, Examination, Stake
from contest.stakes.selectors import unbroken_until
from contest.weeks import week_at
from labeling.models import Image
from labeling.people import is_on_board
from scoring.models import Defense


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the rejected pictures were examined."""

    done: int
    all: int


def examined_share(defense: Defense) -> Share:
    """Return how many rejected pictures the board examined for the award of `defense`, of how many."""
    rejected = rejected_pictures(defense)
    return Share(rejected.filter(_examined(defense)).count(), rejected.count())


def rejected_pictures(defense: Defense) -> QuerySet[Image]:
    """Return the rejected pictures sent from the week of the defense's stake to the end of its 90 days.

    Whatever they were aimed at: one that was wrongly rejected is run against every published defense, and may break it.
    """
    begun = Stake.objects.filter(defense=defense, staked_at__isnull=False)
    stake = begun.select_related("defense__entry").order_by("-staked_at", "-pk").first()
    if stake is None or stake.staked_at is None:
        return Image.objects.none()
    sent = Attack.objects.filter(withdrawn_at__isnull=True, received_at__gte=week_at(stake.staked_at).start)
    until = unbroken_until(stake)
    sent = sent.filter(received_at__lt=until) if until else sent
    newest = Ruling.objects.filter(image=OuterRef("pk")).order_by("-number")
    rejected = Image.objects.annotate(verdict=Subquery(newest.values("verdict")[:1])).filter(verdict=Verdict.REJECTED)
    return rejected.filter(pk__in=sent.values("image")).order_by("pk")


def _examined(defense: Defense) -> Exists:
    return Exists(Examination.objects.filter(image=OuterRef("pk"), defense=defense))


def still_to_examine(defense: Defense) -> QuerySet[Image]:
    """Return the rejected pictures nobody of the board has confirmed yet, the first received first."""
    return rejected_pictures(defense).exclude(_examined(defense)).order_by("received_at", "pk")


def picture_confirm(*, image: Image, defense: Defense, by: User, now: datetime) -> Examination:
    """Record that a member of the board looked at a rejected picture and found it invalid; twice changes nothing.

    Raises NotAllowed for who is not on the board, Conflict for a picture that this award does not wait for.
    """
    if not is_on_board(by):
        raise NotAllowed("Only members of the review board confirm this.", "not_on_board")
    if not rejected_pictures(defense).filter(pk=image.pk).exists():
        raise Conflict("This picture is not one of the rejected ones any more. Reload the page.", "not_rejected")
    found, _ = Examination.objects.get_or_create(image=image, defense=defense, defaults={"confirmed_by": by, "at": now})
    return found
