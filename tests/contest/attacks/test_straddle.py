"""The clock of an upload is its last byte (R23): through a real server, with a client that takes its time."""

from collections.abc import Callable
from datetime import datetime, timedelta
from http.client import HTTPConnection
from threading import Event
from typing import Any
from urllib.parse import urlparse

import pytest
from django.http.multipartparser import MultiPartParser

from common.authentication import issue_token
from contest.models import Attack, QuotaDay, Team
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, picture

pytestmark = pytest.mark.django_db(transaction=True)
SECOND = timedelta(seconds=1)
EDGE = "x-edge-x"
HEAD = f'--{EDGE}\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
BODY = HEAD.encode() + picture() + f"\r\n--{EDGE}--\r\n".encode()


@pytest.fixture
def upload(live_server: Any, clock: Callable[[datetime], None], red: Team) -> Callable[[], HTTPConnection]:
    """Return a function that begins an upload by team red, ten seconds before the end of the week, and sends its
    head."""
    clock(BOUNDARY - 10 * SECOND)
    token = issue_token(cast.captain(red), now=BOUNDARY - 10 * SECOND)

    def begin() -> HTTPConnection:
        connection = HTTPConnection(urlparse(live_server.url).netloc, timeout=30)
        connection.putrequest("POST", "/api/v1/attacks/")
        connection.putheader("Authorization", f"Token {token}")
        connection.putheader("Content-Type", f"multipart/form-data; boundary={EDGE}")
        connection.putheader("Content-Length", str(len(BODY)))
        connection.endheaders()
        return connection

    return begin


@pytest.mark.parametrize(
    ("ended", "week", "why"),
    [
        (BOUNDARY, "2026-W48", "all but the last byte before the end"),
        (BOUNDARY - timedelta(milliseconds=1), "2026-W47", "the last byte at 23:59:59.999"),
    ],
)
def test_an_upload_that_straddles_the_end_counts_by_its_last_byte(
    ended: datetime,
    week: str,
    why: str,
    upload: Callable[[], HTTPConnection],
    clock: Callable[[datetime], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock moves once the server has begun to read: one that takes the time too early would take another."""
    real, reading = MultiPartParser.parse, Event()
    monkeypatch.setattr(MultiPartParser, "parse", lambda parser: (reading.set(), real(parser))[1])
    connection = upload()
    connection.send(BODY[:-1])
    assert reading.wait(30)
    clock(ended)
    connection.send(BODY[-1:])
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    connection.close()
    attack = Attack.objects.get()
    assert (attack.received_at, attack.week) == (ended, week), why
    assert QuotaDay.objects.get().day == ended.date()


def test_an_upload_that_is_given_up_leaves_nothing(upload: Callable[[], HTTPConnection]) -> None:
    given_up, again = upload(), upload()
    given_up.send(BODY[:-50])
    given_up.close()
    again.send(BODY)
    assert again.getresponse().status == 201
    again.close()
    assert Attack.objects.count() == 1
