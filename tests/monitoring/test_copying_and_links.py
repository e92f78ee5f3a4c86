"""Copying is seen and honest people are not accused; linked taskers are one person to the queue (R6)."""

import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import TypeAlias

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, InvalidInput
from labeling import leases
from labeling.enums import AssignmentState, LinkKind, PanelState
from labeling.models import Panel, Tasker
from monitoring import copying, links
from monitoring.copying import ALIKE_BY_CHANCE, ComparedAnswer, CopyingSearch, chance_of_at_least, outlines_alike
from monitoring.models import TaskerLink
from monitoring.tasks import look_for_copies
from tests import factories
from tests.at_once import at_once
from tests.labeling.cast import POLICY, claim, kept, next_for, refused, refused_by_database
from tests.labeling.cast import people as named_people
from tests.tables import cases

pytestmark = pytest.mark.django_db


Declare: TypeAlias = Callable[[int, int], TaskerLink]


WHY = "One address, one keyboard."


@pytest.fixture
def people(db: None) -> list[Tasker]:
    """Six taskers, in the order of their rows."""
    return named_people(*"abcdef")


@pytest.fixture
def declare(olga: User, now: datetime, people: list[Tasker]) -> Declare:
    return lambda first, second: links.link_declare(
        first=people[first], second=people[second], reason=WHY, by=olga, now=now
    )


def groups(people: Sequence[Tasker]) -> list[int | None]:
    """Return for each tasker the place of the one whose number the group has."""
    places: dict[int | None, int | None] = {tasker.pk: place for place, tasker in enumerate(people)}
    persons = dict(Tasker.objects.values_list("pk", "person"))
    return [places.get(persons[tasker.pk]) for tasker in people]


@cases(
    "linked expected why",
    ([(0, 1)], [0, 0, None, None, None, None], "a pair"),
    ([(1, 0)], [0, 0, None, None, None, None], "the direction does not matter"),
    ([(1, 2), (2, 3)], [None, 1, 1, 1, None, None], "a chain is one person"),
    ([(1, 2), (2, 3), (3, 1)], [None, 1, 1, 1, None, None], "a cycle of three"),
    ([(0, 1), (2, 3)], [0, 0, 2, 2, None, None], "two pairs are two persons"),
    ([(2, 3), (4, 5), (3, 4)], [None, None, 2, 2, 2, 2], "two groups joined"),
    ([(4, 5), (0, 5)], [0, None, None, None, 0, 0], "a smaller number joins"),
)
def test_links_make_groups(
    linked: list[tuple[int, int]], expected: list[int | None], why: str, declare: Declare, people: list[Tasker]
) -> None:
    for pair in linked:
        declare(*pair)
    assert groups(people) == expected, why


@cases(
    "linked ended expected why",
    ([(0, 1)], (0, 1), [None] * 6, "the only link"),
    ([(0, 1), (1, 2)], (0, 1), [None, 1, 1, None, None, None], "the first of a chain"),
    ([(0, 1), (1, 2), (2, 3)], (1, 2), [0, 0, 2, 2, None, None], "the middle of a chain"),
    ([(0, 1), (1, 2), (2, 0)], (0, 2), [0, 0, 0, None, None, None], "one of a cycle: the others still join"),
)
def test_ending_a_link(
    linked: list[tuple[int, int]],
    ended: tuple[int, int],
    expected: list[int | None],
    why: str,
    declare: Declare,
    people: list[Tasker],
    olga: User,
    now: datetime,
) -> None:
    for pair in linked:
        declare(*pair)
    link = TaskerLink.objects.get(first=people[ended[0]], second=people[ended[1]])
    done = links.end_tasker_link(link=link, reason=" Two sisters. ", by=olga, now=now)
    assert groups(people) == expected, why
    assert (done.ended_at, done.ended_by, done.ended_because) == (now, olga, "Two sisters.")
    assert refused(Conflict, links.end_tasker_link, link=link, reason="Again.", by=olga, now=now).code == "link_ended"


