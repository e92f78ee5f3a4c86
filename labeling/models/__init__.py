"""The tables of labeling, one file for each part of the story."""

from accounts.models import AccountRole, Invitation
from labeling.models.asking import Question, Report
from labeling.models.learning import (
    InstructionVersion,
    KnownPicture,
    LessonSeen,
    QualificationAttempt,
    QualificationItem,
)
from labeling.models.panels import Assignment, Image, Panel, Place, Response, Tasker
from labeling.models.watching import (
    GoldFlag,
    GoldMark,
    Notice,
    StateChange,
    TaskerLink,
    VoidedResponse,
    Voiding,
    WatchEvent,
    WatchRule,
)
from policy.models import PolicyVersion

__all__ = [
    "AccountRole",
    "Assignment",
    "GoldFlag",
    "GoldMark",
    "Image",
    "InstructionVersion",
    "Invitation",
    "KnownPicture",
    "LessonSeen",
    "Notice",
    "Panel",
    "Place",
    "PolicyVersion",
    "QualificationAttempt",
    "QualificationItem",
    "Question",
    "Report",
    "Response",
    "StateChange",
    "Tasker",
    "TaskerLink",
    "VoidedResponse",
    "Voiding",
    "WatchEvent",
    "WatchRule",
]
