"""Uploads at the same moment, on real PostgreSQL: the quota, the same pixels, and a withdrawal (R25, R26)."""

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings

from contest.attacks.services import attack_receive, attack_withdraw
from contest.models import Attack, QuotaDay, Team
from contest.teams.merging import teams_merge
from labeling.models import Image
from labeling.policy import Policy
from labeling.services import panels_deal
from tests import factories
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, POLICY, picture, send
from tests.contest.board.at_once import at_once, codes

pytestmark = [pytest.mark.postgres("several at once: SQLite has one writer"), pytest.mark.django_db(transaction=True)]


def test_two_uploads_at_nine_of_ten_are_not_both_the_tenth(red: Team, now: datetime) -> None:
    for shade in range(9):
        send(red, shade, now=now)
    found = at_once(*[partial(send, red, shade, now=now) for shade in range(20, 26)])
    assert codes(found) == ["", *["quota_used"] * 5]
    folder = Path(settings.IMAGE_STORE_URL.removeprefix("file://"))
    assert len(list((folder / "pictures").glob("*/*"))) == 10, "who was too late left no file"
    assert (Attack.objects.count(), QuotaDay.objects.get().used) == (10, 10)
    assert sorted(Attack.objects.values_list("of_quota", flat=True)) == list(range(1, 11))


def test_the_same_picture_sent_at_once_is_one_attack_of_a_team(red: Team, now: datetime) -> None:
    blue, second = cast.team("blue"), timedelta(seconds=1)
    found = at_once(*[partial(send, red, now=now)] * 3, partial(send, blue, now=now - second))
    assert codes(found) == ["", "", "sent_before", "sent_before"]
    assert set(QuotaDay.objects.values_list("used", flat=True)) == {1}
    assert Attack.objects.get(team=red).copy_of == Attack.objects.get(team=blue), "the first is the first"
    assert Image.objects.get().received_at == now - second


def test_teams_that_were_merged_count_together_also_at_once(red: Team, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=4)
    blue, olga = cast.team("blue"), factories.user("olga", "organizers")
    send(blue, 90, now=now, numbers=numbers)
    teams_merge(team=blue, into=red, reason="One.", by=olga, now=now)
    takes = partial(attack_receive, policy=numbers, now=now)
    of_both = [
        (team, shade + (team == red)) for team in (red, Team.objects.get(pk=blue.pk)) for shade in (10, 20, 30, 40)
    ]
    found = at_once(*[partial(takes, team=team, data=picture(shade)) for team, shade in of_both])
    assert codes(found) == [""] * 3 + ["quota_used"] * 5 and Attack.objects.count() == 4


def test_a_withdrawal_and_the_dealing_at_once_leave_one_of_the_two(red: Team, now: datetime) -> None:
    by, moment = cast.captain(red), BOUNDARY - timedelta(milliseconds=1)
    for shade in range(6):
        attack = send(red, shade, now=now)
        at_once(
            partial(attack_withdraw, attack=attack, by=by, now=moment),
            partial(panels_deal, policy=POLICY, now=BOUNDARY),
        )
        attack.refresh_from_db()
        assert (attack.withdrawn_at is None) == attack.image.panels.exists()
