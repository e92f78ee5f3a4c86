"""Reports of pictures: the place is given back, the picture is held, an organizer decides, who reported is thanked."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, InvalidInput
from labeling import services
from labeling.asking import selectors
from labeling.asking.services import report_decide, report_make
from labeling.enums import AssignmentState, PanelState, ReportDecision, ReportKind
from labeling.models import Assignment, Image, KnownPicture, Notice, Panel, Report, Tasker
from labeling.selectors import candidates
from tests import factories
from tests.labeling.cast import claim, gets_nothing, kept, own, refused, shows, submit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def policy(db: None) -> None:
    factories.policy_version()


def report(held: Assignment, now: datetime, kind: ReportKind = ReportKind.OTHER, words: str = "It is grey.") -> Report:
    return report_make(**own(held), kind=kind, words=words, now=now)


def decide(image: Image, by: User, decision: str = "reopened", reply: str = "") -> None:
    report_decide(image=image, decision=ReportDecision(decision), reply=reply, by=by, now=factories.NOW)


def asked_about(known: KnownPicture, tasker: Tasker) -> Assignment:
    """A lease on a gold picture."""
    return factories.assignment(tasker, known.panel, state=AssignmentState.LEASED, known=known)


# Reporting.


def test_a_report_gives_the_place_back_and_holds_the_picture(tara: Tasker, otto: Tasker, now: datetime) -> None:
    panel, held = factories.panel(), claim(tara, now)
    made = report(held, now, ReportKind.DOES_NOT_LOAD, " The lower half is grey.\x00 ")
    panel.refresh_from_db()
    held.refresh_from_db()
    assert (panel.state, panel.leased, panel.answered) == (PanelState.HELD, 0, 0)
    assert (held.state, held.problem) == (AssignmentState.RELEASED, "The lower half is grey.")
    assert (made.kind, made.words) == ("does_not_load", "The lower half is grey.")
    assert (made.image_id, made.tasker_id) == (panel.image_id, tara.pk)
    assert gets_nothing(otto, now), "nobody new is asked about a held picture"


def test_who_holds_a_lease_on_a_held_picture_may_finish(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    panel = factories.panel()
    first, *others = [claim(tasker, now) for tasker in (tara, otto, uma)]
    report(first, now)
    assert all(submit(each, now).response.place_id for each in others)
    assert kept(panel, "state", "answered", "leased") == (PanelState.HELD, 2, 0)


def test_a_lapsed_picture_is_reported_and_the_first_report_is_kept(tara: Tasker, now: datetime) -> None:
    panel, later = factories.panel(), now + timedelta(hours=1)
    held = claim(tara, now)
    services.leases_lapse(now=later)
    first = report(held, later, ReportKind.OFFENSIVE, "once")
    assert report(held, later + timedelta(minutes=1), ReportKind.OTHER, "twice") == first == Report.objects.get()
    panel.refresh_from_db()
    assert (panel.state, panel.leased, Report.objects.get().words) == (PanelState.HELD, 0, "once")


def test_an_answered_picture_cannot_be_reported(tara: Tasker, now: datetime) -> None:
    factories.panel()
    held = claim(tara, now)
    submit(held, now)
    with refused(Conflict, code="already_answered"):
        report(held, now)
    assert not Report.objects.exists()


@pytest.mark.parametrize("state", [PanelState.FULL, PanelState.SETTLED])
def test_a_report_that_comes_when_every_answer_is_in_changes_no_panel(
    state: PanelState, tara: Tasker, olga: User, now: datetime
) -> None:
    panel, late = factories.panel(), claim(tara, now)
    services.leases_lapse(now=now + timedelta(hours=1))
    factories.settle(panel)
    Panel.objects.update(state=state)
    report(late, now + timedelta(hours=2))
    assert Panel.objects.get().state == state
    assert selectors.reported_pictures()[0].full
    decide(panel.image, olga)
    assert Panel.objects.get().state == state


def test_a_gold_picture_is_held_by_itself_and_its_panel_stays_settled(tara: Tasker, now: datetime) -> None:
    known = factories.gold()
    report(asked_about(known, tara), now)
    assert kept(known, "held_at") == now
    assert (Panel.objects.get().state, Panel.objects.get().leased) == (PanelState.SETTLED, 0)


def test_reporting_gold_and_reporting_any_other_answer_alike(tara: Tasker, signed_in: Any, now: datetime) -> None:
    factories.panel()
    ordinary, gold = claim(tara, now), factories.gold()
    Assignment.objects.update(slot=2)
    answers = [release(signed_in(tara), held, kind="unclear") for held in (ordinary, asked_about(gold, tara))]
    assert [each.status_code for each in answers] == [204, 204]
    assert set(answers[0].headers) == set(answers[1].headers)
    assert Report.objects.count() == 2


# The call of the API.


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
    factories.panel()
    assert release(signed_in(tara), claim(tara, now), **body).status_code == 204
    assert list(Report.objects.values_list("kind", "words")) == reports
    assert Assignment.objects.get().problem == problem
    assert Panel.objects.get().state == (PanelState.HELD if reports else PanelState.OPEN)


@pytest.mark.parametrize("kind", ["boring", 7, None, ["offensive"]])
def test_the_api_refuses_a_kind_it_does_not_know(kind: object, tara: Tasker, signed_in: Any, now: datetime) -> None:
    factories.panel()
    refused = release(signed_in(tara), claim(tara, now), kind=kind)
    assert refused.status_code == 400
    assert "does_not_load, offensive, unclear, other" in refused.json()["fields"]["kind"][0]
    assert not Report.objects.exists()


# Deciding.


@pytest.mark.both("locks; marks in JSON")
def test_a_reopened_picture_is_dealt_again_with_the_waiting_time_it_had(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    for _ in range(2):
        factories.panel(dealt_at=now - timedelta(hours=5))
    held = claim(tara, now)
    panel = held.panel
    report(held, now)
    # Otto has been told to begin after the held picture.
    Tasker.objects.filter(pk=otto.pk).update(passed={"3": (now - timedelta(hours=1)).isoformat()}, passed_at=now)
    decide(panel.image, olga)
    panel.refresh_from_db()
    assert (panel.state, panel.waiting_since) == (PanelState.OPEN, now - timedelta(hours=5))
    otto.refresh_from_db()
    assert panel.pk in {panel_id for panel_id, _ in candidates(otto)}
    assert claim(tara, now).panel_id != panel.pk, "who reported it never gets it again"


def test_a_picture_kept_out_with_a_reason_is_never_dealt_and_decided_once(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    panel = factories.panel()
    report(claim(tara, now), now)
    with pytest.raises(InvalidInput) as refusal:
        decide(panel.image, olga, "kept_out", "  ")
    assert (refusal.value.field, selectors.pictures_waiting()) == ("reply", 1)
    decide(panel.image, olga, "kept_out", "It shows a wound.")
    with pytest.raises(Conflict) as again:
        decide(panel.image, olga)
    assert (again.value.code, Notice.objects.count()) == ("decided_already", 1)
    assert kept(panel, "state") == PanelState.HELD
    assert gets_nothing(otto, now)


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
    other = factories.panel()
    report(claim(uma, now), now)
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
    panel = factories.panel()
    report(claim(tara, now), now)
    decide(panel.image, olga)
    report(claim(otto, now), now)
    assert Panel.objects.get().state == PanelState.HELD
    assert [each.tasker for each in selectors.reported_pictures()[0].reports] == [otto]


# The organizers' page.


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
    assert "<summary>Show the picture</summary>" in offensive
    assert "<summary>Show the picture</summary>" not in others
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
    for unknown in ("P-NOTHING", factories.image().public_id):
        assert client.post("/organizer/reports/", {"image": unknown}).status_code == 404


@pytest.mark.parametrize(("who", "status"), [("tara", 403), ("rita", 403), ("stan", 404), ("", 302)])
def test_nobody_else_opens_or_decides(
    who: str, status: int, request: pytest.FixtureRequest, signed_in: Any, client: Any
) -> None:
    client = signed_in(request.getfixturevalue(who)) if who else client
    assert client.get("/organizer/reports/").status_code == status
    assert client.post("/organizer/reports/", {"image": "P-1"}).status_code == status


def test_a_stranger_to_an_assignment_learns_nothing(tara: Tasker, otto: Tasker, signed_in: Any, now: datetime) -> None:
    factories.panel()
    for asked in (uuid4(), claim(otto, now).public_id):
        refused = signed_in(tara).post(
            f"/api/v1/assignments/{asked}/release/", {"kind": "other"}, content_type="application/json"
        )
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert not Report.objects.exists()
