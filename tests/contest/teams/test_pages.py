"""The pages of teams, from a researcher's account on: who may open which, what they say, and that all on them works."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from accounts import rate_limits
from accounts.addresses import CONFIRM_WITHIN
from accounts.models import AccountRole
from accounts.rate_limits import MAX_LETTERS_PER_RECIPIENT
from contest.core.models import Case, Member, Team
from contest.core.teams import team_of
from contest.teams.entitlements import entitlement_answer, entitlement_grant, entitlement_question, entitlement_request
from contest.teams.invitations import MAX_PER_ADDRESS_PER_DAY, team_invite
from contest.teams.models import Association, Entitlement, SamePersonHint, TeamInvitation
from contest.teams.selectors import is_entitled, is_paid
from contest.teams.services import team_create, teams_merge
from labeling.models import Tasker
from tests import factories
from tests.contest.pages import one_line, shows
from tests.contest.teams.conftest import PAPER, link_in, researcher
from tests.factories import carried, mandate

pytestmark = pytest.mark.django_db
NEW = "correct horse battery"
PASSWORDS = {"new_password": NEW, "new_password_again": NEW}
SignedIn = Callable[[User | Tasker], Client]


def body(answer: Any) -> str:
    return one_line(answer.content.decode())


def follow(client: Client, address: str, *said: str, but: Sequence[str] = (), **form: Any) -> None:
    """Post a form; the page it leads to says this."""
    answer = client.post(address, form)
    assert answer.status_code == 303, body(answer)[:2000]
    shows(body(client.get(answer["Location"])), *said, but=but)


def refused(client: Client, address: str, status: int, said: str = "", /, **form: Any) -> None:
    """Post a form that is refused, in these words."""
    answer = client.post(address, form)
    assert (answer.status_code, said in body(answer)) == (status, True), form


@pytest.fixture
def request_of_red(red: Team, carl: User) -> Entitlement:
    return entitlement_request(by=carl, arxiv_id=PAPER, paper_email="rosa@example.org", now=timezone.now())


@pytest.fixture
def captain(red: Team, carl: User, signed_in: SignedIn) -> Client:
    return signed_in(carl)


# A researcher's account: an address is written to, and only its link makes one ----------------------------------------


def asks(*addresses: str, client: Client | None = None) -> list[int]:
    """Ask for a link to each of these addresses."""
    return [(client or Client()).post("/register/", {"email": each}).status_code for each in addresses]


@pytest.fixture
def confirmation(sent: Any) -> str:
    [letter] = sent(lambda: asks("Nora@Example.org"))
    assert letter.to == ["nora@example.org"]
    return link_in(letter)


def test_the_link_makes_one_account_that_competes(confirmation: str) -> None:
    """Its role is a team's (R8)."""
    client, form = Client(), PASSWORDS | {"username": "nora"}
    shows(body(client.get(confirmation)), "nora@example.org")
    assert not User.objects.exists(), "mail programs open links by themselves"
    assert client.get(confirmation.replace("/register/", "/register/x")).status_code == 404, "a forged one"
    assert client.post(confirmation, form)["Location"] == "/team/"
    assert AccountRole.objects.values_list("user__email", "role").get() == ("nora@example.org", "team")
    shows(body(client.get("/team/")), "You are in no team")
    assert Client().post("/sign-in/", {"username": "nora", "password": NEW}).status_code == 302
    refused(Client(), confirmation, 404, "This link no longer works", **form | {"username": "other"})
    assert (Client().get(confirmation).status_code, User.objects.count()) == (404, 1)


