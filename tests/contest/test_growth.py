"""No page takes longer the more pictures there are: each is asked at 10,000 and at 100,000 of them.

The pages are those of the URL configuration, as everybody who may open them, with the IDs of a contest that has
something on each. Of what a page costs, the blocks that PostgreSQL reads are the same in each run; its time is not.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client

from contest.core.weeks import week_at
from labeling.models import Assignment, Image
from tests import factories
from tests.addresses import patterns
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import RULED, SURE
from tests.contest.ledger import cast as money
from tests.contest.record import decided
from tests.growth import Original, blocks_read, grown

pytestmark = [pytest.mark.django_db, pytest.mark.long("100,000 pictures"), pytest.mark.postgres("plans at size")]

FEW, MANY = 10_000, 100_000
# Of a hundred pictures. Breaks and cases are as many at both sizes: they are for stakes and for people to decide about.
SHARES = {"ordinary": 80, "attack": 19, "waiting": 1}
CASES = 100
# Pages that do grow, by what of them does: the names of their URLs. Whoever mends one takes it out.
GROWING = {
    "the statistics of taskers, over each of their answers": {"organizer-taskers", "tasker-settled"},
    "5,000 panels: all answers in one scan at the smaller size, by their index at the larger": {"watching"},
    "1,000 attacks, counted: their pictures in one scan at the smaller size, by their key at the larger": {
        "attacks-of-week",
        "team-public",
    },
    "each ruling of the appeal window, which the database tries": {"appeals", "team-defense"},
    "the checklist of an award, over the attacks on the stake": {"award"},
    "what a team sent and may appeal": {"attacks"},
    "the pictures of a week, of which PostgreSQL scans all to sort the first thousand": {"week"},
    "what is left of a sweep, counted three times": {"board-examination"},
    "all rulings are tried": {"what-if", "what-if-part"},
    "the devices of all answers of a defense": {"rerun-new"},
    "all answers of a tasker, counted": {"my-work", "account-delete"},
}
MAX_GROWTH, SLACK_BLOCKS, SLACK_SECONDS, RUNS = 1.5, 2_500, 0.05, 3


@dataclass(frozen=True)
class Cost:
    """What a page costs: blocks that PostgreSQL reads, and CPU seconds of ours, each the least of several runs."""

    blocks: int
    seconds: float
    most_read: tuple[tuple[str, int], ...]

    def outgrows(self, few: "Cost") -> bool:
        return (
            self.blocks > few.blocks * MAX_GROWTH + SLACK_BLOCKS
            or self.seconds > few.seconds * MAX_GROWTH + SLACK_SECONDS
        )


@dataclass
class Contest:
    """A contest with a picture of each kind, who may look at it, and what addresses name."""

    originals: dict[str, Original]
    people: dict[str, Client]
    names: dict[str, list[str]]


@pytest.fixture
def contest(clock: Any, signed_in: Callable[[Any], Client]) -> Contest:
    what = decided.appealed()
    decided.broken(what)
    what.overruled()
    scene = what.scene
    attack = scene.beside()
    tara = factories.tasker("tara")
    sent = {"received_at": scene.image.received_at, "label_from": RULED - timedelta(days=2)}
    ordinary = factories.panel(factories.image(**sent), dealt_at=RULED - timedelta(days=1))
    factories.response(tara, ordinary, now=RULED)
    cast.rule(ordinary, SURE, SURE)
    waiting = factories.panel(factories.image(**sent), dealt_at=RULED - timedelta(days=1))
    keep = scene.stake.defense
    for each in (attack.image, ordinary.image):
        money.answered(keep, each, 1, at=RULED + timedelta(hours=1))
    release = decided.release()
    clock(decided.TODAY)
    people = {
        "stranger": Client(),
        "tasker": signed_in(tara),
        "organizer": signed_in(factories.user("olga", "organizers")),
        "board": signed_in(scene.members[0]),
        "attacker": signed_in(case_cast.joins(scene.red, "rob")),
        "defender": signed_in(case_cast.joins(scene.blue, "bea")),
    }
    rows = (scene.attack, scene.image, ordinary.image, keep, scene.red, scene.blue, tara, what.case, what.appeal)
    names = [release.name, week_at(scene.image.received_at).name, *(each.public_id for each in rows)]
    answered = Assignment.objects.filter(tasker=tara)[0]
    values = {"str": names, "int": ["1"], "uuid": [str(answered.public_id)], "slug": [], "path": []}
    pictures = {"ordinary": ordinary.image, "attack": attack.image, "waiting": waiting.image, "case": scene.image}
    return Contest({kind: Original(image) for kind, image in pictures.items()}, people, values)


def addresses(contest: Contest) -> Iterator[tuple[str, str]]:
    """Yield who opens which page: of each pattern of the URL configuration, and each reader, the first that opens."""
    growing = set[str]().union(*GROWING.values())
    known = [(pattern.name, path) for path, pattern in patterns()]
    assert growing <= {name for name, _ in known}, "each of these is an address"
    for path in (path for name, path in known if name not in growing):
        kinds = [kind or "str" for kind in re.findall(r"<(?:(\w+):)?\w+>", path)]
        names = list(product(*(contest.names[kind] for kind in kinds)))
        for who, client in contest.people.items():
            for values in names:
                filled = iter(values)
                address = re.sub("<[^>]*>", lambda _, filled=filled: next(filled), path)  # type: ignore[misc]
                answer = client.get(address)
                if _is_page(answer):
                    names.sort(key=lambda each: each != values)  # it is likely to open for others too
                    yield who, address
                if answer.status_code != 404:
                    break


def _is_page(answer: Any) -> bool:
    """Say whether an answer is a page or one of the API's, and no file."""
    kind = answer.get("Content-Type", "")
    page = kind.startswith(("text/html", "application/json")) and not answer.get("Content-Disposition")
    return answer.status_code == 200 and page and not answer.streaming


