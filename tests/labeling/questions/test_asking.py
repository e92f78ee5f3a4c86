"""Questions of taskers and reports of pictures: what an organizer answers or decides, and who is told (R8)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, InvalidInput, NotFound
from labeling import leases
from labeling.enums import AssignmentState, PanelState, ReportDecision, ReportKind
from labeling.models import Assignment, Image, InstructionVersion, KnownPicture, Notice, Panel, Question, Report, Tasker
from labeling.questions import selectors
from labeling.questions.services import (
    MAX_OPEN_QUESTIONS,
    question_answer,
    question_send,
    report_create,
    report_decide,
)
from labeling.selectors import claimable_panels, instructions_in_force
from tests import factories
from tests.labeling.cast import claim, gets_nothing, kept, lease, own, refused, shows, submit

pytestmark = pytest.mark.django_db


URL, ORGANIZERS_URL, API_URL = "/questions/", "/organizer/questions/", "/api/v1/questions/"


def ask(tasker: Tasker, text: str, now: datetime = factories.NOW) -> Question:
    return question_send(tasker=tasker, text=text, now=now)


def answer(question: Question, by: User, *, text: str = "Yes.", **values: Any) -> Question:
    said = {"to_everybody": False, "requalify": False, "now": factories.NOW + timedelta(hours=1)} | values
    return question_answer(question_id=question.pk, answer=text, by=by, **said)


@pytest.mark.parametrize("text", ["", "   ", "x" * 1001])
def test_a_question_has_some_words_and_not_too_many(text: str, tara: Tasker) -> None:
    assert (refused(InvalidInput, ask, tara, text).field, Question.objects.count()) == ("text", 0)


def test_the_same_question_sent_twice_is_one(tara: Tasker, otto: Tasker, olga: User) -> None:
    first = ask(tara, "Is a shadow a bird?")
    assert ask(tara, " Is a shadow a bird?\n") == first != ask(otto, "Is a shadow a bird?")
    answer(first, olga)
    assert ask(tara, "Is a shadow a bird?") != first, "answered, and asked again"


def test_too_many_open_questions_wait_for_an_answer(tara: Tasker, olga: User) -> None:
    asked = [ask(tara, f"Question {number}?") for number in range(MAX_OPEN_QUESTIONS)]
    assert refused(Conflict, ask, tara, "One more?").code == "too_many_questions"
    answer(asked[0], olga)
    ask(tara, "One more?")


def test_an_answer_to_one_alone_is_told_to_them_alone(tara: Tasker, otto: Tasker, olga: User) -> None:
    Tasker.objects.filter(pk=tara.pk).update(language="xx")  # an unknown language is no obstacle
    question = answer(ask(tara, "May I take a break?"), olga, text=" Of course. ")
    assert (question.answer, question.answered_by, question.instructions) == ("Of course.", olga, None)
    words = "Your question “May I take a break?” is answered: Of course."
    assert Notice.objects.values_list("tasker", "text").get() == (tara.pk, words)
    assert InstructionVersion.objects.count() == 1


@pytest.mark.parametrize("requalify", [False, True])
def test_an_answer_to_everybody_is_a_version_of_the_instructions(requalify: bool, tara: Tasker, olga: User) -> None:
    question = answer(ask(tara, "A shadow?"), olga, to_everybody=True, requalify=requalify, text="A shadow is no bird.")
    assert (version := InstructionVersion.objects.get(version=2)) == question.instructions
    assert (version.clarification, version.requalify, version.published_by) == ("A shadow is no bird.", requalify, olga)
    assert "A shadow?" not in version.summary + version.clarification, "the question is not published"
    assert Notice.objects.get().tasker == tara


def test_a_clarification_does_not_come_before_what_is_announced(tara: Tasker, olga: User) -> None:
    later = factories.NOW + timedelta(days=3)
    InstructionVersion.objects.create(version=2, summary="announced", in_force_from=later)
    version = answer(ask(tara, "A shadow?"), olga, to_everybody=True).instructions
    assert version and (version.version, version.in_force_from) == (3, later)


@pytest.mark.parametrize(
    ("values", "field"),
    [({"text": " "}, "answer"), ({"text": "x" * 4001}, "answer"), ({"requalify": True}, "requalify")],
    ids=["no answer", "too long", "a qualification of everybody for an answer to one"],
)
def test_an_answer_that_cannot_be_sent(values: dict[str, Any], field: str, tara: Tasker, olga: User) -> None:
    assert refused(InvalidInput, answer, ask(tara, "A shadow?"), olga, **values).field == field
    assert not Notice.objects.exists()


def test_an_answer_is_given_once(tara: Tasker, olga: User) -> None:
    question = answer(ask(tara, "A shadow?"), olga, text="No.")
    assert refused(Conflict, answer, question, olga, to_everybody=True).code == "answered_already"
    refused(NotFound, answer, Question(pk=10**9), olga, to_everybody=True)
    assert InstructionVersion.objects.count() == 1


def post(client: Any, body: Any) -> Any:
    return client.post(API_URL, body, content_type="application/json")


def test_the_api_takes_a_question(tara: Tasker, otto: Tasker, signed_in: Any) -> None:
    ask(otto, "Somebody else's, which is not to be counted.")
    taken = post(signed_in(tara), {"text": "Is a shadow a bird?"})
    assert (taken.status_code, set(taken.json()), taken.json()["id"]) == (201, {"id", "asked_at"}, 1)
    assert Question.objects.get(tasker=tara).text == "Is a shadow a bird?"


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": "x" * 1001}, {"text": ["a"]}, [], {"text": None}])
def test_the_api_refuses_what_is_no_question(body: Any, tara: Tasker, signed_in: Any) -> None:
    answer = post(signed_in(tara), body)
    assert (answer.status_code, answer.json()["code"], Question.objects.count()) == (400, "invalid", 0)


@pytest.mark.parametrize("state", ["learning", "qualified", "paused"])
def test_every_tasker_may_ask(state: str, signed_in: Any) -> None:
    client = signed_in(factories.tasker("nina", state=state))
    shows(client.get(URL), "Nothing yet. Your questions and their answers stay here.", "None so far.")
    assert client.post(URL, {"text": "<b>May</b> I?"})["Location"] == URL
    shows(client.get(URL), "&lt;b&gt;May&lt;/b&gt; I?", "waits for an answer")


def test_the_page_shows_own_questions_and_clarifications_alone(
    tara: Tasker, otto: Tasker, olga: User, signed_in: Any
) -> None:
    answer(ask(otto, "Ottos own words?"), olga, text="For Otto alone.")
    answer(ask(otto, "Ottos other words?"), olga, to_everybody=True, text="A shadow is no bird.")
    answer(ask(tara, "Taras words?"), olga, text="For Tara alone.")
    page = shows(
        signed_in(tara).get(URL),
        "Taras words?",
        "For Tara alone.",
        "A shadow is no bird.",
        "version 2 of the instructions",
    )
    assert [each for each in ("Ottos", "For Otto alone.", otto.public_id, "olga") if each in page] == []


def test_clarifications_are_newest_first_and_none_before_its_time(tara: Tasker, signed_in: Any) -> None:
    for version, days in ((2, -3), (3, -2), (4, +10_000)):
        InstructionVersion.objects.create(
            version=version,
            summary="x",
            clarification=f"Clarification {version}.",
            in_force_from=factories.NOW + timedelta(days=days),
        )
    assert [each.version for each in selectors.clarifications(factories.NOW)] == [3, 2]
    assert "Clarification 4." not in signed_in(tara).get(URL).content.decode()


def test_what_is_wrong_with_a_question_is_said_and_the_words_are_kept(tara: Tasker, signed_in: Any) -> None:
    shows(signed_in(tara).post(URL, {"text": "Why? " * 300}), "Ask in 1 to 1000 characters.", "Why? Why?", status=400)


def test_before_everybody_qualifies_again_the_organizer_looks_it_over(
    tara: Tasker, otto: Tasker, nell: Tasker, olga: User, signed_in: Any
) -> None:
    """Two are qualified; who learns, and who has left, is asked nothing again. Nobody's name is shown."""
    Tasker.objects.filter(pk=factories.tasker("gone").pk).update(left_at=factories.NOW)
    client = signed_in(olga)
    shows(client.get(ORGANIZERS_URL), "No question waits.", "No answer yet.")
    question = ask(tara, "A shadow?")
    assert "tara" not in shows(client.get(ORGANIZERS_URL), tara.public_id, "A shadow?")
    posted = {"question": str(question.pk), "answer": "No <bird>.", "to": "everybody", "requalify": "yes"}
    words = " ".join(client.post(ORGANIZERS_URL, posted).content.decode().split())
    assert "<strong>2</strong> qualified taskers get no more pictures before each has passed" in words
    assert "A shadow?" in words and "No &lt;bird&gt;." in words
    shows(client.post(ORGANIZERS_URL, posted | {"step": "change"}), "No &lt;bird&gt;.</textarea>")
    assert InstructionVersion.objects.count() == 1
    assert client.post(ORGANIZERS_URL, posted | {"step": "send"})["Location"] == ORGANIZERS_URL
    version = InstructionVersion.objects.get(version=2)
    assert version.requalify and instructions_in_force(version.in_force_from).version == 2
    page = shows(client.get(ORGANIZERS_URL), "is published as version 2 of the instructions")
    assert page.index('id="answered"') < page.index("No &lt;bird&gt;.")
    shows(client.post(ORGANIZERS_URL, posted), "answered already", status=409)


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


