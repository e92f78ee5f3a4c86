"""Records decisions of the review board on stakes, grants, withholding and awards (R21).

Each decision follows from a motion that the board carried by its votes. A service that acts for the board needs a
mandate, which names the motion; `record_decision` records what the service did by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, QuerySet

from common.audit.trail import Subject as AuditSubject
from common.audit.trail import audit
from common.errors import NotAllowed
from common.typed import clean_words
from contest.core.enums import CaseState, DecisionKind
from contest.core.models import BoardDecision, Case
from policy.selectors import policy_in_force

MAX_REASON_CHARACTERS = 4_000
Subject = Mapping[str, Sequence[int]]
_Row = TypeVar("_Row", bound=Model)


def rows_named(subject: Subject, table: type[_Row]) -> QuerySet[_Row]:
    """Return the rows of a table that a motion or a decision is about."""
    return table._default_manager.filter(pk__in=subject.get(str(table._meta.model_name), ()))


@dataclass(frozen=True, slots=True)
class MotionMandate:
    """Proof that most votes were for a motion: `motion` is its case, `member` confirmed the count.

    Made in `contest.board.motion_handlers` alone, in the transaction that closes the case.
    """

    motion: Case
    member: User


@transaction.atomic
def record_decision(
    kind: DecisionKind, *, subject: Subject, reason: str, by: MotionMandate, now: datetime, **details: Any
) -> BoardDecision:
    """Record what the board decided; `subject` names rows by table (`{"defense": [3]}`), `details` are stored with it.

    Raises NotAllowed (`no_mandate`) for a motion of another kind or one that is decided already, InvalidInput without a
    reason: it is public.
    """
    if by.motion.motion != kind or by.motion.state != CaseState.OPEN:
        raise NotAllowed("The board decides this by its votes, once.", "no_mandate")
    ask = "Give the reason: it is published with the decision."
    said = clean_words(reason, field="reason", ask=ask, max_length=MAX_REASON_CHARACTERS)
    decision = BoardDecision.objects.create(
        kind=kind,
        subject={table: sorted(rows) for table, rows in subject.items()},
        details=details,
        reason=said,
        policy_id=policy_in_force(now).id,
        decided_by=by.member,
        decided_at=now,
        case=by.motion,
    )
    about: AuditSubject = {"decision": [decision.pk], "case": [by.motion.public_id]}
    audit("board.decide", by=by.member, subject=about, why=said, now=now, public={"kind": str(kind)}, published=True)
    return decision
