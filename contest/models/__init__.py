"""The rows of the contest: teams, what they send, what breaks, what it is worth, and what is published."""

from contest.models.attacks import Attack, AttackTarget, NearDuplicate, PictureHash, QuotaDay
from contest.models.breaks import Break
from contest.models.decisions import BoardDecision
from contest.models.money import Account, LedgerEntry, Payment
from contest.models.releases import Release, ReleaseBuild
from contest.models.stakes import Award, Entry, Stake, StakeBatch
from contest.models.teams import (
    Association,
    Entitlement,
    Member,
    PastMember,
    SamePerson,
    Team,
    TeamInvitation,
    TeamMerge,
)

__all__ = [
    "Account",
    "Association",
    "Attack",
    "AttackTarget",
    "Award",
    "BoardDecision",
    "Break",
    "Entitlement",
    "Entry",
    "LedgerEntry",
    "Member",
    "NearDuplicate",
    "PastMember",
    "Payment",
    "PictureHash",
    "QuotaDay",
    "Release",
    "ReleaseBuild",
    "SamePerson",
    "Stake",
    "StakeBatch",
    "Team",
    "TeamInvitation",
    "TeamMerge",
]
