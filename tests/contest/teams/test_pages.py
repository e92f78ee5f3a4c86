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


@pytest.fixture
def request_of_red(red: Team, carl: User) -> Entitlement:
    return entitlement_ask(by=carl, arxiv_id=PAPER, paper_email="rosa@example.org", now=timezone.now())


PRIVATE = ["/team/", "/organizer/teams/", "/organizer/teams/same-person/", "/board/grants/"]
WHO = {
    "/team/": {"fay": 200, "carl": 200, "stan": 200, "tara": 403, "olga": 403, "rita": 403},
    "/board/grants/": {"rita": 200, "fay": 403, "carl": 403, "stan": 404, "tara": 403, "olga": 403},
    **dict.fromkeys(PRIVATE[1:3], {"olga": 200, "fay": 403, "carl": 403, "stan": 404, "tara": 403, "rita": 403}),
}


def test_each_page_is_for_some(
    signed_in: SignedIn, red: Team, fay: User, stan: User, tara: Tasker, olga: User, rita: User
) -> None:
    clients = {each.username: signed_in(each) for each in User.objects.filter(username__in=WHO["/team/"])}
    assert set(WHO) == set(PRIVATE)
    for address, expected in WHO.items():
        assert Client().get(address)["Location"] == f"/sign-in/?next={address}"
        assert {name: clients[name].get(address).status_code for name in expected} == expected, address


@pytest.mark.parametrize("part", ["organizer/teams/G-00000/", "organizer/teams/requests/0/", "teams/G-00000/"])
def test_what_is_not_there_is_not_found(part: str, signed_in: SignedIn, olga: User) -> None:
    assert signed_in(olga).get(f"/{part}").status_code == 404


def test_others_neither_see_nor_decide_a_request(
    request_of_red: Entitlement, signed_in: SignedIn, bea: User, rita: User, stan: User, tara: Tasker
) -> None:
    address = f"/organizer/teams/requests/{request_of_red.pk}/"
    for user, status in ((bea, 403), (rita, 403), (stan, 404), (tara, 403)):
        client = signed_in(user)
        assert client.get(address).status_code == status
        assert client.post(address, {"action": "accept"}).status_code == status
    request_of_red.refresh_from_db()
    assert request_of_red.state == "asked"


# Everybody's page.


def test_everybody_sees_a_team_and_nobody_in_it(
    red: Team, carl: User, olga: User, request_of_red: Entitlement, signed_in: SignedIn
) -> None:
    page = body(Client().get(f"/teams/{red.public_id}/"))
    assert ("Team red" in page, "not entitled" in page, "never paid" in page) == (True, True, False)
    for secret in ("carl", "rosa", "example.org", PAPER):
        assert secret not in page
    assert body(signed_in(olga).get(f"/teams/{red.public_id}/")).count("example.org") == 0


def test_the_marks_are_public(red: Team, blue: Team, olga: User, rita: User, signed_in: SignedIn) -> None:
    entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, timezone.now()), now=timezone.now())
    client = signed_in(olga)
    follow(
        client, f"/organizer/teams/{red.public_id}/", action="declare", since="2026-01-02", until="", reason="Lab O."
    )
    page = body(Client().get(f"/teams/{red.public_id}/"))
    assert "Associated with the contest, never paid" in page
    assert "since Fri 2 Jan 2026 00:00:00 UTC" in page
    assert ("Lab O." in page, 'state-valid">entitled' in page) == (False, True)
    teams_merge(team=red, into=blue, reason="One lab.", by=olga, now=timezone.now())
    page = body(Client().get(f"/teams/{red.public_id}/"))
    assert "became part of team" in page and f"/teams/{blue.public_id}/" in page
    assert "One lab." not in page


# A team's own page.


def test_a_researcher_makes_a_team(fay: User, signed_in: SignedIn) -> None:
    client = signed_in(fay)
    assert "You are in no team" in body(client.get("/team/"))
    page = follow(client, "/team/", action="make", name="green")
    assert "Team green is made, and you lead it." in page
    assert Member.objects.get(user=fay).captain
    assert "team green" in page, "the header says so"


