"""The rows of the contest: teams, what they send, what breaks, what it is worth, and what is published."""

from contest.models.attacks import Attack, AttackTarget, NearDuplicate, PictureHash, QuotaDay
from contest.models.board import (
    Appeal,
    Case,
    CaseDecision,
    CaseParty,
    Conflict,
    Disclosure,
    Statement,
    Ties,
    Vote,
)
from contest.models.breaks import Break
from contest.models.decisions import BoardDecision
from contest.models.leaderboard import Leaderboard, LeaderboardCheck
from contest.models.messages import Digest, Message, MessagePreference, Told
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
    "Appeal",
    "Association",
    "AssociationMistake",
    "Attack",
    "AttackTarget",
    "Award",
    "BoardDecision",
    "Break",
    "Case",
    "CaseDecision",
    "CaseParty",
    "Conflict",
    "Correction",
    "Digest",
    "Disclosure",
    "Entitlement",
    "EntitlementStep",
    "Entry",
    "Examination",
    "Leaderboard",
    "LeaderboardCheck",
    "LedgerEntry",
    "Member",
    "Message",
    "MessagePreference",
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
    "Statement",
    "Subscriber",
    "Team",
    "TeamInvitation",
    "TeamMerge",
    "Ties",
    "Told",
    "Vote",
]
