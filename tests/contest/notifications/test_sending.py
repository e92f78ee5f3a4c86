"""Messages by e-mail: to whom, as each wants it, each once, also from two sweeps and from one that is killed. Their
pages: one's own alone, read and unread, how one is written to; and the organizers' letters."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from time import sleep
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.roles import ORGANIZERS, REVIEW_BOARD
from common.errors import InvalidInput
from common.mail import send_letter
from contest.core.enums import MessageGroup, MessageKind, MessageRate
from contest.core.models import Member, Release, Team
from contest.core.roles import Roles, roles_of
from contest.operations.made_letters import read_letter
from contest.outbox import posting
from contest.outbox.letters import mail_of
from contest.outbox.models import Digest, Message, MessagePreference
from contest.outbox.posting import NOBODY
from contest.outbox.preferences import groups_for, letter_preferences, preferences_set
from contest.outbox.sending import digests_make, messages_send
from contest.outbox.writing import notify, retract
from contest.releases.models import Announcement, ReleaseLetter, Subscriber
from tests import factories
from tests.at_once import at_once
from tests.contest.attacks.cast import policy
from tests.contest.notifications.cast import CASE, NOW, news, organizer, person, readers, reviewer, sent, team, told
from tests.contest.pages import ORGANIZERS_ALONE, codes, lacking, main, outsiders

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
# The mornings after NOW, a Wednesday noon: the letter of the day is made at seven.
MORNING = datetime(2026, 11, 19, 7, tzinfo=UTC)


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


def wish(user: User, **groups: str) -> None:
    preferences_set(user, {MessageGroup(name): rate for name, rate in groups.items()})


def letters(now: datetime = NOW) -> list[tuple[str, str]]:
    return sorted((each.to[0].partition("@")[0], each.subject) for each in sent(now))


def names(now: datetime = NOW) -> list[str]:
    return [name for name, _ in letters(now)]


@pytest.mark.parametrize(
    ("to", "expected", "why"),
    [
        (lambda cast: cast["carl"], ["carl"], "a person"),
        (lambda cast: [cast["carl"], cast["rita"]], ["carl", "rita"], "people"),
        (lambda cast: User.objects.filter(username="rita"), ["rita"], "people by a query"),
        (lambda cast: cast["red"], ["carl", "rosa"], "the members of a team"),
        (lambda cast: cast["old"], ["carl", "rosa"], "of a team that is part of another one"),
        (lambda cast: ORGANIZERS, ["olga"], "organizers"),
        (lambda cast: REVIEW_BOARD, ["rita"], "the board"),
        (lambda cast: [cast["tara"], cast["carl"]], ["carl"], "never a tasker (R8)"),
        (lambda cast: [cast["gus"]], [], "nobody whose account is closed"),
        (lambda cast: [], [], "nobody"),
    ],
)
def test_who_is_told(to: Callable[[dict[str, Any]], Any], expected: list[str], why: str, red: Team, carl: User) -> None:
    old = Team.objects.create(name="old", created_at=NOW, merged_into=red, merged_at=NOW)
    cast = {"red": red, "old": old, "carl": carl, "rita": reviewer(), "gus": person("gus")}
    cast["tara"] = factories.tasker("tara").user
    organizer()
    team("blue", "bea")
    User.objects.filter(username="tara").update(email="tara@example.org")
    User.objects.filter(username="gus").update(is_active=False)
    assert (told(to(cast)), readers(MessageKind.CASE_OPENED)) == (len(expected), expected), why
    assert (names(), names()) == (expected, [])


def test_what_is_rolled_back_tells_nobody(red: Team) -> None:
    with pytest.raises(SystemExit), transaction.atomic():
        assert told(red) == 2
        raise SystemExit("killed")
    assert not Message.objects.exists()


def test_with_a_key_nobody_is_told_twice_and_who_came_later_is(red: Team) -> None:
    assert [told(red, key="C-1") for _ in range(2)] == [2, 0]
    Member.objects.create(team=red, user=person("late"))
    assert [told(red, key=key) for key in ("C-1", "C-2")] == [1, 3]
    assert told(red, MessageKind.CASE_DUE, key="C-1") == 3, "another kind is another message"
    assert [told(red) for _ in range(2)] == [3, 3], "without a key each call tells"


def test_who_stepped_aside_later_has_never_heard_of_it() -> None:
    rita, rolf = reviewer(), reviewer("rolf")
    told([rita, rolf], about="/board/cases/C-1/")
    told([rita, rolf], about="/board/cases/C-2/")
    assert retract("/board/cases/C-1/", users=[rita]) == 1
    assert list(rita.messages.values_list("about", flat=True)) == ["/board/cases/C-2/"]  # type: ignore[attr-defined]
    assert names() == ["rita", "rolf", "rolf"]


def test_a_letter_has_two_parts_and_one_name(carl: User) -> None:
    told(carl)
    (letter,), again = sent(), Message.objects.get()
    message = letter.message()
    assert [part.get_content_type() for part in message.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert message["Message-ID"] == f"<message-{again.pk}@localhost>"
    assert (again.sent_at, again.error, again.tries) == (NOW, "", 1)


def test_how_each_group_goes(red: Team, carl: User) -> None:
    wish(carl, team="app", cases="digest")
    news(User.objects.filter(membership__team=red))
    told(red)
    told(red, MessageKind.CASE_DUE)
    assert letters() == [
        ("carl", "Case C-1 is due Friday"),
        ("rosa", "Case C-1 is due Friday"),
        ("rosa", "Case C-1 was opened"),
        ("rosa", "Somebody is not in team red any more"),
    ], "what ends within a day goes at once, whatever was chosen"
    assert carl.messages.count() == 3, "all of it is shown in the application"  # type: ignore[attr-defined]


REFUSED = [
    ("cases", "app", "decisions about a case"),
    ("money", "app", "decisions about money"),
    ("team", "never", "no such way"),
    ("team", "", "nothing chosen"),
]


def test_what_cannot_be_chosen_is_refused_and_nothing_kept(carl: User) -> None:
    for group, rate, why in REFUSED:
        with pytest.raises(InvalidInput) as refused:
            wish(carl, attacks="digest", **{group: rate})
        assert refused.value.field == group
        assert {each.rate for each in letter_preferences(carl, roles_of(carl))} == {MessageRate.AT_ONCE}, why


def test_what_waits_follows_a_new_wish(carl: User) -> None:
    wish(carl, cases="digest", team="app")
    told(carl)
    news([carl])
    wish(carl, cases="at_once", team="at_once")
    assert letters() == [("carl", "Case C-1 was opened")], "what was only to be shown here does not come after"
    told(carl, now=NOW)
    wish(carl, cases="digest")
    assert (sent(), len(sent(MORNING))) == ([], 1)


def test_each_role_chooses_for_what_it_is_told() -> None:
    team = {"attacks", "defenses", "team", "money", "cases"}
    roles = (Roles(organizer=True), Roles(board=True), Roles(team=Team(name="red")), Roles())
    told = [set(groups_for(each)) for each in roles]
    assert told == [{"cases", "organizing"}, {"cases"}, team, team], "a team's also for who has no role yet"


@pytest.fixture
def daily(carl: User) -> User:
    """Carl, who wants one letter a day."""
    wish(carl, cases="digest", team="digest")
    return carl


def test_a_day_is_one_letter_with_each_message_once(daily: User) -> None:
    told(daily)
    news([daily], now=NOW + timedelta(hours=1))
    assert sent(NOW + timedelta(hours=2)) == [] == sent(MORNING - timedelta(seconds=1))
    (letter,) = sent(MORNING)
    assert (letter.to, letter.subject) == (["carl@example.org"], "2 messages of your day")
    text = str(letter.body)
    assert text.count("Case C-1 was opened") == 1 == text.count("gus left team red.")
    links = (f"http://localhost:8000/messages/{each.pk}/" for each in Message.objects.all())
    assert lacking(text, *links, "Hello,") == ["Hello,"]
    assert sent(MORNING) == [] == sent(MORNING + timedelta(hours=5))
    told(daily, now=MORNING + timedelta(hours=6))
    assert sent(MORNING + timedelta(hours=7)) == [], "what is told after the morning waits for the next"
    missed = MORNING + DAY + timedelta(hours=10)
    assert letters(missed) == [("carl", "1 message of your day")], "a morning missed is made up for"


def test_the_morning_is_the_contest_s_own(daily: User) -> None:
    policy(time_zone="America/New_York")
    told(daily)
    noon = datetime(2026, 11, 19, 12, tzinfo=UTC)
    assert (names(noon - timedelta(minutes=1)), names(noon)) == ([], ["carl"])


def test_a_day_whose_letter_the_server_refuses_is_tried_again(daily: User, monkeypatch: pytest.MonkeyPatch) -> None:
    told(daily)
    with monkeypatch.context() as refusing:
        refusing.setattr("contest.outbox.posting.send_letter", Mock(side_effect=OSError("away")))
        assert sent(MORNING) == []
    assert Digest.objects.values_list("taken_at", "tries", "error").get() == (None, 1, "OSError: away")
    assert (sent(MORNING), len(sent(MORNING + posting.AGAIN_AFTER))) == ([], 1)


@pytest.mark.parametrize(
    ("where", "left", "why"),
    [
        ("contest.outbox.sending.post_due", 1, "before the letter, which the next sweep sends"),
        ("contest.outbox.posting.send_letter", 0, "with the letter in hand, which is not repeated"),
    ],
)
def test_a_sweep_that_is_killed_repeats_nothing(
    where: str, left: int, why: str, daily: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(daily)
    with monkeypatch.context() as dying, pytest.raises(SystemExit):
        dying.setattr(where, Mock(side_effect=SystemExit("killed")))
        messages_send(clock=lambda: MORNING)
    taken = None if left else MORNING
    assert Digest.objects.values_list("taken_at", "sent_at").get() == (taken, None), "organizers see what may be lost"
    assert [len(sent(MORNING)), len(sent(MORNING + DAY))] == [left, 0], why


def test_a_message_that_cannot_be_made_is_in_the_letter_by_its_kind(
    daily: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(daily)
    Message.objects.update(kind=MessageKind.ATTACK_RECEIVED.value, facts={})
    monkeypatch.setattr("contest.outbox.letters.write_message", Mock(side_effect=KeyError("amount")))
    assert ["Receipts" in str(letter.body) for letter in sent(MORNING)] == [True]


def test_who_left_the_team_meanwhile_gets_no_letter_of_the_day(daily: User, red: Team) -> None:
    told(red)
    Member.objects.filter(user=daily).delete()
    assert (names(MORNING), names(MORNING + DAY)) == (["rosa"], [])


class MailServer(StreamRequestHandler):
    """A session with a mail server that fails at one step: the answer to a command, or to the text ("text")."""

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            name = line[:4].decode().strip().upper()
            if not self.answer(name, b"354 go on" if name == "DATA" else b"250 good"):
                return
            if name == "DATA" and self.server.fails != ("DATA", "refuses"):  # type: ignore[attr-defined]
                text = list(takewhile(lambda line: line not in (b"", b".\r\n"), self.rfile))
                self.server.texts += [text] if text else []  # type: ignore[attr-defined]
                if not self.answer("text", b"250 taken"):
                    return

    def answer(self, step: str, words: bytes) -> bool:
        """Answer, or fail; say whether the session goes on."""
        fails, how = self.server.fails  # type: ignore[attr-defined]
        if step == fails and how == "hangs up":
            return False
        if step == fails and how.startswith("waits"):
            sleep(float(how.split()[1]))
        with suppress(OSError):  # who waited for it may have left
            self.wfile.write((b"451 no" if (step, how) == (fails, "refuses") else words) + b"\r\n")
        return True


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with ThreadingTCPServer(("127.0.0.1", 0), MailServer) as server:
        Thread(target=server.serve_forever, args=(0.05,)).start()
        settings.EMAIL_BACKEND = "common.mail.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address
        settings.EMAIL_TIMEOUT = 0.3
        monkeypatch.setattr("common.mail.MAX_ANSWER_SECONDS", 0.9)
        server.texts = []  # type: ignore[attr-defined]
        yield server
        server.shutdown()


SENT, DUE_AGAIN, LOST = "sent", "failed 1 of 5 times", "lost under way: it may have arrived"


@pytest.mark.parametrize(
    ("fails", "how", "state", "texts", "why"),
    [
        ("", "", SENT, 1, "a good server"),
        ("text", "waits 0.6", SENT, 1, "a content filter takes its time"),
        ("text", "waits 1.5", LOST, 1, "the answer comes too late"),
        ("text", "hangs up", LOST, 1, "no answer comes"),
        ("text", "refuses", DUE_AGAIN, 1, "the server read it, and does not want it"),
        ("QUIT", "hangs up", SENT, 1, "the farewell says nothing about the letter"),
        ("DATA", "hangs up", DUE_AGAIN, 0, "the text was not sent yet"),
        ("DATA", "waits 0.6", DUE_AGAIN, 0, "the text was not sent in time"),
        ("DATA", "refuses", DUE_AGAIN, 0, "no text is wanted"),
        ("RCPT", "refuses", DUE_AGAIN, 0, "no such reader"),
        ("RCPT", "waits 0.6", DUE_AGAIN, 0, "nobody looks the reader up in time"),
        ("MAIL", "hangs up", DUE_AGAIN, 0, "no such sender"),
    ],
)
def test_a_letter_that_the_server_may_have_taken_is_not_repeated(
    fails: str, how: str, state: str, texts: int, why: str, carl: User, server: Any, olga: Client
) -> None:
    """R18"""
    told(carl)
    server.fails = (fails, how)
    assert messages_send(clock=lambda: NOW) == (state == SENT), why
    later = NOW + posting.AGAIN_AFTER
    looked_at = read_letter([{"name": "message", "number": Message.objects.get().pk, "made": NOW}], now=later)
    assert (looked_at[0].state, bool(looked_at[0].why)) == (state, state != SENT), why
    server.fails = ("", "")
    assert messages_send(clock=lambda: later) == (state == DUE_AGAIN), why
    assert len(server.texts) == texts + (state == DUE_AGAIN), why


def test_a_lost_letter_is_listed_and_goes_out_again_when_an_organizer_says_so(
    letter: str, server: Any, olga: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.fails = ("text", "hangs up")
    messages_send(clock=lambda: NOW)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW + DAY)
    assert not lacking(main(olga, OUTBOX), LOST, "no answer to the text", "Try again")
    server.fails = ("", "")
    olga.post(OUTBOX, {"letter": letter.removeprefix(OUTBOX).strip("/")})
    assert (messages_send(clock=lambda: NOW + DAY), Message.objects.get().error, len(server.texts)) == (1, "", 2)


def test_a_slow_server_holds_up_a_sweep_for_a_while_only(carl: User, red: Team) -> None:
    told(red)
    moments = iter([NOW, NOW, NOW, NOW + posting.MAX_SWEEP])
    assert posting.post_due(Message.objects.all(), mail_of, clock=lambda: next(moments)) == 1
    assert len(sent(NOW)) == 1, "the other letter waits for the next sweep"


@pytest.mark.postgres("threads that write at the same time: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_many_sweeps_at_once_each_letter_leaves_once() -> None:
    red = team("red", "carl", "rosa")
    for user in User.objects.all():
        wish(user, team="digest")
    for day in range(5):
        mail.outbox.clear()
        now = NOW + day * DAY
        for _ in range(3):
            told(red, now=now)
            news(User.objects.filter(membership__team=red), now=now)
        morning = MORNING + day * DAY
        at_once(*(partial(messages_send, clock=lambda morning=morning: morning) for _ in range(4)))
        subjects = sorted(each.subject for each in mail.outbox)
        assert subjects == ["3 messages of your day"] * 2 + ["Case C-1 was opened"] * 6
    assert Digest.objects.count() == 10
    assert not Message.objects.filter(rate=MessageRate.DIGEST, digest=None).exists()


@pytest.mark.postgres("threads that write at the same time: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_many_who_tell_the_same_at_once_one_does() -> None:
    red = team("red", "carl", "rosa")
    for number in range(5):
        act = partial(notify, red, MessageKind.CASE_OPENED, about="/", now=NOW, key=f"C-{number}", **CASE)
        at_once(act, act, act)
    assert Message.objects.count() == 10


@pytest.mark.postgres("threads that write at the same time: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_wish_that_changes_while_the_day_is_made_loses_and_doubles_nothing() -> None:
    team("red", "carl")
    carl = User.objects.get()
    for day in range(8):
        wish(carl, team="digest")
        news([carl], now=NOW + day * DAY)
        morning = MORNING + day * DAY
        mail.outbox.clear()
        at_once(partial(digests_make, now=morning), partial(wish, carl, team="at_once"))
        messages_send(clock=lambda morning=morning: morning)
        assert len(mail.outbox) == 1


OWN, SETTINGS, OUTBOX = "/messages/", "/messages/settings/", "/messages/outbox/"
SignedIn = Callable[[Any], Client]


@pytest.fixture
def client(carl: User, signed_in: SignedIn) -> Client:
    return signed_in(carl)


def page(client: Client, address: str = OWN) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_messages_are_listed_newest_first_with_the_unread_ones_marked(carl: User, client: Client) -> None:
    assert "No message yet." in page(client)
    told(carl, case="C-1", now=NOW - DAY)
    Message.objects.update(read_at=NOW)
    told(carl, case="C-2")
    text = main(client, OWN)
    assert text.index("Case C-2 was opened") < text.index("Case C-1 was opened")
    assert text.count('class="mark">new') == 1 == text.count('<li class="unread">')
    Message.objects.update(kind=MessageKind.POSTED.value, facts={"lines": 7})
    for address in (OWN, f"{OWN}{Message.objects.latest('pk').pk}/"):
        assert "Money was moved on your account" in page(client, address), (
            "one that cannot be made is listed by its kind"
        )


def test_everybody_has_their_own_alone(carl: User, signed_in: SignedIn, stan: User, tara: Any) -> None:
    told(carl)
    own = f"{OWN}{Message.objects.get().pk}/"
    for each in (User.objects.get(username="rosa"), organizer(), reviewer(), stan):
        client = signed_in(each)
        codes = [client.get(own).status_code, client.post(own).status_code, client.post(OWN).status_code]
        assert (codes, "C-1" in page(client)) == ([404, 404, 303], False)
    assert Client().get(own).status_code == 302
    refused = [signed_in(tara).get(address) for address in (OWN, SETTINGS, own)]
    assert [(each.status_code, b"not_for_taskers" in each.content) for each in refused] == [(403, True)] * 3
    assert Message.objects.get().read_at is None, "nobody else reads it for them"


def test_who_opens_a_message_has_read_it_and_may_take_that_back(carl: User, client: Client) -> None:
    told(carl, about="/board/cases/C-1/")
    own = f"{OWN}{Message.objects.get().pk}/"

    def read_at() -> Any:
        return Message.objects.get().read_at

    assert (client.head(own).status_code, read_at()) == (200, None), "who looks whether it is there has read nothing"
    assert not lacking(page(client, own), "an appeal", 'href="/board/cases/C-1/"') and read_at() == NOW
    assert (client.post(own).status_code, read_at()) == (303, None)


def test_the_list_is_filtered_and_all_of_it_marked_as_read(carl: User, client: Client) -> None:
    told(carl)
    news([carl])
    assert lacking(main(client, "/messages/?kind=team"), "C-1", "not in team red") == ["C-1"]
    assert (client.post("/messages/?kind=team").status_code, Message.objects.filter(read_at=None).count()) == (303, 1)
    assert lacking(main(client, "/messages/?show=unread"), "C-1", "not in team red") == ["not in team red"]
    client.post(OWN)
    asked = {"show=unread": "Nothing here that you have not read", "kind=money&page=nonsense": "Nothing here"}
    for query, words in (asked | {"page=nonsense": "C-1", "kind=nonsense": "Select a valid choice."}).items():
        assert words in page(client, f"/messages/?{query}")


def test_many_messages_have_pages_and_the_header_counts_what_is_unread(carl: User, client: Client) -> None:
    assert "unread-count" not in page(client)
    Message.objects.bulk_create(
        Message(user=carl, kind=MessageKind.CASE_OPENED, facts=CASE | {"case": f"C-{number:03}"}, made_at=NOW)
        for number in range(100)
    )
    first, second = page(client), page(client, "/messages/?show=unread&page=2")
    assert lacking(first, 'class="unread-count">99+<', "C-099", "C-070", "C-069") == ["C-069"]
    assert lacking(second, 'href="?show=unread&amp;page=1"', "C-070", "C-069") == ["C-070"]
    Message.objects.exclude(facts__case="C-001").update(read_at=NOW)
    assert 'class="unread-count">1<' in page(client)


def test_the_count_is_one_statement_and_none_for_taskers(carl: User, client: Client, signed_in: SignedIn) -> None:
    factories.panel()
    told(carl)
    tasker = signed_in(factories.tasker("tara"))
    for who, address, number in (
        *((client, "/account/", 1), (tasker, "/label/", 0), (tasker, "/account/", 0)),
        (Client(), "/front/", 0),
    ):
        with CaptureQueriesContext(connection) as asked:
            assert who.get(address).status_code == 200
        assert sum("outbox_message" in each["sql"] for each in asked) == number, address


def test_a_wish_is_kept_and_shown(client: Client) -> None:
    chosen = {"attacks": "app", "defenses": "digest", "team": "at_once", "money": "digest", "cases": "at_once"}
    for wrong in ({"money": "app"}, {"money": ""}, {"money": "x" * 500}):
        answer = client.post(SETTINGS, chosen | wrong)
        assert answer.status_code == 400 and "Choose one of the ways" in answer.content.decode(), wrong
        assert not MessagePreference.objects.exists()
    assert client.post(SETTINGS, chosen).status_code == 303
    assert dict(MessagePreference.objects.values_list("group", "rate")) == chosen
    text = re.sub(r' id="[^"]*"', "", page(client, SETTINGS))
    checked = (f'name="{group}" value="{rate}" required checked' for group, rate in chosen.items())
    not_offered = ['name="organizing"', 'name="money" value="app"', 'name="cases" value="app"']
    assert lacking(text, *(("always reach you by e-mail", *checked, *not_offered))) == not_offered


def test_without_an_address_the_page_says_that_nothing_leaves(signed_in: SignedIn) -> None:
    assert "has no confirmed e-mail address" in page(signed_in(factories.user("ann", "teams")), SETTINGS)


@pytest.fixture
def olga(signed_in: SignedIn) -> Client:
    return signed_in(organizer())


@pytest.fixture
def letter(carl: User) -> str:
    """The address of the one letter, which is to Carl."""
    told(carl)
    return f"{OUTBOX}message-{Message.objects.get().pk}/"


def test_in_production_organizers_see_what_did_not_leave_and_not_what_it_says(
    letter: str, olga: Client, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "common.mail.EmailBackend"
    assert "Every letter left." in page(olga, OUTBOX), "one that only waits is not listed"
    Message.objects.update(tries=2, error="OSError: away", not_before=NOW)
    said = ("carl@example.org", "failed 2 of 5 times", "OSError: away", "Try again")
    assert lacking(main(olga, OUTBOX), *said, "C-1") == ["C-1"]
    assert [olga.get(each).status_code for each in (letter, f"{letter}html/")] == [404, 404]


@pytest.mark.parametrize(
    ("values", "words", "again", "why"),
    [
        ({}, "waits to be sent", False, "new"),
        ({"rate": "app"}, "shown in the application only", False, "not wanted by e-mail"),
        ({"rate": "digest"}, "waits for the letter of the day", False, "for the letter of the day"),
        ({"taken_at": NOW, "sent_at": NOW}, "sent", False, "sent"),
        ({"taken_at": NOW}, "under way", False, "in a sweep's hands"),
        ({"taken_at": NOW - DAY}, "lost under way: it may have arrived", True, "in the hands of a sweep that died"),
        ({"taken_at": NOW - DAY, "error": NOBODY}, "not sent", False, "for nobody"),
        ({"tries": 1, "error": "away"}, "failed 1 of 5 times", True, "due again"),
        ({"tries": posting.MAX_TRIES, "error": "away"}, "given up", True, "given up"),
    ],
)
def test_each_state_is_told_and_what_can_be_tried_again_is(
    values: dict[str, Any], words: str, again: bool, why: str, letter: str, olga: Client
) -> None:
    Message.objects.update(**values)
    text = main(olga, OUTBOX)
    assert words in text and ("Try again" in text) is again, why
    assert olga.post(OUTBOX, {"letter": letter.removeprefix(OUTBOX).strip("/")}).status_code == 303
    anew = Message.objects.filter(taken_at=None, tries=0).exists()
    assert anew is (again or "taken_at" not in values) and (not again or len(sent()) == 1)


def test_everything_that_failed_is_tried_again_at_once(carl: User, olga: Client) -> None:
    told(User.objects.filter(membership__isnull=False))
    Message.objects.update(tries=posting.MAX_TRIES, error="away")
    digest = Digest.objects.create(user=carl, day=NOW.date(), made_at=NOW, tries=posting.MAX_TRIES, error="away")
    Message.objects.filter(user=carl).update(rate=MessageRate.DIGEST.value, digest=digest, tries=0)
    assert "2 letters are tried again" in olga.post(OUTBOX, follow=True).content.decode()
    assert {each.subject for each in sent()} == {"1 message of your day", "Case C-1 was opened"}


def test_where_no_mail_leaves_organizers_read_every_letter(letter: str, olga: Client) -> None:
    assert "C-1" not in main(olga, OUTBOX)
    shown, framed = olga.get(letter), olga.get(f"{letter}html/")
    assert not lacking(
        shown.content.decode(),
        *("Case C-1 was opened", "carl@example.org", "How often you get e-mails:", "&lt;!doctype html&gt;"),
        *(f'src="{letter}html/"', 'sandbox="allow-popups"'),
    )
    assert "frame-src 'self'" in shown["Content-Security-Policy"]
    safe = ("default-src 'none'", "style-src 'unsafe-inline'", "frame-ancestors 'self'", "sandbox")
    assert lacking(framed["Content-Security-Policy"], *safe, "script") == ["script"]
    assert framed["X-Frame-Options"] == "SAMEORIGIN" and framed.content.decode().startswith("<!doctype html>")


def test_letters_of_the_day_and_announcements_are_listed_too(carl: User, letter: str, olga: Client) -> None:
    digest = Digest.objects.create(user=carl, day=NOW.date(), made_at=NOW)
    Message.objects.update(rate=MessageRate.DIGEST.value, digest=digest)
    release = Release.objects.create(week="2026-W46", manifest_sha256="a", counts={}, bytes=1, released_at=NOW)
    announced = ReleaseLetter.objects.create(
        announcement=Announcement.objects.create(release=release, announced_at=NOW),
        subscriber=Subscriber.objects.create(email="ann@example.org", confirmed_at=NOW),
    )
    said = ("The letter of a day", "Announcement of release-2026-W46", "ann@example.org", "in the letter of")
    assert not lacking(main(olga, OUTBOX), *said)
    assert "1 message of your day" in page(olga, f"{OUTBOX}digest-{digest.pk}/")
    assert "release-2026-W46" in page(olga, f"{OUTBOX}release-{announced.pk}/")
    assert olga.get(f"{OUTBOX}release-{announced.pk}/html/").status_code == 404


def test_a_letter_that_is_not_there(olga: Client) -> None:
    for name in ("message-0", "message-", "message-x", "digest-9", "user-1", "message-" + "9" * 30, "²"):
        assert olga.get(f"{OUTBOX}{name}/").status_code == 404, name
        assert olga.post(OUTBOX, {"letter": name}).status_code == 404, name


def test_nobody_else_sees_letters(signed_in: SignedIn) -> None:
    people = outsiders(signed_in)
    told(person("gus"))
    Message.objects.update(tries=2, error="OSError: away", not_before=NOW)
    here = f"{OUTBOX}message-{Message.objects.get().pk}/"
    for address in (OUTBOX, here, f"{here}html/"):
        assert codes(people, address) == ORGANIZERS_ALONE, address
    codes(people, OUTBOX, {"letter": here.removeprefix(OUTBOX).strip("/")})
    assert Message.objects.get().tries == 2


def test_the_demo_s_other_letters_are_shown_and_no_other_folder_s(
    letter: str, olga: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path)
    send_letter(EmailMessage("You are invited", "Open the link: grüße\n", to=["nell@example.org"]))
    mail.outbox = []

    def letter_of(row: Message) -> EmailMessage:
        headers = {"Message-ID": f"<message-{row.pk}@localhost>"}
        return EmailMessage("Case C-1", "x", to=["gus@example.org"], headers=headers)

    posting.post_due(Message.objects.all(), letter_of, clock=lambda: NOW)
    assert "You are invited" not in page(olga, OUTBOX)
    settings.DEMO = True
    text = main(olga, OUTBOX)
    assert not lacking(text, "You are invited", "grüße", "nell@example.org")
    assert text.partition("Other letters")[2].count("<details>") == 1, "what is listed above is not shown twice"