@pytest.mark.parametrize(("late", "status"), [(timedelta(seconds=-5), 200), (timedelta(seconds=5), 404)])
def test_the_link_ends(confirmation: str, late: timedelta, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    then = (timezone.now() + CONFIRM_WITHIN + late).timestamp()
    monkeypatch.setattr("django.core.signing.time.time", lambda: then)
    assert Client().get(confirmation).status_code == status


def test_what_will_not_do_is_said_and_makes_nothing(confirmation: str, carl: User) -> None:
    for fields, words in (
        ({"new_password_again": "other"}, "not the same"),
        ({"new_password": "short", "new_password_again": "short"}, "at least 12 characters"),
        ({"username": "no blanks"}, "letters, digits"),
        ({"username": "CARL"}, "Somebody has this user name"),
    ):
        refused(Client(), confirmation, 400, words, **PASSWORDS | {"username": "nora"} | fields)
    assert User.objects.get() == carl


def test_the_answer_tells_nobody_who_has_an_account(carl: User, tara: Tasker, sent: Any) -> None:
    User.objects.filter(username="tara").update(email="tara@example.org")
    pages: set[str] = set()

    def ask(address: str) -> None:
        page = body(Client(REMOTE_ADDR=f"192.0.2.{len(address)}").post("/register/", {"email": address}))
        pages.add(re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page).replace(address, "ADDRESS"))

    addresses = ["carl@example.org", "CARL@example.org", "tara@example.org", "nobody@example.org"]
    letters = sent(lambda: [ask(address) for address in addresses])
    assert len(pages) == 1
    subjects = ["You have an account at Unanimous already"] * 3 + ["Make your account at Unanimous"]
    assert [letter.subject for letter in letters] == subjects and "/register/" not in letters[0].body


def test_no_address_is_said(sent: Any) -> None:
    assert sent(lambda: refused(Client(), "/register/", 400, "e-mail address such as", email="nora")) == []


def test_nobody_is_flooded_with_letters() -> None:
    assert asks(*["Nora@example.org"] * (MAX_LETTERS_PER_RECIPIENT + 1)) == [200] * MAX_LETTERS_PER_RECIPIENT + [429]
    refused(Client(), "/register/", 429, "Those that were sent stay good", email=" nora@example.org")
    assert asks("fay@example.org") == [200], "another one of the same house"
    assert asks("nora@example.org", client=Client(REMOTE_ADDR="192.0.2.9")) == [200]


def test_one_address_asks_for_so_many_letters_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MAX_LETTERS", 12)
    assert asks(*(f"n{number}@example.org" for number in range(14))) == [200] * 12 + [429] * 2


def test_asking_for_letters_and_guessing_close_no_link(confirmation: str) -> None:
    client = Client()
    asks(*["fay@example.org"] * (MAX_LETTERS_PER_RECIPIENT + 5), client=client)
    for number in range(12):
        client.get(f"/register/guess{number}/")
    assert client.get(confirmation).status_code == 200


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
    decides = f"/organizer/teams/requests/{request_of_red.pk}/"
    for pattern, expected in WHO.items():
        address = pattern.format(request=request_of_red.pk)
        assert Client().get(address).status_code == (404 if address.startswith("/teams/") else 302), address
        assert {name: clients[name].get(address).status_code for name in expected} == expected, address
    for name in ("fay", "carl", "stan", "tara", "rita"):
        refused(clients[name], decides, ORGANIZERS[name], action="accept")
    for name in ("tara", "olga", "rita"):
        refused(clients[name], "/team/", 403, action="make", name="green")
    for name in ("carl", "olga", "stan"):
        clients[name].post("/board/grants/", {"team": request_of_red.team.public_id, "reason": "x"})
    refused(clients["stan"], "/team/", 409, "no confirmed e-mail address", action="make", name="green")
    request_of_red.refresh_from_db()
    assert (request_of_red.state, Team.objects.count(), Case.objects.exists()) == ("asked", 1, False)


def test_everybody_sees_a_team_and_nobody_in_it(red: Team, request_of_red: Entitlement, organizer: Client) -> None:
    address, people = f"/teams/{red.public_id}/", ("carl", "rosa", "example.org", PAPER)
    shows(body(Client().get(address)), "Team red", "not entitled", but=["never paid", *people])
    shows(body(organizer.get(address)), but=["example.org"])


