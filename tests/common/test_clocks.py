"""The contest's time, the machine's and the database's: which is read where, and that the demo's clock goes forward
only; and the beat's schedule, which leaves no heap of stale messages."""

import ast
import importlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.core import mail
from django.db import DatabaseError, transaction
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from accounts.tokens import issue_token
from common import clock
from common.domain_clock import demo_ahead, domain_now, one_time, one_time_middleware
from common.models import DemoClock
from common.queues import Sweep
from config.celery import app
from contest.operations.pipeline import SWEEPS
from labeling.models import Tasker
from tests import factories
from tests.contest.pages import lacking, words
from tests.sources import sources

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
PASSWORD = "seven-herons-at-noon"
ROOT = Path(configured.BASE_DIR)
# Who reads the machine's time, and why the contest's is wrong there.
REAL_TIME = {
    "accounts/tokens.py": "API tokens",
    "common/clock.py": "this machine's clock beside the database's",
    "common/domain_clock.py": "the contest's time is made of it",
    "accounts/rate_limits.py": "lockouts",
    "accounts/management/commands/second_factor_off.py": "sign-ins",
    "accounts/session_store.py": "sessions and second factors",
    "accounts/tasks.py": "sessions and tokens that are over",
    "contest/api/account_calls.py::initial": "how often tokens are asked for",
    "contest/api/account_calls.py::post": "API tokens",
    "contest/demo/clock.py::_step": "the contest's time is made of it",
    "contest/management/commands/unused_files.py": "the age of files",
    "contest/pages/team/join_forms.py::save": "links of invitations",
    "contest/pages/team/join_views.py": "links of invitations",
    "contest/pages/team/team_forms.py::save": "links of invitations",
    "contest/pages/team/team_views.py::_open_invitations": "links of invitations",
    "common/sweep_runs.py": "how long ago a worker ran",
    "contest/core/upload_rates.py": "how often uploads are refused",
    "accounts/pages/account_views.py::_account_page": "sessions and tokens",
    "accounts/pages/account_views.py::email_confirm": "links that confirm an address",
    "accounts/pages/account_views.py::end_sessions": "sessions",
    "accounts/pages/people_views.py": "links of invitations",
    "accounts/pages/forms.py::save": "links of invitations",
    "accounts/pages/factor_views.py": "second factors",
    "accounts/pages/sign_in_views.py::_ask_for_code": "challenges of passkeys",
}


def _functions(tree: ast.AST, inside: str = "") -> Iterator[str]:
    """Yield each function that names the machine's clock."""
    for node in ast.iter_child_nodes(tree):
        yield from _functions(node, node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else inside)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "timezone.now":
            yield inside
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.timezone":
            yield inside


@pytest.mark.slow("it reads the tree of every source")
def test_only_the_listed_places_read_the_machine_s_time() -> None:
    # Only a file that has the word can name the clock.
    texts = {name: text for name, path in sources().items() if "timezone" in (text := path.read_text())}
    found = {f"{name}::{each}" for name, text in texts.items() for each in _functions(ast.parse(text))}
    listed = {each for each in found if each in REAL_TIME or each.partition("::")[0] in REAL_TIME}
    assert found == listed, "read common.domain_clock.domain_now, or say in the list why not"
    assert set(REAL_TIME) <= listed | {each.partition("::")[0] for each in listed}, "these read it no more"


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> datetime:
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    return NOW


@pytest.mark.django_db
def test_a_moved_clock_is_seen_at_once_and_within_a_request_not_at_all(
    settings: Any, moment: datetime, django_assert_num_queries: Any
) -> None:
    settings.DEMO = True
    assert domain_now() == NOW, "without a row it was never moved"
    DemoClock.objects.create(ahead_seconds=60)

    def view(_: HttpRequest) -> Any:
        return domain_now(), DemoClock.objects.update(ahead_seconds=86_400), domain_now()

    minute = NOW + timedelta(minutes=1)
    assert one_time_middleware(view)(HttpRequest()) == (minute, 1, minute)
    assert domain_now() == NOW + DAY, "the next request, and every sweep"
    with one_time():
        assert domain_now() == NOW + DAY
    settings.DEMO = False
    with django_assert_num_queries(0):
        assert (domain_now(), demo_ahead()) == (NOW, timedelta(0)), "outside the demo nothing is asked"


