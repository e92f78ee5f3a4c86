"""Letters and hints to the broker: where they go, and that no request waits for what does not leave."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core import mail as outgoing
from django.core.exceptions import ImproperlyConfigured

from common import mail
from common.errors import Conflict
from common.hints import MAX_WAITING
from config import env

SECRET = "open-sesame"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("console://", {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}),
        ("file:///var/mail", {"EMAIL_FILE_PATH": "/var/mail"}),
        ("smtp://mail.example", {"EMAIL_PORT": 25, "EMAIL_USE_TLS": False, "EMAIL_USE_SSL": False}),
        ("smtps://me:p%40ss@mail.example", {"EMAIL_PORT": 465, "EMAIL_USE_SSL": True, "EMAIL_HOST_PASSWORD": "p@ss"}),
        ("smtp+tls://me@mail.example:2525", {"EMAIL_PORT": 2525, "EMAIL_USE_TLS": True, "EMAIL_HOST_USER": "me"}),
        (f"pop3://me:{SECRET}@mail.example", {}),
        (SECRET, {}),
        (f"smtps://me:{SECRET}/x@mail.example", {}),
    ],
)
def test_where_letters_go_is_read_and_a_refused_address_keeps_its_password(
    value: str, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMAIL_URL", value)
    if expected:
        assert env.email("EMAIL_URL", "").items() >= expected.items()
        return
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL") as refused:
        env.email("EMAIL_URL", "")
    assert SECRET not in str(refused.value)


def _letter(language: str = "en") -> Any:
    context = {"username": "tara & co", "link": "http://127.0.0.1:8000/x?a=1&b=2"}
    return mail.render_letter("confirm_address", to="tara@example.org", language=language, **context)


def test_the_first_line_is_the_subject_and_nothing_is_escaped() -> None:
    letter = _letter()
    assert letter.subject == "Confirm your e-mail address"
    assert "Hello tara & co,\n" in letter.body and "\nhttp://127.0.0.1:8000/x?a=1&b=2\n" in letter.body


@pytest.mark.django_db
def test_behind_the_request_a_failed_letter_stops_none_of_the_next(
    settings: Any, django_capture_on_commit_callbacks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMAIL_BACKEND = "common.mail.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 1, 1
    with pytest.raises(Conflict) as refused:
        mail.send_letter(_letter())
    assert refused.value.code == "mail_failed", "whoever waits is told"
    with django_capture_on_commit_callbacks(execute=True):
        mail.send_in_background(_letter())
    mail.wait_until_sent()
    assert "mail not sent" in caplog.text
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    with django_capture_on_commit_callbacks(execute=True):
        mail.send_in_background(_letter())
    mail.wait_until_sent()
    assert len(outgoing.outbox) == 1


# In a process of its own, which has its own connection to the broker and its own thread.
HINT = """
import json, sys, threading, time, django; django.setup()
from adjudication.tasks import settle_panel
from common.hints import _waiting
from common.queues import hint
def seconds():
    began = time.perf_counter()
    hint(settle_panel, panel_id=7)
    return time.perf_counter() - began
def hints():  # in a thread, as the web server's requests are
    took = sorted(seconds() for _ in range(HOW_MANY))
    print(json.dumps(took))
request = threading.Thread(target=hints)
request.start(); request.join()
"""


def say(tmp_path: Path, broker: str, how_many: int, after: str = "") -> tuple[list[float], str]:
    """Hint `how_many` times; return the seconds each took, and the log."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "CELERY_BROKER_URL": broker,
    }
    done = subprocess.run(
        [sys.executable, "-c", HINT.replace("HOW_MANY", str(how_many)) + after],
        cwd=Path(__file__).resolve().parent.parent.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture(params=["refuses", "hangs"])
def dead_broker(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The address of a broker that nobody listens at, or that takes connections and never answers."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        if request.param == "hangs":
            listener.listen(200)
        yield request.param, f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def test_a_submit_does_not_wait_for_a_dead_broker_and_an_outage_is_not_a_line_for_every_hint(
    dead_broker: tuple[str, str], tmp_path: Path
) -> None:
    """Most hints find the queue full here; those are dropped as fast.

    One takes some ten microseconds, and whoever asks a broker themselves a hundred times as long; a busy machine may
    hold up a few. Where nobody listens, each fails at once, and the log says it once.
    """
    kind, url = dead_broker
    until_empty = "\nwhile not _waiting(__import__('os').getpid()).empty(): time.sleep(0.05)"
    took, log = say(tmp_path, url, 3 * MAX_WAITING, after=until_empty if kind == "refuses" else "")
    assert took[len(took) // 2] < 0.001
    assert took[len(took) * 9 // 10] < 0.5
    if kind == "refuses":
        (lost,) = (line for line in log.splitlines() if "hint lost" in line)
        assert "settle_panel" in lost


def test_hints_of_a_request_arrive_before_the_process_ends(tmp_path: Path) -> None:
    if not os.environ.get("TEST_REDIS_URL"):
        pytest.skip("needs a Redis server: TEST_REDIS_URL=redis://127.0.0.1:6379/0")
    # Numbers from the end, so that no worker of another test takes them.
    number = 15 - int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    url = f"{os.environ['TEST_REDIS_URL'].rsplit('/', 1)[0]}/{number}"
    server: Any = redis.Redis.from_url(url)
    server.delete("quick")
    # The first connection takes its time on a busy machine; how long a farewell may be is not what is shown here.
    say(tmp_path, url, 3, after="\nfrom common import hints\nhints.FAREWELL_SECONDS = 60")
    waiting = [json.loads(each)["headers"] for each in server.lrange("quick", 0, -1)]
    server.delete("quick")
    assert [each["task"] for each in waiting] == ["adjudication.tasks.settle_panel"] * 3
