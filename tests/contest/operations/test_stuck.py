"""What waits for a scorer or a container engine that is not there: told to organizers, to its team and to the board."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone

from contest.core.scoring_words import SILENT_AFTER, MissingCapacity, missing, stuck, why_stuck
from contest.defenses.models import DefenseEntry
from contest.operations.waiting_items import waiting_items
from scoring.enums import Fault, RerunState, RunState, TrialKind
from scoring.models import Defense, Rerun, Run, Scorer, Trial
from tests import factories
from tests.contest import release_fixtures as fixtures
from tests.contest.defenses import cast
from tests.contest.operations.sweeps import sweeps_ran
from tests.contest.pages import lacking, words
from tests.scoring.trials import cast as trials

pytestmark = pytest.mark.django_db
NO_SCORER, NO_ENGINE, GAVE_UP = "No scorer is at work now", "no scorer at work has a container engine", "gave up for a"


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()
    sweeps_ran()


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def queued(of: Defense, now: datetime, **values: Any) -> Run:
    return fixtures.run(of, [], now, **values)


def trial(of: Defense, now: datetime, **values: Any) -> Trial:
    told = {"defense": of, "kind": TrialKind.SMOKE, "number": 1, "seed": 1, "batch_size": 16, "created_at": now}
    return Trial.objects.create(**told | {"state": RunState.QUEUED} | values)


JUST, LONG = timedelta(0), SILENT_AFTER + timedelta(seconds=1)
FLEETS = [
    ([], MissingCapacity.SCORER, "there never was one"),
    ([("docker", LONG)], MissingCapacity.SCORER, "the only one is silent"),
    ([("docker", SILENT_AFTER)], None, "just not silent yet"),
    ([("", JUST)], MissingCapacity.ENGINE, "its engine does not answer"),
    ([("process", JUST)], MissingCapacity.ENGINE, "it runs the shipped defenses alone"),
    ([("", JUST), ("docker", LONG)], MissingCapacity.ENGINE, "the one with the engine is silent"),
    ([("", JUST), ("docker", JUST)], None, "one of two is enough"),
]


@pytest.mark.parametrize(("fleet", "what", "why"), FLEETS, ids=[row[2] for row in FLEETS])
def test_what_no_scorer_offers(
    fleet: list[tuple[str, timedelta]], what: MissingCapacity | None, why: str, now: datetime
) -> None:
    for number, (runtime, ago) in enumerate(fleet):
        fixtures.scorer(str(number), now, runtime=runtime, seen_at=now - ago)
    assert missing(now=now) is what, why


DEAD = {"state": RunState.DEAD, "fault": Fault.PLATFORM}
CASES: list[tuple[str | None, str, dict[str, Any] | None, str, str]] = [
    (None, "container", {}, NO_SCORER, "waits, and nobody works"),
    (None, "shipped", {}, NO_SCORER, "one that needs no container waits for a scorer as well"),
    ("", "container", {}, NO_ENGINE, "waits for an engine"),
    ("", "container", DEAD, NO_ENGINE, "gave up for want of an engine"),
    ("", "shipped", {}, "", "a shipped one needs no engine: it has its turn"),
    ("docker", "container", {}, "", "it has its turn"),
    ("docker", "container", DEAD, GAVE_UP, "somebody has to try it again"),
    ("docker", "container", {"state": RunState.DEAD, "fault": Fault.CRASHED}, "", "its own fault is told elsewhere"),
    (None, "container", {"state": RunState.FINISHED}, "", "nothing waits"),
    (None, "container", None, "", "nothing was asked of it"),
]


@pytest.mark.parametrize("work", [queued, trial])
@pytest.mark.parametrize(("runtime", "kind", "values", "said", "why"), CASES, ids=[row[4] for row in CASES])
def test_why_one_defense_gets_no_answer(
    work: Any, runtime: str | None, kind: str, values: dict[str, Any] | None, said: str, why: str, now: datetime
) -> None:
    if runtime is not None:
        fixtures.scorer("one", now, runtime=runtime)
    defense = trials.container(**({"image": "", "reference": "always-abstain"} if kind == "shipped" else {}))
    if values is not None:
        work(defense, now, **values)
    found = why_stuck(defense, now=now)
    assert said in found and bool(found) is bool(said), why


def test_what_waits_is_counted_by_whether_it_needs_an_engine(now: datetime) -> None:
    sealed, shipped = trials.container("sealed"), trials.container("shipped", image="", reference="always-abstain")
    for number in range(2):
        queued(sealed, now, round=number + 1)
        queued(shipped, now, round=number + 1)
    trial(sealed, now)
    assert attention(now)[0] == "No scorer is at work: 4 runs and 1 trial wait"
    fixtures.scorer("one", now, runtime="")
    assert attention(now)[0] == "No scorer has a container engine: 2 runs and 1 trial wait for one"
    Scorer.objects.update(runtime="docker")
    assert stuck(now=now) is None


def attention(now: datetime) -> list[str]:
    return [each.words for each in waiting_items(now=now)]


def test_organizers_are_told_on_the_overview_and_what_to_do_on_the_queue(
    olga: User, signed_in: Any, now: datetime
) -> None:
    assert attention(now) == [], "without work a silent scorer is no trouble"
    trial(trials.container(), now)
    client = signed_in(olga)
    assert "No scorer is at work: 1 trial waits" in words(client, "/organizer/")
    assert "Start one: ./unanimous work --queue gpu" in words(client, "/organizer/scoring/")
    fixtures.scorer("one", now, runtime="")
    cache.clear()
    assert "./unanimous scorer_check says there what is missing" in words(client, "/organizer/scoring/")
    assert attention(now) == ["No scorer has a container engine: 1 trial waits for one"]
    Trial.objects.update(**DEAD)
    assert attention(now) == ["No scorer has a container engine: 1 trial waits for one", "1 trial gave up"]
    Scorer.objects.update(runtime="docker")
    assert attention(now) == ["1 trial gave up"]


def test_a_team_is_told_and_that_it_has_nothing_to_do(signed_in: Any, now: datetime) -> None:
    blue = cast.team()
    defense = cast.entry(blue, now=now).defense
    trial(defense, now)
    client, address = signed_in(cast.captain(blue)), f"/team/defenses/{defense.public_id}/"
    assert not lacking(words(client, address), NO_SCORER, "You need to do nothing.")
    DefenseEntry.objects.update(withdrawn_at=now, withdrawn_by=cast.captain(blue))
    assert NO_SCORER not in words(client, address), "nobody waits for one that was taken back"
    DefenseEntry.objects.update(withdrawn_at=None, withdrawn_by=None)
    fixtures.scorer("one", now, runtime="docker")
    assert "You need to do nothing." not in words(client, address)


def test_the_board_is_told_on_the_page_of_the_award(rita: User, signed_in: Any, now: datetime) -> None:
    cast.funded()
    defense = cast.published(cast.team(), now=now)
    cast.staked(defense, now=now)
    queued(defense, now)
    assert NO_SCORER in words(signed_in(rita), f"/board/awards/{cast.stake(defense).pk}/")


def test_a_re_run_that_has_its_answers_waits_for_somebody(now: datetime) -> None:
    defense = trials.container(published_at=now)
    again = Rerun.objects.create(defense=defense, state=RerunState.RUNNING, asked_at=now, reason="why", scope={})
    one, other = (queued(defense, now, rerun=again, round=number, state=RunState.FINISHED) for number in (1, 2))
    fixtures.scorer("one", now, runtime="docker")
    assert attention(now) == ["1 re-run is to be applied or stopped"]
    Run.objects.filter(pk=other.pk).update(state=RunState.QUEUED)
    assert attention(now) == []
    Rerun.objects.update(state=RerunState.APPLIED)
    Run.objects.filter(pk__in=[one.pk, other.pk]).update(state=RunState.FINISHED)
    assert attention(now) == []
