"""The API keeps to its own schema, whatever is sent to it. Bodies: how long one may be, which each view says, and what
it may hold; anything else is refused before it is read, for strangers too. An answer to HEAD has none."""

import functools
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from accounts.tokens import issue_token
from common.models import HourCount
from common.web import json_parser
from common.web.body_limits import (
    DEFAULT_BYTES,
    KIB,
    MIB,
    REPORT_BYTES,
    SMALL_BYTES,
    BodyLimits,
    body_limit,
    limit_body,
)
from common.web.head_requests import NoBodyForHead
from common.web.json_parser import MAX_LEVELS
from config.wsgi import application
from contest.api import account_calls
from contest.api.docs import call_groups
from contest.web import defense_uploads
from contest.web.attack_uploads import MAX_UPLOAD_BYTES
from contest.web.upload_pieces import PIECE_BYTES
from labeling.leases import assignment_next
from labeling.models import Assignment, Tasker
from policy.numbers import Policy
from tests import factories
from tests.addresses import patterns
from tests.contest.attacks import cast
from tests.contest.pages import lacking

pytestmark = pytest.mark.django_db
CALLS = [
    ("GET", "/api/v1/"),
    ("POST", "/api/v1/token/"),
    ("DELETE", "/api/v1/token/"),
    ("GET", "/api/v1/me/"),
    ("POST", "/api/v1/assignments/next/"),
    ("POST", "/api/v1/assignments/{assignment_id}/draft/"),
    ("POST", "/api/v1/assignments/{assignment_id}/heartbeat/"),
    ("POST", "/api/v1/assignments/{assignment_id}/release/"),
    ("POST", "/api/v1/assignments/{assignment_id}/response/"),
    ("POST", "/api/v1/attacks/"),
    ("GET", "/api/v1/attacks/"),
    ("POST", "/api/v1/defenses/"),
    ("GET", "/api/v1/defenses/"),
    ("GET", "/api/v1/images/"),
    ("GET", "/api/v1/images/{image_id}/"),
    ("GET", "/api/v1/leaderboard/"),
    ("GET", "/api/v1/releases/"),
    ("GET", "/api/v1/releases/{week}/"),
    ("GET", "/api/v1/rulings/"),
    ("POST", "/api/v1/appeals/"),
    ("GET", "/api/v1/appeals/"),
    ("POST", "/api/v1/appeals/{public_id}/decisions/"),
    ("GET", "/api/v1/policies/"),
    ("GET", "/api/v1/preferences/"),
    ("POST", "/api/v1/preferences/"),
    ("GET", "/api/v1/notices/"),
    ("POST", "/api/v1/notices/{notice_id}/seen/"),
    ("POST", "/api/v1/questions/"),
    ("POST", "/api/v1/qualification/next/"),
    ("POST", "/api/v1/qualification/{item_id}/heartbeat/"),
    ("POST", "/api/v1/qualification/{item_id}/release/"),
    ("POST", "/api/v1/qualification/{item_id}/response/"),
]
# What a team asks; a tasker would be refused all of it.
OF_TEAMS = ("/api/v1/attacks/", "/api/v1/defenses/", "/api/v1/leaderboard/", "/api/v1/releases/")


OF_TEAMS += ("/api/v1/images/", "/api/v1/rulings/", "/api/v1/appeals/")


load_all_checks()


# Not asked: whether each well-formed body is accepted. One that names no lease is refused, and rightly.
ASKED = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "unsupported_method",
    ]
)


def test_the_schema_is_made_without_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "schema"))
    assert "warning" not in capsys.readouterr().err.lower()


