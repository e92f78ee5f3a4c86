"""Queries for the recusal of board members (R21): which cases and stakes a member may read and judge.

All access of members to cases goes through `cases_seen_by`, to awards through `stakes_seen_by`. A member is recused
from a case if a conflict with a team of the case was in force at any time from its opening to its closing. A conflict
that ends meanwhile does not reopen the case to the member; a dismissed one does not count. Merged teams are one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from contest.board.models import CaseParty, Disclosure
from contest.core.conflicts import board_members, conflicts_in_force
from contest.core.models import Case, ConflictOfInterest, Stake, Team
from contest.core.teams import final_team, teams_counted_together
from policy.numbers import Policy

# How long a member's disclosure of no conflict with a team is valid.
DISCLOSURE_VALID_FOR = timedelta(days=30)
# Far enough back to be before everything.
EVER = datetime(2000, 1, 1, tzinfo=UTC)


def _cases_of_conflict(conflict: ConflictOfInterest) -> Q:
    """Return the condition for cases from which a conflict recuses its member."""
    parties = CaseParty.objects.filter(case=OuterRef("pk"), team__in=teams_counted_together(conflict.team))
    still = Q(closed_at=None) | Q(closed_at__gte=conflict.since)
    before = Q() if conflict.until is None else Q(opened_at__lt=conflict.until)
    return Q(Exists(parties)) & still & before


def cases_seen_by(member: User) -> QuerySet[Case]:
    """Return the cases that a board member may know of, also for counts: all from which they are not recused."""
    cases = Case.objects.all()
    for conflict in conflicts_in_force([member]).select_related("team"):
        cases = cases.exclude(_cases_of_conflict(conflict))
    return cases


def recused_from(case: Case) -> set[int]:
    """Return the numbers of the accounts that are recused from a case."""
    parties = {each.pk for team in teams_of_case(case) for each in teams_counted_together(team)}
    rows = conflicts_in_force().filter(Q(until=None) | Q(until__gt=case.opened_at), team__in=parties)
    rows = rows.filter(since__lte=case.closed_at) if case.closed_at is not None else rows
    return set(rows.values_list("member", flat=True))


def teams_stepped_aside_for(member: User, *, now: datetime) -> set[int]:
    """Return the numbers of the teams for which a member is recused now, with all teams merged with them."""
    rows = conflicts_in_force([member]).filter(Q(until=None) | Q(until__gt=now)).select_related("team")
    return {each.pk for conflict in rows for each in teams_counted_together(conflict.team)}


def stakes_seen_by(member: User, *, now: datetime) -> QuerySet[Stake]:
    """Return the stakes whose award a member may know about: all but those whose defense belongs to, or that was paid
    by, a team for which the member is recused."""
    aside = teams_stepped_aside_for(member, now=now)
    return Stake.objects.exclude(defense__entry__team__in=aside).exclude(paid_by__in=aside)


def judges_for(case: Case) -> list[User]:
    """Return the board members who may decide a case: those who are not recused."""
    return list(board_members().exclude(pk__in=recused_from(case)))


def quorum_of(case: Case) -> int:
    """Return how many of them are needed to decide, by the policy under which the case was opened."""
    return Policy.from_json(case.policy.numbers).board_quorum


def teams_of_case(case: Case) -> list[Team]:
    """Return the teams that a case is about, as they are called now, each once."""
    teams = Team.objects.filter(case_parts__case=case).select_related("merged_into").order_by("case_parts__pk")
    return list({team.pk: team for team in map(final_team, teams)}.values())


# Disclosures: declaring no conflict ------------------------------------------------------------------------------


def undisclosed(case: Case, member: User) -> list[Team]:
    """Return the teams of a case for which the member's disclosure is missing; its content is closed until then."""
    known = disclosed([case], member)[case.pk]
    return [team for team in teams_of_case(case) if team.pk not in known]


def cases_undisclosed(cases: Sequence[Case], member: User) -> set[int]:
    """Return the numbers of these cases that wait for a disclosure of the member; in a few queries."""
    parties = CaseParty.objects.filter(case__in=cases).select_related("team__merged_into")
    told = disclosed(cases, member)
    return {each.case_id for each in parties if final_team(each.team).pk not in told[each.case_id]}


def disclosed(cases: Sequence[Case], member: User) -> dict[int, set[int]]:
    """Return case -> the teams with which the member declared no conflict, by number; merged ones as they are now.

    A disclosure is about a person and a team (R21), so it is valid for every case opened within `DISCLOSURE_VALID_FOR`,
    until a conflict with that team is recorded; but not for a team it was merged into.
    """
    since = min((case.opened_at for case in cases), default=EVER) - DISCLOSURE_VALID_FOR
    rows = Disclosure.objects.filter(Q(case__in=cases) | Q(made_at__gte=since), member=member)
    doubted = _doubted(member)
    known: dict[int, set[int]] = {case.pk: set() for case in cases}
    for said in rows.select_related("team__merged_into"):
        team = final_team(said.team).pk
        if doubted.get(team, EVER) > said.made_at:
            continue
        for case in cases:
            elsewhere = said.team_id == team and said.made_at >= case.opened_at - DISCLOSURE_VALID_FOR
            if said.case_id == case.pk or elsewhere:
                known[case.pk].add(team)
    return known


def _doubted(member: User) -> dict[int, datetime]:
    """Return team -> when the member's newest conflict with it was recorded, also if it ended or was dismissed."""
    rows = ConflictOfInterest.objects.filter(member=member).select_related("team__merged_into").order_by("declared_at")
    return {final_team(each.team).pk: each.declared_at for each in rows}
