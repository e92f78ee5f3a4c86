"""Sends e-mails by SMTP, and tells a letter that was refused from one of which nobody knows whether it was taken."""

import smtplib
from typing import Any

from django.core.mail.backends import smtp

# How long a server may take to answer once it has the text: content filters work then. Django's EMAIL_TIMEOUT, which
# holds before, is shorter, so that a server that is away holds up neither pages nor sweeps.
MAX_ANSWER_SECONDS = 60
_SEND_THE_TEXT = 354


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
