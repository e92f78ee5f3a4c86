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
