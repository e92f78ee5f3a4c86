"""Queries for cases, appeals, motions and conflicts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from adjudication.models import Ruling
from common.errors import NotFound, required
from contest.board.models import Affiliations, Appeal, AppealStatement, CaseParty, Vote
from contest.board.recusal import cases_seen_by, judges_for, quorum_of, stakes_seen_by, teams_of_case
from contest.core.decisions import rows_named
from contest.core.embargo import public_attacks, public_pictures
from contest.core.enums import CaseKind, CaseState
from contest.core.models import Attack, Case, ConflictOfInterest, Stake, Team
from contest.core.publication import released
from contest.core.roles import roles_of
from contest.core.teams import teams_counted_together
from contest.defenses.selectors import attacks_aimed_at
from contest.outbox.grouped_facts import senders_may_know
from contest.prizes.awards import shares_now
from contest.teams.models import Entitlement
from labeling.models import Image

# The list of cases ----------------------------------------------------------------------------------------------------


def cases_listed(member: User, *, state: str = "", kind: str = "", find: str = "") -> QuerySet[Case]:
    """Return the cases of a state (empty: all) that fit: first open ones that wait for the member's vote, then by
    deadline; closed ones with the newest first. `my_choice` of each is the member's newest vote."""
    mine = Vote.objects.filter(case=OuterRef("pk"), member=member)
    rows = _fitting(member, kind, find).annotate(
        voted=Exists(mine), my_choice=Subquery(mine.order_by("-pk").values("choice")[:1])
    )
    rows = rows.filter(state=state) if state else rows
    order = ("-closed_at", "-pk") if state == CaseState.CLOSED else ("voted", "due_at", "pk")
    return rows.select_related("image", "decision").order_by(*order)


def _fitting(member: User, kind: str, find: str) -> QuerySet[Case]:
    """Return the cases of a kind (empty: both) that have this ID, or whose subject has it (empty: all)."""
    rows = cases_seen_by(member)
    rows = rows.filter(kind=kind) if kind else rows
    if not find:
        return rows
    named = Appeal.objects.filter(public_id__iexact=find).values("case")
    about = CaseParty.objects.filter(Q(team__public_id__iexact=find) | Q(team__name__iexact=find)).values("case")
    ids = Q(public_id__iexact=find) | Q(image__public_id__iexact=find)
    return rows.filter(ids | Q(pk__in=named) | Q(pk__in=about))


def count_by_state(member: User, *, kind: str = "", find: str = "") -> dict[str, int]:
    """Return how many cases of each state fit; `all` of them together."""
    counts = Counter(_fitting(member, kind, find).values_list("state", flat=True))
    return {state: counts[state] for state in map(str, CaseState)} | {"all": counts.total()}


def to_vote_on(member: User) -> QuerySet[Case]:
    """Return the open cases that wait for the member's vote, the first due first."""
    mine = Vote.objects.filter(case=OuterRef("pk"), member=member)
    return cases_seen_by(member).filter(~Exists(mine), state=CaseState.OPEN).order_by("due_at", "pk")


def neighbouring_cases(case: Case, member: User) -> tuple[Case | None, Case | None]:
    """Return the open cases before and after this one by deadline, as far as the member may know of them."""
    rows = cases_seen_by(member).filter(state=CaseState.OPEN).exclude(pk=case.pk)
    before = rows.filter(Q(due_at__lt=case.due_at) | Q(due_at=case.due_at, pk__lt=case.pk))
    after = rows.filter(Q(due_at__gt=case.due_at) | Q(due_at=case.due_at, pk__gt=case.pk))
    return before.order_by("-due_at", "-pk").first(), after.order_by("due_at", "pk").first()


def cases_not_closed(member: User) -> set[int]:
    """Return the cases that are not closed and that the member may know of, by number."""
    return set(cases_seen_by(member).exclude(state=CaseState.CLOSED).values_list("pk", flat=True))


@dataclass(frozen=True, slots=True)
class ShortOfJudges:
    """An open case with too few members left to judge it, those members, and how many it needs."""

    case: Case
    left: int
    needed: int


