"""Settings from the environment: what is read, and what a wrong value may repeat."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config import env

SECRET = "open-sesame"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (f"mysql://contest:{SECRET}@db.example/contest", "begins with mysql://"),
        (f"contest:{SECRET}@db.example/contest", "is no URL"),
        (SECRET, "is no URL"),
        (f"postgres://contest:{SECRET}/{SECRET}@db.example/contest", "cannot be read"),
    ],
)
def test_a_refused_address_of_the_database_keeps_its_password(
    value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", value)
    with pytest.raises(ImproperlyConfigured) as refused:
        env.database("DATABASE_URL", "")
    assert str(refused.value).startswith(f"DATABASE_URL {words}")
    assert SECRET not in str(refused.value)
    # Nor does the trace show it: whatever was raised first stays away.
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_a_refused_address_of_the_broker_keeps_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", f"amqp://contest:{SECRET}@mq.example")
    with pytest.raises(ImproperlyConfigured, match="CELERY_BROKER_URL begins with amqp://; .* redis://") as refused:
        env.url("CELERY_BROKER_URL", "", ("redis",))
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(("value", "number"), [("", 0), ("0", 0), ("2", 2)])
def test_a_count_is_read(value: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", value)
    assert env.count("TRUSTED_PROXIES") == number


@pytest.mark.parametrize("value", ["-1", "one", "1.5", "²"])
def test_a_count_that_is_none_is_named(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTED_PROXIES", value)
    with pytest.raises(ImproperlyConfigured, match="TRUSTED_PROXIES"):
        env.count("TRUSTED_PROXIES")


@pytest.mark.parametrize(("value", "read"), [("", ""), (" contest@example.org ", "contest@example.org")])
def test_an_address_is_read(value: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTACT_EMAIL", value)
    assert env.address("CONTACT_EMAIL") == read


@pytest.mark.parametrize(
    "value", ["contest", "a@b@c", "Contest <contest@example.org>", 'a"b@example.org', "a b@example.org"]
)
def test_an_address_that_is_none_is_named(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTACT_EMAIL", value)
    with pytest.raises(ImproperlyConfigured, match="CONTACT_EMAIL"):
        env.address("CONTACT_EMAIL")


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
