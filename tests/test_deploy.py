"""What production runs: clean by Django's own list, with files that can be collected, and refused when half set up."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config import env

ROOT = Path(__file__).resolve().parent.parent


def environment_of(tmp_path: Path) -> dict[str, str]:
    """A production's environment."""
    return {
        "SECRET_KEY": secrets.token_urlsafe(60)[:60],
        "PUBLIC_URL": "https://contest.example.org",
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PATH": os.environ["PATH"],
    }


def manage(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run manage.py with a production's environment."""
    command = [sys.executable, "manage.py", *arguments]
    wanted = environment_of(tmp_path)
    return subprocess.run(command, cwd=ROOT, env=wanted, capture_output=True, text=True, timeout=120)


def test_djangos_deployment_check_finds_nothing(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_models_and_migrations_agree(tmp_path: Path) -> None:
    done = manage(tmp_path, "makemigrations", "--check", "--dry-run")
    assert done.returncode == 0, done.stdout


def test_static_files_can_be_collected_with_names_that_change_with_them(tmp_path: Path) -> None:
    done = manage(tmp_path, "collectstatic", "--noinput")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "static" / "css").glob("base.????????????.css"))
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
    wanted = environment_of(tmp_path)
    command = [sys.executable, "-c", STARTS, json.dumps([("LOG_FORMAT", "json"), *WRONG])]
    done = subprocess.run(command, cwd=ROOT, env=wanted, capture_output=True, text=True, timeout=120)
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
    assert str(refused.value).startswith(f"{name} {words}")
    assert SECRET not in str(refused.value)
    # Nor does the trace show it: whatever was raised first stays away.
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


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
    reader = {"TRUSTED_PROXIES": env.count, "CONTACT_EMAIL": env.address}[name]
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
    bare = {name: value for name, value in os.environ.items() if name not in {"SECRET_KEY", "DEMO", "DATABASE_URL"}}
    bare |= {"DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings"}
    words = [sys.executable, "manage.py", *command]
    done = subprocess.run(words, cwd=settings.BASE_DIR, env=bare, capture_output=True, text=True)
    assert done.returncode == ended, f"{why}: {done.stderr}"
    assert ("SECRET_KEY is required" in done.stderr) == bool(ended)
