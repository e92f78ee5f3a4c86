"""Outages: the database away or restarted, a disk full, the picture store away. Each is answered in words that say what
was kept, with a time to try again, and the first request after it works. Logs: one JSON object a line, with the
request's id in each line of a request, and no secret in any form."""

import contextlib
import errno
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError
from django.conf import settings
from django.db import DatabaseError, OperationalError, connection, utils
from django.test import Client
from django.utils import timezone
from urllib3.exceptions import NewConnectionError

from common.log_mask import SECRET_LINKS, mask
from common.outages import OutageLog, TraceOnce, outage_of, storage_full
from contest.core.models import Attack
from labeling.pictures.addresses import picture_url
from picture_files.store import FolderStore, picture_key, picture_store
from tests import factories
from tests.addresses import patterns
from tests.contest.attacks import cast
from tests.contest.pages import lacking
from tests.refusals import refused
from tests.services import PostgresServer, postgres_server

ROOT = Path(__file__).resolve().parent.parent


def of_sqlite(statement: str, *, before: str = "", locked: bool = False) -> Exception:
    """What Django raises when SQLite refuses a statement; `locked`: while another process holds the lock."""
    name = "file:outage?mode=memory&cache=shared"
    with (
        contextlib.closing(sqlite3.connect(name, uri=True)) as other,
        contextlib.closing(sqlite3.connect(name, uri=True, timeout=0)) as database,
    ):
        (other if locked else database).executescript(before)
        with pytest.raises(sqlite3.Error) as raised:
            database.execute(statement)
    kind = {sqlite3.OperationalError: utils.OperationalError}.get(raised.type, utils.DatabaseError)
    return caused(raised.value, kind(*raised.value.args))


def caused(error: Exception, wrapped: Exception) -> Exception:
    wrapped.__cause__ = error
    return wrapped


def no_room() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def behind(error: Exception) -> Exception:
    """An error of ours that another one caused."""
    return caused(error, ValueError("the picture was not kept"))


def while_handling(error: Exception, *, after: Exception) -> Exception:
    """An error that was raised while another one was handled."""
    error.__context__ = after
    return error


LOCK = "CREATE TABLE t (n); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1);"
FULL = "PRAGMA max_page_count = 2; CREATE TABLE t (n)"


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (
            lambda: of_sqlite("INSERT INTO t VALUES (randomblob(100000))", before=FULL),
            "storage_full",
            "SQLite has no room",
        ),
        (lambda: of_sqlite("SELECT * FROM t", before=LOCK, locked=True), "database_away", "SQLite locked for too long"),
        (lambda: of_sqlite("SELECT * FROM nothing"), None, "a table that does not exist is our mistake"),
        (lambda: of_sqlite("SELEC"), None, "so is a statement with a mistake"),
        (lambda: OperationalError("could not connect to server: Connection refused"), "database_away", "no server"),
        (lambda: utils.InterfaceError("connection already closed"), "database_away", "a connection that was lost"),
        (lambda: utils.IntegrityError("duplicate key"), None, "a constraint"),
        (no_room, "storage_full", "a disk"),
        (lambda: OSError(errno.EDQUOT, "Disk quota exceeded"), "storage_full", "a quota"),
        (lambda: OSError(errno.EFBIG, "File too large"), "storage_full", "the limit of a process"),
        (lambda: OSError(errno.EIO, "Input/output error"), "store_away", "a disk that was taken away"),
        (lambda: OSError(errno.EROFS, "Read-only file system"), "store_away", "a disk that takes nothing any more"),
        (lambda: FileNotFoundError(errno.ENOENT, "No such file"), None, "one file that is not there"),
        (lambda: EndpointConnectionError(endpoint_url="http://store"), "store_away", "a bucket that does not answer"),
        (lambda: behind(no_room()), "storage_full", "a cause behind another error"),
        (lambda: ValueError("something else"), None, "a mistake of ours"),
        (lambda: while_handling(KeyError("b"), after=OSError(errno.EIO, "")), None, "a mistake in handling an outage"),
        (
            lambda: while_handling(OSError("closing"), after=OSError(errno.EIO, "")),
            "store_away",
            "a failure after another",
        ),
        (lambda: PermissionError(errno.EACCES, "Permission denied"), None, "a file that is not ours, wherever it lies"),
        (lambda: NotADirectoryError(errno.ENOTDIR, "Not a directory"), None, "a path that is wrong"),
        (lambda: NewConnectionError(None, "refused"), None, "a library that others use as well"),  # type: ignore[arg-type]
        (
            lambda: behind(ConnectTimeoutError(endpoint_url="http://store")),
            "store_away",
            "the store's words for the same",
        ),
    ],
)
def test_what_is_an_outage(error: Callable[[], Exception], code: str | None, reason: str) -> None:
    assert getattr(outage_of(error()), "code", None) == code, reason