def report(held: Assignment, now: datetime, kind: ReportKind = ReportKind.OTHER, words: str = "It is grey.") -> Report:
    return report_create(**own(held), kind=kind, words=words, now=now)


def decide(image: Image, by: User, decision: str = "reopened", reply: str = "") -> None:
    report_decide(image=image, decision=ReportDecision(decision), reply=reply, by=by, now=factories.NOW)


def asked_about(known: KnownPicture, tasker: Tasker) -> Assignment:
    """A lease on a gold picture."""
    return factories.assignment(tasker, known.panel, state=AssignmentState.LEASED, known=known)


def test_a_report_gives_the_place_back_and_holds_the_picture(tara: Tasker, otto: Tasker, now: datetime) -> None:
    panel, held = factories.panel(), claim(tara, now)
    made = report(held, now, ReportKind.DOES_NOT_LOAD, " The lower half is grey.\x00 ")
    assert kept(panel, "state", "leased", "answered") == (PanelState.HELD, 0, 0)
    assert kept(held, "state", "problem") == (AssignmentState.RELEASED, "The lower half is grey.")
    said = ("does_not_load", "The lower half is grey.", panel.image, tara)
    assert (made.kind, made.words, made.image, made.tasker) == said
    assert gets_nothing(otto, now), "nobody new is asked about a held picture"


