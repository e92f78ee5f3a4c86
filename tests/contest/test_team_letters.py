"""Letters to teams: each once, with what it tells of, never of what was rolled back, never of what is a secret."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from smtplib import SMTPException
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import BadHeaderError, EmailMessage
from django.core.mail.backends.locmem import EmailBackend
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.template import TemplateSyntaxError

from common.errors import Conflict
from contest.core.enums import AccountKind, MessageKind, StakeEnd
from contest.core.models import Attack, BoardDecision, Break, Member, Stake, Team
from contest.core.weeks import week_at
from contest.defenses import entries, stake_ends, staking
from contest.ledger.models import LedgerEntry
from contest.ledger.services import ledger_account
from contest.ledger.withholding import money_return, money_withhold
from contest.operations.metrics import pipeline_metrics
from contest.operations.overview import organizer_overview
from contest.operations.tasks import send_letters
from contest.outbox import letters, posting
from contest.outbox.models import Message
from contest.payments.corrections import correction_confirm, correction_request
from contest.payments.services import payment_pay, payment_request
from contest.prizes.sweeps import prizes_settle
from contest.simulation.contest import without_letters
from scoring.models import Defense
from tests import factories
from tests.contest.defenses import cast
from tests.contest.ledger import cast as moneyed
from tests.contest.ledger.cast import CLOSED, MONDAY, PRIZE, SETTLED
from tests.contest.notifications.cast import sent
from tests.contest.pages import lacking
from tests.factories import mandate

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
STAKED = factories.NOW  # a Wednesday
ENDED = STAKED + 6 * DAY  # its week is over, and what broke it was found
CAPTAIN, MEMBER = "cap-blue@example.org", "mem-blue@example.org"


def one(found: list[EmailMessage], subject: str, *words: str) -> str:
    """Return the text of letters that both members of team blue got, the same to each; it says these words."""
    assert sorted(each.to[0] for each in found) == [CAPTAIN, MEMBER]
    ((said, text),) = {(each.subject, str(each.body)) for each in found}
    assert (said, lacking(text, *words)) == (subject, [])
    return text


@pytest.fixture
def blue() -> Team:
    team = cast.team("blue")
    cast.funded()
    User.objects.update(email=Concat(F("username"), Value("@example.org")))
    return team


@pytest.fixture
def defense(blue: Team) -> Defense:
    return cast.published(blue, "steadfast", now=STAKED - DAY)


@pytest.fixture
def at_stake(defense: Defense) -> Stake:
    cast.staked(defense, now=STAKED)
    Message.objects.all().delete()
    return cast.stake(defense)


@pytest.fixture
def own(defense: Defense) -> Stake:
    """A stake that team blue paid for, and was told of."""
    stake = cast.self_staked(defense, STAKED)
    Message.objects.all().delete()
    return stake


@pytest.fixture(autouse=True)
def nobody_else_is_told(db: None) -> Iterator[None]:
    """Whatever a test does: no attacker, board member or organizer gets a letter about another team's defense."""
    yield
    kinds = [MessageKind.PUBLISHED, MessageKind.STAKED, MessageKind.STAKE_CHANGED]
    assert not Message.objects.filter(kind__in=kinds).exclude(team__name__in=["blue", "makers"]).exists()


# Defenses ------------------------------------------------------------------------------------------------------------

AT_STAKE, BROKEN, ENDS = "steadfast is at stake", "steadfast was broken", "The stake on steadfast ended"


def test_a_publication_is_told_once(blue: Team) -> None:
    made = cast.entry(blue, "steadfast", now=STAKED - DAY).defense
    assert entries.defenses_publish(policy=cast.policy(), now=STAKED) == 0
    assert not Message.objects.exists(), "it is not eligible yet"
    cast.eligible(made)
    assert [entries.defenses_publish(policy=cast.policy(), now=STAKED) for _ in range(2)] == [1, 0]
    one(
        sent(ENDED),
        "steadfast is published",
        *("published since Wed 18 Nov 2026 12:00:00 UTC", "for USD 1,000.00"),
        f"http://localhost:8000/defenses/{made.public_id}/",
        f"http://localhost:8000/team/defenses/{made.public_id}/",
    )
    assert sent(ENDED) == []