TURNED_BACK = [
    (lambda: DemoClock.objects.update(ahead_seconds=3_599), "an hour is not taken back by a second"),
    (lambda: DemoClock.objects.update(ahead_seconds=-1), "it is never behind the machine's"),
    (lambda: DemoClock.objects.update(target_seconds=3_599), "no move goes back"),
    (lambda: DemoClock.objects.all().delete(), "without the row the clock would be the machine's again"),
    (lambda: DemoClock.objects.create(id=2, ahead_seconds=7_200), "there is one clock"),
]


@pytest.mark.both("the database keeps the clock")
@pytest.mark.django_db
def test_the_database_refuses_to_turn_the_clock_back(settings: Any) -> None:
    DemoClock.objects.create(ahead_seconds=3_600)
    for turn, why in TURNED_BACK:
        with pytest.raises(DatabaseError), transaction.atomic():
            turn()
        assert DemoClock.objects.get().ahead_seconds == 3_600, why
    DemoClock.objects.update(ahead_seconds=3_600, target_seconds=3_600)
    DemoClock.objects.update(ahead_seconds=3_601, target_seconds=None)


@pytest.mark.both("sessions and tokens are found by SQL of our own")
@pytest.mark.django_db
def test_who_is_signed_in_stays_so_and_links_go_on(settings: Any, olga: User, signed_in: Any) -> None:
    settings.DEMO = True
    factories.policy_version()
    page: Client = signed_in(olga)
    token = issue_token(olga, now=timezone.now())
    invited = {"email": "new@example.org", "role": "tasker", "language": "en"}
    page.post("/organizer/people/", {**invited, "action": "invite"})
    link = re.search(r"(/join/\S+)", str(mail.outbox[-1].body))
    assert link is not None
    DemoClock.objects.create(ahead_seconds=400 * 86_400)
    assert lacking(words(page, "/organizer/people/"), "new@example.org", "expired") == ["expired"], "the session"
    assert Client().get("/api/v1/me/", headers={"Authorization": f"Token {token}"}).status_code == 200, "the token"
    assert Client().get(link[0]).status_code == 200, "the link"
    Client().post(link[0], {"username": "newt", "new_password": PASSWORD, "new_password_again": PASSWORD})
    assert Tasker.objects.get(user__username="newt").created_at > timezone.now() + 399 * DAY, "the contest's time"


@pytest.mark.django_db
def test_every_page_says_that_the_clock_was_moved(settings: Any, olga: User, signed_in: Any) -> None:
    settings.DEMO = True
    banner, footer = "The demo's clock is 12 days ahead", "its clock was moved to"
    organizer = signed_in(olga)

    def lacks() -> list[list[str]]:
        asked = ((organizer, "/organizer/people/"), (Client(), "/rules/"))
        return [lacking(who.get(address).content.decode(), banner, footer) for who, address in asked]

    assert lacks() == [[banner, footer], [banner, footer]], "it was not moved"
    DemoClock.objects.create(ahead_seconds=12 * 86_400)
    assert lacks() == [[], [banner]]
    settings.DEMO = False
    assert lacks() == [[banner, footer], [banner, footer]]


@pytest.mark.django_db
def test_the_database_beside_us_has_the_same_clock() -> None:
    assert not clock.is_apart(clock.clock_difference())


@pytest.mark.postgres("the database's own clock")
@pytest.mark.django_db
@pytest.mark.parametrize("minutes", [10, -10])
def test_another_clock_is_noticed(minutes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() + timedelta(minutes=minutes))
    apart = clock.clock_difference()
    assert clock.is_apart(apart) and abs(apart - timedelta(minutes=minutes)) < timedelta(seconds=2)
    assert ("ahead of" in clock.clock_difference_words(apart)) is (
        minutes > 0
    ) and "600 seconds" in clock.clock_difference_words(apart)


app.finalize()
ENTRIES = app.conf.beat_schedule


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_an_entry_names_a_task_and_its_message_is_over_when_the_next_ones_are_there(name: str) -> None:
    app.loader.import_default_modules()
    assert ENTRIES[name]["task"] in app.tasks
    expires, period = ENTRIES[name]["options"]["expires"], ENTRIES[name]["schedule"]
    assert expires >= period  # or the sweep might never run
    assert expires <= max(period, 60)  # so that at most a minute's worth waits


def test_every_sweep_that_is_declared_runs_with_a_broker_and_without() -> None:
    declared = {
        id(each)
        for name in sources()
        if name.endswith("/tasks.py")
        for each in vars(importlib.import_module(name.removesuffix(".py").replace("/", "."))).values()
        if isinstance(each, Sweep)
    }
    assert {id(each) for each in SWEEPS} == declared
    assert sorted(ENTRIES) == sorted(each.name for each in SWEEPS)
