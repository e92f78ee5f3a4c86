"""The public page of a team (R24, R39): what it sent after its week, what came of it with the release, what it won."""

import re
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
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
from tests import factories
from tests.contest.money import cast

pytestmark = pytest.mark.django_db
W47 = week_named("2026-W47", "UTC")
At = Callable[[datetime], None]


class World:
    """Team red broke blue's defense in week 2026-W47, its other picture was rejected, and the prize is given."""

    def __init__(self) -> None:
        factories.policy_version()
        cast.deposit(100_000_00, factories.user("sponsor", "organizers"))
        self.red, self.blue = cast.team("red"), cast.team("blue")
        self.defense = cast.defense("brittle", self.blue)
        stake = cast.staked(self.defense)
        self.breaks = cast.attack(self.red)
        self.rejected = cast.attack(self.red, days=2)
        self.copy = cast.attack(self.blue, days=3, image=self.breaks.image, copy_of=self.breaks)
        self.later = cast.attack(self.red, days=7)
        cast.ruled(self.rejected.image, "")
        cast.broken(self.defense, self.breaks)
        cast.ended(stake)
        assert prizes_settle(now=cast.SETTLED) == 1


@pytest.fixture(scope="module")
def shared(module_world: Path) -> World:
    return World()


@pytest.fixture
def world(shared: World) -> World:
    return deepcopy(shared)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    def set_to(moment: datetime) -> None:
        cache.clear()
        monkeypatch.setattr(timezone, "now", lambda: moment)

    return set_to


@pytest.fixture
def release(at: At) -> Callable[[], None]:
    """Return a function that releases the week, and looks an hour later."""

    def _release() -> None:
        told = {"manifest_sha256": "a", "counts": {}, "bytes": 1, "released_at": cast.SETTLED + timedelta(hours=1)}
        Release.objects.create(week=W47.name, **told)
        at(cast.SETTLED + timedelta(hours=2))

    return _release


def read(address: str) -> str:
    answer = Client().get(address)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def page(team: Team, show: str = "") -> str:
    return read(f"/teams/{team.public_id}/?show={show}")


def words(team: Team, show: str = "") -> str:
    return re.sub(r"\s+", " ", strip_tags(page(team, show).partition("<main")[2].replace("<", " <")))


def test_attacks_are_public_when_their_week_is_over(world: World, at: At, tara: Tasker, signed_in: Any) -> None:
    """R24; who labels learns nothing of them even then (R8)."""
    at(W47.end - timedelta(seconds=1))
    shown = page(world.red)
    assert "Pictures sent 0" in words(world.red) and "No attack of this team is public." in shown
    assert not [each for each in Attack.objects.all() if each.public_id in shown or each.image.public_id in shown]
    at(W47.end)
    shown, sent = page(world.red), [world.breaks.public_id, world.rejected.public_id]
    found = Attack.objects.filter(team=world.red).order_by("pk")
    assert [each.public_id for each in found if each.public_id in shown] == sent
    assert "Pictures sent 2" in words(world.red)
    refused = signed_in(tara).get(f"/teams/{world.red.public_id}/")
    assert refused.status_code == 403
    assert "Pictures sent" not in refused.content.decode() and sent[0] not in refused.content.decode()


def test_what_came_of_them_is_told_with_the_release(world: World, at: At, release: Any) -> None:
    """R24: of a break, its prize and a rejection nothing is said before."""
    at(cast.SETTLED)
    for show in public.KINDS:
        shown = words(world.red, show)
        assert "Valid 0 Breaks 0 Won USD 0.00" in shown
        for told in ("brittle", "rejected", "broke 1", "Prizes", "Sum"):
            assert told not in shown, f"{told} before the release, with show={show}"
    release()
    shown = words(world.red)
    assert "Pictures sent 3 in weeks that are over Valid 1 Breaks 1 of 1 defense Won USD 100.01" in shown
    assert "broke 1 defense brittle" in shown and "rejected a tasker was not sure" in shown
    entry = LedgerEntry.objects.get(rule="R35")
    whole = page(world.red)
    assert f"before={entry.pk + 1}#entry-{entry.pk}" in whole
    assert f'href="/attacks/{world.breaks.public_id}/"' in whole
    assert f'href="/defenses/{world.defense.public_id}/"' in whole


