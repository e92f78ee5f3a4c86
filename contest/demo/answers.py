"""Submits answers as the demo's taskers."""

from datetime import datetime
from typing import Any

from labeling.models import Assignment, Tasker
from labeling.submission import response_submit
from policy.selectors import policy_at


def answer(tasker: Tasker, assignment: Assignment, said: dict[str, Any], now: datetime) -> None:
    """Submit a tasker's answer about a photograph."""
    response_submit(
        tasker=tasker,
        assignment_id=assignment.public_id,
        lease_token=assignment.lease_token,
        data={name: value for name, value in said.items() if value is not None or name == "outline"},
        policy_at=policy_at,
        now=now,
    )