def more_pictures(contest: Contest, before: int, number: int) -> None:
    for place, (kind, share) in enumerate(SHARES.items()):
        first = place * 10 * MANY
        contest.originals[kind].copy(first + before * share // 100 + 1, first + number * share // 100)
    with connection.cursor() as cursor:
        # A sample of 300 times this many rows: of the whole tables, so that the plans are the same in each run.
        cursor.execute("SET default_statistics_target = 1000")
        cursor.execute("ANALYZE")
        cursor.execute("RESET default_statistics_target")


def cost(client: Client, address: str) -> Cost:
    """Ask for a page a few times; what it remembers for minutes is known from the time before."""
    client.get(address)
    runs = []
    for _ in range(RUNS):
        before, start = blocks_read(), time.process_time()
        assert client.get(address).status_code == 200, address
        seconds = time.process_time() - start
        read = tuple(grown(before, blocks_read()))
        runs.append(Cost(sum(blocks for _, blocks in read), seconds, read[:3]))
    least = min(runs, key=lambda each: each.blocks)
    return Cost(least.blocks, min(each.seconds for each in runs), least.most_read)


def test_no_page_grows_with_the_pictures(contest: Contest) -> None:
    contest.originals["case"].copy(len(SHARES) * 10 * MANY + 1, len(SHARES) * 10 * MANY + CASES)
    more_pictures(contest, 0, FEW)
    few = {page: cost(contest.people[page[0]], page[1]) for page in addresses(contest)}
    more_pictures(contest, FEW, MANY)
    cache.clear()
    many = {page: cost(contest.people[page[0]], page[1]) for page in few}
    assert Image.objects.count() >= MANY and len(few) > 150
    slower = {page: (few[page], many[page]) for page in few if many[page].outgrows(few[page])}
    assert not slower, "\n".join(
        f"{who} {address}: {a.blocks} -> {b.blocks} blocks, {a.seconds * 1000:.0f} -> {b.seconds * 1000:.0f} ms, "
        f"most of {b.most_read}"
        for (who, address), (a, b) in sorted(slower.items(), key=lambda each: -each[1][1].seconds)
    )
