"""Decisions of the board beside pictures: staking, grants, withholding, awards.

One recorded action of a board member with a reason. Who calls `decide` acts on what it returns, so that votes, quorum
and recusal can come between without a change elsewhere.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from common.errors import NotAllowed
from common.typed import words_said
from contest.enums import DecisionKind
from contest.models import BoardDecision
from labeling.people import is_on_board
from labeling.selectors import policy_in_force

MOST_REASON_CHARACTERS = 4_000
Subject = Mapping[str, Sequence[int]]


def decide(
    kind: DecisionKind, *, subject: Subject, reason: str, by: User, now: datetime, **details: Any
) -> BoardDecision:
    """Record what the board decided; `subject` names rows by table (`{"defense": [3]}`), `details` what about them.

    Raises NotAllowed for somebody who is not on the board, InvalidInput without a reason: it is public.
    """
    if not is_on_board(by):
        raise NotAllowed("Only members of the review board decide this.", "not_on_board")
    ask = "Give the reason: it is published with the decision."
    said = words_said(reason, field="reason", ask=ask, most=MOST_REASON_CHARACTERS)
    return BoardDecision.objects.create(
        kind=kind,
        subject={table: sorted(rows) for table, rows in subject.items()},
        details=details,
        reason=said,
        policy_id=policy_in_force(now).id,
        decided_by=by,
        decided_at=now,
    )
