"""Reports of pictures: the place is given back, the picture is held, an organizer decides, who reported is thanked."""

from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, InvalidInput, NotFound
from labeling import services
from labeling.asking import selectors
from labeling.asking.services import report_decide, report_make
from labeling.enums import AssignmentState, PanelState, ReportDecision, ReportKind
from labeling.models import Assignment, KnownPicture, Notice, Panel, Report, Response, Tasker
from labeling.policy import Policy
from tests import factories

pytestmark = pytest.mark.django_db
POLICY = Policy(gold_percent=0)
NO_TO_BOTH = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}


@pytest.fixture(autouse=True)
def policy(db: None) -> None:
    factories.policy_version()


def claim(tasker: Tasker, now: datetime) -> Assignment:
    tasker = Tasker.objects.get(pk=tasker.pk)
    found = services.assignment_next(tasker=tasker, holding=(), policy=POLICY, now=now, rng=Random(1))
    assert isinstance(found, Assignment)
    return found


def report(held: Assignment, now: datetime, kind: ReportKind = ReportKind.OTHER, words: str = "It is grey.") -> Report:
    return report_make(
        tasker=held.tasker,
        assignment_id=held.public_id,
        lease_token=held.lease_token,
        kind=kind,
        words=words,
        now=now,
    )


def answer(held: Assignment, now: datetime) -> Response:
    return services.response_submit(
        tasker=held.tasker,
        assignment_id=held.public_id,
        lease_token=held.lease_token,
        data=NO_TO_BOTH,
        policy_at=lambda _: POLICY,
        now=now,
    ).response


def nothing_for(tasker: Tasker, now: datetime) -> bool:
    tasker = Tasker.objects.get(pk=tasker.pk)
    found = services.assignment_next(tasker=tasker, holding=(), policy=POLICY, now=now, rng=Random(1))
    return isinstance(found, services.NothingLeft)


# Reporting.


def test_a_report_gives_the_place_back_and_holds_the_picture(tara: Tasker, otto: Tasker, now: datetime) -> None:
    panel = factories.panel()
    held = claim(tara, now)
    made = report(held, now, ReportKind.DOES_NOT_LOAD, " The lower half is grey.\x00 ")
    panel.refresh_from_db()
    held.refresh_from_db()
    assert (panel.state, panel.leased, panel.answered) == (PanelState.HELD, 0, 0)
    assert (held.state, held.problem) == (AssignmentState.RELEASED, "The lower half is grey.")
    assert (made.kind, made.words, made.image_id, made.tasker_id) == (
        "does_not_load",
        "The lower half is grey.",
        panel.image_id,
        tara.pk,
    )
    assert nothing_for(otto, now), "nobody new is asked about a held picture"


def test_a_report_without_words_is_one_by_its_kind(tara: Tasker, now: datetime) -> None:
    factories.panel()
    held = claim(tara, now)
    report(held, now, ReportKind.OFFENSIVE, "")
    held.refresh_from_db()
    assert held.problem == "It is offensive or disturbing"


