"""The organizer's overview: what it counts, what it says when there is nothing, and who sees it."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from adjudication.models import Ruling
from contest import pace
from contest.models import Break, Release
from contest.overview import Overview, read_overview
from labeling.enums import Label
from labeling.models import Assignment, Image, Panel, Question, Report, Tasker, TaskerLink
from scoring.models import Defense, Prediction, Run, RunItem
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Client:
    client: Client = signed_in(olga)
    return client


def words(client: Client, address: str = "/organizer/") -> str:
    """The page as one line of words."""
    answer = client.get(address)
    assert answer.status_code == 200
    return unescape(re.sub(r"\s+", " ", strip_tags(answer.content.decode())))


def steps(page: Overview) -> dict[str, int]:
    return {step.name: step.count for step in page.steps if step.count}


def ruled(verdict: str, *reasons: str, number: int = 1, of: Image | None = None) -> Ruling:
    """A ruling, on a settled panel of its own where no image is given."""
    if of is None:
        panel = factories.panel()
        Panel.objects.filter(pk=panel.pk).update(state="settled", answered=3, missing=0)
    else:
        panel = of.panels.get()
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


def run(of: Defense, images: Sequence[Image], *, round: int = 1, state: str = "assessed") -> Run:
    row = Run.objects.create(
        defense=of,
        round=round,
        seed=1,
        batch_size=16,
        state=state,
        created_at=factories.NOW,
        lease_until=factories.NOW,
    )
    for position, image in enumerate(images):
        RunItem.objects.create(run=row, defense=of, round=round, image=image, position=position)
    return row


def broken(of: Defense, by: Ruling) -> None:
    """A confident mistake and its break."""
    item = run(of, [by.image], round=9).items.get()
    mistake = Prediction.objects.create(
        item=item,
        image=by.image,
        defense=of,
        round=9,
        answer=0,
        score_bicycle=1,
        score_bird=0,
        pixels_sha256="x",
        defense_digest="x",
        device="cpu",
        batch_size=16,
        batch=0,
        row=0,
        seed=1,
        attempt=1,
        latency_us=1,
        predicted_at=factories.NOW,
    )
    Break.objects.create(defense=of, image=by.image, ruling=by, prediction=mistake, found_at=factories.NOW)
    factories.sent_by_somebody()


def test_an_empty_contest_says_what_to_do_first(organizer: Client) -> None:
    page = words(organizer)
    assert "./unanimous import_images PATH --source SOURCE --licence LICENCE" in page
    assert "./unanimous add_user NAME --role tasker --qualified" in page
    assert "No defense is published" in page
    assert "No answers yet" in page
    assert "No rulings yet" in page
    assert "No release yet" in page
    assert "No picture waits for an answer." in page


def test_what_is_there_is_not_asked_for(organizer: Client, tara: Tasker) -> None:
    factories.image()
    defense("a")
    assert "What to do first" not in words(organizer)


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
    oldest = {step.name: step.oldest for step in page.steps}
    assert oldest["Waiting for a panel"] == now - timedelta(hours=5)
    assert oldest["Under embargo, due later"] == now + timedelta(hours=5)


def test_every_reason_is_counted_for_each_picture_that_has_it(now: datetime) -> None:
    ruled("rejected", "uncertain", "no_outline")
    ruled("rejected", "uncertain")
    ruled("valid")
    page = read_overview(now=now)
    assert [(bar.value.name, bar.value.number) for bar in page.reasons.bars] == [("uncertain", 2), ("no outline", 1)]
    assert [(bar.value.name, bar.value.number) for bar in page.verdicts.bars] == [("valid, bird", 1), ("rejected", 2)]


def test_only_the_newest_ruling_of_a_picture_is_counted(now: datetime) -> None:
    first = ruled("valid")
    ruled("rejected", "occluded", number=2, of=first.image)
    ruled("rejected", "truncated", number=3, of=first.image)
    page = read_overview(now=now)
    assert steps(page) == {"Ruled rejected": 1}
    assert [bar.value.name for bar in page.reasons.bars] == ["truncated"]


def test_a_picture_is_scored_when_every_published_defense_has_answered_every_round(now: datetime) -> None:
    images = [ruled("valid").image for _ in range(3)]
    first, second = defense("a"), defense("b")
    for round in (1, 2, 3):
        run(first, images, round=round)
        run(second, images[:2], round=round)
    run(second, images[2:], round=1)
    run(second, images[2:], round=2, state="queued")
    page = read_overview(now=now)
    assert (steps(page)["Scored by every published defense"], steps(page)["Valid, waiting for scoring"]) == (2, 1)
    assert [(row.defense.name, row.scored, row.under_way) for row in page.defenses] == [("a", 3, 0), ("b", 2, 1)]


def test_a_break_counts_while_its_ruling_holds(now: datetime) -> None:
    target = defense("a")
    stands, overruled = ruled("valid"), ruled("valid")
    broken(target, stands)
    broken(target, overruled)
    ruled("rejected", "occluded", number=2, of=overruled.image)
    page = read_overview(now=now)
    assert steps(page)["Broke a defense"] == 1
    assert [row.breaks for row in page.defenses] == [1]


def test_a_retired_defense_is_not_waited_for(now: datetime) -> None:
    image = ruled("valid").image
    current, retired = defense("a"), defense("old")
    Defense.objects.filter(pk=retired.pk).update(retired_at=now)
    for round in (1, 2, 3):
        run(current, [image], round=round)
    assert steps(read_overview(now=now))["Scored by every published defense"] == 1


def test_pictures_without_a_panel_miss_a_whole_panel_of_answers(tara: Tasker, now: datetime) -> None:
    factories.image(label_from=now)
    factories.response(tara, factories.panel())
    assert read_overview(now=now).missing == 3 + 2


def test_days_are_those_of_the_contests_zone(tara: Tasker, now: datetime) -> None:
    # 03:00 UTC on the 18th is still the 17th in New York.
    factories.response(tara, factories.panel(), now=datetime(2026, 11, 18, 3, tzinfo=UTC))
    for zone, day in (("UTC", "Wed 18 Nov 2026"), ("America/New_York", "Tue 17 Nov 2026")):
        days = pace.days(now=now, zone=zone)
        assert len(days) == pace.DAYS
        assert [each.name for each in days if each.answers] == [day]


def test_at_work_is_who_was_seen_within_a_quarter_of_an_hour(
    tara: Tasker, otto: Tasker, uma: Tasker, now: datetime
) -> None:
    lease = timedelta(minutes=20)  # renewed for this long at each sign of life
    for tasker, minutes in ((tara, 1), (otto, 16)):
        held = factories.assignment(tasker, factories.panel(), state="leased")
        Assignment.objects.filter(pk=held.pk).update(expires_at=now - timedelta(minutes=minutes) + lease)
    factories.response(uma, factories.panel(), now=now - timedelta(minutes=3))
    rows = [(row.public_id, row.held, row.answers) for row in read_overview(now=now).at_work]
    assert rows == [(tara.public_id, 1, 0), (uma.public_id, 0, 1)]


def test_taskers_are_shown_by_public_id_alone(organizer: Client, tara: Tasker, settings: Any) -> None:
    held = factories.assignment(tara, factories.panel(), state="leased")
    Assignment.objects.filter(pk=held.pk).update(
        expires_at=timezone.now() + timedelta(minutes=20), problem="The picture is grey."
    )
    page = words(organizer)
    assert tara.public_id in page
    assert "tara" not in page


def test_what_waits_for_an_organizer_leads_to_where_it_is_decided(organizer: Client, tara: Tasker) -> None:
    given_back = factories.assignment(tara, factories.panel(), state="released")
    Report.objects.create(
        assignment=given_back, image=given_back.image, tasker=tara, kind="other", reported_at=factories.NOW
    )
    Question.objects.create(tasker=tara, text="Is a weathercock a bird?", asked_at=factories.NOW)
    factories.gold(held_at=factories.NOW)
    factories.tasker("pat", state="paused")
    TaskerLink.objects.create(
        first=tara, second=factories.tasker("pit"), kind="suspected", reason="alike", linked_at=factories.NOW
    )
    page = organizer.get("/organizer/").content.decode()
    for address, said in (
        ("/organizer/reports/", "1 picture reported by taskers"),
        ("/organizer/questions/", "1 question without an answer"),
        ("/organizer/gold/", "1 gold picture held"),
        ("/organizer/taskers/", "1 tasker paused"),
        ("/organizer/taskers/", "1 pair of taskers who may copy"),
    ):
        assert f'<a href="{address}">{said}</a>' in page


def test_a_run_that_gave_up_is_shown_with_its_fault(organizer: Client, now: datetime) -> None:
    dead = run(defense("Small CNN"), [], state="dead")
    Run.objects.filter(pk=dead.pk).update(fault="gpu_out_of_memory", fault_text="1 GiB too little", finished_at=now)
    page = words(organizer)
    assert "1 run gave up" in page
    assert "gpu_out_of_memory" in page
    assert "1 GiB too little" in page


def test_what_keeps_a_week_from_its_release_is_told(organizer: Client) -> None:
    factories.image(received_at=datetime(2026, 10, 1, tzinfo=UTC), label_from=datetime(2026, 10, 1, tzinfo=UTC))
    page = words(organizer)
    assert "Week 2026-W40 has ended and is not released. Pictures of it still wait: 1 for a panel." in page


def release(week: str = "2026-W40", part: int = 0) -> Release:
    return Release.objects.create(
        week=week,
        part=part,
        manifest_sha256="ab" * 32,
        counts={"images": 7, "responses": 21},
        bytes=1234,
        released_at=factories.NOW,
    )


def test_a_release_is_listed_with_its_file(organizer: Client, settings: Any) -> None:
    name = release(part=2).name
    settings.RELEASE_DIR.mkdir()
    (settings.RELEASE_DIR / f"{name}.zip").write_bytes(b"PK")
    assert f'href="/releases/{name}.zip"' in organizer.get("/organizer/").content.decode()


def test_a_release_whose_file_is_elsewhere_is_listed_without_a_link(organizer: Client) -> None:
    name = release().name
    assert f"{name} (its file is not on this machine)" in words(organizer)
    assert f'href="/releases/{name}.zip"' not in organizer.get("/organizer/").content.decode()


def test_the_page_refreshes_from_its_own_middle_part(organizer: Client) -> None:
    middle = organizer.get("/organizer/now/").content.decode()
    assert "<html" not in middle
    assert "Where the pictures are" in middle
    assert 'data-source="/organizer/now/"' in organizer.get("/organizer/").content.decode()


def test_all_who_ask_within_seconds_get_one_reading(organizer: Client) -> None:
    organizer.get("/organizer/")
    with CaptureQueriesContext(connection) as queries:
        organizer.get("/organizer/now/")
    # Who asks, and their groups; nothing of the contest.
    assert len(queries) == 2


def test_the_number_of_queries_does_not_grow_with_the_contest(tara: Tasker, now: datetime) -> None:
    def asked() -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            read_overview(now=now)
        return len(queries)

    target = defense("a")

    def work() -> None:
        factories.response(tara, factories.panel())
        first = ruled("valid")
        ruled("rejected", "occluded", number=2, of=first.image)
        run(target, [first.image])

    work()
    asked()  # this process learns the policy
    few = asked()
    for _ in range(20):
        work()
    assert asked() == few


@pytest.mark.parametrize("address", ["/organizer/", "/organizer/now/"])
def test_only_organizers_enter(
    address: str, client: Client, tara: Tasker, rita: User, stan: User, signed_in: Any
) -> None:
    release()
    assert client.get(address)["Location"].startswith("/sign-in/?next=/organizer/")
    assert signed_in(stan).get(address).status_code == 404  # a stranger with an account learns nothing
    for known, code in ((tara, "not_for_taskers"), (rita, "not_an_organizer")):
        answer = signed_in(known).get(address)
        assert answer.status_code == 403
        assert code in answer.content.decode()
