"""The API keeps to its own schema, whatever is sent to it."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import schemathesis
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from common.authentication import issue_token
from config.wsgi import application
from contest.api_docs import call_groups
from labeling.models import Assignment, Tasker
from labeling.policy import Policy
from labeling.services import assignment_next
from tests import factories
from tests.contest.attacks.cast import captain, team

CALLS = [
    ("POST", "/api/v1/token/"),
    ("DELETE", "/api/v1/token/"),
    ("GET", "/api/v1/me/"),
    ("POST", "/api/v1/assignments/next/"),
    ("POST", "/api/v1/assignments/{assignment_id}/heartbeat/"),
    ("POST", "/api/v1/assignments/{assignment_id}/release/"),
    ("POST", "/api/v1/assignments/{assignment_id}/response/"),
    ("POST", "/api/v1/attacks/"),
    ("GET", "/api/v1/attacks/"),
    ("POST", "/api/v1/defenses/"),
    ("GET", "/api/v1/defenses/"),
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


@cache
def _schema() -> Any:
    return schemathesis.openapi.from_wsgi("/api/schema/?format=json", application, headers={"Host": "127.0.0.1"})


@pytest.mark.django_db
def test_the_calls_tried_below_are_all_there_are(schema: Any) -> None:
    found = [(each.ok().method.upper(), each.ok().path) for each in schema.get_all_operations()]
    assert sorted(found) == sorted(CALLS)


# What takes nothing can be sent nothing that is wrong.
SENT = [
    (*call, mode) for call in CALLS for mode in GenerationMode if call[0] == "POST" or mode is GenerationMode.POSITIVE
]


@pytest.mark.django_db
@pytest.mark.slow("it makes up what to send")
@pytest.mark.parametrize(
    "tries", [6, pytest.param(60, marks=pytest.mark.long("ten times as many examples of each call"))]
)
@pytest.mark.parametrize(("method", "path", "mode"), SENT, ids=lambda part: getattr(part, "value", part))
def test_nothing_sent_brings_it_out_of_its_schema(
    method: str, path: str, mode: GenerationMode, tries: int, schema: Any, tara: Tasker
) -> None:
    factories.policy_version()
    factories.panel()
    held = assignment_next(tasker=tara, holding=(), policy=Policy(), now=timezone.now(), rng=Random(1))
    assert isinstance(held, Assignment)
    caller = captain(team("red")) if path.startswith(OF_TEAMS) else tara.user
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


@pytest.mark.django_db
def test_machines_get_the_schema_in_both_forms_and_people_a_page_with_every_call(client: Client) -> None:
    assert client.get("/api/schema/?format=json").json()["info"]["title"] == "Unanimous"
    assert client.get("/api/schema/").content.startswith(b"openapi: 3")
    page = client.get("/api/docs/").content.decode().replace("<wbr>", "")
    # Nothing stays made up from a type alone where a reader would copy it.
    told = ["tasker1", "definitely_yes | unsure_yes | unsure_no | definitely_no", "Retry-After"]
    assert not [words for words in (*told, *(f"{method} {path}" for method, path in CALLS)) if words not in page]


def test_every_call_of_the_page_tells_what_it_answers() -> None:
    calls = [call for group in call_groups().values() for call in group]
    assert len(calls) == len(CALLS)
    for call in calls:
        # One call does nothing but say why not.
        assert bool(call.answers) != (call.key == "qualification_release"), call.key
        assert call.description and all(answer.meaning for answer in (*call.answers, *call.errors)), call.key
