"""The pages of monitoring: who may open them, what they say, and what they never say (R6, R8)."""

import csv
import io
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from accounts.leaving import account_delete
from labeling import voiding
from labeling.enums import LinkKind, MonitoringAction
from labeling.learning.services import QUALIFIED
from labeling.models import (
    Image,
    KnownPicture,
    MonitoringRule,
    Notice,
    Panel,
    QualificationAttempt,
    StateChange,
    Tasker,
    VoidedResponse,
)
from monitoring.actions import action_take
from monitoring.check_taskers import check_taskers
from monitoring.models import GoldFlag, TaskerLink
from monitoring.tasker_rows import tasker_rows
from policy.numbers import Policy
from tests import factories
from tests.contest.pages import one_line
from tests.labeling.cast import BICYCLE, BIRD, full_panel, gold_answer, gold_answers, kept, shows

pytestmark = pytest.mark.django_db
CLEAR_BIRD = {
    "accepts_bird": ["definitely_yes"],
    "accepts_bicycle": ["definitely_no"],
    "outline": "[[[10,10],[200,10],[200,200],[10,200]]]",
    "min_iou_percent": "70",
    "complete": "True",
    "unoccluded": "True",
    "real": "True",
    "topic": "clear",
    "action": "add",
}


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Any:
    return signed_in(olga)


@pytest.fixture
def settled(tara: Tasker, otto: Tasker, uma: Tasker) -> Panel:
    return factories.settle(full_panel([tara, otto, uma], [BIRD] * 3, now=timezone.now()), now=timezone.now())


@pytest.mark.parametrize(
    "page",
    ["taskers/{tara}/", "taskers/{tara}/pause/", "taskers/{tara}/void/", "links/{link}/", "gold/new/{picture}/"],
)
def test_only_organizers_open_a_page(
    page: str, settled: Panel, organizer: Client, tara: Tasker, otto: Tasker, rita: User, stan: User, signed_in: Any
) -> None:
    """Nor does anybody else change anything. What is opened by no number is in `tests/test_pages.py`."""
    said = {"kind": LinkKind.DECLARED, "reason": "one person", "linked_at": timezone.now()}
    link = TaskerLink.objects.create(first=tara, second=otto, **said).pk
    address = "/organizer/" + page.format(tara=tara.public_id, link=link, picture=settled.image.public_id)
    others = [Client(), *map(signed_in, (tara, rita, stan))]
    assert [each.get(address).status_code for each in (organizer, *others)] == [200, 302, 403, 403, 404]
    assert {each.post(address, {"reason": "why"}).status_code for each in others} <= {302, 403, 404, 405}
    assert not StateChange.objects.exists()


def test_the_board_reads_what_is_for_the_board(
    settled: Panel, tara: Tasker, rita: User, organizer: Client, signed_in: Any
) -> None:
    for client in (signed_in(rita), organizer):
        shows(client.get(f"/organizer/taskers/{tara.public_id}/settled/"), settled.image.public_id)


def test_without_taskers_the_list_says_what_comes_next(organizer: Client) -> None:
    shows(organizer.get("/organizer/taskers/"), "No taskers yet")


def test_the_list_shows_sorts_and_filters(
    tara: Tasker, otto: Tasker, uma: Tasker, nell: Tasker, organizer: Client
) -> None:
    address = "/organizer/taskers/"
    full_panel([tara, otto, uma], [BICYCLE, BIRD, BIRD], now=timezone.now())
    gold_answer(otto, right=True, now=timezone.now())
    shows(page := organizer.get(f"{address}?sort=-agreement"), "1 of 1")
    order = [row.tasker for row in page.context["rows"]]
    assert (page.context["sort"], set(order[:2]), order[2:]) == ("-agreement", {otto, uma}, [tara, nell])
    assert [row.tasker for row in organizer.get(f"{address}?state=learning").context["rows"]] == [nell]
    assert "No tasker is paused" in organizer.get(f"{address}?state=paused").content.decode()


