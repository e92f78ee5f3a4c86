"""The sweep of cases: opens, reminds and closes what is due. Idempotent."""

from datetime import datetime, timedelta

import structlog
from django.core.cache import cache
from django.db import OperationalError, transaction

from contest.board.case_messages import DUE_SOON, notify_case_due, notify_no_quorum, retract_messages
from contest.board.cases import lock_image, parties_add
from contest.board.decisions import cases_close
from contest.board.recusal import judges_for, quorum_of
from contest.core.enums import CaseState
from contest.core.models import Case

LOOK_EVERY = timedelta(seconds=15)
_LAST_LOOK = "cases-last-look"
log = structlog.get_logger(__name__)


def sweep_cases(*, now: datetime) -> int:
    """Close what more taskers were ruled upon, add the teams that a case is about by now, and look whether members
    enough are left; return how many cases that changed (R19, R21).

    A case that fails holds up no other: all errors are raised together at the end, as one ExceptionGroup.
    """
    changed, failed = cases_close(now=now), []
    for pk in list(Case.objects.filter(state=CaseState.OPEN).order_by("pk").values_list("pk", flat=True)):
        try:
            changed += _tend(pk, now)
        except OperationalError:
            raise
        except Exception as error:  # whatever it is, it is about this case alone, which is undone
            log.exception("case_not_tended", case=pk)
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} cases were not looked after", failed)
    return changed


def cases_tend_periodically(*, now: datetime) -> int:
    """Close at once what was ruled upon, and look at the others when nobody has for LOOK_EVERY: for sweeps that come
    oftener. Forgetting when that was costs a look."""
    return sweep_cases(now=now) if cache.add(_LAST_LOOK, now, LOOK_EVERY.total_seconds()) else cases_close(now=now)


@transaction.atomic
def _tend(case_id: int, now: datetime) -> bool:
    image = Case.objects.filter(pk=case_id).values_list("image", flat=True).first()
    if image is not None:
        lock_image(image)  # before the case, as whoever appeals or votes does
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