@pytest.fixture
def schema(db: None) -> Iterator[Any]:
    """The schema behind the WSGI application, which answers in this thread and so inside the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield _schema()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@functools.cache
def _schema() -> Any:
    return schemathesis.openapi.from_wsgi("/api/schema/?format=json", application, headers={"Host": "127.0.0.1"})


def test_the_calls_tried_below_are_all_there_are(schema: Any) -> None:
    found = [(each.ok().method.upper(), each.ok().path) for each in schema.get_all_operations()]
    assert sorted(found) == sorted(CALLS)


# What takes nothing can be sent nothing that is wrong.
SENT = [
    (*call, mode) for call in CALLS for mode in GenerationMode if call[0] == "POST" or mode is GenerationMode.POSITIVE
]


@pytest.mark.slow("it makes up what to send")
@pytest.mark.parametrize(
    "tries",
    [
        6,
        pytest.param(
            60,
            marks=[
                pytest.mark.long("ten times as many examples of each call"),
                pytest.mark.both("each database refuses other characters, lengths and numbers"),
            ],
        ),
    ],
)
@pytest.mark.parametrize(("method", "path", "mode"), SENT, ids=lambda part: getattr(part, "value", part))
def test_nothing_sent_brings_it_out_of_its_schema(
    method: str, path: str, mode: GenerationMode, tries: int, schema: Any, tara: Tasker, held: Assignment
) -> None:
    caller = cast.captain(cast.team("red")) if path.startswith(OF_TEAMS) else tara.user
    headers = {"Authorization": f"Token {issue_token(caller, now=timezone.now())}", "Host": "127.0.0.1"}

    @settings(max_examples=tries, suppress_health_check=list(HealthCheck), database=None)
    @given(case=schema[path][method].as_strategy(generation_mode=mode), own=booleans())
    def send(case: Any, own: bool) -> None:
        case.headers.update(headers)
        if own and "assignment_id" in case.path_parameters:
            case.path_parameters["assignment_id"] = str(held.public_id)
            if isinstance(case.body, dict) and isinstance(case.body.get("lease_token"), str):
                case.body["lease_token"] = held.lease_token
        case.call_and_validate(checks=ASKED)

    send()


def test_machines_get_the_schema_in_both_forms_and_people_a_page_with_every_call(client: Client) -> None:
    assert client.get("/api/schema/?format=json").json()["info"]["title"] == "Unanimous"
    assert client.get("/api/schema/").content.startswith(b"openapi: 3")
    page = client.get("/api/docs/").content.decode().replace("<wbr>", "")
    # Nothing stays made up from a type alone where a reader would copy it.
    assert (
        "In the address" in page
        and "attack | dataset" in page
        and "<br>" not in page.partition('id="image_list"')[2][:900]
    )
    told = ["tasker1", "definitely_yes | unsure_yes | unsure_no | definitely_no", "Retry-After"]
    assert not [words for words in (*told, *(f"{method} {path}" for method, path in CALLS)) if words not in page]


def test_the_root_lists_every_call_for_strangers_too(client: Client) -> None:
    found = client.get("/api/v1/").json()
    assert sorted((each["method"], each["path"]) for each in found["calls"]) == sorted(CALLS)
    assert all(each["summary"] for each in found["calls"])
    open_to_all = {each["path"] for each in found["calls"] if not each["signed_in"]}
    assert {"/api/v1/", "/api/v1/policies/"} <= open_to_all and "/api/v1/me/" not in open_to_all
    for each in ("docs", "openapi"):
        path = "/" + found[each].split("/", 3)[3]
        assert client.get(path).status_code == 200, each


def test_every_call_of_the_page_tells_what_it_answers() -> None:
    calls = [call for group in call_groups().values() for call in group]
    assert len(calls) == len(CALLS)
    for call in calls:
        # One call does nothing but say why not.
        assert bool(call["answers"]) != (call["key"] == "qualification_release"), call["key"]
        assert call["description"] and all(each["meaning"] for each in call["answers"] + call["errors"]), call["key"]


AN_ID = "00000000-0000-0000-0000-000000000000"
SMALL = {
    "api/v1/token/",
    "api/v1/preferences/",
    "api/v1/notices/<uuid:notice_id>/seen/",
    "api/v1/assignments/next/",
    "api/v1/assignments/<uuid:assignment_id>/heartbeat/",
}
UPLOADS = {
    "attacks/": MAX_UPLOAD_BYTES,
    "attacks/send/": MAX_UPLOAD_BYTES,
    "api/v1/attacks/": MAX_UPLOAD_BYTES,
    "organizer/pictures/import/": MAX_UPLOAD_BYTES,
    "team/defenses/new/": defense_uploads.MAX_SUBMISSION_BYTES,
    "team/defenses/<str:public_id>/source/": defense_uploads.MAX_SUBMISSION_BYTES,
    "team/defenses/pieces/<slug:field>/<slug:file>/": PIECE_BYTES,
    "api/v1/defenses/": defense_uploads.MAX_SUBMISSION_BYTES,
}


def test_only_uploads_take_more_than_an_answer() -> None:
    """A new address that takes files has to say so here."""
    found = {path.removeprefix("/"): body_limit(pattern.callback) for path, pattern in patterns()}
    assert {path: most for path, most in found.items() if most > DEFAULT_BYTES} == UPLOADS
    learning = {path for path in found if path.startswith("api/v1/") and "qualification" in path}
    assert {path for path, most in found.items() if most == SMALL_BYTES} - learning == SMALL
    assert found.pop("api/v1/assignments/<uuid:assignment_id>/release/") == REPORT_BYTES
    assert all(most in (SMALL_BYTES, DEFAULT_BYTES) for path, most in found.items() if path not in UPLOADS)


TOO_LONG = [
    ("/api/v1/token/", SMALL_BYTES + 1, "credentials"),
    ("/api/v1/preferences/", SMALL_BYTES + 1, "preferences"),
    ("/api/v1/assignments/next/", SMALL_BYTES + 1, "a claim"),
    (f"/api/v1/assignments/{AN_ID}/heartbeat/", SMALL_BYTES + 1, "a lease"),
    (f"/api/v1/assignments/{AN_ID}/release/", REPORT_BYTES + 1, "a picture given back"),
    (f"/api/v1/assignments/{AN_ID}/response/", DEFAULT_BYTES + 1, "an answer"),
    ("/api/v1/attacks/", 33 * MIB + 1, "an attack"),
    ("/api/v1/token/", "9" * 5_000, "a length of more digits than Python reads"),
]


@pytest.mark.parametrize("stranger", [True, False], ids=["a stranger", "a tasker"])
@pytest.mark.parametrize(("address", "length", "why"), TOO_LONG, ids=[row[2] for row in TOO_LONG])
def test_a_longer_body_is_413_before_it_is_read(
    address: str,
    length: int | str,
    why: str,
    stranger: bool,
    tara: Tasker,
    signed_in: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_parser.JSONParser, "parse", None)
    client = Client() if stranger else signed_in(tara)
    answer = client.post(address, b"{}", content_type="application/json", CONTENT_LENGTH=str(length))
    told = answer.json()
    assert (answer.status_code, told["code"], "are the most here" in told["detail"]) == (413, "too_large", True), why


FORMS = ("/attacks/", "/api/v1/attacks/")


@pytest.fixture
def captain(signed_in: Any) -> Client:
    cast.policy()
    client: Client = signed_in(cast.captain(cast.team("red")))
    return client


@pytest.mark.parametrize(
    ("address", "sent", "why"),
    [
        *((address, dict.fromkeys(map(str, range(1_001)), "1"), "many fields") for address in FORMS),
        *((address, {"defenses": "D" * (DEFAULT_BYTES + 1)}, "a long field") for address in FORMS),
        ("/label/", {"outline": "1,1\n" * DEFAULT_BYTES}, "a page that takes no files"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_form_of_many_fields_or_of_long_ones_is_413(
    address: str, sent: dict[str, str], why: str, captain: Client
) -> None:
    answer = captain.post(address, sent)
    assert answer.status_code == 413, why
    assert address != "/label/" or "256 KiB are the most here" in answer.content.decode()


def test_json_where_files_are_taken_is_bounded_too(captain: Client) -> None:
    answer = captain.post("/api/v1/defenses/", b'{"name": "' + b"x" * DEFAULT_BYTES + b'"}', "application/json")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("most", "length", "status", "why"),
    [
        (8 * KIB, 8 * KIB, None, "a short body of unknown length is read"),
        (8 * KIB, 8 * KIB + 1, 413, "a longer one is refused by what arrives"),
        (33 * MIB, 10, 411, "an upload says how long it is"),
    ],
)
def test_a_body_in_chunks(most: int, length: int, status: int | None, why: str) -> None:
    @limit_body(most)
    def view(request: Any) -> None:
        """A view."""

    request: Any = RequestFactory().post("/", HTTP_TRANSFER_ENCODING="chunked", HTTP_ACCEPT="application/json")
    del request.META["CONTENT_LENGTH"]
    request.META |= {"wsgi.input": BytesIO(b"x" * length), "wsgi.input_terminated": True}
    answer = BodyLimits(lambda _: None).process_view(request, view, (), {})  # type: ignore[arg-type, return-value]
    assert (answer and answer.status_code) == status, why
    assert answer or request.body == b"x" * length


def test_asking_for_tokens_is_counted_before_the_body_is_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(body: bytes, **more: str) -> Any:
        return client.post("/api/v1/token/", body, "application/json", **more)

    monkeypatch.setattr(account_calls, "MAX_TOKENS_PER_HOUR", 2)
    codes = [asked(b"[" * 100).json()["code"] for _ in range(2)]
    with monkeypatch.context() as unread:
        unread.setattr(json_parser.JSONParser, "parse", None)
        answer = asked(b"{}")
    assert (answer.status_code, codes, answer.json()["code"]) == (429, ["parse_error"] * 2, "too_many_tokens")
    assert 0 < int(answer["Retry-After"]) <= 3600
    assert "127.0.0.1" not in HourCount.objects.get().key, "whose address it is need not be known"
    # One connection of the newer kind has many addresses.
    places = [f"2001:db8:1:2::{number}" for number in range(1, 4)] + ["2001:db8:1:3::1", "192.0.2.7"]
    told = [asked(b"{}", REMOTE_ADDR=each).status_code for each in places]
    assert told == [400, 400, 429, 400, 400], "elsewhere it is open"


@pytest.fixture
def held(tara: Tasker) -> Assignment:
    factories.policy_version()
    factories.panel()
    found = assignment_next(tasker=tara, holding=(), policy=Policy(), now=timezone.now(), rng=Random(1))
    assert isinstance(found, Assignment)
    return found


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("[" * 8_000, id="so deep that no reader follows"),
        pytest.param("[" * (MAX_LEVELS + 1) + "]" * (MAX_LEVELS + 1), id="deeper than any call needs"),
        pytest.param('{"a":' * 500 + "1" + "}" * 500, id="deep objects"),
        pytest.param(r'{"username": "ta\u0000ra", "password": "x"}', id="NUL in a value"),
        pytest.param(r'{"user\u0000name": "tara", "password": "x"}', id="NUL in a name"),
        pytest.param(r'{"username": "\ud800", "password": "x"}', id="half a character in a value"),
        pytest.param(r'{"\udfff": "tara", "password": "x"}', id="half a character in a name"),
        pytest.param(r'{"username": [["\ud83d"]], "password": "x"}', id="half a character further in"),
        pytest.param('{"username": "tara"', id="cut off"),
        pytest.param(b'{"username": "\xff"}', id="not UTF-8"),
    ],
)
def test_a_body_that_no_call_can_use_is_refused_to_strangers_and_taskers(
    body: str | bytes, tara: Tasker, held: Assignment, signed_in: Any
) -> None:
    of_a_lease = (f"{held.public_id}/{call}" for call in ("draft", "heartbeat", "release", "response"))
    calls = [(signed_in(tara), f"assignments/{call}") for call in ("next", *of_a_lease)]
    for client, call in ((Client(), "token"), *calls):
        answer = client.post(f"/api/v1/{call}/", body, content_type="application/json")
        told = answer.json()
        assert (answer.status_code, told["code"], bool(told["detail"])) == (400, "parse_error", True), call


_DRAFT = {"browser": AN_ID, "revision": 1, "base": 0, "form": {}}


@pytest.mark.parametrize(
    ("call", "body", "field", "why"),
    [
        ("assignments/next/", [], None, "no object"),
        ("assignments/next/", {"holding": ["x"]}, "holding", "no ids"),
        ("assignments/{id}/release/", {"problem": 7}, "problem", "no words"),
        ("assignments/{id}/draft/", _DRAFT | {"revision": None}, "revision", "no number"),
        ("assignments/{id}/draft/", _DRAFT | {"revision": True}, "revision", "no whole number"),
        ("assignments/{id}/draft/", _DRAFT | {"revision": 2**31}, "revision", "more than the database holds"),
        ("assignments/{id}/draft/", _DRAFT | {"base": -1}, "base", "less than nothing"),
        ("assignments/{id}/draft/", _DRAFT | {"browser": "mine"}, "browser", "no UUID"),
        ("assignments/{id}/draft/", _DRAFT | {"form": []}, "form", "no object"),
        ("assignments/{id}/draft/", _DRAFT, "lease_token", "no token"),
        ("qualification/next/", {"holding": "x"}, "holding", "no list"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_the_name_of_its_field(
    call: str, body: Any, field: str | None, why: str, tara: Tasker, held: Assignment, signed_in: Any
) -> None:
    sent = body | {"lease_token": held.lease_token} if field == "problem" else body
    answer = signed_in(tara).post(f"/api/v1/{call.format(id=held.public_id)}", sent, content_type="application/json")
    assert (answer.status_code, list(answer.json().get("fields", {}))) == (400, [field] if field else []), why


@pytest.mark.parametrize(
    ("address", "sent", "taken"),
    [
        ("/api/v1/token/", "application/x-www-form-urlencoded", "Send application/json, "),
        ("/api/v1/token/", "multipart/form-data; boundary=x", "Send application/json, "),
        ("/api/v1/token/", "text/plain", "Send application/json, "),
        ("/api/v1/attacks/", "application/json", "Send multipart/form-data, "),
        ("/api/v1/defenses/", "text/plain", "Send multipart/form-data or application/json, "),
    ],
)
def test_a_type_that_is_not_taken_is_refused_with_those_that_are(
    address: str, sent: str, taken: str, captain: Client
) -> None:
    answer = captain.post(address, "username=tara", content_type=sent)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert not lacking(answer.json()["detail"], taken, sent.partition(";")[0])


def test_characters_beyond_the_first_plane_are_text(client: Client) -> None:
    answer = client.post("/api/v1/token/", r'{"username": "\ud83d\udeb2", "password": "x"}', "application/json")
    assert answer.json()["code"] == "wrong_credentials"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize("field", ["outline", "seconds"])
def test_a_number_that_is_none_is_refused_by_the_name_of_its_field(
    field: str, number: str, tara: Tasker, held: Assignment, signed_in: Any
) -> None:
    outline = number if field == "outline" else "10"
    body = f"""{{
      "lease_token": "{held.lease_token}", "contains_bird": "definitely_yes", "contains_bicycle": "definitely_no",
      "outline": [[[{outline}, 10], [200, 10], [200, 200]]], "complete": true, "unoccluded": true, "real": true,
      "seconds": {number if field == "seconds" else 4.2}
    }}"""
    address = f"/api/v1/assignments/{held.public_id}/response/"
    answer = signed_in(tara).post(address, body, content_type="application/json")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


@pytest.mark.parametrize("text", ["\x00", "[[[\x00, 1]]]", "[" * 30_000, "[" * 900 + "]" * 900, "\ud800"])
def test_the_form_without_scripts_survives_it_too(text: str, tara: Tasker, held: Assignment, signed_in: Any) -> None:
    client = signed_in(tara)
    fields: dict[str, str | bytes] = {
        "assignment": str(held.public_id), "lease_token": held.lease_token, "contains_bird": "definitely_yes",
        "contains_bicycle": "definitely_no", "outline": "10,10\n200,10\n200,200", "complete": "true",
        "unoccluded": "true", "real": "true", "seconds": "4.2",
    }  # fmt: skip
    sent = text.encode("utf-8", "surrogatepass")
    reported = ("assignment", "lease_token", "shown", "action", "problem", "more")
    for name in (*fields, "shown", "cannot_outline", "action", "problem", "more"):
        with transaction.atomic():
            for action in ({}, {"action": "report", "problem": sent})[: 1 + (name in reported)]:
                body = urlencode(fields | {name: sent} | action)
                taken = client.post("/label/", body, "application/x-www-form-urlencoded")
                assert taken.status_code in (303, 400), name
            assert name not in reported or client.get("/label/").status_code == 200
            transaction.set_rollback(True)


def test_what_cannot_be_stored_is_nobodys(client: Client, tara: Tasker) -> None:
    fields = {"contains_bird": "definitely_yes\x00", "username": "ta\x00ra", "password": "\x00"}
    assert client.post("/label/", fields).status_code == 401, "a filled-in form of a stranger"
    for key in (r'"\000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"', r'"\377aaaaaaaaaaaaaaaa"'):
        assert Client(headers={"Cookie": f"sessionid={key}"}).get("/api/v1/me/").status_code == 401, "a session"


@pytest.mark.parametrize(
    ("make", "body", "why"),
    [
        (lambda: HttpResponse(b"words", headers={"Content-Length": "5"}), b"words", "a page"),
        (lambda: StreamingHttpResponse([b"wo", b"rds"], headers={"Content-Length": "5"}), b"words", "a stream"),
        (lambda: FileResponse(BytesIO(b"words")), b"words", "a file"),
    ],
)
@pytest.mark.parametrize("method", ["HEAD", "GET", "POST"])
def test_only_head_loses_its_body(make: object, body: bytes, why: str, method: str) -> None:
    request = HttpRequest()
    request.method = method
    answer = NoBodyForHead(lambda _: make())(request)  # type: ignore[operator]
    assert (b"".join(answer), answer["Content-Length"]) == (b"" if method == "HEAD" else body, "5"), why