BOTH = (True, True)
LISTED = {"": BOTH, "x": BOTH, "valid": (True, False), "rejected": (False, True), "broke": (True, False)}


def test_which_attacks_are_listed(world: World, release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Attack.objects.filter(pk=world.later.pk).delete()
    release()
    for show, expected in LISTED.items():
        listed = page(world.red, show).partition('id="attacks"')[2]
        assert (world.breaks.public_id in listed, world.rejected.public_id in listed) == expected, show
    monkeypatch.setattr("contest.teams.public_views.ON_A_PAGE", 1)
    cache.clear()
    first = page(world.red).partition('id="attacks"')[2]
    assert "Page 1 of 2" in first and world.rejected.public_id in first and world.breaks.public_id not in first
    assert world.breaks.public_id in read(f"/teams/{world.red.public_id}/?page=2")


def test_a_copy_is_listed_and_counts_for_nobody(world: World, release: Any) -> None:
    """R26."""
    release()
    shown = words(world.blue)
    assert "Pictures sent 1 in weeks that are over Valid 0 Breaks 0 Won USD 0.00" in shown
    assert f"same pixels as {world.breaks.public_id}" in shown
    assert "brittle" in shown.partition("Defenses")[2] and "broken" in shown.partition("Defenses")[2]


def test_a_break_that_does_not_hold_any_more_is_gone(world: World, release: Any) -> None:
    """R22."""
    cast.overruled(world.breaks.image, at=cast.SETTLED)
    release()
    assert "Valid 0 Breaks 0" in words(world.red)
    assert Break.objects.exists() and Stake.objects.exists()


def test_its_own_defense_is_told_and_not_counted(world: World, release: Any) -> None:
    cast.broken(cast.defense("own", world.red), world.breaks)
    release()
    shown = words(world.red)
    assert "Breaks 1 of 1 defense" in shown and "own its own, does not count" in shown


def test_a_team_that_became_part_of_another_is_shown_with_it(world: World, release: Any) -> None:
    green = cast.team("green")
    Team.objects.filter(pk=world.red.pk).update(merged_into=green, merged_at=cast.SETTLED)
    release()
    shown = words(green)
    assert "Pictures sent 3" in shown and "team red" in shown and "Valid 1 Breaks 1" in shown
    assert "Pictures sent 3" in words(world.red), "what it sent stays under its own name"


def test_the_number_of_questions_does_not_grow(world: World, release: Any) -> None:
    release()
    questions(world.red)  # what is asked for once in a process
    few = questions(world.red)
    for number in range(4):
        cast.broken(world.defense, cast.attack(world.red, days=1 + number / 100))
    assert questions(world.red) == few


def questions(team: Team) -> int:
    cache.clear()
    with CaptureQueriesContext(connection) as asked:
        page(team)
    return len(asked)


def test_an_attack_a_defense_and_a_week_lead_to_each_other(world: World, at: At, release: Any) -> None:
    """And say who broke what with the release (R24)."""
    at(cast.SETTLED)
    addresses = (f"/attacks/{world.breaks.public_id}/", f"/defenses/{world.defense.public_id}/", f"/weeks/{W47.name}/")
    attack, defense, week = map(read, addresses)
    assert f'href="/teams/{world.red.public_id}/"' in attack and "What it won" not in attack
    assert "What broke it" not in defense
    assert f'href="{addresses[0]}"' in week and "brittle" not in week and "rejected" not in week
    release()
    attack, defense, week = map(read, addresses)
    assert "What it won" in attack and "USD 100.01" in attack
    assert "What it won" not in read(f"/attacks/{world.rejected.public_id}/")
    told = defense.partition("What broke it")[2]
    assert f'href="/record/{world.breaks.image.public_id}/"' in told and f'href="/teams/{world.red.public_id}/"' in told
    assert f'href="{addresses[1]}"' in week and "a tasker was not sure" in week


def test_a_picture_of_the_contest_itself_breaks_nothing(world: World, release: Any) -> None:
    """R29."""
    image = world.breaks.image
    image.origin, image.label_from = "dataset", cast.MONDAY
    image.save()
    release()
    assert "Pictures that broke it</dt><dd>0<" in read(f"/defenses/{world.defense.public_id}/")
    assert "Breaks 0" in words(world.red)
