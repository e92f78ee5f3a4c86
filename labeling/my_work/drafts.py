"""Drafts of forms that are not submitted yet: they follow a tasker from one browser to another.

A browser numbers each change of a form (its revision), and sends with it the revision of the draft that it began from.
It never replaces another browser's draft that it has not seen: it receives that draft instead.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from common.errors import Conflict, InvalidInput
from labeling.enums import AssignmentState
from labeling.leases import own_assignment
from labeling.models import Assignment, Draft, Tasker

# As long as a browser keeps its own drafts.
KEPT_FOR = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class SentDraft:
    """What a browser sends: its name, the number of the change, the number of the draft it began from, and the form."""

    browser: UUID
    revision: int
    base: int
    form: Mapping[str, Any]


@transaction.atomic
def draft_keep(
    *,
    tasker: Tasker,
    assignment_id: UUID,
    lease_token: str,
    sent: SentDraft,
    now: datetime,
) -> Draft | None:
    """Store a draft if it follows the stored one; return the draft that is stored now.

    Revision 0 stores nothing and returns the stored draft; None without one. NotFound for another tasker's picture;
    Conflict (`wrong_token`, `already_answered`); InvalidInput for a number that JSON does not have.
    """
    assignment = own_assignment(tasker, assignment_id, lease_token, lock=_own_assignment)
    if assignment.state == AssignmentState.ANSWERED:
        raise Conflict(_("This picture is answered: its draft is not kept."), "already_answered")
    if sent.revision:
        changed = {"browser": sent.browser, "revision": sent.revision, "form": _text(sent.form), "saved_at": now}
        seen = Q(browser=sent.browser) | Q(revision__lte=sent.base)
        older = Draft.objects.filter(seen, assignment=assignment, revision__lt=sent.revision)
        if not older.update(**changed):
            Draft.objects.bulk_create([Draft(assignment=assignment, **changed)], ignore_conflicts=True)
            # Another browser may have stored an older draft a moment before.
            older.update(**changed)
    return Draft.objects.filter(assignment=assignment).first()


def _text(form: Mapping[str, Any]) -> str:
    try:
        return json.dumps(form, allow_nan=False)
    except ValueError:
        raise InvalidInput(_("Send only numbers that JSON has."), "invalid", field="form") from None


def _own_assignment(tasker: Tasker, assignment_id: UUID) -> Assignment | None:
    return Assignment.objects.filter(public_id=assignment_id, tasker=tasker).first()


def draft_of(assignment: Assignment, *, now: datetime) -> Draft | None:
    """Return the draft of an assignment that is claimed at `now`; None, without a query, on the first claim."""
    if assignment.leased_at >= now:
        return None
    return Draft.objects.filter(assignment=assignment).first()


def drafts_remove(*, now: datetime) -> int:
    """Remove the drafts of answered pictures and those that nobody has changed for KEPT_FOR; return how many."""
    over = Q(assignment__state=AssignmentState.ANSWERED) | Q(saved_at__lt=now - KEPT_FOR)
    return Draft.objects.filter(over).delete()[0]
