"""Who may appeal what, and until when: page, call, letters, list and settlement agree at every moment (R18, R24)."""

import re
from collections import namedtuple
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache

from common.errors import DomainError
from contest.appeals.grounds import appeal_ground, appealable, reader_for
from contest.appeals.services import appeal_send
from contest.core.enums import AppealSide, CaseState, MessageKind, StakeEnd
from contest.core.models import Attack, Case, Release, Stake, Team
from contest.core.picture_access import rulings_seen_by
from contest.core.settled_weeks import Weeks
from contest.core.weeks import week_at
from contest.defenses.stake_ends import stakes_end
from contest.notifications import deadlines
from contest.notifications.verdicts import in_contest_time, notify_verdicts
from contest.outbox.models import Message
from contest.record.timeline.attack import attack_timeline
from contest.record.timeline.events import Event
from labeling.models import Image
from labeling.selectors import forget_versions
from policy.models import PolicyVersion
from policy.numbers import Policy
from tests import factories
from tests.contest.board.case_cast import ARGUMENT, joins
from tests.contest.board.cast import LATER, RULED, Scene
from tests.contest.ledger import cast
from tests.contest.ledger.cast import BEFORE, MONDAY
from tests.refusals import refused

pytestmark = pytest.mark.django_db
DAY, INSTANT = timedelta(days=1), timedelta(microseconds=1)
SENT, END = MONDAY + DAY, RULED + 7 * DAY
WITHDRAWN = StakeEnd.WITHDRAWN


def answer(team: Team, image: Image, now: datetime = LATER) -> str:
    """The side that a team is on, or the code of what stands against it; the list says the same."""
    listed = {ground.ruling.image_id: ground for ground in appealable(team, now)}
    try:
        ground = appeal_ground(image, team, now)
    except DomainError as error:
        assert image.pk not in listed
        return error.code
    assert listed[image.pk] == ground
    return ground.side.value


# What happened before somebody asks. ----------------------------------------------------------------------------------

Happening = Callable[[Scene], object]


def released(scene: Scene) -> None:
    cast.released("2026-W47")


def staked_by(**changes: object) -> Happening:
    return lambda scene: Stake.objects.filter(pk=scene.stake.pk).update(**changes)


def appealed_by(name: str) -> Happening:
    return lambda scene: appeal_send(
        image=scene.image,
        team=Team.objects.get(name=name),
        argument=ARGUMENT,
        marks=[],
        by=factories.user(f"somebody of {name}"),
        now=LATER,
    )


def merged(team: str, at: datetime) -> Happening:
    return lambda scene: Team.objects.filter(name=team).update(merged_into=cast.team("big"), merged_at=at)


def overruled(label: str, at: datetime) -> Happening:
    return lambda scene: cast.overruled(scene.image, label=label, at=at)


def sent_too(team: str, **more: object) -> Happening:
    """A team sent the same pixels a day or two later."""
    return lambda scene: cast.attack(
        Team.objects.filter(name=team).first() or cast.team(team),
        days=3,
        image=scene.image,
        copy_of=scene.attack,
        **more,
    )


def withdrawn(scene: Scene) -> None:
    Attack.objects.filter(pk=scene.attack.pk).update(withdrawn_at=MONDAY + 3 * DAY)


def broken_by_it(scene: Scene) -> None:
    cast.broken(scene.stake.defense, scene.attack, found=RULED + timedelta(minutes=5))
    assert stakes_end(now=RULED + timedelta(minutes=6)) == 1


def broken_by_another_before(scene: Scene) -> None:
    other = cast.attack(scene.red, days=2)
    cast.ruled(other.image, at=RULED - timedelta(hours=5))
    cast.broken(scene.stake.defense, other, found=RULED - timedelta(hours=4))
    stakes_end(now=RULED - timedelta(hours=4))
    cast.broken(scene.stake.defense, scene.attack, found=RULED + timedelta(minutes=5))


def staked_again_and_returned(scene: Scene) -> None:
    again = cast.staked(scene.stake.defense, at=MONDAY + 7 * DAY)
    cast.ended(again, WITHDRAWN, at=MONDAY + 8 * DAY)


def more_taskers_are_asked(scene: Scene) -> None:
    scene.opened()
    Case.objects.update(state=CaseState.PANEL)


# Other pictures than that of the scene. -------------------------------------------------------------------------------


