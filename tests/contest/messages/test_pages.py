"""The pages of messages: one's own alone, read and unread, how one is written to; and the organizers' letters."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from common.mail import send
from contest import posting
from contest.enums import MessageKind, MessageRate
from contest.messages.outbox import NOBODY
from contest.models import Announcement, Digest, Message, MessagePreference, Release, ReleaseLetter, Subscriber, Team
from tests import factories
from tests.contest.messages.cast import NOW, news, organizer, person, reviewer, sent, team, told

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
SMTP = "django.core.mail.backends.smtp.EmailBackend"
SignedIn = Callable[[Any], Client]


@pytest.fixture(autouse=True)
def in_force(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    factories.policy_version()
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


@pytest.fixture
def red() -> Team:
    return team("red", "carl", "rosa")


@pytest.fixture
def carl(red: Team) -> User:
    return User.objects.get(username="carl")


def page(client: Client, address: str = "/messages/", status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer.content.decode()
    return answer.content.decode()


def main(text: str) -> str:
    return text.partition("<main")[2].partition("</main>")[0]


# The list ------------------------------------------------------------------------------------------------------------


def test_messages_are_listed_newest_first_with_the_unread_ones_marked(carl: User, signed_in: SignedIn) -> None:
    told(carl, case="C-1", now=NOW - DAY)
    told(carl, case="C-2")
    Message.objects.filter(facts__case="C-1").update(read_at=NOW)
    text = main(page(signed_in(carl)))
    assert text.index("Case C-2 was opened") < text.index("Case C-1 was opened")
    assert text.count('class="mark">new') == 1 == text.count('<li class="unread">')


def test_everybody_has_their_own_alone(carl: User, signed_in: SignedIn, stan: User, tara: Any) -> None:
    told(carl)
    number = Message.objects.get().pk
    others = [User.objects.get(username="rosa"), organizer(), reviewer(), stan]
    for each in others:
        client = signed_in(each)
        assert "C-1" not in page(client)
        assert client.get(f"/messages/{number}/").status_code == 404
        assert client.post(f"/messages/{number}/").status_code == 404
        client.post("/messages/")
    assert Client().get(f"/messages/{number}/").status_code == 302
    for address in ("/messages/", "/messages/settings/", f"/messages/{number}/"):
        refused = signed_in(tara).get(address)
        assert refused.status_code == 403 and b"not_for_taskers" in refused.content
    assert Message.objects.get().read_at is None, "nobody else reads it for them"


def test_who_opens_a_message_has_read_it_and_may_take_that_back(carl: User, signed_in: SignedIn) -> None:
    told(carl, about="/board/cases/C-1/")
    found, client = Message.objects.get(), signed_in(carl)
    assert client.head(f"/messages/{found.pk}/").status_code == 200
    found.refresh_from_db()
    assert found.read_at is None, "a program that looks whether it is there has read nothing"
    text = page(client, f"/messages/{found.pk}/")
    assert "an appeal" in text and 'href="/board/cases/C-1/"' in text
    found.refresh_from_db()
    assert found.read_at == NOW
    assert client.post(f"/messages/{found.pk}/").status_code == 303
    found.refresh_from_db()
    assert found.read_at is None


def test_the_list_is_filtered_and_all_of_it_marked_as_read(carl: User, signed_in: SignedIn) -> None:
    told(carl)
    news([carl])
    client = signed_in(carl)
    assert "C-1" not in main(page(client, "/messages/?kind=team")) and "red" in main(
        page(client, "/messages/?kind=team")
    )
    assert client.post("/messages/?kind=team").status_code == 303
    assert Message.objects.filter(read_at=None).count() == 1
    unread = main(page(client, "/messages/?show=unread"))
    assert "C-1" in unread and "not in team red" not in unread
    client.post("/messages/")
    assert "Nothing here that you have not read" in page(client, "/messages/?show=unread")
    assert "Nothing here" in page(client, "/messages/?kind=money")
    assert "C-1" in page(client, "/messages/?kind=nonsense&page=nonsense")


def test_many_messages_have_pages(carl: User, signed_in: SignedIn) -> None:
    for number in range(35):
        told(carl, case=f"C-{number:02}", now=NOW + timedelta(seconds=number))
    client = signed_in(carl)
    first, second = main(page(client)), main(page(client, "/messages/?show=unread&page=2"))
    assert "C-34" in first and "C-05" in first and "C-04" not in first
    assert "C-04" in second and "C-05" not in second
    assert 'href="?show=unread&amp;page=1"' in second


def test_without_any_the_page_says_what_comes(carl: User, signed_in: SignedIn) -> None:
    assert "No message yet." in page(signed_in(carl))


def test_one_that_cannot_be_made_is_listed_by_its_kind(carl: User, signed_in: SignedIn) -> None:
    told(carl)
    Message.objects.update(kind=MessageKind.POSTED.value, facts={"lines": 7})
    assert "An entry was posted" in page(signed_in(carl))
    assert "An entry was posted" in page(signed_in(carl), f"/messages/{Message.objects.get().pk}/")


# The header ----------------------------------------------------------------------------------------------------------


def test_the_header_counts_what_is_unread(carl: User, signed_in: SignedIn) -> None:
    client = signed_in(carl)
    assert "unread-count" not in page(client)
    told(carl)
    told(carl)
    assert 'class="unread-count">2<' in page(client)
    Message.objects.bulk_create(
        Message(user=carl, kind=MessageKind.CASE_OPENED, facts={}, made_at=NOW) for _ in range(98)
    )
    assert 'class="unread-count">99+<' in page(client)


def test_the_count_is_one_statement_and_none_for_taskers(
    carl: User, signed_in: SignedIn, tara: Any, client: Client
) -> None:
    factories.panel()
    told(carl)
    assert _asked(signed_in(carl), "/account/") == 1
    assert _asked(signed_in(tara), "/label/") == 0 == _asked(signed_in(tara), "/account/")
    assert _asked(client, "/front/") == 0


def _asked(client: Client, address: str) -> int:
    """How many statements of a page ask for messages."""
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert client.get(address).status_code == 200
    return sum("contest_message" in each["sql"] for each in asked)


# How one is written to -----------------------------------------------------------------------------------------------


def test_a_wish_is_kept_and_shown(carl: User, signed_in: SignedIn) -> None:
    client = signed_in(carl)
    chosen = {"attacks": "app", "defenses": "digest", "team": "at_once", "money": "digest", "cases": "at_once"}
    assert client.post("/messages/settings/", chosen).status_code == 303
    assert dict(MessagePreference.objects.values_list("group", "rate")) == chosen
    text = page(client, "/messages/settings/")
    for group, rate in chosen.items():
        assert f'name="{group}" value="{rate}" required checked' in text
    assert "always reach you by e-mail" in text
    assert 'name="money" value="app"' not in text and 'name="cases" value="app"' not in text
    assert 'name="organizing"' not in text


@pytest.mark.parametrize("wrong", [{"money": "app"}, {"money": ""}, {"money": "x" * 500}])
def test_a_wish_that_cannot_be_kept_is_told(wrong: dict[str, str], carl: User, signed_in: SignedIn) -> None:
    chosen = {"attacks": "app", "defenses": "app", "team": "app", "money": "digest", "cases": "digest"} | wrong
    answer = signed_in(carl).post("/messages/settings/", chosen)
    assert answer.status_code == 400 and "Nothing was kept." in answer.content.decode()
    assert not MessagePreference.objects.exists()


def test_without_an_address_the_page_says_that_nothing_leaves(signed_in: SignedIn) -> None:
    assert "has no confirmed e-mail address" in page(signed_in(factories.user("ann", "teams")), "/messages/settings/")


# The organizers' list of letters -------------------------------------------------------------------------------------


@pytest.fixture
def olga(db: None) -> User:
    return organizer()


def failed(**values: Any) -> Message:
    Message.objects.update(**({"tries": 2, "error": "OSError: away", "not_before": NOW} | values))
    return Message.objects.get()


def test_in_production_organizers_see_what_did_not_leave_and_not_what_it_says(
    carl: User, olga: User, signed_in: SignedIn, settings: Any
) -> None:
    settings.EMAIL_BACKEND = SMTP
    told(carl)
    client = signed_in(olga)
    assert "Every letter left." in page(client, "/messages/outbox/"), "one that only waits is not listed"
    row = failed()
    text = main(page(client, "/messages/outbox/"))
    for words in ("carl@example.org", "failed 2 of 5 times", "OSError: away", "Try again"):
        assert words in text
    assert "C-1" not in text
    for address in (f"/messages/outbox/message-{row.pk}/", f"/messages/outbox/message-{row.pk}/html/"):
        assert client.get(address).status_code == 404


STATES: list[tuple[dict[str, Any], str, bool, str]] = [
    ({}, "waits to be sent", False, "new"),
    ({"rate": "app"}, "shown in the application only", False, "not wanted by e-mail"),
    ({"rate": "digest"}, "waits for the letter of the day", False, "for the letter of the day"),
    ({"taken_at": NOW, "sent_at": NOW}, "sent", False, "sent"),
    ({"taken_at": NOW}, "under way", False, "in a sweep's hands"),
    ({"taken_at": NOW - DAY}, "lost under way: it may have arrived", True, "in the hands of a sweep that died"),
    ({"taken_at": NOW - DAY, "error": NOBODY}, "not sent", False, "for nobody"),
    ({"tries": 1, "error": "away"}, "failed 1 of 5 times", True, "due again"),
    ({"tries": posting.MOST_TRIES, "error": "away"}, "given up", True, "given up"),
]


@pytest.mark.parametrize(("values", "words", "again", "why"), STATES, ids=[row[3] for row in STATES])
def test_each_state_is_told_and_what_can_be_tried_again_is(
    values: dict[str, Any], words: str, again: bool, why: str, carl: User, olga: User, signed_in: SignedIn
) -> None:
    told(carl)
    Message.objects.update(**values)
    client, name = signed_in(olga), f"message-{Message.objects.get().pk}"
    text = main(page(client, "/messages/outbox/"))
    assert words in text and ("Try again" in text) is again, why
    assert client.post("/messages/outbox/", {"letter": name}).status_code == 303
    row = Message.objects.get()
    assert (row.taken_at is None and row.tries == 0) is (again or "taken_at" not in values)
    if again:
        assert len(sent()) == 1


def test_everything_that_failed_is_tried_again_at_once(carl: User, olga: User, signed_in: SignedIn) -> None:
    told(User.objects.filter(membership__isnull=False))
    Message.objects.update(tries=posting.MOST_TRIES, error="away")
    digest = Digest.objects.create(user=carl, day=NOW.date(), made_at=NOW, tries=posting.MOST_TRIES, error="away")
    Message.objects.filter(user=carl).update(rate=MessageRate.DIGEST.value, digest=digest, tries=0)
    answer = signed_in(olga).post("/messages/outbox/", follow=True)
    assert "2 letters are tried again" in answer.content.decode()
    assert {each.subject for each in sent()} == {"1 message of your day", "Case C-1 was opened"}


def test_where_no_mail_leaves_organizers_read_every_letter(carl: User, olga: User, signed_in: SignedIn) -> None:
    told(carl)
    client, number = signed_in(olga), Message.objects.get().pk
    assert "C-1" not in main(page(client, "/messages/outbox/"))
    shown = client.get(f"/messages/outbox/message-{number}/")
    text = shown.content.decode()
    for words in ("Case C-1 was opened", "carl@example.org", "How often you are written to:", "&lt;!doctype html&gt;"):
        assert words in text
    assert f'src="/messages/outbox/message-{number}/html/"' in text and 'sandbox="allow-popups"' in text
    assert "frame-src 'self'" in shown["Content-Security-Policy"]
    framed = client.get(f"/messages/outbox/message-{number}/html/")
    policy = framed["Content-Security-Policy"]
    for words in ("default-src 'none'", "style-src 'unsafe-inline'", "frame-ancestors 'self'", "sandbox"):
        assert words in policy
    assert "script" not in policy and framed["X-Frame-Options"] == "SAMEORIGIN"
    assert framed.content.decode().startswith("<!doctype html>")


def test_letters_of_the_day_and_announcements_are_listed_too(carl: User, olga: User, signed_in: SignedIn) -> None:
    told(carl)
    digest = Digest.objects.create(user=carl, day=NOW.date(), made_at=NOW)
    Message.objects.update(rate=MessageRate.DIGEST.value, digest=digest)
    release = Release.objects.create(week="2026-W46", manifest_sha256="a", counts={}, bytes=1, released_at=NOW)
    letter = ReleaseLetter.objects.create(
        announcement=Announcement.objects.create(release=release, announced_at=NOW),
        subscriber=Subscriber.objects.create(email="ann@example.org", confirmed_at=NOW),
    )
    client = signed_in(olga)
    text = main(page(client, "/messages/outbox/"))
    for words in ("The letter of a day", "Announcement of release-2026-W46", "ann@example.org", "in the letter of"):
        assert words in text
    assert "1 message of your day" in page(client, f"/messages/outbox/digest-{digest.pk}/")
    assert "release-2026-W46" in page(client, f"/messages/outbox/release-{letter.pk}/")
    assert client.get(f"/messages/outbox/release-{letter.pk}/html/").status_code == 404


@pytest.mark.parametrize(
    "name", ["message-0", "message-", "message-x", "digest-9", "user-1", "message-" + "9" * 30, "²"]
)
def test_a_letter_that_is_not_there(name: str, olga: User, signed_in: SignedIn) -> None:
    client = signed_in(olga)
    assert client.get(f"/messages/outbox/{name}/").status_code == 404
    assert client.post("/messages/outbox/", {"letter": name}).status_code == 404


def test_nobody_else_sees_letters(
    carl: User, olga: User, rita: User, stan: User, tara: Any, signed_in: SignedIn
) -> None:
    told(carl)
    row = failed()
    here = f"/messages/outbox/message-{row.pk}/"
    for address in ("/messages/outbox/", here, f"{here}html/"):
        assert Client().get(address).status_code == 302
        assert signed_in(stan).get(address).status_code == 404
        for each in (carl, rita, tara):
            assert signed_in(each).get(address).status_code == 403
    for each in (carl, rita, stan, tara):
        signed_in(each).post("/messages/outbox/", {"letter": f"message-{row.pk}"})
    row.refresh_from_db()
    assert row.tries == 2


def test_the_demo_s_other_letters_are_shown_and_no_other_folder_s(
    carl: User, olga: User, signed_in: SignedIn, settings: Any, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path)
    send(EmailMessage("You are invited", "Open the link: grüße\n", to=["nell@example.org"]))
    told(carl)
    mail.outbox = []
    posting.post_due(Message.objects.all(), _letter, clock=lambda: NOW)
    client = signed_in(olga)
    assert "You are invited" not in page(client, "/messages/outbox/")
    settings.DEMO = True
    text = main(page(client, "/messages/outbox/"))
    assert "You are invited" in text and "grüße" in text and "nell@example.org" in text
    assert text.partition("Other letters")[2].count("<details>") == 1, "what is listed above is not shown twice"


def _letter(row: Message) -> EmailMessage:
    headers = {"Message-ID": f"<message-{row.pk}@127.0.0.1>"}
    return EmailMessage("Case C-1", "x", to=[person("gus").email], headers=headers)