def test_linking_again_after_an_end(declare: Declare, people: list[Tasker], olga: User, now: datetime) -> None:
    links.end_tasker_link(link=declare(0, 1), reason="Two sisters.", by=olga, now=now)
    declare(1, 0)
    assert (groups(people)[:2], TaskerLink.objects.count()) == ([0, 0], 2), "both are on record"


def test_refusals(declare: Declare, people: list[Tasker], olga: User, now: datetime) -> None:
    link, pair = declare(0, 1), {"first": people[2], "second": people[3]}
    assert refused(Conflict, declare, 1, 0).code == "linked_already"
    assert refused(InvalidInput, declare, 2, 2).code == "same_tasker"
    for reason in ("", "  "):
        said = {"reason": reason, "by": olga, "now": now}
        assert refused(InvalidInput, links.link_declare, **pair, **said).code == "reason_missing"
        refused(InvalidInput, links.end_tasker_link, link=link, **said)
    assert groups(people) == [0, 0, None, None, None, None]


def test_linked_taskers_never_come_onto_one_panel(
    declare: Declare, people: list[Tasker], olga: User, now: datetime
) -> None:
    """Also through a third one, also where the first was asked before the link; and freely again after its end."""
    first, second, third, *_ = people
    assert factories.panel() == claim(first, now).panel
    declare(1, 2)
    joined = declare(0, 1)
    assert isinstance(next_for(third, now), leases.NothingLeft)
    links.end_tasker_link(link=joined, reason="Two sisters.", by=olga, now=now)
    assert claim(third, now)
    assert isinstance(next_for(second, now), leases.NothingLeft), "still linked with the one who was asked now"


def test_who_was_linked_since_they_signed_in_gets_no_place_beside_the_other(
    declare: Declare, people: list[Tasker], now: datetime
) -> None:
    """Also where no constraint refuses it, as two of the group were on the panel before."""
    first, second, third, *_ = people
    shared = factories.panel(size=5)
    for tasker in (first, second):
        claim(tasker, now)
    alone = factories.panel()
    claim(first, now, holding=list(shared.assignments.values_list("public_id", flat=True)))
    declare(0, 1), declare(1, 2)
    asked = {"tasker": third, "holding": (), "policy": POLICY, "now": now, "rng": Random(1)}
    assert isinstance(leases.assignment_next(**asked), leases.NothingLeft)
    assert [panel.assignments.count() for panel in (shared, alone)] == [2, 1]


@pytest.mark.both("own SQL compares the person as read")
@pytest.mark.parametrize("late", [2, 0], ids=["the newest account", "the oldest, whose number becomes the group's"])
def test_no_number_of_a_group_hides_a_link_since_they_signed_in(
    late: int, declare: Declare, people: list[Tasker], now: datetime
) -> None:
    others, shared = [each for each in (0, 1, 2) if each != late], factories.panel(size=5)
    for each in others:
        claim(people[each], now)
    declare(*others), declare(late, 1)
    asked = {"tasker": people[late], "holding": (), "policy": POLICY, "now": now, "rng": Random(1)}
    assert isinstance(leases.assignment_next(**asked), leases.NothingLeft)
    assert shared.assignments.count() == 2


def test_who_is_no_longer_linked_since_they_signed_in_gets_the_picture(
    declare: Declare, people: list[Tasker], olga: User, now: datetime
) -> None:
    first, second, *_ = people
    link, panel = declare(0, 1), factories.panel()
    second.refresh_from_db()
    links.end_tasker_link(link=link, reason="Two sisters.", by=olga, now=now)
    leased = leases.assignment_next(tasker=second, holding=(), policy=POLICY, now=now, rng=Random(1))
    assert panel.assignments.values_list("public_id", "person").get() == (leased.public_id, second.pk)


@pytest.mark.both("a constraint refuses")
def test_the_database_refuses_a_second_place_of_one_person(
    declare: Declare, people: list[Tasker], olga: User, now: datetime
) -> None:
    """Whoever writes: the place that was given before the link knows the person as well."""
    panel = factories.panel()
    factories.assignment(people[1], panel, state=AssignmentState.LEASED)
    link = declare(0, 1)
    people[0].refresh_from_db()
    refused_by_database(factories.assignment, people[0], panel)
    links.end_tasker_link(link=link, reason="Two sisters.", by=olga, now=now)
    people[0].refresh_from_db()
    factories.assignment(people[0], panel)


