"""A team's picture (R2, R23, R24, R26): bit-exact, once per team, labeled when its week has ended."""

from datetime import UTC, datetime
from typing import Any

import pytest

from common.errors import Conflict
from contest import attacks
from contest.attacks import attack_receive
from contest.models import Attack, Team
from labeling.images import PictureRefused
from labeling.models import Image
from labeling.png import encode_png
from labeling.policy import Policy

pytestmark = pytest.mark.django_db
POLICY = Policy(image_size=16)


def picture(shade: int = 7, side: int = 16) -> bytes:
    return encode_png(side, side, bytes([shade]) * (side * side * 3))


@pytest.fixture
def red(now: datetime) -> Team:
    return Team.objects.create(name="red", created_at=now)


@pytest.fixture
def blue(now: datetime) -> Team:
    return Team.objects.create(name="blue", created_at=now)


def test_waits_for_the_end_of_its_week(red: Team, now: datetime) -> None:
    attack = attack_receive(team=red, data=picture(), policy=POLICY, now=now)
    assert (attack.received_at, attack.image.origin) == (now, "attack")
    assert attack.image.label_from == datetime(2026, 11, 21, tzinfo=UTC)


def test_the_same_pixels_by_the_same_team_are_refused(red: Team, now: datetime) -> None:
    attack_receive(team=red, data=picture(), policy=POLICY, now=now)
    with pytest.raises(Conflict) as refusal:
        attack_receive(team=red, data=picture(), policy=POLICY, now=now)
    assert refusal.value.code == "sent_before"
    assert Attack.objects.count() == 1


def test_the_same_pixels_by_another_team_are_its_own_attack_on_the_same_image(
    red: Team, blue: Team, now: datetime
) -> None:
    images = {attack_receive(team=team, data=picture(), policy=POLICY, now=now).image_id for team in (red, blue)}
    assert (len(images), Attack.objects.count()) == (1, 2)


def test_the_wrong_size_is_refused_and_leaves_nothing(red: Team, now: datetime) -> None:
    with pytest.raises(PictureRefused):
        attack_receive(team=red, data=picture(side=17), policy=POLICY, now=now)
    assert not Image.objects.exists()


def test_a_picture_that_was_not_meant_to_be_labeled_is_labeled_now(red: Team, now: datetime) -> None:
    attack = attack_receive(team=red, data=picture(), policy=POLICY, now=now)
    Image.objects.update(label_from=None)
    Attack.objects.all().delete()
    attack = attack_receive(team=red, data=picture(), policy=POLICY, now=now)
    attack.image.refresh_from_db()
    assert attack.image.label_from is not None


def test_a_crash_in_the_middle_leaves_no_image_without_its_attack(
    red: Team, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(**_: Any) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr(attacks.Attack.objects, "create", crash)
    with pytest.raises(RuntimeError):
        attack_receive(team=red, data=picture(), policy=POLICY, now=now)
    assert not Image.objects.exists()
