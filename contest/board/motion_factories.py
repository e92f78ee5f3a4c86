"""Builds motions of each kind with the rows and values they store (R21).

`contest.board.motion_handlers` turns them into the services' calls again. All take the mover and the public reason,
return the open case, and raise what `motion_open` raises: also what the service of the kind would refuse now.
"""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User

from common.typed import clean_words
from contest.board.motions import motion_open
from contest.core.enums import DecisionKind
from contest.core.models import Award, Case, Stake, Team
from contest.defenses.staking import ASK_CRITERIA, LONGEST_WORDS
from contest.ledger.models import Account
from contest.ledger.services import MOST_WORDS
from contest.ledger.withholding import subject_of
from contest.prizes.awards import ASK_STATEMENT
from contest.prizes.checklist import sharing
from contest.teams.models import Entitlement
from scoring.models import Defense

# Stakes ---------------------------------------------------------------------------------------------------------------


def stakes_move(defenses: Sequence[Defense], criteria: str, reason: str, *, by: User, now: datetime) -> Case:
    """Move to stake defenses together, by criteria that are published (R32)."""
    said = clean_words(criteria, field="criteria", ask=ASK_CRITERIA, most=LONGEST_WORDS)
    subject = {"defense": [each.pk for each in defenses]}
    return motion_open(DecisionKind.STAKE, subject=subject, reason=reason, by=by, now=now, criteria=said)


def answer_move(stake: Stake, *, granted: bool, reason: str, by: User, now: datetime) -> Case:
    """Move what a team is answered that wants its defense back (R32)."""
    subject = {"stake": [stake.pk], "defense": [stake.defense_id]}
    return motion_open(DecisionKind.RETURN, subject=subject, reason=reason, by=by, now=now, granted=granted)


def end_move(stake: Stake, *, reason: str, by: User, now: datetime) -> Case:
    """Move to end a stake of the board that lost the race (R36)."""
    subject = {"stake": [stake.pk], "defense": [stake.defense_id]}
    return motion_open(DecisionKind.END, subject=subject, reason=reason, by=by, now=now)


# Grants ---------------------------------------------------------------------------------------------------------------


def grant_move(team: Team, *, reason: str, by: User, now: datetime) -> Case:
    """Move to let a team attack without a paper (R25)."""
    return motion_open(DecisionKind.GRANT, subject={"team": [team.pk]}, reason=reason, by=by, now=now)


def revoke_move(grant: Entitlement, *, reason: str, by: User, now: datetime) -> Case:
    """Move to take a grant back (R25)."""
    subject = {"team": [grant.team_id]}
    return motion_open(DecisionKind.REVOKE, subject=subject, reason=reason, by=by, now=now, grant=grant.pk)


# Prizes ---------------------------------------------------------------------------------------------------------------


def award_move(stake: Stake, *, statement: str, reason: str, by: User, now: datetime) -> Case:
    """Move to award the prize to a stake and to those that share it now, with a public statement (R36)."""
    said = clean_words(statement, field="statement", ask=ASK_STATEMENT, most=MOST_WORDS)
    group = sharing(stake, now=now)
    subject = {"stake": [each.pk for each in group], "defense": [each.defense_id for each in group]}
    told = {"statement": said, "stake": stake.pk}
    return motion_open(DecisionKind.AWARD, subject=subject, reason=reason, by=by, now=now, **told)


def withhold_move(of: Account, cents: int, *, reason: str, by: User, now: datetime, team: Team | None = None) -> Case:
    """Move to withhold money of a team, or of the share of `team` of a stake (R38)."""
    subject = subject_of(of, team)
    return motion_open(DecisionKind.WITHHOLD, subject=subject, reason=reason, by=by, now=now, cents=cents)


def return_move(
    of: Account, *, reason: str, by: User, now: datetime, team: Team | None = None, award: Award | None = None
) -> Case:
    """Move to give back what is withheld of a team, of an award, or of the share of `team` of a stake (R38)."""
    subject = subject_of(of, team, award)
    return motion_open(DecisionKind.RETURN, subject=subject, reason=reason, by=by, now=now)


def award_withhold_move(award: Award, *, reason: str, by: User, now: datetime) -> Case:
    """Move to withhold what is left of an award (R38)."""
    return motion_open(DecisionKind.WITHHOLD, subject={"award": [award.pk]}, reason=reason, by=by, now=now)


def forfeit_move(award: Award, *, reason: str, by: User, now: datetime) -> Case:
    """Move to take for good what is withheld of an award (R38)."""
    return motion_open(DecisionKind.FORFEIT, subject={"award": [award.pk]}, reason=reason, by=by, now=now)
