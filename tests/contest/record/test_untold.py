"""What the board does about pictures of a week shows in nothing that can be read before that week is released (R24)."""

from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from adjudication.schema import release_format as form
from common.audit.seals import seal_entries
from common.errors import Conflict
from common.models import AuditSeal
from contest.board.cases import case_open
from contest.board.examinations import picture_confirm
from contest.core.enums import VoteChoice
from contest.core.models import Release
from contest.releases.services import ReleaseResult, release_week
from labeling.models import Image
from policy.calendar import week_named
from tests.contest.board import cast
from tests.contest.board.cast import LATER, OVERRULE_BIRD, Scene
from tests.contest.core.test_embargo import _CHANGES
from tests.contest.ledger import cast as money
from tests.contest.record.decided import drawn

pytestmark = pytest.mark.django_db
W46, W47, W48 = (week_named(f"2026-W{number}", "UTC") for number in (46, 47, 48))
TODAY = W48.end + timedelta(days=1)
PAGES = [
    "/releases/", "/feeds/releases.atom", "/feeds/releases.json", "/api/v1/releases/", "/releases/release-2026-W46/",
    "/overrules/", "/overrules.csv", "/feeds/overrules.atom", "/feeds/overrules.json", "/releases/release-2026-W46.zip",
]  # fmt: skip
Act = Callable[[Scene], object]


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: TODAY)


@pytest.fixture(scope="module")
def made(module_world: Path) -> Scene:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.utils.timezone.now", lambda: TODAY)
        scene = Scene.make(valid=False)
        drawn(scene)
        _release(W46, module_world / "releases")
    return scene


@pytest.fixture
def scene(made: Scene) -> Scene:
    """A rejected picture of the second week, ruled upon in the third; the first one is released."""
    return deepcopy(made)


def _release(week: Any, out: Path) -> ReleaseResult:
    return release_week(week, out=out, now=TODAY, incomplete=True)


def _decided(ballot: Any) -> Act:
    def act(scene: Scene) -> None:
        case = scene.opened(by=scene.members[0])
        cast.votes(case, scene.members[:2], ballot)
        cast.decide(case, scene.members[0])

    return act


def _confirmed(scene: Scene) -> None:
    image, defense, ruling = scene.image, scene.stake.defense, scene.ruling.pk
    picture_confirm(image=image, defense=defense, ruling=ruling, by=scene.members[0], now=LATER)


ACTS: dict[str, Act] = {
    "a case is opened": lambda scene: case_open(image=scene.image, by=scene.members[0], now=LATER),
    "the ruling is upheld": _decided(VoteChoice.UPHOLD),
    "more taskers are asked": _decided(VoteChoice.MORE_TASKERS),
    "the ruling is overruled": _decided(OVERRULE_BIRD),
    "the rejection is confirmed": _confirmed,
}


def _read(out: Path) -> dict[str, tuple[Any, ...]]:
    """All that a stranger can download, with every file of the release."""
    cache.clear()
    files = [f"/releases/release-2026-W46/{path.name}" for path in (out / "release-2026-W46").glob("*.*")]
    answers: dict[str, Any] = {address: Client().get(address) for address in [*PAGES, *files]}
    return {
        address: (answer.status_code, answer.get("Last-Modified"), _CHANGES.sub(b"", answer.getvalue()))
        for address, answer in answers.items()
    }


@pytest.mark.slow("every page and file of the record is read before and after")
@pytest.mark.parametrize("act", ACTS)
def test_no_file_page_count_or_feed_differs_whatever_the_board_does(act: str, scene: Scene, settings: Any) -> None:
    before, seals = _read(settings.RELEASE_DIR), AuditSeal.objects.count()
    assert len(before) > 20
    ACTS[act](scene)
    assert not _release(W46, settings.RELEASE_DIR).new, "the seals of what was done are no part of the weeks before"
    assert AuditSeal.objects.count() > seals and seal_entries() == 0
    after = _read(settings.RELEASE_DIR)
    assert [each for each in before if after[each] != before[each]] == []


@pytest.mark.parametrize("act", ACTS)
def test_no_later_week_is_released_that_would_tell_of_it(act: str, scene: Scene, settings: Any) -> None:
    ACTS[act](scene)
    with pytest.raises(Conflict, match="what the board did about pictures of week 2026-W47.*Release that week first"):
        _release(W48, settings.RELEASE_DIR)
    assert Release.objects.count() == 1 and not (settings.RELEASE_DIR / "release-2026-W48.zip").exists()
    _release(W47, settings.RELEASE_DIR)
    told = (_release(W48, settings.RELEASE_DIR).folder / form.AUDIT).read_text()
    assert "case." in told or "examination." in told
    assert scene.image.public_id not in told, "that and when the board did something, not about what"


def test_of_itself_a_later_week_may_go_ahead(scene: Scene, settings: Any) -> None:
    assert _release(W48, settings.RELEASE_DIR).new


def test_what_is_never_released_holds_no_week_back(scene: Scene, settings: Any) -> None:
    """A picture that became a gold one is of no release, so that none can be waited for."""
    _confirmed(scene)
    Image.objects.filter(pk=scene.image.pk).update(origin="gold")
    assert _release(W48, settings.RELEASE_DIR).new


def test_money_that_follows_from_an_untold_week_waits_for_it(scene: Scene, settings: Any) -> None:
    money.broken(scene.stake.defense, scene.attack, found=LATER)
    money.deposit(1, scene.members[0], LATER)
    with pytest.raises(Conflict, match=r"who broke what in week 2026-W47.*Release that week first"):
        _release(W48, settings.RELEASE_DIR)
    _release(W47, settings.RELEASE_DIR)
    assert _release(W48, settings.RELEASE_DIR).new