@pytest.mark.parametrize(
    ("name", "status", "words"), [("RED", 409, "There is a team of this name"), ("x", 400, "2 to 40 characters")]
)
def test_a_name_that_will_not_do(name: str, status: int, words: str, red: Team, fay: User, signed_in: SignedIn) -> None:
    answer = signed_in(fay).post("/team/", {"action": "make", "name": name})
    assert (answer.status_code, words in body(answer)) == (status, True)
    assert f'value="{name}"' in body(answer), "what was typed stays"


def test_without_a_confirmed_address_nothing_is_done(stan: User, signed_in: SignedIn) -> None:
    client = signed_in(stan)
    answer = client.post("/team/", {"action": "make", "name": "green"})
    assert (answer.status_code, Team.objects.exists()) == (409, False)
    assert "no confirmed e-mail address" in body(answer)


def test_who_labels_organizes_or_judges_makes_no_team(
    tara: Tasker, olga: User, rita: User, signed_in: SignedIn
) -> None:
    for user in (tara, olga, rita):
        assert signed_in(user).post("/team/", {"action": "make", "name": "green"}).status_code == 403
    assert not Team.objects.exists()


def test_the_captain_invites_and_withdraws(red: Team, carl: User, rosa: User, signed_in: SignedIn) -> None:
    client = signed_in(carl)
    assert "on its way to fay@example.org" in follow(client, "/team/", action="invite", email="fay@example.org")
    number = TeamInvitation.objects.get().pk
    assert "Invite somebody" not in body(signed_in(rosa).get("/team/"))
    assert signed_in(rosa).post("/team/", {"action": "withdraw-invitation", "invitation": number}).status_code == 403
    page = follow(client, "/team/", action="withdraw-invitation", invitation=number)
    assert "is withdrawn" in page
    assert client.post("/team/", {"action": "withdraw-invitation", "invitation": number}).status_code == 409
    assert client.post("/team/", {"action": "invite", "email": "no address"}).status_code == 400


def test_a_captain_floods_nobody(red: Team, carl: User, signed_in: SignedIn) -> None:
    client = signed_in(carl)
    for _ in range(MOST_TO_ONE_A_DAY):
        assert client.post("/team/", {"action": "invite", "email": "fay@example.org"}).status_code == 303
        TeamInvitation.objects.update(withdrawn_at=timezone.now())
    refused = client.post("/team/", {"action": "invite", "email": "fay@example.org"})
    assert refused.status_code == 429 and "invite it tomorrow" in body(refused)
    assert client.post("/team/", {"action": "invite", "email": "bea@example.org"}).status_code == 303, "others may be"


def test_a_team_sends_so_many_invitations_a_day(red: Team, carl: User, now: datetime) -> None:
    for number in range(MOST_A_DAY):
        team_invite(by=carl, email=f"n{number}@example.org", now=now)
        TeamInvitation.objects.update(withdrawn_at=now)
    with pytest.raises(TooMany, match="40 invitations"):
        team_invite(by=carl, email="fay@example.org", now=now)
    assert team_invite(by=carl, email="fay@example.org", now=now + timedelta(days=1))


def test_inviting_closes_no_link_of_a_house_that_shares_an_address(
    red: Team, carl: User, link: str, signed_in: SignedIn
) -> None:
    client = signed_in(carl)
    forms = [{"action": "invite", "email": f"n{number}@example.org"} for number in range(12)]
    assert [client.post("/team/", form).status_code for form in forms] == [303] * 12
    assert Client().get(link).status_code == 200
    assert Client().post("/register/", {"email": "nora@example.org"}).status_code == 200


@pytest.mark.parametrize("action", ["", "nothing", "make"])
def test_a_form_that_is_not_there_changes_nothing(action: str, red: Team, carl: User, signed_in: SignedIn) -> None:
    answer = signed_in(carl).post("/team/", {"action": action, "name": "green"})
    assert answer.status_code == (409 if action == "make" else 400)
    assert Team.objects.get() == red


def test_hand_over_remove_and_leave(red: Team, carl: User, rosa: User, signed_in: SignedIn) -> None:
    client, number = signed_in(carl), Member.objects.get(user=rosa).pk
    assert client.post("/team/", {"action": "leave"}).status_code == 409
    assert "rosa is the captain now" in follow(client, "/team/", action="hand-over", member=number)
    assert client.post("/team/", {"action": "remove", "member": number}).status_code == 403
    hers = signed_in(rosa)
    page = follow(hers, "/team/", action="remove", member=Member.objects.get(user=carl).pk)
    assert "carl is not in the team any more" in page
    assert "You have left team red." in follow(hers, "/team/", action="leave")
    assert (team_of(carl), team_of(rosa)) == (None, None)