def test_a_publication_that_fails_tells_nobody_and_the_next_sweep_does(
    blue: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.eligible(cast.entry(blue, "steadfast", now=STAKED - DAY).defense)
    tell, dies = entries.notify_published, Mock(side_effect=SystemExit("killed before the end of the transaction"))
    with monkeypatch.context() as broken, pytest.raises(SystemExit):
        broken.setattr(entries, "notify_published", lambda *words, **more: (tell(*words, **more), dies()))
        entries.defenses_publish(policy=cast.policy(), now=STAKED)
    assert (sent(ENDED), entries.defenses_publish(policy=cast.policy(), now=STAKED), len(sent(ENDED))) == ([], 1, 2)


def test_a_stake_of_the_board_is_told(defense: Defense) -> None:
    batch = cast.staked(defense, now=STAKED)
    one(
        sent(ENDED),
        AT_STAKE,
        "since Wed 18 Nov 2026 12:00:00 UTC, for an attacker prize of USD 1,000.00",
        f"Batch {batch.public_id}, by these criteria:\nreproducible",
        "unbroken until Tue 16 Feb 2027 12:00 UTC",
    )


def test_a_stake_of_one_s_own_is_told_when_its_money_was_received(blue: Team, defense: Defense) -> None:
    asked = staking.stake_request(defense, by=cast.captain(blue), now=STAKED - DAY)
    assert sent(ENDED) == []
    staking.stake_receive(asked, "wire 7", by=cast.organizer(), now=STAKED)
    words = ("the payment of team blue was received", "for the USD 1,000.00 that your team paid")
    assert "Batch" not in one(sent(ENDED), AT_STAKE, *words)


def test_a_closed_one_is_told_that_it_cannot_win(blue: Team) -> None:
    """R33."""
    cast.staked(cast.published(blue, "shut", closed=True, now=STAKED - DAY), now=STAKED)
    one(sent(ENDED), "shut is at stake", "Its source is closed, so it cannot win")


# How a stake ends ----------------------------------------------------------------------------------------------------


def swept(at: datetime = ENDED) -> list[EmailMessage]:
    """What a sweep and its repetition send."""
    for _ in range(2):
        stake_ends.stakes_end(now=at)
    return sent(at)


Sent = list[tuple[float, str]]
BREAKS: list[tuple[str, tuple[str, ...], Sent, tuple[str, ...], tuple[str, ...], int]] = [
    # why, the released weeks, what was sent by whom, what is said, which teams and words are not, receipts
    (
        "before the release nobody is told by whom",
        (),
        [(1, "red")],
        (
            "the stake of USD 1,000.00 on steadfast ended on Mon 23 Nov 2026 12:00:00 UTC: steadfast was broken.",
            "Who broke it is published with the release of week 2026-W47.",
            "Until then other teams may join",
        ),
        ("team red",),
        0,
    ),
    (
        "a ruling after the release, for one, breaks it late",
        ("2026-W47",),
        [(1, "red")],
        ("steadfast was broken in week 2026-W47.", "team red, receipt", "Until then other teams may join"),
        ("with the release",),
        1,
    ),
    (
        "of two weeks the one that is released alone is told",
        ("2026-W48",),
        [(4, "told"), (1, "red")],
        (
            "team told, receipt",
            "Another break, of the same week or an earlier one, is published with the release of week 2026-W47.",
        ),
        ("team red",),
        1,
    ),
    (
        "only those of the earliest week are named, and not all of many",
        ("2026-W47", "2026-W48"),
        [*((1 + number / 1440, "red") for number in range(12)), (4, "late")],
        ("team red, receipt", "and 2 more pictures of that week"),
        ("team late",),
        10,
    ),
]


@pytest.mark.parametrize(
    ("why", "weeks", "attacks", "said", "unsaid", "receipts"), BREAKS, ids=[row[0] for row in BREAKS]
)
def test_who_broke_one_is_told_with_the_release_of_the_week(
    why: str, weeks: tuple[str, ...], attacks: Sent, said: tuple[str, ...], unsaid: tuple[str, ...], receipts: int,
    defense: Defense, at_stake: Stake,
) -> None:  # fmt: skip
    """R24."""
    moneyed.released(*weeks)
    teams = {name: cast.team(name) for name in {name for _, name in attacks}}
    for day, name in attacks:
        cast.broken(defense, STAKED + day * DAY, found=ENDED - DAY, by=teams[name])
    text = one(swept(ENDED + 7 * DAY), BROKEN, *said)
    known = [each for each in Attack.objects.all() if f"{each.team}, receipt {each.public_id}\n" in text]
    assert (len(known), [f"/attacks/{each.public_id}/" in text for each in known]) == (receipts, [True] * receipts)
    others = Attack.objects.exclude(pk__in=[each.pk for each in known])
    secrets = {secret for each in others for secret in (each.public_id, each.image.public_id, *unsaid)}
    secrets |= {each.public_id for name, each in teams.items() if f"team {name}" in unsaid}
    assert (set(lacking(text, *secrets)), lacking(text, *unsaid), sent(ENDED + 7 * DAY)) == (secrets, list(unsaid), [])


def test_the_same_pixels_under_embargo_are_nobody_s(defense: Defense, at_stake: Stake) -> None:
    """A picture of the organizers that a team sends this week: that it did is a secret until the week ends (R24)."""
    moneyed.released("2026-W47")
    proof, sent_at = cast.broken(defense, STAKED + DAY, found=ENDED), ENDED - DAY
    Attack.objects.create(team=cast.team("red"), image=proof.image, received_at=sent_at, week=week_at(sent_at).name)
    text = one(swept(), BROKEN, "in week 2026-W47")
    assert "red" not in text.replace("shared", "").replace("returned", "") and "2026-W48" not in text


def test_one_that_comes_back_is_told_and_so_is_its_next_end(defense: Defense, at_stake: Stake) -> None:
    red = cast.team("red")
    proof = cast.broken(defense, STAKED + 2 * DAY, found=ENDED, by=red)
    one(swept(), BROKEN)
    cast.broken(defense, STAKED + DAY, found=ENDED, by=red)
    assert swept(ENDED + timedelta(hours=1)) == [], "an earlier break of the same kind is no news"
    for each in (proof, Break.objects.latest("pk")):
        cast.overruled(each, at=ENDED + DAY)
    one(swept(ENDED + DAY), "steadfast is at stake again", "its stake of USD 1,000.00 is in force again")
    cast.broken(defense, STAKED + 3 * DAY, found=ENDED + 2 * DAY, by=red)
    one(swept(ENDED + 2 * DAY), BROKEN)


def test_a_void_one_is_told_what_becomes_of_the_money(defense: Defense, own: Stake) -> None:
    cast.broken(defense, STAKED - 10 * DAY, found=ENDED, by=cast.team("red"))
    text = one(
        swept(),
        "The stake on steadfast is void",
        *("steadfast was broken, before it was at stake", "the money goes back to your team"),
        "Who broke it is published with the release of week 2026-W46.",
    )
    assert "The prize is shared" not in text and "team red" not in text


def test_one_that_was_never_paid_is_told_that_nothing_is_to_be_paid(blue: Team, defense: Defense) -> None:
    staking.stake_request(defense, by=cast.captain(blue), now=STAKED)
    cast.broken(defense, STAKED + DAY, found=ENDED, by=cast.team("red"))
    words = ("broken before a payment for its stake was recorded", "Nothing is to be paid")
    one(swept(), "steadfast is not staked", *words)
    assert Stake.objects.get().end == StakeEnd.VOID


def taken_back(stake: Stake) -> None:
    """Let the board end a stake whose team asked for that."""
    staking.return_request(stake, "a bug", by=cast.captain(Team.objects.get(name="blue")), now=ENDED)
    by = mandate("return", cast.board(), ENDED)
    staking.return_decide(stake, granted=True, reason="The bug is real.", by=by, now=ENDED)


def ended(stake: Stake, end: StakeEnd, reason: str) -> None:
    told = {"subject": {}, "reason": reason, "policy": factories.policy_version(), "decided_at": ENDED}
    decision = BoardDecision.objects.create(kind="end", **told)
    stake_ends.stake_end(stake, end, now=ENDED, by=cast.board(), decision=decision)


AT = "on Tue 24 Nov 2026 12:00:00 UTC"
BY_BOARD: list[tuple[Callable[[Stake], None], str, tuple[str, ...]]] = [
    (
        taken_back,
        ENDS,
        (
            f"the review board ended the stake of USD 1,000.00 on steadfast {AT}",
            "back to the attackers' half",
            "Reason of the board: The bug is real.",
        ),
    ),
    (
        lambda stake: ended(stake, StakeEnd.OVERTAKEN, "Another one won."),
        ENDS,
        (
            f"the review board ended the stake of USD 1,000.00 on steadfast {AT}",
            "another defense was awarded first",
            "Reason of the board: Another one won.",
        ),
    ),
    (
        lambda stake: ended(stake, StakeEnd.WON, "Unbroken."),
        "steadfast won",
        (f"the review board awarded steadfast {AT}", "Reason of the board: Unbroken."),
    ),
]


@pytest.mark.parametrize(("act", "subject", "words"), BY_BOARD, ids=["taken back", "overtaken", "won"])
def test_one_that_the_board_ends_is_told_its_reason_once(
    act: Callable[[Stake], None], subject: str, words: tuple[str, ...], at_stake: Stake
) -> None:
    act(at_stake)
    with pytest.raises(Conflict):
        stake_ends.stake_end(at_stake, StakeEnd.WON, now=ENDED)
    one(sent(ENDED), subject, *words)


def test_one_taken_back_that_the_team_paid_has_a_letter_about_the_money_too(own: Stake) -> None:
    taken_back(own)
    found = {each.subject: str(each.body) for each in sent(ENDED) if each.to == [CAPTAIN]}
    assert sorted(found) == ["Posted for team blue: USD 1,000.00", ENDS]
    assert "What goes back to your team is in a letter of its own." in found[ENDS]


def test_one_that_was_taken_off_by_a_correction_is_told_why(own: Stake) -> None:
    entry, reason = LedgerEntry.objects.get(target__stake=own), "It was meant for another stake."
    asked = correction_request(entry=entry.pk, cents=own.cents, reason=reason, by=cast.organizer(), now=ENDED)
    correction_confirm(correction_id=asked.pk, by=factories.user("olaf", "organizers"), now=ENDED)
    text = one(
        sent(ENDED),
        ENDS,
        *("was recorded wrongly. The organizers corrected that", f"Reason of the organizers: {reason}"),
        "Nothing of it is posted to the account of your team",
    )
    assert "board" not in text and "letter of its own" not in text


def test_one_on_a_defense_that_was_taken_back_is_told_that_it_does_not_come_back(
    defense: Defense, at_stake: Stake
) -> None:
    proof = cast.broken(defense, STAKED + DAY, found=ENDED, by=cast.team("red"))
    swept()
    Defense.objects.filter(pk=defense.pk).update(retired_at=ENDED + DAY)
    cast.overruled(proof, at=ENDED + 2 * DAY)
    text = one(
        swept(ENDED + 2 * DAY),
        ENDS,
        "no break of steadfast stands any more. steadfast was taken back on Wed 25 Nov 2026 12:00:00 UTC",
        "does not come back into force. The money goes back to the attackers' half.",
    )
    assert "board" not in text


# Money ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def teams(olga: User) -> dict[str, Team]:
    """Red, green and makers with a member each; and a pool with money."""
    factories.policy_version()
    moneyed.deposit(4 * PRIZE, olga)
    made = {name: moneyed.team(name) for name in ("red", "green", "makers")}
    for name, each in made.items():
        Member.objects.create(team=each, user=factories.user(f"of-{name}"), captain=True)
    User.objects.update(email=Concat(F("username"), Value("@example.org")))
    return made


@pytest.fixture
def broken(teams: dict[str, Team]) -> Stake:
    """A stake that team red broke, whose week is to be settled."""
    stake = moneyed.staked(moneyed.defense("net", teams["makers"]))
    moneyed.broken(stake.defense, moneyed.attack(teams["red"]))
    moneyed.ended(stake)
    Message.objects.all().delete()
    return stake


@pytest.fixture
def settled(broken: Stake) -> Stake:
    """And which is settled, and told."""
    prizes_settle(now=SETTLED)
    sent(SETTLED)
    return broken


def to(name: str, found: list[EmailMessage], subject: str, *words: str) -> None:
    """There is one letter, which goes to this team and says these words."""
    (letter,) = found
    assert (letter.to, letter.subject) == ([f"of-{name}@example.org"], subject)
    assert not lacking(str(letter.body), *words)


def test_a_share_is_told_once_to_its_team_and_not_where_it_is_rolled_back(broken: Stake) -> None:
    with pytest.raises(SystemExit), transaction.atomic():
        prizes_settle(now=SETTLED)
        assert Message.objects.count() == 1
        raise SystemExit("killed")
    assert (sent(SETTLED), [prizes_settle(now=SETTLED) for _ in range(2)]) == ([], [1, 0])
    to(
        *("red", sent(SETTLED), "Posted for team red: USD 100.01"),
        "USD 100.01 by rule R35\nShare of the attacker prize: net was broken in week 2026-W47.",
        *("On the account now: USD 100.01.", "http://localhost:8000/team/money/"),
    )
    assert sent(SETTLED) == []


def test_a_correction_is_told_to_each_team_with_its_own_part_alone(settled: Stake, teams: dict[str, Team]) -> None:
    moneyed.broken(settled.defense, moneyed.attack(teams["green"], days=2))
    assert prizes_settle(now=CLOSED) == 1
    green, red = sorted(sent(CLOSED), key=lambda letter: letter.to)
    to("green", [green], "Posted for team green: USD 50.00")
    words = ("−USD 50.00 by rule R35\nCorrection: what is due for net changed", "On the account now: USD 50.01.")
    to("red", [red], "Correction for team red: −USD 50.00", *words)
    assert "green" not in red.body and "team red" not in green.body


def test_a_payment_is_told_when_it_was_marked_as_paid(settled: Stake, teams: dict[str, Team], olga: User) -> None:
    asked = payment_request(team=teams["red"], by=olga, now=CLOSED)
    assert sent(CLOSED) == []
    by = factories.user("olaf", "organizers")
    pay = partial(payment_pay, payment_id=asked.pk, reference="wire 4711", by=by, now=CLOSED)
    pay()
    with pytest.raises(Conflict):
        pay()
    words = ("Reference of the bank: wire 4711", "Left on the account: USD 0.00")
    to("red", sent(CLOSED), "USD 100.01 were paid to team red", *words)


def test_what_the_board_withholds_is_told_with_its_reason(settled: Stake, teams: dict[str, Team], rita: User) -> None:
    of = ledger_account(AccountKind.TEAM, team=teams["red"])
    money_withhold(of=of, cents=5_000, reason="Two teams are one.", by=mandate("withhold", rita, CLOSED), now=CLOSED)
    words = "Withheld by the board.\nReason of the board: Two teams are one."
    to("red", sent(CLOSED), "Posted for team red: −USD 50.00", words)
    money_return(of=of, reason="They are not.", by=mandate("return", rita, CLOSED), now=CLOSED)
    words = "Given back by the board.\nReason of the board: They are not."
    to("red", sent(CLOSED), "Posted for team red: USD 50.00", words)


def test_a_merged_team_is_told_under_its_present_name(broken: Stake, teams: dict[str, Team]) -> None:
    Member.objects.filter(team=teams["red"]).update(team=teams["green"], captain=False)
    Team.objects.filter(pk=teams["red"].pk).update(merged_into=teams["green"], merged_at=MONDAY + 3 * DAY)
    prizes_settle(now=SETTLED)
    assert {each.subject for each in sent(SETTLED)} == {"Posted for team green: USD 100.01"}


# Sending -------------------------------------------------------------------------------------------------------------


FAILURES: list[tuple[Any, str, Exception, str]] = [
    (letters, "write_message", TemplateSyntaxError("no such filter"), "its text cannot be made"),
    (letters, "write_message", KeyError("amount"), "a fact is missing"),
    (posting, "send_letter", BadHeaderError("two lines"), "its address is none"),
    (posting, "send_letter", UnicodeError("label too long"), "its domain is none"),
    (EmailBackend, "send_messages", SMTPException("try later"), "the server refuses it"),
]


@pytest.mark.parametrize(("of", "name", "error", "why"), FAILURES, ids=[row[3] for row in FAILURES])
def test_a_letter_that_fails_is_due_again_and_holds_up_no_other(
    of: Any, name: str, error: Exception, why: str, defense: Defense, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.staked(defense, now=STAKED)
    first = Message.objects.order_by("pk")[0]
    real, calls, fails = getattr(of, name), iter([True, False]), Mock(side_effect=error)
    with monkeypatch.context() as failing:
        failing.setattr(of, name, lambda *words, **more: (fails if next(calls) else real)(*words, **more))
        assert [each.to for each in sent(ENDED)] == [[MEMBER]], why
    first.refresh_from_db()
    assert (first.taken_at, first.tries, first.not_before) == (None, 1, ENDED + posting.AGAIN_AFTER)
    assert sent(ENDED) == [], "not at once"
    assert [each.to for each in sent(ENDED + posting.AGAIN_AFTER)] == [[CAPTAIN]]


def test_a_letter_that_fails_for_ever_is_given_up_and_organizers_see_it(
    defense: Defense, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.staked(defense, now=STAKED)
    monkeypatch.setattr(letters, "write_message", Mock(side_effect=KeyError("amount")))
    for number in range(posting.MAX_TRIES + 2):
        assert sent(ENDED + number * posting.AGAIN_AFTER) == []
    assert {each.tries for each in Message.objects.all()} == {posting.MAX_TRIES}
    shown = {
        tuple(sample.labels.values()): sample.value
        for metric in pipeline_metrics(now=ENDED)
        for sample in metric.samples
        if sample.name == "unanimous_letters_not_sent"
    }
    assert shown == {("due_again",): 0, ("given_up",): 2, ("lost_under_way",): 0}
    assert "2 letters failed to be sent" in [each.words for each in organizer_overview(now=ENDED)["waits"]]


Change = Callable[[User], object]
NOBODY: list[tuple[Change, bool, str]] = [
    (lambda user: Member.objects.filter(user=user).delete(), True, "left the team"),
    (lambda user: User.objects.filter(pk=user.pk).update(email=""), True, "has no address any more"),
    (lambda user: user.delete(), True, "deleted the account"),
    (lambda user: User.objects.filter(pk=user.pk).update(email=""), False, "had no address"),
    (lambda user: User.objects.filter(pk=user.pk).update(is_active=False), False, "had a closed account"),
]


@pytest.mark.parametrize(("change", "later", "why"), NOBODY, ids=[row[2] for row in NOBODY])
def test_who_cannot_be_told_has_no_letter(change: Change, later: bool, why: str, blue: Team, defense: Defense) -> None:
    user = cast.member(blue)
    if not later:
        change(user)
    cast.staked(defense, now=STAKED)
    if later:
        change(user)
    assert [each.to for each in sent(ENDED)] == [[CAPTAIN]], why
    assert sent(ENDED + 2 * DAY) == []


def test_the_sweep_is_among_the_others(defense: Defense) -> None:
    cast.staked(defense, now=STAKED)
    mail.outbox.clear()
    assert ([send_letters.run() for _ in range(2)], len(mail.outbox)) == ([2, 0], 2)


def test_nobody_of_a_simulation_is_written_to(defense: Defense) -> None:
    with without_letters():
        cast.staked(defense, now=STAKED)
    assert sent(ENDED) == []