def cases_short_of_judges() -> list[ShortOfJudges]:
    """Return the open cases that still have too few members, after organizers got a message about them (R21)."""
    waiting = Case.objects.filter(state=CaseState.OPEN, told_at__isnull=False).select_related("policy").order_by("pk")
    found = [ShortOfJudges(each, len(judges_for(each)), quorum_of(each)) for each in waiting]
    return [each for each in found if each.left < each.needed]


# A case, and what teams say in it -------------------------------------------------------------------------------------


def parties_of(case: Case) -> list[CaseParty]:
    """Return the parties of a case, the newest first: a team's first role comes last."""
    return list(CaseParty.objects.filter(case=case).select_related("team__merged_into").order_by("-pk"))


def appeals_of_case(case: Case) -> QuerySet[Appeal]:
    """Return the appeals of a case in the order in which they came."""
    return Appeal.objects.filter(case=case).select_related("team", "defense", "ruling").order_by("sent_at", "pk")


def other_appeals(appeal: Appeal, member: User) -> QuerySet[Appeal]:
    """Return the other appeals of the team that sent one, in the cases that the member may know of."""
    others = Appeal.objects.filter(team__in=teams_counted_together(appeal.team), case__in=cases_seen_by(member))
    return others.exclude(pk=appeal.pk).select_related("case__ruling", "case__result")


def statements_of_case(case: Case) -> list[AppealStatement]:
    """Return the answers of teams of the other side in a case, in the order in which they came."""
    return list(AppealStatement.objects.filter(case=case).select_related("team").order_by("sent_at", "pk"))


# A picture, in its cases ----------------------------------------------------------------------------------------------


def cases_on(image: Image, member: User) -> QuerySet[Case]:
    """Return the cases of a picture that the member may know of, with what was decided."""
    return cases_seen_by(member).filter(image=image).select_related("decision", "ruling")


def appeals_on(image: Image, *, within: QuerySet[Case]) -> QuerySet[Appeal]:
    """Return the appeals against rulings on a picture in these cases."""
    return Appeal.objects.filter(image=image, case__in=within).select_related("team", "case", "defense", "ruling")


def statements_on(image: Image, *, within: QuerySet[Case]) -> QuerySet[AppealStatement]:
    """Return the answers of teams of the other side about a picture in these cases."""
    return AppealStatement.objects.filter(case__image=image, case__in=within).select_related("team", "case")


def closed_cases_like(case: Case, ruling: Ruling, member: User) -> QuerySet[Case]:
    """Return the other closed cases, on rulings with the same verdict, that the member may know of; newest first."""
    rows = cases_seen_by(member).filter(kind=CaseKind.PICTURE, state=CaseState.CLOSED, ruling__verdict=ruling.verdict)
    return rows.exclude(pk=case.pk).select_related("ruling", "image", "decision", "result").order_by("-closed_at")


def pictures_open_to(member: User, among: Iterable[int], *, now: datetime) -> set[int]:
    """Return which of these pictures are public and in no case from which the member is recused (R21, R24)."""
    aside = Case.objects.exclude(pk__in=cases_seen_by(member).values("pk")).filter(image__isnull=False)
    shown = public_pictures(now=now).filter(pk__in=list(among))
    return set(shown.exclude(pk__in=aside.values("image")).values_list("pk", flat=True))


# Motions --------------------------------------------------------------------------------------------------------------


def grant_of_motion(motion: Case) -> Entitlement | None:
    """Return the grant that a motion would revoke, with the decision that gave it; None for any other motion."""
    return Entitlement.objects.filter(pk=motion.details.get("grant", 0)).select_related("decision").first()


def sums_of_motion(motion: Case) -> list[tuple[Stake, int]]:
    """Return the stakes of a motion for an award, each with the cents that it would get of the present defenders'
    half."""
    stakes = rows_named(motion.subject, Stake).select_related("defense__entry__team").order_by("pk")
    shares = shares_now(stakes)
    return [(each, shares.get(each.pk, 0)) for each in stakes]