def test_panels_shared_before_the_link_are_listed(declare: Declare, people: list[Tasker]) -> None:
    first, second, third, *_ = people
    settled, waiting, alone, given_back, known_on = (factories.panel() for _ in range(5))
    for panel, by in ((settled, (first, second, third)), (waiting, (first, second)), (alone, (first,))):
        for tasker in by:
            factories.response(tasker, panel)
    factories.settle(settled)
    known = factories.gold(known_on)
    for tasker, state in ((first, AssignmentState.LEASED), (second, AssignmentState.RELEASED)):
        factories.assignment(tasker, given_back, state=state)
        factories.assignment(tasker, known_on, known=known)
    assert [panel.pk for panel in links.panels_shared(declare(0, 1))] == [waiting.pk, settled.pk]
    assert kept(waiting, "state") == PanelState.OPEN, "nothing is done by itself"
    assert {each.person for each in waiting.assignments.all()} == {first.pk, second.pk}, "and both answers stay"


def outline(rng: Random, hand: float, like: list[list[float]] | None = None) -> list[list[float]]:
    like = like or [[60, 60], [150, 40], [240, 70], [250, 200], [150, 250], [50, 190]]
    return [[round(x + rng.gauss(0, hand), 2), round(y + rng.gauss(0, hand), 2)] for x, y in like]


def answer(tasker: Tasker, panel: Panel, corners: list[list[float]], at: datetime) -> None:
    factories.response(tasker, panel, outline=json.dumps([corners], separators=(",", ":")), now=at)


def copied_pictures(people: Sequence[Tasker], count: int, begin: datetime) -> None:
    """The first draws, the second copies with a trembling hand, the third draws."""
    rng = Random(f"{count} {begin}")
    for number in range(count):
        panel, at = factories.panel(), begin + timedelta(minutes=number)
        original = outline(rng, 1.5)
        answer(people[0], panel, original, at)
        answer(people[1], panel, outline(rng, 0.2, original), at + timedelta(seconds=40))
        answer(people[2], panel, outline(rng, 1.5), at + timedelta(seconds=rng.uniform(-9000, 0)))


@pytest.mark.both("own SQL reads the outlines; locks")
def test_who_copies_is_linked_once(people: list[Tasker], olga: User, now: datetime) -> None:
    """Old answers are left alone; after an end only newer pictures count."""
    copied_pictures(people, 12, now - timedelta(hours=2))
    looks = [links.find_copies(now=at) for at in (now + links.LOOK_BACK, now, now)]
    assert looks == [0, 1, 0], "a second look changes nothing"
    link = TaskerLink.objects.get()
    assert (link.first, link.second, link.kind, link.linked_by) == (people[0], people[1], LinkKind.SUSPECTED, None)
    assert (link.figures["alike"], link.figures["outlines"], groups(people)[:3]) == (12, 12, [0, 0, None])
    assert "12 of 12 outlines are alike within 0.75 px" in link.reason
    links.end_tasker_link(link=link, reason="They shared a screen.", by=olga, now=now)
    assert links.find_copies(now=now + timedelta(days=1)) == 0, "what was excused stays excused"
    copied_pictures(people, 12, now + timedelta(hours=1))
    assert links.find_copies(now=now + timedelta(days=1)) == 1


def test_two_or_three_pictures_are_too_few(people: list[Tasker], now: datetime) -> None:
    copied_pictures(people, 3, now - timedelta(hours=2))
    assert links.find_copies(now=now) == 0


def test_what_lies_on_the_frame_says_nothing(people: list[Tasker], now: datetime) -> None:
    """The whole picture is outlined by everybody with the very same corners."""
    frame = [[0.0, 0.0], [299.0, 0.0], [299.0, 150.0], [299.0, 299.0], [150.0, 299.0], [0.0, 299.0]]
    for number in range(14):
        panel = factories.panel()
        for tasker in people[:3]:
            answer(tasker, panel, frame, now - timedelta(minutes=number))
    assert links.find_copies(now=now) == 0