def of_this_week(scene: Scene, label: str = "bird") -> Image:
    """A picture under embargo."""
    image = cast.attack(scene.red, days=6).image
    cast.ruled(image, label, at=MONDAY + 6 * DAY)
    return image


def of_next_week(scene: Scene) -> Image:
    """A picture that came on the Tuesday after, and was ruled upon two days after its week."""
    image = cast.attack(scene.red, days=8).image
    cast.ruled(image)
    return image


def of_the_dataset(scene: Scene, label: str = "bird", **more: str) -> Image:
    image = factories.image(received_at=MONDAY + DAY, **more)
    cast.ruled(image, label, at=RULED)
    return image


def gold(scene: Scene) -> Image:
    return cast.attack(scene.red, days=2, image=of_the_dataset(scene, "", origin="gold")).image


# Who asks about a picture, valid or rejected; what they are answered, and why; after what happened; when; which one.
Row = namedtuple("Row", "team valid expected why after now image", defaults=((), LATER, lambda scene: scene.image))
LONG_SINCE = SENT - 90 * DAY
TABLE = [
    Row("blue", True, "defender", "its defense was at stake"),
    Row("blue", True, "defender", "from the ruling on", now=RULED),
    Row("blue", True, "defender", "the last moment", now=END - INSTANT),
    Row("blue", True, "window_over", "exactly at its end it is over", now=END),
    Row("blue", True, "window_over", "a microsecond after the window", now=END + INSTANT),
    Row("red", False, "attacker", "its picture was rejected"),
    Row("blue", True, "appealed", "a defender has one per picture", (appealed_by("blue"),)),
    Row("red", False, "appealed", "an attacker has one per picture", (appealed_by("red"),)),
    Row("red", True, "wrong_side", "who sent it has nothing against valid", (released,)),
    Row("red", True, "wrong_side", "and knows that it is valid before its release"),
    Row(
        *("red", True, "wrong_side", "a defense of nobody gives nobody a ground"),
        (lambda scene: cast.staked(cast.defense("reference")),),
    ),
    Row("blue", False, "wrong_side", "a defender has nothing against a rejection", (released,)),
    Row("blue", False, "not_ruled", "and is not told of one before its release"),
    Row("green", True, "not_ruled", "nor is who has no stake"),
    Row("green", True, "wrong_side", "who has no stake, once it is public", (released,)),
    Row("blue", True, "not_found", "under embargo it is not there", now=MONDAY + 7 * DAY, image=of_this_week),
    Row(
        *("red", False, "not_ruled", "who sent it waits for the end of the week"),
        now=MONDAY + 7 * DAY,
        image=lambda scene: of_this_week(scene, ""),
    ),
    Row("blue", True, "not_found", "a withdrawn picture is not there", (withdrawn,)),
    Row("red", False, "not_ruled", "who took it back has nothing to appeal", (withdrawn,)),
    Row("blue", True, "defender", "the stake began with the ruling", (staked_by(staked_at=RULED), released)),
    Row(
        *("blue", True, "wrong_side", "the stake began after the ruling"),
        (staked_by(staked_at=RULED + INSTANT), released),
    ),
    Row("blue", True, "wrong_side", "its money never came", (staked_by(staked_at=None, clock_from=None), released)),
    Row(
        *(
            "blue",
            True,
            "defender",
            "it was returned after the picture was sent: a break would take that back",
        ),
        (staked_by(ended_at=SENT + INSTANT, end=WITHDRAWN),),
    ),
    Row(
        *("blue", True, "wrong_side", "it was returned when the picture was sent"),
        (staked_by(ended_at=SENT, end=WITHDRAWN), released),
    ),
    Row(
        *("blue", True, "defender", "it won before the ruling: a break would take back its award"),
        (staked_by(ended_at=RULED - INSTANT, end=StakeEnd.WON),),
    ),
    Row(
        *("blue", True, "defender", "sent in the last moment of its time"),
        (staked_by(clock_from=LONG_SINCE + INSTANT), released),
    ),
    Row("blue", True, "wrong_side", "sent when its time was over", (staked_by(clock_from=LONG_SINCE), released)),
    Row("blue", True, "defender", "this picture ended the stake", (broken_by_it,)),
    Row(
        *("blue", True, "defender", "it did before the ruling that holds, too"),
        (broken_by_it, overruled("", RULED + DAY), overruled("bird", RULED + 2 * DAY)),
        now=RULED + 3 * DAY,
    ),
    Row("blue", True, "defender", "another picture had ended it, and may be overruled", (broken_by_another_before,)),
    Row(
        *("blue", True, "defender", "even before this one was sent"),
        (broken_by_another_before,),
        now=MONDAY + 15 * DAY,
        image=of_next_week,
    ),
    Row(
        *("blue", True, "not_ruled", "it was staked again before this one was sent, and returned"),
        (broken_by_another_before, staked_again_and_returned),
        now=MONDAY + 15 * DAY,
        image=of_next_week,
    ),
    Row("big", True, "defender", "teams that were merged are one", (merged("blue", MONDAY),)),
    Row(
        *("big", True, "appealed", "merged teams have one appeal together"),
        (merged("blue", MONDAY), appealed_by("blue")),
    ),
    Row(
        *("big", True, "appealed", "an earlier appeal of a part counts"), (appealed_by("blue"), merged("blue", MONDAY))
    ),
    Row("big", False, "attacker", "of senders as well", (merged("red", LATER),)),
    Row("blue", True, "wrong_side", "it sent the picture itself", (sent_too("blue"), released)),
    Row(
        *("blue", True, "defender", "what was taken back was never sent"),
        (sent_too("blue", withdrawn_at=MONDAY + 4 * DAY),),
    ),
    Row("blue", True, "defender", "a released picture of the data set", (released,), image=of_the_dataset),
    Row("blue", True, "not_found", "before its release nobody knows of it", image=of_the_dataset),
    Row(
        *("red", True, "wrong_side", "nobody sent a picture of the data set", (released,)),
        image=lambda scene: of_the_dataset(scene, ""),
    ),
    Row("red", True, "not_ruled", "a gold picture is never told of", image=gold),
    Row("blue", True, "being_decided", "more taskers are at it", (more_taskers_are_asked,)),
    Row("green", True, "not_ruled", "which is told to nobody else", (more_taskers_are_asked,)),
    Row("blue", True, "defender", "it joins a case that is open", (lambda scene: scene.opened(),)),
    Row(
        *("blue", False, "defender", "an overrule is appealed by the other side, in a window of its own"),
        (overruled("bird", END),),
        now=END + DAY,
    ),
    Row(*("red", True, "attacker", "and so is one the other way", (overruled("", END),)), now=END + 7 * DAY - INSTANT),
    Row(
        *("blue", True, "appealed", "one appeal per picture, however many rulings"),
        (appealed_by("blue"), overruled("bicycle", END)),
        now=END + DAY,
    ),
    Row("blue", True, "not_ruled", "nothing to appeal yet", image=lambda scene: cast.attack(scene.red, days=2).image),
    Row("green", False, "not_ruled", "who sent a copy is told with the release", (sent_too("green"),)),
    Row("green", False, "attacker", "and may appeal then", (sent_too("green"), released)),
]