def test_a_member_that_is_no_number(red: Team, carl: User, signed_in: SignedIn) -> None:
    client = signed_in(carl)
    for member in ("", "x", "-1", "9" * 40, "²"):
        assert client.post("/team/", {"action": "remove", "member": member}).status_code == 404, member


# Joining by a link.


@pytest.fixture
def link(red: Team, carl: User, sent: Any) -> str:
    [letter] = sent(lambda: team_invite(by=carl, email="fay@example.org", now=timezone.now()))
    return link_in(letter)


def test_who_has_no_account_makes_one_and_is_in(link: str, red: Team) -> None:
    client = Client()
    page = body(client.get(link))
    assert "Make the account and join" in page
    form = {"username": "fay", "new_password": NEW, "new_password_again": NEW}
    assert client.post(link, form | {"new_password_again": "other"}).status_code == 400
    assert "You are in team red now." in follow(client, link, **form)
    assert User.objects.get(username="fay").email == "fay@example.org"


def test_who_has_an_account_signs_in_and_joins(link: str, red: Team, fay: User, signed_in: SignedIn) -> None:
    page = body(Client().get(link))
    assert ("This address has an account" in page, f"/sign-in/?next={link}" in page) == (True, True)
    client = signed_in(fay)
    assert "Join as fay" in body(client.get(link))
    assert "You are in team red now." in follow(client, link)
    assert "This link is over" in body(client.get(link))


def test_who_is_in_another_team_is_told(link: str, blue: Team, bea: User, signed_in: SignedIn) -> None:
    client = signed_in(bea)
    assert "Leave it first" in body(client.get(link))
    assert client.post(link).status_code == 409
    assert team_of(bea) == blue


def test_a_tasker_cannot_use_a_link(link: str, tara: Tasker, signed_in: SignedIn) -> None:
    client = signed_in(tara)
    assert (client.get(link).status_code, client.post(link).status_code) == (403, 403)
    assert TeamInvitation.objects.get().accepted_at is None


def test_guessing_links_ends(link: str) -> None:
    client = Client()
    assert [client.get(f"/team/join/guess{number}/").status_code for number in range(11)] == [404] * 9 + [429] * 2
    refused = client.get("/team/join/guess/")
    assert "A link that still works opens all the same" in body(refused)
    assert client.get(link).status_code == 200, "nobody is locked out by a neighbour"


# A request, from the team's page to the organizers' and back.


def test_the_question_stands_where_it_is_answered(
    request_of_red: Entitlement, carl: User, rosa: User, olga: User, signed_in: SignedIn
) -> None:
    for words in ("Who wrote it?", "Which <b>author</b>?"):
        entitlement_question(number=request_of_red.pk, words=words, by=olga, now=timezone.now())
        entitlement_answer(by=carl, words="She.", now=timezone.now())
    entitlement_question(number=request_of_red.pk, words="The newest?", by=olga, now=timezone.now())
    page = body(signed_in(carl).get("/team/"))
    asked = page.partition('<p id="question">')[2].partition("</p>")[0]
    assert "The newest?" in asked and "Who wrote it?" not in asked
    assert page.index('id="question"') < page.index('<textarea id="words"')
    assert 'id="question"' not in body(signed_in(rosa).get("/team/")), "who cannot answer reads it in the story"


@pytest.mark.parametrize("contact", ["contest@example.org", ""])
def test_whom_to_write_to_is_said(contact: str, red: Team, carl: User, signed_in: SignedIn, settings: Any) -> None:
    settings.CONTACT_EMAIL = contact
    page = body(signed_in(carl).get("/team/"))
    assert ("ask an organizer for it" in page) is not bool(contact)
    assert (f'href="mailto:{contact}"' in page) is bool(contact)


