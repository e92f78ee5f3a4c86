"""Letters about releases: asked for, confirmed, sent once whatever happens, ended with one click (R39)."""

import re
from datetime import timedelta
from email import message_from_bytes
from smtplib import SMTPException
from typing import Any

import pytest
from django.core import mail as outbox
from django.core.mail.backends.locmem import EmailBackend
from django.test import Client

from common.mail import wait_until_sent
from contest import posting
from contest.models import Announcement, Release, ReleaseLetter, Subscriber
from contest.record import announcements
from tests.contest.pages import lacking, plain
from tests.contest.record import cast

pytestmark = pytest.mark.django_db
ASK = "/releases/mail/"


@pytest.fixture
def ann() -> Subscriber:
    return Subscriber.objects.create(email="ann@example.org", confirmed_at=cast.NOW - timedelta(days=30))


@pytest.fixture
def release() -> Release:
    told = {"week": "2026-W47", "manifest_sha256": "a1" * 32, "counts": {}, "bytes": 1}
    return Release.objects.create(released_at=cast.NOW - timedelta(hours=1), **told)


@pytest.mark.django_db(transaction=True)
def test_the_story_of_an_address() -> None:
    stranger = Client()
    assert stranger.get(ASK).status_code == 200
    assert "Look into your mail" in plain(stranger.post(ASK, {"email": "Ann@Example.org"}))
    wait_until_sent()
    (letter,) = outbox.outbox
    assert (letter.to, Subscriber.objects.count()) == (["ann@example.org"], 0)
    link = re.search(r"http://\S+(/releases/mail/confirm/\S+)", letter.body)[1]  # type: ignore[index]
    assert "Confirm your address" in plain(stranger.get(link))
    assert not Subscriber.objects.exists(), "opening a link is what mail programs do by themselves"
    for _ in range(2):  # twice is the same
        assert "Confirmed" in plain(stranger.post(link))
    end = f"/releases/mail/end/{Subscriber.objects.get().key}/"
    assert "End the letters" in plain(stranger.get(end)) and Subscriber.objects.exists()
    one_click = Client(enforce_csrf_checks=True).post(end, {"List-Unsubscribe": "One-Click"})
    assert (one_click.status_code, Subscriber.objects.count()) == (200, 0)
    assert "It is forgotten" in plain(stranger.get(end))


def test_who_has_it_already_gets_no_second_letter(ann: Subscriber) -> None:
    page = plain(Client().post(ASK, {"email": ann.email}))
    wait_until_sent()
    assert "Look into your mail" in page and outbox.outbox == [], "the page tells nobody whether it is known"


def test_what_is_no_address_and_a_link_of_nobody_s_are_refused() -> None:
    for email in ("", "ann", "ann@", "ann@example.org\nBcc: all@example.org", "\x00"):
        answer = Client().post(ASK, {"email": email})
        assert answer.status_code == 400 and "Write an e-mail address" in plain(answer)
    for token in ("forged", "a:b:c"):
        assert Client().post(f"/releases/mail/confirm/{token}/").status_code == 404
    assert not Subscriber.objects.exists()


def test_asking_on_and_on_is_closed() -> None:
    asked = [*["ann@example.org"] * 7, "bob@example.org"]
    assert [Client().post(ASK, {"email": each}).status_code for each in asked] == [200] * 5 + [429] * 2 + [200]


def test_each_subscriber_is_told_once(ann: Subscriber, release: Release) -> None:
    assert [announcements.letters_send(clock=lambda: cast.NOW) for _ in range(2)] == [1, 0]
    (letter,) = outbox.outbox
    leave = f"/releases/mail/end/{ann.key}/"
    assert letter.subject == "release-2026-W47 is published"
    assert not lacking(letter.body, f"/releases/{release.name}/", release.manifest_sha256, leave)
    sent = message_from_bytes(letter.message().as_bytes())
    assert sent["List-Unsubscribe"].replace("\n", "").strip().endswith(f"{leave}>")
    assert sent["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_who_came_later_hears_of_the_next_one(release: Release) -> None:
    Subscriber.objects.create(email="late@example.org", confirmed_at=cast.NOW)
    assert announcements.letters_send(clock=lambda: cast.NOW) == 0
    assert Announcement.objects.get().release == release


def test_a_letter_the_server_refuses_is_due_again(
    ann: Subscriber, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> int:
        raise SMTPException("try later")

    with monkeypatch.context() as broken:
        broken.setattr(EmailBackend, "send_messages", refuse)
        assert announcements.letters_send(clock=lambda: cast.NOW) == 0
    assert announcements.letters_send(clock=lambda: cast.NOW) == 0, "not at once"
    assert announcements.letters_send(clock=lambda: cast.NOW + posting.AGAIN_AFTER) == 1
    assert ReleaseLetter.objects.get().tries == 2


def test_a_letter_to_who_left_meanwhile_is_not_sent(ann: Subscriber, release: Release) -> None:
    announcements._announce(release, cast.NOW)
    announcements.subscription_end(key=ann.key)
    assert announcements.letters_send(clock=lambda: cast.NOW) == 0
