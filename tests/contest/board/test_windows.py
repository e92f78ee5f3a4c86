"""Until when a rejection may be appealed: page, call, letters, list and settlement agree at every moment (R18, R24)."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache

from contest.attacks.life import story
from contest.board.grounds import appealable
from contest.enums import MessageKind
from contest.messages.deadlines import BEFORE, appeals_closing_tell
from contest.messages.verdicts import in_words, verdicts_tell
from contest.models import Attack, Message, Release, Team
from contest.settled import Weeks
from contest.weeks import week_at
from tests.contest.board.case_cast import joins
from tests.contest.board.cast import RULED, Scene
from tests.contest.money import cast

pytestmark = pytest.mark.django_db
DAY, INSTANT = timedelta(days=1), timedelta(microseconds=1)
RELEASED = RULED + 3 * DAY
FIRST_ENDS, COPY_ENDS = RULED + 7 * DAY, RELEASED + 7 * DAY
ARGUMENT = "The wing in the middle is a part of the branch behind it: see the mark."


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """A rejected picture that red sent first and green sent again, in a week that is released."""
    found = Scene.make(valid=False)
    green = cast.team("green")
    cast.attack(green, days=3, image=found.image, copy_of=found.attack)
    cast.released(week_at(found.image.received_at).name)
    Release.objects.update(released_at=RELEASED)
    for team in (found.red, green):
        joins(team, f"of {team.name}")
    return found


# whose window, a moment, whether it is open
ROWS = [
    ("red", FIRST_ENDS - INSTANT, True, "the last moment of who sent it first"),
    ("red", FIRST_ENDS, False, "seven days after the ruling"),
    ("red", COPY_ENDS - INSTANT, False, "the days of a copy are not those of the first"),
    ("green", FIRST_ENDS, True, "the first sender's days are over, a copy's are not"),
    ("green", COPY_ENDS - INSTANT, True, "the last moment of who sent a copy"),
    ("green", COPY_ENDS, False, "seven days after the release"),
]


@pytest.mark.parametrize(("name", "now", "is_open", "why"), ROWS, ids=[f"{row[0]}: {row[3]}" for row in ROWS])
def test_page_list_letter_and_call_agree(
    name: str, now: datetime, is_open: bool, why: str, scene: Scene, signed_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    team, ends = Team.objects.get(name=name), FIRST_ENDS if name == "red" else COPY_ENDS
    attack = Attack.objects.get(team=team)
    last = story(attack, all_told=False, now=now)[-1]
    assert (last.at, last.words) == (ends, f"The window for appeals {'ends' if is_open else 'ended'}.")
    assert [each.until for each in appealable(team, now)] == ([ends] if is_open else [])
    verdicts_tell(now=now)
    told = Message.objects.filter(kind=MessageKind.ATTACK_VERDICTS, user__username=f"of {name}").first()
    assert told is not None and told.facts["rows"][0]["until"] == in_words(ends)
    appeals_closing_tell(now=ends - BEFORE)
    (closing,) = Message.objects.filter(kind=MessageKind.APPEALS_CLOSING, user__username=f"of {name}")
    assert closing.facts["first"] == in_words(ends)
    body = {"image": scene.image.public_id, "argument": ARGUMENT}
    client = signed_in(told.user)
    page = client.get(f"/appeals/new/{scene.image.public_id}/")
    assert (page.status_code == 200) is is_open or b"too late" in page.content
    answer = client.post("/api/v1/appeals/", body, content_type="application/json")
    assert (answer.status_code, answer.json().get("code")) == ((201, None) if is_open else (409, "window_over"))


def test_the_week_is_open_as_long_as_the_last_of_them(scene: Scene) -> None:
    week = week_at(scene.image.received_at)
    for now, closed in ((COPY_ENDS - INSTANT, False), (COPY_ENDS, True)):
        cache.clear()
        assert Weeks(now).appeals_closed(week, of=scene.stake.defense) is closed


def test_who_has_the_first_receipt_too_has_its_days(scene: Scene) -> None:
    """The team that sent the copy is one with the team that sent it first."""
    green = Team.objects.get(name="green")
    Team.objects.filter(pk=green.pk).update(merged_into=scene.red, merged_at=RULED)
    copy = Attack.objects.get(copy_of=scene.attack)
    assert story(copy, all_told=False, now=FIRST_ENDS)[-1].words == "The window for appeals ended."
    assert appealable(scene.red, FIRST_ENDS) == []


def test_organizers_read_of_a_copy_that_its_window_begins_with_the_release(scene: Scene) -> None:
    Release.objects.all().delete()
    copy = Attack.objects.get(copy_of=scene.attack)
    last = story(copy, all_told=True, now=COPY_ENDS)[-1]
    assert (last.at, last.words) == (None, "The window for appeals begins with the release of the picture's week.")


WINDOWS = "contest/windows.py"
ALONE = [
    (r"\.appeal_days\b", {WINDOWS}, "the days of an appeal"),
    (
        r"\bcopies_close_at\b",
        {WINDOWS, "contest/settled.py"},
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
