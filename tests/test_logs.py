"""Logs: one JSON object a line, with the request's id in each line of a request."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PERMISSION = "gAAAAABpermission"
PICTURE = f"/pictures/{PERMISSION}.png"
NO_PICTURE = f"/pictures/{PERMISSION}.jpg"
SECRET = "Zk3-secret-of-a-link_9"
LINKS = [f"/password/MQ/{SECRET}/", f"/register/{SECRET}/", f"/join/{SECRET}/more", f"/team/join/{SECRET}/"]
LINKS += [f"/account/email/{SECRET}/", f"/releases/mail/confirm/{SECRET}/", f"/releases/mail/end/{SECRET}/"]
LINKS += [f"/sign-in/?next=%2Fjoin%2F{SECRET}%2F", f"/nothing?token={SECRET}"]
ADDRESSES = ("/example", "/example?fail=1", PICTURE, f"{PICTURE}?fail=1", NO_PICTURE, *LINKS)
# In a process of their own, because a process sets its logs up once.
REQUESTS = """
import json, logging, sys, django; django.setup()
from django.core.management import call_command
call_command("collectstatic", interactive=False, verbosity=0)
from django.test import Client
from django.urls import path
from django.http import HttpResponse
from config import urls
def view(request, **_):
    logging.getLogger("labeling.example").warning("said by a view")
    if "fail" in request.GET: raise RuntimeError("broken on purpose")
    return HttpResponse("ok")
urls.urlpatterns.append(path("example", view))
urls.urlpatterns.insert(0, path("pictures/<str:token>.png", view))
for address in ADDRESSES:
    print(json.dumps({"asked": address}), file=sys.stderr, flush=True)
    answer = Client(raise_request_exception=False).get(address, headers={"host": "127.0.0.1"})
    print(json.dumps([answer.status_code, answer.content.decode()]))
"""
# Every kind of logger of this process, each with the secret in another place of the line.
LOGGERS = """
from gunicorn.config import Config
from gunicorn.glogging import Logger
server = Config()
server.set("accesslog", "-")
Logger(server)  # as the web server does before it loads the application
import logging, django; django.setup()
import structlog
from celery.utils.log import get_task_logger
from config.celery import app
link = "/join/SECRET/"
structlog.get_logger("a").info("event " + link)
structlog.get_logger("b").info("nested", field={"list": [("a", {"Authorization": "Token SECRET"})], "link": link})
logging.getLogger("c").warning("arguments %s and %r", link, {"sessionid": "SECRET"})
logging.getLogger("d").info("extra", extra={"lease_token": "SECRET"})
logging.getLogger("django.request").error("Not Found: %s", link)
try:
    try:
        raise KeyError(link)
    except KeyError as error:
        raise ValueError("password=SECRET") from error
except ValueError:
    logging.getLogger("e").exception("traceback")
    structlog.get_logger("f").exception("traceback")
    logging.getLogger("gunicorn.error").exception("Error handling request %s", link)
logging.getLogger("g").warning("too few arguments %s %s", link)
app.log.setup(loglevel="INFO", redirect_stdouts=True)
get_task_logger("celery.task.h").warning("task got %s", link)
logging.getLogger("celery.worker").warning("task got %s", link)
logging.getLogger("gunicorn.access").info('"GET %s HTTP/1.1" 200', link)
"""
TASK = """
import logging, django; django.setup()
from config.celery import app
from django_structlog.celery.steps import DjangoStructLogInitStep
step = DjangoStructLogInitStep(parent=None)  # as the worker takes it; signals hold it weakly
@app.task(name="example")
def example():
    logging.getLogger("labeling.example").warning("said by a task")
from celery.app.trace import build_tracer
build_tracer("example", example, app=app)("3c1b6d0e-task", (), {}, {"id": "3c1b6d0e-task", "is_eager": False})
"""


def lines(program: str, tmp_path: Path) -> tuple[list[dict[str, Any]], str]:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "LOG_FORMAT": "json",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stderr.splitlines()], done.stdout


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[dict[str, Any]], int, str]]:
    """What was logged of each address, its status and its page."""
    logged, printed = lines(REQUESTS.replace("ADDRESSES", repr(ADDRESSES)), tmp_path_factory.mktemp("requests"))
    answers = [json.loads(line) for line in printed.splitlines() if line.startswith("[")]
    starts = [number for number, line in enumerate(logged) if "asked" in line]
    assert [logged[number]["asked"] for number in starts] == list(ADDRESSES)
    said = [logged[start + 1 : end] for start, end in zip(starts, [*starts[1:], len(logged)], strict=True)]
    return {asked: (of, *answer) for asked, of, answer in zip(ADDRESSES, said, answers, strict=True)}


def test_every_line_of_a_request_is_json_with_its_id(requests: Any) -> None:
    logged, *_ = requests["/example"]
    assert [line["event"] for line in logged] == ["said by a view", "request_finished"]
    assert len({line["request_id"] for line in logged}) == 1
    assert all({"timestamp", "level", "logger"} <= set(line) for line in logged)


def test_a_failed_request_is_logged_with_its_trace_and_the_page_names_the_id(requests: Any) -> None:
    logged, status, page = requests["/example?fail=1"]
    failed = next(line for line in logged if line["event"] == "request_failed")
    assert "broken on purpose" in failed["exception"]
    assert status == 500
    assert failed["request_id"] in page and "broken on purpose" not in page


@pytest.mark.parametrize("address", ADDRESSES[2:])
def test_nobody_who_reads_the_log_can_use_an_address(address: str, requests: Any) -> None:
    """Whatever is answered: a picture, a form with a weak password, nothing there, or a server that fails.

    Django says a line of its own about an answer that refuses.
    """
    logged, *_ = requests[address]
    assert SECRET not in json.dumps(logged) and PERMISSION not in json.dumps(logged)
    assert any("…" in line.get("request", "") for line in logged)
    assert address != NO_PICTURE or "Not Found: /pictures/…" in [line["event"] for line in logged]


def test_every_logger_masks_every_part_of_its_lines(tmp_path: Path) -> None:
    logged, printed = lines(LOGGERS.replace("SECRET", SECRET), tmp_path)
    assert SECRET not in json.dumps(logged) + printed
    named = {line["logger"] for line in logged}
    assert named >= {
        *"abcdefg",
        "django.request",
        "gunicorn.error",
        "gunicorn.access",
        "celery.task.h",
        "celery.worker",
    }
    assert next(line for line in logged if line["event"] == "log line lost")["logger"] == "g"


def test_every_line_of_a_task_is_json_with_its_id(tmp_path: Path) -> None:
    logged, _ = lines(TASK, tmp_path)
    assert next(line for line in logged if line["event"] == "said by a task")["task_id"] == "3c1b6d0e-task"
