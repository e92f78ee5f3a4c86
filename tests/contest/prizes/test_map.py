"""The whole map of who may do what with an award and with what is withheld: every route as every role against every
state (R21, R36-R38). Who steps aside for the team finds nothing of it, in lists and figures neither."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from contest.core.models import Case, ConflictOfInterest, Stake, Team
from contest.ledger.models import Account
from labeling.models import Tasker
from tests import factories
from tests.contest.board import case_cast
from tests.contest.board.motions import (
    NOW,
    Motion,
    awarding,
    ending,
    forfeiting,
    giving_an_award_back,
    giving_back,
    withholding,
    withholding_a_share,
    withholding_an_award,
)
from tests.contest.ledger import cast

pytestmark = [pytest.mark.django_db, pytest.mark.slow("every route as every role against every state")]
Make = Callable[[User, User], Motion]
ROLES = ("stranger", "no role", "tasker", "owner", "other team", "organizer", "member", "tied to others", "recused")
OUTSIDE = {"stranger": 302, "no role": 404, "tasker": 403, "owner": 403, "other team": 403}


def reviewers(organizer: int, member: int, recused: int) -> dict[str, int]:
    return OUTSIDE | {"organizer": organizer, "member": member, "tied to others": member, "recused": recused}


WHY = "Every line of the list is met, and nobody has spoken against it."
# What each state is moved with, and the acts of the page that are another state's.
AWARDS: dict[Make, str] = {
    awarding: "award",
    ending: "end",
    withholding_an_award: "withhold",
    forfeiting: "forfeit",
}
ACTS = {
    "award": {"statement": "It stood against all that was sent for ninety days.", "reason": WHY, "do": "move"},
    "end": {"action": "end", "reason": WHY, "do": "move"},
    "withhold": {"action": "withhold", "reason": WHY, "do": "move"},
    "forfeit": {"action": "forfeit", "reason": WHY, "do": "move"},
    "rerun": {"action": "rerun"},
}
WITHHELD: tuple[Make, ...] = (withholding, withholding_a_share, giving_back, giving_an_award_back)
NAME = "The Lab of Names"


class Answer(NamedTuple):
    status: int
    text: str


class People:
    """Everybody of the map, and an award or a sum; `team` is whose affair it is, `case` the motion once it is moved."""

    def __init__(self, make: Make, *, moved: bool = False) -> None:
        rita, olga = factories.user("rita", "review board"), factories.user("olga", "organizers")
        self.motion = make(rita, olga)
        self.team = self.motion.team
        Team.objects.filter(pk=self.team.pk).update(name=NAME)
        others = cast.team("others")
        self.people: dict[str, User | Tasker | None] = {
            "stranger": None,
            "no role": factories.user("nora"),
            "tasker": factories.tasker("tara"),
            "owner": case_cast.joins(self.team, "olaf"),
            "other team": case_cast.joins(others, "otto"),
            "organizer": olga,
            "member": rita,
            "tied to others": factories.user("tina", "review board"),
            "recused": factories.user("rex", "review board"),
        }
        for role, team in (("tied to others", others), ("recused", self.team)):
            ConflictOfInterest.objects.create(
                member=self.people[role], team=team, kind="other", since=cast.BEFORE, declared_at=NOW
            )
        self.case = self.motion.move(rita) if moved else None

    @property
    def stake(self) -> Stake:
        return Stake.objects.get(defense__entry__team=self.team)

    def clients(self, signed_in: Any) -> dict[str, Client]:
        return {role: Client() if who is None else signed_in(who) for role, who in self.people.items()}


@pytest.fixture(autouse=True)
def it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    factories.policy_version()
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


def asked(client: Client, address: str, form: dict[str, str] | None = None) -> Answer:
    """The answer, with what it did taken back."""
    with transaction.atomic():
        answer = client.get(address) if form is None else client.post(address, form)
        transaction.set_rollback(True)
    return Answer(answer.status_code, answer.content.decode())


def by_role(clients: dict[str, Client], address: str, form: dict[str, str] | None = None) -> dict[str, Answer]:
    return {role: asked(client, address, form) for role, client in clients.items()}


def statuses(answers: dict[str, dict[str, Answer]]) -> dict[str, dict[str, int]]:
    return {what: {role: each.status for role, each in by.items()} for what, by in answers.items()}


def assert_only_members_are_told(people: People, page: dict[str, Answer], *, hidden: str) -> None:
    """Who steps aside for the team finds neither it nor its award nor the motion in a list; the other members do."""
    for role, told in (("member", True), ("tied to others", True), ("recused", False)):
        assert (hidden in page[role].text, NAME in page[role].text) == (told, told), role
    if people.case is not None:
        assert people.case.public_id not in page["recused"].text


@pytest.mark.parametrize("moved", [False, True], ids=["not moved", "moved"])
@pytest.mark.parametrize("make", AWARDS, ids=[each.__name__ for each in AWARDS])
def test_who_may_do_what_with_an_award(make: Make, moved: bool, signed_in: Any) -> None:
    """Outsiders ask for the lists in one state of an award: they are the same in each."""
    people = People(make, moved=moved)
    clients, act = people.clients(signed_in), AWARDS[make]
    page, sweep = f"/board/awards/{people.stake.pk}/", f"/board/examinations/{people.stake.defense.public_id}/"
    listers = clients if make is awarding else {role: clients[role] for role in ("member", "tied to others", "recused")}
    answers = {
        "list": by_role(listers, "/board/awards/"),
        "page": by_role(clients, page),
        "act": by_role(clients, page, ACTS[act]),
        "sweep": by_role(listers, sweep),
    }
    expected = {
        "list": reviewers(200, 200, 200),
        "page": reviewers(200, 200, 404),
        # The same is not moved twice.
        "act": reviewers(403, 409 if moved else 303, 404),
        "sweep": reviewers(403, 200, 404),
    }
    assert statuses(answers) == {what: {role: row[role] for role in answers[what]} for what, row in expected.items()}
    others = {name: asked(clients["recused"], page, form).status for name, form in ACTS.items() if name != act}
    assert set(others.values()) == {404}, others
    assert_only_members_are_told(people, answers["list"], hidden=page)


@pytest.mark.parametrize("moved", [False, True], ids=["not moved", "moved"])
@pytest.mark.parametrize("make", WITHHELD, ids=[each.__name__ for each in WITHHELD])
def test_who_may_do_what_with_what_is_withheld(make: Make, moved: bool, signed_in: Any) -> None:
    people = People(make, moved=moved)
    clients, form = people.clients(signed_in), withheld_form(people)
    answers = {"page": by_role(clients, "/board/withheld/"), "act": by_role(clients, "/board/withheld/", form)}
    page = OUTSIDE | dict.fromkeys(("member", "tied to others", "recused"), 200) | {"organizer": 403}
    assert statuses(answers) == {"page": page, "act": reviewers(403, 409 if moved else 303, 400)}
    assert_only_members_are_told(people, answers["page"], hidden=NAME)


def withheld_form(people: People) -> dict[str, str]:
    subject = people.motion.subject
    of = {"stake": subject["stake"][0]} if "stake" in subject else {"team": people.team}
    form = {"account": str(Account.objects.get(**of).pk), "team": people.team.public_id, "reason": WHY, "do": "move"}
    award = {"award": str(subject["award"][0])} if "award" in subject else {}
    return form | award | ({"action": "return"} if people.motion.kind == "return" else {"sum": "5.00"})


def test_an_award_that_is_shared_shows_nothing_of_the_team_that_is_stepped_aside_for(signed_in: Any) -> None:
    people = People(awarding)
    other = cast.staked(cast.defense("tower", cast.team("neighbours")))
    Stake.objects.filter(pk=other.pk).update(batch=people.stake.batch)
    rex, rita = (people.clients(signed_in)[role] for role in ("recused", "member"))
    address = f"/board/awards/{other.pk}/"
    page, whole = rex.get(address).content.decode(), rita.get(address).content.decode()
    assert "Those that share the prize ready" in whole and "What would be given" in whole and ">net<" not in page
    assert "net:" in whole and "net:" not in page
    assert "Those that share the prize ready" not in page and "What would be given" not in page
    assert "You step aside for a team that would share the award." in page
    before = Case.objects.count()
    assert rex.post(address, ACTS["award"]).status_code == 403 and Case.objects.count() == before
