"""Recusal of board members (R21). All access of members to cases goes through `cases_seen_by`, to awards through
`stakes_seen_by`.

A member is recused from a case while a conflict with a team that the case is about was in force at any time since it
was opened, until it was closed. A conflict that ends meanwhile does not reopen the case to the member; one that was
dismissed counts for nothing. Teams that were merged are one.
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

# For how long a member's word that nothing ties them to a team is valid.
DISCLOSURE_VALID_FOR = timedelta(days=30)
# Far enough back to be before everything.
EVER = datetime(2000, 1, 1, tzinfo=UTC)


def _cases_of_conflict(conflict: ConflictOfInterest) -> Q:
    """Return the cases that a conflict is with, as a condition."""
    parties = CaseParty.objects.filter(case=OuterRef("pk"), team__in=teams_counted_together(conflict.team))
    still = Q(closed_at=None) | Q(closed_at__gte=conflict.since)
    before = Q() if conflict.until is None else Q(opened_at__lt=conflict.until)
    return Q(Exists(parties)) & still & before


def cases_seen_by(member: User) -> QuerySet[Case]:
    """Return the cases that a member of the board may know of: all but those they step aside from, counts included."""
    cases = Case.objects.all()
    for conflict in conflicts_in_force([member]).select_related("team"):
        cases = cases.exclude(_cases_of_conflict(conflict))
    return cases


def recused_from(case: Case) -> set[int]:
    """Return who steps aside from a case, by account."""
    parties = {each.pk for team in teams_of_case(case) for each in teams_counted_together(team)}
    rows = conflicts_in_force().filter(Q(until=None) | Q(until__gt=case.opened_at), team__in=parties)
    rows = rows.filter(since__lte=case.closed_at) if case.closed_at is not None else rows
    return set(rows.values_list("member", flat=True))


def teams_stepped_aside_for(member: User, *, now: datetime) -> set[int]:
    """Return the teams for which a member steps aside in what is moved now, by number; merged ones are all there."""
    rows = conflicts_in_force([member]).filter(Q(until=None) | Q(until__gt=now)).select_related("team")
    return {each.pk for conflict in rows for each in teams_counted_together(conflict.team)}


def stakes_seen_by(member: User, *, now: datetime) -> QuerySet[Stake]:
    """Return the stakes of which a member may know how their award stands: all but those of teams that they step aside
    for, which own the defense or paid for the stake."""
    aside = teams_stepped_aside_for(member, now=now)
    return Stake.objects.exclude(defense__entry__team__in=aside).exclude(paid_by__in=aside)


def judges_for(case: Case) -> list[User]:
    """Return the members of the board who may decide a case: those who do not step aside."""
    return list(board_members().exclude(pk__in=recused_from(case)))


def quorum_of(case: Case) -> int:
    """Return how many of them it takes: by the policy that the case was opened under."""
    return Policy.from_json(case.policy.numbers).board_quorum


def teams_of_case(case: Case) -> list[Team]:
    """Return the teams that a case is about, as they are called now, each once."""
    teams = Team.objects.filter(case_parts__case=case).select_related("merged_into").order_by("case_parts__pk")
    return list({team.pk: team for team in map(final_team, teams)}.values())


# Saying of a team that nothing ties one ------------------------------------------------------------------------------


def undisclosed(case: Case, member: User) -> list[Team]:
    """Return the teams of a case of which a member did not say yet that nothing ties them: its content waits for it."""
    known = disclosed([case], member)[case.pk]
    return [team for team in teams_of_case(case) if team.pk not in known]


def cases_undisclosed(cases: Sequence[Case], member: User) -> set[int]:
    """Return which of these cases still wait for the member's word about a team, by number; in a few queries."""
    parties = CaseParty.objects.filter(case__in=cases).select_related("team__merged_into")
    told = disclosed(cases, member)
    return {each.case_id for each in parties if final_team(each.team).pk not in told[each.case_id]}


def disclosed(cases: Sequence[Case], member: User) -> dict[int, set[int]]:
    """Return by case the teams of which a member said that nothing ties them, by number; merged ones as they are now.

    It is said of a person and a team (R21), so it is valid for every case that is opened within `DISCLOSURE_VALID_FOR`,
    until a conflict with that team comes on record; not for a team it was merged into.
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
    """Return when the newest conflict of a member with a team came on record, whatever became of it."""
    rows = ConflictOfInterest.objects.filter(member=member).select_related("team__merged_into").order_by("declared_at")
    return {final_team(each.team).pk: each.declared_at for each in rows}
