"""The clock of an upload is its last byte (R23): through a real server, with a client that takes its time."""

import http.client
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlparse

import pytest

from common.authentication import issue_token
from contest.models import Attack, QuotaDay
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, picture

pytestmark = pytest.mark.django_db(transaction=True)
SECOND = timedelta(seconds=1)
EDGE = "x-edge-x"


class Moment:
    """The server's clock, in this process."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Moment:
    moment = Moment(BOUNDARY - 10 * SECOND)
    monkeypatch.setattr("django.utils.timezone.now", moment)
    return moment


@pytest.fixture
def upload(live_server: Any, clock: Moment) -> Callable[[bytes], http.client.HTTPConnection]:
    """Return a function that begins an upload by team red and sends its head."""
    cast.policy()
    red = cast.team("red")
    token = issue_token(cast.captain(red), now=clock.now)

    def begin(body: bytes) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(urlparse(live_server.url).netloc, timeout=30)
        connection.putrequest("POST", "/api/v1/attacks/")
        connection.putheader("Authorization", f"Token {token}")
        connection.putheader("Content-Type", f"multipart/form-data; boundary={EDGE}")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        return connection

    return begin


def body() -> bytes:
    head = f'--{EDGE}\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
    return head.encode() + picture() + f"\r\n--{EDGE}--\r\n".encode()


# How many bytes come late, and what the clock says before and after.
STRADDLES = [
    (1, BOUNDARY - 10 * SECOND, BOUNDARY, "2026-W48", "all but the last byte before the end"),
    (1, BOUNDARY - 10 * SECOND, BOUNDARY - timedelta(milliseconds=1), "2026-W47", "the last byte at 23:59:59.999"),
]


@pytest.mark.parametrize(("rest", "begun", "ended", "week", "why"), STRADDLES, ids=[row[4] for row in STRADDLES])
def test_an_upload_that_straddles_the_end_counts_by_its_last_byte(
    rest: int,
    begun: datetime,
    ended: datetime,
    week: str,
    why: str,
    upload: Callable[[bytes], http.client.HTTPConnection],
    clock: Moment,
) -> None:
    data = body()
    clock.now = begun
    connection = upload(data)
    connection.send(data[:-rest])
    # Long enough that the server has begun to read: one that takes the time too early would take this one.
    time.sleep(0.3)
    clock.now = ended
    connection.send(data[-rest:])
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    connection.close()
    attack = Attack.objects.get()
    assert (attack.received_at, attack.week) == (ended, week), why
    assert QuotaDay.objects.get().day == ended.date()


def test_an_upload_that_is_given_up_leaves_nothing(
    upload: Callable[[bytes], http.client.HTTPConnection], clock: Moment
) -> None:
    data = body()
    connection = upload(data)
    connection.send(data[:-50])
    connection.close()
    again = upload(data)
    again.send(data)
    assert again.getresponse().status == 201
    again.close()
    assert Attack.objects.count() == 1