def test_the_marks_are_public(red: Team, blue: Team, olga: User, rita: User, organizer: Client) -> None:
    """R27: an association and a merging, not their reasons."""
    entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, timezone.now()), now=timezone.now())
    address, public = f"/organizer/teams/{red.public_id}/", f"/teams/{red.public_id}/"
    follow(organizer, address, action="declare", since="2026-01-02", until="", reason="Lab O.")
    shows(
        body(Client().get(public)),
        "Associated with the contest, never paid",
        "since Fri 2 Jan 2026 00:00:00 UTC",
        'state-valid">entitled',
        but=["Lab O."],
    )
    teams_merge(team=red, into=blue, reason="One lab.", by=olga, now=timezone.now())
    shows(body(Client().get(public)), "became part of team", f"/teams/{blue.public_id}/", but=["One lab."])


# A team's own page ----------------------------------------------------------------------------------------------------


def test_a_researcher_makes_a_team(red: Team, fay: User, signed_in: SignedIn) -> None:
    client = signed_in(fay)
    shows(body(client.get("/team/")), "You are in no team")
    for name, status, words in (("RED", 409, "There is a team of this name"), ("x", 400, "2 to 40 characters")):
        refused(client, "/team/", status, words, action="make", name=name)
        refused(client, "/team/", status, f'value="{name}"', action="make", name=name)  # what was typed stays
    follow(client, "/team/", "Team green created. You are its captain.", action="make", name="green")
    assert Member.objects.get(user=fay).captain
    for action, status in (("", 400), ("nothing", 400), ("make", 409)):
        refused(client, "/team/", status, action=action, name="grey")
    assert not Team.objects.filter(name="grey").exists()


def test_the_captain_invites_and_withdraws(captain: Client, rosa: User, signed_in: SignedIn) -> None:
    follow(captain, "/team/", "was sent to fay@example.org", action="invite", email="fay@example.org")
    told, member = {"action": "withdraw-invitation", "invitation": TeamInvitation.objects.get().pk}, signed_in(rosa)
    shows(body(member.get("/team/")), but=["Invite somebody"])
    refused(member, "/team/", 403, **told)
    follow(captain, "/team/", "is withdrawn", **told)
    refused(captain, "/team/", 409, **told)
    refused(captain, "/team/", 400, action="invite", email="no address")


def test_a_captain_floods_nobody(captain: Client) -> None:
    """And inviting closes no link of a house that shares an address."""
    forms = [{"action": "invite", "email": f"n{number}@example.org"} for number in range(12)]
    assert {captain.post("/team/", form).status_code for form in forms} == {303}
    assert asks("nora@example.org") == [200]
    invites = {"action": "invite", "email": "gus@example.org"}
    for _ in range(MAX_PER_ADDRESS_PER_DAY):
        follow(captain, "/team/", **invites)
        TeamInvitation.objects.filter(email="gus@example.org").update(withdrawn_at=timezone.now())
    refused(captain, "/team/", 429, "invite it tomorrow", **invites)


def test_hand_over_remove_and_leave(captain: Client, carl: User, rosa: User, signed_in: SignedIn) -> None:
    number, hers = Member.objects.get(user=rosa).pk, signed_in(rosa)
    refused(captain, "/team/", 409, action="leave")
    for member in ("", "x", "-1", "9" * 40, "²"):
        refused(captain, "/team/", 404, action="remove", member=member)
    follow(captain, "/team/", "rosa is the captain now", action="hand-over", member=number)
    refused(captain, "/team/", 403, action="remove", member=number)
    follow(
        hers,
        "/team/",
        "carl was removed from the team",
        action="remove",
        member=Member.objects.get(user=carl).pk,
    )
    follow(hers, "/team/", "You have left team red.", action="leave")
    assert (team_of(carl), team_of(rosa)) == (None, None)


# Joining by a link ----------------------------------------------------------------------------------------------------


@pytest.fixture
def link(red: Team, carl: User, sent: Any) -> str:
    [letter] = sent(lambda: team_invite(by=carl, email="fay@example.org", now=timezone.now()))
    return link_in(letter)


def test_who_has_no_account_makes_one_and_is_in(link: str) -> None:
    client, form = Client(), PASSWORDS | {"username": "fay"}
    shows(body(client.get(link)), "Make the account and join")
    refused(client, link, 400, **form | {"new_password_again": "other"})
    follow(client, link, "You are in team red now.", **form)
    assert User.objects.get(username="fay").email == "fay@example.org"


