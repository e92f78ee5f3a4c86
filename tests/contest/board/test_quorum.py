"""A quorum that is lost in the middle: the case waits, whatever its clock says, and organizers are told (R21)."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import Group, User

from common.errors import DomainError
from contest.board import tending
from contest.board.cases import count_of
from contest.board.tending import cases_tend
from contest.enums import CaseState, ConflictKind, MessageKind, VoteChoice
from contest.models import Case, Conflict, Message, Vote
from labeling.people import REVIEW_BOARD
from tests.contest.board import cast
from tests.contest.board.cast import LATER, Scene

pytestmark = pytest.mark.django_db
AFTER = LATER + timedelta(hours=5)


def step_aside(scene: Scene) -> None:
    for member in scene.members[1:]:
        kind = list(ConflictKind)[Conflict.objects.filter(member=member).count()]
        told = {"kind": kind, "since": LATER, "declared_at": LATER}
        Conflict.objects.create(member=member, team=scene.blue, found=True, **told)


def come_back(scene: Scene) -> None:
    Conflict.objects.filter(dismissed_at=None).update(dismissed_at=AFTER, dismissed_reason="Another one of that name.")


def leave(scene: Scene) -> None:
    for member in scene.members[1:]:
        member.groups.clear()


def return_to_the_board(scene: Scene) -> None:
    for member in scene.members[1:]:
        member.groups.add(Group.objects.get(name=REVIEW_BOARD))


def of_active_accounts(yes: bool) -> "Change":
    return lambda scene: User.objects.filter(pk__in=[each.pk for each in scene.members[1:]]).update(is_active=yes)


# How all members but one are lost, after two had voted, and how they come back.
LOST = [
    (step_aside, come_back, "they come to step aside, and the conflicts are dismissed"),
    (leave, return_to_the_board, "they leave the board, and join it again"),
    (of_active_accounts(False), of_active_accounts(True), "their accounts are closed, and opened again"),
]
Change = Callable[[Scene], object]


def told() -> int:
    return Message.objects.filter(kind=MessageKind.CASE_NO_QUORUM, user__username="oliver").count()


@pytest.mark.both("the sweep locks cases and skips what others hold")
@pytest.mark.parametrize(("lose", "regain", "why"), LOST, ids=[row[2] for row in LOST])
def test_the_case_waits_and_organizers_are_told_once_until_there_is_one_again(
    lose: Change, regain: Change, why: str, case: Case, scene: Scene
) -> None:
    cast.votes(case, scene.members[:2], VoteChoice.UPHOLD)
    cases_tend(now=LATER)
    assert told() == 0 and count_of(case).is_enough
    lose(scene)
    count = count_of(case)
    assert (count.is_enough, count.can_be_enough, len(count.votes)) == (False, False, 1), why
    assert (cases_tend(now=AFTER), cases_tend(now=AFTER)) == (1, 0) and told() == 1
    with pytest.raises(DomainError) as refused:
        cast.decide(case, scene.members[0], case.due_at + timedelta(days=1))
    assert refused.value.code == "no_quorum"
    cases_tend(now=case.due_at + timedelta(days=1))
    assert Case.objects.get(pk=case.pk).state == CaseState.OPEN, "the end of the clock decides nothing"
    assert told() == 1 and Vote.objects.filter(case=case).count() == 2, "no vote is lost"
    regain(scene)
    assert cases_tend(now=AFTER) == 1 and told() == 1
    assert count_of(case).is_enough, "and they count again"
    lose(scene)
    assert cases_tend(now=AFTER) == 1 and told() == 2


def test_a_case_that_cannot_be_looked_after_holds_up_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, other = scene.opened(), scene.beside().opened()
    leave(scene)
    real = tending.no_quorum_tell

    def no_quorum_tell(case: Case, *, now: datetime) -> None:
        real(case, now=now)
        if case == broken:
            raise RuntimeError("a row that nobody expected")

    monkeypatch.setattr(tending, "no_quorum_tell", no_quorum_tell)
    with pytest.raises(ExceptionGroup, match="1 cases were not looked after") as raised:
        cases_tend(now=AFTER)
    assert [str(error) for error in raised.value.exceptions] == ["a row that nobody expected"]
    (line,) = [each.msg for each in caplog.records if each.msg["event"] == "case_not_tended"]  # type: ignore[index]
    assert line["case"] == broken.pk  # type: ignore[index]
    seen = dict(Case.objects.values_list("pk", "told_at"))
    assert seen == {broken.pk: None, other.pk: AFTER}, "it alone is undone"
    assert told() == 1

    monkeypatch.undo()
    assert (cases_tend(now=AFTER), told()) == (1, 2), "the next sweep tries it again"
