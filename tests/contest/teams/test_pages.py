"""The pages of teams: who may open which, what they say, and that everything on them works."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from common.errors import TooMany
from contest.models import Association, Case, Entitlement, Member, SamePerson, Team, TeamInvitation
from contest.teams.entitlements import entitlement_answer, entitlement_ask, entitlement_grant, entitlement_question
from contest.teams.invitations import MOST_A_DAY, MOST_TO_ONE_A_DAY, team_invite
from contest.teams.merging import teams_merge
from contest.teams.selectors import is_entitled, is_paid, team_of
from contest.teams.services import team_create
from labeling.models import Tasker
from tests import factories
from tests.contest.teams.conftest import PAPER, link_in, researcher
from tests.factories import carried, mandate

pytestmark = pytest.mark.django_db
NEW = "correct horse battery"
SignedIn = Callable[[User | Tasker], Client]


def body(answer: Any) -> str:
    return str(answer.content.decode())


def follow(client: Client, address: str, **form: Any) -> str:
    """Post a form, and return the page it leads to."""
    answer = client.post(address, form)
    assert answer.status_code == 303, body(answer)[:2000]
    return body(client.get(answer["Location"]))


def refused(client: Client, address: str, status: int, said: str = "", /, **form: Any) -> None:
    """Post a form that is refused, in these words."""
    answer = client.post(address, form)
    assert (answer.status_code, said in body(answer)) == (status, True), form


@pytest.fixture
def request_of_red(red: Team, carl: User) -> Entitlement:
    return entitlement_ask(by=carl, arxiv_id=PAPER, paper_email="rosa@example.org", now=timezone.now())


@pytest.fixture
def captain(red: Team, carl: User, signed_in: SignedIn) -> Client:
    return signed_in(carl)


@pytest.fixture
def organizer(olga: User, signed_in: SignedIn) -> Client:
    return signed_in(olga)


# Who may open what ----------------------------------------------------------------------------------------------------

ORGANIZERS = {"olga": 200, "fay": 403, "carl": 403, "stan": 404, "tara": 403, "rita": 403}
WHO = {
    "/team/": {"fay": 200, "carl": 200, "stan": 200, "tara": 403, "olga": 403, "rita": 403},
    "/board/grants/": {"rita": 200, "fay": 403, "carl": 403, "stan": 404, "tara": 403, "olga": 403},
    "/organizer/teams/": ORGANIZERS,
    "/organizer/teams/same-person/": ORGANIZERS,
    "/organizer/teams/requests/{request}/": ORGANIZERS,
    "/organizer/teams/G-00000/": ORGANIZERS | {"olga": 404},
    "/organizer/teams/requests/0/": ORGANIZERS | {"olga": 404},
    "/teams/G-00000/": {"olga": 404, "stan": 404},
}


def test_each_page_is_for_some(
    signed_in: SignedIn, request_of_red: Entitlement, fay: User, stan: User, tara: Tasker, olga: User, rita: User
) -> None:
    """R8; and what is for others decides nothing for who may not open it."""
    clients = {each.username: signed_in(each) for each in User.objects.filter(username__in=WHO["/team/"])}
    for pattern, expected in WHO.items():
        address = pattern.format(request=request_of_red.pk)
        assert Client().get(address).status_code == (404 if address.startswith("/teams/") else 302), address
        assert {name: clients[name].get(address).status_code for name in expected} == expected, address
    for name in ("fay", "carl", "stan", "tara", "rita"):
        status = 404 if name == "stan" else 403
        refused(clients[name], f"/organizer/teams/requests/{request_of_red.pk}/", status, action="accept")
    for name in ("tara", "olga", "rita"):
        refused(clients[name], "/team/", 403, action="make", name="green")
    for name in ("carl", "olga", "stan"):
        clients[name].post("/board/grants/", {"team": request_of_red.team.public_id, "reason": "x"})
    refused(clients["stan"], "/team/", 409, "no confirmed e-mail address", action="make", name="green")
    request_of_red.refresh_from_db()
    assert (request_of_red.state, Team.objects.count(), Case.objects.exists()) == ("asked", 1, False)


def test_everybody_sees_a_team_and_nobody_in_it(
    red: Team, request_of_red: Entitlement, organizer: Client, signed_in: SignedIn
) -> None:
    page = body(Client().get(f"/teams/{red.public_id}/"))
    assert ("Team red" in page, "not entitled" in page, "never paid" in page) == (True, True, False)
    assert not [secret for secret in ("carl", "rosa", "example.org", PAPER) if secret in page]
    assert "example.org" not in body(organizer.get(f"/teams/{red.public_id}/"))


def test_the_marks_are_public(red: Team, blue: Team, olga: User, rita: User, organizer: Client) -> None:
    """R27: an association and a merging, not their reasons."""
    entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, timezone.now()), now=timezone.now())
    address, public = f"/organizer/teams/{red.public_id}/", f"/teams/{red.public_id}/"
    follow(organizer, address, action="declare", since="2026-01-02", until="", reason="Lab O.")
    page = body(Client().get(public))
    assert "Associated with the contest, never paid" in page
    assert "since Fri 2 Jan 2026 00:00:00 UTC" in page
    assert ("Lab O." in page, 'state-valid">entitled' in page) == (False, True)
    teams_merge(team=red, into=blue, reason="One lab.", by=olga, now=timezone.now())
    page = body(Client().get(public))
    assert "became part of team" in page and f"/teams/{blue.public_id}/" in page and "One lab." not in page


# A team's own page ----------------------------------------------------------------------------------------------------


def test_a_researcher_makes_a_team(red: Team, fay: User, signed_in: SignedIn) -> None:
    client = signed_in(fay)
    assert "You are in no team" in body(client.get("/team/"))
    for name, status, words in (("RED", 409, "There is a team of this name"), ("x", 400, "2 to 40 characters")):
        refused(client, "/team/", status, words, action="make", name=name)
        refused(client, "/team/", status, f'value="{name}"', action="make", name=name)  # what was typed stays
    page = follow(client, "/team/", action="make", name="green")
    assert "Team green is made, and you lead it." in page and "team green" in page, "the header says so"
    assert Member.objects.get(user=fay).captain
    for action, status in (("", 400), ("nothing", 400), ("make", 409)):
        refused(client, "/team/", status, action=action, name="grey")
    assert not Team.objects.filter(name="grey").exists()


def test_the_captain_invites_and_withdraws(captain: Client, rosa: User, signed_in: SignedIn) -> None:
    assert "on its way to fay@example.org" in follow(captain, "/team/", action="invite", email="fay@example.org")
    told, member = {"action": "withdraw-invitation", "invitation": TeamInvitation.objects.get().pk}, signed_in(rosa)
    assert "Invite somebody" not in body(member.get("/team/"))
    refused(member, "/team/", 403, **told)
    assert "is withdrawn" in follow(captain, "/team/", **told)
    refused(captain, "/team/", 409, **told)
    refused(captain, "/team/", 400, action="invite", email="no address")


def test_a_captain_floods_nobody(captain: Client, carl: User, link: str, now: datetime) -> None:
    """And inviting closes no link of a house that shares an address."""
    TeamInvitation.objects.update(withdrawn_at=timezone.now())
    forms = [{"action": "invite", "email": f"n{number}@example.org"} for number in range(12)]
    assert {captain.post("/team/", form).status_code for form in forms} == {303}
    assert Client().post("/register/", {"email": "nora@example.org"}).status_code == 200
    invites = {"action": "invite", "email": "gus@example.org"}
    for _ in range(MOST_TO_ONE_A_DAY):
        follow(captain, "/team/", **invites)
        TeamInvitation.objects.filter(email="gus@example.org").update(withdrawn_at=timezone.now())
    refused(captain, "/team/", 429, "invite it tomorrow", **invites)


def test_a_team_sends_so_many_invitations_a_day(red: Team, carl: User, now: datetime) -> None:
    for number in range(MOST_A_DAY):
        team_invite(by=carl, email=f"n{number}@example.org", now=now)
        TeamInvitation.objects.update(withdrawn_at=now)
    with pytest.raises(TooMany, match="40 invitations"):
        team_invite(by=carl, email="fay@example.org", now=now)
    assert team_invite(by=carl, email="fay@example.org", now=now + timedelta(days=1))


def test_hand_over_remove_and_leave(captain: Client, carl: User, rosa: User, signed_in: SignedIn) -> None:
    number, hers = Member.objects.get(user=rosa).pk, signed_in(rosa)
    refused(captain, "/team/", 409, action="leave")
    for member in ("", "x", "-1", "9" * 40, "²"):
        refused(captain, "/team/", 404, action="remove", member=member)
    assert "rosa is the captain now" in follow(captain, "/team/", action="hand-over", member=number)
    refused(captain, "/team/", 403, action="remove", member=number)
    page = follow(hers, "/team/", action="remove", member=Member.objects.get(user=carl).pk)
    assert "carl is not in the team any more" in page
    assert "You have left team red." in follow(hers, "/team/", action="leave")
    assert (team_of(carl), team_of(rosa)) == (None, None)


# Joining by a link ----------------------------------------------------------------------------------------------------


@pytest.fixture
def link(red: Team, carl: User, sent: Any) -> str:
    [letter] = sent(lambda: team_invite(by=carl, email="fay@example.org", now=timezone.now()))
    return link_in(letter)


def test_who_has_no_account_makes_one_and_is_in(link: str) -> None:
    client, form = Client(), {"username": "fay", "new_password": NEW, "new_password_again": NEW}
    assert "Make the account and join" in body(client.get(link))
    refused(client, link, 400, **form | {"new_password_again": "other"})
    assert "You are in team red now." in follow(client, link, **form)
    assert User.objects.get(username="fay").email == "fay@example.org"


def test_who_has_an_account_signs_in_and_joins(
    link: str, fay: User, blue: Team, bea: User, tara: Tasker, signed_in: SignedIn
) -> None:
    """Unless they are in another team, or label (R8)."""
    page, client = body(Client().get(link)), signed_in(fay)
    assert ("This address has an account" in page, f"/sign-in/?next={link}" in page) == (True, True)
    for who, status, words in ((bea, 409, "Leave it first"), (tara, 403, "")):
        other = signed_in(who)
        assert words in body(other.get(link))
        refused(other, link, status)
    assert "Join as fay" in body(client.get(link))
    assert "You are in team red now." in follow(client, link)
    assert "This link is over" in body(client.get(link))
    assert team_of(bea) == blue


def test_guessing_links_ends(link: str) -> None:
    client = Client()
    assert [client.get(f"/team/join/guess{number}/").status_code for number in range(11)] == [404] * 9 + [429] * 2
    assert "A link that still works opens all the same" in body(client.get("/team/join/guess/"))
    assert client.get(link).status_code == 200, "nobody is locked out by a neighbour"


# A request, from the team's page to the organizers' and back ----------------------------------------------------------


def test_a_request_is_asked_questioned_answered_and_accepted(
    red: Team, captain: Client, rosa: User, organizer: Client, signed_in: SignedIn
) -> None:
    """R25."""
    wrong = {"action": "ask", "arxiv_id": "1809", "paper_email": "rosa@example.org"}
    refused(captain, "/team/", 400, 'id="arxiv_id-error"', **wrong)
    page = follow(captain, "/team/", **wrong | {"arxiv_id": f"arXiv:{PAPER}v2"})
    assert "on the organizers&#x27; list" in page
    address, member = f"/organizer/teams/requests/{Entitlement.objects.get().pk}/", signed_in(rosa)
    cache.clear()
    assert "1 team asks to attack" in body(organizer.get("/organizer/"))
    assert address in body(organizer.get("/organizer/teams/")) and "confirmed by a link" in body(organizer.get(address))
    refused(organizer, address, 400, action="question", words="")
    refused(organizer, address, 400, action="x", words="y")
    assert "on its way to team red" in follow(organizer, address, action="question", words="Which <b>author</b>?")
    cache.clear()
    assert "asks to attack" not in body(organizer.get("/organizer/")), "now the team's answer is waited for"
    page = body(captain.get("/team/"))
    assert "Which &lt;b&gt;author&lt;/b&gt;?" in page and "waits for the team" in page
    assert page.index('id="question"') < page.index('<textarea id="words"')
    assert "olga" not in page, "the team reads an organizer, not whose name it is"
    page = body(member.get("/team/"))
    assert 'name="action" value="answer"' not in page and 'id="question"' not in page
    assert "Your answer is with the organizers" in follow(captain, "/team/", action="answer", words="The second.")
    assert "The second." in body(organizer.get(address))
    assert "is entitled now" in follow(organizer, address, action="accept")
    assert 'state-valid">may be sent' in body(captain.get("/team/"))
    refused(organizer, address, 409, action="refuse", words="late")


def test_an_acceptance_is_taken_back_on_the_page(
    red: Team, request_of_red: Entitlement, captain: Client, organizer: Client
) -> None:
    """R25."""
    address = f"/organizer/teams/requests/{request_of_red.pk}/"
    refused(organizer, address, 409, action="revoke", words="x")
    follow(organizer, address, action="accept")
    refused(organizer, address, 400, action="revoke", words=" ")
    assert "is revoked; it was told why" in follow(organizer, address, action="revoke", words="Another Rosa.")
    assert not is_entitled(red, timezone.now())
    page = body(organizer.get(address))
    assert "Revoked: Another Rosa." in page and "Take the acceptance back" not in page
    page = body(captain.get("/team/"))
    assert "Another Rosa." in page and "Ask the organizers" in page


def test_the_newest_question_is_shown_and_answered_by_the_captain_of_now(
    request_of_red: Entitlement, captain: Client, carl: User, olga: User, blue: Team, bea: User, signed_in: SignedIn
) -> None:
    entitlement_question(number=request_of_red.pk, words="Who wrote it?", by=olga, now=timezone.now())
    entitlement_answer(by=carl, words="She.", now=timezone.now())
    entitlement_question(number=request_of_red.pk, words="The newest?", by=olga, now=timezone.now())
    asked = body(captain.get("/team/")).partition('<p id="question">')[2].partition("</p>")[0]
    assert "The newest?" in asked and "Who wrote it?" not in asked
    teams_merge(team=request_of_red.team, into=blue, reason="One lab.", by=olga, now=timezone.now())
    assert "Your answer is with" in follow(signed_in(bea), "/team/", action="answer", words="Rosa.")


def test_a_refusal_is_read_by_the_team_and_a_captain_withdraws(
    request_of_red: Entitlement, captain: Client, organizer: Client, blue: Team, bea: User, signed_in: SignedIn
) -> None:
    entitlement_ask(by=bea, arxiv_id=PAPER, paper_email="bea@example.org", now=timezone.now())
    address = f"/organizer/teams/requests/{request_of_red.pk}/"
    page = body(organizer.get(address))
    assert "Named by others too" in page and "team blue" in page
    follow(organizer, address, action="refuse", words="Another address stands on it.")
    page = body(captain.get("/team/"))
    assert ("Another address stands on it." in page, "Ask the organizers" in page) == (True, True)
    other = signed_in(bea)
    assert "Your request is withdrawn." in follow(other, "/team/", action="withdraw")
    refused(other, "/team/", 409, action="withdraw")


@pytest.mark.parametrize("contact", ["contest@example.org", ""])
def test_whom_to_write_to_is_said(contact: str, captain: Client, settings: Any) -> None:
    settings.CONTACT_EMAIL = contact
    page = body(captain.get("/team/"))
    assert ("ask an organizer for it" in page) is not bool(contact)
    assert (f'href="mailto:{contact}"' in page) is bool(contact)


# The organizers' other pages ------------------------------------------------------------------------------------------


def test_an_association_is_declared_and_ended_in_days_of_the_contest(
    red: Team, captain: Client, organizer: Client
) -> None:
    """R27."""
    address, today = f"/organizer/teams/{red.public_id}/", timezone.now().date()
    follow(organizer, address, action="declare", since="2026-01-02", until="", reason="Lab O.")
    row = Association.objects.get()
    assert row.since.isoformat() == "2026-01-02T00:00:00+00:00"
    follow(organizer, address, action="end", association=row.pk, until=today.isoformat())
    row.refresh_from_db()
    assert row.until is not None and row.until.date() == today + timedelta(days=1), "the last day counts whole"
    assert not is_paid(red, timezone.now())
    assert "Lab O." in body(captain.get("/team/")), "the team reads the reason"
    told = {"action": "mistaken", "association": row.pk}
    refused(organizer, address, 400, "Give the reason", reason=" ", **told)
    page = follow(organizer, address, reason="The other red.", **told)
    assert "counts for nothing any more" in page and "The other red." in page and "olga" in page
    assert "Record the end" not in page and "Record the error" not in page
    assert is_paid(red, timezone.now())
    public = body(Client().get(f"/teams/{red.public_id}/"))
    assert "Not associated with the contest" in public and "Declared in error" in public
    assert ("never paid" in public, "The other red." in public, "olga" in public) == (False, False, False)
    assert "The other red." in body(captain.get("/team/")), "the team reads the reason"


WRONG = [
    ({"action": "declare", "since": "", "reason": "x"}, "the day it begins"),
    ({"action": "declare", "since": "2.1.2026", "reason": "x"}, "Write a day such as"),
    ({"action": "declare", "since": "9999-12-31", "until": "9999-12-31", "reason": "x"}, "Write a day such as"),
    ({"action": "declare", "since": "2026-01-02", "until": "2026-01-01", "reason": "x"}, "end after it begins"),
    ({"action": "declare", "since": "2026-01-02", "reason": ""}, "Give the reason"),
    ({"action": "end", "until": ""}, "the last day"),
    ({"action": "merge", "into": "G-00000", "reason": "x"}, "Choose the team"),
    ({"action": ""}, "one of the forms"),
]


@pytest.mark.parametrize(("form", "words"), WRONG)
def test_what_an_organizer_typed_wrong(form: Any, words: str, red: Team, organizer: Client) -> None:
    refused(organizer, f"/organizer/teams/{red.public_id}/", 400, words, **form)
    assert not Association.objects.exists()


def test_two_teams_are_merged_and_found(red: Team, blue: Team, captain: Client, organizer: Client) -> None:
    for find, shown in (("RE", {"red"}), (blue.public_id.lower(), {"blue"}), ("x\x00", set())):
        page = body(organizer.get("/organizer/teams/", {"find": find}))
        assert {team.name for team in (red, blue) if f">{team.name}</a>" in page} == shown
    address, told = f"/organizer/teams/{red.public_id}/", {"action": "merge", "into": blue.public_id}
    refused(organizer, address, 400, reason="", **told)
    assert "is part of team blue now" in follow(organizer, address, reason="One lab.", **told)
    assert "One lab." in body(organizer.get(f"/organizer/teams/{blue.public_id}/"))
    assert "team red, which became part of this one" in body(captain.get("/team/"))
    assert "part of blue" in body(organizer.get("/organizer/teams/"))


def test_pairs_are_listed_with_their_figures_and_nothing_follows(
    red: Team, carl: User, tara: Tasker, organizer: Client
) -> None:
    for name, email in (("carl", "jo.do@gmail.com"), ("tara", "jodo@gmail.com")):
        User.objects.filter(username=name).update(email=email)
    page = follow(organizer, "/organizer/teams/same-person/")
    assert "1 new pair." in page and f"tasker {tara.public_id}" in page and "gmail.com" in page
    assert (SamePerson.objects.count(), team_of(carl)) == (1, red)


def test_the_organizers_lists_cost_few_queries(
    organizer: Client, now: datetime, django_assert_max_num_queries: Any
) -> None:
    for number in range(25):
        team_create(name=f"team {number}", captain=researcher(f"r{number}"), now=now)
    with django_assert_max_num_queries(25 * 5 + 20):
        organizer.get("/organizer/teams/")


def test_the_board_grants_on_its_page(red: Team, captain: Client, rita: User, signed_in: SignedIn) -> None:
    """Each by a motion (R21, R25)."""
    client, address, ron = signed_in(rita), "/board/grants/", factories.user("ron", "review board")
    grants = {"team": red.public_id, "reason": "A lab without papers."}
    for wrong in ({"reason": ""}, {"team": "G-00000"}):
        refused(client, address, 400, **grants | wrong)
    page = follow(client, address, do="move", **grants)
    assert "A motion to let a team attack without a paper: team red. Moved by you, 1 of 2 votes" in page
    assert "No team can be chosen now" in page and not is_entitled(red, timezone.now())
    carried(Case.objects.get(), ron, timezone.now())
    page = body(client.get(address))
    assert "A lab without papers." in page and "No team can be chosen now" in page and "Before the board" not in page
    refused(client, address, 409, **grants)
    page = body(captain.get("/team/"))
    assert "Granted by the board" in page and "the review board" in page


def test_the_board_takes_a_grant_back_on_its_page(
    red: Team, captain: Client, organizer: Client, rita: User, signed_in: SignedIn
) -> None:
    """R21, R25."""
    entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, timezone.now()), now=timezone.now())
    client, address, ron = signed_in(rita), "/board/grants/", factories.user("ron", "review board")
    takes = {"action": "revoke", "grant": Entitlement.objects.get().pk, "reason": "It is a lab no more."}
    refused(client, address, 400, "Give the reason", **takes | {"reason": " "})
    refused(client, address, 400, **takes | {"grant": "x"})
    for other in (captain, organizer):
        refused(other, address, 403, **takes)
    page = follow(client, address, do="move", **takes)
    assert "A motion to take a grant back: team red. Moved by you" in page and "Move to revoke" not in page
    assert is_entitled(red, timezone.now()) and f'value="{red.public_id}"' not in page
    carried(Case.objects.get(state="open"), ron, timezone.now())
    page = body(client.get(address))
    assert "It is a lab no more." in page and f'value="{red.public_id}"' in page, "it may be granted anew"
    assert not is_entitled(red, timezone.now())
