"""The public page of a team (R24, R39): what it sent after its week, what came of it with the release, what it won."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from contest.awards.settling import prizes_settle
from contest.models import Attack, Break, LedgerEntry, Release, Stake, Team
from contest.rules import week_named
from contest.teams import public
from labeling.models import Tasker
from tests.contest.money import cast

pytestmark = pytest.mark.django_db
W47 = week_named("2026-W47", "UTC")


class World:
    """Team red broke blue's defense in week 2026-W47, and its other picture was rejected."""

    def __init__(self, olga: Any) -> None:
        cast.deposit(100_000_00, olga)
        self.red, self.blue = cast.team("red"), cast.team("blue")
        self.defense = cast.defense("brittle", self.blue)
        self.stake = cast.staked(self.defense)
        self.breaks = cast.attack(self.red)
        self.rejected = cast.attack(self.red, days=2)
        self.copy = cast.attack(self.blue, days=3, image=self.breaks.image, copy_of=self.breaks)
        self.later = cast.attack(self.red, days=7)

    def judge(self) -> None:
        """Rule on what was sent, find the break, end the stake and give the prize."""
        cast.ruled(self.rejected.image, "")
        cast.broken(self.defense, self.breaks)
        cast.ended(self.stake)
        assert prizes_settle(now=cast.SETTLED) == 1

    def release(self) -> None:
        Release.objects.create(
            week=W47.name, manifest_sha256="a", counts={}, bytes=1, released_at=cast.SETTLED + timedelta(hours=1)
        )


@pytest.fixture
def world(policy: None, olga: Any) -> World:
    return World(olga)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    def set_to(moment: datetime) -> None:
        cache.clear()
        monkeypatch.setattr(timezone, "now", lambda: moment)

    return set_to


def page(team: Team, show: str = "", client: Client | None = None) -> str:
    answer = (client or Client()).get(f"/teams/{team.public_id}/?show={show}")
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def words(team: Team, show: str = "") -> str:
    return re.sub(r"\s+", " ", strip_tags(page(team, show).partition("<main")[2].replace("<", " <")))


def test_nothing_under_embargo_is_there_nor_counted(world: World, at: Any) -> None:
    at(W47.end - timedelta(seconds=1))
    shown = page(world.red)
    assert "Pictures sent 0" in words(world.red) and "No attack of this team is public." in shown
    assert not [each for each in Attack.objects.all() if each.public_id in shown or each.image.public_id in shown]


def test_attacks_are_public_when_their_week_is_over(world: World, at: Any) -> None:
    at(W47.end)
    shown = page(world.red)
    assert {each.public_id for each in Attack.objects.filter(team=world.red) if each.public_id in shown} == {
        world.breaks.public_id,
        world.rejected.public_id,
    }
    assert "Pictures sent 2" in words(world.red)


def test_what_came_of_them_is_told_with_the_release(world: World, at: Any) -> None:
    world.judge()
    at(cast.SETTLED)
    for show in public.KINDS:
        shown = words(world.red, show)
        assert "Valid 0 Breaks 0 Won USD 0.00" in shown
        for told in ("brittle", "rejected", "broke 1", "Prizes", "Sum"):
            assert told not in shown, f"{told} before the release, with show={show}"
    world.release()
    at(cast.SETTLED + timedelta(hours=2))
    shown = words(world.red)
    assert "Pictures sent 3 in weeks that are over Valid 1 Breaks 1 of 1 defense Won USD 100.01" in shown
    assert "broke 1 defense brittle" in shown and "rejected a tasker was not sure" in shown
    entry = LedgerEntry.objects.get(rule="R35")
    whole = page(world.red)
    assert f"before={entry.pk + 1}#entry-{entry.pk}" in whole
    assert f'href="/attacks/{world.breaks.public_id}/"' in whole
    assert f'href="/defenses/{world.defense.public_id}/"' in whole


@pytest.mark.parametrize(
    ("show", "named"),
    [
        ("", {"breaks", "rejected"}),
        ("x", {"breaks", "rejected"}),
        ("valid", {"breaks"}),
        ("rejected", {"rejected"}),
        ("broke", {"breaks"}),
    ],
)
def test_which_attacks_are_listed(show: str, named: set[str], world: World, at: Any) -> None:
    world.judge()
    world.release()
    Attack.objects.filter(pk=world.later.pk).delete()
    at(cast.SETTLED + timedelta(hours=2))
    listed = page(world.red, show).partition('id="attacks"')[2]
    assert {name for name in ("breaks", "rejected") if getattr(world, name).public_id in listed} == named


