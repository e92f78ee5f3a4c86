"""Which teams may know of a case: those that may know of the picture's ruling (R24, R29).

A case is about more teams than may know of it, so that nobody judges a team that they are tied to (R21): who sent a
copy knows rulings no earlier than everybody else, and whose defense was broken learns by which picture with its
release. Before that, neither of them is told or shown anything of the case, nor may answer in it.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from contest.board.models import Appeal, CaseParty
from contest.board.recusal import teams_of
from contest.core.embargo import public_attacks
from contest.core.enums import CaseKind
from contest.core.models import Attack, Case, Team
from contest.core.publication import released
from contest.core.teams import teams_counted_together
from contest.defenses.selectors import attacks_aimed_at
from contest.outbox.grouped_facts import senders_notified


def cases_known_to(team: Team, *, now: datetime) -> QuerySet[Case]:
    """Return the cases of pictures that are about a team, or one merged into it, and that it may know of: those that
    it appealed in, those on what it sent itself or what was aimed at its defenses, and all once they are released."""
    together = teams_counted_together(team)
    party = CaseParty.objects.filter(case=OuterRef("pk"), team__in=together)
    appealed = Appeal.objects.filter(case=OuterRef("pk"), team__in=together)
    rows = Case.objects.filter(Exists(party), kind=CaseKind.PICTURE)
    return rows.filter(Exists(appealed) | released("image__") | _told(together, now))


def teams_informed(case: Case, *, now: datetime) -> list[Team]:
    """Return the teams that a picture's case is about and that may know of it."""
    return [team for team in teams_of(case) if cases_known_to(team, now=now).filter(pk=case.pk).exists()]


def _told(teams: Sequence[Team], now: datetime) -> Q:
    """The cases of pictures that the teams sent first, or that were aimed at them and that they sent no copy of."""
    sent = Attack.objects.filter(senders_notified(now=now), team__in=teams).values("image")
    own = Attack.objects.filter(team__in=teams, withdrawn_at=None).values("image")
    aimed = public_attacks(now=now).filter(attacks_aimed_at(teams)).values("image")
    return Q(image__in=sent) | (Q(image__in=aimed) & ~Q(image__in=own))