def test_who_has_an_account_signs_in_and_joins(
    link: str, fay: User, blue: Team, bea: User, tara: Tasker, signed_in: SignedIn
) -> None:
    """Unless they are in another team, or label (R8)."""
    shows(body(Client().get(link)), "This address has an account", f"/sign-in/?next={link}")
    client = signed_in(fay)
    for who, status, words in ((bea, 409, "Leave it first"), (tara, 403, "")):
        shows(body(signed_in(who).get(link)), words)
        refused(signed_in(who), link, status)
    shows(body(client.get(link)), "Join as fay")
    follow(client, link, "You are in team red now.")
    shows(body(client.get(link)), "This link no longer works")
    assert team_of(bea) == blue


def test_guessing_links_ends(link: str) -> None:
    client = Client()
    assert [client.get(f"/team/join/guess{number}/").status_code for number in range(11)] == [404] * 9 + [429] * 2
    shows(body(client.get("/team/join/guess/")), "A link that still works opens all the same")
    assert client.get(link).status_code == 200, "nobody is locked out by a neighbour"


# A request, from the team's page to the organizers' and back ----------------------------------------------------------


def test_a_request_is_asked_questioned_answered_and_accepted(
    red: Team, captain: Client, rosa: User, organizer: Client, signed_in: SignedIn
) -> None:
    """R25."""
    wrong = {"action": "ask", "arxiv_id": "1809", "paper_email": "rosa@example.org"}
    refused(captain, "/team/", 400, 'id="arxiv_id_error"', **wrong)
    follow(captain, "/team/", "was sent to the organizers", **wrong | {"arxiv_id": f"arXiv:{PAPER}v2"})
    address = f"/organizer/teams/requests/{Entitlement.objects.get().pk}/"
    cache.clear()
    shows(body(organizer.get("/organizer/")), "1 team asks to attack")
    shows(body(organizer.get("/organizer/teams/")), address)
    shows(body(organizer.get(address)), "confirmed by a link")
    refused(organizer, address, 400, action="question", words="")
    refused(organizer, address, 400, action="x", words="y")
    follow(organizer, address, "was sent to team red", action="question", words="Which <b>author</b>?")
    cache.clear()
    shows(body(organizer.get("/organizer/")), but=["asks to attack"])  # now the team's answer is waited for
    page = body(captain.get("/team/"))
    shows(page, "Which &lt;b&gt;author&lt;/b&gt;?", "waits for the team", but=["olga"])  # an organizer, without a name
    assert page.index('id="question"') < page.index('<textarea name="words"')
    shows(body(signed_in(rosa).get("/team/")), but=['name="action" value="answer"', 'id="question"'])
    follow(captain, "/team/", "Your answer was sent", action="answer", words="The second.")
    shows(body(organizer.get(address)), "The second.")
    follow(organizer, address, "is entitled now", action="accept")
    shows(body(captain.get("/team/")), 'state-valid">may be sent')
    refused(organizer, address, 409, action="refuse", words="late")


def test_an_acceptance_is_taken_back_on_the_page(
    red: Team, request_of_red: Entitlement, captain: Client, organizer: Client
) -> None:
    """R25."""
    address = f"/organizer/teams/requests/{request_of_red.pk}/"
    refused(organizer, address, 409, action="revoke", words="x")
    follow(organizer, address, action="accept")
    refused(organizer, address, 400, action="revoke", words=" ")
    follow(organizer, address, "is revoked. It was notified.", action="revoke", words="Another Rosa.")
    assert not is_entitled(red, timezone.now())
    shows(body(organizer.get(address)), "Revoked<br> Another Rosa.", but=["Revoke the entitlement"])
    shows(body(captain.get("/team/")), "Another Rosa.", "Ask the organizers")


