"""The commands: help that explains everything, errors in one sentence, a launcher that never mistakes a contest, and
settings that are read or named; production is clean by Django's own list."""

import json
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from argparse import SUPPRESS
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError
from django.db.migrations.exceptions import InconsistentMigrationHistory

from common.commands import EXIT_NO_READER, EXIT_USAGE, ContestCommand, sentence
from common.errors import Conflict
from common.progress import every_few_seconds, still_working
from config import env
from contest.management.commands import serve
from tests import services
from tests.processes import wait_for
from tests.services import free_port
from tests.sources import FOLDERS

ROOT = Path(__file__).resolve().parent.parent
OURS = sorted(name for name, app in get_commands().items() if app in FOLDERS)


@pytest.mark.parametrize("name", OURS)
def test_help_explains_every_option_and_ends_with_an_example_that_works(name: str) -> None:
    ours = load_command_class(get_commands()[name], name)
    assert isinstance(ours, ContestCommand) and ours.help
    parser = ours.create_parser("unanimous", name)
    unexplained = [action.dest for action in parser._actions if action.help in {None, "", SUPPRESS}]
    assert not unexplained, "each option and argument has a sentence"
    launcher, named, *words = shlex.split(ours.example)
    assert (launcher, named) == ("./unanimous", name)
    parser.parse_args(words)  # raises CommandError for what the command does not know
    assert parser.format_help().rstrip().endswith(f"Example: {ours.example}"), "in one line, to be copied"


def test_the_readme_names_only_commands_that_are_there_and_as_they_are_typed() -> None:
    known = set(get_commands())
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "templates").rglob("*.html")]:
        text = path.read_text()
        assert "python manage.py" not in text and "`manage.py" not in text and ">manage.py" not in text, path
        for named in text.split("./unanimous ")[1:]:
            word = named.split()[0].split("<")[0].strip("`|,.;:)")
            assert word in known | {"COMMAND", "help"}, f"{path} names {word}"


def caused(error: Exception, code: str) -> Exception:
    error.__cause__ = type("Cause", (Exception,), {"pgcode": code})()
    return error