def test_gold_is_compared_as_well(now: datetime) -> None:
    """Of many answers to one picture, the newest."""
    rng, crowd = Random(8), named_people(*"abcdefghi")
    for number in range(12):
        panel = factories.panel(size=9)
        drawn = [outline(rng, 1.5) for _ in range(8)]
        drawn.append(outline(rng, 0.1, drawn[7]))
        for place, (tasker, corners) in enumerate(zip(crowd, drawn, strict=True)):
            answer(tasker, panel, corners, now - timedelta(hours=place + 1, minutes=number))
    assert links.find_copies(now=now) == 1
    assert TaskerLink.objects.values_list("first", "second").get() == (crowd[7].pk, crowd[8].pk)


def test_the_task_looks_once_a_day(people: list[Tasker], monkeypatch: pytest.MonkeyPatch) -> None:
    for hours, linked, why in ((1, 0, "nothing yet"), (12, 0, "looked today"), (25, 1, "the next day")):
        monkeypatch.setattr("django.utils.timezone.now", lambda hours=hours: factories.NOW + timedelta(hours=hours))
        look_for_copies.task()
        assert TaskerLink.objects.count() == linked, why
        if hours == 1:
            copied_pictures(people, 12, factories.NOW + timedelta(hours=2))


@pytest.mark.slow("16 threads link and unlink")
@pytest.mark.postgres("links at once, with row locks")
@pytest.mark.django_db(transaction=True)
def test_everybody_links_and_unlinks_at_once(olga: User, now: datetime) -> None:
    """Sixteen threads change links of eight taskers; groups are what the links that are left say."""
    factories.policy_version()
    people = named_people(*"abcdefgh")
    for tasker in people[:6]:
        factories.assignment(tasker, factories.panel(size=9), state=AssignmentState.RELEASED)

    assert at_once(*[partial(_change_links, Random(seed), people, olga, now) for seed in range(16)]) == [None] * 16
    assert TaskerLink.objects.count() > 10, "the threads did something"
    for tasker in Tasker.objects.all():
        group = links._group({tasker.pk})
        assert tasker.person == (min(group) if len(group) > 1 else None)
        assert set(tasker.assignments.values_list("person", flat=True)) <= {tasker.person or tasker.pk}


def _change_links(rng: Random, people: Sequence[Tasker], olga: User, now: datetime) -> None:
    for _ in range(12):
        first, second = rng.sample(people, 2)
        link = TaskerLink.objects.filter(ended_at__isnull=True).order_by("?").first()
        try:
            if rng.random() < 0.5:
                links.link_declare(first=first, second=second, reason=WHY, by=olga, now=now)
            elif link is not None:
                links.end_tasker_link(link=link, reason="No.", by=olga, now=now)
        except Conflict as refusal:
            assert refusal.code in {"linked_already", "link_ended", "links_busy"}


GOOD = ("definitely_yes", "definitely_no", True, True, True)


def shape(rng: Random, corners: int) -> list[tuple[float, float]]:
    """The obvious corners of a thing."""
    turns = [2 * math.pi * (k + rng.uniform(-0.2, 0.2)) / corners for k in range(corners)]
    return [
        (150 + rng.uniform(80, 110) * math.cos(turn), 150 + rng.uniform(80, 110) * math.sin(turn)) for turn in turns
    ]


def drawn(true: list[tuple[float, float]], rng: Random, hand: float) -> list[tuple[float, float]]:
    """The shape as a hand draws it that misses by `hand` px on each axis."""
    return [(round(x + rng.gauss(0, hand), 2), round(y + rng.gauss(0, hand), 2)) for x, y in true]


@pytest.mark.parametrize("hand", [0.7, 1.0, 1.5, 2.5])
@pytest.mark.parametrize("corners", [5, 8, 14])
def test_two_people_seldom_draw_alike(hand: float, corners: int) -> None:
    """Even where both click exactly the same corners, which is the most alike that honest outlines can be."""
    rng = Random(f"{hand} {corners}")
    shapes = [shape(rng, corners) for _ in range(400)]
    found = sum(outlines_alike(drawn(true, rng, hand), drawn(true, rng, hand)) for true in shapes)
    assert chance_of_at_least(found, 400, ALIKE_BY_CHANCE) > 1e-3, f"{found} of 400"


