"""Letters to teams: each once, with what it tells of, never of what was rolled back, never of what is a secret."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import BadHeaderError, EmailMessage
from django.core.mail.backends.locmem import EmailBackend
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.template import TemplateSyntaxError
from django.utils.module_loading import import_string

from common.errors import Conflict
from contest import pipeline, posting
from contest.awards.settling import prizes_settle
from contest.enums import AccountKind, MessageKind, StakeEnd
from contest.health import pipeline_metrics
from contest.messages.sending import messages_send
from contest.models import Attack, BoardDecision, LedgerEntry, Member, Message, Release, Stake, Team
from contest.money.correcting import correction_ask, correction_confirm
from contest.money.ledger import account
from contest.money.payments import payment_ask, payment_pay
from contest.money.withholding import money_return, money_withhold
from contest.overview import overview
from contest.simulation.contest import without_letters
from contest.stakes import ends, entries, services
from contest.weeks import week_at
from scoring.models import Defense
from tests import factories
from tests.contest.money import cast as moneyed
from tests.contest.money.cast import CLOSED, MONDAY, PRIZE, SETTLED
from tests.contest.stakes import cast
from tests.factories import mandate

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
STAKED = factories.NOW  # a Wednesday
ENDED = STAKED + 6 * DAY  # its week is over, and what broke it was found
CAPTAIN, MEMBER = "cap-blue@example.org", "mem-blue@example.org"


def reached() -> None:
    """Give everybody an address."""
    User.objects.filter(email="").update(email=Concat(F("username"), Value("@example.org")))


def sent(now: datetime = ENDED) -> list[EmailMessage]:
    """Send what is due and return it."""
    mail.outbox.clear()
    number = messages_send(clock=lambda: now)
    assert number == len(mail.outbox)
    return list(mail.outbox)


def one(found: list[EmailMessage]) -> tuple[str, str]:
    """Return subject and text of letters that both members of team blue got, the same to each."""
    assert sorted(each.to[0] for each in found) == [CAPTAIN, MEMBER]
    assert len({(each.subject, each.body) for each in found}) == 1
    return found[0].subject, str(found[0].body)


@pytest.fixture
def blue() -> Team:
    team = cast.team("blue")
    cast.funded()
    reached()
    return team


@pytest.fixture
def defense(blue: Team) -> Defense:
    return cast.published(blue, "steadfast", now=STAKED - DAY)


@pytest.fixture
def at_stake(defense: Defense) -> Stake:
    batch = cast.staked(defense, now=STAKED)
    Message.objects.all().delete()
    assert batch.stakes.count() == 1
    return cast.stake(defense)


@pytest.fixture(autouse=True)
def nobody_else_is_told(db: None) -> Iterator[None]:
    """Whatever a test does: no attacker, board member or organizer gets a letter about another team's defense."""
    yield
    kinds = [MessageKind.PUBLISHED, MessageKind.STAKED, MessageKind.STAKE_CHANGED]
    assert not Message.objects.filter(kind__in=kinds).exclude(team__name__in=["blue", "makers"]).exists()


# Defenses ------------------------------------------------------------------------------------------------------------


def test_a_publication_is_told_once(blue: Team) -> None:
    made = cast.entry(blue, "steadfast", now=STAKED - DAY).defense
    assert entries.defenses_publish(policy=cast.policy(), now=STAKED) == 0
    assert not Message.objects.exists(), "it is not eligible yet"
    cast.eligible(made)
    assert [entries.defenses_publish(policy=cast.policy(), now=STAKED) for _ in range(2)] == [1, 0]
    subject, text = one(sent())
    assert subject == "steadfast is published"
    assert "published since Wed 18 Nov 2026 12:00:00 UTC" in text
    assert "for USD 1,000.00" in text
    assert f"http://127.0.0.1:8000/defenses/{made.public_id}/" in text
    assert f"http://127.0.0.1:8000/team/defenses/{made.public_id}/" in text
    assert sent() == []