def test_the_newest_question_is_shown_and_answered_by_the_captain_of_now(
    request_of_red: Entitlement, captain: Client, carl: User, olga: User, blue: Team, bea: User, signed_in: SignedIn
) -> None:
    entitlement_question(number=request_of_red.pk, words="Who wrote it?", by=olga, now=timezone.now())
    entitlement_answer(by=carl, words="She.", now=timezone.now())
    entitlement_question(number=request_of_red.pk, words="The newest?", by=olga, now=timezone.now())
    shows(
        body(captain.get("/team/")).partition('<p id="question">')[2].partition("</p>")[0],
        "The newest?",
        but=["Who wrote it?"],
    )
    teams_merge(team=request_of_red.team, into=blue, reason="One lab.", by=olga, now=timezone.now())
    follow(signed_in(bea), "/team/", "Your answer was sent", action="answer", words="Rosa.")


def test_a_refusal_is_read_by_the_team_and_a_captain_withdraws(
    request_of_red: Entitlement, captain: Client, organizer: Client, blue: Team, bea: User, signed_in: SignedIn
) -> None:
    entitlement_request(by=bea, arxiv_id=PAPER, paper_email="bea@example.org", now=timezone.now())
    address, other = f"/organizer/teams/requests/{request_of_red.pk}/", signed_in(bea)
    shows(body(organizer.get(address)), "Named by others too", "team blue")
    follow(organizer, address, action="refuse", words="Another address stands on it.")
    shows(body(captain.get("/team/")), "Another address stands on it.", "Ask the organizers")
    follow(other, "/team/", "Your request is withdrawn.", action="withdraw")
    refused(other, "/team/", 409, action="withdraw")


@pytest.mark.parametrize("contact", ["contest@example.org", ""])
def test_whom_to_write_to_is_said(contact: str, captain: Client, settings: Any) -> None:
    settings.CONTACT_EMAIL = contact
    ways = ["ask an organizer for it", f'href="mailto:{contact}"'][:: -1 if contact else 1]
    shows(body(captain.get("/team/")), ways[0], but=ways[1:])


# The organizers' other pages ------------------------------------------------------------------------------------------


def test_an_association_is_declared_and_ended_in_days_of_the_contest(
    red: Team, captain: Client, organizer: Client
) -> None:
    """R27."""
    address, today = f"/organizer/teams/{red.public_id}/", timezone.now().date()
    follow(organizer, address, action="declare", since="2026-01-02", until="", reason="Lab O.")
    row = Association.objects.get()
    refused(organizer, address, 400, "Write the last day", action="end", association=row.pk, until="")
    follow(organizer, address, action="end", association=row.pk, until=today.isoformat())
    row.refresh_from_db()
    assert row.since.isoformat() == "2026-01-02T00:00:00+00:00"
    assert row.until is not None and row.until.date() == today + timedelta(days=1), "the last day counts whole"
    assert not is_paid(red, timezone.now())
    shows(body(captain.get("/team/")), "Lab O.")  # the team reads the reason
    told = {"action": "mistaken", "association": row.pk}
    refused(organizer, address, 400, "Give the reason", reason=" ", **told)
    follow(
        organizer,
        address,
        "is recorded as an error and is void",
        "The other red.",
        "olga",
        but=["Record the end", "Record the error"],
        reason="The other red.",
        **told,
    )
    assert is_paid(red, timezone.now())
    public, kept = body(Client().get(f"/teams/{red.public_id}/")), ["never paid", "The other red.", "olga"]
    shows(public, "Not associated with the contest", "Declared in error", but=kept)
    shows(body(captain.get("/team/")), "The other red.")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"action": "declare", "since": "", "reason": "x"}, "the day it begins"),
        ({"action": "declare", "since": "2.1.2026", "reason": "x"}, "Write a day such as"),
        ({"action": "declare", "since": "9999-12-31", "until": "9999-12-31", "reason": "x"}, "Write a day such as"),
        ({"action": "declare", "since": "2026-01-02", "until": "2026-01-01", "reason": "x"}, "end after it begins"),
        ({"action": "declare", "since": "2026-01-02", "reason": ""}, "Give the reason"),
        ({"action": "merge", "into": "G-00000", "reason": "x"}, "Choose the team"),
        ({"action": ""}, "one of the forms"),
    ],
)
def test_what_an_organizer_typed_wrong(form: Any, words: str, red: Team, organizer: Client) -> None:
    refused(organizer, f"/organizer/teams/{red.public_id}/", 400, words, **form)
    assert not Association.objects.exists()