def test_a_request_is_asked_questioned_answered_and_accepted(
    red: Team, carl: User, rosa: User, olga: User, signed_in: SignedIn
) -> None:
    captain, organizer = signed_in(carl), signed_in(olga)
    wrong = captain.post("/team/", {"action": "ask", "arxiv_id": "1809", "paper_email": "rosa@example.org"})
    assert (wrong.status_code, 'id="arxiv_id-error"' in body(wrong)) == (400, True)
    ask = {"action": "ask", "arxiv_id": f"arXiv:{PAPER}v2", "paper_email": "rosa@example.org"}
    assert "on the organizers&#x27; list" in follow(captain, "/team/", **ask)
    address = f"/organizer/teams/requests/{Entitlement.objects.get().pk}/"
    assert address in body(organizer.get("/organizer/teams/"))
    assert "confirmed by a link" in body(organizer.get(address))
    assert organizer.post(address, {"action": "question", "words": ""}).status_code == 400
    assert "on its way to team red" in follow(organizer, address, action="question", words="Which <b>author</b>?")
    page = body(captain.get("/team/"))
    assert "Which &lt;b&gt;author&lt;/b&gt;?" in page and "waits for the team" in page
    assert "olga" not in page, "the team reads an organizer, not whose name it is"
    assert 'name="action" value="answer"' not in body(signed_in(rosa).get("/team/"))
    assert "Your answer is with the organizers" in follow(captain, "/team/", action="answer", words="The second.")
    assert "The second." in body(organizer.get(address))
    assert "is entitled now" in follow(organizer, address, action="accept")
    assert 'state-valid">may be sent' in body(captain.get("/team/"))
    assert organizer.post(address, {"action": "refuse", "words": "late"}).status_code == 409


def test_the_overview_says_that_a_team_waits(request_of_red: Entitlement, olga: User, signed_in: SignedIn) -> None:
    client = signed_in(olga)
    cache.clear()
    assert "1 team asks to attack" in body(client.get("/organizer/"))
    entitlement_question(number=request_of_red.pk, words="Who?", by=olga, now=timezone.now())
    cache.clear()
    assert "asks to attack" not in body(client.get("/organizer/")), "now the team's answer is waited for"


def test_a_refusal_is_read_by_the_team(
    request_of_red: Entitlement, carl: User, olga: User, signed_in: SignedIn
) -> None:
    address = f"/organizer/teams/requests/{request_of_red.pk}/"
    follow(signed_in(olga), address, action="refuse", words="Another address stands on it.")
    page = body(signed_in(carl).get("/team/"))
    assert ("Another address stands on it." in page, "Ask the organizers" in page) == (True, True)


def test_a_captain_withdraws(request_of_red: Entitlement, carl: User, signed_in: SignedIn) -> None:
    client = signed_in(carl)
    assert "Your request is withdrawn." in follow(client, "/team/", action="withdraw")
    assert client.post("/team/", {"action": "withdraw"}).status_code == 409


def test_the_organizers_see_who_named_the_same(
    request_of_red: Entitlement, blue: Team, bea: User, olga: User, signed_in: SignedIn
) -> None:
    entitlement_ask(by=bea, arxiv_id=PAPER, paper_email="bea@example.org", now=timezone.now())
    page = body(signed_in(olga).get(f"/organizer/teams/requests/{request_of_red.pk}/"))
    assert "Named by others too" in page and "team blue" in page


def test_an_unknown_decision_changes_nothing(request_of_red: Entitlement, olga: User, signed_in: SignedIn) -> None:
    answer = signed_in(olga).post(f"/organizer/teams/requests/{request_of_red.pk}/", {"action": "x", "words": "y"})
    assert answer.status_code == 400
    request_of_red.refresh_from_db()
    assert request_of_red.state == "asked"


# The organizers' other pages.


def test_an_association_is_declared_and_ended_in_days_of_the_contest(
    red: Team, carl: User, olga: User, signed_in: SignedIn
) -> None:
    client, address = signed_in(olga), f"/organizer/teams/{red.public_id}/"
    today = timezone.now().date()
    follow(client, address, action="declare", since="2026-01-02", until="", reason="Lab O.")
    row = Association.objects.get()
    assert row.since.isoformat() == "2026-01-02T00:00:00+00:00"
    follow(client, address, action="end", association=row.pk, until=today.isoformat())
    row.refresh_from_db()
    assert row.until is not None and row.until.date() == today + timedelta(days=1), "the last day counts whole"
    assert not is_paid(red, timezone.now())
    assert "Lab O." in body(signed_in(carl).get("/team/")), "the team reads the reason"