def test_an_outage_is_two_lines_however_often_it_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.outages.log", structlog.get_logger("anew"))  # others have cached theirs
    outages = OutageLog()
    with structlog.testing.capture_logs() as logged:
        for work in ("rulings", "panels", "rulings"):
            assert outages.failed(work, OperationalError("away"))
        for work in ("clock", "rulings", "panels"):  # the clock needs no database
            outages.succeeded(work)
        assert not outages.failed("rulings", ValueError("a mistake"))
    assert [line["event"] for line in logged] == ["outage", "outage_over"]
    assert isinstance(logged[0]["exc_info"], OperationalError), "where it was met"


def test_where_requests_met_an_outage_is_written_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.outages.log", structlog.get_logger("requests"))
    traces, error = TraceOnce(), no_room()
    with structlog.testing.capture_logs() as logged:
        for _ in range(2):
            traces.log(storage_full(), error)
    assert [line.get("exc_info") for line in logged] == [error, None]


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Put a disk with no room at `folder`; needs root."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("only root can make a small disk")
    try:
        with suppress(OSError), open(folder / "filler", "wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.django_db
def test_a_full_disk_keeps_nothing_of_an_attack_and_says_so(signed_in: Any, tmp_path: Path) -> None:
    cast.policy()
    captain = signed_in(cast.captain(cast.team("red")))
    sent = lambda: captain.post("/api/v1/attacks/", {"image": cast.upload(cast.picture())})  # noqa: E731
    with full_disk(tmp_path / "pictures"):
        answer = sent()
        left = [path.name for path in (tmp_path / "pictures").rglob("*") if path.is_file()]
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (507, "storage_full", "60")
    assert "Nothing of this request was saved" in answer.json()["detail"]
    assert (Attack.objects.count(), left) == (0, ["filler"])
    assert sent().status_code == 201, "with room again the same upload is taken"


@pytest.mark.django_db
def test_a_store_that_is_not_mounted_is_no_missing_picture(client: Client, tmp_path: Path) -> None:
    image = factories.panel().image
    picture_store().put(picture_key(image.pixels_sha256), cast.picture())
    address = picture_url(image, now=timezone.now())
    assert client.get(address).status_code == 200
    os.rename(tmp_path / "pictures", tmp_path / "elsewhere")
    answer = client.get(address)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert not lacking(answer.content.decode(), "The picture store does not answer", "store_away")
    os.rename(tmp_path / "elsewhere", tmp_path / "pictures")
    assert client.get(address).status_code == 200


def test_a_folder_that_is_none_any_more_is_an_outage_of_the_store(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "kept")
    (tmp_path / "kept").write_bytes(b"not a folder")
    for use in (store.get, store.size, lambda key: store.put(key, b"x"), lambda key: store.part(key, 0, 1)):
        refused("store_away", use, "pictures/00.png")


ASKED = """
import json, sys, django; django.setup()
from django.core.management import call_command
call_command("collectstatic", interactive=False, verbosity=0)
from django.db import connection
from io import BytesIO
from wsgiref.util import setup_testing_defaults
from config.wsgi import application
from common.queues import quick_task, sweep
from contest.management.commands.work import _run
def probe():
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return 0
task = quick_task(probe)
@sweep("probe", every=1.0)
def looked_for():
    return probe()
def asked(method, path, signed_in):
    # As the web server asks: Django's test client keeps connections from being looked at.
    form = b"username=tara&password=x&email=t%40example.org" if method == "post" else b""
    environ = {"REQUEST_METHOD": method.upper(), "PATH_INFO": path, "wsgi.input": BytesIO(form)}
    environ |= {"CONTENT_LENGTH": str(len(form)), "CONTENT_TYPE": "application/x-www-form-urlencoded"}
    environ |= {"HTTP_COOKIE": "csrftoken=" + "c" * 32 + ("; sessionid=" + "a" * 32 if signed_in else "")}
    environ |= {"HTTP_X_CSRFTOKEN": "c" * 32, "HTTP_HOST": "127.0.0.1"}
    setup_testing_defaults(environ)
    heads = []
    body = application(environ, lambda status, headers: heads.append((status, dict(headers))))
    try:
        text = b"".join(body).decode()
        [(status, headers)] = heads
        return [int(status[:3]), headers.get("Retry-After"), text]
    finally:
        body.close()
print("ready", flush=True)
for line in sys.stdin:
    what, *arguments = json.loads(line)
    said = {"ask": asked, "work": lambda: _run(looked_for).value, "task": lambda: task()}[what](*arguments)
    print(json.dumps(said), flush=True)
"""


def environment_of(url: str, folder: Path) -> dict[str, str]:
    own = {"DJANGO_SETTINGS_MODULE": "config.settings", "SECRET_KEY": "only-for-tests-" + "x" * 50}
    return os.environ | own | {"DATABASE_URL": url, "DATA_DIR": str(folder), "LOG_FORMAT": "json"}


class Site:
    """A process of the site that does what it is asked."""

    def __init__(self, url: str, folder: Path) -> None:
        self._log = folder / "log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", ASKED],
                cwd=ROOT,
                env=environment_of(url, folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", self._log.read_text()

    def do(self, *asked: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline() or self._log.read_text())

    def asked(self, path: str) -> tuple[int, Any]:
        """What a page for machines answers."""
        status, _, body = self.do("ask", "get", path, False)
        return status, json.loads(body)

    def logged(self, event: str) -> int:
        return sum(json.loads(line)["event"] == event for line in self._log.read_text().splitlines())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def site(server: PostgresServer, tmp_path: Path) -> Iterator[Site]:
    running = Site(server.url, tmp_path)
    yield running
    running.close()


AWAY = [
    ("get", "/leaderboard/", False, "a public page"),
    ("get", "/account/", True, "somebody signed in, whose session cannot be read"),
    ("post", "/sign-in/", False, "signing in"),
    ("post", "/password/", False, "asking for a letter"),
    ("get", "/api/v1/me/", True, "a program with a session"),
    ("get", "/api/v1/leaderboard/", False, "a call for everybody"),
    ("post", "/api/v1/assignments/next/", True, "labeling"),
]


@pytest.mark.postgres("the database goes away and comes back")
def test_without_its_database_the_site_says_so_and_comes_back_by_itself(site: Site, server: PostgresServer) -> None:
    works = ["ok", 0.5, 0]

    def told() -> list[Any]:
        return [site.asked("/readyz")[1]["checks"]["database"], site.do("work"), site.do("task")]

    assert told() == works
    server.stop()
    server.start()
    assert told() == works, "nothing was asked meanwhile: the kept connection is found dead"
    server.stop()
    for method, path, signed_in, reason in AWAY:
        status, after, body = site.do("ask", method, path, signed_in)
        assert (status, after) == (503, "5"), (reason, body[-300:])
        assert "database_away" in body and "Traceback" not in body, reason
        if path.startswith("/api/"):
            assert set(json.loads(body)) == {"code", "detail"}, reason
        else:
            assert "What was saved before is kept" in body, reason
    assert (site.do("ask", "get", "/healthz", False)[0], site.asked("/readyz")[0]) == (200, 503)
    for _ in range(3):
        assert site.do("work") > 0.5, "a worker rests a little longer, and goes on"
        assert site.do("task") is None
    assert site.logged("sweep failed") == 0
    server.start()
    assert (told(), site.logged("outage_over")) == (works, 1)


@pytest.mark.postgres("the database goes away and comes back")
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("53100", "storage_full"),
        ("53300", "database_away"),
        ("25006", "database_away"),
        ("57P03", "database_away"),
        ("40P01", "database_away"),
        ("55P03", "database_away"),
        ("57014", None),
        ("54001", None),
        ("P0001", None),
    ],
)
def test_what_postgresql_calls_an_outage(code: str, found: str | None) -> None:
    with pytest.raises(DatabaseError) as raised, connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$")
    assert getattr(outage_of(raised.value), "code", None) == found
    assert settings.DATABASES["default"]["ENGINE"] == "common.postgresql"


