"""The organizers' pages of scoring: the queue, trying again, and re-runs from choice to application (R30)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from adjudication.verify import verify
from contest.core.breaks import breaks_record
from contest.core.models import Attack, Break, Team
from contest.operations import scoring_figures
from contest.operations.scoring_figures import read_queue_state
from contest.pages.organizer.rerun_forms import StartRerunForm
from contest.releases import tables
from contest.releases.services import release_week
from labeling.models import Image
from policy.calendar import week_named
from scoring import reruns, services
from scoring.enums import DefenseAnswer, Fault, RerunState, RunState
from scoring.models import Defense, Prediction, Rerun, Run, Scorer, SupersededPrediction, Trial
from scoring.rerun_scope import Scope
from scoring.selectors import run_items
from tests import factories
from tests.contest import release_fixtures as cast
from tests.contest.pages import ORGANIZERS_ALONE, codes, lacking, outsiders, plain, posted, queries, words
from tests.scoring import cast as scoring_cast

pytestmark = pytest.mark.django_db
BIRD, BICYCLE, ABSTAIN = DefenseAnswer.BIRD, DefenseAnswer.BICYCLE, DefenseAnswer.ABSTAIN
QUEUE, RETRY = "/organizer/scoring/", "/organizer/scoring/retry/"
WEEK = week_named("2026-W47", "UTC")


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


def test_the_classes_have_their_numbers() -> None:
    """R1: bicycle is 0 and bird 1, in predictions as in what defenses are told."""
    assert (int(BICYCLE), int(BIRD)) == (0, 1)


# The queue -----------------------------------------------------------------------------------------------------------


def test_an_empty_queue_says_what_comes_next_and_refreshes_its_middle_part(organizer: Client) -> None:
    page = words(organizer, QUEUE)
    assert "Gave up" not in page
    assert not lacking(
        page,
        "No scorer has ever said that it is alive. Start one: ./unanimous work --queue gpu",
        "Nothing runs now.",
        "Nothing waits.",
        "No re-run is under way.",
    )
    middle = organizer.get(f"{QUEUE}now/").content.decode()
    assert "Scorers" in middle and "<html" not in middle
    assert f'data-source="{QUEUE}now/"' in organizer.get(QUEUE).content.decode()


def test_what_waits_has_a_position_and_tells_since_when(now: datetime) -> None:
    defense, images = cast.defense(1), [factories.image() for _ in range(3)]
    first = cast.run(defense, images, now - timedelta(hours=3))
    resting = {"not_before": now + timedelta(minutes=2), "fault": "platform"}
    second = cast.run(defense, images[:1], now - timedelta(hours=1), round=2, **resting)
    empty, page = cast.run(defense, [], now, round=3), read_queue_state(now=now)
    assert [(run, run.planned) for run in page["waiting"]] == [(first, 3), (second, 1), (empty, 0)]
    assert (page["waiting_count"], page["pictures"], page["oldest"]) == (3, 4, now - timedelta(hours=3))
    assert render_to_string("scoring_queue/_queue.html", {"page": page}).count("rests until") == 1


def finished(of: Defense, now: datetime, *, minutes_ago: float, minutes: float, pictures: int, **values: Any) -> Run:
    end = now - timedelta(minutes=minutes_ago)
    times = {"started_at": end - timedelta(minutes=minutes), "finished_at": end, "state": RunState.ASSESSED}
    return cast.run(of, [factories.image() for _ in range(pictures)], now - timedelta(days=2), **(times | values))


def running(of: Defense, images: Sequence[Image], now: datetime, *, seconds: float = 0, **values: Any) -> Run:
    times = {"started_at": now - timedelta(seconds=seconds), "lease_until": now + timedelta(seconds=50)}
    return cast.run(of, images, now, state=RunState.RUNNING, **times, **values)


def test_what_runs_tells_how_long_it_should_take_and_is_never_done(now: datetime) -> None:
    defense = cast.defense(1)
    finished(defense, now, minutes_ago=60, minutes=1, pictures=6)  # 6 pictures a minute
    held = running(defense, [factories.image() for _ in range(3)], now, round=2)
    for seconds, share in ((0, 0), (12, 40), (30, 99), (4000, 99)):
        Run.objects.filter(pk=held.pk).update(started_at=now - timedelta(seconds=seconds))
        (row,) = read_queue_state(now=now)["running"]
        assert row == {"run": held, "seconds": seconds, "expected": 30.0, "share": share} and row["run"].planned == 3


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
    cast.scorer("one", now)
    cast.scorer("other", now)
    for number, (ago, minutes) in enumerate(spells):
        finished(defense, now, minutes_ago=ago, minutes=minutes, pictures=1, round=number + 1)
    found = {row["scorer"].name: (row["hour"], row["day"]) for row in read_queue_state(now=now)["scorers"]}
    assert found == {"one": (hour, day), "other": (0, 0)}, why


def test_work_under_way_and_trials_keep_a_scorer_busy_and_its_speed_is_told(now: datetime) -> None:
    defense = cast.defense(1)
    cast.scorer("one", now)
    running(defense, [factories.image()], now, seconds=15 * 60)
    Trial.objects.create(
        defense=defense, kind="smoke", number=1, seed=1, batch_size=16, state="finished", worker="one",
        created_at=now, started_at=now - timedelta(minutes=60), finished_at=now - timedelta(minutes=45),
    )  # fmt: skip
    (row,) = read_queue_state(now=now)["scorers"]
    assert (row["hour"], row["pictures"], row["per_second"]) == (50, 0, None)
    finished(defense, now, minutes_ago=5, minutes=0.5, pictures=15, round=2)
    (row,) = read_queue_state(now=now)["scorers"]
    assert (row["pictures"], row["per_second"]) == (15, 0.5)


def test_a_silent_scorer_is_told_from_one_that_lives(
    now: datetime, organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.scorer("one", now, held="run 5 of 1, round 2")
    monkeypatch.setattr(timezone, "now", lambda: now)
    for seconds, said in ((0, "alive"), (120, "alive"), (121, "silent since"), (86_400, "silent since")):
        Scorer.objects.update(seen_at=now - timedelta(seconds=seconds))
        cache.clear()
        page = words(organizer, f"{QUEUE}now/")
        assert f"one {said}" in page, seconds
        assert ("run 5 of 1, round 2" in page) == (said == "alive"), "what a silent one holds is not known"


@pytest.fixture
def dead(now: datetime) -> tuple[Run, Run]:
    """A run that the platform ended, and one that its defense did."""
    over: dict[str, Any] = {"state": RunState.DEAD, "attempt": 3, "finished_at": now}
    defense, image = cast.defense(1, name="Small net"), factories.image()
    return (
        cast.run(defense, [image], now, round=1, fault="platform", fault_text="no room on the disk", **over),
        cast.run(defense, [image], now, round=2, fault="nonfinite", fault_text="NaN", **over),
    )


class TestTryingAgain:
    def test_what_gave_up_is_told_in_words(self, dead: tuple[Run, Run], organizer: Client) -> None:
        page = words(organizer, QUEUE)
        assert not lacking(
            page,
            "Try the one again",
            f"Small net , round 1 run {dead[0].pk}",
            "Something around the program failed, not the program. platform no room on the disk 1 3",
            "A score is NaN or infinite. nonfinite NaN",
        )
        assert page.count("Try again") == 1 and "final" in page
        page = organizer.get("/organizer/").content.decode()
        assert page.count(f'href="{QUEUE}"') >= 2 and f'href="/defenses/{dead[0].defense.public_id}/"' in page
        Defense.objects.update(retired_at=factories.NOW)
        cache.clear()
        assert "Try" not in words(organizer, QUEUE).partition("Gave up")[2].partition("Waiting")[0], "it is retired"

    def test_one_is_tried_again(self, dead: tuple[Run, Run], organizer: Client) -> None:
        platform = dead[0]
        assert f"Run {platform.pk} of Small net, round 1, gave up" in words(organizer, f"{RETRY}?run={platform.pk}")
        assert Run.objects.filter(state=RunState.DEAD).count() == 2, "looking changes nothing"
        assert posted(organizer, RETRY, {"run": platform.pk}) == QUEUE
        assert Run.objects.get(state=RunState.QUEUED) == platform
        assert "1 run waits again, for one try each." in words(organizer, QUEUE)
        assert "Nothing is left to try again" in posted(organizer, RETRY, {"run": platform.pk}, 409)

    def test_all_are_tried_again_but_what_is_final(self, dead: tuple[Run, Run], organizer: Client) -> None:
        assert "1 run gave up through no fault of their defenses" in words(organizer, RETRY)
        assert (posted(organizer, RETRY), Run.objects.get(state=RunState.DEAD)) == (QUEUE, dead[1])

    def test_a_number_that_is_none_never_means_all(self, dead: tuple[Run, Run], organizer: Client) -> None:
        for number in ("0", "999999", "x", "-1", "9" * 30):
            assert "There is nothing to try again" in words(organizer, f"{RETRY}?run={number}"), number
            posted(organizer, RETRY, {"run": number}, 409)
        assert Run.objects.filter(state=RunState.DEAD).count() == 2


def test_a_trial_that_waits_or_gave_up_is_there(organizer: Client, now: datetime) -> None:
    common = {"number": 1, "seed": 1, "batch_size": 16, "created_at": now}
    common["defense"] = cast.defense(1, name="Coming", published_at=None)
    Trial.objects.create(kind="smoke", state="dead", fault="platform", fault_text="engine away", **common)
    Trial.objects.create(kind="earlier", state="queued", **common)
    assert not lacking(
        words(organizer, QUEUE),
        "Gave up",
        "Coming , smoke 1 Something around the program failed",
        "engine away",
        "Coming , earlier 1 queued none yet",
    )


def test_the_number_of_queries_does_not_grow_with_the_queue(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring_figures, "MAX_LISTED", 3)
    defense = cast.defense(1)

    def more(number: int) -> None:
        images = [factories.image()]
        cast.run(defense, images, now, round=1)
        cast.run(defense, images, now, round=2, state=RunState.DEAD, fault="platform", finished_at=now)
        running(defense, images, now, round=3)
        finished(defense, now, minutes_ago=number, minutes=1, pictures=1)
        cast.scorer(f"scorer {number}", now)

    more(1)
    read_queue_state(now=now)  # this process learns the policy
    few = queries(lambda: read_queue_state(now=now))
    for number in range(2, 6):
        more(number)
    assert queries(lambda: read_queue_state(now=now)) == few
    page = read_queue_state(now=now)
    assert (len(page["waiting"]), page["waiting_count"], len(page["dead"]), page["dead_count"]) == (3, 5, 3, 5)


# Re-runs -------------------------------------------------------------------------------------------------------------

Scored = tuple[Defense, Image, Image]


@pytest.fixture
def scored(now: datetime) -> Scored:
    """A defense that takes a bird for a bicycle, which breaks it, and is right about another."""
    (defense,) = scoring_cast.publish(now, "numpy-statistics")
    images = scoring_cast.valid_pictures(2)
    for image in images:
        cast.scored(defense, image, [BICYCLE] * 3, state=RunState.FINISHED)
    factories.sent_by_somebody()
    breaks_record(now=now)
    return defense, images[0], images[1]


@pytest.fixture
def begun(scored: Scored, olga: User, now: datetime) -> Rerun:
    """A re-run of all its answers, whose runs wait."""
    return scoring_cast.begun(scored[0], olga, now, scope=Scope("All answers."), reason="A faulty card.")


ALL = {"which": "all", "reason": "A faulty card."}


def address(defense: Defense, query: str = "") -> str:
    return f"/organizer/reruns/new/{defense.public_id}/{query}"


def answer_again(answer: DefenseAnswer, now: datetime) -> None:
    """Finish every run that waits with one answer, as a scorer would."""
    while (held := services.run_claim(worker="one", now=now)) is not None:
        given = [
            services.DefensePrediction(item.pk, item.image_id, answer, 0.5, 0.5, item.pixels_sha256, 0, row, 1, now)
            for row, item in enumerate(run_items(held))
        ]
        services.run_finish(held, given, device="cpu", now=now)


def applied(rerun: Rerun, by: User, now: datetime) -> None:
    """Apply a re-run, and find the breaks after it."""
    reruns.rerun_apply(rerun_id=rerun.pk, by=by, now=now)
    breaks_record(now=now)


class TestARerun:
    def test_it_is_chosen_and_looked_at_before_it_is_started(self, scored: Scored, organizer: Client) -> None:
        page = words(organizer, address(scored[0]))
        assert "Which answers" in page and "What it takes" not in page, "first there is only the choice"
        assert not lacking(
            words(organizer, address(scored[0], "?which=all")),
            "All answers. Pictures 2 Answers 6 Runs 3 Batches 3",
            "Answers now bicycle 6 Given on cpu: 6",
            "Time on one scorer less than 1 s, by the measured time of a batch",
            "For the board: 1 break rests on these older answers",
            scored[1].public_id,
        )
        page = words(organizer, address(scored[0], "?which=week&week=2026-W01"))
        assert "No answer of this defense is meant by that." in page and "Start the re-run" not in page
        assert not Rerun.objects.exists()

    def test_its_answers_take_effect_when_it_is_applied(
        self, scored: Scored, begun: Rerun, organizer: Client, now: datetime
    ) -> None:
        own, of_defense = f"/organizer/reruns/{begun.pk}/", f"/defenses/{scored[0].public_id}/"
        assert not lacking(
            words(organizer, own),
            *("under way", "All answers. A faulty card.", "olga", "No answer has come yet."),
            "Stop Cancel What differs",  # there is nothing to apply yet
            "Done 0 of 6 answers in 3 runs Waiting 6",
        )
        assert "Nothing was changed: 6 answers are still to come." in posted(organizer, f"{own}apply/", status=409)
        answer_again(BIRD, now)
        assert not lacking(
            words(organizer, own),
            *("finished, not applied", "Apply Cancel What differs", "bicycle bird 6"),
            f"{scored[1].public_id} round 1 bicycle → bird",
            "For the board: 1 break rests on these older answers",
        )
        assert f"Re-run {begun.pk} finished, not applied" in words(organizer, of_defense)
        told = ("All new answers take the place of the older ones at once", "For the board: 1 break")
        assert not lacking(words(organizer, f"{own}apply/"), *told)
        assert (organizer.post(f"{own}apply/").status_code, SupersededPrediction.objects.count()) == (303, 6)
        page = words(organizer, own)
        assert not lacking(page, "applied", "For the board: 1 break") and "Apply" not in page
        assert "applied already" in posted(organizer, f"{own}apply/", status=409)
        assert f"Re-run {begun.pk} applied" in words(organizer, of_defense)

    def test_it_is_stopped_goes_on_and_is_cancelled(self, begun: Rerun, organizer: Client) -> None:
        own = f"/organizer/reruns/{begun.pk}/"
        assert f"Re-run {begun.pk} of {begun.defense.name}" in words(organizer, QUEUE)
        assert f'data-source="{own}now/"' in organizer.get(own).content.decode()
        for name, said in (("stop", "stopped"), ("go-on", "under way"), ("cancel", "cancelled")):
            assert [organizer.get(f"{own}{name}/").status_code, posted(organizer, f"{own}{name}/")] == [200, own]
            assert said in words(organizer, own)
            cache.clear()
        page = organizer.get(own).content.decode()
        assert "data-source" not in page and "overview.js" not in page, "what is over refreshes no more"
        posted(organizer, f"{own}go-on/", status=409)
        words(organizer, f"{own}nonsense/", 404)
        assert (Rerun.objects.get().state, SupersededPrediction.objects.count()) == (RerunState.CANCELLED, 0)
        assert "No re-run is under way." in words(organizer, QUEUE)

    def test_while_it_is_prepared_pages_tell_how_far_and_it_can_only_be_cancelled(
        self, scored: Scored, organizer: Client
    ) -> None:
        own, rerun = posted(organizer, address(scored[0]), ALL), Rerun.objects.get()
        assert own == f"/organizer/reruns/{rerun.pk}/"
        assert "The re-run is being prepared. Nothing changes until it is applied." in words(organizer, own)
        assert not lacking(words(organizer, f"{own}now/"), "being prepared", "Prepared 0 of 6 answers planned Cancel")
        listed = f"Re-run {rerun.pk} of {rerun.defense.name} , asked for"
        for lists in ("/organizer/", QUEUE):
            assert not lacking(words(organizer, lists), listed, ": being prepared, 0 of 6 answers planned"), lists
        refusal = "This is not possible while the re-run is being prepared."
        for name in ("apply", "stop", "go-on"):
            assert not lacking(words(organizer, f"{own}{name}/"), "0 of 6 answers planned", refusal), name
            said = posted(organizer, f"{own}{name}/", status=409)
            assert "Nothing was changed: this re-run is being prepared." in said
        assert refusal not in words(organizer, f"{own}cancel/")
        assert "cancelled" in words(organizer, posted(organizer, f"{own}cancel/"))

    def test_another_one_is_refused_meanwhile(self, scored: Scored, begun: Rerun, organizer: Client) -> None:
        said = posted(organizer, address(scored[0]), ALL | {"reason": "kept <words>"}, 409)
        assert not lacking(said, "Nothing was started. Another re-run of this defense is under way.", "kept <words>")
        assert Rerun.objects.get() == begun


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


def test_what_cannot_be_read_is_told(scored: Scored, organizer: Client) -> None:
    for form, said in WRONG:
        assert said in posted(organizer, address(scored[0]), form | {"reason": "why"}, 400), form
    assert not Rerun.objects.exists()
    assert WRONG[0][1] in plain(organizer.get(address(scored[0]), WRONG[0][0])), "also when it is looked at"


def test_choices_become_scopes(scored: Scored) -> None:
    def scope_of(zone: str = "UTC", **chosen: str) -> Scope:
        form = StartRerunForm(chosen, defense=scored[0], zone=zone)
        assert form.is_valid() and form.scope is not None
        return form.scope

    assert scope_of(which="week", week="2026-W47").received == (WEEK.start, WEEK.end)
    scope = scope_of("Asia/Tokyo", which="between", since="2026-11-20T10:00", until="2026-11-20T11:30")
    assert scope.words == "Answers given from 2026-11-20 10:00 up to 2026-11-20 11:30 JST."
    assert scope.answered is not None and scope.answered[0].isoformat() == "2026-11-20T10:00:00+09:00"
    assert scope_of(which="run", run=" 007 ").run == 7
    assert scope_of(which="all", week="soon", device="x", since="x", run="x") == Scope("All answers."), "of others"


def test_a_fault_that_a_rerun_got_over_leaves_the_release(olga: User, now: datetime) -> None:
    (defense,) = scoring_cast.publish(now, "numpy-statistics")
    (image,) = scoring_cast.valid_pictures(1)
    dead = cast.faulted(defense, image, 1, Fault.CRASHED)
    rerun = scoring_cast.begun(defense, olga, now, scope=Scope("One run.", run=dead.pk))
    answer_again(BIRD, now)
    assert len(list(tables._fault_rows(WEEK))) == 1, "until it is applied"
    applied(rerun, olga, now)
    assert (list(tables._fault_rows(WEEK)), len(list(tables._prediction_rows(WEEK)))) == ([], 1)


@pytest.fixture(scope="class")
def published(class_world: Path) -> cast.Contest:
    """A week that is released, in which a bird was taken for a bicycle."""
    contest = cast.a_week()
    image, team = contest.images["valid bicycle"], Team.objects.get()
    Image.objects.filter(pk=image.pk).update(**cast.sent_by(team))
    sent = {"received_at": cast.MONDAY, "week": WEEK.name, "of_quota": 2, "policy": factories.policy_version()}
    Attack.objects.create(team=team, image=image, **sent)
    assert verify(release_week(WEEK, out=class_world / "releases", now=cast.AFTER).folder).differences == []
    return contest


class TestARelease:
    @pytest.mark.parametrize(("answer", "breaks"), [(ABSTAIN, 0), (BICYCLE, 1), (BIRD, 1)])
    def test_after_a_rerun_it_is_proved_by_its_own_tables(
        self, answer: DefenseAnswer, breaks: int, published: cast.Contest, olga: User, settings: Any
    ) -> None:
        """Answered again, the bird is called a bicycle, or the bicycle a bird; the verifier finds nothing (R39).

        A break without a proof in force is not claimed, and stays on record.
        """
        now = cast.SATURDAY + timedelta(days=1)
        rerun = scoring_cast.begun(published.defenses[1], olga, now, scope=Scope("All."))
        answer_again(answer, now)
        applied(rerun, olga, now)
        after = release_week(WEEK, out=settings.RELEASE_DIR, now=cast.AFTER).folder
        assert (after.name, verify(after).differences) == ("release-2026-W47-errata-1", [])
        assert len((after / "breaks.csv").read_text().splitlines()) == 1 + breaks
        assert Break.objects.filter(image=published.images["valid bird"]).exists(), "the fact stays"
        in_force = {each.pk for each in Prediction.objects.filter(defense=rerun.defense, rerun=rerun)}
        published_rows = {int(row[0]) for row in tables._prediction_rows(WEEK) if row[1] == rerun.defense.public_id}
        assert published_rows == in_force


# Who may open --------------------------------------------------------------------------------------------------------


def test_only_organizers_enter(scored: Scored, olga: User, signed_in: Any, now: datetime) -> None:
    rerun = Rerun.objects.create(defense=scored[0], reason="why", asked_by=olga, asked_at=now)
    own, people = f"/organizer/reruns/{rerun.pk}/", outsiders(signed_in)
    for changing in (RETRY, address(scored[0]), f"{own}apply/"):
        assert codes(people, changing) == codes(people, changing, ALL) == ORGANIZERS_ALONE, changing
    for page in (QUEUE, f"{QUEUE}now/", own, f"{own}now/"):
        assert codes(people, page) == ORGANIZERS_ALONE, page
    assert Rerun.objects.get().state == RerunState.RUNNING


def test_no_such_page(organizer: Client) -> None:
    for page in ("0/", "0/now/", "0/apply/", "new/D-0/"):
        assert organizer.get(f"/organizer/reruns/{page}").status_code == 404, page