# Conflicts ------------------------------------------------------------------------------------------------------------


def conflicts_of(member: User) -> QuerySet[ConflictOfInterest]:
    """Return every recorded conflict of a member, also those that ended or were dismissed."""
    return ConflictOfInterest.objects.filter(member=member)


def conflicts_on_record(*, over: bool | None, find: str) -> QuerySet[ConflictOfInterest]:
    """Return the conflicts of all members, newest first: those that are `over`, those in force, or all for None. With
    `find` only those of the team with this ID, and of teams and members with `find` in their name."""
    rows = ConflictOfInterest.objects.select_related("member", "team", "declared_by", "dismissed_by").order_by("-pk")
    ended = Q(dismissed_at__isnull=False) | Q(until__isnull=False)
    if over is not None:
        rows = rows.filter(ended) if over else rows.exclude(ended)
    if not find:
        return rows
    team = Q(team__public_id__iexact=find) | Q(team__name__icontains=find)
    return rows.filter(team | Q(member__username__icontains=find))


def ties_of(member: User) -> Affiliations | None:
    """Return the affiliations that a member declared, None before they did."""
    return Affiliations.objects.filter(member=member).first()


# Stakes, and how their award stands -----------------------------------------------------------------------------------


def stakes_visible_to(reviewer: User, *, now: datetime) -> QuerySet[Stake]:
    """Return the stakes whose award a reader may know about: all for an organizer; for a board member those of teams
    for which they are not recused (R21)."""
    return Stake.objects.all() if roles_of(reviewer).organizer else stakes_seen_by(reviewer, now=now)


def begun_stake_visible_to(reviewer: User, number: int, *, now: datetime) -> Stake:
    """Return the stake with this number whose money was received; NotFound for one that the reader may not know of, as
    for one that is not there (R21)."""
    rows = stakes_visible_to(reviewer, now=now).filter(pk=number, staked_at__isnull=False)
    stake = rows.select_related("defense__entry__team", "paid_by", "batch").first()
    return required(stake, NotFound("There is no stake with this number.", "not_found"))


# Which teams may know of a case ---------------------------------------------------------------------------------------

# Those that may know of the picture's ruling (R24, R29). A case has more parties than may know of it, so that nobody
# judges a team with which they have a conflict (R21): teams that sent a copy know rulings no earlier than everybody
# else, and owners of a broken defense learn by which picture only with its release. Before that, neither of them gets
# messages or pages about the case, nor may answer in it.


def cases_visible_to(team: Team, *, now: datetime) -> QuerySet[Case]:
    """Return the cases about pictures that have a team, or one merged into it, as party and that it may know of: those
    that it appealed, in this case or another, or sent first, or that were aimed at its defenses, and all once
    released."""
    together = teams_counted_together(team)
    party = CaseParty.objects.filter(case=OuterRef("pk"), team__in=together)
    appealed = Appeal.objects.filter(image=OuterRef("image"), team__in=together)
    rows = Case.objects.filter(Exists(party), kind=CaseKind.PICTURE)
    return rows.filter(Exists(appealed) | released("image__") | _pictures_of_informed_teams(together, now))


def teams_informed(case: Case, *, now: datetime) -> list[Team]:
    """Return the parties of a picture's case that may know of it."""
    return [team for team in teams_of_case(case) if cases_visible_to(team, now=now).filter(pk=case.pk).exists()]


def _pictures_of_informed_teams(teams: Sequence[Team], now: datetime) -> Q:
    """Condition for cases on pictures that the teams sent first, or that were aimed at them and of which they sent no
    copy."""
    sent = Attack.objects.filter(senders_may_know(now=now), team__in=teams).values("image")
    own = Attack.objects.filter(team__in=teams, withdrawn_at=None).values("image")
    aimed = public_attacks(now=now).filter(attacks_aimed_at(teams)).values("image")
    return Q(image__in=sent) | (Q(image__in=aimed) & ~Q(image__in=own))
