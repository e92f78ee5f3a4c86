"""Who may appeal what, and until when (R18)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from common.errors import DomainError
from contest.board.appeals import appeal_send
from contest.board.grounds import Appealed, appeal_ground, appealable
from contest.enums import AppealSide, CaseState, StakeEnd
from contest.models import Attack, Stake, Team
from contest.stakes.ends import stakes_end
from labeling.models import Image, PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions
from tests import factories
from tests.contest.board.cast import LATER, RULED, Scene
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE, MONDAY

pytestmark = pytest.mark.django_db
DAY, INSTANT = timedelta(days=1), timedelta(microseconds=1)
END = RULED + 7 * DAY
ARGUMENT = "The wing in the middle is a part of the branch behind it: see the mark."


@dataclass
class Asked:
    """Which team asks about which picture, and when."""

    team: Team
    image: Image
    now: datetime = LATER


def answer(asked: Asked) -> str:
    """The side that the team is on, or the code of what stands against it; the list says the same."""
    listed = {ground.ruling.image_id: ground for ground in appealable(asked.team, asked.now)}
    try:
        ground = appeal_ground(asked.image, asked.team, asked.now)
    except DomainError as error:
        assert asked.image.pk not in listed
        return error.code
    assert listed[asked.image.pk] == ground
    return ground.side.value


def stake_of(scene: Scene, **changes: object) -> None:
    Stake.objects.filter(pk=scene.stake.pk).update(**changes)


def attack_of(scene: Scene, **changes: object) -> None:
    Attack.objects.filter(pk=scene.attack.pk).update(**changes)


def appealed(scene: Scene, team: Team, now: datetime = LATER) -> None:
    by = factories.user(f"somebody of {team.name}")
    appeal_send(image=scene.image, team=team, argument=ARGUMENT, marks=[], by=by, now=now)


def at(now: datetime) -> Callable[[Scene], Asked]:
    return lambda scene: Asked(scene.blue, scene.image, now)


# Each row: the ruling is valid or not, what is asked, the answer, and why. -------------------------------------------


def as_defender(scene: Scene) -> Asked:
    return Asked(scene.blue, scene.image)


def as_sender(scene: Scene) -> Asked:
    return Asked(scene.red, scene.image)


def as_somebody(scene: Scene) -> Asked:
    return Asked(cast.team("green"), scene.image)


def of_a_defense_of_nobody(scene: Scene) -> Asked:
    cast.staked(cast.defense("reference"))
    return as_sender(scene)


def released_and(ask: Callable[[Scene], Asked]) -> Callable[[Scene], Asked]:
    def asked(scene: Scene) -> Asked:
        cast.released("2026-W47")
        return ask(scene)

    return asked


def twice(ask: Callable[[Scene], Asked]) -> Callable[[Scene], Asked]:
    def asked(scene: Scene) -> Asked:
        appealed(scene, ask(scene).team)
        return ask(scene)

    return asked


def under_embargo(scene: Scene, label: str = "bird") -> Asked:
    attack = cast.attack(scene.red, days=6)
    cast.ruled(attack.image, label, at=MONDAY + 6 * DAY)
    return Asked(scene.blue if label else scene.red, attack.image, MONDAY + 7 * DAY)


def own_under_embargo(scene: Scene) -> Asked:
    return under_embargo(scene, "")


def withdrawn(ask: Callable[[Scene], Asked]) -> Callable[[Scene], Asked]:
    def asked(scene: Scene) -> Asked:
        attack_of(scene, withdrawn_at=MONDAY + 3 * DAY)
        return ask(scene)

    return asked


def staked_by(**changes: object) -> Callable[[Scene], Asked]:
    def asked(scene: Scene) -> Asked:
        stake_of(scene, **changes)
        cast.released("2026-W47")
        return as_defender(scene)

    return asked


def broken_by_it(scene: Scene) -> Asked:
    proof = cast.broken(scene.stake.defense, scene.attack, found=RULED + timedelta(minutes=5))
    assert stakes_end(now=RULED + timedelta(minutes=6)) and proof.image == scene.image
    scene.stake.refresh_from_db()
    assert scene.stake.end == StakeEnd.BROKEN
    return as_defender(scene)


def broken_by_it_and_ruled_again(scene: Scene) -> Asked:
    broken_by_it(scene)
    cast.overruled(scene.image, label="", at=RULED + DAY)
    cast.overruled(scene.image, label="bird", at=RULED + 2 * DAY)
    return Asked(scene.blue, scene.image, RULED + 3 * DAY)


def broken_by_another_before(scene: Scene) -> Asked:
    other = cast.attack(scene.red, days=2)
    cast.ruled(other.image, at=RULED - timedelta(hours=5))
    cast.broken(scene.stake.defense, other, found=RULED - timedelta(hours=4))
    stakes_end(now=RULED - timedelta(hours=4))
    cast.broken(scene.stake.defense, scene.attack, found=RULED + timedelta(minutes=5))
    cast.released("2026-W47")
    return as_defender(scene)


def merged_into(scene: Scene) -> Asked:
    big = cast.team("big")
    Team.objects.filter(pk=scene.blue.pk).update(merged_into=big, merged_at=MONDAY)
    return Asked(big, scene.image)


def merged_and_appealed(scene: Scene) -> Asked:
    asked = merged_into(scene)
    scene.blue.refresh_from_db()
    appealed(scene, scene.blue)
    return asked


def appealed_and_then_merged(scene: Scene) -> Asked:
    appealed(scene, scene.blue)
    return merged_into(scene)


def sender_merged_into(scene: Scene) -> Asked:
    big = cast.team("big")
    Team.objects.filter(pk=scene.red.pk).update(merged_into=big, merged_at=LATER)
    return Asked(big, scene.image)


def sent_it_too(scene: Scene) -> Asked:
    cast.attack(scene.blue, days=3, image=scene.image, copy_of=scene.attack)
    cast.released("2026-W47")
    return as_defender(scene)


def sent_it_and_took_it_back(scene: Scene) -> Asked:
    cast.attack(scene.blue, days=3, image=scene.image, copy_of=scene.attack, withdrawn_at=MONDAY + 4 * DAY)
    return as_defender(scene)


def of_the_dataset(scene: Scene, label: str = "bird") -> Asked:
    image = factories.image(received_at=MONDAY + DAY)
    cast.ruled(image, label, at=RULED)
    return Asked(scene.blue if label else scene.red, image)


def rejected_of_the_dataset(scene: Scene) -> Asked:
    return of_the_dataset(scene, "")


def a_gold_picture(scene: Scene) -> Asked:
    image = factories.image(origin="gold", received_at=MONDAY + DAY)
    cast.attack(scene.red, days=2, image=image)
    cast.ruled(image, "", at=RULED)
    return Asked(scene.red, image)


def being_decided(ask: Callable[[Scene], Asked]) -> Callable[[Scene], Asked]:
    def asked(scene: Scene) -> Asked:
        case = scene.opened()
        case.state = CaseState.PANEL
        case.save()
        return ask(scene)

    return asked


def before_the_board(scene: Scene) -> Asked:
    scene.opened()
    return as_defender(scene)


def overruled_to_valid(scene: Scene) -> Asked:
    cast.overruled(scene.image, label="bird", at=END)
    return Asked(scene.blue, scene.image, END + DAY)


def overruled_to_rejected(scene: Scene) -> Asked:
    cast.overruled(scene.image, label="", at=END)
    return Asked(scene.red, scene.image, END + 7 * DAY - INSTANT)


def second_ruling_after_an_appeal(scene: Scene) -> Asked:
    appealed(scene, scene.blue)
    cast.overruled(scene.image, label="bicycle", at=END)
    return Asked(scene.blue, scene.image, END + DAY)


def not_ruled(scene: Scene) -> Asked:
    return Asked(scene.blue, cast.attack(scene.red, days=2).image)


def a_copy_rejected(scene: Scene) -> Asked:
    other = cast.team("green")
    cast.attack(other, days=3, image=scene.image, copy_of=scene.attack)
    return Asked(other, scene.image)


TABLE = [
    (True, as_defender, "defender", "its defense was at stake"),
    (True, at(RULED), "defender", "from the ruling on"),
    (True, at(END - INSTANT), "defender", "the last moment"),
    (True, at(END), "window_over", "exactly at its end it is over"),
    (True, at(END + INSTANT), "window_over", "a microsecond after the window"),
    (False, as_sender, "attacker", "its picture was rejected"),
    (True, twice(as_defender), "appealed", "a defender has one per picture"),
    (False, twice(as_sender), "appealed", "an attacker has one per picture"),
    (True, released_and(as_sender), "wrong_side", "who sent it has nothing against valid"),
    (True, as_sender, "wrong_side", "and knows that it is valid before its release"),
    (True, of_a_defense_of_nobody, "wrong_side", "a defense of nobody gives nobody a ground"),
    (False, released_and(as_defender), "wrong_side", "a defender has nothing against a rejection"),
    (False, as_defender, "not_ruled", "and is not told of one before its release"),
    (True, as_somebody, "not_ruled", "nor is who has no stake"),
    (True, released_and(as_somebody), "wrong_side", "who has no stake, once it is public"),
    (True, under_embargo, "not_found", "under embargo it is not there"),
    (False, own_under_embargo, "not_ruled", "who sent it waits for the end of the week"),
    (True, withdrawn(as_defender), "not_found", "a withdrawn picture is not there"),
    (False, withdrawn(as_sender), "not_ruled", "who took it back has nothing to appeal"),
    (True, staked_by(staked_at=RULED), "defender", "the stake began with the ruling"),
    (True, staked_by(staked_at=RULED + INSTANT), "wrong_side", "the stake began after the ruling"),
    (True, staked_by(staked_at=None, clock_from=None), "wrong_side", "its money never came"),
    (True, staked_by(ended_at=RULED, end=StakeEnd.WITHDRAWN), "defender", "it ended with the ruling"),
    (True, staked_by(ended_at=RULED - INSTANT, end=StakeEnd.WITHDRAWN), "wrong_side", "it ended before the ruling"),
    (True, staked_by(clock_from=MONDAY + DAY - 90 * DAY + INSTANT), "defender", "sent in the last moment of its time"),
    (True, staked_by(clock_from=MONDAY + DAY - 90 * DAY), "wrong_side", "sent when its time was over"),
    (True, broken_by_it, "defender", "this picture ended the stake"),
    (True, broken_by_it_and_ruled_again, "defender", "it did before the ruling that holds, too"),
    (True, broken_by_another_before, "wrong_side", "another picture had ended it"),
    (True, merged_into, "defender", "teams that were merged are one"),
    (True, merged_and_appealed, "appealed", "merged teams have one appeal together"),
    (True, appealed_and_then_merged, "appealed", "an earlier appeal of a part counts"),
    (False, sender_merged_into, "attacker", "of senders as well"),
    (True, sent_it_too, "wrong_side", "it sent the picture itself"),
    (True, sent_it_and_took_it_back, "defender", "what was taken back was never sent"),
    (True, released_and(of_the_dataset), "defender", "a released picture of the data set"),
    (True, of_the_dataset, "not_found", "before its release nobody knows of it"),
    (True, released_and(rejected_of_the_dataset), "wrong_side", "nobody sent a picture of the data set"),
    (True, a_gold_picture, "not_ruled", "a gold picture is never told of"),
    (True, being_decided(as_defender), "being_decided", "more taskers are at it"),
    (True, being_decided(as_somebody), "not_ruled", "which is told to nobody else"),
    (True, before_the_board, "defender", "it joins a case that is open"),
    (False, overruled_to_valid, "defender", "an overrule is appealed by the other side, in a window of its own"),
    (True, overruled_to_rejected, "attacker", "and so is one the other way"),
    (True, second_ruling_after_an_appeal, "appealed", "one appeal per picture, however many rulings"),
    (True, not_ruled, "not_ruled", "nothing to appeal yet"),
    (False, a_copy_rejected, "not_ruled", "who sent a copy is told with the release"),
    (False, released_and(a_copy_rejected), "attacker", "and may appeal then"),
]


@pytest.mark.parametrize(("valid", "ask", "expected", "why"), TABLE, ids=[row[3] for row in TABLE])
def test_who_may_appeal(valid: bool, ask: Callable[[Scene], Asked], expected: str, why: str, scene: Scene) -> None:
    """R18."""
    assert answer(ask(scene if valid else scene.beside(valid=False))) == expected, why


def test_what_stands_against_an_appeal_is_said_in_words(scene: Scene) -> None:
    """A picture under embargo is refused as one that is not there is (R24)."""
    asked, said = under_embargo(scene), []
    for image in (asked.image, Image(public_id="P-00000000")):
        with pytest.raises(DomainError) as found:
            appeal_ground(image, asked.team, asked.now)
        said.append((type(found.value), found.value.code, found.value.message))
    assert said[0] == said[1]
    with pytest.raises(DomainError, match="could be appealed before Mon 30 Nov 2026 00:00:00 UTC"):
        appeal_ground(scene.image, scene.blue, END)
    appealed(scene, scene.blue)
    with pytest.raises(Appealed) as earlier:
        appeal_ground(scene.image, scene.blue, LATER)
    assert earlier.value.appeal.public_id in earlier.value.message


def test_of_several_defenses_the_one_at_stake_longest_is_named(scene: Scene) -> None:
    cast.deposit(4 * cast.PRIZE, factories.user("a sponsor", "organizers"))
    older = cast.staked(cast.defense("older", scene.blue), at=BEFORE + DAY)
    later = cast.staked(cast.defense("later", scene.blue), at=MONDAY + DAY)
    assert appeal_ground(scene.image, scene.blue, LATER).defense == older.defense
    Stake.objects.filter(pk=older.pk).update(ended_at=RULED - DAY, end=StakeEnd.WITHDRAWN)
    found = appeal_ground(scene.image, scene.blue, LATER).defense
    assert found == scene.stake.defense and found != later.defense


def test_the_window_is_that_of_the_policy_in_force_when_the_ruling_was_made(scene: Scene) -> None:
    numbers = Policy(appeal_days=1).to_json()
    PolicyVersion.objects.create(version=2, numbers=numbers, in_force_from=RULED + INSTANT, reason="shorter")
    forget_versions()
    assert appeal_ground(scene.image, scene.blue, END - INSTANT).until == END
    second = cast.overruled(scene.image, label="bicycle", at=RULED + DAY)
    assert appeal_ground(scene.image, scene.blue, RULED + DAY).until == second.decided_at + DAY
    assert answer(Asked(scene.blue, scene.image, RULED + 2 * DAY)) == "window_over"


def test_what_may_be_appealed_is_listed_the_nearest_end_first_for_both_sides(scene: Scene) -> None:
    early, late = cast.attack(scene.blue, days=2), cast.attack(scene.red, days=3)
    cast.ruled(early.image, "", at=RULED - timedelta(hours=1))
    cast.ruled(late.image, at=RULED + timedelta(hours=1))
    found = [(ground.side, ground.ruling.image) for ground in appealable(scene.blue, LATER)]
    defends = AppealSide.DEFENDER
    assert found == [(AppealSide.ATTACKER, early.image), (defends, scene.image), (defends, late.image)]
    assert [ground.ruling.image for ground in appealable(scene.blue, END)] == [late.image]
    assert appealable(cast.team("green"), LATER) == []
