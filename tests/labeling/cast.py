"""What taskers do, with few arguments: gold is never dealt, and chance is the same each time, unless a test says so."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, InternalError, connection, transaction
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from labeling import leases
from labeling.enums import Answer
from labeling.models import Assignment, GoldMark, KnownPicture, Panel, Tasker
from labeling.submission import SubmittedResponse, response_submit
from policy.numbers import Policy
from tests import factories
from tests.contest.pages import one_line
from tests.factories import NOW

POLICY = Policy(gold_percent=0)
BIRD = {"bird": Answer.DEFINITELY_YES, "bicycle": Answer.DEFINITELY_NO}
BICYCLE = {"bird": Answer.DEFINITELY_NO, "bicycle": Answer.DEFINITELY_YES}
NEITHER = {"bird": Answer.DEFINITELY_NO, "bicycle": Answer.DEFINITELY_NO, "box": None}
NEITHER |= {"complete": None, "unoccluded": None, "real": None}
NO_TO_BOTH = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}


def refused(kind: type[BaseException], act: Callable[..., Any], *given: Any, **told: Any) -> Any:
    """Do what is refused with an error of this kind; return the error."""
    with pytest.raises(kind) as found:
        act(*given, **told)
    return found.value


def refused_by_database(act: Callable[..., Any], *given: Any, **told: Any) -> str:
    """What the database says when it refuses to do this, whoever asks; the transaction goes on."""
    with pytest.raises((IntegrityError, InternalError)) as found, transaction.atomic():
        act(*given, **told)
    return str(found.value)


def kept(row: Model, *names: str) -> Any:
    """What the database holds in these columns of a row: one value, or several in order."""
    row.refresh_from_db()
    values = tuple(getattr(row, name) for name in names)
    return values if len(names) > 1 else values[0]


def shows(answer: Any, *words: str, status: int = 200) -> str:
    """A page that comes with this status and has all these words in it; returns its text."""
    text = one_line(answer.content.decode())
    assert answer.status_code == status
    assert [each for each in words if one_line(each) not in text] == []
    return text


def people(*names: str, **values: Any) -> list[Tasker]:
    """Taskers of these names."""
    return [factories.tasker(name, **values) for name in names]


def linked(*taskers: Tasker) -> None:
    """Make one person of these, as a link does."""
    for each in taskers:
        each.person = min(tasker.pk for tasker in taskers)
        each.save()


def next_for(
    tasker: Tasker, now: datetime, *, holding: Sequence[UUID] = (), policy: Policy = POLICY, rng: Random | None = None
) -> Assignment | leases.NothingLeft:
    """What the queue has for a tasker."""
    tasker.refresh_from_db()
    rng = rng or Random(1)
    return leases.assignment_next(tasker=tasker, holding=holding, policy=policy, now=now, rng=rng)


def claim(tasker: Tasker, now: datetime, **given: Any) -> Assignment:
    """The picture that a tasker gets."""
    found = next_for(tasker, now, **given)
    assert isinstance(found, Assignment), found
    return found


def lease(tasker: Tasker, now: datetime, **given: Any) -> Assignment:
    """What a tasker gets when a new picture waits."""
    factories.panel()
    return claim(tasker, now, **given)


def gets_nothing(tasker: Tasker, now: datetime, **given: Any) -> bool:
    """Whether the queue has nothing for a tasker, nor will have when others let go."""
    return next_for(tasker, now, **given) == leases.NothingLeft(held=None)


def own(held: Assignment) -> dict[str, Any]:
    """What names a lease to a service."""
    return {"tasker": held.tasker, "assignment_id": held.public_id, "lease_token": held.lease_token}


def beat(held: Assignment, now: datetime, policy: Policy = POLICY) -> datetime:
    """Renew a lease."""
    return leases.assignment_heartbeat(**own(held), policy=policy, now=now)


def give_back(held: Assignment, now: datetime, problem: str = "") -> None:
    """Give a picture back."""
    leases.assignment_release(**own(held), problem=problem, now=now)


def submit(
    held: Assignment, now: datetime, data: dict[str, Any] = NO_TO_BOTH, policy: Policy = POLICY
) -> SubmittedResponse:
    """Send an answer."""
    return response_submit(**own(held), data=data, policy_at=lambda _: policy, now=now)


def label(tasker: Tasker, now: datetime, **given: Any) -> SubmittedResponse:
    """Take the next picture and answer it."""
    return submit(claim(tasker, now, **given), now)


def statements(act: Any) -> list[str]:
    """The statements that `act()` sends, without those that begin and end transactions."""
    with CaptureQueriesContext(connection) as captured:
        act()
    sent = [query["sql"] for query in captured.captured_queries]
    return [sql for sql in sent if not sql.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))]


def full_panel(by: Sequence[Tasker], said: Sequence[dict[str, Any]], *, now: datetime = NOW, **all_say: Any) -> Panel:
    """A full panel with one answer by each."""
    panel = factories.panel(size=len(by))
    for tasker, answers in zip(by, said, strict=True):
        factories.response(tasker, panel, now=now, **(all_say | answers))
    return panel


def gold_answer(by: Tasker, *, right: bool, now: datetime = NOW, known: KnownPicture | None = None) -> GoldMark:
    """A marked answer on a gold picture, of its own unless it is named."""
    known = known or factories.gold()
    assert known.panel is not None
    response = factories.response(by, known.panel, now=now, counted=False, known=known)
    marks = {"contains_bird": right, "contains_bicycle": True}
    return GoldMark.objects.create(
        response=response, known=known, tasker=by, right=right, marks=marks, iou_percent=90.0, marked_at=now
    )


def gold_answers(by: Tasker, *, right: int, wrong: int, begin: datetime = NOW) -> None:
    """Marked answers, a minute apart, the wrong ones first."""
    for number, hit in enumerate([False] * wrong + [True] * right):
        gold_answer(by, right=hit, now=begin + timedelta(minutes=number))


class Heads(Random):
    """Draws gold whenever there is any and the policy allows it."""

    def randrange(self, *_: int) -> int:
        return 0
