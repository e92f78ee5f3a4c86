"""Queries for awards and their decisions."""

from django.db.models import QuerySet

from contest.core.models import Award, BoardDecision, Stake


def award_of(stake: Stake) -> Award | None:
    """Return the award that was given for a stake with who confirmed the decision, None before."""
    rows = Award.objects.select_related("decision__decided_by", "stake__defense__entry__team")
    return rows.filter(stake=stake).first()


def award_by_number(number: int) -> Award | None:
    """Return the award with this number, None when there is none."""
    return Award.objects.filter(pk=number).first()


def awards_of_stakes(stakes: QuerySet[Stake]) -> QuerySet[Award]:
    """Return the awards that were given for these stakes, newest first."""
    return Award.objects.filter(stake__in=stakes).select_related("stake__defense__entry__team").order_by("-pk")


def stakes_awarded_by(decision: BoardDecision) -> set[int]:
    """Return the stakes that were awarded by one decision, by number."""
    return set(Award.objects.filter(decision=decision).values_list("stake", flat=True))
