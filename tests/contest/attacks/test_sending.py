"""Many pictures at once: each its own receipt or refusal, in order, and one letter."""

from datetime import datetime
from typing import Any

import pytest

from common.errors import InvalidInput, NotAllowed
from contest.attacks.sending import Outcome, pictures_send
from contest.attacks.uploads import Part
from contest.messages.sending import messages_send
from contest.models import Attack, Team
from labeling.policy import Policy
from labeling.refusals import refused
from tests.contest.attacks import cast
from tests.contest.attacks.cast import POLICY, picture

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
    with pytest.raises(InvalidInput) as unknown:
        sent(red, Part("a", picture()), now=now, targets=["D-00000000"])
    assert unknown.value.code == "not_staked"
    with pytest.raises(NotAllowed) as refusal:
        sent(cast.team("green", entitled=False), Part("a", picture()), now=now)
    assert refusal.value.code == "not_entitled"
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
