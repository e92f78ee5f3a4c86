"""The pages of learning, for each who may open them and for everybody else."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from labeling.enums import KnownUse, TaskerState, Topic
from labeling.models import InstructionVersion, LessonSeen, QualificationAttempt, Tasker
from labeling.states import tasker_state_change
from tests import factories
from tests.labeling.cast import kept, shows
from tests.labeling.learning.cast import RIGHT, UNSURE, begin, known, lessons, pool, ready, take
from tests.tables import cases

pytestmark = pytest.mark.django_db
SignIn = Callable[[User | Tasker], Client]


@pytest.fixture(autouse=True)
def something_to_learn(db: None) -> None:
    lessons(2)


def test_a_qualified_and_a_paused_tasker_may_read_again(signed_in: SignIn, tara: Tasker, otto: Tasker) -> None:
    tasker_state_change(tasker=otto, after=TaskerState.PAUSED, code="paused", reason="slow down", now=timezone.now())
    for who, words in ((tara, "You are qualified"), (otto, "Your labeling is paused")):
        assert [signed_in(who).get(page).status_code for page in ("/learn/", "/learn/2/")] == [200, 200]
        shows(signed_in(who).get("/qualification/"), words)


# Worked examples.


def test_the_tutorial_asks_then_tells_then_goes_on(signed_in: SignIn, nell: Tasker) -> None:
    client = signed_in(nell)
    for unknown in ({}, {"answer": "<b>"}):
        asked = shows(client.get("/learn/1/", unknown), "What is in this picture?")
        assert "<path" not in asked and "Example 1" not in asked
    told = ("Not quite", "A bird", "Example 1", "All of it is there.", "<path")
    shows(client.get("/learn/1/", {"answer": "bicycle"}), *told)
    assert "Not quite" not in shows(client.get("/learn/1/", {"answer": "bird"}))
    assert not LessonSeen.objects.exists()
    assert [client.post(f"/learn/{number}/")["Location"] for number in (1, 2)] == ["/learn/2/", "/learn/"]
    assert LessonSeen.objects.count() == 2
    shows(client.get("/learn/"), "To the qualification")


@pytest.mark.parametrize("number", [0, 3, 99])
def test_there_is_no_such_example(number: int, signed_in: SignIn, nell: Tasker) -> None:
    assert signed_in(nell).get(f"/learn/{number}/").status_code == 404


@cases(
    "values right reason",
    (
        {"topic": Topic.UNCERTAIN, "accepts_bird": ["unsure_yes", "unsure_no"], "outline": ""},
        "unsure_no",
        "both unsure",
    ),
    ({"topic": Topic.BOTH_CLASSES, "accepts_bicycle": ["definitely_yes"], "outline": ""}, "both", "both are there"),
    ({"topic": Topic.NEITHER_CLASS, "accepts_bird": ["definitely_no"], "outline": ""}, "neither", "neither is there"),
    ({"topic": Topic.TOO_SMALL}, "yes", "the box covers 45 %"),
    ({"topic": Topic.TOO_SMALL, "outline": "[[[0,0],[149,0],[149,149]]]"}, "no", "the box covers 24.8 %"),
    (
        {"topic": Topic.TOO_SMALL, "outline": "[[[0,0],[149.5,0],[149.5,149.5]]]"},
        "yes",
        "a quarter exactly is enough (R14)",
    ),
    ({"topic": Topic.TRUNCATED, "complete": False}, "no", "cut off"),
    ({"topic": Topic.OCCLUDED}, "yes", "free"),
    ({"topic": Topic.PAINTING, "real": False}, "no", "a painting"),
    ({"topic": Topic.TOY, "real": False}, "no", "a toy"),
    ({"topic": Topic.SEVERAL}, "one", "one outline"),
)
def test_each_topic_turns_on_its_question(
    values: dict[str, Any], right: str, reason: str, signed_in: SignIn, nell: Tasker
) -> None:
    stated = {} if values.get("outline", "x") else dict.fromkeys(("complete", "unoccluded", "real"))
    known(KnownUse.TUTORIAL, position=3, **(values | stated))
    shows(signed_in(nell).get("/learn/3/", {"answer": right}), '<p class="state state-valid">Right</p>')


def test_the_other_side_of_a_rule_is_shown_beside(signed_in: SignIn, nell: Tasker) -> None:
    """In the reader's language."""
    for position, real in ((3, True), (4, False)):
        titles = {language: {"title": f"{number} {position}"} for language, number in (("en", "No."), ("de", "Nr."))}
        known(KnownUse.TUTORIAL, position=position, topic=Topic.TOY, real=real, reasons=titles)
    client = signed_in(nell)
    shows(client.get("/learn/4/", {"answer": "no"}), "To compare: No. 3")
    assert "To compare" not in shows(client.get("/learn/3/", {"answer": "yes"}))
    Tasker.objects.update(language="de")
    assert "No. 3" not in shows(client.get("/learn/3/", {"answer": "show"}), "Nr. 3")