@pytest.mark.parametrize("query", ["?sort=password", "?sort=--gold", "?sort=", "?state="])
def test_nonsense_in_the_address_shows_the_list(query: str, tara: Tasker, organizer: Client) -> None:
    page = organizer.get(f"/organizer/taskers/{query}")
    assert (page.context["sort"], [row.tasker for row in page.context["rows"]]) == ("-rules", [tara])
    shows(organizer.get("/organizer/taskers/?state=admin"), "Select a valid choice.")


def test_the_list_draws_speed_against_agreement_and_each_day(
    tara: Tasker, otto: Tasker, uma: Tasker, organizer: Client
) -> None:
    address = "/organizer/taskers/"
    assert 'class="chart plot"' not in organizer.get(address).content.decode(), "nothing to draw yet"
    full_panel([tara, otto, uma], [BICYCLE, BIRD, BIRD], now=timezone.now())
    cache.clear()
    page = organizer.get(address)
    plot = page.context["plot"]
    points = {point.row.tasker: point for point in plot.points}
    assert set(points) == {tara, otto, uma} and points[tara].agreement < points[otto].agreement
    assert points[tara].y > points[otto].y, "who agrees less stands lower"
    assert all(plot.left <= each.x <= plot.width and 0 <= each.y <= plot.ground for each in plot.points)
    shows(page, f"{tara.public_id}: {points[tara].agreement} % agreement", "1 answers, ")


def test_the_file_says_what_the_list_says(tara: Tasker, nell: Tasker, organizer: Client) -> None:
    for right in (True, False):
        gold_answer(tara, right=right, now=timezone.now())
    assert organizer.get("/organizer/taskers.csv?state=soon").status_code == 400
    answer = organizer.get("/organizer/taskers.csv?sort=tasker")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = {row["tasker"]: row for row in csv.DictReader(io.StringIO(answer.content.decode()))}
    told = [rows[tara.public_id][name] for name in ("gold_right", "gold_asked", "answers", "median_seconds")]
    assert (told, rows[nell.public_id]["agreement"]) == (["1", "2", "0", "4.2"], "")


def test_a_tasker_s_page_tells_the_story(tara: Tasker, olga: User, organizer: Client) -> None:
    # The table has a row for each day: all answers are of one, whatever the time is.
    noon = timezone.now().replace(hour=12) - timedelta(days=1)
    gold_answers(tara, right=0, wrong=10, begin=noon)
    check_taskers(policy=Policy(), now=noon + timedelta(hours=1))
    shows(
        organizer.get(f"/organizer/taskers/{tara.public_id}/?days=30"),
        "Rule fired, to pause",
        "Qualified to paused",
        "right 0",
        "0 of 10",
        "gold, wrong",
        "Return to work",
    )


def offered(page: str) -> set[str]:
    """The actions a tasker's page leads to."""
    return set(re.findall(r'href="/organizer/taskers/T-[^/]+/([a-z]+)/">', page)) - {"settled"}


def test_of_who_has_left_only_answers_without_a_ruling_can_be_voided(
    settled: Panel, tara: Tasker, otto: Tasker, uma: Tasker, organizer: Client
) -> None:
    address = f"/organizer/taskers/{tara.public_id}/"
    assert offered(organizer.get(address).content.decode()) == {"warn", "pause", "requalify", "void", "link"}
    account_delete(user=tara.user, now=timezone.now())  # type: ignore[arg-type]
    left = ('<span class="state state-open">left</span> <time', "<strong>Left</strong>: The account was deleted")
    assert offered(shows(organizer.get(address), *left)) == set(), "every answer is settled"
    full_panel([tara, otto, uma], [BIRD] * 3, now=timezone.now())
    assert offered(organizer.get(address).content.decode()) == {"void"}
    for name in ("warn", "pause", "return", "requalify", "link"):
        for answer in (organizer.get(f"{address}{name}/"), organizer.post(f"{address}{name}/", {"reason": "why"})):
            shows(answer, "This tasker has left", status=409)
    shows(organizer.get(f"{address}void/"), "Nobody is notified: the tasker has left.")
    assert organizer.post(f"{address}void/", {"reason": "careless"}).status_code == 303
    made = (VoidedResponse.objects.count(), StateChange.objects.count(), Notice.objects.count())
    assert made == (1, 0, 0), "nobody would ever read a notice"


