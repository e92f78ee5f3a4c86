"""Every address: who is answered what, and what each answer forbids the browser."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve
from django.utils import timezone

from accounts.roles import TEAMS
from accounts.tokens import issue_token
from common.errors import Conflict
from config.audience import OPEN_TO_TASKERS
from contest.core.models import Member, Team
from contest.teams.services import team_create
from labeling.models import Tasker
from tests import factories
from tests.addresses import patterns
from tests.contest import release_fixtures
from tests.contest.pages import lacking

pytestmark = pytest.mark.django_db
_ID = "3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84"
_FILE = "0" * 64
ROLES = ["stranger", "no role", "newcomer", "tasker", "organizer", "board member", "captain"]
# What GET is answered from another machine, in the order of ROLES -> the addresses. What they name (T-00000, 0) is
# not there. Taskers and newcomers are refused all that tells of attacks and defenses (R8).
ANSWERS = {
    # Open to everybody.
    (200, 200, 200, 200, 200, 200, 200): """
        /.well-known/unanimous-signing-keys.json /api/docs/ /api/schema/ /api/unanimous_client.py /api/v1/
        /api/v1/policies/ /docs/defenses/ /docs/release-format/ /docs/status/ /docs/verdicts-in-pandas/ /favicon.ico
        /guides/taskers/ /healthz /password/ /readyz /releases/mail/end/forged/ /rules/ /sign-in/
    """,
    # It leads taskers and organizers to their work.
    (200, 200, 200, 302, 302, 200, 200): "/",
    # Open to everybody but those who label: the public contest.
    (200, 200, 403, 403, 200, 200, 200): """
        /api/v1/defenses/ /api/v1/leaderboard/ /api/v1/releases/ /defenses/ /feeds/overrules.atom /feeds/overrules.json
        /feeds/releases.atom /feeds/releases.json /front/ /guides/board/ /guides/organizers/ /guides/teams/
        /leaderboard.csv /leaderboard/ /money/ /overrules.csv
        /overrules/ /register/ /releases/ /releases/check/ /releases/keys/ /releases/mail/ /releases/verify.pyz /search/
    """,
    # Everybody's own account.
    (302, 200, 200, 200, 200, 200, 200): """
        /account/ /account/delete/ /account/email/ /account/password/ /account/second-factor/ /label/instructions/
    """,
    (401, 200, 200, 200, 200, 200, 200): "/api/v1/me/",
    (302, 404, 404, 404, 404, 404, 404): "/account/email/forged/",
    # Messages are for everybody but taskers.
    (302, 200, 403, 403, 200, 200, 200): "/messages/ /messages/settings/",
    (302, 404, 403, 403, 404, 404, 404): "/messages/0/",
    # A captain is of a team, and who has no role may found one.
    (302, 200, 403, 403, 403, 403, 200): "/team/",
    # The list of the record is what can be searched; what the script of a page posts to leads to the page.
    (302, 302, 403, 403, 302, 302, 302): "/record/ /attacks/send/",
    # Taskers' and newcomers' pages, and those of pictures that are not there.
    (302, 403, 200, 200, 403, 403, 403): """
        /label/instructions/news/ /learn/ /my-work/ /my-work/download/ /paused/ /qualification/ /questions/
    """,
    (302, 403, 302, 302, 403, 403, 403): "/qualification/picture/",
    (302, 403, 403, 200, 403, 403, 403): "/label/",
    (302, 403, 404, 404, 403, 403, 403): f"""
        /learn/0/ /my-work/{_ID}/ /my-work/checks/ /qualification/marks/{_ID}/ /qualification/tries/0/
    """,
    (401, 403, 200, 200, 403, 403, 403): "/api/v1/notices/ /api/v1/preferences/",
    # Organizers' pages, and what they do with something that is not there.
    (302, 404, 403, 403, 200, 403, 403): """
        /messages/outbox/ /organizer/ /organizer/attacks/ /organizer/audit.csv /organizer/audit/ /organizer/conflicts/
        /organizer/differing/ /organizer/gold/ /organizer/gold/candidates/ /organizer/leaderboard/ /organizer/learning/
        /organizer/money/ /organizer/money/corrections/ /organizer/money/payables.csv /organizer/money/receipts.csv
        /organizer/near-duplicates/ /organizer/now/ /organizer/people/ /organizer/pictures.csv /organizer/pictures/
        /organizer/pictures/import/ /organizer/policy/ /organizer/policy/new/
        /organizer/questions/ /organizer/releases/ /organizer/releases/now/ /organizer/reports/ /organizer/scoring/
        /organizer/scoring/now/ /organizer/scoring/retry-trials/ /organizer/scoring/retry/ /organizer/stakes/
        /organizer/taskers.csv /organizer/taskers/ /organizer/teams/ /organizer/teams/same-person/ /organizer/watching/
        /organizer/weeks/2026-W40/ /organizer/what-if/ /organizer/what-if/part/
    """,
    (302, 404, 403, 403, 404, 403, 403): """
        /messages/outbox/release-2026-W40/ /messages/outbox/release-2026-W40/html/ /organizer/defenses/T-00000/trial/
        /organizer/gold/new/P-00000000/ /organizer/links/0/ /organizer/money/corrections/0/
        /organizer/money/payments/0/ /organizer/people/T-00000/delete/ /organizer/releases/release-2026-W40/
        /organizer/reruns/0/ /organizer/reruns/0/now/ /organizer/reruns/0/pause/ /organizer/reruns/new/T-00000/
        /organizer/taskers/T-00000/ /organizer/taskers/T-00000/pause/ /organizer/teams/T-00000/
        /organizer/teams/requests/0/
    """,
    # The board's; frameworks and awards are also organizers' to see (R31, 4).
    (302, 404, 403, 403, 403, 200, 403): "/board/ /board/conflicts/ /board/grants/ /board/stakes/ /board/withheld/",
    (302, 404, 403, 403, 200, 200, 403): "/board/awards/ /board/frameworks/",
    (302, 404, 403, 403, 403, 404, 403): """
        /board/cases/T-00000/ /board/cases/T-00000/decide/ /board/cases/T-00000/disclose/ /board/cases/T-00000/drop/
        /board/cases/T-00000/vote/ /board/examinations/T-00000/
    """,
    (302, 404, 403, 403, 404, 404, 403): """
        /board/awards/0/ /organizer/defenses/T-00000/framework/ /organizer/defenses/T-00000/source.zip
        /organizer/taskers/T-00000/settled/
    """,
    # A team's own.
    (302, 404, 403, 403, 403, 403, 200): f"""
        /appeals/ /attacks/ /team/defenses/ /team/defenses/new/ /team/defenses/pieces/weights/{_FILE}/ /team/money/
    """,
    (401, 404, 403, 403, 403, 403, 200): "/api/v1/appeals/ /api/v1/attacks/",
    (302, 404, 403, 403, 403, 403, 404): """
        /appeals/T-00000/ /appeals/case/T-00000/ /appeals/new/P-00000000/ /attacks/T-00000/withdraw/
        /team/defenses/T-00000/
    """,
    # Only posted to.
    (302, 405, 403, 403, 405, 405, 405): f"""
        /organizer/cases/T-00000/remind/ /organizer/gold/{_ID}/ /organizer/money/ask/T-00000/
        /team/defenses/T-00000/pause/ /team/defenses/T-00000/source/
    """,
    (401, 405, 403, 403, 405, 405, 405): "/api/v1/appeals/T-00000/decisions/",
    (302, 405, 405, 405, 405, 405, 405): "/account/sessions/end/ /account/settings/ /account/tokens/revoke/",
    (405, 405, 405, 405, 405, 405, 405): "/api/v1/token/ /language/ /sign-out/",
    (401, 405, 405, 405, 405, 405, 405): f"""
        /api/v1/assignments/{_ID}/draft/ /api/v1/assignments/{_ID}/heartbeat/
        /api/v1/assignments/{_ID}/release/ /api/v1/assignments/{_ID}/response/
        /api/v1/assignments/next/ /api/v1/notices/{_ID}/seen/ /api/v1/qualification/{_ID}/heartbeat/
        /api/v1/qualification/{_ID}/release/ /api/v1/qualification/{_ID}/response/ /api/v1/qualification/next/
        /api/v1/questions/
    """,
    # Public, where it is there.
    (404, 404, 403, 403, 404, 404, 404): """
        /api/v1/images/P-00000000/ /api/v1/releases/2026-W40/ /attacks/T-00000/ /attacks/weeks/release-2026-W40/
        /defenses/T-00000/ /defenses/T-00000/release-2026-W40 /defenses/T-00000/risk-coverage.csv
        /defenses/T-00000/warmup.json /record/T-00000/
        /register/forged/ /releases/keys.json /releases/mail/confirm/forged/ /releases/release-2026-W40.zip
        /releases/release-2026-W40/ /releases/release-2026-W40/manifest.json /releases/release-2026-W40/manifest.sig
        /team/join/forged/ /teams/T-00000/ /weeks/release-2026-W40/
    """,
    (400, 400, 403, 403, 400, 400, 400): "/api/v1/images/ /api/v1/rulings/",
    (404, 404, 404, 404, 404, 404, 404): """
        /api/v1/nothing /join/forged/ /kit/other.whl /nothing /password/forged/forged/ /pictures/forged.png
        /rules/versions/0/
    """,
    # For this machine alone.
    (403, 403, 403, 403, 403, 403, 403): "/metrics",
}
STATUSES = {
    address: dict(zip(ROLES, told, strict=True)) for told, those in ANSWERS.items() for address in those.split()
}
# Where 302 leads who is signed in; strangers are sent to sign in, except from the first two.
LEADS_TO = {"/record/": "/search/", "/attacks/send/": "/attacks/", "/qualification/picture/": "/qualification/"}
_EXAMPLES = {
    "<str:name>": "release-2026-W40",
    "<str:key>": "forged",
    "<str:week>": "2026-W40",
    "<path:path>": "manifest.json",
    "<str:wheel_name>": "other.whl",
    "<str:token>": "forged",
    "<str:uid>": "forged",
    "<str:public_id>": "T-00000",
    "<str:image_id>": "P-00000000",
    "<slug:name>": "pause",
    "<slug:field>": "weights",
    "<slug:file>": _FILE,
    **dict.fromkeys(["<int:number>", "<int:link_id>"], "0"),
    **{f"<uuid:{name}>": _ID for name in ("assignment_id", "item_id", "public_id", "notice_id")},
}
# Calls of taskers that are only posted to.
POSTED = [
    address
    for address, told in STATUSES.items()
    if address.startswith("/api/v1/") and told["tasker"] == 405 and address != "/api/v1/token/"
]
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


def addresses() -> list[str]:
    return [re.sub(r"<[^>]*>", lambda found: _EXAMPLES[found[0]], path) for path, _ in patterns()]


def allowed_too_much(address: str, answer: Any) -> list[str]:
    """Name what an answer does not forbid the browser, and what a page carries of its own."""
    told = answer["Content-Security-Policy"]
    policy = {name: value for name, _, value in (each.strip().partition(" ") for each in told.split(";"))}
    if address.startswith("/pictures/"):
        wrong = [] if policy == {"default-src": "'none'", "sandbox": ""} else [told]
    else:
        wrong = [name for name, value in POLICY.items() if policy.get(name) != value or "unsafe-" in told]
    wrong += [name for name, value in FORBIDDEN.items() if answer[name] != value]
    page = answer.content.decode() if answer.get("Content-Type", "").startswith("text/html") else ""
    wrong += re.findall(r" style=|<style|<[^>]+ on[a-z]+=", page)
    return wrong + [tag for tag in re.findall(r"<script[^>]*>", page) if not re.search("src=|application/json", tag)]


@pytest.fixture
def as_role(signed_in: Any) -> Callable[[str], Client]:
    factories.policy_version()
    factories.panel(release_fixtures.picture(1))
    return lambda role: Client() if role == "stranger" else cast(Client, signed_in(person(role)))


def person(role: str) -> User | Tasker:
    if role in {"tasker", "newcomer"}:
        return factories.tasker("tara", state={"tasker": "qualified", "newcomer": "learning"}[role])
    user = factories.user("olga", *{"organizer": ["organizers"], "board member": ["review board"]}.get(role, ()))
    if role == "captain":
        Member.objects.create(team=Team.objects.create(name="red", created_at=factories.NOW), user=user)
    return user


def test_every_address_is_in_the_table_once() -> None:
    assert sorted(" ".join(ANSWERS.values()).split()) == sorted({*addresses(), "/nothing", "/api/v1/nothing"})
    assert {resolve(address).url_name for address in addresses()} >= OPEN_TO_TASKERS, "what is open is there"


@pytest.mark.slow("each role opens every address")
@pytest.mark.parametrize("role", ROLES)
def test_each_role_is_answered_as_the_table_says_and_every_answer_is_strict(
    role: str, as_role: Callable[[str], Client]
) -> None:
    """Access of strangers and of each role (R8), where who is not signed in is sent, and what answers forbid."""
    client = as_role(role)
    answers = {address: client.get(address, REMOTE_ADDR="192.0.2.7") for address in sorted(STATUSES)}
    assert {address: answer.status_code for address, answer in answers.items()} == {
        address: told[role] for address, told in STATUSES.items()
    }
    sent = {address: answer["Location"] for address, answer in answers.items() if answer.status_code == 302}
    if role == "stranger":
        assert sent == {address: f"/sign-in/?next={address}" for address in sent} | {
            each: LEADS_TO[each] for each in ("/record/", "/attacks/send/")
        }
    else:
        assert sent.items() <= (LEADS_TO | {"/": {"tasker": "/label/", "organizer": "/organizer/"}.get(role)}).items()
    wrong = {address: allowed_too_much(address, answer) for address, answer in answers.items()}
    assert {address: found for address, found in wrong.items() if found} == {}


@pytest.mark.parametrize("role", [role for role in ROLES if role not in {"newcomer", "tasker"}])
def test_calls_of_taskers_are_refused_to_everybody_else(role: str, as_role: Callable[[str], Client]) -> None:
    """Nobody who belongs to a team, the board or the organizers labels (R8)."""
    client = as_role(role)
    told = {address: client.post(address, {}, content_type="application/json") for address in POSTED}
    assert {address: (answer.status_code, answer.json()["code"]) for address, answer in told.items()} == dict.fromkeys(
        POSTED, ((401, "not_authenticated") if role == "stranger" else (403, "not_a_tasker"))
    )


def test_a_newcomer_gets_no_picture_from_the_api(as_role: Callable[[str], Client]) -> None:
    """Who has not passed the qualification set labels nothing (R5)."""
    answer = as_role("newcomer").post("/api/v1/assignments/next/", {}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_qualified")


def test_who_is_refused_a_tasker_s_page_is_told_whose_it_is_and_where_to_go(as_role: Callable[[str], Client]) -> None:
    client = as_role("captain")
    for address in ("/qualification/", "/questions/", "/my-work/"):
        refused = client.get(address)
        main = refused.content.decode().partition("<main")[2].partition("</main>")[0]
        said = ("for those who label pictures", '<a href="/">start page</a>', "<code>not_a_tasker</code>")
        assert (refused.status_code, lacking(main, "<h1>For taskers only</h1>", *said)) == (403, []), address


def test_the_start_page_says_what_an_account_is_for_and_why_a_tasker_may_not_label(
    rita: User, stan: User, signed_in: Any
) -> None:
    learning, paused = (factories.tasker(state, state=state) for state in ("learning", "paused"))
    told = {rita: "review board", stan: "This account has no role yet", learning: "not qualified yet"}
    for who, words in (told | {paused: "Why, and what to do"}).items():
        assert words in signed_in(who).get("/").content.decode()


def test_the_header_names_who_is_signed_in_and_leads_to_where_they_work(
    tara: Tasker, olga: User, rita: User, now: datetime, signed_in: Any
) -> None:
    fay = factories.user("fay", TEAMS)
    links = ["/label/", "/organizer/", "/organizer/taskers/", "/board/frameworks/", "/defenses/", "/team/defenses/"]

    def header(who: User | Tasker) -> tuple[str, list[str]]:
        page = signed_in(who).get("/api/docs/").content.decode().partition("</header>")[0]
        return page, [each for each in links if f'href="{each}"' in page]

    assert "tara</a>" in header(tara)[0] and header(tara)[1] == ["/label/"]
    page, led = header(olga)
    assert re.search(r"olga</a>\s*<span", page) and led == ["/organizer/", "/organizer/taskers/"]
    assert "/board/frameworks/" in header(rita)[1]
    assert header(fay)[1] == ["/defenses/"], "who is in no team has no defenses"
    factories.policy_version()
    team_create(name="red", captain=fay, now=now)
    assert header(fay)[1] == ["/team/defenses/"]


def test_an_unknown_address_and_another_host_are_answered_in_words(client: Client) -> None:
    assert "Nothing at this address" in client.get("/nothing").content.decode()
    assert client.get("/sign-in/", headers={"host": "elsewhere.example"}).status_code == 400


DOCS, ME = (
    ("/api/docs/", "contest.api.docs.call_groups"),
    ("/api/v1/me/", "contest.api.account_calls.roles_of"),
)
HIDDEN = RuntimeError("for the log alone")


@pytest.mark.parametrize(
    ("address", "place", "error", "status", "words"),
    [
        (*DOCS, Conflict("<b>Too late</b>", "too_late"), 409, "&lt;b&gt;Too late&lt;/b&gt;"),
        (*DOCS, HIDDEN, 500, "What was saved before is kept"),
        (*ME, HIDDEN, 500, "server_error"),
    ],
)
def test_a_refusal_is_shown_in_its_words_and_a_failure_keeps_its_reason_to_the_log(
    address: str, place: str, error: Exception, status: int, words: str, signed_in: Any, tara: Tasker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(place, Mock(side_effect=error))
    client = signed_in(tara)
    client.raise_request_exception = False
    answer, secret = client.get(address), "for the log alone"
    assert (answer.status_code, lacking(answer.content.decode(), words, secret)) == (status, [secret])


def test_a_token_opens_to_a_tasker_what_is_declared_and_nothing_else(as_role: Callable[[str], Client]) -> None:
    """What taskers may open (R8) is declared once. By session every address is tried in tests.test_blindness."""
    as_role("tasker")
    token = issue_token(User.objects.get(username="tara"), now=timezone.now())
    client = Client(headers={"Authorization": f"Token {token}"})
    for address in addresses():
        declared = resolve(address).url_name in OPEN_TO_TASKERS
        for method in ("get", "head", "post", "put", "delete", "options") if address.startswith("/api/v1/") else ():
            if address != "/api/v1/token/":  # DELETE would end the walk
                answer = getattr(client, method)(address)
                assert refused_to_taskers(method, answer) is not declared or method == "head", (method, address)


def refused_to_taskers(method: str, answer: Any) -> bool:
    """Say whether this is the refusal of all that tells of the contest; an answer to HEAD has no words."""
    return answer.status_code == 403 and (method == "head" or b"not_for_taskers" in answer.content)
