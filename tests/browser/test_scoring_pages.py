"""Pages of defenses, of the scoring queue and of re-runs in a real browser: pictures come, figures refresh quietly."""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta

from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import Page, expect

from contest.core.breaks import breaks_record
from contest.core.models import Release
from picture_files.store import picture_store
from scoring.enums import Fault, RunState, TrialKind
from scoring.models import Defense, Rerun, Run, RunItem, Scorer
from scoring.trials.services import framework_check
from scoring.trials.submitted_files import source_key
from tests import factories
from tests.browser.looking import REFRESH_MS, SHOWN, Look, counts, once, organizer, shows, timed
from tests.contest import release_fixtures as cast
from tests.scoring import cast as scoring_cast
from tests.scoring.trials import cast as trials_cast


def made() -> Defense:
    """A randomised defense with answers, faults, breaks, a mistake outside the contest, parted and dead runs, a re-run,
    and scorers."""
    olga, now = organizer(), timezone.now()
    defense = cast.defense(1, name="A small net with a rather long name", description="Colours of a picture, weighed.")
    for number in range(1, 6):
        image = cast.picture(number)
        scoring_cast.ruled(image, label=("bird", "bicycle")[number % 2])
        cast.scored(defense, image, [1, number % 2, -1], state=RunState.FINISHED)
    factories.sent_by_somebody()
    outside = cast.picture(6)
    scoring_cast.ruled(outside, label="bird")
    cast.scored(defense, outside, [0], state=RunState.FINISHED)
    breaks_record(now=now)
    Run.objects.filter(pk=cast.faulted(defense, cast.picture(7), 1, Fault.CRASHED).pk).update(splits=1)
    dead = cast.faulted(defense, cast.picture(8), 1, Fault.PLATFORM)
    Run.objects.filter(pk=dead.pk).update(fault_text="no_room_on_the_disk_" * 20)
    held = cast.faulted(defense, cast.picture(9), 1, Fault.PLATFORM)
    Run.objects.filter(pk=held.pk).update(
        state=RunState.RUNNING, worker="host:cpu-0", started_at=now, finished_at=None, lease_until=now + timedelta(1)
    )
    Scorer.objects.create(
        name="host:cpu-0", device="cpu, 2 cores", runtime="docker", held=str(held), started_at=now, seen_at=now
    )
    Scorer.objects.create(
        name="other:cuda-0", device="NVIDIA", runtime="docker", started_at=now, seen_at=now - timedelta(days=1)
    )
    rerun = Rerun.objects.create(defense=defense, reason="All answers. A card.", asked_by=olga, asked_at=now)
    for image in [each.image for each in RunItem.objects.filter(round=1)][:2]:
        planned = {"round": 1, "defense": defense, "rerun": rerun}
        run = Run.objects.create(seed=1, batch_size=16, state="queued", created_at=now, **planned)
        RunItem.objects.create(run=run, image=image, position=0, **planned)
    Release.objects.create(week="2026-W47", manifest_sha256="ab" * 32, counts={}, bytes=1, released_at=cast.AFTER)
    return defense


def with_trials() -> tuple[Defense, Defense]:
    """A container with a passed, a waiting and a dead trial, its source, and two checks of its framework."""
    full, rita = made(), factories.user("rita", "review board")
    packed, now = io.BytesIO(), timezone.now()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("Dockerfile", "weights/net.pt", f"{'a_rather_long_folder/' * 8}model.py"):
            archive.writestr(name, b"words\n" * 40)
    sha256 = hashlib.sha256(packed.getvalue()).hexdigest()
    picture_store().put(source_key(sha256), packed.getvalue())
    defense = trials_cast.container("A container with a rather long name", source=sha256)
    trials_cast.passed(defense, TrialKind.SMOKE, log="loading weights")
    told = {"state": RunState.DEAD, "fault": Fault.PLATFORM, "fault_text": "no_room_on_the_disk_" * 20}
    trials_cast.passed(defense, TrialKind.PRIVATE, **told)
    trials_cast.passed(full, TrialKind.SMOKE, state=RunState.QUEUED)
    for passed in (False, True):
        framework_check(defense, passed=passed, reason="A long_reason_" * 40, by=rita, now=now)
    return full, defense


def pages(found: tuple[Defense, Defense]) -> list[Look]:
    defense, tried = (each.public_id for each in found)
    rerun = Rerun.objects.get().pk
    organizers = [
        *("scoring/", "scoring/retry/", "scoring/retry-trials/"),
        *(f"reruns/new/{defense}/?which=all", f"reruns/{rerun}/", f"reruns/{rerun}/apply/"),
        *(f"defenses/{tried}/trial/{more}" for more in ("", "?kind=smoke", "?kind=probe")),
        f"defenses/{tried}/framework/",
    ]
    return [
        *(("", address) for address in ("/defenses/", f"/defenses/{defense}/")),
        *(("olga", f"/organizer/{address}") for address in organizers),
        ("olga", f"/defenses/{tried}/"),
    ]


full = once(made)


def test_a_stranger_sees_the_curve_and_every_picture_and_paper_keeps_them(
    full: Defense, visit: Callable[..., Page]
) -> None:
    page = visit(f"/defenses/{full.public_id}/", who="")
    shows(page, {"svg path.curve": counts(1), ".pictures img": counts(6), "h2 >> text=Mistakes outside the": SHOWN})
    # Every picture really comes: its address is good for anybody who may see the page.
    last = page.locator(".pictures img").last
    last.scroll_into_view_if_needed()
    expect(last).to_have_js_property("naturalWidth", cast.SIDE)
    page.emulate_media(media="print")
    shows(page, {"svg path.curve": SHOWN, "h2 >> text=Risk and coverage": SHOWN})


def test_the_queue_refreshes_itself_and_nothing_jumps(full: Defense, visit: Callable[..., Page]) -> None:
    page = timed(visit("/organizer/scoring/", screen="phone"))
    colours = {text.strip() for text in page.locator(".state").all_inner_texts()}
    assert colours == {"alive", "silent"}, "every colour has a word"
    again = page.get_by_role("link", name="Try again", exact=True)
    again.focus()
    before = again.bounding_box()
    line = page.locator("#waiting ~ p").first
    expect(line).to_contain_text("2 runs with 2 pictures")
    extra = Run.objects.create(defense=full, round=3, seed=1, batch_size=16, state="queued", created_at=timezone.now())
    RunItem.objects.create(run=extra, defense=full, round=3, image=cast.picture(30), position=0)
    cache.clear()
    page.clock.run_for(REFRESH_MS)
    expect(line).to_contain_text("3 runs with 3 pictures")
    expect(again).to_be_focused()
    assert again.bounding_box() == before


def test_a_rerun_that_is_prepared_tells_how_far_until_it_begins(full: Defense, visit: Callable[..., Page]) -> None:
    Rerun.objects.update(state="preparing", kinds=[[1, 16, False, cast.SIDE, 5]])
    page = timed(visit(f"/organizer/reruns/{Rerun.objects.get().pk}/"))
    shows(page, {"dl.facts": re.compile("Prepared\\s*2 of 5 answers planned")})
    cancel = page.get_by_role("button", name="Cancel")
    cancel.focus()
    Rerun.objects.update(state="running")
    page.clock.run_for(REFRESH_MS)
    shows(page, {"dl.facts": "0 of 2 answers in 2 runs", "main .state >> nth=0": "under way"})
    expect(cancel).to_be_focused()