def test_a_publication_that_fails_tells_nobody_and_the_next_sweep_does(
    blue: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.eligible(cast.entry(blue, "steadfast", now=STAKED - DAY).defense)

    def dies(*_: Any, **__: Any) -> None:
        raise SystemExit("killed before the end of the transaction")

    tell = entries.published_tell
    with monkeypatch.context() as broken:
        broken.setattr(entries, "published_tell", lambda *words, **more: (tell(*words, **more), dies()))
        with pytest.raises(SystemExit):
            entries.defenses_publish(policy=cast.policy(), now=STAKED)
    assert sent() == []
    assert entries.defenses_publish(policy=cast.policy(), now=STAKED) == 1
    assert len(sent()) == 2


def test_a_stake_of_the_board_is_told(defense: Defense) -> None:
    batch = cast.staked(defense, now=STAKED)
    subject, text = one(sent())
    assert subject == "steadfast is at stake"
    assert "since Wed 18 Nov 2026 12:00:00 UTC, for an attacker prize of USD 1,000.00" in text
    assert f"Batch {batch.public_id}, by these criteria:\nreproducible" in text
    assert "unbroken until Tue 16 Feb 2027 12:00 UTC" in text


def test_a_batch_that_is_refused_tells_nobody(blue: Team, defense: Defense) -> None:
    other = cast.entry(blue, "not published").defense
    with pytest.raises(Conflict):
        cast.staked(defense, other, now=STAKED)
    assert sent() == []


def test_a_stake_of_one_s_own_is_told_when_its_money_was_received(defense: Defense) -> None:
    asked = services.stake_ask(defense, by=cast.captain(Team.objects.get(name="blue")), now=STAKED - DAY)
    assert sent() == []
    services.stake_receive(asked, "wire 7", by=cast.organizer(), now=STAKED)
    _, text = one(sent())
    assert "the payment of team blue was received" in text
    assert "for the USD 1,000.00 that your team paid" in text
    assert "Batch" not in text


def test_a_closed_one_is_told_that_it_cannot_win(blue: Team) -> None:
    cast.staked(cast.published(blue, "shut", closed=True, now=STAKED - DAY), now=STAKED)
    _, text = one(sent())
    assert "Its source is closed, so it cannot win" in text


# How a stake ends ----------------------------------------------------------------------------------------------------


def swept(at: datetime = ENDED) -> list[EmailMessage]:
    """What a sweep and its repetition send."""
    for _ in range(2):
        ends.stakes_end(now=at)
    return sent(at)


def released(*weeks: str) -> None:
    """Publish weeks."""
    for week in weeks:
        Release.objects.create(week=week, manifest_sha256=week, counts={}, bytes=1, released_at=ENDED)


def test_a_broken_one_is_not_told_by_whom_before_the_release(defense: Defense, at_stake: Stake) -> None:
    red = cast.team("red")
    proof = cast.broken(defense, STAKED + DAY, found=ENDED - DAY, by=red)
    subject, text = one(swept())
    assert subject == "steadfast was broken"
    assert "the stake of USD 1,000.00 on steadfast ended on Mon 23 Nov 2026 12:00:00 UTC: steadfast was broken." in text
    assert "Who broke it is told with the release of week 2026-W47." in text
    for secret in ("team red", red.public_id, Attack.objects.get().public_id, proof.image.public_id):
        assert secret not in text, secret
    assert "Until then other teams may join" in text
    assert swept() == []


def test_a_broken_one_of_a_released_week_is_told_by_whom(defense: Defense, at_stake: Stake) -> None:
    """A ruling after the release, for one, breaks it late."""
    released("2026-W47")
    proof = cast.broken(defense, STAKED + DAY, found=ENDED - DAY, by=cast.team("red"))
    receipt = Attack.objects.get(image=proof.image).public_id
    _, text = one(swept())
    assert "steadfast was broken in week 2026-W47." in text
    assert f"team red, receipt {receipt}\nhttp://127.0.0.1:8000/attacks/{receipt}/" in text
    assert "with the release" not in text
    assert "Until then other teams may join" in text


def test_of_two_weeks_the_one_that_is_released_alone_is_told(defense: Defense, at_stake: Stake) -> None:
    now = ENDED + 7 * DAY
    released("2026-W48")
    cast.broken(defense, STAKED + 8 * DAY, found=now, by=cast.team("told"))
    cast.broken(defense, STAKED + DAY, found=now, by=cast.team("red"))
    _, text = one(swept(now))
    assert "team told, receipt" in text and "team red" not in text
    assert "Another break, of the same week or an earlier one, is told with the release of week 2026-W47." in text


def test_only_those_of_the_earliest_week_are_named_and_not_all_of_many(defense: Defense, at_stake: Stake) -> None:
    red, late = cast.team("red"), cast.team("late")
    released("2026-W47", "2026-W48")
    for number in range(12):
        cast.broken(defense, STAKED + DAY + timedelta(minutes=number), found=ENDED, by=red)
    cast.broken(defense, STAKED + 4 * DAY, found=ENDED, by=late)
    _, text = one(swept(ENDED + 7 * DAY))
    assert text.count("team red, receipt") == 10
    assert "and 2 more pictures of that week" in text
    assert "late" not in text.replace("later", "")


def test_the_same_pixels_under_embargo_are_nobody_s(defense: Defense, at_stake: Stake) -> None:
    """A picture of the organizers that a team sends this week: that it did is a secret until the week ends (R24)."""
    released("2026-W47")
    proof = cast.broken(defense, STAKED + DAY, found=ENDED)
    now = ENDED
    red = cast.team("red")
    Attack.objects.create(team=red, image=proof.image, received_at=now - DAY, week=week_at(now - DAY).name)
    _, text = one(swept(now))
    assert "red" not in text.replace("shared", "").replace("returned", "")
    assert "in week 2026-W47" in text and "2026-W48" not in text


def test_one_that_comes_back_is_told_and_so_is_its_next_end(defense: Defense, at_stake: Stake) -> None:
    red = cast.team("red")
    proof = cast.broken(defense, STAKED + DAY, found=ENDED, by=red)
    assert "was broken" in one(swept())[0]
    cast.overruled(proof, at=ENDED + DAY)
    subject, text = one(swept(ENDED + DAY))
    assert subject == "steadfast is at stake again"
    assert "its stake of USD 1,000.00 is in force again" in text
    cast.broken(defense, STAKED + 2 * DAY, found=ENDED + 2 * DAY, by=red)
    assert one(swept(ENDED + 2 * DAY))[0] == "steadfast was broken"


def test_an_earlier_break_of_the_same_kind_is_no_news(defense: Defense, at_stake: Stake) -> None:
    red = cast.team("red")
    cast.broken(defense, STAKED + 2 * DAY, found=ENDED, by=red)
    assert len(swept()) == 2
    cast.broken(defense, STAKED + DAY, found=ENDED - DAY, by=red)
    assert swept(ENDED + DAY) == []


def test_a_void_one_is_told_what_becomes_of_the_money(defense: Defense) -> None:
    cast.self_staked(defense, STAKED)
    Message.objects.all().delete()
    cast.broken(defense, STAKED - 10 * DAY, found=ENDED, by=cast.team("red"))
    subject, text = one(swept())
    assert subject == "The stake on steadfast is void"
    assert "steadfast was broken, before it was at stake" in text
    assert "Who broke it is told with the release of week 2026-W46." in text and "team red" not in text
    assert "the money goes back to your team" in text
    assert "The prize is shared" not in text


def test_one_that_was_never_paid_is_told_that_nothing_is_to_be_paid(defense: Defense) -> None:
    asked = services.stake_ask(defense, by=cast.captain(Team.objects.get(name="blue")), now=STAKED)
    cast.broken(defense, STAKED + DAY, found=ENDED, by=cast.team("red"))
    subject, text = one(swept())
    assert subject == "steadfast is not staked"
    assert "broken before a payment for its stake was recorded" in text and "Nothing is to be paid" in text
    asked.refresh_from_db()
    assert asked.end == StakeEnd.VOID


def test_one_taken_back_is_told_the_reason_of_the_board(defense: Defense, at_stake: Stake) -> None:
    services.return_ask(at_stake, "a bug", by=cast.captain(Team.objects.get(name="blue")), now=ENDED)
    services.return_decide(
        at_stake, granted=True, reason="The bug is real.", by=mandate("return", cast.board(), ENDED), now=ENDED
    )
    subject, text = one(sent())
    assert subject == "The stake on steadfast ended"
    assert "the review board ended the stake of USD 1,000.00 on steadfast on Tue 24 Nov 2026 12:00:00 UTC" in text
    assert "back to the attackers' half" in text
    assert "Reason of the board: The bug is real." in text


def test_one_taken_back_that_the_team_paid_has_a_letter_about_the_money_too(defense: Defense) -> None:
    own = cast.self_staked(defense, STAKED)
    Message.objects.all().delete()
    captain = cast.captain(Team.objects.get(name="blue"))
    services.return_ask(own, "a bug", by=captain, now=ENDED)
    services.return_decide(
        own, granted=True, reason="The bug is real.", by=mandate("return", cast.board(), ENDED), now=ENDED
    )
    found = {each.subject: str(each.body) for each in sent() if each.to == [CAPTAIN]}
    assert sorted(found) == ["Posted for team blue: USD 1,000.00", "The stake on steadfast ended"]
    assert "What goes back to your team is in a letter of its own." in found["The stake on steadfast ended"]


def test_one_that_was_taken_off_by_a_correction_is_told_why(defense: Defense) -> None:
    own = cast.self_staked(defense, STAKED)
    Message.objects.all().delete()
    entry = LedgerEntry.objects.get(target__stake=own)
    reason = "It was meant for another stake."
    asked = correction_ask(entry=entry.pk, cents=own.cents, reason=reason, by=cast.organizer(), now=ENDED)
    correction_confirm(correction_id=asked.pk, by=factories.user("olaf", "organizers"), now=ENDED)
    subject, text = one(sent())
    assert subject == "The stake on steadfast ended"
    assert "was recorded wrongly. The organizers corrected that" in text
    assert "Nothing of it is posted to the account of your team" in text
    assert f"Reason of the organizers: {reason}" in text
    assert "board" not in text and "letter of its own" not in text


def test_one_on_a_defense_that_was_taken_back_is_told_that_it_does_not_come_back(
    defense: Defense, at_stake: Stake
) -> None:
    proof = cast.broken(defense, STAKED + DAY, found=ENDED, by=cast.team("red"))
    swept()
    Defense.objects.filter(pk=defense.pk).update(retired_at=ENDED + DAY)
    cast.overruled(proof, at=ENDED + 2 * DAY)
    subject, text = one(swept(ENDED + 2 * DAY))
    assert subject == "The stake on steadfast ended"
    assert "no break of steadfast stands any more. steadfast was taken back on Wed 25 Nov 2026 12:00:00 UTC" in text
    assert "does not come back into force. The money goes back to the attackers' half." in text
    assert "board" not in text


def test_one_that_lost_the_race_is_told_by_whom_it_was_ended(defense: Defense, at_stake: Stake) -> None:
    decision = BoardDecision.objects.create(
        kind="end", subject={}, reason="Another one won.", policy=factories.policy_version(), decided_at=ENDED
    )
    ends.stake_end(at_stake, StakeEnd.OVERTAKEN, now=ENDED, by=cast.board(), decision=decision)
    _, text = one(sent())
    assert "the review board ended the stake of USD 1,000.00 on steadfast on Tue 24 Nov 2026 12:00:00 UTC" in text
    assert "another defense was awarded first" in text and "Reason of the board: Another one won." in text


def test_one_that_won_is_told(defense: Defense, at_stake: Stake) -> None:
    decision = BoardDecision.objects.create(
        kind="award", subject={}, reason="Unbroken.", policy=factories.policy_version(), decided_at=ENDED
    )
    ends.stake_end(at_stake, StakeEnd.WON, now=ENDED, by=cast.board(), decision=decision)
    subject, text = one(sent())
    assert subject == "steadfast won"
    assert "the review board awarded steadfast on Tue 24 Nov 2026 12:00:00 UTC" in text
    assert "Reason of the board: Unbroken." in text


def test_a_stake_that_cannot_end_twice_tells_once(at_stake: Stake) -> None:
    ends.stake_end(at_stake, StakeEnd.WON, now=ENDED)
    with pytest.raises(Conflict):
        ends.stake_end(at_stake, StakeEnd.WON, now=ENDED)
    assert len(sent()) == 2


# Money ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def teams(olga: User) -> dict[str, Team]:
    """Red, green and makers with a member each; and a pool with money."""
    factories.policy_version()
    moneyed.deposit(4 * PRIZE, olga)
    made = {name: moneyed.team(name) for name in ("red", "green", "makers")}
    for name, each in made.items():
        Member.objects.create(team=each, user=factories.user(f"of-{name}"), captain=True)
    reached()
    return made


@pytest.fixture
def broken(teams: dict[str, Team]) -> Stake:
    """A stake that team red broke, whose week is settled."""
    stake = moneyed.staked(moneyed.defense("net", teams["makers"]))
    moneyed.broken(stake.defense, moneyed.attack(teams["red"]))
    moneyed.ended(stake)
    Message.objects.all().delete()
    return stake


def to(name: str, found: list[EmailMessage]) -> EmailMessage:
    """Return the one letter, which goes to this team."""
    (letter,) = found
    assert letter.to == [f"of-{name}@example.org"]
    return letter


def test_a_share_is_told_once_to_its_team(broken: Stake) -> None:
    assert [prizes_settle(now=SETTLED) for _ in range(2)] == [1, 0]
    letter = to("red", sent(SETTLED))
    assert letter.subject == "Posted for team red: USD 100.01"
    assert "USD 100.01 by rule R35\nShare of the attacker prize: net was broken in week 2026-W47." in letter.body
    assert "On the account now: USD 100.01." in letter.body
    assert "http://127.0.0.1:8000/team/money/" in letter.body
    assert sent(SETTLED) == []


def test_a_posting_that_is_rolled_back_tells_nobody(broken: Stake) -> None:
    with pytest.raises(SystemExit), transaction.atomic():
        prizes_settle(now=SETTLED)
        assert Message.objects.count() == 1
        raise SystemExit("killed")
    assert sent(SETTLED) == []
    prizes_settle(now=SETTLED)
    assert len(sent(SETTLED)) == 1


def test_a_correction_is_told_to_each_team_with_its_own_part_alone(broken: Stake, teams: dict[str, Team]) -> None:
    prizes_settle(now=SETTLED)
    sent(SETTLED)
    moneyed.broken(broken.defense, moneyed.attack(teams["green"], days=2))
    assert prizes_settle(now=CLOSED) == 1
    found = {each.to[0]: each for each in sent(CLOSED)}
    assert sorted(found) == ["of-green@example.org", "of-red@example.org"]
    red, green = found["of-red@example.org"], found["of-green@example.org"]
    assert (red.subject, green.subject) == ("Correction for team red: −USD 50.00", "Posted for team green: USD 50.00")
    assert "−USD 50.00 by rule R35\nCorrection: what is due for net changed" in red.body
    assert "On the account now: USD 50.01." in red.body
    assert "green" not in red.body and "team red" not in green.body


def test_a_payment_is_told_when_it_was_marked_as_paid(broken: Stake, teams: dict[str, Team], olga: User) -> None:
    prizes_settle(now=SETTLED)
    sent(SETTLED)
    asked = payment_ask(team=teams["red"], by=olga, now=CLOSED)
    assert sent(CLOSED) == []
    olaf = factories.user("olaf", "organizers")
    payment_pay(payment_id=asked.pk, reference="wire 4711", by=olaf, now=CLOSED)
    letter = to("red", sent(CLOSED))
    assert letter.subject == "USD 100.01 were paid to team red"
    assert "Reference of the bank: wire 4711" in letter.body and "Left on the account: USD 0.00" in letter.body
    with pytest.raises(Conflict):
        payment_pay(payment_id=asked.pk, reference="wire 4711", by=olaf, now=CLOSED)
    assert sent(CLOSED) == []


def test_what_the_board_withholds_is_told_with_its_reason(broken: Stake, teams: dict[str, Team], rita: User) -> None:
    prizes_settle(now=SETTLED)
    sent(SETTLED)
    of = account(AccountKind.TEAM, team=teams["red"])
    money_withhold(of=of, cents=5_000, reason="Two teams are one.", by=mandate("withhold", rita, CLOSED), now=CLOSED)
    taken = to("red", sent(CLOSED))
    assert taken.subject == "Posted for team red: −USD 50.00"
    assert "Withheld by the board.\nReason of the board: Two teams are one." in taken.body
    money_return(of=of, reason="They are not.", by=mandate("return", rita, CLOSED), now=CLOSED)
    assert "Given back by the board.\nReason of the board: They are not." in to("red", sent(CLOSED)).body


def test_a_merged_team_is_told_under_its_present_name(broken: Stake, teams: dict[str, Team]) -> None:
    Member.objects.filter(team=teams["red"]).update(team=teams["green"], captain=False)
    Team.objects.filter(pk=teams["red"].pk).update(merged_into=teams["green"], merged_at=MONDAY + 3 * DAY)
    prizes_settle(now=SETTLED)
    assert {each.subject for each in sent(SETTLED)} == {"Posted for team green: USD 100.01"}


# Sending -------------------------------------------------------------------------------------------------------------


def test_a_sweep_that_dies_repeats_no_letter(defense: Defense, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.staked(defense, now=STAKED)
    delivered: list[list[str]] = []

    def dies_after_the_first(message: EmailMessage) -> None:
        delivered.append(message.to)
        raise SystemExit("killed")

    with monkeypatch.context() as dying:
        dying.setattr(posting, "send", dies_after_the_first)
        with pytest.raises(SystemExit):
            messages_send(clock=lambda: ENDED)
    assert delivered + [each.to for each in sent()] == [[CAPTAIN], [MEMBER]]


def test_a_letter_the_server_refuses_is_due_again(defense: Defense, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.staked(defense, now=STAKED)

    def refuse(*_: Any) -> int:
        raise SMTPException("try later")

    with monkeypatch.context() as refusing:
        refusing.setattr(EmailBackend, "send_messages", refuse)
        assert sent() == []
    assert sent() == [], "not at once"
    assert len(sent(ENDED + posting.AGAIN_AFTER)) == 2


def _fails(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


FAILURES: list[tuple[str, Exception, str]] = [
    ("contest.messages.letters.written", TemplateSyntaxError("no such filter"), "its text cannot be made"),
    ("contest.messages.letters.written", KeyError("amount"), "a fact is missing"),
    ("contest.posting.send", BadHeaderError("two lines"), "its address is none"),
    ("contest.posting.send", UnicodeError("label too long"), "its domain is none"),
]


@pytest.mark.parametrize(("what", "error", "why"), FAILURES, ids=[row[2] for row in FAILURES])
def test_a_letter_that_fails_is_due_again_and_holds_up_no_other(
    what: str, error: Exception, why: str, defense: Defense, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.staked(defense, now=STAKED)
    first = Message.objects.order_by("pk")[0]
    real, calls = import_string(what), iter([True, False])
    fails = _fails(error)
    with monkeypatch.context() as failing:
        failing.setattr(what, lambda *words, **more: (fails if next(calls) else real)(*words, **more))
        assert [each.to for each in sent()] == [[MEMBER]], why
    first.refresh_from_db()
    assert (first.taken_at, first.tries, first.not_before) == (None, 1, ENDED + posting.AGAIN_AFTER)
    assert sent() == [], "not at once"
    assert [each.to for each in sent(ENDED + posting.AGAIN_AFTER)] == [[CAPTAIN]]


def test_a_letter_that_fails_for_ever_is_given_up_and_organizers_see_it(
    defense: Defense, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.staked(defense, now=STAKED)
    monkeypatch.setattr("contest.messages.letters.written", _fails(KeyError("amount")))
    for number in range(posting.MOST_TRIES + 2):
        assert sent(ENDED + number * posting.AGAIN_AFTER) == []
    assert {each.tries for each in Message.objects.all()} == {posting.MOST_TRIES}
    shown = {
        tuple(sample.labels.values()): sample.value
        for metric in pipeline_metrics(now=ENDED)
        for sample in metric.samples
        if sample.name == "unanimous_letters_not_sent"
    }
    assert shown == {("due_again",): 0, ("given_up",): 2}
    assert "2 letters failed to be sent" in [each.words for each in overview(now=ENDED).attention]


Change = Callable[[User], object]
NOBODY: list[tuple[Change, str]] = [
    (lambda user: Member.objects.filter(user=user).delete(), "left the team"),
    (lambda user: User.objects.filter(pk=user.pk).update(email=""), "has no address any more"),
    (lambda user: user.delete(), "deleted the account"),
]


@pytest.mark.parametrize(("change", "why"), NOBODY, ids=[row[1] for row in NOBODY])
def test_who_is_not_in_the_team_any_more_is_not_told(change: Change, why: str, blue: Team, defense: Defense) -> None:
    cast.staked(defense, now=STAKED)
    user = cast.member(blue)
    change(User.objects.get(pk=user.pk))
    assert [each.to for each in sent()] == [[CAPTAIN]], why
    assert sent(ENDED + 2 * DAY) == []


@pytest.mark.parametrize("values", [{"email": ""}, {"is_active": False}], ids=["no address", "closed account"])
def test_who_cannot_be_reached_has_no_letter(values: dict[str, Any], blue: Team, defense: Defense) -> None:
    User.objects.filter(pk=cast.member(blue).pk).update(**values)
    cast.staked(defense, now=STAKED)
    assert [each.to for each in sent()] == [[CAPTAIN]]


def test_the_sweep_is_among_the_others(defense: Defense) -> None:
    cast.staked(defense, now=STAKED)
    mail.outbox.clear()
    assert pipeline.QUEUES["slow"]["letters sent"]() == 2
    assert pipeline.QUEUES["slow"]["letters sent"]() == 0
    assert len(mail.outbox) == 2


def test_nobody_of_a_simulation_is_written_to(defense: Defense) -> None:
    with without_letters():
        cast.staked(defense, now=STAKED)
    assert sent() == []