@pytest.mark.parametrize("row", TABLE, ids=[row.why for row in TABLE])
def test_who_may_appeal(row: Row, scene: Scene) -> None:
    """R18."""
    scene = scene if row.valid else scene.beside(valid=False)
    image = row.image(scene)
    for happens in row.after:
        happens(scene)
    team = Team.objects.filter(name=row.team).first() or cast.team(row.team)
    assert answer(team, image, row.now) == row.expected, row.why


def test_what_stands_against_an_appeal_is_said_in_words(scene: Scene) -> None:
    """A picture under embargo is refused as one that is not there is (R24)."""
    pictures, sunday = (of_this_week(scene), Image(public_id="P-00000000")), MONDAY + 7 * DAY
    hidden, nowhere = (refused("not_found", appeal_ground, image, scene.blue, sunday) for image in pictures)
    assert (type(hidden), hidden.message) == (type(nowhere), nowhere.message)
    late = refused("window_over", appeal_ground, scene.image, scene.blue, END)
    assert "could be appealed before Mon 30 Nov 2026 00:00:00 UTC" in late.message
    appealed_by("blue")(scene)
    earlier = refused("appealed", appeal_ground, scene.image, scene.blue, LATER)
    assert earlier.appeal.public_id in earlier.message


def test_of_several_defenses_the_one_at_stake_longest_is_named(scene: Scene) -> None:
    cast.deposit(4 * cast.PRIZE, factories.user("a sponsor", "organizers"))
    older = cast.staked(cast.defense("older", scene.blue), at=BEFORE + DAY)
    cast.staked(cast.defense("later", scene.blue), at=MONDAY + DAY)
    assert appeal_ground(scene.image, scene.blue, LATER).defense == older.defense
    Stake.objects.filter(pk=older.pk).update(ended_at=SENT, end=WITHDRAWN)
    assert appeal_ground(scene.image, scene.blue, LATER).defense == scene.stake.defense


