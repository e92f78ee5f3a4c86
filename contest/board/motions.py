"""Services for motions on stakes, grants, withholding and awards: opening, listing and dropping them (R21).

A motion stores what it requests as plain values in its case; `motion_handlers` carries it out once most votes are for
it, in the transaction that decides. Where the service of its kind refuses, nothing is decided and the case stays open.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.roles import is_on_board
from common.audit.trail import audit
from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict, NotAllowed
from common.typed import clean_words, validate_text
from contest.board.cases import MIN_TEXT, count_fields, count_of, disclose, lock_case, motion_case, vote_cast
from contest.board.models import CaseDecision
from contest.board.motion_handlers import dry_run
from contest.board.recusal import recused_from, teams_of_case
from contest.core.decisions import MAX_REASON_CHARACTERS, rows_named
from contest.core.enums import CaseKind, CaseOutcome, CaseState, DecisionKind, VoteChoice
from contest.core.models import Award, Case, Stake, Team
from contest.defenses.selectors import owner_of
from contest.defenses.stake_ends import lock_defenses
from contest.defenses.staking import ASK_CRITERIA, MAX_STATEMENT_CHARACTERS
from contest.ledger.models import Account
from contest.ledger.services import MAX_ENTRY_CHARACTERS
from contest.ledger.withholding import subject_of
from contest.prizes.awards import ASK_STATEMENT
from contest.prizes.checklist import sharing
from contest.teams.models import Entitlement
from policy.selectors import policy_in_force
from scoring.models import Defense

ASK_REASON = "Give the reason: it is published with the decision."


@retry_on_deadlock
@transaction.atomic
def motion_open(
    kind: DecisionKind,
    *,
    subject: Mapping[str, Iterable[int]],
    reason: str,
    by: User,
    now: datetime,
    **details: Any,
) -> Case:
    """Open a motion that the board does something, with the mover's vote for it. `subject` names rows by table,
    `details` are further values of the motion, as JSON.

    Raises NotAllowed for accounts not on the board and members recused for a team of the motion, InvalidInput for a
    reason that says too little, Conflict (`moved`) while the same motion is open, and errors of carrying it out now.
    """
    if not is_on_board(by):
        raise NotAllowed("Only members of the review board decide this.", "not_on_board")
    said = validate_text(reason, field="reason", ask=ASK_REASON, minimum=MIN_TEXT, max_length=MAX_REASON_CHARACTERS)
    rows = {table: sorted(numbers) for table, numbers in subject.items()}
    teams = teams_concerned(rows)
    _hold(teams, rows)
    case = motion_case(motion=kind, subject=rows, details=details, reason=said, teams=teams, by=by, now=now)
    if by.pk in recused_from(case):
        raise NotAllowed("You step aside for a team that this is about, and move nothing about it.", "recused")
    _refuse_second_motion(case)
    disclose(case=case, teams=[team.public_id for team in teams_of_case(case)], by=by, now=now)
    vote_cast(case=case, by=by, choice=VoteChoice.IN_FAVOUR, now=now)
    dry_run(case, by=by, now=now)
    return case


def _hold(teams: Iterable[Team], rows: Mapping[str, Iterable[int]]) -> None:
    """Lock teams and then defenses, always in the same order: of two simultaneous equal motions the second finds the
    first, also if no team owns its subject."""
    held = Team.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=[team.pk for team in teams])
    list(held.order_by("pk").values_list("pk", flat=True))
    lock_defenses(rows.get("defense", ()))


def _refuse_second_motion(case: Case) -> None:
    """Refuse a second motion about the same while one is open."""
    if any(each.subject == case.subject for each in motions_open(DecisionKind(case.motion)).exclude(pk=case.pk)):
        raise Conflict(
            "A motion about the same is open already. Vote on that one, or wait until it is decided.", "moved"
        )


def motions_open(*kinds: DecisionKind) -> QuerySet[Case]:
    """Return the motions of these kinds (of all, without any) that the board still votes on, the oldest first."""
    rows = Case.objects.filter(kind=CaseKind.MOTION, state=CaseState.OPEN)
    return (rows.filter(motion__in=kinds) if kinds else rows).order_by("opened_at", "pk")


def teams_concerned(subject: Mapping[str, Sequence[int]]) -> list[Team]:
    """Return the teams that rows concern: the teams themselves, owners of the defenses, and payers of the stakes."""
    if "team" in subject:
        return list(rows_named(subject, Team).order_by("pk"))
    owners = (owner_of(each) for each in defenses_concerned(subject).order_by("pk"))
    paid = Team.objects.filter(stakes_paid__in=subject.get("stake", ())).order_by("pk")
    return [team for team in (*owners, *paid) if team is not None]


def defenses_concerned(subject: Mapping[str, Sequence[int]]) -> QuerySet[Defense]:
    """Return the defenses that rows name, directly or by their stakes or awards."""
    named = Q(pk__in=subject.get("defense", ())) | Q(stakes__in=subject.get("stake", ()))
    return Defense.objects.filter(named | Q(stakes__award__in=subject.get("award", ()))).distinct()


@transaction.atomic
def motion_drop(*, case: Case, by: User, now: datetime) -> CaseDecision:
    """Let the mover take an open motion back; the motion and its votes stay on record.

    NotAllowed (`not_yours`) for others, and errors as `lock_case`.
    """
    held = lock_case(by, case.public_id, now=now)
    if held.kind != CaseKind.MOTION or held.opened_by_id != by.pk:
        raise NotAllowed("Only who moved this takes it back. Vote against it instead.", "not_yours")
    made = CaseDecision.objects.create(
        case=held,
        outcome=CaseOutcome.DROPPED,
        **count_fields(count_of(held)),
        policy_id=policy_in_force(now).id,
        confirmed_by=by,
        decided_at=now,
    )
    held.state, held.closed_at = CaseState.CLOSED, now
    held.save(update_fields=["state", "closed_at"])
    audit("case.drop", by=by, subject={"case": [held.public_id]}, now=now)
    return made


# Motions of each kind -------------------------------------------------------------------------------------------------

# Each stores rows and values, from which `contest.board.motion_handlers` makes the call of the service. All take the
# mover and the public reason, return the open case, and raise what `motion_open` raises.


def stakes_move(defenses: Sequence[Defense], criteria: str, reason: str, *, by: User, now: datetime) -> Case:
    """Open a motion to stake defenses together, by criteria that are published (R32)."""
    said = clean_words(criteria, field="criteria", ask=ASK_CRITERIA, max_length=MAX_STATEMENT_CHARACTERS)
    subject = {"defense": [each.pk for each in defenses]}
    return motion_open(DecisionKind.STAKE, subject=subject, reason=reason, by=by, now=now, criteria=said)


def answer_move(stake: Stake, *, granted: bool, reason: str, by: User, now: datetime) -> Case:
    """Open a motion to grant or refuse a team's request to get its defense back (R32)."""
    subject = {"stake": [stake.pk], "defense": [stake.defense_id]}
    return motion_open(DecisionKind.RETURN, subject=subject, reason=reason, by=by, now=now, granted=granted)


