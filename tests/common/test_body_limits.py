"""How long a body may be: each view says it, and a longer one is refused before it is read or taken apart."""

from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.test import Client, RequestFactory

from common import parsers
from common.body_limits import (
    DEFAULT_BYTES,
    KIB,
    MIB,
    REPORT_BYTES,
    SMALL_BYTES,
    BodyLimits,
    most_body_bytes,
    takes_at_most,
)
from common.models import HourCount
from contest import api
from contest.attacks.access import MOST_UPLOAD_BYTES
from contest.stakes import uploads
from labeling.models import Tasker
from tests.addresses import patterns
from tests.contest.attacks import cast

pytestmark = pytest.mark.django_db
AN_ID = "00000000-0000-0000-0000-000000000000"
SMALL = {
    "api/v1/token/",
    "api/v1/preferences/",
    "api/v1/notices/<uuid:notice_id>/seen/",
    "api/v1/assignments/next/",
    "api/v1/assignments/<uuid:assignment_id>/heartbeat/",
}
REPORT = "api/v1/assignments/<uuid:assignment_id>/release/"
UPLOADS = {
    "attacks/": MOST_UPLOAD_BYTES,
    "attacks/send/": MOST_UPLOAD_BYTES,
    "api/v1/attacks/": MOST_UPLOAD_BYTES,
    "team/defenses/new/": uploads.MOST_BYTES,
    "team/defenses/<str:public_id>/source/": uploads.MOST_BYTES,
    "api/v1/defenses/": uploads.MOST_BYTES,
}


def test_only_uploads_take_more_than_an_answer() -> None:
    """A new address that takes files has to say so here."""
    found = {path.removeprefix("/"): most_body_bytes(pattern.callback) for path, pattern in patterns()}
    assert {path: most for path, most in found.items() if most > DEFAULT_BYTES} == UPLOADS
    learning = {path for path in found if path.startswith("api/v1/") and "qualification" in path}
    assert {path for path, most in found.items() if most == SMALL_BYTES} - learning == SMALL
    assert found.pop(REPORT) == REPORT_BYTES
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
    monkeypatch.setattr(parsers.JSONParser, "parse", None)
    client = Client() if stranger else signed_in(tara)
    answer = client.post(address, b"{}", content_type="application/json", CONTENT_LENGTH=str(length))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large"), why
    assert "are the most here" in answer.json()["detail"]


MANY = {f"field{number}": "1" for number in range(1_001)}
LONG = {"defenses": "D" * (DEFAULT_BYTES + 1)}


@pytest.fixture
def captain(signed_in: Any) -> Client:
    cast.policy()
    client: Client = signed_in(cast.captain(cast.team("red")))
    return client


@pytest.mark.parametrize(
    ("address", "sent", "why"),
    [
        *((address, MANY, "many fields") for address in ("/attacks/", "/api/v1/attacks/")),
        *((address, LONG, "a long field") for address in ("/attacks/", "/api/v1/attacks/")),
        ("/label/", {"outline": "1,1\n" * DEFAULT_BYTES}, "a page that takes no files"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_form_of_many_fields_or_of_long_ones_is_413(
    address: str, sent: dict[str, str], why: str, captain: Client
) -> None:
    answer = captain.post(address, sent)
    assert answer.status_code == 413, why
    if address == "/label/":
        assert "256 KiB are the most here" in answer.content.decode()


def test_json_where_files_are_taken_is_bounded_too(captain: Client) -> None:
    answer = captain.post("/api/v1/defenses/", b'{"name": "' + b"x" * DEFAULT_BYTES + b'"}', "application/json")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def _chunked(address: str, body: bytes) -> WSGIRequest:
    request = RequestFactory().post(address, HTTP_TRANSFER_ENCODING="chunked", HTTP_ACCEPT="application/json")
    del request.META["CONTENT_LENGTH"]
    request.META |= {"wsgi.input": BytesIO(body), "wsgi.input_terminated": True}
    return request


CHUNKED = [
    (8 * KIB, 8 * KIB, None, "a short body of unknown length is read"),
    (8 * KIB, 8 * KIB + 1, 413, "a longer one is refused by what arrives"),
    (33 * MIB, 10, 411, "an upload says how long it is"),
]


@pytest.mark.parametrize(("most", "length", "status", "why"), CHUNKED, ids=[row[3] for row in CHUNKED])
def test_a_body_in_chunks(most: int, length: int, status: int | None, why: str) -> None:
    @takes_at_most(most)
    def view(request: Any) -> None:
        """A view."""

    request = _chunked("/", b"x" * length)
    answer = BodyLimits(lambda _: None).process_view(request, view, (), {})  # type: ignore[arg-type, return-value]
    assert (answer and answer.status_code) == status, why
    if answer is None:
        assert request.body == b"x" * length


def test_asking_for_tokens_is_counted_before_the_body_is_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "MOST_TOKENS_AN_HOUR", 2)
    codes = [client.post("/api/v1/token/", b"[" * 100, "application/json").json()["code"] for _ in range(2)]
    monkeypatch.setattr(parsers.JSONParser, "parse", None)
    answer = client.post("/api/v1/token/", b"{}", "application/json")
    codes += [answer.json()["code"]]
    assert (answer.status_code, codes) == (429, ["parse_error", "parse_error", "too_many_tokens"])
    assert 0 < int(answer["Retry-After"]) <= 3600
    assert "127.0.0.1" not in HourCount.objects.get().key, "whose address it is need not be known"
    monkeypatch.undo()
    monkeypatch.setattr(api, "MOST_TOKENS_AN_HOUR", 2)
    # One connection of the newer kind has many addresses.
    asked = [f"2001:db8:1:2::{number}" for number in range(1, 4)] + ["2001:db8:1:3::1", "192.0.2.7"]
    told = [client.post("/api/v1/token/", b"{}", "application/json", REMOTE_ADDR=each).status_code for each in asked]
    assert told == [400, 400, 429, 400, 400], "elsewhere it is open"