def test_what_may_be_appealed_is_listed_the_nearest_end_first_for_both_sides(scene: Scene) -> None:
    early, late = cast.attack(scene.blue, days=2), cast.attack(scene.red, days=3)
    cast.ruled(early.image, "", at=RULED - timedelta(hours=1))
    cast.ruled(late.image, at=RULED + timedelta(hours=1))
    found = [(ground.side, ground.ruling.image) for ground in appealable(scene.blue, LATER)]
    defends = AppealSide.DEFENDER
    assert found == [(AppealSide.ATTACKER, early.image), (defends, scene.image), (defends, late.image)]
    assert appealable(scene.blue, LATER, limit=2) == appealable(scene.blue, LATER)[:2]
    assert [ground.ruling.image for ground in appealable(scene.blue, END)] == [late.image]
    assert appealable(cast.team("green"), LATER) == []


# The window -----------------------------------------------------------------------------------------------------------


def test_the_window_is_that_of_the_policy_in_force_when_the_ruling_was_made(scene: Scene) -> None:
    numbers = Policy(appeal_days=1).to_json()
    PolicyVersion.objects.create(version=2, numbers=numbers, in_force_from=RULED + INSTANT, reason="shorter")
    forget_versions()
    assert appeal_ground(scene.image, scene.blue, END - INSTANT).until == END
    second = cast.overruled(scene.image, label="bicycle", at=RULED + DAY)
    assert appeal_ground(scene.image, scene.blue, RULED + DAY).until == second.decided_at + DAY
    assert answer(scene.blue, scene.image, RULED + 2 * DAY) == "window_over"


def test_a_later_ruling_whose_window_closes_earlier_is_listed_first(scene: Scene) -> None:
    shorter = Policy(appeal_days=1).to_json()
    PolicyVersion.objects.create(version=2, numbers=shorter, in_force_from=RULED + INSTANT, reason="shorter")
    forget_versions()
    late = cast.attack(scene.red, days=3)
    cast.ruled(late.image, at=RULED + timedelta(hours=1))
    listed = [(each.ruling.image, each.until) for each in appealable(scene.blue, RULED + timedelta(hours=2))]
    assert listed == [(late.image, RULED + timedelta(hours=25)), (scene.image, END)]
    (first,) = appealable(scene.blue, RULED + timedelta(hours=2), limit=1)
    assert first.ruling.image == late.image
    assert [each.ruling.image for each in appealable(scene.blue, RULED + timedelta(hours=25))] == [scene.image]


WEEK_RELEASED = RULED + 3 * DAY
COPY_ENDS = WEEK_RELEASED + 7 * DAY


@pytest.fixture
def copied(rejected: Scene) -> Attack:
    """What green sent: a rejected picture that red sent first, of a week that is released."""
    green = cast.team("green")
    released(rejected)
    Release.objects.update(released_at=WEEK_RELEASED)
    for team in (rejected.red, green):
        joins(team, f"of {team.name}")
    return cast.attack(green, days=3, image=rejected.image, copy_of=rejected.attack)


# whose window, a moment, whether it is open
ROWS = [
    ("red", END - INSTANT, True, "the last moment of who sent it first"),
    ("red", END, False, "seven days after the ruling"),
    ("red", COPY_ENDS - INSTANT, False, "the days of a copy are not those of the first"),
    ("green", END, True, "the first sender's days are over, a copy's are not"),
    ("green", COPY_ENDS - INSTANT, True, "the last moment of who sent a copy"),
    ("green", COPY_ENDS, False, "seven days after the release"),
]


def window_of(attack: Attack, *, now: datetime, organizer: bool = False) -> Event:
    timeline = attack_timeline(attack, own=not organizer, organizer=organizer, now=now)
    (found,) = (each for each in timeline if "window" in each.words)
    return found


