"""The models of labeling."""

from labeling.models.asking import Question, Report
from labeling.models.learning import (
    InstructionVersion,
    KnownPicture,
    LessonSeen,
    QualificationAttempt,
    QualificationItem,
)
from labeling.models.monitoring import (
    GoldMark,
    MonitoringEvent,
    MonitoringRule,
    Notice,
    StateChange,
    VoidedResponse,
    Voiding,
)
from labeling.models.panels import Assignment, Draft, Image, Panel, PanelPlace, Response, Tasker

__all__ = [
    "Assignment",
    "Draft",
    "GoldMark",
    "Image",
    "InstructionVersion",
    "KnownPicture",
    "LessonSeen",
    "Notice",
    "Panel",
    "PanelPlace",
    "QualificationAttempt",
    "QualificationItem",
    "Question",
    "Report",
    "Response",
    "StateChange",
    "Tasker",
    "VoidedResponse",
    "Voiding",
    "MonitoringEvent",
    "MonitoringRule",
]
