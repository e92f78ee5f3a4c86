"""The organizer's overview: what it counts, what it says when there is nothing, and who sees it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from adjudication.models import Ruling
from contest.core.models import Break, Release
from contest.operations import throughput
from contest.operations.overview import read_overview
from labeling.enums import Label
from labeling.models import Assignment, Image, Question, Report, Tasker
from monitoring.models import TaskerLink
from scoring.models import Defense
from tests import factories
from tests.contest import release_fixtures as fixtures
from tests.contest.pages import ORGANIZERS_ALONE, codes, lacking, outsiders, plain, queries, words

pytestmark = pytest.mark.django_db
PAGE, NOW_PART = "/organizer/", "/organizer/now/"


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


def steps(page: dict[str, Any]) -> dict[str, int]:
    return {step.name: step.count for step in page["steps"] if step.count}


def ruled(verdict: str, *reasons: str, number: int = 1, of: Image | None = None) -> Ruling:
    """A ruling, on a settled panel of its own where no image is given."""
    panel = factories.settle(factories.panel()) if of is None else of.panels.get()
    return Ruling.objects.create(
        image=panel.image,
        number=number,
        panel=panel,
        verdict=verdict,
        label=Label.BIRD if verdict == "valid" else "",
        reasons=list(reasons),
        response_ids=[],
        policy=factories.policy_version(),
        decided_at=factories.NOW,
        decided_by="rules",
    )


def defense(name: str) -> Defense:
    return Defense.objects.create(name=name, digest=name, created_at=factories.NOW, published_at=factories.NOW)


def broken(of: Defense, by: Ruling) -> None:
    (mistake,) = fixtures.scored(of, by.image, [0])
    Break.objects.create(defense=of, image=by.image, ruling=by, prediction=mistake, found_at=factories.NOW)
    factories.sent_by_somebody()


def release(week: str, part: int = 0) -> str:
    told = {"manifest_sha256": "ab" * 32, "counts": {"images": 7, "responses": 21}, "bytes": 1234}
    return str(Release.objects.create(week=week, part=part, released_at=factories.NOW, **told).name)


# What is counted ------------------------------------------------------------------------------------------------------


def test_every_picture_is_counted_where_it_stands(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    factories.image(label_from=now - timedelta(hours=5))
    factories.image(label_from=now + timedelta(hours=5))
    factories.image(label_from=None)  # a gold picture is never labeled by a panel
    factories.panel()
    one_missing, full = factories.panel(), factories.panel()
    for tasker in (tara, otto):
        factories.response(tasker, one_missing)
    for tasker in (tara, otto, uma):
        factories.response(tasker, full)
    ruled("valid")
    ruled("rejected", "uncertain", "no_outline")
    page = read_overview(now=now)
    assert steps(page) == {
        "Under embargo, due later": 1,
        "Waiting for a panel": 1,
        "In panels": 2,
        "3 answers missing": 1,
        "1 answer missing": 1,
        "All answers given, waiting for a ruling": 1,
        "Ruled valid": 1,
        "Ruled rejected": 1,
        "Valid, waiting for scoring": 1,
    }
    assert page["missing"] == 3 + 3 + 1, "a whole panel where there is none yet"
    due = {"Waiting for a panel": now - timedelta(hours=5), "Under embargo, due later": now + timedelta(hours=5)}
    assert {step.name: step.oldest for step in page["steps"]}.items() >= due.items()


def test_every_reason_of_the_newest_ruling_of_each_picture_is_counted(now: datetime) -> None:
    ruled("rejected", "uncertain", "no_outline")
    first = ruled("valid")
    ruled("rejected", "occluded", number=2, of=first.image)
    ruled("rejected", "uncertain", number=3, of=first.image)
    ruled("valid")
    page = read_overview(now=now)
    assert steps(page).items() >= {"Ruled valid": 1, "Ruled rejected": 2}.items()
    bars = [[(bar.value.name, bar.value.number) for bar in chart.bars] for chart in (page["reasons"], page["verdicts"])]
    assert bars == [[("uncertain", 2), ("no outline", 1)], [("valid, bird", 1), ("rejected", 2)]]


def test_a_picture_is_scored_when_every_published_defense_has_answered_every_round(now: datetime) -> None:
    images = [ruled("valid").image for _ in range(3)]
    first, second, retired = defense("a"), defense("b"), defense("old")
    Defense.objects.filter(pk=retired.pk).update(retired_at=now)
    for round in (1, 2, 3):
        fixtures.run(first, images, now, round=round, state="assessed")
        fixtures.run(second, images[:2], now, round=round, state="assessed")
    fixtures.run(second, images[2:], now, round=1, state="assessed")
    fixtures.run(second, images[2:], now, round=2)  # and nobody waits for the retired one
    page = read_overview(now=now)
    assert steps(page).items() >= {"Scored by every published defense": 2, "Valid, waiting for scoring": 1}.items()
    assert [(row["defense"].name, row["scored"], row["under_way"]) for row in page["defenses"]] == [
        ("a", 3, 0),
        ("b", 2, 1),
    ]


def test_a_break_counts_while_its_ruling_holds(now: datetime) -> None:
    target = defense("a")
    stands, overruled = ruled("valid"), ruled("valid")
    broken(target, stands)
    broken(target, overruled)
    ruled("rejected", "occluded", number=2, of=overruled.image)
    page = read_overview(now=now)
    assert (steps(page)["Broke a defense"], [row["breaks"] for row in page["defenses"]]) == (1, [1])


def test_days_are_those_of_the_contests_zone(tara: Tasker, now: datetime) -> None:
    # 03:00 UTC on the 18th is still the 17th in New York.
    factories.response(tara, factories.panel(), now=datetime(2026, 11, 18, 3, tzinfo=UTC))
    for zone, day in (("UTC", "Wed 18 Nov 2026"), ("America/New_York", "Tue 17 Nov 2026")):
        days = throughput.throughput_by_day(now=now, zone=zone)
        assert (len(days), [each.name for each in days if each.answers]) == (throughput.DAYS, [day])


def test_at_work_is_who_was_seen_within_a_quarter_of_an_hour(
    tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    lease = timedelta(minutes=20)  # renewed for this long at each sign of life
    for tasker, minutes in ((tara, 1), (otto, 16)):
        held = factories.assignment(tasker, factories.panel(), state="leased")
        Assignment.objects.filter(pk=held.pk).update(expires_at=now - timedelta(minutes=minutes) + lease)
    factories.response(uma, factories.panel(), now=now - timedelta(minutes=3))
    rows = [(row["public_id"], row["held"], row["answers"]) for row in read_overview(now=now)["at_work"]]
    assert rows == [(tara.public_id, 1, 0), (uma.public_id, 0, 1)]


def test_the_number_of_queries_does_not_grow_with_the_contest(tara: Tasker, now: datetime) -> None:
    target = defense("a")

    def work() -> None:
        factories.response(tara, factories.panel())
        first = ruled("valid")
        ruled("rejected", "occluded", number=2, of=first.image)
        fixtures.run(target, [first.image], factories.NOW, state="assessed")

    work()
    read_overview(now=now)  # this process learns the policy
    cache.clear()
    few = queries(lambda: read_overview(now=now))
    for _ in range(3):
        work()
    cache.clear()
    assert queries(lambda: read_overview(now=now)) == few


# The page -------------------------------------------------------------------------------------------------------------


def test_an_empty_contest_says_what_to_do_first(organizer: Client, tara: Tasker) -> None:
    answer = organizer.get(PAGE)
    assert f'data-source="{NOW_PART}"' in answer.content.decode(), "it refreshes from its middle part"
    assert not lacking(
        plain(answer),
        "./unanimous import_images PATH --source SOURCE --licence LICENCE",
        *("No defense is published", "No answers yet", "No rulings yet", "No release yet"),
        "No picture waits for an answer.",
    )
    asked = queries(lambda: organizer.get(NOW_PART))
    assert asked == 2, "who asks, and their groups; all who ask within seconds get one reading of the contest"
    middle = organizer.get(NOW_PART).content.decode()
    assert "<html" not in middle and "Where the pictures are" in middle
    Tasker.objects.all().delete()
    cache.clear()
    assert "./unanimous add_user NAME --role tasker --qualified" in words(organizer, PAGE)


def test_what_waits_is_told_and_leads_to_where_it_is_decided(organizer: Client, tara: Tasker, settings: Any) -> None:
    """Taskers are shown by their public ID alone (R4)."""
    released, elsewhere = release("2026-W39", part=2), release("2026-W38")
    settings.RELEASE_DIR.mkdir()
    (settings.RELEASE_DIR / f"{released}.zip").write_bytes(b"PK")
    long_ago = datetime(2026, 10, 1, tzinfo=UTC)
    factories.image(received_at=long_ago, label_from=long_ago)
    over = {"fault": "gpu_out_of_memory", "fault_text": "1 GiB too little", "finished_at": factories.NOW}
    fixtures.run(defense("Small CNN"), [], factories.NOW, state="dead", **over)
    held = factories.assignment(tara, factories.panel(), state="leased")
    Assignment.objects.filter(pk=held.pk).update(expires_at=timezone.now() + timedelta(minutes=20), problem="Grey.")
    back = factories.assignment(tara, factories.panel(), state="released")
    Report.objects.create(assignment=back, image=back.image, tasker=tara, kind="other", reported_at=factories.NOW)
    Question.objects.create(tasker=tara, text="Is a weathercock a bird?", asked_at=factories.NOW)
    factories.gold(held_at=factories.NOW)
    factories.tasker("pat", state="paused")
    TaskerLink.objects.create(
        first=tara, second=factories.tasker("pit"), kind="suspected", reason="alike", linked_at=factories.NOW
    )
    page, markup = words(organizer, PAGE), organizer.get(PAGE).content.decode()
    assert "tara" not in page and "What to do first" not in page
    assert not lacking(
        page,
        tara.public_id,
        *("1 run gave up", "gpu_out_of_memory", "1 GiB too little"),
        "Week 2026-W40 has ended and is not released. Pictures of it still wait: 1 for a panel.",
        f"{elsewhere} (its file is not on this machine)",
    )
    assert f'href="/releases/{elsewhere}.zip"' not in markup
    assert not lacking(
        markup,
        f'href="/releases/{released}.zip"',
        '<a href="/organizer/reports/">1 picture reported by taskers</a>',
        '<a href="/organizer/questions/">1 question without an answer</a>',
        '<a href="/organizer/gold/">1 gold picture held</a>',
        '<a href="/organizer/taskers/">1 tasker paused</a>',
        '<a href="/organizer/taskers/">1 pair of taskers who may copy</a>',
    )


def test_only_organizers_enter(signed_in: Any) -> None:
    people = outsiders(signed_in)
    assert codes(people, PAGE) == codes(people, NOW_PART) == ORGANIZERS_ALONE
    for who, code in (("tasker", "not_for_taskers"), ("board", "not_an_organizer")):
        assert code in people[who].get(PAGE).content.decode()
