"""The public page of a team (R24, R39): what it sent after its week, what came of it with the release, what it won."""

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from contest.core.models import Attack, Break, Stake, Team
from contest.ledger.models import LedgerEntry
from contest.prizes.sweeps import prizes_settle
from contest.record import public_teams
from labeling.models import Image, Tasker
from policy.calendar import week_named
from tests import factories
from tests.contest import pages
from tests.contest.ledger import cast
from tests.contest.pages import one_line, queries, shows

pytestmark = pytest.mark.django_db
W47 = week_named("2026-W47", "UTC")
At = Callable[[datetime], None]


class World:
    """Team red broke blue's defense in week 2026-W47, its other picture was rejected, and the prize is given."""

    def __init__(self) -> None:
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


def release(at: At) -> None:
    """Release the week, and look an hour later."""
    cast.released(W47.name)
    at(cast.SETTLED + timedelta(hours=2))


def read(address: str) -> str:
    return one_line(Client().get(address).content.decode())


def page(team: Team, show: str = "") -> str:
    return read(f"/teams/{team.public_id}/?show={show}")


def words(team: Team, show: str = "") -> str:
    return pages.words(Client(), f"/teams/{team.public_id}/?show={show}")


def test_attacks_are_public_when_their_week_is_over(world: World, at: At, tara: Tasker, signed_in: Any) -> None:
    """R24; who labels learns nothing of them even then (R8)."""
    sent = [world.breaks.public_id, world.rejected.public_id]
    named = Attack.objects.values_list("public_id", "image__public_id")
    at(W47.end - timedelta(seconds=1))
    shows(words(world.red), "Pictures sent 0", "No attack of this team is public.")
    shows(page(world.red), but=[each for pair in named for each in pair])
    at(W47.end)
    shows(words(world.red), "Pictures sent 2", *sent, but=[world.later.public_id, world.copy.public_id])
    refused = signed_in(tara).get(f"/teams/{world.red.public_id}/")
    assert refused.status_code == 403
    shows(refused.content.decode(), but=["Pictures sent", *sent])


def test_what_came_of_them_is_told_with_the_release(world: World, at: At) -> None:
    """R24: of a break, its prize and a rejection nothing is said before."""
    at(cast.SETTLED)
    for show in public_teams.KINDS:
        untold = ["brittle", "rejected", "broke 1", "Prizes", "Sum"]
        shows(words(world.red, show), "Valid 0 Breaks 0 Won USD 0.00", but=untold)
    release(at)
    shows(
        words(world.red),
        "Pictures sent 3 in weeks that are over Valid 1 Breaks 1 of 1 defense Won USD 100.01",
        "broke 1 defense brittle",
        "rejected a tasker was not sure",
    )
    entry = LedgerEntry.objects.get(rule="R35").pk
    shows(
        page(world.red),
        f"before={entry + 1}#entry-{entry}",
        f'href="/attacks/{world.breaks.public_id}/"',
        f'href="/defenses/{world.defense.public_id}/"',
    )


def test_which_attacks_are_listed(world: World, at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    Attack.objects.filter(pk=world.later.pk).delete()
    release(at)
    breaks, rejected = world.breaks.public_id, world.rejected.public_id

    def listed(query: str) -> list[str]:
        attacks = read(f"/teams/{world.red.public_id}/?{query}").partition('id="attacks"')[2]
        return [each for each in (breaks, rejected, "Page 1 of 2") if each in attacks]

    shown = {show: listed(f"show={show}") for show in ("", "x", "valid", "rejected", "broke")}
    both = [breaks, rejected]
    assert shown == {"": both, "x": both, "valid": [breaks], "rejected": [rejected], "broke": [breaks]}
    monkeypatch.setattr("contest.pages.public.team_views.PAGE_SIZE", 1)
    cache.clear()
    assert (listed("page=1"), listed("page=2")) == ([rejected, "Page 1 of 2"], [breaks])


def test_a_copy_is_listed_and_counts_for_nobody(world: World, at: At) -> None:
    """R26."""
    release(at)
    shows(
        words(world.blue),
        "Pictures sent 1 in weeks that are over Valid 0 Breaks 0 Won USD 0.00",
        f"same pixels as {world.breaks.public_id}",
        "Stake brittle broken",
    )


def test_a_break_that_does_not_hold_any_more_is_gone(world: World, at: At) -> None:
    """R22."""
    cast.overruled(world.breaks.image, at=cast.SETTLED)
    release(at)
    shows(words(world.red), "Valid 0 Breaks 0")
    assert Break.objects.exists() and Stake.objects.exists()


def test_its_own_defense_is_told_and_not_counted(world: World, at: At) -> None:
    cast.broken(cast.defense("own", world.red), world.breaks)
    release(at)
    shows(words(world.red), "Breaks 1 of 1 defense", "own its own, does not count")


def test_a_team_that_became_part_of_another_is_shown_with_it(world: World, at: At) -> None:
    green = cast.team("green")
    Team.objects.filter(pk=world.red.pk).update(merged_into=green, merged_at=cast.SETTLED)
    release(at)
    shows(words(green), "Pictures sent 3", "team red", "Valid 1 Breaks 1")
    shows(words(world.red), "Pictures sent 3")  # what it sent stays under its own name


def test_the_number_of_questions_does_not_grow(world: World, at: At) -> None:
    release(at)

    def asked() -> int:
        cache.clear()
        return queries(lambda: page(world.red))

    _, few = asked(), asked()  # the first time, what is asked for once in a process
    for number in range(4):
        cast.broken(world.defense, cast.attack(world.red, days=1 + number / 100))
    assert asked() == few


def test_an_attack_a_defense_and_a_week_lead_to_each_other(world: World, at: At) -> None:
    """And say who broke what with the release (R24)."""
    at(cast.SETTLED)
    addresses = (f"/attacks/{world.breaks.public_id}/", f"/defenses/{world.defense.public_id}/", f"/weeks/{W47.name}/")
    red = f'href="/teams/{world.red.public_id}/"'
    attack, defense, week = map(read, addresses)
    shows(attack, red, but=["What it won"])
    shows(defense, but=["What broke it"])
    shows(week, f'href="{addresses[0]}"', but=["brittle", "rejected"])
    release(at)
    attack, defense, week = map(read, addresses)
    shows(attack, "What it won", "USD 100.01")
    shows(read(f"/attacks/{world.rejected.public_id}/"), but=["What it won"])
    shows(defense.partition("What broke it")[2], f'href="/record/{world.breaks.image.public_id}/"', red)
    shows(week, f'href="{addresses[1]}"', "a tasker was not sure")


def test_a_picture_of_the_contest_itself_breaks_nothing(world: World, at: At) -> None:
    """R29."""
    Image.objects.filter(attacks=world.breaks).update(origin="dataset", label_from=cast.MONDAY)
    release(at)
    shows(read(f"/defenses/{world.defense.public_id}/"), "Pictures that broke it</dt><dd>0<")
    shows(words(world.red), "Breaks 0")
