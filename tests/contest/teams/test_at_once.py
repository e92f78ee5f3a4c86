"""People who join, leave and found teams at the same moment, on real PostgreSQL: each is in one team, and each team has
one captain (R25)."""

from datetime import datetime, timedelta
from functools import partial

import pytest

from contest.models import Member, Team, TeamInvitation
from contest.teams.associations import association_declare
from contest.teams.entitlements import entitlement_accept, entitlement_ask, entitlement_refuse
from contest.teams.invitations import team_invitation_accept, team_invite
from contest.teams.services import captain_hand_over, member_add, member_leave, team_create
from tests import factories
from tests.contest.board.at_once import at_once, codes
from tests.contest.teams.conftest import PAPER, researcher

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]
AGAIN = 5


def red_of(name: str, now: datetime) -> Team:
    factories.policy_version()
    return team_create(name="red", captain=researcher(name), now=now)


def test_of_two_accepts_by_one_person_one_counts(now: datetime) -> None:
    red, fay, bea = red_of("carl", now), researcher("fay"), researcher("bea")
    blue, leads = team_create(name="blue", captain=bea, now=now), (red.members.get().user, bea)
    for day in range(AGAIN):  # one address gets few letters a day
        at = now + timedelta(day)
        secrets = [team_invite(by=by, email="fay@example.org", now=at).secret for by in leads]
        accepts = [partial(team_invitation_accept, secret=secret, user=fay, now=at) for secret in secrets]
        assert codes(at_once(*accepts)) == ["", "in_a_team"]
        assert Member.objects.filter(user=fay).count() == 1
        member_leave(user=fay, now=at)
        TeamInvitation.objects.update(withdrawn_at=at)
    assert (red.members.count(), blue.members.count()) == (1, 1)


def test_of_two_persons_with_one_link_one_joins(now: datetime) -> None:
    red, people = red_of("carl", now), [researcher("fay"), researcher("gus")]
    for _ in range(AGAIN):
        secret = team_invite(by=red.members.get().user, email="n@example.org", now=now).secret
        accepts = [partial(team_invitation_accept, secret=secret, user=user, now=now) for user in people]
        assert codes(at_once(*accepts)) == ["", "link_over"]
        assert red.members.count() == 2
        member_leave(user=red.members.get(captain=False).user, now=now)


def test_handing_over_and_leaving_at_once_leave_one_captain(now: datetime) -> None:
    red, rosa = red_of("carl", now), researcher("rosa")
    carl = red.members.get().user
    for _ in range(AGAIN):
        member = member_add(team=red, user=rosa, now=now)
        at_once(
            partial(captain_hand_over, by=carl, member_id=member.pk, now=now),
            partial(member_leave, user=rosa, now=now),
            partial(member_leave, user=carl, now=now),
        )
        assert red.members.filter(captain=True).count() == (1 if red.members.exists() else 0)
        Member.objects.all().delete()
        member_add(team=red, user=carl, captain=True, now=now)


def test_of_two_teams_with_one_name_one_is_made(now: datetime) -> None:
    people = {"Red": researcher("carl"), "red": researcher("bea")}
    makes = [partial(team_create, name=name, captain=user, now=now) for name, user in people.items()]
    assert codes(at_once(*makes)) == ["", "name_taken"]


def test_two_organizers_who_decide_or_declare_at_once_do_it_once(now: datetime) -> None:
    """R25, R27."""
    red, organizers = red_of("carl", now), [factories.user(name, "organizers") for name in ("olga", "olaf")]
    told = {"by": red.members.get().user, "arxiv_id": PAPER, "paper_email": "carl@example.org"}
    number, (olga, olaf) = entitlement_ask(**told, now=now).pk, organizers
    accepts = partial(entitlement_accept, number=number, by=olga, now=now)
    refuses = partial(entitlement_refuse, number=number, words="Another Carl.", by=olaf, now=now)
    assert codes(at_once(accepts, refuses)) == ["", "decided_already"]
    declares = [
        partial(association_declare, team=red, since=now, until=None, reason="Lab.", by=by, now=now)
        for by in organizers
    ]
    assert codes(at_once(*declares)) == ["", "overlaps"]
