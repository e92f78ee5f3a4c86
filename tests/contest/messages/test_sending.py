"""Messages by e-mail: to whom, as each wants it, each once, also from two sweeps and from one that is killed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.db import connections, transaction

from common.errors import InvalidInput
from contest import posting
from contest.access import Roles, roles_of
from contest.enums import MessageGroup, MessageKind, MessageRate
from contest.messages.preferences import groups_for, wishes_of, wishes_set
from contest.messages.sending import digests_make, messages_send
from contest.messages.writing import take_back, write
from contest.models import Digest, Member, Message, Team
from labeling.people import ORGANIZERS, REVIEW_BOARD
from tests import factories
from tests.contest.attacks.cast import policy
from tests.contest.messages.cast import CASE, NOW, news, organizer, person, readers, reviewer, sent, team, told

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
# The mornings after NOW, a Wednesday noon: the letter of the day is made at seven.
MORNING = datetime(2026, 11, 19, 7, tzinfo=UTC)


@pytest.fixture(autouse=True)
def in_force(db: None) -> None:
    factories.policy_version()


@pytest.fixture
def red() -> Team:
    return team("red", "carl", "rosa")


def wish(user: User, **groups: str) -> None:
    wishes_set(user, {MessageGroup(name): rate for name, rate in groups.items()})


def names(found: list[EmailMessage]) -> list[str]:
    return sorted(each.to[0].partition("@")[0] for each in found)


# To whom -------------------------------------------------------------------------------------------------------------


def _gone(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


TO: list[tuple[Callable[[dict[str, Any]], Any], list[str], str]] = [
    (lambda cast: cast["carl"], ["carl"], "a person"),
    (lambda cast: [cast["carl"], cast["rita"]], ["carl", "rita"], "people"),
    (lambda cast: User.objects.filter(username="rita"), ["rita"], "people by a query"),
    (lambda cast: cast["red"], ["carl", "rosa"], "the members of a team"),
    (lambda cast: cast["old"], ["carl", "rosa"], "of a team that is part of another one"),
    (lambda cast: ORGANIZERS, ["olga"], "organizers"),
    (lambda cast: REVIEW_BOARD, ["rita"], "the board"),
    (lambda cast: [cast["tara"], cast["carl"]], ["carl"], "never a tasker"),
    (lambda cast: [cast["gus"]], [], "nobody whose account is closed"),
    (lambda cast: [], [], "nobody"),
]


@pytest.mark.parametrize(("to", "expected", "why"), TO, ids=[row[2] for row in TO])
def test_who_is_told(to: Callable[[dict[str, Any]], Any], expected: list[str], why: str, red: Team) -> None:
    old = Team.objects.create(name="old", created_at=NOW, merged_into=red, merged_at=NOW)
    cast = {"red": red, "old": old, "carl": User.objects.get(username="carl"), "rita": reviewer(), "gus": person("gus")}
    organizer()
    team("blue", "bea")
    tara = factories.tasker("tara").user
    User.objects.filter(pk=tara.pk).update(email="tara@example.org")
    _gone(cast["gus"])
    assert told(to(cast | {"tara": tara})) == len(expected)
    assert readers(MessageKind.CASE_OPENED) == expected, why
    assert names(sent()) == expected
    assert sent() == []


def test_what_is_rolled_back_tells_nobody(red: Team) -> None:
    with pytest.raises(SystemExit), transaction.atomic():
        assert told(red) == 2
        raise SystemExit("killed")
    assert sent() == [] and not Message.objects.exists()


def test_with_a_key_nobody_is_told_twice_and_who_came_later_is(red: Team) -> None:
    assert [told(red, key="C-1") for _ in range(2)] == [2, 0]
    Member.objects.create(team=red, user=person("late"))
    assert told(red, key="C-1") == 1
    assert told(red, key="C-2") == 3
    assert told(red, MessageKind.CASE_DUE, key="C-1") == 3, "another kind is another message"
    assert Message.objects.count() == 9


def test_without_a_key_each_call_tells(red: Team) -> None:
    assert [told(red) for _ in range(2)] == [2, 2]


def test_who_stepped_aside_later_has_never_heard_of_it() -> None:
    rita, rolf = reviewer(), reviewer("rolf")
    told([rita, rolf], about="/board/cases/C-1/")
    told([rita, rolf], about="/board/cases/C-2/")
    assert take_back("/board/cases/C-1/", users=[rita]) == 1
    assert list(rita.messages.values_list("about", flat=True)) == ["/board/cases/C-2/"]  # type: ignore[attr-defined]
    assert names(sent()) == ["rita", "rolf", "rolf"]


def test_a_letter_has_two_parts_and_one_name(red: Team) -> None:
    told(User.objects.get(username="carl"))
    first, again = sent(), Message.objects.get()
    (letter,) = first
    assert isinstance(letter, EmailMultiAlternatives)
    message = letter.message()
    assert [part.get_content_type() for part in message.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert message["Message-ID"] == f"<message-{again.pk}@127.0.0.1>"
    again.refresh_from_db()
    assert (again.sent_at, again.error, again.tries) == (NOW, "", 1)


# What each wants -----------------------------------------------------------------------------------------------------


def test_how_each_group_goes(red: Team) -> None:
    carl = User.objects.get(username="carl")
    wish(carl, team="app", cases="digest")
    news(User.objects.filter(membership__team=red))
    told(red)
    told(red, MessageKind.CASE_DUE)
    assert _told(sent()) == [
        ("carl", "Case C-1 is due Friday"),
        ("rosa", "Case C-1 is due Friday"),
        ("rosa", "Case C-1 was opened"),
        ("rosa", "Somebody is not in team red any more"),
    ], "what ends within a day goes at once, whatever was chosen"
    assert carl.messages.count() == 3, "all of it is shown in the application"  # type: ignore[attr-defined]


def _told(found: list[EmailMessage]) -> list[tuple[str, str]]:
    return sorted((each.to[0].partition("@")[0], each.subject) for each in found)


REFUSED = [
    ("cases", "app", "decisions about a case"),
    ("money", "app", "decisions about money"),
    ("team", "never", "no such way"),
    ("team", "", "nothing chosen"),
]


@pytest.mark.parametrize(("group", "rate", "why"), REFUSED, ids=[row[2] for row in REFUSED])
def test_what_cannot_be_chosen_is_refused_and_nothing_kept(group: str, rate: str, why: str, red: Team) -> None:
    carl = User.objects.get(username="carl")
    with pytest.raises(InvalidInput) as refused:
        wish(carl, attacks="digest", **{group: rate})
    assert refused.value.field == group
    assert {each.rate for each in wishes_of(carl, roles_of(carl))} == {MessageRate.AT_ONCE}, why


def test_what_waits_follows_a_new_wish(red: Team) -> None:
    carl = User.objects.get(username="carl")
    wish(carl, cases="digest", team="app")
    told(carl)
    news([carl])
    wish(carl, cases="at_once", team="at_once")
    assert _told(sent()) == [("carl", "Case C-1 was opened")], "what was only to be shown here does not come after"
    told(carl, now=NOW)
    wish(carl, cases="digest")
    assert sent() == []
    assert len(sent(MORNING)) == 1


GROUPS = [
    (Roles(organizer=True), {"cases", "organizing"}),
    (Roles(board=True), {"cases"}),
    (Roles(teams=("red",)), {"attacks", "defenses", "team", "money", "cases"}),
    (Roles(), {"attacks", "defenses", "team", "money", "cases"}),
]


@pytest.mark.parametrize(("roles", "expected"), GROUPS, ids=["organizer", "board", "team", "nobody yet"])
def test_each_role_chooses_for_what_it_is_told(roles: Roles, expected: set[str]) -> None:
    assert set(groups_for(roles)) == expected


# The letter of the day -----------------------------------------------------------------------------------------------


@pytest.fixture
def carl(red: Team) -> User:
    found = User.objects.get(username="carl")
    wish(found, cases="digest", team="digest")
    return found


def test_a_day_is_one_letter_with_each_message_once(carl: User, red: Team) -> None:
    told(carl)
    news([carl], now=NOW + timedelta(hours=1))
    assert sent(NOW + timedelta(hours=2)) == [] == sent(MORNING - timedelta(seconds=1))
    (letter,) = sent(MORNING)
    assert letter.to == ["carl@example.org"] and letter.subject == "2 messages of your day"
    text = str(letter.body)
    assert text.count("Case C-1 was opened") == 1 == text.count("gus left team red.")
    for message in Message.objects.all():
        assert f"http://127.0.0.1:8000/messages/{message.pk}/" in text
    assert "Hello," not in text
    assert sent(MORNING) == [] == sent(MORNING + timedelta(hours=5))
    assert sent(MORNING + DAY) == [], "nothing waits for the next one"


def test_what_is_told_after_the_morning_waits_for_the_next(carl: User) -> None:
    told(carl)
    assert len(sent(MORNING)) == 1
    told(carl, now=MORNING + timedelta(minutes=1))
    assert sent(MORNING + timedelta(hours=3)) == []
    assert [each.subject for each in sent(MORNING + DAY)] == ["1 message of your day"]


def test_a_morning_that_was_missed_is_made_up_for(carl: User) -> None:
    told(carl)
    assert len(sent(MORNING + timedelta(hours=10))) == 1


def test_the_morning_is_the_contest_s_own(carl: User) -> None:
    policy(time_zone="America/New_York")
    told(carl)
    assert sent(datetime(2026, 11, 19, 11, 59, tzinfo=UTC)) == []
    assert len(sent(datetime(2026, 11, 19, 12, 0, tzinfo=UTC))) == 1


def test_a_day_whose_letter_the_server_refuses_is_tried_again(carl: User, monkeypatch: pytest.MonkeyPatch) -> None:
    told(carl)

    def refuse(*_: Any) -> None:
        raise OSError("away")

    with monkeypatch.context() as refusing:
        refusing.setattr("contest.posting.send", refuse)
        assert sent(MORNING) == []
    row = Digest.objects.get()
    assert (row.taken_at, row.tries, row.error) == (None, 1, "OSError: away")
    assert sent(MORNING) == []
    assert len(sent(MORNING + posting.AGAIN_AFTER)) == 1


def test_a_sweep_killed_before_the_letter_leaves_it_to_the_next(carl: User, monkeypatch: pytest.MonkeyPatch) -> None:
    told(carl)
    with monkeypatch.context() as dying:
        dying.setattr("contest.messages.sending.post_due", _dies)
        with pytest.raises(SystemExit):
            messages_send(clock=lambda: MORNING)
    assert Digest.objects.count() == 1
    assert len(sent(MORNING)) == 1
    assert sent(MORNING) == []


def test_a_sweep_killed_with_the_letter_in_hand_repeats_nothing(carl: User, monkeypatch: pytest.MonkeyPatch) -> None:
    told(carl)
    delivered: list[EmailMessage] = []

    def dies_behind(message: EmailMessage) -> None:
        delivered.append(message)
        raise SystemExit("killed")

    with monkeypatch.context() as dying:
        dying.setattr("contest.posting.send", dies_behind)
        with pytest.raises(SystemExit):
            messages_send(clock=lambda: MORNING)
    assert len(delivered) == 1
    assert sent(MORNING) == [] == sent(MORNING + DAY)
    row = Digest.objects.get()
    assert row.taken_at == MORNING and row.sent_at is None, "organizers see that it may be lost"


def _dies(*_: Any, **__: Any) -> int:
    raise SystemExit("killed")


def test_a_message_that_cannot_be_made_is_in_the_letter_by_its_kind(
    carl: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(carl)
    Message.objects.update(kind=MessageKind.ATTACK_RECEIVED.value, facts={})
    monkeypatch.setattr("contest.messages.letters.written", _fails)
    (letter,) = sent(MORNING)
    assert "Receipts" in str(letter.body)


def _fails(*_: Any) -> Any:
    raise KeyError("amount")


def test_who_left_the_team_meanwhile_gets_no_letter_of_the_day(carl: User, red: Team) -> None:
    told(red)
    Member.objects.filter(user=carl).delete()
    assert names(sent(MORNING)) == ["rosa"]
    assert sent(MORNING + DAY) == []


# At once -------------------------------------------------------------------------------------------------------------


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Do all at the same time, each in a thread of its own."""
    barrier = Barrier(len(acts))

    def one(act: Callable[[], Any]) -> Any:
        try:
            barrier.wait(10)
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(one, acts))


@pytest.mark.postgres("several at once: SQLite has one writer")
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


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_many_who_tell_the_same_at_once_one_does() -> None:
    red = team("red", "carl", "rosa")
    for number in range(5):
        act = partial(write, red, MessageKind.CASE_OPENED, about="/", now=NOW, key=f"C-{number}", **CASE)
        at_once(act, act, act)
    assert Message.objects.count() == 10


@pytest.mark.postgres("several at once: SQLite has one writer")
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
