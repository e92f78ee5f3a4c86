"""The rows of the contest: teams, what they send, what breaks, what it is worth, and what is published."""

from contest.models.attacks import Attack, AttackTarget, NearDuplicate, PictureHash, QuotaDay
from contest.models.breaks import Break
from contest.models.decisions import BoardDecision
from contest.models.leaderboard import Leaderboard, LeaderboardCheck
from contest.models.letters import TeamLetter
from contest.models.money import Account, Correction, LedgerEntry, Payment
from contest.models.releases import Announcement, Release, ReleaseBuild, ReleaseLetter, Subscriber
from contest.models.stakes import Award, Entry, Examination, Stake, StakeBatch, StakeChange
from contest.models.teams import (
    Association,
    AssociationMistake,
    Entitlement,
    EntitlementStep,
    Member,
    PastMember,
    SamePerson,
    Team,
    TeamInvitation,
    TeamMerge,
)

__all__ = [
    "Account",
    "Announcement",
    "Association",
    "AssociationMistake",
    "Attack",
    "AttackTarget",
    "Award",
    "BoardDecision",
    "Break",
    "Correction",
    "Entitlement",
    "EntitlementStep",
    "Entry",
    "Examination",
    "Leaderboard",
    "LeaderboardCheck",
    "LedgerEntry",
    "Member",
    "NearDuplicate",
    "PastMember",
    "Payment",
    "PictureHash",
    "QuotaDay",
    "Release",
    "ReleaseBuild",
    "ReleaseLetter",
    "SamePerson",
    "Stake",
    "StakeBatch",
    "StakeChange",
    "Subscriber",
    "Team",
    "TeamInvitation",
    "TeamLetter",
    "TeamMerge",
]
