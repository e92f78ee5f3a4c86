"""Messages by e-mail: to whom, as each wants it, each once, also from two sweeps and from one that is killed."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import transaction

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
from tests.at_once import at_once
from tests.contest.attacks.cast import policy
from tests.contest.messages.cast import CASE, NOW, news, organizer, person, readers, reviewer, sent, team, told
from tests.contest.pages import lacking

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


@pytest.fixture
def carl(red: Team) -> User:
    return User.objects.get(username="carl")


def wish(user: User, **groups: str) -> None:
    wishes_set(user, {MessageGroup(name): rate for name, rate in groups.items()})


def letters(now: datetime = NOW) -> list[tuple[str, str]]:
    """To whom the sweep sends what, at `now`."""
    return sorted((each.to[0].partition("@")[0], each.subject) for each in sent(now))


def names(now: datetime = NOW) -> list[str]:
    return [name for name, _ in letters(now)]


# To whom -------------------------------------------------------------------------------------------------------------


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
def test_who_is_told(to: Callable[[dict[str, Any]], Any], expected: list[str], why: str, red: Team, carl: User) -> None:
    """Never a tasker (R8)."""
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
    assert take_back("/board/cases/C-1/", users=[rita]) == 1
    assert list(rita.messages.values_list("about", flat=True)) == ["/board/cases/C-2/"]  # type: ignore[attr-defined]
    assert names() == ["rita", "rolf", "rolf"]


def test_a_letter_has_two_parts_and_one_name(carl: User) -> None:
    told(carl)
    (letter,), again = sent(), Message.objects.get()
    message = letter.message()
    assert [part.get_content_type() for part in message.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert message["Message-ID"] == f"<message-{again.pk}@127.0.0.1>"
    assert (again.sent_at, again.error, again.tries) == (NOW, "", 1)


# What each wants -----------------------------------------------------------------------------------------------------


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
        assert {each.rate for each in wishes_of(carl, roles_of(carl))} == {MessageRate.AT_ONCE}, why


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
    roles = (Roles(organizer=True), Roles(board=True), Roles(teams=("red",)), Roles())
    told = [set(groups_for(each)) for each in roles]
    assert told == [{"cases", "organizing"}, {"cases"}, team, team], "a team's also for who has no role yet"


# The letter of the day -----------------------------------------------------------------------------------------------


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
    links = (f"http://127.0.0.1:8000/messages/{each.pk}/" for each in Message.objects.all())
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


def fails(error: BaseException) -> Callable[..., Any]:
    """What always ends in this error."""

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def test_a_day_whose_letter_the_server_refuses_is_tried_again(daily: User, monkeypatch: pytest.MonkeyPatch) -> None:
    told(daily)
    with monkeypatch.context() as refusing:
        refusing.setattr("contest.posting.send", fails(OSError("away")))
        assert sent(MORNING) == []
    assert Digest.objects.values_list("taken_at", "tries", "error").get() == (None, 1, "OSError: away")
    assert (sent(MORNING), len(sent(MORNING + posting.AGAIN_AFTER))) == ([], 1)


KILLED = [
    ("contest.messages.sending.post_due", 1, "before the letter, which the next sweep sends"),
    ("contest.posting.send", 0, "with the letter in hand, which is not repeated"),
]


@pytest.mark.parametrize(("where", "left", "why"), KILLED, ids=[row[2] for row in KILLED])
def test_a_sweep_that_is_killed_repeats_nothing(
    where: str, left: int, why: str, daily: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(daily)
    with monkeypatch.context() as dying, pytest.raises(SystemExit):
        dying.setattr(where, fails(SystemExit("killed")))
        messages_send(clock=lambda: MORNING)
    taken = None if left else MORNING
    assert Digest.objects.values_list("taken_at", "sent_at").get() == (taken, None), "organizers see what may be lost"
    assert [len(sent(MORNING)), len(sent(MORNING + DAY))] == [left, 0], why


def test_a_message_that_cannot_be_made_is_in_the_letter_by_its_kind(
    daily: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(daily)
    Message.objects.update(kind=MessageKind.ATTACK_RECEIVED.value, facts={})
    monkeypatch.setattr("contest.messages.letters.written", fails(KeyError("amount")))
    assert ["Receipts" in str(letter.body) for letter in sent(MORNING)] == [True]


def test_who_left_the_team_meanwhile_gets_no_letter_of_the_day(daily: User, red: Team) -> None:
    told(red)
    Member.objects.filter(user=daily).delete()
    assert (names(MORNING), names(MORNING + DAY)) == (["rosa"], [])


# At once -------------------------------------------------------------------------------------------------------------


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
        act = partial(write, red, MessageKind.CASE_OPENED, about="/", now=NOW, key=f"C-{number}", **CASE)
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