def test_the_story_tells_every_qualification_once(tara: Tasker, organizer: Client, now: datetime) -> None:
    told = {"before": "learning", "after": "qualified", "code": QUALIFIED, "reason": "8 of 10 pictures fully right."}
    StateChange.objects.create(tasker=tara, changed_at=now, **told)
    for number, kind, passed in ((1, "full", True), (2, "short", False), (3, "short", True)):
        days = {"started_at": now, "finished_at": now + timedelta(days=number - 1)}
        tried = {"tasker": tara, "number": number, "kind": kind, "passed": passed, "instructions": number}
        QualificationAttempt.objects.create(size=10, needed=8, **tried, **days)
    page = organizer.get(f"/organizer/taskers/{tara.public_id}/").content.decode()
    assert re.findall(r"<p><strong>(.*?)</strong>: (.*?)</p>", page) == [
        ("Qualified", "8 of 10 pictures fully right."),
        ("Qualified again", "For version 3 of the instructions."),
    ]


def test_a_chart_without_figures_says_so(tara: Tasker, organizer: Client) -> None:
    factories.response(tara, factories.panel(), now=timezone.now())
    page = one_line(organizer.get(f"/organizer/taskers/{tara.public_id}/").content.decode())
    assert re.findall(r"<h3>([^<]*)</h3>\s*(<figure|<p>[^<]*)", page) == [
        ("Answers per day", "<figure"),
        ("Gold right per day, percent", "<p>No gold was answered in these days."),
        ("Agreement per day, percent", "<p>No panel of these days is full yet."),
        ("Outline overlap per day, percent", "<p>No two outlines of these days can be compared yet."),
    ]


def test_pausing_is_explained_confirmed_and_needs_a_reason(tara: Tasker, organizer: Client) -> None:
    address = f"/organizer/taskers/{tara.public_id}/pause/"
    shows(organizer.get(address), "the pictures held at the moment are given back")
    shows(organizer.post(address, {"reason": " "}), "Give the reason", status=400)
    assert Tasker.objects.get().state == "qualified"
    done = organizer.post(address, {"reason": "I cannot reach you."})
    assert (done["Location"], Tasker.objects.get().state) == (f"/organizer/taskers/{tara.public_id}/", "paused")
    assert organizer.post(address, {"reason": "twice"}).status_code == 409
    assert organizer.get(address.replace("pause", "promote")).status_code == 404


@pytest.mark.parametrize(
    ("name", "state", "after"),
    [("warn", "qualified", "qualified"), ("return", "paused", "qualified"), ("requalify", "qualified", "learning")],
)
def test_the_other_actions(name: str, state: str, after: str, organizer: Client) -> None:
    tasker = factories.tasker("nina", state=state)
    organizer.post(f"/organizer/taskers/{tasker.public_id}/{name}/", {"reason": "why"})
    assert kept(tasker, "state") == after


def test_voiding_says_before_what_it_would_do(
    settled: Panel, tara: Tasker, otto: Tasker, uma: Tasker, organizer: Client
) -> None:
    full_panel([tara, otto, uma], [BIRD] * 3, now=timezone.now())
    address = f"/organizer/taskers/{tara.public_id}/void/"
    shows(organizer.get(address), settled.image.public_id)
    for since, found in (("", (1, 1)), ("2999-01-01", (0, 0))):
        page = organizer.get(address, {"since": since})
        assert (page.context["unsettled"], page.context["settled_count"]) == found
    shows(organizer.get(address, {"since": "yesterday"}), "Write a day such as 2026-11-18.")
    sent = [organizer.post(address, {"reason": "careless", "since": since}) for since in ("2999-01-01", "")]
    assert ([each.status_code for each in sent], VoidedResponse.objects.count()) == ([409, 303], 1)