WRONG = [
    ({"action": "declare", "since": "", "reason": "x"}, "the day it begins"),
    ({"action": "declare", "since": "2.1.2026", "reason": "x"}, "Write a day such as"),
    ({"action": "declare", "since": "9999-12-31", "until": "9999-12-31", "reason": "x"}, "Write a day such as"),
    ({"action": "declare", "since": "2026-01-02", "until": "2026-01-01", "reason": "x"}, "end after it begins"),
    ({"action": "declare", "since": "2026-01-02", "reason": ""}, "Give the reason"),
    ({"action": "end", "until": ""}, "the last day"),
    ({"action": "merge", "into": "G-00000", "reason": "x"}, "Choose the team"),
    ({"action": "merge", "into": "", "reason": "x"}, "Choose the team"),
    ({"action": ""}, "one of the forms"),
]


def test_what_an_organizer_typed_wrong(red: Team, olga: User, signed_in: SignedIn) -> None:
    client = signed_in(olga)
    for form, words in WRONG:
        answer = client.post(f"/organizer/teams/{red.public_id}/", form)
        assert (answer.status_code, words in body(answer)) == (400, True), form
        assert not Association.objects.exists(), form


def test_two_teams_are_merged(red: Team, blue: Team, carl: User, olga: User, signed_in: SignedIn) -> None:
    client, address = signed_in(olga), f"/organizer/teams/{red.public_id}/"
    assert client.post(address, {"action": "merge", "into": blue.public_id, "reason": ""}).status_code == 400
    page = follow(client, address, action="merge", into=blue.public_id, reason="One lab.")
    assert "is part of team blue now" in page
    assert "One lab." in body(client.get(f"/organizer/teams/{blue.public_id}/"))
    assert "team red, which became part of this one" in body(signed_in(carl).get("/team/"))
    assert "part of blue" in body(client.get("/organizer/teams/"))


def test_teams_are_found_by_name_and_id(red: Team, blue: Team, olga: User, signed_in: SignedIn) -> None:
    client = signed_in(olga)
    for find, shown in (("RE", {"red"}), (blue.public_id.lower(), {"blue"}), ("x\x00", set())):
        page = body(client.get("/organizer/teams/", {"find": find}))
        assert {team.name for team in (red, blue) if f">{team.name}</a>" in page} == shown


def test_pairs_are_listed_with_their_figures_and_nothing_follows(
    red: Team, carl: User, tara: Tasker, olga: User, signed_in: SignedIn
) -> None:
    User.objects.filter(pk=carl.pk).update(email="jo.do@gmail.com")
    User.objects.filter(username="tara").update(email="jodo@gmail.com")
    client = signed_in(olga)
    page = follow(client, "/organizer/teams/same-person/")
    assert "1 new pair." in page and f"tasker {tara.public_id}" in page and "gmail.com" in page
    assert (SamePerson.objects.count(), team_of(carl)) == (1, red)


def test_the_board_grants_on_its_page(red: Team, carl: User, rita: User, signed_in: SignedIn) -> None:
    client = signed_in(rita)
    for form in ({"team": red.public_id, "reason": ""}, {"team": "G-00000", "reason": "x"}):
        assert client.post("/board/grants/", form).status_code == 400
    page = follow(client, "/board/grants/", team=red.public_id, reason="A lab without papers.", do="move")
    assert "A motion to let a team attack without a paper: team red. Moved by you, 1 of 2 votes" in page
    assert "No team can be chosen now" in page and not is_entitled(red, timezone.now())
    assert client.post("/board/grants/", {"team": red.public_id, "reason": "A lab without papers."}).status_code == 409
    carried(Case.objects.get(), factories.user("ron", "review board"), timezone.now())
    page = body(client.get("/board/grants/"))
    assert "A lab without papers." in page and "No team can be chosen now" in page and "Before the board" not in page
    assert client.post("/board/grants/", {"team": red.public_id, "reason": "A lab without papers."}).status_code == 409
    assert is_entitled(red, timezone.now())
    page = body(signed_in(carl).get("/team/"))
    assert "Granted by the board" in page and "the review board" in page


def test_only_the_board_grants(red: Team, carl: User, olga: User, stan: User, signed_in: SignedIn) -> None:
    for user in (carl, olga, stan):
        signed_in(user).post("/board/grants/", {"team": red.public_id, "reason": "x"})
    assert not Entitlement.objects.exists()


