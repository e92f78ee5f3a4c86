"""The sweep that updates, reminds of and closes cases, and the reminders that organizers send by hand (R19, R21)."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import structlog
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import OperationalError, transaction

from accounts.roles import is_organizer
from common.audit.trail import audit
from common.errors import Conflict, NotAllowed, NotFound, required
from common.models import AuditEntry
from contest.board.case_messages import (
    DUE_SOON,
    notify_case_due,
    notify_case_remind,
    notify_no_quorum,
    retract_messages,
)
from contest.board.cases import count_of, lock_image, parties_add
from contest.board.decisions import cases_close
from contest.board.recusal import judges_for, quorum_of
from contest.core.enums import CaseState
from contest.core.models import Case

LOOK_EVERY = timedelta(seconds=15)
_LAST_LOOK = "cases-last-look"
# Members are reminded of a case at most once in this time.
REMINDER_INTERVAL = timedelta(days=1)
ACTION = "case.remind"
log = structlog.get_logger(__name__)


def sweep_cases(*, now: datetime) -> int:
    """Close cases whose additional taskers led to a ruling, add new parties to open cases, and check that enough
    members are left; return how many cases changed (R19, R21).

    A case that fails does not stop the others: all errors are raised together at the end, as one ExceptionGroup.
    """
    changed, failed = cases_close(now=now), []
    for pk in list(Case.objects.filter(state=CaseState.OPEN).order_by("pk").values_list("pk", flat=True)):
        try:
            changed += _tend(pk, now)
        except OperationalError:
            raise
        except Exception as error:  # whatever it is, only this case fails and is rolled back
            log.exception("case_not_tended", case=pk)
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} cases were not looked after", failed)
    return changed


def cases_update_periodically(*, now: datetime) -> int:
    """Close cases that got their ruling, and run the whole sweep at most once per LOOK_EVERY: for sweeps that run more
    often. If the cache loses the time of the last one, it only runs once more."""
    return sweep_cases(now=now) if cache.add(_LAST_LOOK, now, LOOK_EVERY.total_seconds()) else cases_close(now=now)


@transaction.atomic
def _tend(case_id: int, now: datetime) -> bool:
    image = Case.objects.filter(pk=case_id).values_list("image", flat=True).first()
    if image is not None:
        lock_image(image)  # before the case, in the same order as appeals and votes
    rows = Case.objects.select_for_update(of=("self",), skip_locked=True).filter(pk=case_id, state=CaseState.OPEN)
    case = rows.select_related("image", "policy").first()
    if case is None:
        return False
    added = parties_add(case, now=now)
    retract_messages(case)
    if case.due_at - DUE_SOON <= now < case.due_at:
        notify_case_due(case, now=now)
    return _watch_quorum(case, now) or bool(added)


def _watch_quorum(case: Case, now: datetime) -> bool:
    """Tell organizers when too few members are left, once until there are enough again."""
    enough = len(judges_for(case)) >= quorum_of(case)
    if enough == (case.told_at is None):
        return False
    case.told_at = None if enough else now
    case.save(update_fields=["told_at"])
    if not enough:
        notify_no_quorum(case, now=now)
    return True


# Reminders ------------------------------------------------------------------------------------------------------------


def reminded_lately(cases: Iterable[str], *, now: datetime) -> Mapping[str, datetime]:
    """Return public ID -> time of the last reminder, for the cases reminded of within REMINDER_INTERVAL."""
    wanted = set(cases)
    rows = AuditEntry.objects.filter(action=ACTION, at__gt=now - REMINDER_INTERVAL).values_list("subject", "at")
    found = ((subject["case"][0], at) for subject, at in rows)
    return {public_id: at for public_id, at in found if public_id in wanted}


@transaction.atomic
def case_remind(*, public_id: str, by: User, now: datetime) -> list[User]:
    """Remind the members who may judge a case and have not voted; if all have, remind all of them that one is to
    confirm the count. Return whom. Recused members get no message.

    Raises NotAllowed for anybody but organizers, NotFound, and Conflict for a case that is decided (`decided`), not due
    within a day (`not_due`), was reminded of within a day (`reminded`), or has no member left (`nobody`).
    """
    if not is_organizer(by):
        raise NotAllowed("Only organizers remind the members.", "not_an_organizer")
    rows = Case.objects.select_for_update(of=("self",)).select_related("image", "policy")
    found = rows.filter(public_id=public_id).first() if public_id.isprintable() else None
    case = required(found, NotFound("There is no such case.", "not_found"))
    _refuse(case, now)
    judges, voted = judges_for(case), {vote.member_id for vote in count_of(case).votes}
    if not judges:
        raise Conflict(
            "No member is left who may judge this case. See who steps aside, or let somebody join the board.", "nobody"
        )
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