def test_linking_and_ending_the_link(tara: Tasker, otto: Tasker, organizer: Client) -> None:
    address = f"/organizer/taskers/{tara.public_id}/link/"
    others = ("T-NOBODY", tara.public_id, f" {otto.public_id.lower()} ")
    linked = [organizer.post(address, {"reason": "one desk", "other": other}).status_code for other in others]
    assert linked == [400, 400, 303]
    shows(organizer.get(f"/organizer/taskers/{tara.public_id}/"), otto.public_id)
    of_link = f"/organizer/links/{TaskerLink.objects.get().pk}/"
    assert [organizer.post(of_link, {"reason": each}).status_code for each in ("", "two persons")] == [400, 303]
    assert TaskerLink.objects.get().ended_because == "two persons"
    shows(organizer.get(of_link), "two persons")


RULE = {"name": "Slow", "collector": "fast_share", "window": "50", "minimum": "20", "comparison": ">"}
RULE |= {"threshold": "0.5", "action": "warn", "words": "Take your time."}


def test_rules_are_added_and_retired(organizer: Client, olga: User) -> None:
    assert organizer.post("/organizer/watching/", RULE).status_code == 303
    rule = MonitoringRule.objects.get(name="Slow")
    assert (rule.threshold, rule.created_by) == (0.5, olga)
    when = 'above 0.5 <span class="muted">over the latest 50 answers, once there are 20</span>'
    one = '<span class="muted">over the latest 500 gold answers, once there is 1</span>'
    shows(organizer.get("/organizer/watching/"), when, one, '<option value="&gt;">above</option>')
    retired = [organizer.post("/organizer/watching/", {"retire": str(rule.pk)}).status_code for _ in range(2)]
    assert retired == [303, 409] and kept(rule, "retired_at")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": ""}, "no name"),
        ({"collector": "mood"}, "no such collector"),
        ({"window": "0"}, "an empty window"),
        ({"window": "9" * 30}, "beyond all answers"),
        ({"minimum": "51"}, "more than the window"),
        ({"threshold": "nan"}, "no number"),
        ({"threshold": "lots"}, "no number either"),
        ({"comparison": "=="}, "no comparison of ours"),
        ({"action": "fire"}, "no action of ours"),
        ({"words": " "}, "the tasker would read nothing"),
    ],
)
def test_a_rule_that_cannot_be(change: dict[str, str], why: str, organizer: Client) -> None:
    assert organizer.post("/organizer/watching/", RULE | change).status_code == 400, why
    assert not MonitoringRule.objects.exclude(created_by=None).exists()


@pytest.mark.parametrize(
    ("query", "words"),
    [("from=0001-01-01&to=x", "Write a day such as"), ("from=2026-02-01&to=2026-01-01", "from the first one on")],
)
def test_any_period_is_answered(query: str, words: str, organizer: Client, settled: Panel) -> None:
    shows(organizer.get(f"/organizer/watching/?{query}"), words)


def test_a_settled_picture_is_made_gold(settled: Panel, organizer: Client, olga: User) -> None:
    shows(organizer.get("/organizer/gold/candidates/?origin=dataset"), settled.image.public_id)
    shows(organizer.get("/organizer/gold/candidates/?origin=gold"), "No settled picture of this origin is free.")
    address = f"/organizer/gold/new/{settled.image.public_id}/"
    shows(organizer.get(address), "This picture is published", 'value="definitely_yes" id="accepts_bird_0" checked')
    preview = {"action": "preview", "outline": "[[[1,1],[50,1],[50,50]]]"}
    shows(organizer.post(address, CLEAR_BIRD | preview), "M1,1 L50,1 L50,50 Z")
    wrong = ("This is no JSON", "Choose at least one of the four answers.")
    shows(organizer.post(address, CLEAR_BIRD | {"outline": "[[", "accepts_bird": []}), *wrong, status=400)
    assert not KnownPicture.objects.exists()
    Image.objects.update(origin="gold")
    assert "This picture is published" not in shows(organizer.get(address)), "nor is one of that origin ever"
    shows(organizer.post(address, CLEAR_BIRD, follow=True), settled.image.public_id)
    assert KnownPicture.objects.values_list("panel", "created_by").get() == (settled.pk, olga.pk)