def test_the_organizers_lists_cost_few_queries(
    olga: User, signed_in: SignedIn, now: datetime, django_assert_max_num_queries: Any
) -> None:
    for number in range(25):
        team_create(name=f"team {number}", captain=researcher(f"r{number}"), now=now)
    client = signed_in(olga)
    with django_assert_max_num_queries(25 * 5 + 20):
        client.get("/organizer/teams/")


def test_a_question_of_a_merged_team_is_answered_by_the_captain_of_now(
    request_of_red: Entitlement, blue: Team, bea: User, olga: User, signed_in: SignedIn
) -> None:
    teams_merge(team=request_of_red.team, into=blue, reason="One lab.", by=olga, now=timezone.now())
    entitlement_question(number=request_of_red.pk, words="Who?", by=olga, now=timezone.now())
    assert "Your answer is with" in follow(signed_in(bea), "/team/", action="answer", words="Rosa.")


# Taken back.


def test_an_association_in_error_is_taken_back_on_the_page(
    red: Team, carl: User, olga: User, signed_in: SignedIn
) -> None:
    client, address = signed_in(olga), f"/organizer/teams/{red.public_id}/"
    follow(client, address, action="declare", since="2026-01-02", until="", reason="Lab O.")
    row = Association.objects.get()
    wrong = client.post(address, {"action": "mistaken", "association": row.pk, "reason": " "})
    assert (wrong.status_code, "Give the reason" in body(wrong), is_paid(red, timezone.now())) == (400, True, False)
    page = follow(client, address, action="mistaken", association=row.pk, reason="The other red.")
    assert "counts for nothing any more" in page and "The other red." in page and "olga" in page
    assert "Record the end" not in page and "Record the error" not in page
    assert is_paid(red, timezone.now())
    public = body(Client().get(f"/teams/{red.public_id}/"))
    assert "Not associated with the contest" in public and "Declared in error" in public
    assert ("never paid" in public, "The other red." in public, "olga" in public) == (False, False, False)
    assert "The other red." in body(signed_in(carl).get("/team/")), "the team reads the reason"


def test_an_acceptance_is_taken_back_on_the_page(
    red: Team, carl: User, olga: User, request_of_red: Entitlement, signed_in: SignedIn
) -> None:
    client, address = signed_in(olga), f"/organizer/teams/requests/{request_of_red.pk}/"
    assert "Take the acceptance back" not in body(client.get(address))
    assert client.post(address, {"action": "revoke", "words": "x"}).status_code == 409
    follow(client, address, action="accept")
    assert "Take the acceptance back" in body(client.get(address))
    assert client.post(address, {"action": "revoke", "words": " "}).status_code == 400
    assert "is revoked; it was told why" in follow(client, address, action="revoke", words="Another Rosa.")
    assert not is_entitled(red, timezone.now())
    page = body(client.get(address))
    assert "Revoked: Another Rosa." in page and "Take the acceptance back" not in page
    page = body(signed_in(carl).get("/team/"))
    assert "Another Rosa." in page and "Ask the organizers" in page


def test_the_board_takes_a_grant_back_on_its_page(
    red: Team, carl: User, olga: User, rita: User, signed_in: SignedIn
) -> None:
    client, address = signed_in(rita), "/board/grants/"
    follow(client, address, team=red.public_id, reason="A lab without papers.", do="move")
    ron = factories.user("ron", "review board")
    carried(Case.objects.get(), ron, timezone.now())
    row = Entitlement.objects.get()
    form = {"action": "revoke", "grant": row.pk}
    assert "Give the reason" in body(client.post(address, form | {"reason": " "}))
    assert client.post(address, form | {"grant": "x", "reason": "y"}).status_code == 400
    for user in (carl, olga):
        assert signed_in(user).post(address, form | {"reason": "x"}).status_code == 403
    assert is_entitled(red, timezone.now())
    page = follow(client, address, reason="It is a lab no more.", do="move", **form)
    assert "A motion to take a grant back: team red. Moved by you" in page and "Move to revoke" not in page
    assert is_entitled(red, timezone.now()) and f'value="{red.public_id}"' not in page
    carried(Case.objects.get(state="open"), ron, timezone.now())
    page = body(client.get(address))
    assert "It is a lab no more." in page
    assert f'value="{red.public_id}"' in page, "it may be granted anew"
    assert not is_entitled(red, timezone.now())
    assert "the review board" in body(signed_in(carl).get("/team/"))