@pytest.mark.parametrize(("name", "now", "is_open", "why"), ROWS, ids=[f"{row[0]}: {row[3]}" for row in ROWS])
def test_page_list_letter_and_call_agree(
    name: str, now: datetime, is_open: bool, why: str, copied: Attack, signed_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    attack, ends = (copied.copy_of, END) if name == "red" else (copied, COPY_ENDS)
    window = window_of(attack, now=now)
    assert (window.at, window.words) == (ends, f"The window for appeals {'ends' if is_open else 'ended'}.")
    assert [each.until for each in appealable(attack.team, now)] == ([ends] if is_open else [])
    notify_verdicts(now=now)
    deadlines.notify_appeals_closing(now=ends - deadlines.BEFORE)
    kinds = (MessageKind.ATTACK_VERDICTS, MessageKind.APPEALS_CLOSING)
    told, closing = (Message.objects.get(kind=kind, user__username=f"of {name}") for kind in kinds)
    assert in_contest_time(ends) in [row["until"] for row in told.facts["rows"]] and closing.facts[
        "first"
    ] == in_contest_time(ends)
    client, picture = signed_in(told.user), attack.image.public_id
    assert (client.get(f"/appeals/new/{picture}/").status_code == 200) is is_open
    answer = client.post("/api/v1/appeals/", {"image": picture, "argument": ARGUMENT}, content_type="application/json")
    assert (answer.status_code, answer.json().get("code")) == ((201, None) if is_open else (409, "window_over"))


def test_the_week_is_open_as_long_as_the_last_of_them(copied: Attack, scene: Scene) -> None:
    cast.answered(scene.stake.defense, scene.image, 1, at=RULED)
    for now, closed in ((COPY_ENDS - INSTANT, False), (COPY_ENDS, True)):
        cache.clear()
        assert Weeks(now).appeals_closed(week_at(copied.received_at), of=scene.stake.defense) is closed


def test_who_has_the_first_receipt_too_has_its_days(copied: Attack, scene: Scene) -> None:
    """The team that sent the copy is one with the team that sent it first."""
    Team.objects.filter(pk=copied.team.pk).update(merged_into=scene.red, merged_at=RULED)
    copied.refresh_from_db()
    assert window_of(copied, now=END).words == "The window for appeals ended."
    assert appealable(scene.red, END) == []


def test_who_sent_a_copy_has_its_days_from_the_release_on(copied: Attack, rejected: Scene) -> None:
    """R18; and a ruling that is newer than the release has days of its own. Red knew the first since it was made."""
    Release.objects.update(released_at=RULED + 20 * DAY)
    at, ends = RULED + 20 * DAY, RULED + 27 * DAY
    assert rulings_seen_by(rejected.image, reader_for(copied.team), now=at).exists()
    for moment in (at, ends - INSTANT):
        assert [(each.side, each.until) for each in appealable(copied.team, moment)] == [(AppealSide.ATTACKER, ends)]
        assert appealable(rejected.red, moment) == []
    assert appealable(copied.team, ends) == []
    second = cast.overruled(rejected.image, at=RULED + 30 * DAY)
    (found,) = appealable(copied.team, RULED + 31 * DAY)
    assert (found.ruling, found.until) == (second, second.decided_at + 7 * DAY)


def test_organizers_read_of_a_copy_that_its_window_begins_with_the_release(copied: Attack) -> None:
    Release.objects.all().delete()
    window = window_of(copied, now=COPY_ENDS, organizer=True)
    assert (window.at, window.words) == (None, "The window for appeals begins with the release of the picture's week.")


ALONE = [
    (r"\.appeal_days\b", {"contest/core/appeal_window.py"}, "the days of an appeal"),
    (
        r"\bcopies_close_at\b",
        {"contest/core/appeal_window.py", "contest/core/settled_weeks.py"},
        "whose days a sender has; a week waits for copies",
    ),
]


@pytest.mark.parametrize(("names", "files", "what"), ALONE, ids=[row[2] for row in ALONE])
def test_one_module_decides(names: str, files: set[str], what: str) -> None:
    found = {
        path.relative_to(settings.BASE_DIR).as_posix()
        for room in ("contest", "scoring", "labeling")
        for path in Path(settings.BASE_DIR, room).rglob("*.py")
        if re.search(names, path.read_text())
    }
    assert found == files, what