def test_two_teams_are_merged_and_found(red: Team, blue: Team, captain: Client, organizer: Client) -> None:
    for find, shown in (("RE", {"red"}), (blue.public_id.lower(), {"blue"}), ("x\x00", set())):
        page = body(organizer.get("/organizer/teams/", {"find": find}))
        assert {team.name for team in (red, blue) if f">{team.name}</a>" in page} == shown
    address, told = f"/organizer/teams/{red.public_id}/", {"action": "merge", "into": blue.public_id}
    refused(organizer, address, 400, reason="", **told)
    follow(organizer, address, "is now part of team blue", reason="One lab.", **told)
    shows(body(organizer.get(f"/organizer/teams/{blue.public_id}/")), "One lab.")
    shows(body(captain.get("/team/")), "team red, which became part of this one")
    shows(body(organizer.get("/organizer/teams/")), "part of blue")


def test_pairs_are_listed_with_their_figures_and_nothing_follows(
    red: Team, carl: User, tara: Tasker, organizer: Client
) -> None:
    for name, email in (("carl", "jo.do@gmail.com"), ("tara", "jodo@gmail.com")):
        User.objects.filter(username=name).update(email=email)
    follow(organizer, "/organizer/teams/same-person/", "1 new pair.", f"tasker {tara.public_id}", "gmail.com")
    assert (SamePersonHint.objects.count(), team_of(carl)) == (1, red)


def test_the_organizers_lists_cost_few_queries(
    organizer: Client, now: datetime, django_assert_max_num_queries: Any
) -> None:
    for number in range(25):
        team_create(name=f"team {number}", captain=researcher(f"r{number}"), now=now)
    with django_assert_max_num_queries(25 * 5 + 20):
        organizer.get("/organizer/teams/")


# The board's page -----------------------------------------------------------------------------------------------------


@pytest.fixture
def board(rita: User, signed_in: SignedIn) -> Client:
    return signed_in(rita)


def carries() -> None:
    """Carry what Rita moved, with the vote of a second member."""
    carried(Case.objects.get(state="open"), factories.user("ron", "review board"), timezone.now())


def test_the_board_grants_on_its_page(red: Team, captain: Client, board: Client) -> None:
    """Each by a motion (R21, R25)."""
    address, grants = "/board/grants/", {"team": red.public_id, "reason": "A lab without papers."}
    for wrong in ({"reason": ""}, {"team": "G-00000"}):
        refused(board, address, 400, **grants | wrong)
    follow(
        board,
        address,
        "A motion to let a team attack without a paper: team red. Moved by you, 1 of 2 votes",
        "No team can be chosen now",
        do="move",
        **grants,
    )
    assert not is_entitled(red, timezone.now())
    carries()
    shows(body(board.get(address)), "A lab without papers.", "No team can be chosen now", but=["Before the board"])
    refused(board, address, 409, **grants)
    shows(body(captain.get("/team/")), "Granted by the board", "the review board")


def test_the_board_takes_a_grant_back_on_its_page(
    red: Team, captain: Client, organizer: Client, rita: User, board: Client
) -> None:
    """R21, R25."""
    entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, timezone.now()), now=timezone.now())
    address, offered = "/board/grants/", f'value="{red.public_id}"'
    takes = {"action": "revoke", "grant": Entitlement.objects.get().pk, "reason": "It is a lab no more."}
    refused(board, address, 400, "Give the reason", **takes | {"reason": " "})
    refused(board, address, 400, **takes | {"grant": "x"})
    for other in (captain, organizer):
        refused(other, address, 403, **takes)
    follow(
        board,
        address,
        "A motion to take a grant back: team red. Moved by you",
        but=["Move to revoke", offered],
        do="move",
        **takes,
    )
    assert is_entitled(red, timezone.now())
    carries()
    shows(body(board.get(address)), "It is a lab no more.", offered)  # it may be granted anew
    assert not is_entitled(red, timezone.now())