def test_who_holds_a_lease_on_a_held_picture_may_finish(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    panel = factories.panel()
    first, second, third = claim(tara, now), claim(otto, now), claim(uma, now)
    report(first, now)
    assert answer(second, now).place_id is not None
    assert answer(third, now).place_id is not None
    panel.refresh_from_db()
    assert (panel.state, panel.answered, panel.leased) == (PanelState.HELD, 2, 0)


def test_reporting_twice_keeps_the_first_report(tara: Tasker, now: datetime) -> None:
    factories.panel()
    held = claim(tara, now)
    first = report(held, now, ReportKind.OFFENSIVE, "once")
    again = report(held, now + timedelta(minutes=1), ReportKind.OTHER, "twice")
    assert (again.pk, again.words) == (first.pk, "once")
    assert Report.objects.count() == 1


def test_an_answered_picture_cannot_be_reported(tara: Tasker, now: datetime) -> None:
    factories.panel()
    held = claim(tara, now)
    answer(held, now)
    with pytest.raises(Conflict) as refusal:
        report(held, now)
    assert refusal.value.code == "already_answered"
    assert not Report.objects.exists()


def test_nobody_reports_what_somebody_else_was_asked(tara: Tasker, otto: Tasker, now: datetime) -> None:
    factories.panel()
    held = claim(tara, now)
    with pytest.raises(NotFound):
        report_make(
            tasker=otto, assignment_id=held.public_id, lease_token=None, kind=ReportKind.OTHER, words="", now=now
        )


def test_a_lapsed_picture_can_still_be_reported(tara: Tasker, now: datetime) -> None:
    panel = factories.panel()
    held = claim(tara, now)
    services.leases_lapse(now=now + timedelta(hours=1))
    report(held, now + timedelta(hours=1))
    panel.refresh_from_db()
    assert (panel.state, panel.leased) == (PanelState.HELD, 0)


@pytest.mark.parametrize("state", [PanelState.FULL, PanelState.SETTLED])
def test_a_report_that_comes_when_every_answer_is_in_changes_no_panel(
    state: PanelState, tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    panel = factories.panel()
    late = claim(tara, now)
    services.leases_lapse(now=now + timedelta(hours=1))
    panel.refresh_from_db()
    factories.settle(panel)
    Panel.objects.update(state=state)
    report(late, now + timedelta(hours=2))
    panel.refresh_from_db()
    assert panel.state == state
    assert selectors.reported_pictures()[0].full
    report_decide(image=panel.image, decision=ReportDecision.REOPENED, reply="", by=olga, now=now)
    panel.refresh_from_db()
    assert panel.state == state


def test_a_gold_picture_is_held_by_itself_and_its_panel_stays_settled(tara: Tasker, now: datetime) -> None:
    known = factories.gold()
    held = factories.assignment(tara, known.panel, state=AssignmentState.LEASED, known=known)
    report(held, now)
    known.refresh_from_db()
    assert known.held_at == now
    assert known.panel is not None
    assert (known.panel.state, known.panel.leased) == (PanelState.SETTLED, 0)


def test_reporting_gold_and_reporting_any_other_answer_alike(tara: Tasker, signed_in: Any) -> None:
    known, panel = factories.gold(), factories.panel()
    gold = factories.assignment(tara, known.panel, state=AssignmentState.LEASED, known=known)
    Assignment.objects.filter(pk=gold.pk).update(slot=2)
    ordinary = factories.assignment(tara, panel, state=AssignmentState.LEASED)
    Panel.objects.filter(pk=panel.pk).update(leased=1)
    client = signed_in(tara)
    answers = [
        client.post(
            f"/api/v1/assignments/{held.public_id}/release/",
            {"lease_token": held.lease_token, "kind": "unclear"},
            content_type="application/json",
        )
        for held in (gold, ordinary)
    ]
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
    ("body", "kind"),
    [
        ({"kind": "offensive"}, "offensive"),
        ({"kind": "unclear", "problem": "Is a shadow a bird?"}, "unclear"),
        ({"problem": "It is grey."}, "other"),
    ],
    ids=["a kind", "a kind and words", "words alone are of another kind"],
)
def test_the_api_takes_a_report(body: dict[str, str], kind: str, tara: Tasker, signed_in: Any, now: datetime) -> None:
    factories.panel()
    assert release(signed_in(tara), claim(tara, now), **body).status_code == 204
    made = Report.objects.get()
    assert (made.kind, made.words) == (kind, body.get("problem", ""))


def test_giving_back_without_a_word_is_no_report(tara: Tasker, signed_in: Any, now: datetime) -> None:
    panel = factories.panel()
    assert release(signed_in(tara), claim(tara, now)).status_code == 204
    panel.refresh_from_db()
    assert panel.state == PanelState.OPEN
    assert not Report.objects.exists()


@pytest.mark.parametrize("kind", ["boring", 7, None, ["offensive"]])
def test_the_api_refuses_a_kind_it_does_not_know(kind: object, tara: Tasker, signed_in: Any, now: datetime) -> None:
    factories.panel()
    refused = release(signed_in(tara), claim(tara, now), kind=kind)
    assert refused.status_code == 400
    assert "does_not_load, offensive, unclear, other" in refused.json()["fields"]["kind"][0]
    assert not Report.objects.exists()


# Deciding.


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
    report_decide(image=panel.image, decision=ReportDecision.REOPENED, reply="", by=olga, now=now)
    panel.refresh_from_db()
    assert (panel.state, panel.waiting_since) == (PanelState.OPEN, now - timedelta(hours=5))
    assert panel.pk in {panel_id for panel_id, _ in selectors_candidates(otto)}
    assert claim(tara, now).panel_id != panel.pk, "who reported it never gets it again"


def selectors_candidates(tasker: Tasker) -> list[tuple[int, Any]]:
    from labeling.selectors import candidates

    return candidates(Tasker.objects.get(pk=tasker.pk))


def test_a_picture_kept_out_is_never_dealt(tara: Tasker, otto: Tasker, olga: User, now: datetime) -> None:
    panel = factories.panel()
    report(claim(tara, now), now)
    report_decide(image=panel.image, decision=ReportDecision.KEPT_OUT, reply="It shows a wound.", by=olga, now=now)
    panel.refresh_from_db()
    assert panel.state == PanelState.HELD
    assert nothing_for(otto, now)


def test_keeping_out_needs_a_reason(tara: Tasker, olga: User, now: datetime) -> None:
    panel = factories.panel()
    report(claim(tara, now), now)
    with pytest.raises(InvalidInput) as refusal:
        report_decide(image=panel.image, decision=ReportDecision.KEPT_OUT, reply="  ", by=olga, now=now)
    assert refusal.value.field == "reply"
    assert selectors.pictures_waiting() == 1


@pytest.mark.parametrize(
    ("decision", "held", "retired"),
    [(ReportDecision.REOPENED, False, False), (ReportDecision.KEPT_OUT, True, True)],
    ids=["given back: it is dealt as gold again", "kept out: it is retired"],
)
def test_a_decision_on_gold(
    decision: ReportDecision, held: bool, retired: bool, tara: Tasker, olga: User, now: datetime
) -> None:
    known = factories.gold()
    report(factories.assignment(tara, known.panel, state=AssignmentState.LEASED, known=known), now)
    report_decide(image=known.image, decision=decision, reply="Looked at.", by=olga, now=now)
    known = KnownPicture.objects.get()
    assert (known.held_at is not None, known.retired_at is not None) == (held, retired)


def test_gold_that_is_held_for_another_reason_stays_held(tara: Tasker, olga: User, now: datetime) -> None:
    """It may have leaked: that is decided on the page of gold, not with a report."""
    known = factories.gold(held_at=now - timedelta(hours=1))
    report(factories.assignment(tara, known.panel, state=AssignmentState.LEASED, known=known), now)
    report_decide(image=known.image, decision=ReportDecision.REOPENED, reply="", by=olga, now=now)
    known.refresh_from_db()
    assert known.held_at == now - timedelta(hours=1)


def test_all_reports_of_a_picture_are_decided_together_and_everybody_is_thanked(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    panel = factories.panel()
    held = [claim(tara, now), claim(otto, now)]
    for each in held:
        report(each, now)
    other = factories.panel()
    report(claim(factories.tasker("ada"), now), now)
    report_decide(image=panel.image, decision=ReportDecision.REOPENED, reply="It loads for me.", by=olga, now=now)
    assert {notice.tasker_id for notice in Notice.objects.all()} == {tara.pk, otto.pk}
    text = Notice.objects.filter(tasker=tara).get().text
    assert text == (
        "Thank you for your report of 18 Nov 2026: an organizer has looked at the picture. Others are asked about "
        "it again. The organizer writes: It loads for me."
    )
    assert [each.image for each in selectors.reported_pictures()] == [other.image]
    decided = Report.objects.filter(image=panel.image)
    assert {(each.decision, each.reply, each.decided_by_id) for each in decided} == {
        ("reopened", "It loads for me.", olga.pk)
    }


def test_a_notice_tells_the_day_where_the_tasker_is(tara: Tasker, olga: User, now: datetime) -> None:
    Tasker.objects.filter(pk=tara.pk).update(time_zone="Pacific/Auckland")
    panel = factories.panel()
    report(claim(tara, now), now)
    report_decide(image=panel.image, decision=ReportDecision.REOPENED, reply="", by=olga, now=now)
    assert "your report of 19 Nov 2026" in Notice.objects.get().text


def test_what_is_decided_cannot_be_decided_again(tara: Tasker, olga: User, now: datetime) -> None:
    panel = factories.panel()
    report(claim(tara, now), now)
    report_decide(image=panel.image, decision=ReportDecision.REOPENED, reply="", by=olga, now=now)
    with pytest.raises(Conflict) as refusal:
        report_decide(image=panel.image, decision=ReportDecision.KEPT_OUT, reply="No.", by=olga, now=now)
    assert refusal.value.code == "decided_already"
    assert Notice.objects.count() == 1


def test_a_picture_given_back_can_be_reported_by_the_next(
    tara: Tasker, otto: Tasker, olga: User, now: datetime
) -> None:
    panel = factories.panel()
    report(claim(tara, now), now)
    report_decide(image=panel.image, decision=ReportDecision.REOPENED, reply="", by=olga, now=now)
    report(claim(otto, now), now)
    panel.refresh_from_db()
    assert panel.state == PanelState.HELD
    assert [each.tasker for each in selectors.reported_pictures()[0].reports] == [otto]


# The organizers' page.


def test_the_page_lists_what_waits_and_what_is_decided(
    tara: Tasker, otto: Tasker, olga: User, signed_in: Any, now: datetime
) -> None:
    factories.panel(), factories.panel()
    first = report(claim(tara, now), now, ReportKind.OFFENSIVE, "A wound.")
    second = report(claim(otto, now), now, ReportKind.UNCLEAR, "<b>A shadow?</b>")
    client = signed_in(olga)
    page = client.get("/organizer/reports/").content.decode()
    for words in ("A wound.", "&lt;b&gt;A shadow?&lt;/b&gt;", tara.public_id, otto.public_id, first.image.public_id):
        assert words in page
    offensive, unclear = page.split(f'id="{second.image.public_id}"')
    assert "<summary>Show the picture</summary>" in offensive
    assert "<summary>Show the picture</summary>" not in unclear
    posted = {"image": first.image.public_id, "decision": "kept_out", "reply": "It is a wound."}
    assert client.post("/organizer/reports/", posted)["Location"] == "/organizer/reports/"
    page = client.get("/organizer/reports/").content.decode()
    assert page.index('id="decided"') < page.index("It is a wound.")


def test_the_page_is_empty_at_first(olga: User, signed_in: Any) -> None:
    page = signed_in(olga).get("/organizer/reports/").content.decode()
    assert "No report waits." in page
    assert "No decision yet." in page


def test_an_organizer_tells_gold_from_an_ordinary_picture(
    tara: Tasker, olga: User, signed_in: Any, now: datetime
) -> None:
    known = factories.gold()
    report(factories.assignment(tara, known.panel, state=AssignmentState.LEASED, known=known), now)
    assert "gold, not dealt meanwhile" in signed_in(olga).get("/organizer/reports/").content.decode()


def test_what_is_wrong_with_a_decision_is_said_and_the_words_are_kept(
    tara: Tasker, olga: User, signed_in: Any, now: datetime
) -> None:
    panel = factories.panel()
    report(claim(tara, now), now)
    client = signed_in(olga)
    posted = {"image": panel.image.public_id, "decision": "perhaps", "reply": "Dear tasker"}
    page = client.post("/organizer/reports/", posted)
    assert page.status_code == 400
    assert "Dear tasker" in page.content.decode()
    assert "Choose whether the picture goes back" in page.content.decode()
    assert client.post("/organizer/reports/", {"image": "P-NOTHING"}).status_code == 404
    never_reported = factories.image()
    assert client.post("/organizer/reports/", {"image": never_reported.public_id}).status_code == 404


@pytest.mark.parametrize(("who", "status"), [("tara", 403), ("rita", 403), ("stan", 404), ("", 302)])
def test_nobody_else_opens_or_decides(
    who: str, status: int, request: pytest.FixtureRequest, signed_in: Any, client: Any
) -> None:
    client = signed_in(request.getfixturevalue(who)) if who else client
    assert client.get("/organizer/reports/").status_code == status
    assert client.post("/organizer/reports/", {"image": "P-1"}).status_code == status


def test_a_stranger_to_an_assignment_learns_nothing(tara: Tasker, signed_in: Any) -> None:
    refused = signed_in(tara).post(
        f"/api/v1/assignments/{uuid4()}/release/", {"kind": "other"}, content_type="application/json"
    )
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