def end_move(stake: Stake, *, reason: str, by: User, now: datetime) -> Case:
    """Open a motion to end a stake of the board that lost the race (R36)."""
    subject = {"stake": [stake.pk], "defense": [stake.defense_id]}
    return motion_open(DecisionKind.END, subject=subject, reason=reason, by=by, now=now)


def grant_move(team: Team, *, reason: str, by: User, now: datetime) -> Case:
    """Open a motion to let a team attack without a paper (R25)."""
    return motion_open(DecisionKind.GRANT, subject={"team": [team.pk]}, reason=reason, by=by, now=now)


def revoke_move(grant: Entitlement, *, reason: str, by: User, now: datetime) -> Case:
    """Open a motion to revoke a grant (R25)."""
    subject = {"team": [grant.team_id]}
    return motion_open(DecisionKind.REVOKE, subject=subject, reason=reason, by=by, now=now, grant=grant.pk)


def award_move(stake: Stake, *, statement: str, reason: str, by: User, now: datetime) -> Case:
    """Open a motion to award the prize to a stake and those that share it, with a public statement (R36)."""
    said = clean_words(statement, field="statement", ask=ASK_STATEMENT, max_length=MAX_ENTRY_CHARACTERS)
    group = sharing(stake, now=now)
    subject = {"stake": [each.pk for each in group], "defense": [each.defense_id for each in group]}
    told = {"statement": said, "stake": stake.pk}
    return motion_open(DecisionKind.AWARD, subject=subject, reason=reason, by=by, now=now, **told)


def withhold_move(of: Account, cents: int, *, reason: str, by: User, now: datetime, team: Team | None = None) -> Case:
    """Open a motion to withhold money of a team's account, or of the share of `team` of a stake (R38)."""
    return motion_open(DecisionKind.WITHHOLD, subject=subject_of(of, team), reason=reason, by=by, now=now, cents=cents)


def return_move(
    of: Account, *, reason: str, by: User, now: datetime, team: Team | None = None, award: Award | None = None
) -> Case:
    """Open a motion to return money withheld of a team, an award, or the share of `team` of a stake (R38)."""
    return motion_open(DecisionKind.RETURN, subject=subject_of(of, team, award), reason=reason, by=by, now=now)


def award_withhold_move(award: Award, *, reason: str, by: User, now: datetime) -> Case:
    """Open a motion to withhold what is left of an award (R38)."""
    return motion_open(DecisionKind.WITHHOLD, subject={"award": [award.pk]}, reason=reason, by=by, now=now)


def forfeit_move(award: Award, *, reason: str, by: User, now: datetime) -> Case:
    """Open a motion to forfeit the withheld money of an award for good (R38)."""
    return motion_open(DecisionKind.FORFEIT, subject={"award": [award.pk]}, reason=reason, by=by, now=now)
