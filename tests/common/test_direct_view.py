"""The calls of every label answer as all other calls do, whichever way they are dispatched."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, transaction
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from rest_framework.views import APIView

from accounts.tokens import issue_token
from common.web import direct_view
from labeling import leases
from labeling.enums import TaskerState
from labeling.models import Assignment, Tasker
from tests import factories, tables
from tests.labeling.cast import NO_TO_BOTH

pytestmark = pytest.mark.django_db

Send = Callable[[str, Any], HttpResponse]
JSON = "application/json"


@pytest.fixture
def held(tara: Tasker) -> dict[str, str]:
    """The picture that Tara holds; another one waits."""
    factories.policy_version()
    for _ in range(2):
        factories.panel()
    client = Client()
    client.force_login(tara.user)
    answer: dict[str, str] = client.post("/api/v1/assignments/next/", {}, content_type=JSON).json()
    return answer


def by_session(tara: Tasker, **given: Any) -> Send:
    client = Client(**given)
    client.force_login(tara.user)
    return lambda path, body: client.post(f"/api/v1/assignments/{path}", body, content_type=JSON)


def by_token(tara: Tasker) -> Send:
    headers = {"Authorization": f"Token {issue_token(tara.user, now=timezone.now())}"}
    client = Client(enforce_csrf_checks=True)
    return lambda path, body: client.post(f"/api/v1/assignments/{path}", body, content_type=JSON, headers=headers)


def as_stranger(tara: Tasker) -> Send:
    client = Client()
    return lambda path, body: client.post(f"/api/v1/assignments/{path}", body, content_type=JSON)


def with_headers(content_type: str = JSON, method: str = "POST", **headers: str) -> Callable[[Tasker], Send]:
    def sender(tara: Tasker) -> Send:
        client = Client()
        client.force_login(tara.user)
        return lambda path, body: client.generic(
            method, f"/api/v1/assignments/{path}", json.dumps(body), content_type=content_type, headers=headers
        )

    return sender


def raw(data: bytes) -> Callable[[Tasker], Send]:
    def sender(tara: Tasker) -> Send:
        client = Client()
        client.force_login(tara.user)
        return lambda path, _: client.generic("POST", f"/api/v1/assignments/{path}", data, content_type=JSON)

    return sender


def paused(tara: Tasker) -> Send:
    Tasker.objects.filter(pk=tara.pk).update(state=TaskerState.PAUSED)
    return by_session(tara)


def away(tara: Tasker) -> Send:
    def fail(*_: Any) -> Any:
        raise OperationalError("the database went away")

    def send(path: str, body: Any) -> HttpResponse:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(leases, "_next", fail)
            patched.setattr("labeling.submission.own_assignment", fail)
            return by_session(tara)(path, body)

    return send


def told(answer: HttpResponse) -> tuple[int, dict[str, str], str]:
    """Status, headers and body, but for what differs each time: what is encrypted, drawn or a time."""
    text = answer.content.decode()
    for pattern in (r"/pictures/[\w=-]+\.png", r"\d{4}-\d\d-\d\dT[\d:.]+Z", r"[0-9A-F]{4}(-[0-9A-F]{4}){2}"):
        text = re.sub(pattern, "…", text)
    headers = {name: value for name, value in answer.items() if name not in ("X-Request-ID", "Content-Length")}
    for known in Assignment.objects.values_list("public_id", "lease_token"):
        for each in known:
            text = text.replace(str(each), "…")
    return answer.status_code, headers, text


@tables.cases(
    "sender body status why",
    (by_session, {}, (200, 201), "by session"),
    (by_token, {}, (200, 201), "by token"),
    (with_headers(accept="*/*"), {}, (200, 201), "as browsers and scripts ask"),
    (with_headers("application/json; charset=utf-8"), {}, (200, 201), "a media type with its charset"),
    (with_headers("application/json; charset=latin-1"), {}, (200, 201), "another charset"),
    (with_headers(accept="text/html"), {}, (406, 406), "an answer in another form"),
    (with_headers("text/plain"), {}, (415, 415), "a body in another form"),
    (with_headers(method="PUT"), {}, (405, 405), "another method"),
    (with_headers(method="OPTIONS"), {}, (200, 200), "what a method is"),
    (with_headers(authorization="Token nonsense"), {}, (200, 201), "a session counts before a token"),
    (as_stranger, {}, (401, 401), "nobody is signed in"),
    (lambda tara: by_session(tara, enforce_csrf_checks=True), {}, (403, 403), "forged by another site"),
    (lambda tara: by_session(tara, headers={"Authorization": "Token x"}), {}, (200, 201), "both"),
    (raw(b"{"), {}, (400, 400), "no JSON"),
    (raw(b""), {}, (200, 400), "nothing at all"),
    (raw(b"[" * 50 + b"]" * 50), {}, (400, 400), "nested too deeply"),
    (raw(b'{"holding": ["\\u0000"]}'), {}, (400, 400), "a NUL"),
    (raw(b"7"), {}, (400, 400), "no object"),
    (raw(b" " * 300_000), {}, (413, 413), "longer than any"),
    (by_session, {"more": 1}, (400, 400), "a field that is not known"),
    (by_session, {"holding": 1}, (400, 400), "a field of another kind"),
    (paused, {}, (403, 201), "paused: what was answered is kept all the same"),
    (away, {}, (503, 503), "an outage"),
)
def test_both_ways_answer_alike(
    sender: Callable[[Tasker], Send], body: dict[str, Any], status: tuple[int, int], why: str,
    held: dict[str, str], tara: Tasker, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    answer = {"lease_token": held["lease_token"], **NO_TO_BOTH}
    calls = (("next/", body), (f"{held['id']}/response/", answer | body))
    found = []
    for is_ordinary in (lambda _: False, direct_view._is_ordinary):
        monkeypatch.setattr(direct_view, "_is_ordinary", is_ordinary)
        answers = []
        for call in calls:
            with transaction.atomic():
                answers.append(told(sender(tara)(*call)))
                transaction.set_rollback(True)
        found.append(answers)
    assert found[0] == found[1], why
    assert tuple(each[0] for each in found[1]) == status, why


@pytest.mark.parametrize("sender", [by_session, by_token], ids=["session", "token"])
def test_an_ordinary_label_is_not_dispatched_by_the_framework(
    sender: Callable[[Tasker], Send], held: dict[str, str], tara: Tasker, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = sender(tara)
    monkeypatch.setattr(APIView, "dispatch", lambda *_, **__: pytest.fail("the framework dispatched"))
    answer = {"lease_token": held["lease_token"], "next": True, **NO_TO_BOTH}
    assert [send(*each).status_code for each in (("next/", {}), (f"{held['id']}/response/", answer))] == [200, 201]
