"""Questions: asked by a tasker, answered to one alone or to everybody, and seen by nobody else (R8)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, InvalidInput, NotFound
from labeling.asking import selectors
from labeling.asking.services import MOST_OPEN_QUESTIONS, question_answer, question_ask
from labeling.models import InstructionVersion, Notice, Question, Tasker
from labeling.selectors import instructions_in_force
from tests import factories
from tests.labeling.cast import refused, shows

pytestmark = pytest.mark.django_db
URL, ORGANIZERS_URL, API_URL = "/questions/", "/organizer/questions/", "/api/v1/questions/"


@pytest.fixture(autouse=True)
def policy(db: None) -> None:
    factories.policy_version()


def ask(tasker: Tasker, text: str, now: datetime = factories.NOW) -> Question:
    return question_ask(tasker=tasker, text=text, now=now)


def answer(
    question: Question, by: User, *, to_everybody: bool, requalify: bool = False, text: str = "Yes."
) -> Question:
    return question_answer(
        question_id=question.pk,
        answer=text,
        to_everybody=to_everybody,
        requalify=requalify,
        by=by,
        now=factories.NOW + timedelta(hours=1),
    )


# Asking.


@pytest.mark.parametrize("text", ["", "   ", "x" * 1001])
def test_a_question_has_some_words_and_not_too_many(text: str, tara: Tasker) -> None:
    with refused(InvalidInput, field="text"):
        ask(tara, text)
    assert not Question.objects.exists()


def test_the_same_question_sent_twice_is_one(tara: Tasker, otto: Tasker, olga: User) -> None:
    first = ask(tara, "Is a shadow a bird?")
    assert ask(tara, " Is a shadow a bird?\n").pk == first.pk
    assert ask(otto, "Is a shadow a bird?").pk != first.pk
    answer(first, olga, to_everybody=False)
    assert ask(tara, "Is a shadow a bird?").pk != first.pk, "answered, and asked again"


def test_too_many_open_questions_wait_for_an_answer(tara: Tasker, olga: User) -> None:
    asked = [ask(tara, f"Question {number}?") for number in range(MOST_OPEN_QUESTIONS)]
    with refused(Conflict, code="too_many_questions"):
        ask(tara, "One more?")
    answer(asked[0], olga, to_everybody=False)
    ask(tara, "One more?")


# Answering.


def test_an_answer_to_one_alone_is_told_to_them_alone(tara: Tasker, otto: Tasker, olga: User) -> None:
    Tasker.objects.filter(pk=tara.pk).update(language="xx")  # an unknown language is no obstacle
    question = answer(ask(tara, "May I take a break?"), olga, to_everybody=False, text=" Of course. ")
    assert (question.answer, question.answered_by, question.instructions) == ("Of course.", olga, None)
    notice = Notice.objects.get()
    assert (notice.tasker, notice.text) == (tara, "Your question “May I take a break?” is answered: Of course.")
    assert InstructionVersion.objects.count() == 1


@pytest.mark.parametrize("requalify", [False, True])
def test_an_answer_to_everybody_is_a_version_of_the_instructions(requalify: bool, tara: Tasker, olga: User) -> None:
    question = answer(ask(tara, "A shadow?"), olga, to_everybody=True, requalify=requalify, text="A shadow is no bird.")
    version = InstructionVersion.objects.get(version=2)
    assert question.instructions == version
    assert (version.clarification, version.requalify, version.published_by) == ("A shadow is no bird.", requalify, olga)
    assert "A shadow?" not in version.summary + version.clarification, "the question is not published"
    assert Notice.objects.get().tasker == tara


def test_a_clarification_does_not_come_before_what_is_announced(tara: Tasker, olga: User) -> None:
    later = factories.NOW + timedelta(days=3)
    InstructionVersion.objects.create(version=2, summary="announced", in_force_from=later)
    question = answer(ask(tara, "A shadow?"), olga, to_everybody=True)
    assert question.instructions is not None
    assert (question.instructions.version, question.instructions.in_force_from) == (3, later)


@pytest.mark.parametrize(
    ("values", "field"),
    [({"text": " "}, "answer"), ({"text": "x" * 4001}, "answer"), ({"requalify": True}, "requalify")],
    ids=["no answer", "too long", "a qualification of everybody for an answer to one"],
)
def test_an_answer_that_cannot_be_sent(values: dict[str, Any], field: str, tara: Tasker, olga: User) -> None:
    with refused(InvalidInput, field=field):
        answer(ask(tara, "A shadow?"), olga, to_everybody=False, **values)
    assert not Notice.objects.exists()


def test_an_answer_is_given_once(tara: Tasker, olga: User) -> None:
    question = ask(tara, "A shadow?")
    answer(question, olga, to_everybody=False, text="No.")
    with pytest.raises(Conflict) as refusal:
        answer(question, olga, to_everybody=True, text="Yes.")
    assert (refusal.value.code, InstructionVersion.objects.count()) == ("answered_already", 1)
    with pytest.raises(NotFound):
        answer(Question(pk=10**9), olga, to_everybody=False)


# The call of the API.


def post(client: Any, body: Any) -> Any:
    return client.post(API_URL, body, content_type="application/json")


def test_the_api_takes_a_question(tara: Tasker, otto: Tasker, signed_in: Any) -> None:
    ask(otto, "Somebody else's, which is not to be counted.")
    taken = post(signed_in(tara), {"text": "Is a shadow a bird?"})
    assert (taken.status_code, set(taken.json()), taken.json()["id"]) == (201, {"id", "asked_at"}, 1)
    assert Question.objects.get(tasker=tara).text == "Is a shadow a bird?"


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": "x" * 1001}, {"text": ["a"]}, [], {"text": None}])
def test_the_api_refuses_what_is_no_question(body: Any, tara: Tasker, signed_in: Any) -> None:
    refused = post(signed_in(tara), body)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert not Question.objects.exists()


@pytest.mark.parametrize(("who", "status"), [("olga", 403), ("rita", 403), ("stan", 403), ("", 401)])
def test_only_taskers_ask(who: str, status: int, request: pytest.FixtureRequest, signed_in: Any, client: Any) -> None:
    client = signed_in(request.getfixturevalue(who)) if who else client
    assert post(client, {"text": "Who are they?"}).status_code == status
    assert not Question.objects.exists()


# The tasker's page.


@pytest.mark.parametrize("state", ["learning", "qualified", "paused"])
def test_every_tasker_may_ask(state: str, signed_in: Any) -> None:
    client = signed_in(factories.tasker("nina", state=state))
    shows(client.get(URL), "Nothing yet. Your questions and their answers stay here.", "None so far.")
    assert client.post(URL, {"text": "<b>May</b> I?"})["Location"] == URL
    shows(client.get(URL), "&lt;b&gt;May&lt;/b&gt; I?", "waits for an answer")


def test_the_page_shows_own_questions_and_clarifications_alone(
    tara: Tasker, otto: Tasker, olga: User, signed_in: Any
) -> None:
    answer(ask(otto, "Ottos own words?"), olga, to_everybody=False, text="For Otto alone.")
    answer(ask(otto, "Ottos other words?"), olga, to_everybody=True, text="A shadow is no bird.")
    answer(ask(tara, "Taras words?"), olga, to_everybody=False, text="For Tara alone.")
    page = shows(
        signed_in(tara).get(URL),
        "Taras words?",
        "For Tara alone.",
        "A shadow is no bird.",
        "version 2 of the instructions",
    )
    for words in ("Ottos", "For Otto alone.", otto.public_id, "olga"):
        assert words not in page


def test_clarifications_are_newest_first_and_none_before_its_time(tara: Tasker, signed_in: Any) -> None:
    for version, days in ((2, -3), (3, -2), (4, +10_000)):
        begins = factories.NOW + timedelta(days=days)
        InstructionVersion.objects.create(
            version=version, summary="x", clarification=f"Clarification {version}.", in_force_from=begins
        )
    assert [each.version for each in selectors.clarifications(factories.NOW)] == [3, 2]
    assert "Clarification 4." not in signed_in(tara).get(URL).content.decode()


def test_what_is_wrong_with_a_question_is_said_and_the_words_are_kept(tara: Tasker, signed_in: Any) -> None:
    shows(signed_in(tara).post(URL, {"text": "Why? " * 300}), "Ask in 1 to 1000 characters.", "Why? Why?", status=400)


@pytest.mark.parametrize(("who", "status"), [("olga", 403), ("rita", 403), ("stan", 403), ("", 302)])
def test_the_page_is_for_taskers(
    who: str, status: int, request: pytest.FixtureRequest, signed_in: Any, client: Any
) -> None:
    client = signed_in(request.getfixturevalue(who)) if who else client
    assert client.get(URL).status_code == status
    assert client.post(URL, {"text": "Who?"}).status_code == status


# The organizers' page.


def test_before_everybody_qualifies_again_the_organizer_looks_it_over(
    tara: Tasker, otto: Tasker, nell: Tasker, olga: User, signed_in: Any
) -> None:
    """Two are qualified; who learns, and who has left, is asked nothing again. Nobody's name is shown."""
    Tasker.objects.filter(pk=factories.tasker("gone").pk).update(left_at=factories.NOW)
    client = signed_in(olga)
    shows(client.get(ORGANIZERS_URL), "No question waits.", "No answer yet.")
    question = ask(tara, "A shadow?")
    page = client.get(ORGANIZERS_URL).content.decode()
    assert tara.public_id in page and "A shadow?" in page and "tara" not in page
    posted = {"question": str(question.pk), "answer": "No <bird>.", "to": "everybody", "requalify": "yes"}
    words = " ".join(client.post(ORGANIZERS_URL, posted).content.decode().split())
    assert "<strong>2</strong> qualified taskers get no more pictures before each has passed" in words
    assert "A shadow?" in words and "No &lt;bird&gt;." in words
    changed = client.post(ORGANIZERS_URL, posted | {"step": "change"})
    assert (changed.status_code, InstructionVersion.objects.count()) == (200, 1)
    assert "No &lt;bird&gt;.</textarea>" in changed.content.decode()
    assert client.post(ORGANIZERS_URL, posted | {"step": "send"})["Location"] == ORGANIZERS_URL
    version = InstructionVersion.objects.get(version=2)
    assert version.requalify and instructions_in_force(version.in_force_from).version == 2
    page = shows(client.get(ORGANIZERS_URL), "is published as version 2 of the instructions")
    assert page.index('id="answered"') < page.index("No &lt;bird&gt;.")
    late = client.post(ORGANIZERS_URL, posted)
    assert late.status_code == 400 and "answered already" in late.content.decode()


