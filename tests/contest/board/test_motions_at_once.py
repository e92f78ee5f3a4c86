"""Members of the board who act on a motion at the same moment, on real PostgreSQL: it is carried out once (R21)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections, transaction

from common.errors import DomainError
from contest.board.cases import count_of
from contest.board.deciding import case_decide
from contest.board.motions import motion_drop
from contest.enums import CaseState
from contest.models import BoardDecision, Case, CaseDecision, Conflict, PastMember, Team
from contest.money.ledger import check
from contest.teams import entitlements
from tests import factories
from tests.contest.board.motions import MOTIONS, NOW, Motion, granting, withholding
from tests.contest.money.cast import BEFORE
from tests.contest.stakes.test_races import until_waiting
from tests.factories import voted

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]
LONG = 60.0


def said(act: Callable[[], Any]) -> str:
    """What an act is refused as; empty where it is done."""
    try:
        act()
    except DomainError as error:
        return error.code
    finally:
        connections.close_all()
    return ""


def at_once(*acts: Callable[[], Any]) -> list[str]:
    start = Barrier(len(acts))

    def begin(act: Callable[[], Any]) -> str:
        start.wait(LONG)
        return said(act)

    with ThreadPoolExecutor(len(acts)) as pool:
        return sorted(each.result(LONG) for each in [pool.submit(begin, act) for act in acts])


@pytest.fixture
def ron(rita: User) -> User:
    return factories.user("ron", "review board")


def ready(make: Callable[[User, User], Motion], rita: User, ron: User, olga: User) -> tuple[Motion, Case]:
    factories.policy_version()
    motion = make(rita, olga)
    return motion, voted(motion.move(rita), ron, NOW)


def confirm(case: Case, member: User, seen: str) -> Callable[[], CaseDecision]:
    return lambda: case_decide(case=case, seen=seen, explanation="", by=member, now=NOW)


@pytest.mark.parametrize("make", MOTIONS, ids=[each.__name__ for each in MOTIONS])
def test_two_confirm_at_once(make: Callable[[User, User], Motion], rita: User, ron: User, olga: User) -> None:
    motion, case = ready(make, rita, ron, olga)
    seen, before = count_of(case).mark, BoardDecision.objects.count()
    assert at_once(confirm(case, rita, seen), confirm(case, ron, seen)) == ["", "decided"]
    assert motion.done() and BoardDecision.objects.count() == before + 1
    assert CaseDecision.objects.filter(case=case).count() == 1 and check().wrong == ()


def test_one_confirms_while_the_other_drops_it(rita: User, ron: User, olga: User) -> None:
    motion, case = ready(withholding, rita, ron, olga)
    acts = (confirm(case, ron, count_of(case).mark), lambda: motion_drop(case=case, by=rita, now=NOW))
    assert at_once(*acts) == ["", "decided"]
    outcome = CaseDecision.objects.get(case=case).outcome
    assert motion.done() == (outcome == "carried") and outcome in ("carried", "dropped")


def test_one_confirms_what_the_other_changes_their_vote_on(rita: User, ron: User, olga: User) -> None:
    """The vote that comes first is counted, or the confirmation of another count refused."""
    motion, case = ready(withholding, rita, ron, olga)
    seen = count_of(case).mark
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            voted(case, ron, NOW, factories.VoteChoice.AGAINST)
            other = pool.submit(said, confirm(case, rita, seen))
            until_waiting(1)
        assert other.result(LONG) == "votes_changed"
    assert not motion.done() and Case.objects.get(pk=case.pk).state == CaseState.OPEN


def test_one_confirms_while_the_other_comes_to_step_aside(rita: User, ron: User, olga: User) -> None:
    motion, case = ready(granting, rita, ron, olga)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Case.objects.select_for_update(of=("self",)).get(pk=case.pk)
            Conflict.objects.create(member=rita, team=motion.team, kind="other", since=BEFORE, declared_at=NOW)
            other = pool.submit(said, confirm(case, ron, count_of(case).mark))
            until_waiting(1)
        assert other.result(LONG) == "no_quorum"
    assert not motion.done()


@pytest.mark.parametrize("make", [granting, withholding], ids=["granting", "withholding"])
def test_two_move_the_same_at_once(make: Callable[[User, User], Motion], rita: User, ron: User, olga: User) -> None:
    factories.policy_version()
    motion = make(rita, olga)
    assert at_once(lambda: motion.move(rita), lambda: motion.move(ron)) == ["", "moved"]
    assert Case.objects.filter(state=CaseState.OPEN).count() == 1


def test_a_motion_that_finds_a_conflict_while_another_about_its_team_is_decided(
    rita: User, ron: User, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first holds the case and wants the team; the second holds the team and wants the case: one gives way."""
    motion, case = ready(granting, rita, ron, olga)
    PastMember.objects.create(
        team=motion.team, user=factories.user("rolf", "review board"), joined_at=BEFORE, left_at=NOW
    )
    real, holds_case = entitlements.team_held, Event()

    def after_the_other_holds_the_team(team: int) -> Team:
        if not holds_case.is_set():  # not when it is done again
            holds_case.set()
            until_waiting(1)
        return real(team)

    monkeypatch.setattr(entitlements, "team_held", after_the_other_holds_the_team)
    with ThreadPoolExecutor(2) as pool:
        decided = pool.submit(said, confirm(case, ron, count_of(case).mark))
        assert holds_case.wait(LONG)
        moved = pool.submit(said, lambda: motion.move(ron))
        outcomes = decided.result(LONG), moved.result(LONG)
    assert outcomes == ("", "entitled_already"), "one after the other: the team has what the second motion asks for"
    assert motion.done()