REDIS = type("ConnectionError", (Exception,), {"__module__": "redis.exceptions"})
S3 = type("EndpointConnectionError", (Exception,), {"__module__": "botocore.exceptions"})


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CommandError("No such week."), "No such week."),
        (EOFError(), "run this at a terminal"),
        (Conflict("The week is not over.", "not_over"), "The week is not over."),
        (ImproperlyConfigured("SECRET_KEY is required"), "SECRET_KEY is required"),
        (OperationalError("no such table: auth_user"), "run `./unanimous migrate`"),
        (
            InconsistentMigrationHistory("labeling.0001_initial is applied before"),
            "it cannot be upgraded",
        ),
        (caused(ProgrammingError('relation "auth_user" does not exist'), "42P01"), "run `./unanimous migrate`"),
        (caused(ProgrammingError('column "x" does not exist'), "42703"), "run `./unanimous migrate`"),
        (OperationalError('connection to server at "db", port 5432 failed: refused\n\tIs it running?'), "not answer"),
        (OperationalError("server closed the connection unexpectedly\n\tThis means"), "The database does not answer"),
        (OperationalError("unable to open database file"), "check DATA_DIR or DATABASE_URL"),
        (OperationalError("database is locked"), "Another process is writing"),
        (OperationalError("database or disk is full"), "The disk is full"),
        (OSError(28, "No space left on device", "/srv/x"), "The disk is full: /srv/x. Make room"),
        (PermissionError(13, "Permission denied", "/srv/x"), "/srv/x: Permission denied."),
        (FileNotFoundError(2, "No such file or directory", "/srv/x"), "/srv/x: No such file or directory."),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "is not UTF-8"),
        (REDIS("Error 111 connecting to localhost:6379."), "The broker does not answer (CELERY_BROKER_URL)"),
        (S3("Could not connect"), "The picture store does not answer, or refuses (IMAGE_STORE_URL)"),
        (ModuleNotFoundError("No module named 'docker'", name="docker"), "The package docker is not installed"),
        (ZeroDivisionError("division by zero"), "settle failed, ZeroDivisionError: division by zero. See where with"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_is_one_sentence(error: Exception, said: str) -> None:
    words = sentence(error, command="settle")
    assert said in words and "\n" not in words


def python(tmp_path: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run Python outside demo mode, with an empty data folder."""
    own = {"DATA_DIR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}", "SECRET_KEY": "x" * 50}
    own |= {"DJANGO_SETTINGS_MODULE": "config.settings", "DOCKER_HOST": "tcp://127.0.0.1:1"}
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | own | environment, capture_output=True, text=True, timeout=120
    )


FAILING = [
    ("add_user ada --role tasker --password-stdin", 1, "run `./unanimous migrate`"),
    ("settle", 1, "Run ./unanimous migrate first."),
    ("demo_clock", 1, "This is no demo"),
    ("scorer_check", 1, "The container engine does not answer at tcp://"),
    ("serve --port 99999", EXIT_USAGE, "'99999' is not a port"),
    ("add_user ada", EXIT_USAGE, "arguments are required: --role. See ./unanimous add_user --help."),
    ("import_images . --refused /nowhere/x.csv", EXIT_USAGE, "There is no folder /nowhere for --refused"),
    ("simulate month --out /nowhere/x", 1, "There is no folder /nowhere to write into"),
    ("check_ledger --traceback", 1, "Traceback (most recent call last)"),
]
# One process runs them all: each takes seconds to begin.
ONE_AFTER_THE_OTHER = """
import contextlib, io, json, sys, traceback
from common.commands import run_command
told = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        try:
            run_command(["manage.py", *words.split()])
        except SystemExit as end:
            told.append((end.code, said.getvalue()))
        except Exception:
            told.append((1, traceback.format_exc()))
print(json.dumps(told))
"""


def test_a_command_that_fails_says_one_sentence_and_all_with_traceback(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", ONE_AFTER_THE_OTHER, json.dumps([words for words, *_ in FAILING]))
    assert done.returncode == 0, done.stderr
    for (words, status, expected), (ended, said) in zip(FAILING, json.loads(done.stdout), strict=True):
        assert (ended, expected in said) == (status, True), f"{words}: {said}"
        assert len(said.strip().splitlines()) == 1 or ("--traceback" in words and "no such table" in said), said


@pytest.mark.parametrize(
    ("command", "environment", "said"),
    [
        ("check_audit", {"DATABASE_URL": "postgres://a:secret@127.0.0.1:1/x"}, "The database does not answer"),
        ("settle", {"PORT": "high"}, "PORT='high' is not a port"),
    ],
)
def test_a_setting_that_is_wrong_is_one_sentence_without_its_password(
    command: str, environment: dict[str, str], said: str, tmp_path: Path
) -> None:
    done = python(tmp_path, "manage.py", command, **environment)
    assert (done.returncode, said in done.stderr, "secret" in done.stderr) == (1, True, False), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_reader_that_goes_away_ends_a_command_quietly() -> None:
    """The launcher of this tree, as in `./unanimous help | head -0`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([ROOT / "unanimous", "help"], cwd="/", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (EXIT_NO_READER, b"")


def test_without_the_installation_the_launcher_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-I", str(ROOT / "manage.py"), "settle"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and done.stderr.endswith("run `make run` once, then ./unanimous COMMAND.\n")


def test_a_line_every_few_seconds_and_no_more() -> None:
    now, said = 0.0, list[str]()
    line = every_few_seconds(said.append, seconds=3, clock=lambda: now)
    for second in range(10):
        now = float(second)
        line(f"at {second}")
    assert said == ["at 3", "at 6", "at 9"]


def test_a_step_that_lasts_is_named_until_it_is_over() -> None:
    said = SimpleQueue[str]()
    with still_working(said.put, seconds=0.01) as begin:
        begin("Scoring")
        words = said.get(timeout=10)
    assert words.startswith("Scoring: ") and words.endswith(" s so far")


PRINTS = """#!/bin/sh
echo "$*"
env | grep -E '^(DEMO|DATA_DIR|DATABASE_URL|SECRET_KEY|PORT|LOG_FORMAT|EMAIL_URL)=' | LC_ALL=C sort
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "a tree"
    (root / ".venv/bin").mkdir(parents=True)
    python = root / ".venv/bin/python"
    python.write_text(PRINTS)
    python.chmod(0o755)
    shutil.copy(ROOT / "unanimous", root)
    return root


def launch(tree: Path, *words: str, at: str = "unanimous", **environment: str) -> "tuple[int, list[str], str]":
    """Launch from another folder; return the status, what the command was given, and what was said."""
    done = subprocess.run(
        [str(tree / at), *words],
        cwd="/",
        env={"PATH": os.environ["PATH"]} | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


def noted(tree: Path, text: str) -> None:
    (tree / "var").mkdir()
    (tree / "var/demo-settings").write_text(text)


@pytest.mark.parametrize(
    ("environment", "demo", "reason"),
    [
        ({}, True, "nothing names a contest: the demo of make run"),
        ({"SCORING_DEVICE": "cpu"}, True, "says something of the machine, nothing of a contest"),
        ({"SECRET_KEY": "k"}, False, "a contest's key"),
        ({"DATABASE_URL": "postgres://u@h/d"}, False, "a contest's database"),
        ({"IMAGE_STORE_URL": "s3://b/p"}, False, "a contest's pictures"),
        ({"CELERY_BROKER_URL": "redis://h"}, False, "a contest's broker"),
        ({"PUBLIC_URL": "https://c.example"}, False, "a contest's address"),
        ({"RELEASE_DIR": "/srv"}, False, "a contest's releases"),
        ({"DJANGO_SETTINGS_MODULE": "mine"}, False, "settings of somebody's own"),
        ({"DEMO": "0"}, False, "it says that this is no demo"),
        ({"SECRET_KEY": "", "DATABASE_URL": ""}, True, "empty is not set"),
    ],
)
def test_the_demo_is_used_only_where_nothing_names_a_contest(
    environment: dict[str, str], demo: bool, reason: str, tree: Path
) -> None:
    noted(tree, "PORT=9000\nSECRET_KEY=a=b=\n")
    status, given, said = launch(tree, "settle", **environment)
    assert (status, "DEMO=1" in given) == (0, demo), reason
    assert ("SECRET_KEY=a=b=" in given) == demo, "what the demo runs with is no contest's"
    assert (said == f"The demo contest in {tree}/var\n") == demo, "it says which contest it is"


def test_the_demo_has_the_settings_of_make_run_unless_the_environment_says_otherwise(tree: Path) -> None:
    noted(tree, "PORT=9000\nDATABASE_URL=postgres://u:p=q@h/d\nEMAIL_URL=file:///a b\n$(touch x)=1\n")
    _, given, _ = launch(tree, "import_images", "two words", PORT="9001")
    assert given == [
        f"{tree}/manage.py import_images two words",
        "DATABASE_URL=postgres://u:p=q@h/d",
        f"DATA_DIR={tree}/var",
        "DEMO=1",
        "EMAIL_URL=file:///a b",
        "LOG_FORMAT=console",
        "PORT=9001",
    ]


@pytest.mark.parametrize(
    ("words", "environment", "status", "reason"),
    [
        (["settle"], {}, 1, "make run was not here"),
        (["settle"], {"DATA_DIR": "/tmp"}, 1, "a folder is no contest"),
        (["help"], {}, 0, "help needs no contest"),
        (["add_user", "--help"], {}, 0, "nor does that of a command"),
        ([], {}, 0, "nor the list of all"),
    ],
)
def test_demo_mode_is_never_turned_on_where_make_run_was_not(
    words: list[str], environment: dict[str, str], status: int, reason: str, tree: Path
) -> None:
    ended, given, said = launch(tree, *words, **environment)
    assert (ended, bool(given), "DEMO=1" in given, len(said.splitlines())) == (status, not status, False, status), (
        reason
    )
    assert not status or said.startswith("There is no demo contest in ") and "run `make run` first" in said


def test_before_make_run_the_launcher_says_what_to_do(tree: Path) -> None:
    (tree / ".venv/bin/python").unlink()
    assert launch(tree, "settle") == (1, [], f"Nothing is installed yet: run `make run` in {tree} first.\n")


def test_a_contest_may_be_installed_for_the_machines_own_python(tree: Path) -> None:
    (tree / ".venv/bin/python").rename(tree / "python3")
    _, given, _ = launch(tree, "settle", SECRET_KEY="k", PATH=f"{tree}:{os.environ['PATH']}")
    assert given == [f"{tree}/manage.py settle", "SECRET_KEY=k"]


def test_a_link_leads_to_the_tree(tree: Path) -> None:
    noted(tree, "")
    (tree.parent / "link").symlink_to(tree / "unanimous")
    assert launch(tree.parent, "settle", at="link")[1][0] == f"{tree}/manage.py settle"


@pytest.mark.parametrize(
    ("needed", "status", "said"),
    [("Django", 0, ""), ("no-such-package-anywhere", 2, "Installing what the contest needs")],
    ids=["all is there", "something is missing"],
)
def test_make_speaks_of_installing_only_when_something_is_missing(
    needed: str, status: int, said: str, tmp_path: Path
) -> None:
    [shutil.copy(ROOT / name, tmp_path) for name in ("Makefile", "requirements-torch.txt")]
    (tmp_path / "requirements.txt").write_text(f"{needed}\n")
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    # Within `make test`, a further make would say which folder it enters.
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", ".venv/.runtime"],
        cwd=tmp_path,
        env=own | {"PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, bool(done.stdout)) == (status, bool(said)) and done.stdout.startswith(said)


def running_with(mark: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found


def started_in_the_background(*words: str, **environment: str) -> "subprocess.Popen[str]":
    """Start as a shell without job control does what ends with `&`: with interrupts ignored."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )


def ended(process: "subprocess.Popen[str]", number: int = 0) -> int:
    """Send a signal, and return how the process ends."""
    process.send_signal(number)
    process.communicate(timeout=60)
    return process.returncode


def waited_for(process: "subprocess.Popen[str]", line: str) -> str:
    """Read the output until it has the line, and return that."""
    assert process.stdout is not None
    return next(each for each in process.stdout if line in each)


@pytest.mark.parametrize(
    ("number", "flags", "processes"),
    [
        (signal.SIGINT, ["--pages-only"], 2),
        pytest.param(signal.SIGTERM, [], 4, marks=pytest.mark.long("with its workers it starts four processes")),
    ],
)
def test_signals_end_what_make_run_starts_also_as_a_background_job(
    number: int, flags: list[str], processes: int, tmp_path: Path
) -> None:
    own = {"DATA_DIR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}", "SECRET_KEY": "x" * 50}
    # With the settings of tests, which need not run every migration again.
    python(tmp_path, "manage.py", "migrate", "-v0", DJANGO_SETTINGS_MODULE="tests.settings").check_returncode()
    own |= {"DJANGO_SETTINGS_MODULE": "config.settings", "DEFENSE_RUNTIME": "process", "PORT": str(free_port())}
    process = started_in_the_background("manage.py", "serve", *flags, **own)
    waited_for(process, "Ctrl-C ends it")
    # One that begins its program has no environment for a moment.
    wait_for(lambda: len(running_with(str(tmp_path))) >= processes, "the server and its workers")
    assert (ended(process, number), running_with(str(tmp_path))) == (0, [])


def test_a_signal_while_a_process_starts_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when the process runs and is not known yet: it has a session of its own, and would go on for ever."""
    started: list[subprocess.Popen[bytes]] = []

    def interrupted(*words: Any, **options: Any) -> "subprocess.Popen[bytes]":
        started.append(popen(*words, **options))
        os.kill(os.getpid(), signal.SIGTERM)
        return started[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(serve.subprocess, "Popen", interrupted)
    monkeypatch.setattr(serve, "web_server_command", lambda _: ["sleep", "1000"])
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    processes = serve.Processes(free_port())
    try:
        with pytest.raises(SystemExit):
            processes.start()
    finally:
        signal.signal(signal.SIGTERM, before)
    processes.stop()
    assert [each.returncode for each in started] == [-signal.SIGTERM]


OTHER_SIGNALS = pytest.mark.long("another signal: an interrupt is the one that a background job would not hear")


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, *(pytest.param(each, marks=OTHER_SIGNALS) for each in (signal.SIGTERM, signal.SIGHUP))],
)
def test_any_signal_ends_the_services_and_what_they_serve(number: int, tmp_path: Path) -> None:
    mark = f"{tmp_path}-{number}"
    script = "echo begun $DATABASE_URL $TEST_REDIS_URL; exec sleep 1000"
    process = started_in_the_background("-m", "tests.services", "sh", "-c", script, MARK=mark)
    ports = [urlsplit(url).port for url in waited_for(process, "begun").split()[1:]]
    assert all(answers(port) for port in ports)
    assert (ended(process, number), running_with(mark)) == (128 + number, [])
    assert not any(answers(port) for port in ports)


@pytest.mark.parametrize(
    "attempts", [1, pytest.param(5, marks=pytest.mark.long("which of the two is first is chance: several attempts"))]
)
def test_a_signal_while_a_command_starts_leaves_nothing_behind(attempts: int, tmp_path: Path) -> None:
    """The command runs before whoever started it has it in hand: it asks for the end as its first act."""
    for attempt in range(attempts):
        mark = f"{tmp_path}-{attempt}"
        script = "kill -TERM $PPID; exec sleep 1000"
        process = started_in_the_background("-m", "tests.services", "sh", "-c", script, MARK=mark)
        assert (ended(process), running_with(mark)) == (128 + signal.SIGTERM, [])


def answers(port: int | None) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port or 0), timeout=1):
        return True
    return False


@pytest.mark.slow("it starts both servers three times")
def test_the_database_of_the_services_is_kept_until_somebody_asks_otherwise(tmp_path: Path, capfd: Any) -> None:
    def tables(statement: str, *flags: str) -> str:
        count = "SELECT count(*) FROM pg_tables WHERE tablename = 'kept'"
        sql = f"import os, psycopg2 as p; c = p.connect(os.environ['DATABASE_URL']); u = c.cursor(); {statement}"
        sql += f'u.execute("{count}"); print(u.fetchone()[0]); c.commit()'
        assert services.main([*flags, "--keep", str(tmp_path), sys.executable, "-c", sql]) == 0
        said = capfd.readouterr().out
        assert "PostgreSQL: postgres://unanimous@127.0.0.1:" in said and "Redis: redis://" in said
        return str(said.splitlines()[-1])

    assert (tables("u.execute('CREATE TABLE kept ()'); "), tables(""), tables("", "--fresh")) == ("1", "1", "0")


PRODUCTION = {"SECRET_KEY": secrets.token_urlsafe(60)[:60], "PUBLIC_URL": "https://contest.example.org"}


def test_djangos_deployment_check_finds_nothing(tmp_path: Path) -> None:
    done = python(tmp_path, "manage.py", "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert (done.returncode, "no issues" in done.stdout) == (0, True), done.stderr


def test_static_files_can_be_collected_with_names_that_change_with_them(tmp_path: Path) -> None:
    python(tmp_path, "manage.py", "collectstatic", "--noinput", **PRODUCTION).check_returncode()
    assert list((tmp_path / "static" / "css" / "shared").glob("base.????????????.css"))
    assert list((tmp_path / "static" / "vendor" / "pico").glob("pico.min.????????????.css.gz"))


WRONG = [
    ("SECRET_KEY", ""),
    ("DEMO", "1"),  # published passwords on a public address
    ("DEMO", "maybe"),
    ("PUBLIC_URL", "ftp://contest.example.org"),
    ("DATABASE_URL", "mysql://somewhere/db"),
    ("IMAGE_STORE_URL", "gs://bucket"),
    ("SCORING_DEVICE", "tpu"),
    ("LOG_FORMAT", "xml"),
]
# Each in a child of one process: settings are read once.
STARTS = """
import json, os, sys
import django.core.checks, config.env
for name, value in json.loads(sys.argv[1]):
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        os.environ.pop(name, None)
        os.environ.update({name: value} if value else {})
        try:
            import django
            django.setup()
            print("started")
        except BaseException as error:
            print(str(error).splitlines()[-1])
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_a_wrong_setting_stops_the_start_and_is_named(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", STARTS, json.dumps([("LOG_FORMAT", "json"), *WRONG]), **PRODUCTION)
    right, *said = done.stdout.splitlines()
    assert right == "started", done.stderr
    for (name, value), line in zip(WRONG, said, strict=True):
        assert name in line, (value, line)


SECRET = "open-sesame"
DATABASE, BROKER = "DATABASE_URL", "CELERY_BROKER_URL"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (DATABASE, f"mysql://contest:{SECRET}@db.example/contest", "begins with mysql://"),
        (DATABASE, f"contest:{SECRET}@db.example/contest", "is no URL"),
        (DATABASE, SECRET, "is no URL"),
        (DATABASE, f"postgres://contest:{SECRET}/{SECRET}@db.example/contest", "cannot be read"),
        (BROKER, f"amqp://contest:{SECRET}@mq.example", "begins with amqp://; "),
    ],
)
def test_a_refused_address_keeps_its_password(
    name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as refused:
        env.database(name, "") if name == DATABASE else env.url(name, "", ("redis",))
    assert str(refused.value).startswith(f"{name} {words}") and SECRET not in str(refused.value)
    # Nor does the trace show it: whatever was raised first stays away.
    shown = refused.value.__context__ if not refused.value.__suppress_context__ else None
    assert (refused.value.__cause__, shown) == (None, None)


@pytest.mark.parametrize(
    ("name", "value", "read", "why"),
    [
        ("TRUSTED_PROXIES", "", 0, "nothing is none"),
        ("TRUSTED_PROXIES", "2", 2, "a count"),
        ("TRUSTED_PROXIES", "-1", None, "less than none"),
        ("TRUSTED_PROXIES", "1.5", None, "no whole number"),
        ("TRUSTED_PROXIES", "one", None, "a word"),
        ("TRUSTED_PROXIES", "²", None, "a digit that nobody means"),
        ("CONTACT_EMAIL", "", "", "nothing"),
        ("CONTACT_EMAIL", " contest@example.org ", "contest@example.org", "an address between blanks"),
        ("CONTACT_EMAIL", "contest", None, "no address"),
        ("CONTACT_EMAIL", "a@b@c", None, "two at once"),
        ("CONTACT_EMAIL", "Contest <contest@example.org>", None, "with a name"),
        ("CONTACT_EMAIL", 'a"b@example.org', None, "a quote"),
        ("CONTACT_EMAIL", "a b@example.org", None, "a blank"),
    ],
)
def test_a_setting_is_read_or_named(
    name: str, value: str, read: object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    reader = {"TRUSTED_PROXIES": env.whole_number, "CONTACT_EMAIL": env.email_address}[name]
    if read is not None:
        assert reader(name) == read, why
        return
    with pytest.raises(ImproperlyConfigured, match=name):
        reader(name)


@pytest.mark.parametrize(
    ("command", "ended", "why"),
    [
        (
            ["makemigrations", "--check", "--dry-run"],
            0,
            "reads the models, and no migration is missing",
        ),
        (["check"], 1, "may go before serving: an installation without a key is told so"),
    ],
)
def test_what_needs_a_key(command: list[str], ended: int, why: str, tmp_path: Path) -> None:
    done = python(tmp_path, "manage.py", *command, SECRET_KEY="", DEMO="")
    assert (done.returncode, "SECRET_KEY is required" in done.stderr) == (ended, bool(ended)), f"{why}: {done.stderr}"