# Tries.


def test_a_try_begins_with_a_post(signed_in: SignIn, nell: Tasker) -> None:
    """Home leads newcomers to what is next."""
    pool(10)
    client = signed_in(nell)
    shows(client.get("/"), 'href="/learn/"')
    ready(nell)
    shows(client.get("/"), 'href="/qualification/"')
    shows(client.get("/qualification/"), "8 of them fully right")
    assert client.get("/qualification/picture/")["Location"] == "/qualification/"
    assert not QualificationAttempt.objects.exists()
    shows(client.post("/qualification/", follow=True), "picture 1 of 10")
    shows(client.get("/qualification/"), "Try 1 is not finished: 0 of 10")


def test_who_may_not_begin_is_told_why(signed_in: SignIn, nell: Tasker) -> None:
    client = signed_in(nell)
    shows(client.post("/qualification/", follow=True), "The worked examples come first")
    pool(5)
    ready(nell)
    page = shows(client.post("/qualification/", follow=True))
    assert page.count("You have seen every picture of the qualification") == 2
    assert not QualificationAttempt.objects.exists()


def test_waiting_is_told_in_the_tasker_s_own_time_zone(signed_in: SignIn, nell: Tasker) -> None:
    pool(40)
    Tasker.objects.filter(pk=nell.pk).update(time_zone="Asia/Tokyo")
    ready(nell)
    start = timezone.now().replace(hour=20, minute=0, second=0, microsecond=0) - timedelta(days=1)
    for number in range(3):
        take(nell, start, right=0, seed=number)
    QualificationAttempt.objects.update(finished_at=timezone.now().replace(hour=20, minute=15))
    assert "Begin the next try" not in shows(signed_in(nell).get("/qualification/"), "05:15 JST.")


def test_a_try_is_answered_without_a_script(signed_in: SignIn, nell: Tasker, tara: Tasker) -> None:
    """The marks are the tasker's own, and there only after the answer."""
    pool(10)
    client = signed_in(ready(nell))
    item = begin(nell, timezone.now()).items.order_by("position")[0]
    page, of_marks = "/qualification/picture/", f"/qualification/marks/{item.public_id}/"
    form = {"assignment": str(item.public_id), "lease_token": item.public_id.hex, "shown": "0"}
    form |= {"contains_bird": "definitely_yes", "contains_bicycle": "definitely_no", "complete": "true"}
    shows(client.post(page, form), "Everything you filled in is kept", status=400)
    assert client.get(of_marks).status_code == 404
    form |= {"outline": "50,50\n250,50\n250,250\n50,250", "unoccluded": "true", "real": "false"}
    told = ("Not fully right", "overlap by 100 %", "All of it is there.")
    marks = shows(client.post(page, form, follow=True), *told)
    assert marks.count('<span class="state state-rejected">wrong</span>') == 1
    assert signed_in(tara).get(of_marks).status_code == 404
    shows(client.post(page, form | {"real": "true"}, follow=True))
    assert kept(item, "answers")["real"] is False


def test_the_outcome_leads_to_the_examples_about_what_went_wrong(signed_in: SignIn, nell: Tasker) -> None:
    pool(10)
    wrong = take(ready(nell), timezone.now(), right=7).items.filter(right=False)[0].known.topic
    known(KnownUse.TUTORIAL, position=8, topic=wrong, reasons={"en": {"title": "Look again here"}})
    shows(
        signed_in(nell).get("/qualification/tries/1/"), "Not passed", "7 of 10 pictures fully right", "Look again here"
    )
    assert signed_in(nell).get("/qualification/tries/2/").status_code == 404


