"""What sweeps tell teams: verdicts, what can break a defense, breaks, deadlines; each once, none before its time."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest

from common.models import SweepRun
from contest.board.models import Appeal
from contest.core.enums import AppealSide, MessageKind, StakeEnd
from contest.core.models import Attack, Break, Case, Stake, Team
from contest.notifications import sweeps
from contest.notifications.breaks import notify_broke, notify_broken
from contest.notifications.deadlines import UNANSWERED, notify_appeals_closing, notify_questions
from contest.notifications.organizers import notify_failed_releases, notify_given_up
from contest.notifications.sweeps import notify_of_facts
from contest.notifications.verdicts import notify_valid, notify_verdicts
from contest.operations.tasks import write_messages
from contest.outbox.grouped_facts import GROUPING_DELAY, MAX_FACT_AGE
from contest.outbox.letters import write_message
from contest.outbox.models import Message, NotifiedFact
from contest.outbox.posting import MAX_TRIES, UNDER_WAY
from contest.releases.models import ReleaseBuild
from contest.teams.models import Entitlement, EntitlementStep
from labeling.models import Image
from tests import factories
from tests.at_once import at_once
from tests.contest.ledger import cast
from tests.contest.ledger.cast import MONDAY, SETTLED
from tests.contest.notifications.cast import organizer, readers, reviewer, team, told
from tests.contest.pages import lacking

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
WEEK_ENDS = datetime.fromisoformat("2026-11-21T00:00:00+00:00")
RULED = WEEK_ENDS + 2 * DAY
LATER = RULED + GROUPING_DELAY
BEHIND = RULED + 7 * DAY  # when its appeals are closed
VERDICTS, VALID = MessageKind.ATTACK_VERDICTS, MessageKind.PICTURES_VALID
CLOSING, BROKE, BROKEN = MessageKind.APPEALS_CLOSING, MessageKind.ATTACK_BROKE, MessageKind.DEFENSE_BROKEN


@pytest.fixture
def red() -> Team:
    return team("red", "carl", "rosa")


@pytest.fixture
def makers() -> Team:
    return team("makers", "mia")


@pytest.fixture
def stake(makers: Team) -> Stake:
    cast.deposit(10 * cast.PRIZE, organizer())
    return cast.staked(cast.defense("net", makers))


@pytest.fixture(autouse=True)
def nobody_else_is_told(db: None) -> Iterator[None]:
    """Whatever a sweep tells of pictures: no organizer, board member or stranger hears of it."""
    factories.policy_version()
    reviewer()
    yield
    told_of_pictures = Message.objects.filter(kind__in=[VERDICTS, VALID, CLOSING, BROKE, BROKEN])
    assert not told_of_pictures.exclude(user__membership__team__name__in=["red", "blue", "makers"]).exists()


@pytest.fixture
def attack(red: Team) -> Attack:
    return cast.attack(red)


@pytest.fixture
def broke(stake: Stake, attack: Attack) -> Break:
    """It broke the defense at stake, which was found when it was ruled valid."""
    return cast.broken(stake.defense, attack, found=RULED)


def twice(tell: Callable[..., int], now: datetime) -> list[int]:
    """How many a sweep and its repetition tell."""
    return [tell(now=now) for _ in range(2)]


def text_of(kind: MessageKind, user: str) -> str:
    """The one message of a kind that somebody has, in words."""
    return "{0.title}\n{0.text}".format(write_message(Message.objects.get(kind=kind, user__username=user)))


# Verdicts ------------------------------------------------------------------------------------------------------------


def test_verdicts_of_a_week_are_one_message_when_all_are_there(red: Team) -> None:
    attacks = [cast.attack(red, days=1 + number / 10) for number in range(3)]
    for each, label in zip(attacks, ("bird", "", "bird"), strict=True):
        assert notify_verdicts(now=RULED) == 0, "one of them waits"
        cast.ruled(each.image, label)
    assert (twice(notify_verdicts, RULED), readers(VERDICTS)) == ([1, 0], ["carl", "rosa"])
    text, appeal = text_of(VERDICTS, "carl"), "can appeal, with a reason, before Mon 30 Nov 2026 00:00 UTC"
    assert not lacking(text, *(f"/attacks/{each.public_id}/" for each in attacks))
    counted = {each: text.count(each) for each in ("✓ valid: a bird", "✕ rejected: a tasker was not sure", appeal)}
    assert [*counted.values()] == [2, 1, 1], counted
    cast.overruled(attacks[0].image, at=LATER + DAY)
    assert notify_verdicts(now=LATER + 2 * DAY) == 0, "a later ruling is told by who changes it"


def test_a_week_that_takes_long_is_told_in_parts_and_each_verdict_once(red: Team, attack: Attack) -> None:
    second = cast.attack(red, days=2)
    cast.ruled(attack.image)
    assert (notify_verdicts(now=LATER - timedelta(seconds=1)), notify_verdicts(now=LATER)) == (0, 1)
    cast.ruled(second.image, at=LATER + DAY)
    assert notify_verdicts(now=LATER + DAY) == 1
    ids = [attack.public_id, second.public_id]
    texts = (write_message(each).text for each in Message.objects.filter(user__username="carl").order_by("pk"))
    assert [lacking(text, *ids) for text in texts] == [ids[1:], ids[:1]]


def _withdrawn(attack: Attack) -> None:
    Attack.objects.filter(pk=attack.pk).update(withdrawn_at=MONDAY + DAY)


def _copied(attack: Attack) -> None:
    first = cast.attack(Team.objects.create(name="first", created_at=MONDAY), days=0.5)
    Attack.objects.filter(pk=attack.pk).update(copy_of=first)


@pytest.mark.parametrize(
    ("change", "after", "why"),
    [
        (lambda attack: None, WEEK_ENDS - MONDAY - timedelta(seconds=1), "its week has not ended (R24)"),
        (_withdrawn, 30 * DAY, "it was withdrawn"),
        (lambda attack: Image.objects.update(origin="gold"), 30 * DAY, "the contest has it among its own"),
        (_copied, 30 * DAY, "a copy of a picture that is not released"),
        (lambda attack: None, MAX_FACT_AGE + 30 * DAY, "no news any more"),
    ],
)
def test_what_a_sender_may_not_know_is_not_told(
    change: Callable[[Attack], Any], after: timedelta, why: str, attack: Attack, stake: Stake
) -> None:
    ruling = cast.ruled(attack.image, at=MONDAY + 2 * DAY if (after < DAY * 7) else None)
    cast.broken(stake.defense, attack, found=ruling.decided_at)
    change(attack)
    assert notify_verdicts(now=MONDAY + after) == 0 == notify_broke(now=MONDAY + after), why


def test_a_copy_is_told_with_the_release(red: Team, stake: Stake) -> None:
    first = cast.attack(team("blue", "bea"))
    copy = cast.attack(red, days=2, image=first.image, copy_of=first)
    cast.broken(stake.defense, first)
    assert (notify_verdicts(now=LATER), notify_broke(now=LATER)) == (1, 1)
    assert readers(VERDICTS) == ["bea"] == readers(BROKE)
    cast.released("2026-W47")
    assert (notify_verdicts(now=SETTLED), notify_broke(now=SETTLED)) == (1, 1)
    ids = [copy.public_id, first.public_id]
    assert [lacking(text_of(kind, "carl"), *ids) for kind in (VERDICTS, BROKE)] == [ids[1:]] * 2


def test_the_days_to_appeal_of_who_sent_a_copy_count_from_the_release(red: Team) -> None:
    first = cast.attack(team("blue", "bea"))
    cast.attack(red, days=2, image=first.image, copy_of=first)
    cast.ruled(first.image, "")
    cast.released("2026-W47")
    assert notify_verdicts(now=SETTLED) == 2
    until = {each.user.username: each.facts["rows"][0]["until"][:10] for each in Message.objects.filter(kind=VERDICTS)}
    assert until["bea"] == "Mon 30 Nov" and until["carl"] == "Sat 5 Dec "


# What can break a defense (R18) --------------------------------------------------------------------------------------


def test_defenders_are_told_what_is_valid_and_until_when_they_appeal(red: Team, attack: Attack, stake: Stake) -> None:
    other = cast.attack(red, days=2)
    cast.ruled(attack.image)
    cast.ruled(other.image, "")
    assert notify_valid(now=LATER - timedelta(seconds=1)) == 0, "several go together"
    assert notify_valid(now=BEHIND) == 0, "after the window there is nothing to tell"
    assert (twice(notify_valid, LATER), readers(VALID)) == ([1, 0], ["mia"])
    said = (attack.image.public_id, "(net)", "appeals before Mon 30 Nov 2026 00:00 UTC")
    assert lacking(text_of(VALID, "mia"), *said, other.image.public_id) == [other.image.public_id]


def test_the_same_is_told_whether_it_breaks_or_not(red: Team, stake: Stake, attack: Attack) -> None:
    """What a defense answered is no matter of this message, also where the break ended the stake meanwhile (R24)."""
    harmless = cast.attack(red, days=2)
    cast.ruled(harmless.image)
    cast.broken(stake.defense, attack)
    cast.ended(stake, at=RULED + timedelta(hours=1))
    assert notify_valid(now=LATER) == 1
    one, other = Message.objects.get(kind=VALID).facts["rows"]
    assert {one["picture"], other["picture"]} == {attack.image.public_id, harmless.image.public_id}
    assert one.keys() == other.keys()
    assert lacking(text_of(VALID, "mia"), "team red", " broke") == ["team red", " broke"]


def test_defenders_are_told_what_counts_for_a_stake_that_ended_long_ago(attack: Attack, stake: Stake) -> None:
    """R18, R37: a rejection may be overruled months later, and the break would take back the award."""
    late = MAX_FACT_AGE + DAY
    cast.ruled(attack.image, "")
    cast.ended(stake, StakeEnd.WON, at=RULED)
    cast.overruled(attack.image, label="bird", at=RULED + late)
    assert (notify_valid(now=LATER + late), readers(VALID)) == (1, ["mia"])
    assert notify_appeals_closing(now=BEHIND + late - timedelta(hours=20)) == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda attack, stake: cast.ended(stake, StakeEnd.WITHDRAWN, at=attack.received_at),
            "the stake was returned before it was sent",
        ),
        (lambda attack, stake: Stake.objects.update(staked_at=RULED + DAY), "it began after the ruling"),
        (
            lambda attack, stake: Stake.objects.update(clock_from=MONDAY - 90 * DAY),
            "it was sent when its time was over",
        ),
        (lambda attack, stake: _withdrawn(attack), "the picture is not public"),
        (
            lambda attack, stake: cast.overruled(attack.image, at=RULED + timedelta(minutes=1)),
            "it is not valid any more",
        ),
    ],
)
def test_who_is_not_concerned_is_told_nothing(
    change: Callable[[Attack, Stake], Any], why: str, attack: Attack, stake: Stake
) -> None:
    cast.ruled(attack.image)
    change(attack, stake)
    assert notify_valid(now=LATER) == 0, why
    assert notify_appeals_closing(now=BEHIND - timedelta(hours=20)) == (why == "it is not valid any more"), why


# Breaks --------------------------------------------------------------------------------------------------------------


def test_senders_hear_of_breaks_and_makers_with_the_release(broke: Break, attack: Attack) -> None:
    assert (notify_broke(now=LATER - timedelta(seconds=1)), twice(notify_broke, LATER)) == (0, [1, 0])
    assert not lacking(text_of(BROKE, "carl"), "⚡ broke net", attack.public_id)
    assert notify_broken(now=LATER) == 0 and readers(BROKEN) == [], "not before the release (R24)"
    cast.released("2026-W47")
    assert (twice(notify_broken, SETTLED), readers(BROKEN)) == ([1, 0], ["mia"])
    assert f"By team red, receipt {attack.public_id}" in text_of(BROKEN, "mia")
    broke.pk, broke.ruling, broke.found_at = None, cast.ruled(attack.image, at=SETTLED), SETTLED
    broke.save(force_insert=True)
    told_later = [tell(now=SETTLED + DAY) for tell in (notify_broke, notify_broken)]
    assert told_later == [0, 0], "a second ruling of the same outcome is no news"


def test_a_break_that_does_not_hold_is_not_told(broke: Break, attack: Attack) -> None:
    cast.overruled(attack.image, at=RULED + timedelta(hours=1))
    cast.released("2026-W47")
    assert (notify_broke(now=LATER), notify_broken(now=LATER)) == (0, 0)


def test_a_picture_that_was_known_breaks_nothing_when_it_is_sent(red: Team, stake: Stake) -> None:
    """The same pixels, which an organizer had taken in, are sent by a team this week (R29): who is a secret (R24)."""
    image = factories.image(received_at=MONDAY, label_from=MONDAY, width=40, height=40)
    sent = Attack.objects.create(team=red, image=image, received_at=SETTLED - timedelta(hours=1), week="2026-W49")
    cast.broken(stake.defense, sent, found=cast.ruled(image).decided_at)
    cast.released("2026-W47")
    assert notify_broken(now=SETTLED) == 0


# Deadlines -----------------------------------------------------------------------------------------------------------


def test_a_day_before_appeals_close_both_sides_are_told_once(red: Team, stake: Stake) -> None:
    valid, rejected, late = (cast.attack(red, days=days) for days in (1, 2, 3))
    cast.ruled(valid.image)
    cast.ruled(rejected.image, "", at=RULED + timedelta(hours=3))
    cast.ruled(late.image, "", at=RULED + 3 * DAY)
    before = BEHIND - DAY
    assert notify_appeals_closing(now=before - timedelta(seconds=1)) == 0
    assert (twice(notify_appeals_closing, before), readers(CLOSING)) == ([1, 0], ["mia"]), "the defender's closes first"
    assert notify_appeals_closing(now=before + timedelta(hours=3)) == 1
    assert set(Message.objects.filter(kind=CLOSING).values_list("user__username", "rate")) == {
        (name, "at_once") for name in ("carl", "mia", "rosa")
    }
    ids = [valid.image.public_id, valid.public_id, rejected.public_id, late.public_id]
    assert [lacking(text_of(CLOSING, who), *ids) for who in ("mia", "carl")] == [ids[1:], [*ids[:2], ids[3]]]


def test_who_has_appealed_is_not_reminded(attack: Attack, makers: Team, stake: Stake) -> None:
    of_it = {"image": attack.image, "ruling": cast.ruled(attack.image)}
    dates = {"opened_at": RULED, "due_at": RULED + 14 * DAY}
    case = Case.objects.create(kind="picture", policy=factories.policy_version(), **of_it, **dates)
    said = {"side": AppealSide.DEFENDER.value, "argument": "It is a kite.", "sent_at": RULED}
    Appeal.objects.create(case=case, team=makers, defense=stake.defense, **of_it, **said)
    assert notify_appeals_closing(now=BEHIND - DAY) == 0


def test_a_question_without_an_answer_is_recalled_once(red: Team) -> None:
    asked = Entitlement.objects.create(
        team=red, kind="paper", state="question", arxiv_id="1809.08352", email="carl@example.org", asked_at=MONDAY
    )
    EntitlementStep.objects.create(entitlement=asked, kind="question", words="Which author?", made_at=MONDAY)
    due = MONDAY + UNANSWERED
    assert (notify_questions(now=due - timedelta(seconds=1)), twice(notify_questions, due)) == (0, [2, 0])
    assert "Which author?" in text_of(MessageKind.QUESTION_WAITING, "rosa")
    Entitlement.objects.update(state="asked")
    EntitlementStep.objects.create(entitlement=asked, kind="question", words="And when?", made_at=SETTLED)
    assert notify_questions(now=SETTLED + UNANSWERED) == 0, "it was answered"


# Organizing ----------------------------------------------------------------------------------------------------------


def test_a_failed_release_is_told_once_a_day(red: Team) -> None:
    organizer()

    def fails(at: datetime) -> None:
        ReleaseBuild.objects.create(week="2026-W47", state="failed", asked_at=at, ended_at=at, error="OSError: full")

    for minutes in (0, 10, 20):
        fails(SETTLED + timedelta(minutes=minutes))
    kind = MessageKind.RELEASE_FAILED
    assert (twice(notify_failed_releases, SETTLED + timedelta(hours=1)), readers(kind)) == ([1, 0], ["olga"])
    assert "OSError: full" in text_of(kind, "olga")
    fails(SETTLED + DAY)
    assert notify_failed_releases(now=SETTLED + DAY) == 1


def test_letters_given_up_are_told_once_a_day_and_not_of_themselves(red: Team) -> None:
    organizer()
    told(red)

    def all_are_given_up(at: datetime) -> list[int]:
        Message.objects.update(tries=MAX_TRIES, error="refused", not_before=at)
        return twice(notify_given_up, at)

    assert all_are_given_up(SETTLED) == [1, 0]
    assert "2 letters could not be sent" in text_of(MessageKind.LETTERS_GIVEN_UP, "olga")
    assert all_are_given_up(SETTLED + DAY) == [1, 0]
    Message.objects.exclude(kind=MessageKind.LETTERS_GIVEN_UP).delete()
    assert all_are_given_up(SETTLED + 2 * DAY) == [0, 0], "or it would tell of itself for ever"


def test_letters_lost_under_way_are_told_once_a_day(red: Team) -> None:
    organizer()
    told(red)
    Message.objects.update(taken_at=SETTLED, tries=1, error="no answer to the text")
    later = SETTLED + UNDER_WAY
    assert [twice(notify_given_up, at) for at in (later, later + DAY / 60, later + 2 * DAY)] == [[0, 0], [1, 0], [0, 0]]
    assert "no answer to the text" in text_of(MessageKind.LETTERS_GIVEN_UP, "olga")


# All of them ---------------------------------------------------------------------------------------------------------


def test_all_is_told_once_by_the_sweep(broke: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.released("2026-W47")
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    assert (write_messages.run(), notify_of_facts(now=LATER)) == (4, 0)
    assert {VERDICTS, VALID, BROKE, BROKEN} == set(Message.objects.values_list("kind", flat=True))


def test_a_kind_that_fails_silences_no_other_and_the_sweep_is_noted_as_failed(
    broke: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R18"""
    cast.released("2026-W47")
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    fails = Mock(side_effect=KeyError("defense"), __name__="notify_not_eligible")
    monkeypatch.setattr(sweeps, "_TELL", (fails, *sweeps._TELL[1:]))
    with pytest.raises(ExceptionGroup, match="not written: notify_not_eligible"):
        write_messages.run()
    assert {VERDICTS, VALID, BROKE, BROKEN} == set(Message.objects.values_list("kind", flat=True))
    assert SweepRun.objects.get(name=write_messages.name).failing_since == LATER


def test_a_sweep_looks_every_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "notify_of_facts", lambda *, now: (now - MONDAY).seconds + 1)
    moments = [MONDAY + timedelta(seconds=seconds) for seconds in (0, 299, 300)]
    assert [sweeps.notify_of_facts_periodically(now=each) for each in moments] == [1, 0, 301]


@pytest.mark.postgres("sweeps that write at the same time: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_many_sweeps_at_once_each_fact_is_told_once() -> None:
    red, makers = team("red", "carl"), team("makers", "mia")
    cast.deposit(10 * cast.PRIZE, organizer())
    stake = cast.staked(cast.defense("net", makers))
    for number in range(4):
        cast.broken(stake.defense, cast.attack(red, days=1 + number / 10), found=RULED)
    cast.released("2026-W47")
    at_once(*[partial(notify_of_facts, now=LATER)] * 4)
    kinds = Message.objects.exclude(user__username="olga").values_list("kind", flat=True)
    assert (notify_of_facts(now=LATER), NotifiedFact.objects.count()) == (0, 16)
    assert sorted(kinds) == sorted([VERDICTS, VALID, BROKE, BROKEN])
