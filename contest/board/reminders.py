"""Reminders to board members of a case that is due or late (R19, R21)."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from accounts.roles import is_organizer
from common.audit.trail import audit
from common.errors import Conflict, NotAllowed, NotFound
from common.models import AuditEntry
from contest.board.case_messages import DUE_SOON, notify_case_remind
from contest.board.cases import count_of
from contest.board.recusal import judges_for
from contest.core.enums import CaseState
from contest.core.models import Case

# A case is reminded of once in this time.
PATIENCE = timedelta(days=1)
ACTION = "case.remind"


def reminded_lately(cases: Iterable[str], *, now: datetime) -> Mapping[str, datetime]:
    """Return public ID -> when members were reminded of it, for the cases that may not be reminded of again yet."""
    wanted = set(cases)
    rows = AuditEntry.objects.filter(action=ACTION, at__gt=now - PATIENCE).values_list("subject", "at")
    found = ((subject["case"][0], at) for subject, at in rows)
    return {public_id: at for public_id, at in found if public_id in wanted}


@transaction.atomic
def case_remind(*, public_id: str, by: User, now: datetime) -> list[User]:
    """Write to the members who may judge a case and did not vote yet; where all have, to them, as one of them is to
    confirm the count. Return whom. Who steps aside is told nothing.

    Raises NotAllowed for anybody but organizers, NotFound, and Conflict for a case that is decided (`decided`), not due
    within a day (`not_due`), was reminded of within a day (`reminded`), or has no member left (`nobody`).
    """
    if not is_organizer(by):
        raise NotAllowed("Only organizers remind the members.", "not_an_organizer")
    rows = Case.objects.select_for_update(of=("self",)).select_related("image", "policy")
    case = rows.filter(public_id=public_id).first() if public_id.isprintable() else None
    if case is None:
        raise NotFound("There is no such case.", "not_found")
    _refuse(case, now)
    judges, voted = judges_for(case), {vote.member_id for vote in count_of(case).votes}
    if not judges:
        words = "No member is left who may judge this case. See who steps aside, or let somebody join the board."
        raise Conflict(words, "nobody")
    missing = [each for each in judges if each.pk not in voted]
    notify_case_remind(case, missing or judges, all_voted=not missing, now=now)
    audit(ACTION, by=by, subject={"case": [case.public_id]}, now=now, private={"members": len(missing or judges)})
    return missing or judges


def _refuse(case: Case, now: datetime) -> None:
    if case.state != CaseState.OPEN:
        raise Conflict("The board does not vote on this case any more: nobody was reminded.", "decided")
    if case.due_at > now + DUE_SOON:
        raise Conflict("This case is not due within a day: nobody was reminded.", "not_due")
    if reminded_lately([case.public_id], now=now):
        raise Conflict("The members were reminded of this case within the last day. Try again tomorrow.", "reminded")