def test_a_copy_is_listed_and_counts_for_nobody(world: World, at: Any) -> None:
    world.judge()
    world.release()
    at(cast.SETTLED + timedelta(hours=2))
    shown = words(world.blue)
    assert "Pictures sent 1 in weeks that are over Valid 0 Breaks 0 Won USD 0.00" in shown
    assert f"same pixels as {world.breaks.public_id}" in shown
    assert "brittle" in shown.partition("Defenses")[2] and "broken" in shown.partition("Defenses")[2]


def test_a_break_that_does_not_hold_any_more_is_gone(world: World, at: Any) -> None:
    world.judge()
    world.release()
    cast.overruled(world.breaks.image, at=cast.SETTLED)
    at(cast.SETTLED + timedelta(hours=2))
    assert "Valid 0 Breaks 0" in words(world.red)
    assert Break.objects.exists() and Stake.objects.exists()


def test_its_own_defense_is_told_and_not_counted(world: World, at: Any) -> None:
    own = cast.defense("own", world.red)
    cast.broken(own, world.breaks)
    world.release()
    at(cast.SETTLED + timedelta(hours=2))
    shown = words(world.red)
    assert "Breaks 0" in shown and "own its own, does not count" in shown


def test_a_team_that_became_part_of_another_is_shown_with_it(world: World, at: Any) -> None:
    green = cast.team("green")
    Team.objects.filter(pk=world.red.pk).update(merged_into=green, merged_at=cast.SETTLED)
    world.judge()
    world.release()
    at(cast.SETTLED + timedelta(hours=2))
    shown = words(green)
    assert "Pictures sent 3" in shown and "team red" in shown and "Valid 1 Breaks 1" in shown
    assert "Pictures sent 3" in words(world.red), "what it sent stays under its own name"


def test_pages_of_attacks(world: World, at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contest.teams.public_views.ON_A_PAGE", 1)
    at(W47.end)
    first = page(world.red)
    assert "Page 1 of 2" in first and world.rejected.public_id in first and world.breaks.public_id not in first
    second = Client().get(f"/teams/{world.red.public_id}/?page=2").content.decode()
    assert world.breaks.public_id in second


def test_the_number_of_questions_does_not_grow(world: World, at: Any) -> None:
    world.judge()
    world.release()
    at(cast.SETTLED + timedelta(hours=2))
    few = questions(world.red)
    for number in range(8):
        cast.broken(world.defense, cast.attack(world.red, days=1 + number / 100))
    assert questions(world.red) == few


def questions(team: Team) -> int:
    cache.clear()
    with CaptureQueriesContext(connection) as asked:
        page(team)
    return len(asked)


def test_who_labels_learns_nothing_of_attacks(world: World, at: Any, tara: Tasker, signed_in: Any) -> None:
    at(W47.end)
    refused = signed_in(tara).get(f"/teams/{world.red.public_id}/")
    assert refused.status_code == 403
    page_shown = refused.content.decode()
    assert "Pictures sent" not in page_shown and world.breaks.public_id not in page_shown


def test_an_attack_leads_to_its_team_and_says_what_it_won(world: World, at: Any) -> None:
    world.judge()
    at(cast.SETTLED)
    address = f"/attacks/{world.breaks.public_id}/"
    before = Client().get(address).content.decode()
    assert f'href="/teams/{world.red.public_id}/"' in before and "What it won" not in before
    world.release()
    at(cast.SETTLED + timedelta(hours=2))
    after = Client().get(address).content.decode()
    assert "What it won" in after and "USD 100.01" in after
    assert "What it won" not in Client().get(f"/attacks/{world.rejected.public_id}/").content.decode()


def test_a_defense_says_who_broke_it_and_a_week_leads_to_its_attacks(world: World, at: Any) -> None:
    world.judge()
    at(cast.SETTLED)
    defense, week = f"/defenses/{world.defense.public_id}/", f"/weeks/{W47.name}/"
    assert "What broke it" not in Client().get(defense).content.decode()
    shown = Client().get(week).content.decode()
    assert f'href="/attacks/{world.breaks.public_id}/"' in shown and "brittle" not in shown and "rejected" not in shown
    world.release()
    at(cast.SETTLED + timedelta(hours=2))
    told = Client().get(defense).content.decode().partition("What broke it")[2]
    assert f'href="/record/{world.breaks.image.public_id}/"' in told and f'href="/teams/{world.red.public_id}/"' in told
    shown = Client().get(week).content.decode()
    assert f'href="{defense}"' in shown and "a tasker was not sure" in shown


def test_a_picture_of_the_contest_itself_breaks_nothing(world: World, at: Any) -> None:
    image = world.breaks.image
    world.judge()
    image.origin, image.label_from = "dataset", cast.MONDAY
    image.save()
    world.release()
    at(cast.SETTLED + timedelta(hours=2))
    page = Client().get(f"/defenses/{world.defense.public_id}/").content.decode()
    assert "Pictures that broke it</dt><dd>0<" in page
    assert "Breaks 0" in words(world.red)
