"""One account, one role (R8): whoever organizes, judges or competes never labels, and the other way round."""

from datetime import datetime
from random import Random

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict
from contest.models import Team
from contest.teams.services import member_add, team_create
from labeling.enums import TaskerState
from labeling.models import Tasker
from labeling.people import ORGANIZERS, REVIEW_BOARD, role_give, tasker_register
from tests import factories

pytestmark = pytest.mark.django_db


def become_tasker(user: User, now: datetime) -> None:
    tasker_register(user=user, state=TaskerState.QUALIFIED, now=now, rng=Random(1))


def test_a_tasker_gets_no_other_role(tara: Tasker, now: datetime) -> None:
    for role in (ORGANIZERS, REVIEW_BOARD):
        with pytest.raises(Conflict):
            role_give(user=tara.user, role=role)
    with pytest.raises(Conflict):
        team_create(name="red", captain=tara.user, now=now)
    assert not Team.objects.exists(), "a refused captain leaves no team behind"


def test_an_organizer_or_board_member_never_labels_nor_competes(olga: User, rita: User, now: datetime) -> None:
    team = Team.objects.create(name="red", created_at=now)
    for person in (olga, rita):
        with pytest.raises(Conflict):
            become_tasker(person, now)
        with pytest.raises(Conflict):
            member_add(team=team, user=person, now=now)


def test_a_team_member_never_labels(now: datetime) -> None:
    rival = factories.user("rival")
    assert team_create(name="red", captain=rival, now=now).members.get().captain
    with pytest.raises(Conflict):
        become_tasker(rival, now)
