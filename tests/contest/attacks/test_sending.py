"""Many pictures at once: each its own receipt or refusal, in order, and one letter."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from common.errors import InvalidInput, NotAllowed
from contest.attacks.sending import Outcome, pictures_send
from contest.attacks.services import attack_receive
from contest.attacks.uploads import Part
from contest.enums import MessageKind
from contest.messages.sending import messages_send
from contest.models import Attack, Message, Team
from labeling.policy import Policy
from labeling.refusals import refused
from tests.contest.attacks import cast
from tests.contest.attacks.cast import POLICY, picture, refusal

pytestmark = pytest.mark.django_db


@pytest.fixture
def red(now: datetime) -> Team:
    cast.policy()
    return cast.team("red", email="red@example.org")


def sent(team: Team, *parts: Part, now: datetime, numbers: Policy = POLICY, **more: Any) -> list[Outcome]:
    by = cast.captain(team)
    return pictures_send(team=team, by=by, parts=parts, policy=numbers, now=now, **{"targets": [], **more})


def codes(outcomes: list[Outcome]) -> list[str]:
    return [each.refused.code if each.refused else "received" for each in outcomes]


def test_one_bad_picture_does_not_refuse_the_others(red: Team, now: datetime) -> None:
    parts = [Part("a", picture(1)), Part("b", b"no picture"), Part("c", picture(1)), Part("d", picture(2))]
    outcomes = sent(red, *parts, Part("e", refused=refused("empty")), now=now)
    assert codes(outcomes) == ["received", "not_a_picture", "sent_before", "received", "empty"]
    assert [each.name for each in outcomes] == ["a", "b", "c", "d", "e"]
    assert outcomes[2].earlier == outcomes[0].attack
    assert len(set(Attack.objects.values_list("upload", flat=True))) == 1


def test_a_quota_that_runs_out_in_the_middle_refuses_the_rest(red: Team, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=2)
    parts = [Part(str(shade), picture(shade)) for shade in range(4)]
    assert codes(sent(red, *parts, now=now, numbers=numbers)) == ["received"] * 2 + ["quota_used"] * 2


def test_what_concerns_all_of_them_is_said_once(red: Team, now: datetime) -> None:
    assert refusal(InvalidInput, sent, red, Part("a", picture()), now=now, targets=["D-00000000"]).code == "not_staked"
    assert (
        refusal(NotAllowed, sent, cast.team("green", entitled=False), Part("a", picture()), now=now).code
        == "not_entitled"
    )
    assert not Attack.objects.exists()


def test_one_letter_has_all_the_receipts(
    red: Team, now: datetime, mailoutbox: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    defense = cast.staked("A net")
    with django_capture_on_commit_callbacks(execute=True):
        outcomes = sent(
            red,
            Part("heron.png", picture(1)),
            Part("x", b""),
            Part("b", picture(2)),
            now=now,
            targets=[defense.public_id],
        )
    messages_send(clock=lambda: now)
    (letter,) = mailoutbox
    assert (letter.to, letter.subject) == (["red@example.org"], "Receipts for 2 pictures")
    for each in outcomes:
        if each.attack:
            assert f"Receipt {each.attack.public_id}" in letter.body
            assert each.attack.image.pixels_sha256 in letter.body
            assert f"/attacks/{each.attack.public_id}/" in letter.body
    for words in (
        "arrived on Wed 18 Nov 2026 12:00:00 UTC, in week 2026-W47",
        "ends on Sat 21 Nov 2026 00:00:00 UTC",
        "quota for this day: 8",
        "heron.png",
        "Sent against: A net",
    ):
        assert words in letter.body


@pytest.mark.parametrize(("email", "parts", "why"), [("", [picture()], "no address"), ("a@b.org", [b""], "no receipt")])
def test_no_letter(
    email: str,
    parts: list[bytes],
    why: str,
    red: Team,
    now: datetime,
    mailoutbox: list[Any],
    django_capture_on_commit_callbacks: Any,
) -> None:
    blue = cast.team("blue", email=email)
    with django_capture_on_commit_callbacks(execute=True):
        sent(blue, *(Part("a", data) for data in parts), now=now)
    messages_send(clock=lambda: now)
    assert mailoutbox == [], why


# A process that dies --------------------------------------------------------------------------------------------------


class Died(Exception):
    """The process ends at a statement."""


def receipts() -> list[str]:
    rows = Message.objects.filter(kind=MessageKind.ATTACK_RECEIVED)
    return sorted(each["id"] for row in rows for each in row.facts["receipts"])


@pytest.mark.django_db(transaction=True)
def test_an_attack_and_its_receipt_are_recorded_together_wherever_the_process_dies(now: datetime) -> None:
    """Die at each statement that writes, until there are no more of them."""
    numbers = cast.policy(attacks_per_day=1_000)
    red = cast.team("red")
    by, recorded, halves = cast.captain(red), 0, set()

    def dies_at(number: int) -> bool:
        written = 0

        def die(execute: Any, sql: str, *rest: Any) -> Any:
            nonlocal written
            if sql.startswith(("INSERT", "UPDATE", "DELETE")):
                written += 1
                if written == number:
                    raise Died
            return execute(sql, *rest)

        parts = [Part(str(shade), picture(2 * number + shade)) for shade in range(2)]
        with connection.execute_wrapper(die):
            try:
                pictures_send(team=red, by=by, parts=parts, targets=[], policy=numbers, now=now)
            except Died:
                return True
        return False

    number = 1
    while dies_at(number):
        attacks = sorted(Attack.objects.values_list("public_id", flat=True))
        assert receipts() == attacks, f"dead at statement {number}"
        halves.add(len(attacks) - recorded)
        recorded, number = len(attacks), number + 1
    assert halves == {0, 1, 2} and number < 60


@pytest.mark.both("the letter of an upload is locked while a receipt is added")
def test_the_letter_of_an_upload_that_was_cut_off_leaves_a_minute_later(red: Team, now: datetime) -> None:
    by, first = cast.captain(red), {"team": red, "policy": POLICY, "targets": (), "upload": "ab"}
    attack_receive(**first, data=picture(1), now=now, by=by)
    assert messages_send(clock=lambda: now) == 0
    assert messages_send(clock=lambda: now + timedelta(minutes=1)) == 1
    late = attack_receive(**first, data=picture(2), now=now, by=by)
    assert Message.objects.get(key=late.public_id).facts["count"] == 1, "its letter has left: this one has its own"
