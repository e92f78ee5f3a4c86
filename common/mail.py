"""Sends plain-text e-mails in the reader's language, after the transaction is committed.

The SMTP backend tells a letter that was refused from one of which nobody knows whether it was taken.
"""

import os
import smtplib
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC
from functools import cache
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends import smtp
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone, translation

from common.errors import Conflict

log = structlog.get_logger(__name__)
# How long a server may take to answer once it has the text: content filters work then. Django's EMAIL_TIMEOUT, which
# holds before, is shorter, so that a server that is away holds up neither pages nor sweeps.
MAX_ANSWER_SECONDS = 60
_SEND_THE_TEXT = 354


def render_letter(template: str, *, to: str, language: str, **context: Any) -> EmailMessage:
    """Return the letter of `letter_text`."""
    subject, body = letter_text(template, language=language, **context)
    return EmailMessage(subject=subject, body=body, to=[to])


def letter_text(template: str, *, language: str, **context: Any) -> tuple[str, str]:
    """Return subject and text of `mail/<template>.txt` in `language`, its times in UTC; its first line is the subject.

    Every letter knows the organizers' address as `contact`, where there is one.
    """
    context = {"contact": settings.CONTACT_EMAIL} | context
    with translation.override(language or None), timezone.override(UTC):
        text = render_to_string(f"mail/{template}.txt", context)
    subject, _, body = text.strip().partition("\n")
    return subject.strip(), body.strip() + "\n"


def send_letter(message: EmailMessage) -> None:
    """Send now; Conflict when the mail server does not take it (`mail_failed`), or may have (`mail_lost`)."""
    try:
        message.send()
    except LostUnderWay as error:
        log.warning("mail lost", error=str(error))
        words = "The mail server did not say whether it took the e-mail. If none arrives in a few minutes, try again."
        raise Conflict(words, "mail_lost") from error
    except (OSError, smtplib.SMTPException) as error:
        log.warning("mail not sent", error=f"{type(error).__name__}: {error}")
        words = "The e-mail could not be sent: the mail server did not take it. Try again in a few minutes."
        raise Conflict(words, "mail_failed") from error


def send_in_background(message: EmailMessage) -> None:
    """Send after this transaction, in a thread: the response time does not reveal whether an address is known."""
    transaction.on_commit(lambda: _postman(os.getpid()).submit(_deliver, message))


def wait_until_sent() -> None:
    """Wait until this process has tried to send every letter so far."""
    last: Future[None] = _postman(os.getpid()).submit(lambda: None)
    last.result()


@cache
def _postman(process: int) -> ThreadPoolExecutor:
    """Return the one thread of this process that carries letters; a fork has none of its parent's."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


def _deliver(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception as error:
        # Nobody waits for the outcome: a recipient who misses the letter requests another.
        log.warning("mail not sent", error=f"{type(error).__name__}: {error}")


# By SMTP --------------------------------------------------------------------------------------------------------------


class LostUnderWay(smtplib.SMTPException):
    """The text of a letter went out, and no answer came: the server may have taken it."""


class _Connection(smtplib.SMTP):
    _text_is_out = False

    def getreply(self) -> tuple[int, bytes]:
        """Read an answer, and note whether the text is what comes next."""
        code, words = super().getreply()
        self._text_is_out = code == _SEND_THE_TEXT
        if self._text_is_out and self.sock is not None:
            self.sock.settimeout(MAX_ANSWER_SECONDS)
        return code, words

    def data(self, msg: Any) -> tuple[int, bytes]:
        """Send the text; raises LostUnderWay where no answer to it can be read."""
        try:
            return super().data(msg)
        except (OSError, smtplib.SMTPException) as error:
            if self._text_is_out:
                raise LostUnderWay(f"no answer to the text: {error}") from error
            raise


class _TlsConnection(_Connection, smtplib.SMTP_SSL):
    pass


class EmailBackend(smtp.EmailBackend):
    """Django's, with these connections."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        """Return the kind of connection that the settings want."""
        return _TlsConnection if self.use_ssl else _Connection