PERMISSION = "gAAAAABpermission"
PICTURE = f"/pictures/{PERMISSION}.png"
NO_PICTURE = f"/pictures/{PERMISSION}.jpg"
SECRET = "Zk3-secret-of-a-link_9"
LINKS = [
    *(f"/password/MQ/{SECRET}/", f"/register/{SECRET}/", f"/join/{SECRET}/more", f"/team/join/{SECRET}/"),
    *(f"/account/email/{SECRET}/", f"/releases/mail/confirm/{SECRET}/", f"/releases/mail/end/{SECRET}/"),
    *(f"/sign-in/?next=%2Fjoin%2F{SECRET}%2F", f"/nothing?token={SECRET}"),
]
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
from granian.log import LogLevels, configure_logging
configure_logging(LogLevels.info)  # as the web server does before it loads the application
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
    logging.getLogger("_granian").exception("Error handling request %s", link)
logging.getLogger("g").warning("too few arguments %s %s", link)
app.log.setup(loglevel="INFO", redirect_stdouts=True)
get_task_logger("celery.task.h").warning("task got %s", link)
logging.getLogger("celery.worker").warning("task got %s", link)
logging.getLogger("granian.access").info('"GET %s HTTP/1.1" 200', link)
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
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=Path(__file__).resolve().parent.parent,
        env=environment_of(f"sqlite:///{tmp_path / 'db.sqlite3'}", tmp_path),
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
    assert (status, "broken on purpose" in failed["exception"]) == (500, True)
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
        "_granian",
        "granian.access",
        "celery.task.h",
        "celery.worker",
    }
    assert next(line for line in logged if line["event"] == "log line lost")["logger"] == "g"


def test_every_line_of_a_task_is_json_with_its_id(tmp_path: Path) -> None:
    logged, _ = lines(TASK, tmp_path)
    assert next(line for line in logged if line["event"] == "said by a task")["task_id"] == "3c1b6d0e-task"


RESET = "ctg5x2-" + "a1b2c3d4" * 4
RANDOM = "q7Lk0" * 8 + "Zw9"  # 43 characters, as of secrets.token_urlsafe(32)


def test_the_mask_knows_every_address_that_is_a_permission() -> None:
    """A parameter that is free text is public by name, or its address is one of the secret links."""
    free = re.compile(r"<(?:str|slug|path):(\w+)>")
    # What other parameters of addresses name; none of it opens anything.
    public = {"public_id", "image_id", "name", "week", "path", "field", "file", "wheel_name"}
    secret = {path.removeprefix("/") for path, _ in patterns() if set(free.findall(path)) - public}
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
    """A stranger writes the addresses of requests; the web server takes 16 KiB of them."""
    began = time.process_time()
    mask(f"404 % {part * (8192 // len(part))}")
    assert time.process_time() - began < 0.2