def test_gold_is_held_let_go_and_retired_from_its_page(
    organizer: Client, tara: Tasker, rita: User, stan: User, signed_in: Any
) -> None:
    """By organizers alone."""
    known = factories.gold()
    gold_answer(tara, right=True, known=known)
    address = f"/organizer/gold/{known.public_id}/"
    others = [signed_in(who).post(address, {"action": "hold"}).status_code for who in (tara, rita, stan)]
    assert (others, KnownPicture.objects.get().held_at) == ([403, 403, 404], None)
    for form, status, held, retired in (
        ({"action": "hold"}, 303, True, False),
        ({"action": "let_go"}, 303, False, False),
        ({"action": "retire", "reason": ""}, 400, False, False),
        ({"action": "retire", "reason": "It leaked."}, 303, False, True),
        ({"action": "hold"}, 409, False, True),
        ({"action": "paint"}, 400, False, True),
    ):
        assert organizer.post(address, form).status_code == status
        assert tuple(map(bool, kept(known, "held_at", "retired_at"))) == (held, retired), form
    shows(organizer.get("/organizer/gold/"), "It leaked.")


def test_a_flagged_picture_says_why_it_is_held(organizer: Client) -> None:
    figures = {"late_right": 15, "late": 15, "early_right": 20, "early": 40, "chance_percent": 0.03, "bound_percent": 1}
    GoldFlag.objects.create(known=factories.gold(held_at=timezone.now()), figures=figures, flagged_at=timezone.now())
    page = " ".join(organizer.get("/organizer/gold/").content.decode().split())
    assert "15 of the latest 15 right, 20 of 40 before; chance 0.03 %. It may have leaked." in page
    assert "Let go" in page


@pytest.mark.parametrize(
    ("action", "words"),
    [(MonitoringAction.PAUSE, "Write to the organizers"), (MonitoringAction.REQUALIFY, "Go to the qualification")],
)
def test_a_paused_tasker_reads_why_and_what_to_do(
    action: MonitoringAction, words: str, tara: Tasker, olga: User, signed_in: Any, now: datetime
) -> None:
    known = factories.gold()
    gold_answer(tara, right=False, known=known)
    action_take(tasker=tara, action=action, reason="I cannot reach you.", by=olga, now=now)
    page = shows(signed_in(tara).get("/paused/"), "I cannot reach you.", words)
    assert not [each for each in ("gold", "olga", known.image.public_id, str(known.public_id)) if each in page.lower()]


@pytest.mark.parametrize("state", ["qualified", "learning"])
def test_who_is_not_paused_is_told_so(state: str, signed_in: Any) -> None:
    shows(signed_in(factories.tasker("nina", state=state)).get("/paused/"), "Your labeling is not paused")


def test_a_thousand_taskers_cost_no_more_statements(organizer: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(30):
        factories.tasker(f"tasker{number}")
    with django_assert_max_num_queries(25):  # two for each day of the week
        organizer.get("/organizer/taskers/")


def test_past_days_are_read_once_and_a_voiding_is_seen_at_once(
    tara: Tasker, now: datetime, django_assert_max_num_queries: Any
) -> None:
    factories.response(tara, factories.panel(), now=now - timedelta(days=3))
    asked: Any = {"taskers": Tasker.objects.all(), "today": now.date(), "zone": "UTC", "sort": "tasker"}
    assert [row.week.answers for row in tasker_rows(**asked)] == [1]
    with django_assert_max_num_queries(4):
        assert [row.week.answers for row in tasker_rows(**asked)] == [1]
    voiding.responses_void(tasker=tara, since=None, reason="careless", by=None, now=now)
    assert [(row.week.answers, row.week.voided, row.today.answers) for row in tasker_rows(**asked)] == [(1, 1, 0)]
