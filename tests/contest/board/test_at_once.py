"""Teams and members of the board who act at the same moment, on real PostgreSQL: it happens once (R18, R19, R21)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from contest.appeals.services import appeal_send, statement_send
from contest.board.cases import count_of
from contest.board.decisions import case_decide
from contest.board.models import Appeal, AppealStatement, CaseDecision
from contest.board.motions import motion_drop
from contest.core.enums import CaseState, VoteChoice
from contest.core.models import BoardDecision, Case, ConflictOfInterest, Team
from contest.ledger.services import check_ledger_sums
from contest.teams import entitlements
from contest.teams.models import PastMember
from tests import factories
from tests.at_once import until_waiting
from tests.contest.board import case_cast, cast
from tests.contest.board.at_once import LONG, at_once, beside, codes
from tests.contest.board.cast import LATER, WHY, Scene
from tests.contest.board.motions import NOW, Make, Motion, awarding, granting, staking, withholding
from tests.contest.ledger.cast import BEFORE
from tests.factories import voted

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]


# Appeals and answers --------------------------------------------------------------------------------------------------


def test_two_teams_that_appeal_at_once_are_in_one_case_each_once() -> None:
    scene = Scene.make()
    teams = [scene.blue, scene.party("green")]
    people = [case_cast.joins(team, f"of {team.name}") for team in teams]
    send = partial(appeal_send, image=scene.image, argument=WHY, marks=[], now=LATER)
    found = at_once(*[partial(send, team=team, by=by) for team, by in zip(teams, people, strict=True)] * 2)
    assert connection.vendor == "postgresql"
    case = Case.objects.get()
    assert codes(found) == ["", "", "appealed", "appealed"]
    assert set(Appeal.objects.values_list("team", "case")) == {(team.pk, case.pk) for team in teams}
    by = case_cast.joins(scene.red, "of red")
    found = at_once(*[partial(statement_send, case=case, team=scene.red, words=WHY, by=by, now=LATER)] * 3)
    assert codes(found) == ["", "stated", "stated"] and AppealStatement.objects.count() == 1


# The call that votes and confirms -------------------------------------------------------------------------------------


@pytest.fixture
def appeal() -> Appeal:
    return case_cast.disclosed(Scene.make(valid=False))


@pytest.fixture
def sends(appeal: Appeal, signed_in: Any) -> Callable[..., Callable[[], Any]]:
    """Return a function that makes a call of a member."""
    clients = [signed_in(User.objects.get(username=f"member{number}")) for number in range(3)]
    address = f"/api/v1/appeals/{appeal.public_id}/decisions/"
    return lambda number, **body: partial(clients[number].post, address, body, content_type="application/json")


def test_members_who_vote_and_confirm_at_one_moment_decide_once(appeal: Appeal, sends: Any) -> None:
    answers = at_once(*[sends(number, choice="overrule", label="bird") for number in range(3)])
    count = count_of(appeal.case)
    # Nobody's vote is lost, whoever saw whose.
    assert ([each.status_code for each in answers], len(count.votes)) == ([201, 201, 201], 3)
    answers = at_once(*[sends(number, seen=count.mark, explanation=WHY) for number in range(3)])
    assert sorted(each.status_code for each in answers) == [201, 409, 409]
    assert {each.json().get("code") for each in answers} == {None, "decided"}
    assert (CaseDecision.objects.count(), appeal.image.rulings.count()) == (1, 2)
    assert Case.objects.get().state == CaseState.CLOSED


def test_a_vote_and_the_confirmation_at_one_moment_never_decide_what_was_not_seen(appeal: Appeal, sends: Any) -> None:
    """Either order is right: the vote came too late, or the confirmation was of other votes."""
    cast.votes(appeal.case, User.objects.filter(username__in=("member0", "member1")), cast.OVERRULE_BIRD)
    answers = at_once(sends(0, seen=count_of(appeal.case).mark, explanation=WHY), sends(2, choice="uphold"))
    found = tuple(each.json().get("code") for each in answers)
    assert found in {(None, "decided"), ("votes_changed", None)}
    assert CaseDecision.objects.count() == (found[0] is None)


# Motions --------------------------------------------------------------------------------------------------------------


def ready(make: Make, rita: User, ron: User, olga: User) -> tuple[Motion, Case]:
    factories.policy_version()
    motion = make(rita, olga)
    return motion, voted(motion.move(rita), ron, NOW)


def confirm(case: Case, member: User, seen: str) -> Callable[[], CaseDecision]:
    return lambda: case_decide(case=case, seen=seen, explanation="", by=member, now=NOW)


@pytest.mark.parametrize("make", [staking, granting, awarding, withholding])
def test_two_confirm_a_motion_at_once(make: Make, rita: User, ron: User, olga: User) -> None:
    """Each kind holds rows of its own: defenses, teams, the pool, an account."""
    motion, case = ready(make, rita, ron, olga)
    seen = count_of(case).mark
    assert codes(at_once(confirm(case, rita, seen), confirm(case, ron, seen))) == ["", "decided"]
    assert [model.objects.filter(case=case).count() for model in (BoardDecision, CaseDecision)] == [1, 1]
    assert motion.done() and check_ledger_sums().wrong == ()


def test_one_confirms_while_the_other_drops_it(rita: User, ron: User, olga: User) -> None:
    motion, case = ready(withholding, rita, ron, olga)
    found = at_once(confirm(case, ron, count_of(case).mark), partial(motion_drop, case=case, by=rita, now=NOW))
    assert codes(found) == ["", "decided"]
    outcome = CaseDecision.objects.get(case=case).outcome
    assert motion.done() == (outcome == "carried") and outcome in ("carried", "dropped")


@pytest.mark.parametrize("what", ["a vote is changed", "the mover comes to step aside"])
def test_one_confirms_what_changes_at_that_moment(what: str, rita: User, ron: User, olga: User) -> None:
    """What comes first is counted, or the confirmation of another count refused."""
    motion, case = ready(withholding, rita, ron, olga)
    seen, by, code = count_of(case).mark, rita, "votes_changed"
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            if what == "a vote is changed":
                voted(case, ron, NOW, VoteChoice.AGAINST)
            else:
                Case.objects.select_for_update(of=("self",)).get(pk=case.pk)
                ConflictOfInterest.objects.create(
                    member=rita, team=motion.team, kind="other", since=BEFORE, declared_at=NOW
                )
                seen, by, code = count_of(case).mark, ron, "no_quorum"
            other = beside(pool, confirm(case, by, seen))
            until_waiting(1)
        assert other.result(LONG) == code
    assert not motion.done() and Case.objects.get(pk=case.pk).state == CaseState.OPEN


@pytest.mark.parametrize("make", [granting, withholding])
def test_two_move_the_same_at_once(make: Make, rita: User, ron: User, olga: User) -> None:
    factories.policy_version()
    motion = make(rita, olga)
    assert codes(at_once(lambda: motion.move(rita), lambda: motion.move(ron))) == ["", "moved"]
    assert Case.objects.filter(state=CaseState.OPEN).count() == 1


def test_a_motion_that_finds_a_conflict_while_another_about_its_team_is_decided(
    rita: User, ron: User, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first holds the case and wants the team; the second holds the team and wants the case: one gives way."""
    motion, case = ready(granting, rita, ron, olga)
    PastMember.objects.create(
        team=motion.team, user=factories.user("rolf", "review board"), joined_at=BEFORE, left_at=NOW
    )
    real, holds_case = entitlements.lock_team, Event()

    def after_the_other_holds_the_team(team: int) -> Team:
        if not holds_case.is_set():  # not when it is done again
            holds_case.set()
            until_waiting(1)
        return real(team)

    monkeypatch.setattr(entitlements, "lock_team", after_the_other_holds_the_team)
    with ThreadPoolExecutor(2) as pool:
        decided = beside(pool, confirm(case, ron, count_of(case).mark))
        assert holds_case.wait(LONG)
        moved = beside(pool, lambda: motion.move(ron))
        assert type(decided.result(LONG)) is CaseDecision
        # The database chooses who gives way: the second motion finds the first one open, or the team with its grant.
        assert moved.result(LONG) in ("moved", "entitled_already")
    assert motion.done()