@pytest.mark.parametrize("jitter", [0.0, 0.1, 0.3])
def test_a_copied_outline_is_alike(jitter: float) -> None:
    rng = Random(f"copied {jitter}")
    originals = [drawn(shape(rng, 9), rng, 1.5) for _ in range(200)]
    assert sum(outlines_alike(original, drawn(original, rng, jitter)) for original in originals) == 200


@cases(
    "other expected why",
    ([(0, 0), (9, 0), (9, 9), (5, 12), (0, 9)], True, "the same"),
    ([(9, 9), (5, 12), (0, 9), (0, 0), (9, 0)], True, "begun at another corner"),
    ([(0, 9), (5, 12), (9, 9), (9, 0), (0, 0)], True, "drawn the other way round"),
    ([(0, 0), (9, 0), (9, 9), (5, 12), (2, 10.2), (0, 9)], True, "a corner more on the same line"),
    ([(0, 0), (9, 0), (9, 9), (5, 12), (0, 9), (-4, 5), (-3, 2)], False, "two corners more"),
    ([(1, 0), (10, 0), (10, 9), (6, 12), (1, 9)], False, "moved by one pixel"),
    ([(0, 0), (9, 0), (9, 9), (5, 17), (0, 9)], False, "one corner elsewhere"),
)
def test_alike(other: list[tuple[float, float]], expected: bool, why: str) -> None:
    one = [(0, 0), (9, 0), (9, 9), (5, 12), (0, 9)]
    assert (outlines_alike(one, other), outlines_alike(other, one)) == (expected, expected), why


class Crowd:
    """Panels of three out of `people`, whose pictures differ in difficulty."""

    def __init__(self, seed: int, people: int = 12, hand: float = 1.0) -> None:
        self.rng, self.hand, self.people = Random(seed), hand, people
        self.look = CopyingSearch()

    def answer(self, tasker: int, true: list[tuple[float, float]], difficulty: float, at: float) -> ComparedAnswer:
        wrong = self.rng.random() < 0.15 * difficulty
        return ComparedAnswer(
            tasker=tasker,
            said=(*GOOD[:2], not wrong, *GOOD[3:]),
            corners=drawn(true, self.rng, self.hand),
            seconds=self.rng.lognormvariate(2.5 + 0.5 * difficulty, 0.4),
            at=at + self.rng.uniform(0, 8 * 3600),
        )

    def panels(self, count: int) -> None:
        for number in range(count):
            true, difficulty = shape(self.rng, 8), self.rng.random()
            members = self.rng.sample(range(1, self.people + 1), 3)
            self.look.add([self.answer(each, true, difficulty, number * 60.0) for each in members])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hand", [0.7, 1.5])
def test_nobody_of_an_honest_crowd_is_suspected(seed: int, hand: float) -> None:
    """Each pair shares some 45 pictures, as in a month of fifty taskers."""
    crowd = Crowd(seed, hand=hand)
    crowd.panels(1_000)
    found = crowd.look.figures()
    assert (len(found), [pair for pair, figures in found.items() if figures.suspected]) == (66, [])


def copied(seen: ComparedAnswer, rng: Random, jitter: float) -> ComparedAnswer:
    return ComparedAnswer(
        tasker=99,
        said=seen.said,
        corners=[(x + rng.gauss(0, jitter), y + rng.gauss(0, jitter)) for x, y in seen.corners],
        seconds=rng.uniform(4, 8),
        at=seen.at + rng.uniform(20, 60),
    )


@pytest.mark.parametrize("seed", range(5))
def test_who_copies_outlines_is_suspected_after_a_dozen(seed: int) -> None:
    crowd = Crowd(seed)
    crowd.panels(300)
    for number in range(12):
        true = shape(crowd.rng, 8)
        original, third = crowd.answer(1, true, 0.5, number * 60), crowd.answer(2, true, 0.5, number * 60)
        crowd.look.add([original, third, copied(original, crowd.rng, 0.2)])
    assert [pair for pair, figures in crowd.look.figures().items() if figures.suspected] == [(1, 99)]


