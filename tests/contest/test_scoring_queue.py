"""The organizers' pages of scoring: the queue, trying again, and re-runs from choice to application."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from adjudication.verify import verify
from contest.breaks import breaks_record
from contest.exports import tables
from contest.models import Break, Member, Team
from contest.releases import release_week
from contest.rules import week_named
from contest.scoring_queue.figures import Queue, read_queue
from contest.scoring_queue.rerun_forms import choice_of, scope_of
from labeling.models import Image, Tasker
from scoring import rerun_preparation, reruns, services
from scoring.enums import Fault, Outcome, RerunState, RunState
from scoring.models import Defense, Prediction, Rerun, Run, RunItem, Scorer, Superseded, Trial
from scoring.rerun_scope import Scope
from scoring.runner import Answers
from scoring.selectors import run_items
from tests import factories
from tests.contest import release_fixtures as cast
from tests.scoring import cast as scoring_cast

pytestmark = pytest.mark.django_db
BIRD, BICYCLE, ABSTAIN = Outcome.BIRD, Outcome.BICYCLE, Outcome.ABSTAIN


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Client:
    client: Client = signed_in(olga)
    return client


def words(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    return plain(answer.content.decode())


def plain(page: str) -> str:
    return unescape(re.sub(r"\s+", " ", strip_tags(page.replace("<", " <"))))


def run(of: Defense, images: Sequence[Image], now: datetime, **values: Any) -> Run:
    given = {"defense": of, "round": 1, "seed": 1, "batch_size": 16, "created_at": now} | values
    row = Run.objects.create(**given)
    for position, image in enumerate(images):
        RunItem.objects.create(run=row, defense=of, rerun=row.rerun, round=row.round, image=image, position=position)
    return row


# The queue -----------------------------------------------------------------------------------------------------------


def test_an_empty_queue_says_what_comes_next(organizer: Client) -> None:
    page = words(organizer, "/organizer/scoring/")
    assert "No scorer has ever said that it is alive. Start one: ./unanimous work --queue gpu" in page
    assert "Nothing runs now." in page and "Nothing waits." in page and "No re-run is under way." in page
    assert "Gave up" not in page


def test_what_waits_has_a_position_and_tells_since_when(now: datetime) -> None:
    defense = cast.defense(1)
    images = [factories.image() for _ in range(3)]
    first = run(defense, images, now - timedelta(hours=3))
    second = run(
        defense, images[:1], now - timedelta(hours=1), round=2, not_before=now + timedelta(minutes=2), fault="platform"
    )
    page = read_queue(now=now)
    assert [(row.position, row.run, row.pictures, row.resting) for row in page.waiting] == [
        (1, first, 3, False), (2, second, 1, True),
    ]  # fmt: skip
    assert (page.waiting_count, page.pictures, page.oldest) == (2, 4, now - timedelta(hours=3))


def test_a_run_without_pictures_is_counted_as_none(now: datetime) -> None:
    run(cast.defense(1), [], now)
    assert read_queue(now=now).pictures == 0


def finished(of: Defense, now: datetime, *, minutes_ago: float, minutes: float, pictures: int, **values: Any) -> Run:
    end = now - timedelta(minutes=minutes_ago)
    times = {"started_at": end - timedelta(minutes=minutes), "finished_at": end, "state": RunState.ASSESSED}
    images = [factories.image() for _ in range(pictures)]
    return run(of, images, now - timedelta(days=2), **(times | {"worker": "one"} | values))


def scorer(name: str, now: datetime, *, seen: timedelta = timedelta(0), held: str = "") -> Scorer:
    return Scorer.objects.create(
        name=name, device="cpu, 2 cores", runtime="docker", held=held, started_at=now, seen_at=now - seen
    )


def test_what_runs_tells_scorer_lease_and_how_long_it_should_take(now: datetime) -> None:
    defense = cast.defense(1)
    finished(defense, now, minutes_ago=60, minutes=1, pictures=6)  # 6 pictures a minute
    images = [factories.image() for _ in range(3)]
    held = run(
        defense, images, now, state=RunState.RUNNING, round=2, worker="one", attempt=2,
        started_at=now - timedelta(seconds=12), lease_until=now + timedelta(seconds=50),
    )  # fmt: skip
    (row,) = read_queue(now=now).running
    assert (row.run, row.pictures, row.seconds, row.expected, row.share) == (held, 3, 12.0, 30.0, 40)


@pytest.mark.parametrize(("seconds", "share"), [(0, 0), (30, 99), (4000, 99)])
def test_a_run_is_never_told_to_be_done(seconds: int, share: int, now: datetime) -> None:
    defense = cast.defense(1)
    finished(defense, now, minutes_ago=60, minutes=1, pictures=2)
    run(
        defense, [factories.image()], now, state=RunState.RUNNING, worker="one",
        started_at=now - timedelta(seconds=seconds), lease_until=now,
    )  # fmt: skip
    (row,) = read_queue(now=now).running
    assert row.share == share


BUSY = [
    ([(10, 30)], 50, 2, "half an hour of the last one"),
    ([(50, 30)], 17, 2, "only the ten minutes that are in it"),
    ([(0, 45), (50, 90)], 92, 9, "two spells; the second began before the hour"),
    ([(1430, 60)], 0, 1, "only the ten minutes that are in the day"),
    ([], 0, 0, "idle"),
]


@pytest.mark.parametrize(("spells", "hour", "day", "why"), BUSY, ids=[row[3] for row in BUSY])
def test_busy_shares_are_those_of_the_last_hour_and_day(
    spells: list[tuple[float, float]], hour: int, day: int, why: str, now: datetime
) -> None:
    defense = cast.defense(1)
    scorer("one", now)
    scorer("other", now)
    for number, (ago, minutes) in enumerate(spells):
        finished(defense, now, minutes_ago=ago, minutes=minutes, pictures=1, round=number + 1)
    found = {row.scorer.name: (row.hour, row.day) for row in read_queue(now=now).scorers}
    assert found == {"one": (hour, day), "other": (0, 0)}, why


def test_work_under_way_and_trials_keep_a_scorer_busy(now: datetime) -> None:
    defense = cast.defense(1)
    scorer("one", now)
    run(
        defense, [factories.image()], now, state=RunState.RUNNING, worker="one", started_at=now - timedelta(minutes=15),
        lease_until=now,
    )  # fmt: skip
    Trial.objects.create(
        defense=defense, kind="smoke", number=1, seed=1, batch_size=16, state="finished", worker="one",
        created_at=now, started_at=now - timedelta(minutes=60), finished_at=now - timedelta(minutes=45),
    )  # fmt: skip
    (row,) = read_queue(now=now).scorers
    assert (row.hour, row.pictures, row.per_second) == (50, 0, None)


def test_a_scorer_s_speed_is_pictures_over_the_time_it_took(now: datetime) -> None:
    scorer("one", now)
    finished(cast.defense(1), now, minutes_ago=5, minutes=0.5, pictures=15)
    (row,) = read_queue(now=now).scorers
    assert (row.pictures, row.per_second) == (15, 0.5)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "alive"), (120, "alive"), (121, "silent since"), (86_400, "silent since")]
)
def test_a_silent_scorer_is_told_from_one_that_lives(
    seconds: int, said: str, now: datetime, organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer("one", now, seen=timedelta(seconds=seconds), held="run 5 of 1, round 2")
    monkeypatch.setattr(timezone, "now", lambda: now)
    page = words(organizer, "/organizer/scoring/now/")
    assert f"one {said}" in page
    assert ("run 5 of 1, round 2" in page) == (said == "alive"), "what a silent one holds is not known"


@pytest.fixture
def dead(now: datetime) -> tuple[Run, Run]:
    """A run that the platform ended, and one that its defense did."""
    defense = cast.defense(1, name="Small net")
    made = [
        run(
            defense, [factories.image()], now, round=number, state=RunState.DEAD, fault=fault, fault_text=text,
            attempt=3, finished_at=now,
        )
        for number, (fault, text) in enumerate([("platform", "no room on the disk"), ("nonfinite", "NaN")], start=1)
    ]  # fmt: skip
    return made[0], made[1]


class TestTryingAgain:
    def test_what_gave_up_is_told_in_words(self, dead: tuple[Run, Run], organizer: Client) -> None:
        page = words(organizer, "/organizer/scoring/")
        assert "Try the one again" in page
        assert f"Small net , round 1 run {dead[0].pk}" in page
        assert "Something around the program failed, not the program. platform no room on the disk 1 3" in page
        assert "A score is NaN or infinite. nonfinite NaN" in page
        assert page.count("Try again") == 1 and "final" in page

    def test_one_is_tried_again(self, dead: tuple[Run, Run], organizer: Client) -> None:
        platform, own = dead
        address = f"/organizer/scoring/retry/?run={platform.pk}"
        assert f"Run {platform.pk} of Small net, round 1, gave up" in words(organizer, address)
        assert Run.objects.filter(state=RunState.DEAD).count() == 2, "looking changes nothing"
        done = organizer.post("/organizer/scoring/retry/", {"run": platform.pk})
        assert (done.status_code, done["Location"]) == (303, "/organizer/scoring/")
        assert {each.pk for each in Run.objects.filter(state=RunState.QUEUED)} == {platform.pk}
        assert "1 run waits again, for one try each." in words(organizer, "/organizer/scoring/")
        again = organizer.post("/organizer/scoring/retry/", {"run": platform.pk})
        assert (again.status_code, "nothing_dead" in again.content.decode()) == (409, True)

    def test_all_are_tried_again_but_what_is_final(self, dead: tuple[Run, Run], organizer: Client) -> None:
        assert "1 run gave up through no fault of their defenses" in words(organizer, "/organizer/scoring/retry/")
        assert organizer.post("/organizer/scoring/retry/").status_code == 303
        assert {each.pk for each in Run.objects.filter(state=RunState.DEAD)} == {dead[1].pk}

    def test_what_is_not_dead_is_not_tried(self, organizer: Client) -> None:
        for run in ("0", "999", "x", "9" * 30):
            assert "There is nothing to try again" in words(organizer, f"/organizer/scoring/retry/?run={run}")
            assert organizer.post("/organizer/scoring/retry/", {"run": run}).status_code == 409, run

    def test_a_number_that_cannot_be_read_never_means_all(self, dead: tuple[Run, Run], organizer: Client) -> None:
        for number in ("0", "x", "-1", "9" * 30):
            assert organizer.post("/organizer/scoring/retry/", {"run": number}).status_code == 409, number
            assert Run.objects.filter(state=RunState.DEAD).count() == 2, number

    def test_a_retired_defense_is_not_tried_again(self, dead: tuple[Run, Run], organizer: Client) -> None:
        Defense.objects.update(retired_at=factories.NOW)
        page = words(organizer, "/organizer/scoring/")
        assert "Try" not in page.partition("Gave up")[2].partition("Waiting")[0]

    def test_the_command_and_the_page_try_the_same(self, dead: tuple[Run, Run]) -> None:
        call_command("retry_dead_runs")
        assert {each.pk for each in Run.objects.filter(state=RunState.QUEUED)} == {dead[0].pk}


def test_a_trial_that_waits_or_gave_up_is_there(organizer: Client, now: datetime) -> None:
    defense = cast.defense(1, name="Coming", published_at=None)
    common = {"defense": defense, "number": 1, "seed": 1, "batch_size": 16, "created_at": now}
    Trial.objects.create(kind="smoke", state="dead", fault="platform", fault_text="engine away", **common)
    Trial.objects.create(kind="earlier", state="queued", **common)
    page = words(organizer, "/organizer/scoring/")
    assert "Gave up" in page and "Coming , smoke 1 Something around the program failed" in page
    assert "engine away" in page
    assert "Coming , earlier 1 queued none yet" in page


def test_the_page_refreshes_from_its_own_middle_part(organizer: Client) -> None:
    middle = organizer.get("/organizer/scoring/now/").content.decode()
    assert "<html" not in middle and "Scorers" in middle
    assert 'data-source="/organizer/scoring/now/"' in organizer.get("/organizer/scoring/").content.decode()


def test_the_overview_leads_to_the_queue(organizer: Client, dead: tuple[Run, Run]) -> None:
    page = organizer.get("/organizer/").content.decode()
    assert page.count('href="/organizer/scoring/"') >= 2
    assert f'href="/defenses/{dead[0].defense.public_id}/"' in page


def test_the_number_of_queries_does_not_grow_with_the_queue(now: datetime) -> None:
    defense = cast.defense(1)

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            read_queue(now=now)
        return len(queries)

    def more(number: int) -> None:
        images = [factories.image()]
        run(defense, images, now, round=1)
        run(defense, images, now, round=2, state=RunState.DEAD, fault="platform", finished_at=now)
        run(defense, images, now, round=3, state=RunState.RUNNING, worker="w", started_at=now, lease_until=now)
        finished(defense, now, minutes_ago=number, minutes=1, pictures=1)
        scorer(f"scorer {number}", now)

    more(1)
    asked()
    few = asked()
    for number in range(2, 70):
        more(number)
    assert asked() == few
    page = read_queue(now=now)
    assert (len(page.waiting), page.waiting_count, len(page.dead), page.dead_count) == (50, 69, 50, 69)
    assert isinstance(page, Queue)


# Re-runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def scored(now: datetime) -> tuple[Defense, Image, Image]:
    """A defense that takes a bird for a bicycle, which breaks it, and is right about another."""
    (defense,) = scoring_cast.publish(now, "numpy-statistics")
    images = scoring_cast.valid_pictures(2)
    for image, answer in zip(images, (BICYCLE, BICYCLE), strict=True):
        cast.scored(defense, image, [answer] * 3, state=RunState.FINISHED)
    factories.sent_by_somebody()
    breaks_record(now=now)
    return defense, images[0], images[1]


def address(defense: Defense, query: str = "") -> str:
    return f"/organizer/reruns/new/{defense.public_id}/{query}"


def answer_again(rerun: Rerun, answer: Outcome, now: datetime) -> None:
    """Let a scorer finish every run of a re-run with one answer."""

    def give(found: Answers) -> Answers:
        return Answers(np.full_like(found.labels, answer), found.scores)

    name = rerun.defense.name
    scoring_cast.work_all(now, find_runner=lambda _: scoring_cast.Answering([name], give))


class TestARerun:
    def test_it_is_looked_at_before_it_is_started(
        self, scored: tuple[Defense, Image, Image], organizer: Client
    ) -> None:
        defense, broke, _ = scored
        page = words(organizer, address(defense, "?which=all"))
        assert "All answers. Pictures 2 Answers 6 Runs 3 Batches 3" in page
        assert "Answers now bicycle 6 Given on cpu: 6" in page
        assert "Time on one scorer less than 1 s, by the measured time of a batch" in page
        assert "For the board: 1 break rests on these older answers" in page and broke.public_id in page
        assert not Rerun.objects.exists()

    def test_first_there_is_only_the_choice(self, scored: tuple[Defense, Image, Image], organizer: Client) -> None:
        page = words(organizer, address(scored[0]))
        assert "Which answers" in page and "What it takes" not in page

    def test_from_start_to_application(
        self, scored: tuple[Defense, Image, Image], organizer: Client, now: datetime
    ) -> None:
        defense, broke, _ = scored
        form = {"which": "all", "reason": "A faulty card."}
        started = organizer.post(address(defense), form)
        rerun = Rerun.objects.get()
        assert (started.status_code, started["Location"]) == (303, f"/organizer/reruns/{rerun.pk}/")
        scoring_cast.prepare(now)
        page = words(organizer, f"/organizer/reruns/{rerun.pk}/")
        assert "under way" in page and "All answers. A faulty card." in page and "olga" in page
        assert "Stop Cancel What differs" in page, "there is nothing to apply yet"
        assert "Done 0 of 6 answers in 3 runs Waiting 6" in page and "No answer has come yet." in page
        refused = organizer.post(f"/organizer/reruns/{rerun.pk}/apply/")
        assert refused.status_code == 409
        assert "Nothing was changed: 6 answers are still to come." in plain(refused.content.decode())
        answer_again(rerun, BIRD, now)
        page = words(organizer, f"/organizer/reruns/{rerun.pk}/")
        assert "finished, not applied" in page and "Apply Cancel What differs" in page
        assert f"Re-run {rerun.pk} finished, not applied" in words(organizer, f"/defenses/{defense.public_id}/")
        assert "bicycle bird 6" in page and f"{broke.public_id} round 1 bicycle → bird" in page
        assert "For the board: 1 break rests on these older answers" in page
        asked = words(organizer, f"/organizer/reruns/{rerun.pk}/apply/")
        assert "All new answers take the place of the older ones at once" in asked and "For the board: 1 break" in asked
        done = organizer.post(f"/organizer/reruns/{rerun.pk}/apply/")
        assert (done.status_code, Superseded.objects.count()) == (303, 6)
        page = words(organizer, f"/organizer/reruns/{rerun.pk}/")
        assert "applied" in page and "For the board: 1 break" in page and "Apply" not in page
        over = organizer.post(f"/organizer/reruns/{rerun.pk}/apply/")
        assert over.status_code == 409 and "applied already" in over.content.decode()
        assert f"Re-run {rerun.pk} applied" in words(organizer, f"/defenses/{defense.public_id}/")

    def test_it_is_stopped_goes_on_and_is_cancelled(
        self, scored: tuple[Defense, Image, Image], organizer: Client, olga: User, now: datetime
    ) -> None:
        rerun = scoring_cast.begun(scored[0], olga, now, scope=Scope("All answers."))
        own = f"/organizer/reruns/{rerun.pk}/"
        assert f"Re-run {rerun.pk} of {rerun.defense.name}" in words(organizer, "/organizer/scoring/")
        for name, said in (("stop", "stopped"), ("go-on", "under way"), ("cancel", "cancelled")):
            assert organizer.get(f"{own}{name}/").status_code == 200
            assert organizer.post(f"{own}{name}/").status_code == 303
            assert said in words(organizer, own)
            cache.clear()
        assert organizer.post(f"{own}go-on/").status_code == 409
        assert (Rerun.objects.get().state, Superseded.objects.count()) == (RerunState.CANCELLED, 0)
        assert "No re-run is under way." in words(organizer, "/organizer/scoring/")

    def test_while_it_is_prepared_the_pages_tell_how_far(
        self, scored: tuple[Defense, Image, Image], organizer: Client, now: datetime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started = organizer.post(address(scored[0]), {"which": "all", "reason": "why"})
        own, rerun = started["Location"], Rerun.objects.get()
        assert "The re-run is being prepared. Nothing changes until it is applied." in words(organizer, own)
        monkeypatch.setattr(rerun_preparation, "RUNS_A_SWEEP", 1)
        for planned in (0, 2, 4):
            cache.clear()
            for page in (words(organizer, own), words(organizer, f"{own}now/")):
                assert "being prepared" in page and f"Prepared {planned} of 6 answers planned Cancel" in page
                assert "stopped" not in page.lower() and "Done 0" not in page
            listed = f"Re-run {rerun.pk} of {rerun.defense.name} , asked for"
            told = f": being prepared, {planned} of 6 answers planned"
            for page in (words(organizer, each) for each in ("/organizer/", "/organizer/scoring/")):
                assert listed in page and told in page
            rerun_preparation.reruns_prepare(now=now, rng=Random(planned))
        scoring_cast.prepare(now)
        cache.clear()
        assert "under way" in words(organizer, f"{own}now/")
        assert "Done 0 of 6 answers in 3 runs Waiting 6 Stop Cancel" in words(organizer, f"{own}now/")
        for page in (words(organizer, each) for each in ("/organizer/", "/organizer/scoring/")):
            assert listed in page and "being prepared" not in page

    @pytest.mark.parametrize(
        ("name", "status", "said"),
        [
            ("apply", 409, "Nothing was changed: this re-run is being prepared. Wait until its runs are in the queue"),
            ("stop", 409, "Nothing was changed: this re-run is being prepared."),
            ("go-on", 409, "Nothing was changed: this re-run is being prepared."),
            ("cancel", 303, ""),
        ],
    )
    def test_while_it_is_prepared_it_can_only_be_cancelled(
        self, name: str, status: int, said: str, scored: tuple[Defense, Image, Image], organizer: Client, now: datetime
    ) -> None:
        own = organizer.post(address(scored[0]), {"which": "all", "reason": "why"})["Location"]
        looked = words(organizer, f"{own}{name}/")
        assert "0 of 6 answers planned" in looked
        assert ("This is not possible while the re-run is being prepared." in looked) == (status == 409)
        answer = organizer.post(f"{own}{name}/")
        assert answer.status_code == status and said in plain(answer.content.decode())
        scoring_cast.prepare(now)
        state = words(organizer, own)
        assert ("cancelled" in state, "under way" in state) == (status == 303, status == 409)

    def test_what_is_over_refreshes_no_more(
        self, scored: tuple[Defense, Image, Image], organizer: Client, olga: User, now: datetime
    ) -> None:
        rerun = scoring_cast.begun(scored[0], olga, now, scope=Scope("All answers."))
        own = f"/organizer/reruns/{rerun.pk}/"
        assert f'data-source="{own}now/"' in organizer.get(own).content.decode()
        reruns.rerun_cancel(rerun_id=rerun.pk, by=olga, now=now)
        page = organizer.get(own).content.decode()
        assert "data-source" not in page and "overview.js" not in page

    def test_starting_costs_the_same_however_many_pictures_there_are(
        self, scored: tuple[Defense, Image, Image], organizer: Client, olga: User, now: datetime
    ) -> None:
        def queries() -> int:
            with CaptureQueriesContext(connection) as seen:
                organizer.post(address(scored[0]), {"which": "all", "reason": "why"})
            reruns.rerun_cancel(rerun_id=Rerun.objects.get(ended_at=None).pk, by=olga, now=now)
            return len(seen)

        queries()  # what a site asks once and remembers
        few = queries()
        for image in scoring_cast.valid_pictures(20, seed=8):
            cast.scored(scored[0], image, [BIRD] * 3, state=RunState.FINISHED)
        assert queries() == few

    def test_another_one_is_refused_meanwhile(self, scored: tuple[Defense, Image, Image], organizer: Client) -> None:
        organizer.post(address(scored[0]), {"which": "all", "reason": "why"})
        refused = organizer.post(address(scored[0]), {"which": "all", "reason": "kept <words>"})
        page = refused.content.decode()
        assert (refused.status_code, Rerun.objects.count()) == (400, 1)
        assert "Nothing was started. Another re-run of this defense is under way." in plain(page)
        assert "kept &lt;words&gt;</textarea>" in page


WRONG = [
    ({"which": "week", "week": "soon"}, "Write the week like 2026-W47."),
    ({"which": "week", "week": ""}, "Write the week like 2026-W47."),
    ({"which": "device"}, "Choose the device."),
    ({"which": "between", "since": "2026-11-20T10:00"}, "Write both moments like"),
    ({"which": "between", "since": "2026-11-20T10:00", "until": "2026-11-20T10:00"}, "has to be after"),
    ({"which": "run", "run": "twelve"}, "Write the number of the run"),
    ({"which": "run", "run": "²"}, "Write the number of the run"),
    ({"which": "run", "run": "999999"}, "no run with this number"),
]


def test_what_cannot_be_read_is_told(scored: tuple[Defense, Image, Image], organizer: Client) -> None:
    for form, said in WRONG:
        looked = organizer.get(address(scored[0]), form)
        posted = organizer.post(address(scored[0]), form | {"reason": "why"})
        assert (looked.status_code, posted.status_code, Rerun.objects.count()) == (400, 400, 0), form
        for answer in (looked, posted):
            assert said in plain(answer.content.decode()), form


def test_nothing_meant_is_told(scored: tuple[Defense, Image, Image], organizer: Client) -> None:
    page = words(organizer, address(scored[0], "?which=week&week=2026-W01"))
    assert "No answer of this defense is meant by that." in page and "Start the re-run" not in page


def test_choices_become_scopes() -> None:
    week = week_named("2026-W47", "UTC")
    assert scope_of(choice_of({"which": "week", "week": "2026-W47"}), "UTC").received == (week.start, week.end)
    between = {"which": "between", "since": "2026-11-20T10:00", "until": "2026-11-20T11:30"}
    scope = scope_of(choice_of(between), "Asia/Tokyo")
    assert scope.words == "Answers given from 2026-11-20 10:00 up to 2026-11-20 11:30 JST."
    assert scope.answered is not None and scope.answered[0].isoformat() == "2026-11-20T10:00:00+09:00"
    assert choice_of({"which": "nonsense", "week": "x"}).week == ""
    assert scope_of(choice_of({"which": "run", "run": " 007 "}), "UTC").run == 7


def test_a_break_without_proof_in_force_is_not_claimed_by_a_release(
    scored: tuple[Defense, Image, Image], olga: User, now: datetime
) -> None:
    """And one whose mistake was made again is proved by the answer that is in force."""
    week = week_named("2026-W47", "UTC")
    defense, broke, _ = scored

    def listed() -> list[tuple[str, str]]:
        return [(row[2], row[4]) for row in tables._break_rows(week)]

    assert listed() == [(broke.public_id, "1")]
    for answer, expected in ((BICYCLE, [(broke.public_id, "1")]), (ABSTAIN, [])):
        rerun = scoring_cast.begun(defense, olga, now, scope=Scope("All."))
        answer_again(rerun, answer, now)
        reruns.rerun_apply(rerun_id=rerun.pk, by=olga, now=now)
        breaks_record(now=now)
        assert listed() == expected
    assert Break.objects.filter(image=broke).count() == 1, "the fact stays"
    assert {int(row[0]) for row in tables._prediction_rows(week)} == set(
        Prediction.objects.filter(rerun=rerun).values_list("pk", flat=True)
    )


def test_a_fault_that_a_rerun_got_over_leaves_the_release(olga: User, now: datetime) -> None:
    (defense,) = scoring_cast.publish(now, "numpy-statistics")
    (image,) = scoring_cast.valid_pictures(1)
    dead = cast.faulted(defense, image, 1, Fault.CRASHED)
    week = week_named("2026-W47", "UTC")
    assert len(list(tables._fault_rows(week))) == 1
    rerun = scoring_cast.begun(defense, olga, now, scope=Scope("One run.", run=dead.pk))
    answer_again(rerun, BIRD, now)
    assert len(list(tables._fault_rows(week))) == 1
    reruns.rerun_apply(rerun_id=rerun.pk, by=olga, now=now)
    breaks_record(now=now)
    assert (list(tables._fault_rows(week)), len(list(tables._prediction_rows(week)))) == ([], 1)


def answer_by_hand(answer: Outcome, now: datetime) -> None:
    """Claim and finish every run that waits with one answer, as a scorer would."""
    while (held := services.run_claim(worker="one", now=now)) is not None:
        given = [
            services.Answered(item.pk, item.image_id, answer, 0.5, 0.5, item.pixels_sha256, 0, row, 1, now)
            for row, item in enumerate(run_items(held))
        ]
        services.run_finish(held, given, device="cpu", now=now)


@pytest.mark.parametrize("answer", [ABSTAIN, BICYCLE, BIRD])
def test_a_release_after_a_rerun_is_proved_by_its_own_tables(
    answer: Outcome, olga: User, now: datetime, tmp_path: Path
) -> None:
    """A bird that was taken for a bicycle, answered again in each way: nothing differs when it is verified."""
    contest = cast.a_week()
    factories.sent_by_somebody()
    rerun = scoring_cast.begun(contest.defenses[1], olga, now, scope=Scope("All."))
    answer_by_hand(answer, now)
    week = week_named("2026-W47", "UTC")
    before = release_week(week, out=tmp_path / "out", now=cast.AFTER).folder
    assert verify(before).differences == []
    reruns.rerun_apply(rerun_id=rerun.pk, by=olga, now=now)
    breaks_record(now=now)
    after = release_week(week, out=tmp_path / "out", now=cast.AFTER).folder
    assert after.name == "release-2026-W47-errata-1"
    assert verify(after).differences == []
    expected = {ABSTAIN: 0, BICYCLE: 1, BIRD: 1}[answer]  # a bird is called a bicycle, or a bicycle a bird
    assert len((after / "breaks.csv").read_text().splitlines()) == 1 + expected


# Who may open --------------------------------------------------------------------------------------------------------

CHANGING = ["/organizer/scoring/retry/", "/organizer/reruns/new/{}/", "/organizer/reruns/{}/apply/"]
ASKED = [
    ("get", each)
    for each in [
        "/organizer/scoring/",
        "/organizer/scoring/now/",
        "/organizer/reruns/{}/",
        "/organizer/reruns/{}/now/",
        *CHANGING,
    ]
]
ASKED += [("post", each) for each in CHANGING]


def test_only_organizers_enter(
    scored: tuple[Defense, Image, Image],
    olga: User,
    tara: Tasker,
    rita: User,
    stan: User,
    signed_in: Any,
    now: datetime,
) -> None:
    rerun = Rerun.objects.create(defense=scored[0], reason="why", asked_by=olga, asked_at=now)
    carl = factories.user("carl")
    Member.objects.create(team=Team.objects.create(name="red", created_at=now), user=carl)
    form = {"which": "all", "reason": "why"}
    people = {None: Client(), stan: signed_in(stan)} | {known: signed_in(known) for known in (tara, rita, carl)}
    for method, pattern in ASKED:
        path = pattern.format(scored[0].public_id if "new" in pattern else rerun.pk)
        found = {who: getattr(client, method)(path, form) for who, client in people.items()}
        assert found[None]["Location"].startswith("/sign-in/?next=/organizer/"), (method, path)
        codes = {who: answer.status_code for who, answer in found.items()}
        assert codes == {None: 302, stan: 404, tara: 403, rita: 403, carl: 403}, (method, path)
        rerun.refresh_from_db()
        assert (rerun.state, Rerun.objects.count()) == (RerunState.RUNNING, 1), (method, path)


NOWHERE = [
    "/organizer/reruns/0/",
    "/organizer/reruns/0/now/",
    "/organizer/reruns/0/apply/",
    "/organizer/reruns/new/D-0/",
]


def test_no_such_page(organizer: Client) -> None:
    assert {path: organizer.get(path).status_code for path in NOWHERE} == dict.fromkeys(NOWHERE, 404)


def test_no_such_action(scored: tuple[Defense, Image, Image], organizer: Client, olga: User) -> None:
    rerun = Rerun.objects.create(defense=scored[0], reason="why", asked_by=olga, asked_at=factories.NOW)
    assert organizer.get(f"/organizer/reruns/{rerun.pk}/nonsense/").status_code == 404
