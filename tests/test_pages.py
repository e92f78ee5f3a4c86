"""Every page: who may open it, and what each answer forbids the browser."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils import timezone

from common.authentication import issue_token
from common.errors import Conflict
from config.audience import OPEN_TO_TASKERS
from contest.models import Member, Team
from contest.teams.services import team_create
from labeling.models import Tasker
from labeling.people import TEAMS
from tests import factories

pytestmark = pytest.mark.django_db
_ID = "3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84"
OPEN_TO_ALL = {"/sign-in/", "/password/", "/healthz", "/readyz", "/api/schema/", "/api/docs/", "/pictures/forged.png"}
KEYS = "/.well-known/unanimous-signing-keys.json"
OPEN_TO_ALL |= {KEYS, "/defenses/", "/api/v1/policies/"}
# Of these taskers are told nothing (R8).
NOT_FOR_TASKERS = {"/front/", "/money/", "/leaderboard/", "/leaderboard.csv", "/api/v1/leaderboard/"}
NOT_FOR_TASKERS |= {"/api/v1/defenses/", "/overrules/", "/overrules.csv", "/search/"}
OPEN_TO_ALL |= {"/", "/rules/", "/docs/defenses/", "/docs/status/", "/docs/release-format/"} | NOT_FOR_TASKERS
# What a stranger is answered elsewhere: sent to sign in, or refused outright, or answered on this machine alone.
SIGN_IN_FIRST = {"/organizer/", "/organizer/now/", "/label/"}
SIGN_IN_FIRST |= {"/label/instructions/", "/label/instructions/news/"}
TASKERS_ONLY = {"/questions/", "/my-work/", "/my-work/download/", "/paused/", "/learn/"}
# Of these there is none with the example's number.
OF_TASKERS = {f"/my-work/{_ID}/", "/my-work/checks/", "/learn/0/", f"/qualification/marks/{_ID}/"}
OF_TASKERS |= {"/qualification/tries/0/"}
ORGANIZERS_ONLY = {"/organizer/questions/", "/organizer/reports/", "/organizer/learning/", "/organizer/taskers/"}
ORGANIZERS_ONLY |= {"/organizer/watching/", "/organizer/gold/", "/organizer/gold/candidates/", "/organizer/taskers.csv"}
ORGANIZERS_ONLY |= {"/organizer/weeks/2026-W40/", "/organizer/differing/"}
OF_ORGANIZERS = {"/organizer/taskers/T-00000/", "/organizer/taskers/T-00000/pause/", "/organizer/links/0/"}
OF_ORGANIZERS |= {"/organizer/gold/new/P-00000000/", "/organizer/reruns/new/T-00000/", "/organizer/reruns/0/"}
OF_ORGANIZERS |= {"/organizer/reruns/0/pause/", "/organizer/reruns/0/now/"}
ORGANIZERS_ONLY |= {"/organizer/scoring/", "/organizer/scoring/now/", "/organizer/scoring/retry/"}
ORGANIZERS_ONLY |= {"/organizer/scoring/retry-trials/", "/organizer/leaderboard/"}
OF_ORGANIZERS |= {f"/organizer/defenses/T-00000/{part}" for part in ("trial/", "framework/", "source.zip")}
# The board checks frameworks, and organizers may see it (R31, 4).
FRAMEWORK = {f"/organizer/defenses/T-00000/{part}" for part in ("framework/", "source.zip")}
OPEN_TO_ALL |= {"/register/"}
ORGANIZERS_ONLY |= {"/organizer/teams/", "/organizer/teams/same-person/"}
OF_ORGANIZERS |= {"/organizer/teams/T-00000/", "/organizer/teams/requests/0/"}
# The published record: open, and of the release of the example there is none.
RECORD = {"/releases/", "/releases/mail/", "/releases/mail/end/forged/"}
FEEDS = {"/feeds/releases.atom", "/feeds/releases.json", "/api/v1/releases/"}
FEEDS |= {"/feeds/overrules.atom", "/feeds/overrules.json"}
OPEN_TO_ALL |= RECORD | FEEDS
ORGANIZERS_ONLY |= {"/organizer/releases/", "/organizer/releases/now/"}
OF_ORGANIZERS |= {"/organizer/releases/release-2026-W40/"}
SETTLED, CHANGED = "/organizer/taskers/T-00000/settled/", f"/organizer/gold/{_ID}/"
SIGN_IN_FIRST |= TASKERS_ONLY | OF_TASKERS | {"/qualification/", "/qualification/picture/"}
SIGN_IN_FIRST |= ORGANIZERS_ONLY | OF_ORGANIZERS | {SETTLED, CHANGED}
SIGN_IN_FIRST |= {"/team/", "/board/grants/", "/board/frameworks/"}
# Defenses of teams, and stakes; some are only posted to.
ORGANIZERS_ONLY |= {"/organizer/stakes/", "/organizer/what-if/", "/organizer/what-if/part/"}
OWN_DEFENSES, OWN_DEFENSE = {"/team/defenses/", "/team/defenses/new/"}, "/team/defenses/T-00000/"
DONE_TO_IT = {f"{OWN_DEFENSE}source/", f"{OWN_DEFENSE}pause/"}
SIGN_IN_FIRST |= {*OWN_DEFENSES, OWN_DEFENSE, *DONE_TO_IT, "/board/stakes/"}
# Money and awards.
ORGANIZERS_ONLY |= {"/organizer/money/", "/organizer/money/corrections/"}
OF_ORGANIZERS |= {"/organizer/money/payments/0/", "/organizer/money/corrections/0/"}
MONEY_FILES = {"/organizer/money/payables.csv", "/organizer/money/receipts.csv"}
OF_REVIEWERS = {"/board/awards/0/", "/board/examinations/T-00000/"}
ASKED, REMINDED = "/organizer/money/ask/T-00000/", "/organizer/cases/T-00000/remind/"
SIGN_IN_FIRST |= {"/team/money/", "/board/withheld/", "/board/awards/", ASKED, REMINDED, *MONEY_FILES, *OF_REVIEWERS}
ORGANIZERS_ONLY |= {"/organizer/audit/", "/organizer/audit.csv"}
# Messages.
ORGANIZERS_ONLY |= {"/messages/outbox/"}
LETTER = "/messages/outbox/release-2026-W40/"
OF_ORGANIZERS |= {LETTER, f"{LETTER}html/"}
OWN_MESSAGES, OWN_MESSAGE = {"/messages/", "/messages/settings/"}, "/messages/0/"
SIGN_IN_FIRST |= {*OWN_MESSAGES, OWN_MESSAGE}
NO_MESSAGES = {"tasker": 403, "newcomer": 403}
# Cases of the board; who may do what with one is in tests.contest.board.test_case_map.
BOARD_ONLY, CASE = {"/board/", "/board/conflicts/"}, "/board/cases/T-00000/"
OF_CASES, DONE_TO_CASE = {CASE, f"{CASE}disclose/", f"{CASE}decide/"}, {f"{CASE}vote/", f"{CASE}drop/"}
SIGN_IN_FIRST |= BOARD_ONLY | OF_CASES | DONE_TO_CASE
ORGANIZERS_ONLY |= {"/organizer/conflicts/"}
# Attacks: under embargo, or public.
ORGANIZERS_ONLY |= {"/organizer/attacks/", "/organizer/near-duplicates/"}
ORGANIZERS_ONLY |= {"/organizer/policy/", "/organizer/policy/new/"}
SEND, WITHDRAW = "/attacks/send/", "/attacks/T-00000/withdraw/"
# Appeals of teams.
OWN_APPEALS = {"/appeals/new/P-00000000/", "/appeals/case/T-00000/", "/appeals/T-00000/"}
SIGN_IN_FIRST |= {"/appeals/", *OWN_APPEALS}
SIGN_IN_FIRST |= {"/attacks/", WITHDRAW}
SIGN_IN_FIRST |= ORGANIZERS_ONLY | OF_ORGANIZERS
OWN_ACCOUNT = {"/account/", "/account/email/", "/account/password/", "/account/second-factor/", "/account/delete/"}
SIGN_IN_FIRST |= {*OWN_ACCOUNT, "/account/email/forged/", "/organizer/people/", "/organizer/people/T-00000/delete/"}
REFUSED = {"/metrics": 403, "/sign-out/": 405, "/api/v1/token/": 405, "/api/v1/me/": 401}
REFUSED |= dict.fromkeys(["/account/settings/", "/account/sessions/end/", "/account/tokens/revoke/", "/language/"], 405)
REFUSED |= {"/join/forged/": 404, "/password/forged/forged/": 404}
REFUSED |= {"/rules/versions/0/": 404, "/defenses/T-00000/": 404, "/defenses/T-00000/risk-coverage.csv": 404}
REFUSED |= {"/defenses/T-00000/release-2026-W40": 404}
REFUSED |= {"/api/v1/appeals/T-00000/decisions/": 401}
REFUSED |= {"/register/forged/": 404, "/team/join/forged/": 404, "/teams/T-00000/": 404}
REFUSED |= {"/record/T-00000/": 404, "/record/": 302}  # the list of the record is what can be searched
REFUSED |= {"/attacks/T-00000/": 404, "/attacks/weeks/release-2026-W40/": 404, "/api/v1/attacks/": 401}
REFUSED |= {"/api/v1/appeals/": 401}
REFUSED |= {"/api/v1/preferences/": 401, "/api/v1/notices/": 401, SEND: 401}
REFUSED |= {"/api/v1/images/P-00000000/": 404, "/api/v1/rulings/": 400}
NO_PAGES = {"/healthz", "/readyz", "/api/schema/", "/pictures/forged.png"}
NO_PAGES |= {
    KEYS,
    "/label/instructions/news/",
    "/my-work/download/",
    "/organizer/taskers.csv",
    "/organizer/audit.csv",
    "/qualification/picture/",
}
REFUSED |= dict.fromkeys(
    ["/releases/mail/confirm/forged/", "/api/v1/releases/2026-W40/", "/weeks/release-2026-W40/"], 404
)
REFUSED |= {f"/releases/release-2026-W40{part}": 404 for part in ("/", ".zip", "/manifest.json")}
NO_PAGES |= FEEDS | {"/organizer/what-if/part/", "/api/v1/policies/", "/overrules.csv"}
NO_PAGES |= {OWN_DEFENSE, *DONE_TO_IT, "/api/v1/defenses/", OWN_MESSAGE}
NO_PAGES |= OWN_APPEALS | MONEY_FILES | OF_REVIEWERS | {ASKED, REMINDED, WITHDRAW} | OF_CASES | DONE_TO_CASE
NO_PAGES |= OF_TASKERS | OF_ORGANIZERS | {SETTLED, CHANGED, "/leaderboard.csv", "/api/v1/leaderboard/"}
NO_PAGES |= {"/account/email/forged/", "/organizer/people/T-00000/delete/"}
_EXAMPLES = {
    "<str:name>": "release-2026-W40",
    "<str:key>": "forged",
    "<str:week>": "2026-W40",
    "<path:path>": "manifest.json",
    "<str:token>": "forged",
    "<str:uid>": "forged",
    "<str:public_id>": "T-00000",
    "<str:image_id>": "P-00000000",
    "<slug:name>": "pause",
    **dict.fromkeys(["<int:number>", "<int:link_id>"], "0"),
    **{f"<uuid:{name}>": _ID for name in ("assignment_id", "item_id", "public_id", "notice_id")},
}
# Calls of taskers that are only posted to.
POSTED = [f"/api/v1/{part}/{call}/" for part in ("assignments", "qualification") for call in ("next", f"{_ID}/release")]
POSTED += [
    f"/api/v1/{part}/{_ID}/{call}/" for part in ("assignments", "qualification") for call in ("heartbeat", "response")
]
POSTED += [f"/api/v1/notices/{_ID}/seen/", "/api/v1/questions/"]
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
FORBIDDEN = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def addresses(patterns: list[URLPattern | URLResolver] | None = None, before: str = "/") -> list[str]:
    """Every address the site knows, with an example in the place of each parameter."""
    found: list[str] = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += addresses(pattern.url_patterns, path)
        else:
            for parameter, example in _EXAMPLES.items():
                path = path.replace(parameter, example)
            found.append(path)
    return found


def policy_of(answer: Any) -> dict[str, str]:
    directives = (each.strip().partition(" ") for each in answer["Content-Security-Policy"].split(";"))
    return {name: value for name, _, value in directives}


# Each page as a person it is for; whoever is refused sees another page.
SHOWN_TO = dict.fromkeys(["/sign-in/", "/password/", "/api/docs/", "/defenses/", "/nothing"], "stranger")
SHOWN_TO |= dict.fromkeys(["/front/", "/leaderboard/", "/rules/", "/overrules/", "/search/"], "stranger")
SHOWN_TO |= {f"/docs/{name}/": "stranger" for name in ("defenses", "status", "release-format")}
SHOWN_TO |= dict.fromkeys(sorted(RECORD), "stranger")
SHOWN_TO |= {"/label/": "tasker", "/label/instructions/": "tasker", "/": "board member"}
SHOWN_TO |= dict.fromkeys(sorted(OWN_ACCOUNT), "tasker")
SHOWN_TO |= {"/money/": "stranger", "/team/money/": "captain"}
SHOWN_TO |= dict.fromkeys(["/board/withheld/", "/board/awards/", *sorted(BOARD_ONLY)], "board member")
SHOWN_TO |= dict.fromkeys(sorted(OWN_DEFENSES), "captain") | {"/board/stakes/": "board member"}
SHOWN_TO |= {"/register/": "stranger", "/team/": "captain", "/board/grants/": "board member"}
SHOWN_TO |= {"/board/frameworks/": "board member"}
SHOWN_TO |= dict.fromkeys(sorted(TASKERS_ONLY - {"/my-work/download/"}), "tasker") | {"/qualification/": "newcomer"}
SHOWN_TO |= dict.fromkeys(["/organizer/people/", "/organizer/", "/organizer/now/"], "organizer")
ORGANIZERS_FILES = {"/organizer/taskers.csv", "/organizer/audit.csv", "/organizer/what-if/part/"}
SHOWN_TO |= dict.fromkeys(sorted(ORGANIZERS_ONLY - ORGANIZERS_FILES), "organizer")
SHOWN_TO |= {"/attacks/": "captain", "/appeals/": "captain"} | dict.fromkeys(sorted(OWN_MESSAGES), "captain")
ROLES = ["stranger", "no role", "newcomer", "tasker", "organizer", "board member", "captain"]


@pytest.fixture
def as_role(signed_in: Any) -> Callable[[str], Client]:
    """Return a function that gives the client of somebody in a role; the policy and a picture to label are there."""
    factories.policy_version()
    factories.panel()

    def client_of(role: str) -> Client:
        return Client() if role == "stranger" else cast(Client, signed_in(person(role)))

    return client_of


def person(role: str) -> User | Tasker:
    """Somebody of the cast, by what they are."""
    if role in {"tasker", "newcomer"}:
        return factories.tasker("tara", state={"tasker": "qualified", "newcomer": "learning"}[role])
    if role == "captain":
        return captain()
    groups = {"organizer": ["organizers"], "board member": ["review board"], "no role": []}
    return factories.user("olga", *groups[role])


def captain() -> User:
    """The captain of team red."""
    carl = factories.user("carl")
    team = Team.objects.create(name="red", created_at=factories.NOW)
    Member.objects.create(team=team, user=carl)
    return carl


def test_every_address_is_known_to_these_tests() -> None:
    known = OPEN_TO_ALL | SIGN_IN_FIRST | set(REFUSED)
    assert set(addresses()) == known | set(POSTED)
    assert set(SHOWN_TO) | NO_PAGES == OPEN_TO_ALL | SIGN_IN_FIRST | {"/nothing"}


# Each walks all its addresses as one person: the whole map is the expectation, and a failure shows where it differs.


def test_a_stranger_is_sent_to_sign_in_and_back(client: Client) -> None:
    answers = {address: client.get(address) for address in sorted(SIGN_IN_FIRST)}
    sent = {address: (answer.status_code, answer.get("Location")) for address, answer in answers.items()}
    assert sent == {address: (302, f"/sign-in/?next={address}") for address in SIGN_IN_FIRST}


@pytest.mark.parametrize(("address", "status"), sorted(REFUSED.items()))
def test_a_stranger_from_elsewhere_is_refused(address: str, status: int) -> None:
    assert Client(REMOTE_ADDR="192.0.2.7").get(address).status_code == status


def test_what_is_open_is_open_to_strangers(client: Client) -> None:
    opened = sorted(OPEN_TO_ALL - {"/pictures/forged.png"})
    assert {address: client.get(address).status_code for address in opened} == dict.fromkeys(opened, 200)


def test_a_stranger_is_refused_by_the_api(client: Client) -> None:
    assert refusals(client) == dict.fromkeys(POSTED, (401, "not_authenticated"))


def test_an_account_without_a_role_is_refused_by_the_api(stan: User, signed_in: Any) -> None:
    assert refusals(signed_in(stan)) == dict.fromkeys(POSTED, (403, "not_a_tasker"))


def refusals(client: Client) -> dict[str, tuple[int, str]]:
    """Post nothing to all that takes a POST: address -> status and code."""
    answers = {address: client.post(address, {}, content_type="application/json") for address in POSTED}
    return {address: (answer.status_code, answer.json()["code"]) for address, answer in answers.items()}


# Addresses that are only posted to, by accounts that are no taskers'.
POSTED_TO = dict.fromkeys(set(ROLES) - {"stranger", "tasker", "newcomer"}, 405)
# Who is answered what; whoever is not named here is refused with 403.
ANSWERED = {
    **{address: dict.fromkeys(ROLES, 200) | {"tasker": 403, "newcomer": 403} for address in NOT_FOR_TASKERS},
    "/": {"stranger": 200, "tasker": 302, "newcomer": 200, "organizer": 302, "board member": 200, "captain": 200}
    | {"no role": 200},
    "/label/": {"stranger": 302, "tasker": 200},
    "/label/instructions/": {"stranger": 302} | dict.fromkeys(ROLES[1:], 200),
    "/organizer/": {"stranger": 302, "organizer": 200, "no role": 404},
    "/organizer/now/": {"stranger": 302, "organizer": 200, "no role": 404},
    "/organizer/people/": {"stranger": 302, "organizer": 200, "no role": 404},
    "/organizer/people/T-00000/delete/": {"stranger": 302, "organizer": 404, "no role": 404},
    "/team/": {"stranger": 302, "captain": 200, "no role": 200},
    **{each: {"stranger": 302} | dict.fromkeys(ROLES[1:], 200) | NO_MESSAGES for each in OWN_MESSAGES},
    OWN_MESSAGE: {"stranger": 302} | dict.fromkeys(ROLES[1:], 404) | NO_MESSAGES,
    "/board/grants/": {"stranger": 302, "board member": 200, "no role": 404},
    "/board/frameworks/": {"stranger": 302, "board member": 200, "organizer": 200, "no role": 404},
    "/team/money/": {"stranger": 302, "captain": 200, "no role": 404},
    **{address: {"stranger": 302, "captain": 200, "no role": 404} for address in OWN_DEFENSES},
    OWN_DEFENSE: {"stranger": 302, "captain": 404, "no role": 404},
    **{address: {"stranger": 302} | POSTED_TO for address in DONE_TO_IT},
    "/board/stakes/": {"stranger": 302, "board member": 200, "no role": 404},
    **{address: {"stranger": 302, "board member": 200, "no role": 404} for address in BOARD_ONLY},
    **{address: {"stranger": 302, "board member": 404, "no role": 404} for address in OF_CASES},
    **{address: {"stranger": 302, "board member": 404, "no role": 404} for address in DONE_TO_CASE},
    "/attacks/": {"stranger": 302, "captain": 200, "no role": 404},
    "/appeals/": {"stranger": 302, "captain": 200, "no role": 404},
    **{address: {"stranger": 302, "captain": 404, "no role": 404} for address in OWN_APPEALS},
    SEND: {"stranger": 401} | POSTED_TO,
    WITHDRAW: {"stranger": 302, "captain": 404, "no role": 404},
    "/board/withheld/": {"stranger": 302, "board member": 200, "no role": 404},
    "/board/awards/": {"stranger": 302, "organizer": 200, "board member": 200, "no role": 404},
    "/board/awards/0/": {"stranger": 302, "organizer": 404, "board member": 404, "no role": 404},
    "/board/examinations/T-00000/": {"stranger": 302, "board member": 404, "no role": 404},
    **{address: {"stranger": 302} | POSTED_TO for address in (ASKED, REMINDED)},
    **{address: {"stranger": 302, "organizer": 200, "no role": 404} for address in MONEY_FILES},
    "/account/email/forged/": {"stranger": 302} | dict.fromkeys(ROLES[1:], 404),
    **{address: {"stranger": 302} | dict.fromkeys(ROLES[1:], 200) for address in OWN_ACCOUNT},
    "/label/instructions/news/": {"stranger": 302, "tasker": 200, "newcomer": 200},
    **{address: {"stranger": 302, "tasker": 200, "newcomer": 200} for address in TASKERS_ONLY},
    **{address: {"stranger": 302, "tasker": 404, "newcomer": 404} for address in OF_TASKERS},
    "/qualification/": {"stranger": 302, "tasker": 200, "newcomer": 200},
    "/qualification/picture/": {"stranger": 302, "tasker": 302, "newcomer": 302},
    **{address: {"stranger": 302, "organizer": 200, "no role": 404} for address in ORGANIZERS_ONLY},
    **{address: {"stranger": 302, "organizer": 404, "no role": 404} for address in OF_ORGANIZERS},
    **{address: {"stranger": 302, "organizer": 404, "board member": 404, "no role": 404} for address in FRAMEWORK},
    SETTLED: {"stranger": 302, "organizer": 404, "board member": 404, "no role": 404},
    CHANGED: {"stranger": 302} | POSTED_TO,
    **{f"/api/v1/{name}/": {"stranger": 401, "tasker": 200, "newcomer": 200} for name in ("preferences", "notices")},
    "/api/v1/me/": {"stranger": 401} | dict.fromkeys(ROLES[1:], 200),
}


@pytest.mark.parametrize("role", ROLES)
def test_the_pages_open_to_the_roles_they_are_for(role: str, as_role: Callable[[str], Client]) -> None:
    client = as_role(role)
    found = {address: client.get(address).status_code for address in sorted(ANSWERED)}
    assert found == {address: answers.get(role, 403) for address, answers in ANSWERED.items()}


@pytest.mark.parametrize("role", ["no role", "organizer", "board member", "captain"])
def test_who_is_refused_a_tasker_s_page_is_told_whose_it_is_and_where_to_go(
    role: str, as_role: Callable[[str], Client]
) -> None:
    client = as_role(role)
    for address in sorted(TASKERS_ONLY | {"/qualification/"}):
        refused = client.get(address)
        main = refused.content.decode().partition("<main")[2].partition("</main>")[0]
        assert (refused.status_code, "<h1>For taskers only</h1>" in main) == (403, True), address
        assert "This page is for those who label pictures" in main, address
        assert '<a href="/">start page</a>' in main, address
        assert "<code>not_a_tasker</code>" in main, address


def test_the_table_of_roles_has_every_address_that_asks_who_is_there() -> None:
    assert set(ANSWERED) == SIGN_IN_FIRST | NOT_FOR_TASKERS | {
        "/",
        "/api/v1/me/",
        "/api/v1/preferences/",
        "/api/v1/notices/",
        SEND,
    }


@pytest.mark.parametrize("role", [each for each in ROLES if each not in {"stranger", "tasker"}])
def test_nobody_but_a_tasker_gets_a_picture_from_the_api(role: str, as_role: Callable[[str], Client]) -> None:
    answer = as_role(role).post("/api/v1/assignments/next/", {}, content_type="application/json")
    code = "not_qualified" if role == "newcomer" else "not_a_tasker"
    assert (answer.status_code, answer.json()["code"]) == (403, code)


@pytest.mark.parametrize("role", ["stranger", "tasker", "organizer"])
def test_every_answer_has_a_strict_policy(role: str, as_role: Callable[[str], Client]) -> None:
    client = as_role(role)
    for address in sorted({*addresses(), "/nothing", "/api/v1/nothing"}):
        answer = client.get(address)
        policy = policy_of(answer)
        assert "unsafe-" not in answer["Content-Security-Policy"], address
        if address.startswith("/pictures/"):
            assert policy == {"default-src": "'none'", "sandbox": ""}, address
        else:
            assert policy.items() >= POLICY.items(), address
        assert {name: answer[name] for name in FORBIDDEN} == FORBIDDEN, address


@pytest.mark.parametrize("role", sorted(set(SHOWN_TO.values())))
def test_no_page_carries_a_script_or_a_style_of_its_own(role: str, as_role: Callable[[str], Client]) -> None:
    client = as_role(role)
    for address in sorted(address for address, reader in SHOWN_TO.items() if reader == role):
        answer = client.get(address)
        assert answer.status_code == (404 if address == "/nothing" else 200), address
        assert answer["Content-Type"].startswith("text/html"), address
        page = answer.content.decode()
        assert " style=" not in page, address
        assert "<style" not in page, address
        assert not re.search(r"<[^>]+ on[a-z]+=", page), address
        scripts = (tag for tag in page.split("<script")[1:])
        assert all("src=" in tag.split(">")[0] or "application/json" in tag for tag in scripts), address


@pytest.mark.parametrize(
    ("state", "words"),
    [("learning", "not qualified yet"), ("paused", "Why, and what to do")],
)
def test_a_tasker_who_may_not_label_is_told_why(state: str, words: str, signed_in: Any) -> None:
    page = signed_in(factories.tasker("nina", state=state)).get("/").content.decode()
    assert words in page


def test_the_start_page_leads_to_the_work(tara: Tasker, olga: User, signed_in: Any) -> None:
    assert signed_in(tara).get("/")["Location"] == "/label/"
    assert signed_in(olga).get("/")["Location"] == "/organizer/"


def test_the_start_page_says_what_an_account_is_for(rita: User, stan: User, signed_in: Any) -> None:
    assert "review board" in signed_in(rita).get("/").content.decode()
    assert "This account has no role yet" in signed_in(stan).get("/").content.decode()


def test_the_header_names_who_is_signed_in_and_offers_what_they_may_do(
    tara: Tasker, olga: User, signed_in: Any
) -> None:
    taskers = signed_in(tara).get("/api/docs/").content.decode()
    organizers = signed_in(olga).get("/api/docs/").content.decode()
    assert ('href="/label/"' in taskers, 'href="/organizer/"' in taskers) == (True, False)
    assert ('href="/label/"' in organizers, 'href="/organizer/"' in organizers) == (False, True)
    assert "tara</a>" in taskers
    assert "olga</a><span" in organizers


def test_the_header_leads_to_where_each_role_works(olga: User, rita: User, now: datetime, signed_in: Any) -> None:
    fay = factories.user("fay", TEAMS)

    def header(who: User) -> str:
        return signed_in(who).get("/api/docs/").content.decode().partition("</header>")[0]

    assert 'href="/organizer/attacks/"' in header(olga) and 'href="/board/frameworks/"' in header(rita)
    assert 'href="/defenses/"' in header(fay), "who is in no team has no defenses"
    factories.policy_version()
    team_create(name="red", captain=fay, now=now)
    assert 'href="/team/defenses/"' in header(fay) and 'href="/defenses/"' not in header(fay)


def test_an_unknown_address_is_answered_with_a_way_back(client: Client) -> None:
    answer = client.get("/nothing")
    assert answer.status_code == 404
    assert "Nothing at this address" in answer.content.decode()


def test_a_refusal_is_shown_in_its_own_words(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> dict[str, Any]:
        raise Conflict("<b>Too late</b>: ask again.", "too_late")

    monkeypatch.setattr("contest.views.call_groups", refuse)
    answer = client.get("/api/docs/")
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "&lt;b&gt;Too late&lt;/b&gt;: ask again." in page
    assert "too_late" in page


def test_a_failure_says_what_was_kept_and_has_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> dict[str, Any]:
        raise RuntimeError("the reason, which is for the log alone")

    monkeypatch.setattr("contest.views.call_groups", fail)
    client = Client(raise_request_exception=False)
    answer = client.get("/api/docs/")
    page = answer.content.decode()
    assert answer.status_code == 500
    assert "What was saved before is kept" in page
    assert "for the log alone" not in page


def test_a_failure_of_the_api_is_json(tara: Tasker, signed_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(user: Any) -> None:
        raise RuntimeError("the reason, which is for the log alone")

    monkeypatch.setattr("contest.api.roles_of", fail)
    client = signed_in(tara)
    client.raise_request_exception = False
    answer = client.get("/api/v1/me/")
    assert (answer.status_code, answer.json()["code"]) == (500, "server_error")
    assert "for the log alone" not in answer.content.decode()


def test_a_request_for_another_host_is_refused(client: Client) -> None:
    assert client.get("/sign-in/", headers={"host": "elsewhere.example"}).status_code == 400


# What taskers may open (R8) is declared once, and everything else is refused: pages, feeds, files, releases and calls.


def test_what_is_open_to_taskers_is_there() -> None:
    names = {match.url_name for address in addresses() if (match := resolve(address))}
    assert names >= OPEN_TO_TASKERS


@pytest.mark.parametrize("by", ["session", "token"])
def test_a_tasker_opens_what_is_declared_and_nothing_else(by: str, as_role: Callable[[str], Client]) -> None:
    client = as_role("tasker")
    if by == "token":
        token = issue_token(User.objects.get(username="tara"), now=timezone.now())
        client = Client(headers={"Authorization": f"Token {token}"})
    # Those that end the sign-in itself are declared, and would end the walk.
    walked = [each for each in addresses() if by == "session" or each.startswith("/api/v1/")]
    walked = [each for each in walked if each not in {"/sign-out/", "/api/v1/token/"}]
    for address in walked:
        declared = resolve(address).url_name in OPEN_TO_TASKERS
        for method in ("get", "head", "post", "put", "delete", "options"):
            answer = getattr(client, method)(address)
            refused = answer.status_code == 403 and (method == "head" or b"not_for_taskers" in answer.content)
            if declared:
                assert method == "head" or not refused, (method, address)
            else:
                assert refused, (method, address, answer.status_code)


def test_a_stranger_s_feeds_stay_open_and_a_tasker_s_are_closed(as_role: Callable[[str], Client]) -> None:
    tasker = as_role("tasker")
    for address in sorted(FEEDS | {"/releases/", "/weeks/release-2026-W40/", "/teams/T-00000/"}):
        assert tasker.get(address).status_code == 403, address
        assert Client().get(address).status_code in (200, 404), address