def neither(tasker: int, said: str, at: float) -> ComparedAnswer:
    return ComparedAnswer(tasker, (said, "definitely_no", None, None, None), (), 5.0, at)


def without_outlines(lag: tuple[float, float], splits: int = 60) -> CopyingSearch:
    """1 and 99 agree against one of many others; 99 is `lag` seconds later. Beside others, each is the odd one."""
    rng, look = Random(4), CopyingSearch()
    for number in range(splits):
        at = number * 300.0
        others = [neither(2 + (number + k) % 20, "definitely_no", rng.uniform(0, 30_000)) for k in (0, 3, 6)]
        look.add([neither(1, "unsure_no", at), neither(99, "unsure_no", at + rng.uniform(*lag)), others[0]])
        for who in (1, 99):
            look.add([neither(who, "unsure_no", at), *others[1:]])
    return look


def test_taking_sides_needs_a_rhythm_beside_it() -> None:
    together = without_outlines((20, 60)).figures()[1, 99]
    apart = without_outlines((0, 20_000)).figures()[1, 99]
    assert together.sided == together.splits == apart.sided == apart.splits == 60 and apart.sides_chance <= apart.limit
    assert (together.suspected, apart.suspected) == (True, False)


def test_a_rhythm_alone_never_accuses() -> None:
    rng, look = Random(5), CopyingSearch()
    for number in range(500):
        true, at = shape(rng, 8), number * 30.0
        look.add(
            [ComparedAnswer(who, GOOD, drawn(true, rng, 1.0), 5.0 + number % 9, at + 10 * who) for who in (1, 2, 3)]
        )
    found = look.figures().values()
    assert all(figures.lags_chance < figures.limit and not figures.suspected for figures in found)


def test_two_good_taskers_beside_a_careless_third_are_not_suspected() -> None:
    """They side with each other nearly always, because the third is wrong; and they work at the same hours."""
    rng, look = Random(6), CopyingSearch()
    for number in range(800):
        at = number * 30.0
        said = ["unsure_no" if rng.random() < share else "definitely_no" for share in (0.03, 0.03, 0.4)]
        look.add([neither(who, said[who - 1], at + 5 * who) for who in (1, 2, 3)])
    figures = look.figures()[1, 2]
    assert figures.splits > 200 and figures.sided > 0.8 * figures.splits
    assert figures.sides_chance > 1e-3 and not figures.suspected


def test_difficulty_explains_times_that_go_together() -> None:
    rng, look = Random(7), CopyingSearch()
    for number in range(400):
        hard = rng.gauss(0, 0.8)
        look.add([ComparedAnswer(who, GOOD, (), math.exp(2 + hard + rng.gauss(0, 0.3)), number) for who in (1, 2, 3)])
    found = look.figures().values()
    assert all((figures.seconds_correlation or 0) > 0.7 and figures.seconds_chance > 1e-3 for figures in found)


def test_pairs_apart_are_not_compared_and_the_others_share_the_limit() -> None:
    look = CopyingSearch()
    look.add([ComparedAnswer(who, GOOD, (), 5.0, who) for who in range(1, 11)], apart=[(1, 2)])
    assert len(look.figures()) == 44 and (1, 2) not in look.figures()
    assert {figures.limit for figures in look.figures().values()} == {copying.MAX_FALSE_ALARM_CHANCE / 45}


@cases(
    "times of chance expected why",
    (0, 10, 0.5, 1.0, "at least none is certain"),
    (3, 10, 0.5, 1.0, "fewer than expected is no evidence"),
    (10, 10, 0.5, 0.5**10, "all"),
    (9, 10, 0.5, 11 * 0.5**10, "all but one"),
    (0, 0, 0.5, 1.0, "nothing to count"),
)
def test_tail(times: int, of: int, chance: float, expected: float, why: str) -> None:
    assert chance_of_at_least(times, of, chance) == pytest.approx(expected, rel=1e-9), why