def test_who_passed_goes_on_to_the_pictures(signed_in: SignIn, nell: Tasker) -> None:
    factories.panel()
    pool(10)
    take(ready(nell), timezone.now(), right=9)
    client = signed_in(nell)
    shows(client.get("/qualification/tries/1/"), 'href="/label/"')
    shows(client.get("/label/"))


# The API.


def call(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/v1/qualification/{path}", body, content_type="application/json")


def test_the_api_has_the_shape_of_labeling(signed_in: SignIn, nell: Tasker) -> None:
    pool(10)
    client = signed_in(ready(nell))
    assert call(client, "next/").status_code == 204
    begin(nell, timezone.now())
    first = call(client, "next/").json()
    assert set(first) == {
        *["id", "lease_token", "expires_at", "form", "image", "tie_break", "outline_gate", "instructions"]
    }
    assert call(client, "next/", holding=[first["id"]]).status_code == 204
    token, of_first = {"lease_token": first["lease_token"]}, f"{first['id']}/response/"
    assert set(call(client, f"{first['id']}/heartbeat/", **token).json()) == {"expires_at"}
    assert call(client, f"{first['id']}/release/", **token).json()["code"] == "not_in_qualification"
    wrong = call(client, of_first, contains_bird="perhaps", colour="red")
    assert (wrong.status_code, set(wrong.json()["fields"])) == (400, {"contains_bird", "contains_bicycle", "colour"})
    sent = call(client, of_first, **token, **RIGHT, seconds=3)
    told = (sent.status_code, sent.json()["go"], sent.json()["counted"])
    assert told == (201, f"/qualification/marks/{first['id']}/", True)
    again = call(client, of_first, **token, **RIGHT)
    assert (again.status_code, again.json()) == (200, sent.json())
    other = call(client, of_first, **token, **UNSURE)
    assert (other.status_code, other.json()["code"]) == (409, "already_answered")
    assert call(client, "next/").json()["id"] != first["id"]


@pytest.mark.parametrize("name", ["heartbeat/", "release/", "response/"])
def test_nobody_gets_at_the_pictures_of_somebody_else(name: str, signed_in: SignIn, nell: Tasker, tara: Tasker) -> None:
    pool(10)
    item = begin(ready(nell), timezone.now()).items.order_by("position")[0]
    assert call(signed_in(tara), f"{item.public_id}/{name}", **RIGHT).status_code == 404


# The organizers.


def test_organizers_see_how_learning_goes(signed_in: SignIn, nell: Tasker, olga: User) -> None:
    pool(10)
    take(ready(nell), timezone.now(), right=4)
    shows(
        signed_in(olga).get("/organizer/learning/"),
        "The pool needs pictures",
        nell.public_id,
        "4 of 10",
        "100 %",
        "0 %",
    )


def test_a_version_is_published_after_a_look(
    signed_in: SignIn, olga: User, rita: User, tara: Tasker, otto: Tasker
) -> None:
    """By organizers alone."""
    client, page = signed_in(olga), "/organizer/learning/"
    form = {"summary": "Wheels count.", "clarification": "All of them.", "requalify": "yes", "in_force_from": ""}
    assert [signed_in(who).post(page, form | {"step": "publish"}).status_code for who in (tara, rita)] == [403, 403]
    shows(client.post(page, form), "asked of 2 qualified taskers")
    shows(client.post(page, form | {"step": "change"}), "Wheels count.")
    assert InstructionVersion.objects.count() == 1
    assert client.post(page, form | {"step": "publish"}).status_code == 303
    version = InstructionVersion.objects.values_list("summary", "requalify", "published_by").get(version=2)
    assert version == ("Wheels count.", True, olga.pk)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"summary": ""}, "Say in a sentence what changed."),
        ({"in_force_from": "2020-01-01T00:00"}, "A version cannot begin in the past."),
        ({"in_force_from": "soon"}, "Write the time as"),
    ],
)
@pytest.mark.parametrize("step", ["", "publish"])
def test_a_wrong_version_is_refused_with_everything_kept(
    values: dict[str, str], words: str, step: str, signed_in: SignIn, olga: User
) -> None:
    form = {"summary": "Wheels count.", "clarification": "All of them.", "in_force_from": "", "step": step} | values
    shows(signed_in(olga).post("/organizer/learning/", form), words, "All of them.", status=400)
