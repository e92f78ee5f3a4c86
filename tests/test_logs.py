"""Logs: one JSON object a line, with the request's id in each line of a request."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from common.log_mask import SECRET_LINKS, mask
from tests.addresses import patterns

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
    assert {line["logger"] for line in logged} >= {
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


RESET = "ctg5x2-" + "a1b2c3d4" * 4
RANDOM = "q7Lk0" * 8 + "Zw9"  # 43 characters, as of secrets.token_urlsafe(32)
# What other parameters of addresses name; none of it opens anything.
ROUTES = [path.removeprefix("/") for path, _ in patterns()]
PUBLIC_PARAMETERS = {"public_id", "image_id", "name", "week", "path"}


def test_the_mask_knows_every_address_that_is_a_permission() -> None:
    """A parameter that is free text is public by name, or its address is one of the secret links."""
    free = re.compile(r"<(?:str|slug|path):(\w+)>")
    secret = {route for route in ROUTES if set(free.findall(route)) - PUBLIC_PARAMETERS}
    assert {re.sub(r"<\w+:", "<", route) for route in secret} == set(SECRET_LINKS)
    for route in secret:
        address = "/" + free.sub(SECRET, route)
        assert SECRET not in mask(f"Bad Request: {address}"), address


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"GET /join/{SECRET}/?from=letter", "an address with a query"),
        (f"https://unanimous.example/password/MQ/{SECRET}/", "a whole link, as in a letter"),
        (f"GET /sign-in/?next=%2Fjoin%2F{SECRET}%2F", "encoded, as where somebody goes after signing in"),
        (f"GET /sign-in/?next=%252Fteam%252Fjoin%252F{SECRET}", "encoded twice"),
        (f"GET /%6Aoin/{SECRET}/", "letters encoded that need not be"),
        (f"GET /join/%20{SECRET}", "a blank that a mail program put in"),
        (f"GET /JOIN//{SECRET}", "capitals and a doubled slash open nothing, and show the secret"),
        (f"{{'tried': [], 'path': 'register/{SECRET}'}}", "Django's words about what it did not find"),
        (json.dumps({"body": json.dumps({"link": f"/join/{SECRET}/"}).replace("/", "\\/")}), "JSON in JSON"),
        (f'{{"link": "https:\\/\\/c.example\\/password\\/MQ\\/{SECRET}\\/"}}', "a link with parts, as PHP writes JSON"),
        (f"Not Found: /passwort/MQ/{RESET}", "a mistyped address with a live token"),
        (f"Not Found: /invite/{RANDOM}", "a mistyped address with a live secret"),
        (f"error: {RANDOM} does not fit", "a bare secret in the words of an error"),
        (f"Authorization: Token {SECRET}", "a header"),
        (f"Authorization: Basic {SECRET}", "a header of another kind"),
        (json.dumps({"headers": {"Authorization": f"Token {SECRET}"}}), "a dict of headers"),
        (json.dumps({"headers": [["authorization", f"Token {SECRET}"]]}), "a list of pairs"),
        (f"{{'HTTP_AUTHORIZATION': 'Token {SECRET}'}}", "the request as WSGI has it"),
        (f"{{b'authorization': b'Token {SECRET}'}}", "headers as bytes"),
        (f"sent Bearer {SECRET} to the store", "a scheme without its header"),
        (f"Cookie: theme=dark; sessionid={SECRET}; csrftoken=x", "a header of cookies"),
        (json.dumps({"cookies": {"sessionid": SECRET}}), "a dict of cookies"),
        (f"csrfmiddlewaretoken={SECRET}&username=tara", "a form"),
        (json.dumps({"lease_token": SECRET, "answers": [{"token": SECRET}]}), "fields named token, at any depth"),
        (json.dumps({"password": f'a "quoted" {SECRET}'}), "a password with quotes"),
        (json.dumps({"body": json.dumps({"password": f"with blanks {SECRET}"})}), "a body as text"),
        (f"GET /metrics?token={SECRET}", "a query"),
        ('{"otp": 918273, "code": 400}', "a number"),
        (f"redis://user:{SECRET}@broker:6379/0 refused", "the address of a service"),
    ],
)
def test_no_secret_is_left_in_a_line(line: str, reason: str) -> None:
    masked = mask(line)
    assert not any(secret in masked for secret in (SECRET, RESET, RANDOM, "918273")), reason
    assert "…" in masked
    if line.startswith("{") and '"' in line:
        json.loads(masked)


@pytest.mark.parametrize(
    "line",
    [
        '{"request": "GET /account/password/", "code": 200, "event": "request_finished"}',
        '{"request": "GET /record/P-7Q4M2XYZ/", "request_id": "3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84"}',
        f'{{"event": "warning: picture {"ab12" * 16} is missing"}}',
        '{"token": null, "otp": false}',
        "GET /search/?q=100%25+sure",
        "error in test_a_line_with_a_name_that_is_very_long_and_has_no_digit",
    ],
)
def test_what_opens_nothing_stays_readable(line: str) -> None:
    assert mask(line) == line


@pytest.mark.parametrize("part", ["token=", '"token": "', "a", "join/", "A1-", "%41", "://a:", 'otp"=\\', "cookie:"])
def test_no_line_takes_long_to_mask(part: str) -> None:
    """A stranger writes the addresses of requests; gunicorn takes 4 KiB of them."""
    began = time.process_time()
    mask(f"404 % {part * (8192 // len(part))}")
    assert time.process_time() - began < 0.2