@pytest.mark.parametrize(
    ("posted", "words"),
    [
        ({"answer": "Dear tasker"}, "Choose who reads the answer."),
        ({"answer": "Dear tasker", "to": "nobody"}, "Choose who reads the answer."),
        ({"answer": "", "to": "asker"}, "Write the answer"),
        ({"answer": "Dear tasker", "to": "asker", "requalify": "yes"}, "goes with a clarification for everybody"),
    ],
    ids=["nobody chosen", "somebody unknown", "no answer", "a qualification of everybody for one"],
)
def test_what_is_wrong_with_an_answer_is_said_and_the_words_are_kept(
    posted: dict[str, str], words: str, tara: Tasker, olga: User, signed_in: Any
) -> None:
    shows(
        signed_in(olga).post(ORGANIZERS_URL, {"question": str(ask(tara, "A shadow?").pk)} | posted),
        words,
        posted["answer"],
        status=400,
    )
    assert Question.objects.get().answered_at is None


@pytest.mark.parametrize("number", ["", "x", "-1", "9" * 30, "123456789"])
def test_a_question_that_is_not_there(number: str, olga: User, signed_in: Any) -> None:
    posted = {"question": number, "answer": "No.", "to": "everybody"}
    for more in ({}, {"requalify": "yes"}, {"requalify": "yes", "step": "send"}):
        assert signed_in(olga).post(ORGANIZERS_URL, posted | more).status_code == 404


@pytest.mark.parametrize(("who", "status"), [("tara", 403), ("rita", 403), ("stan", 404), ("", 302)])
def test_nobody_but_an_organizer_answers(
    who: str, status: int, request: pytest.FixtureRequest, signed_in: Any, client: Any
) -> None:
    client = signed_in(request.getfixturevalue(who)) if who else client
    assert client.get(ORGANIZERS_URL).status_code == status
    assert client.post(ORGANIZERS_URL, {"question": "1", "answer": "No.", "to": "asker"}).status_code == status