def test_who_holds_a_lease_on_a_held_picture_may_finish(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    panel, (first, *others) = factories.panel(), [claim(tasker, now) for tasker in (tara, otto, uma)]
    report(first, now)
    assert all(submit(each, now).response.place_id for each in others)
    assert kept(panel, "state", "answered", "leased") == (PanelState.HELD, 2, 0)


def test_a_lapsed_picture_is_reported_and_the_first_report_is_kept(tara: Tasker, now: datetime) -> None:
    panel, held, later = factories.panel(), claim(tara, now), now + timedelta(hours=1)
    leases.leases_lapse(now=later)
    first = report(held, later, ReportKind.OFFENSIVE, "once")
    assert report(held, later + timedelta(minutes=1), ReportKind.OTHER, "twice") == first == Report.objects.get()
    assert (kept(panel, "state", "leased"), kept(first, "words")) == ((PanelState.HELD, 0), "once")


def test_an_answered_picture_cannot_be_reported(tara: Tasker, now: datetime) -> None:
    held = lease(tara, now)
    submit(held, now)
    assert (refused(Conflict, report, held, now).code, Report.objects.count()) == ("already_answered", 0)


@pytest.mark.parametrize("state", [PanelState.FULL, PanelState.SETTLED])
def test_a_report_that_comes_when_every_answer_is_in_changes_no_panel(
    state: PanelState, tara: Tasker, olga: User, now: datetime
) -> None:
    panel, late = factories.panel(), claim(tara, now)
    leases.leases_lapse(now=now + timedelta(hours=1))
    factories.settle(panel)
    Panel.objects.update(state=state)
    report(late, now + timedelta(hours=2))
    assert (kept(panel, "state"), selectors.reported_pictures()[0].full) == (state, True)
    decide(panel.image, olga)
    assert kept(panel, "state") == state


def test_a_gold_picture_is_held_by_itself_and_its_panel_stays_settled(tara: Tasker, now: datetime) -> None:
    known = factories.gold()
    report(asked_about(known, tara), now)
    assert (kept(known, "held_at"), kept(known.panel, "state", "leased")) == (now, (PanelState.SETTLED, 0))


def test_reporting_gold_and_reporting_any_other_answer_alike(tara: Tasker, signed_in: Any, now: datetime) -> None:
    factories.panel()
    ordinary, gold = claim(tara, now), factories.gold()
    Assignment.objects.update(slot=2)
    answers = [release(signed_in(tara), held, kind="unclear") for held in (ordinary, asked_about(gold, tara))]
    assert ([each.status_code for each in answers], Report.objects.count()) == ([204, 204], 2)
    assert set(answers[0].headers) == set(answers[1].headers)


def release(client: Any, held: Assignment, **body: Any) -> Any:
    return client.post(
        f"/api/v1/assignments/{held.public_id}/release/",
        {"lease_token": held.lease_token} | body,
        content_type="application/json",
    )


@pytest.mark.parametrize(
    ("body", "reports", "problem"),
    [
        ({"kind": "offensive"}, [("offensive", "")], "It is offensive or disturbing"),
        ({"kind": "unclear", "problem": "A bird?"}, [("unclear", "A bird?")], "A bird?"),
        ({"problem": "It is grey."}, [("other", "It is grey.")], "It is grey."),
        ({}, [], ""),
    ],
    ids=["a kind", "a kind and words", "words alone are of another kind", "given back without a word: no report"],
)
def test_the_api_takes_a_report(
    body: dict[str, str], reports: list[tuple[str, str]], problem: str, tara: Tasker, signed_in: Any, now: datetime
) -> None:
    assert release(signed_in(tara), held := lease(tara, now), **body).status_code == 204
    assert (list(Report.objects.values_list("kind", "words")), kept(held, "problem")) == (reports, problem)
    assert Panel.objects.get().state == (PanelState.HELD if reports else PanelState.OPEN)


@pytest.mark.parametrize("kind", ["boring", 7, None, ["offensive"]])
def test_the_api_refuses_a_kind_it_does_not_know(kind: object, tara: Tasker, signed_in: Any, now: datetime) -> None:
    answer = release(signed_in(tara), lease(tara, now), kind=kind)
    assert (answer.status_code, Report.objects.count()) == (400, 0)
    assert "does_not_load, offensive, unclear, other" in answer.json()["fields"]["kind"][0]


@pytest.mark.both("locks; marks in JSON")
def test_a_reopened_picture_is_dealt_again_with_the_waiting_time_it_had(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    for _ in range(2):
        factories.panel(dealt_at=now - timedelta(hours=5))
    panel = report(claim(tara, now), now).assignment.panel
    # Otto has been told to begin after the held picture.
    Tasker.objects.filter(pk=otto.pk).update(passed={"3": (now - timedelta(hours=1)).isoformat()}, passed_at=now)
    decide(panel.image, olga)
    assert kept(panel, "state", "waiting_since") == (PanelState.OPEN, now - timedelta(hours=5))
    assert panel.pk in {panel_id for panel_id, _ in claimable_panels(Tasker.objects.get(pk=otto.pk)).panels}
    assert claim(tara, now).panel_id != panel.pk, "who reported it never gets it again"


def test_a_picture_kept_out_with_a_reason_is_never_dealt_and_decided_once(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    panel = report(lease(tara, now), now).assignment.panel
    without_reason = refused(InvalidInput, decide, panel.image, olga, "kept_out", "  ")
    assert (without_reason.field, selectors.pictures_waiting()) == ("reply", 1)
    decide(panel.image, olga, "kept_out", "It shows a wound.")
    assert (refused(Conflict, decide, panel.image, olga).code, Notice.objects.count()) == ("decided_already", 1)
    assert (kept(panel, "state"), gets_nothing(otto, now)) == (PanelState.HELD, True)


def test_answers_about_a_picture_that_is_kept_out_do_not_count(
    tara: Tasker, otto: Tasker, uma: Tasker, olga: User, now: datetime
) -> None:
    """No ruling comes of them (R19): the first reported it, another's lease lapsed, and the third has a lease."""
    panel, later = factories.panel(), now + timedelta(hours=1)
    asked = [claim(tasker, now) for tasker in (tara, otto)]
    leases.leases_lapse(now=later)
    asked.append(claim(uma, later))
    report(asked[0], later)
    decide(panel.image, olga, "kept_out", "It shows a wound.")
    assert [submit(each, later).counted for each in asked] == [False] * 3
    assert kept(panel, "state", "answered", "leased") == (PanelState.HELD, 0, 0)


def test_a_picture_that_was_kept_out_is_not_given_back_by_a_later_decision(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    """A case may have closed with the ruling that held, and a week be settled (R19, R22)."""
    panel, asked = factories.panel(), [claim(tasker, now) for tasker in (tara, otto)]
    for each in asked:
        report(each, now)
        if each is asked[0]:
            decide(panel.image, olga, "kept_out", "It shows a wound.")
    assert refused(Conflict, decide, panel.image, olga).code == "kept_out"
    decide(panel.image, olga, "kept_out", "It still does.")
    assert kept(panel, "state") == PanelState.HELD


EARLIER = factories.NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    ("before", "decision", "held", "retired"),
    [
        (None, "reopened", None, None),
        (None, "kept_out", factories.NOW, factories.NOW),
        (EARLIER, "reopened", EARLIER, None),
    ],
    ids=[
        "given back: it is dealt as gold again",
        "kept out: it is retired",
        "held before, as it may have leaked: that is decided on the page of gold",
    ],
)
def test_a_decision_on_gold(
    before: datetime | None,
    decision: str,
    held: datetime | None,
    retired: datetime | None,
    tara: Tasker,
    olga: User,
    now: datetime,
) -> None:
    known = factories.gold(held_at=before)
    report(asked_about(known, tara), now)
    decide(known.image, olga, decision, "Looked at.")
    assert kept(known, "held_at", "retired_at") == (held, retired)


def test_all_reports_of_a_picture_are_decided_together_and_everybody_is_thanked(
    tara: Tasker, otto: Tasker, uma: Tasker, olga: User, now: datetime
) -> None:
    """With the day where each of them is."""
    Tasker.objects.filter(pk=otto.pk).update(time_zone="Pacific/Auckland")
    panel = factories.panel()
    for held in [claim(tara, now), claim(otto, now)]:
        report(held, now)
    other = report(lease(uma, now), now)
    decide(panel.image, olga, reply="It loads for me.")
    said = (
        "Thank you for your report of {} Nov 2026: an organizer has looked at the picture. Others are asked about "
        "it again. The organizer writes: It loads for me."
    )
    assert dict(Notice.objects.values_list("tasker", "text")) == {tara.pk: said.format(18), otto.pk: said.format(19)}
    assert [each.image for each in selectors.reported_pictures()] == [other.image]
    decided = Report.objects.filter(image=panel.image).values_list("decision", "reply", "decided_by")
    assert list(decided) == [("reopened", "It loads for me.", olga.pk)] * 2


def test_a_picture_given_back_can_be_reported_by_the_next(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    panel = report(lease(tara, now), now).assignment.panel
    decide(panel.image, olga)
    report(claim(otto, now), now)
    (waiting,) = selectors.reported_pictures()
    assert (kept(panel, "state"), [each.tasker for each in waiting.reports]) == (PanelState.HELD, [otto])


def test_the_page_lists_what_waits_and_what_is_decided(
    tara: Tasker, otto: Tasker, uma: Tasker, olga: User, signed_in: Any, now: datetime
) -> None:
    client = signed_in(olga)
    shows(client.get("/organizer/reports/"), "No report waits.", "No decision yet.")
    factories.panel(), factories.panel()
    first = report(claim(tara, now), now, ReportKind.OFFENSIVE, "A wound.")
    second = report(claim(otto, now), now, ReportKind.UNCLEAR, "<b>A shadow?</b>")
    report(asked_about(factories.gold(), uma), now)
    page = shows(
        client.get("/organizer/reports/"),
        "A wound.",
        "&lt;b&gt;A shadow?&lt;/b&gt;",
        tara.public_id,
        otto.public_id,
        first.image.public_id,
        "gold, not dealt meanwhile",
    )
    offensive, others = page.split(f'id="{second.image.public_id}"')
    assert ["<summary>Show the picture</summary>" in part for part in (offensive, others)] == [True, False]
    posted = {"image": first.image.public_id, "decision": "kept_out", "reply": "It is a wound."}
    assert client.post("/organizer/reports/", posted)["Location"] == "/organizer/reports/"
    page = client.get("/organizer/reports/").content.decode()
    assert page.index('id="decided"') < page.index("It is a wound.")


def test_what_is_wrong_with_a_decision_is_said_and_the_words_are_kept(
    tara: Tasker, olga: User, signed_in: Any, now: datetime
) -> None:
    panel, client = factories.panel(), signed_in(olga)
    report(claim(tara, now), now)
    posted = {"image": panel.image.public_id, "decision": "perhaps", "reply": "Dear tasker"}
    shows(client.post("/organizer/reports/", posted), "Dear tasker", "Choose whether the picture goes back", status=400)
    unknown = ("P-NOTHING", factories.image().public_id)
    assert [client.post("/organizer/reports/", {"image": each}).status_code for each in unknown] == [404, 404]


# Who may ask, answer and decide: what Tara, Olga, Rita, Stan and nobody in particular get.
MAY = [
    (API_URL, {"text": "Who are they?"}, [None, 403, 403, 403, 401]),
    (URL, {"text": "Who?"}, [None, 403, 403, 403, 302]),
    (ORGANIZERS_URL, {"question": "1", "answer": "No.", "to": "asker"}, [403, None, 403, 404, 302]),
    ("/organizer/reports/", {"image": "P-1"}, [403, None, 403, 404, 302]),
]


@pytest.mark.parametrize(("address", "form", "statuses"), MAY, ids=[row[0] for row in MAY])
def test_nobody_else_opens_or_sends(
    address: str, form: dict[str, str], statuses: list[int | None], tara: Tasker, olga: User, rita: User, stan: User,
    signed_in: Any, client: Any
) -> None:  # fmt: skip
    everybody = [*map(signed_in, (tara, olga, rita, stan)), client]
    send = post if address == API_URL else lambda each, form: each.post(address, form)
    told = [status and send(each, form).status_code for each, status in zip(everybody, statuses, strict=True)]
    assert (told, Question.objects.count()) == (statuses, 0)


def test_a_stranger_to_an_assignment_learns_nothing(tara: Tasker, otto: Tasker, signed_in: Any, now: datetime) -> None:
    factories.panel()
    for asked in (uuid4(), claim(otto, now).public_id):
        refused = signed_in(tara).post(
            f"/api/v1/assignments/{asked}/release/", {"kind": "other"}, content_type="application/json"
        )
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert not Report.objects.exists()
