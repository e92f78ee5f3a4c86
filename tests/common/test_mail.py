"""Letters: where they go, in which language, and what happens when they do not leave."""

from typing import Any

import pytest
from django.core import mail as outgoing
from django.core.exceptions import ImproperlyConfigured

from common import mail
from common.errors import Conflict
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
    return mail.letter("confirm_address", to="tara@example.org", language=language, **context)


def test_the_first_line_is_the_subject_and_nothing_is_escaped() -> None:
    letter = _letter()
    assert letter.subject == "Confirm your e-mail address"
    assert "Hello tara & co,\n" in letter.body
    assert "\nhttp://127.0.0.1:8000/x?a=1&b=2\n" in letter.body


@pytest.mark.django_db
def test_behind_the_request_a_failed_letter_stops_none_of_the_next(
    settings: Any, django_capture_on_commit_callbacks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 1, 1
    with pytest.raises(Conflict) as refused:
        mail.send(_letter())
    assert refused.value.code == "mail_failed", "whoever waits is told"
    with django_capture_on_commit_callbacks(execute=True):
        mail.send_behind(_letter())
    mail.wait_until_sent()
    assert "mail not sent" in caplog.text
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    with django_capture_on_commit_callbacks(execute=True):
        mail.send_behind(_letter())
    mail.wait_until_sent()
    assert len(outgoing.outbox) == 1
