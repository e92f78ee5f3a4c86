"""Queries for the rejected pictures that the board examines before an award, and their confirmations (R37)."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import rulings_in_force
from contest.core.conflicts import conflicts_in_force
from contest.core.models import Attack, Stake
from contest.core.settled_weeks import open_cases
from contest.core.teams import teams_counted_together
from contest.core.weeks import week_at
from contest.defenses.selectors import owner_of, unbroken_until
from contest.prizes.models import Examination
from labeling.models import Image
from policy.selectors import policy_in_force
from scoring.models import Defense


@dataclass(frozen=True, slots=True)
class ExaminedShare:
    """How many of the rejected pictures are confirmed by enough members and in no open case."""

    done: int
    all: int

    @property
    def percent(self) -> int:
        """Return the share in whole percent, rounded down: 100 means all of them."""
        return 100 * self.done // self.all if self.all else 100


def examined_share(defense: Defense, *, now: datetime) -> ExaminedShare:
    """Return how many of the rejected pictures the board examined for the award of `defense`."""
    rejected = rejected_pictures(defense)
    return ExaminedShare(rejected.filter(fully_examined(now, defense)).count(), rejected.count())


def rejected_pictures(defense: Defense) -> QuerySet[Image]:
    """Return the rejected pictures sent from the week of the defense's stake to the end of its 90 days.

    Their targets do not matter: a wrongly rejected picture is run against every published defense, and may break it.
    """
    begun = Stake.objects.filter(defense=defense, staked_at__isnull=False)
    stake = begun.select_related("defense__entry").order_by("-staked_at", "-pk").first()
    if stake is None or stake.staked_at is None:
        return Image.objects.none()
    sent = Attack.objects.filter(withdrawn_at__isnull=True, received_at__gte=week_at(stake.staked_at).start)
    until = unbroken_until(stake)
    sent = sent.filter(received_at__lt=until) if until else sent
    rejected = rulings_in_force().filter(verdict=Verdict.REJECTED).values("image")
    return Image.objects.filter(pk__in=rejected).filter(pk__in=sent.values("image")).order_by("pk")


def confirmations_in_force(defense: Defense) -> QuerySet[Examination]:
    """Return the confirmations of rejections in force for an award; old ones that name no ruling count too.

    Those of deleted accounts do not: their conflicts went with the account, so nobody can know of one (R21).
    """
    newest = Ruling.objects.filter(image=OuterRef("image")).order_by("-number").values("pk")[:1]
    rows = Examination.objects.filter(defense=defense, confirmed_by__isnull=False).annotate(holding=Subquery(newest))
    return rows.filter(Q(ruling=F("holding")) | Q(ruling=None)).exclude(_confirmations_in_conflict(defense))


def _confirmations_in_conflict(defense: Defense) -> Q:
    """Condition for confirmations of members, also former ones, with a conflict with the award's team, or with the
    picture's sender: like votes they do not count, whenever the conflict was declared (R21), unless it had ended before
    the confirmation."""
    owner, found = owner_of(defense), Q(pk__in=[])
    for conflict in conflicts_in_force().select_related("team"):
        theirs = Q(confirmed_by=conflict.member_id) & (Q(at__lt=conflict.until) if conflict.until else Q())
        together = teams_counted_together(conflict.team)
        sent = Attack.objects.filter(team__in=together, withdrawn_at__isnull=True)
        found |= theirs if owner in together else theirs & Q(image__in=sent.values("image"))
    return found


def fully_examined(now: datetime, defense: Defense) -> Q:
    """Condition for pictures that enough members confirmed by the policy, and that have no open case: a case may lead
    to another ruling, and until then nothing is confirmed."""
    needed = policy_in_force(now).policy.examination_members
    rows = confirmations_in_force(defense).order_by().values("image")
    counted = rows.annotate(members=Count("confirmed_by", distinct=True))
    return Q(pk__in=counted.filter(members__gte=needed).values("image")) & ~Q(pk__in=open_cases().values("image"))
