"""Who steps aside for whom (R21). Everything a member of the board sees of a case goes through `cases_seen_by`.

A member is recused from a case while a conflict with a team that the case is about was in force at any time since it
was opened, until it was closed. A conflict that ends meanwhile gives the case not back; one that was dismissed counts
for nothing. Teams that were merged are one.
"""

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from contest.models import Case, CaseParty, Conflict, Disclosure, Team
from contest.teams.selectors import final_team, teams_counted_together
from labeling.people import REVIEW_BOARD
from labeling.policy import Policy


def board_members() -> QuerySet[User]:
    """Return who is on the review board now."""
    return User.objects.filter(groups__name=REVIEW_BOARD, is_active=True).order_by("pk")


def conflicts_in_force(members: Iterable[User] | None = None) -> QuerySet[Conflict]:
    """Return the conflicts that count, whenever they do, of these members (None: of all)."""
    rows = Conflict.objects.filter(dismissed_at=None)
    return rows if members is None else rows.filter(member__in=members)


def _meets(conflict: Conflict) -> Q:
    """Return the cases that a conflict is with, as a condition."""
    together = teams_counted_together(conflict.team)
    parties = CaseParty.objects.filter(case=OuterRef("pk"), team__in=together)
    still = Q(closed_at=None) | Q(closed_at__gte=conflict.since)
    before = Q() if conflict.until is None else Q(opened_at__lt=conflict.until)
    return Q(Exists(parties)) & still & before


def cases_seen_by(member: User) -> QuerySet[Case]:
    """Return the cases that a member of the board may know of: all but those they step aside from, counts included."""
    cases = Case.objects.all()
    for conflict in conflicts_in_force([member]).select_related("team"):
        cases = cases.exclude(_meets(conflict))
    return cases


def recused_from(case: Case) -> set[int]:
    """Return who steps aside from a case, by account."""
    parties = {each.pk for team in teams_of(case) for each in teams_counted_together(team)}
    rows = conflicts_in_force().filter(Q(until=None) | Q(until__gt=case.opened_at), team__in=parties)
    rows = rows.filter(since__lte=case.closed_at) if case.closed_at is not None else rows
    return set(rows.values_list("member", flat=True))


def teams_stepped_aside_for(member: User, *, now: datetime) -> set[int]:
    """Return the teams for which a member steps aside in what is moved now, by number; merged ones are all there."""
    rows = conflicts_in_force([member]).filter(Q(until=None) | Q(until__gt=now)).select_related("team")
    return {each.pk for conflict in rows for each in teams_counted_together(conflict.team)}


def judges_of(case: Case) -> list[User]:
    """Return the members of the board who may decide a case: those who do not step aside."""
    return list(board_members().exclude(pk__in=recused_from(case)))


def quorum_of(case: Case) -> int:
    """Return how many of them it takes: by the policy that the case was opened under."""
    return Policy.from_json(case.policy.numbers).board_quorum


def teams_of(case: Case) -> list[Team]:
    """Return the teams that a case is about, as they are called now, each once."""
    teams = Team.objects.filter(case_parts__case=case).select_related("merged_into").order_by("case_parts__pk")
    return list({team.pk: team for team in map(final_team, teams)}.values())


def undisclosed(case: Case, member: User) -> list[Team]:
    """Return the teams of a case of which a member did not say yet that nothing ties them: its content waits for it."""
    said = Disclosure.objects.filter(case=case, member=member).select_related("team__merged_into")
    known = {final_team(each.team).pk for each in said}
    return [team for team in teams_of(case) if team.pk not in known]
