"""What the board decides about a picture, by its pages or by the call, and that it does so once (R19-R22)."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.http import Http404
from django.test import Client

from adjudication.counting import Ballot
from adjudication.enums import DecidedBy
from adjudication.services import panels_settle
from contest.appeals.services import appeal_send
from contest.board.cases import count_of, parties_refresh, vote_cast
from contest.board.decisions import case_decide, cases_close
from contest.board.models import Appeal, CaseDecision, CaseParty, Vote
from contest.core.enums import CaseOutcome, CaseState, VoteChoice
from contest.core.models import Case, Team
from contest.outbox.models import Message
from labeling.enums import PanelState, ReportDecision, ReportKind
from labeling.models import Assignment, Panel
from labeling.questions.services import report_create, report_decide
from policy.selectors import policy_in_force
from tests import factories
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import (
    LATER,
    OVERRULE_BICYCLE,
    OVERRULE_BIRD,
    OVERRULE_REJECTED,
    SURE,
    UNSURE,
    WHY,
    Scene,
    decided,
)
from tests.contest.ledger import cast as money
from tests.labeling.cast import submit
from tests.refusals import refused

pytestmark = pytest.mark.django_db
UPHOLD, MORE = VoteChoice.UPHOLD, VoteChoice.MORE_TASKERS
AFTER = LATER + timedelta(hours=5)


@pytest.fixture
def upheld(case: Case, scene: Scene) -> Case:
    """The open case with two votes to uphold the ruling."""
    cast.votes(case, scene.members[:2], UPHOLD)
    return case


@pytest.mark.parametrize(
    ("valid", "ballot", "verdict", "label", "reasons"),
    [
        (True, OVERRULE_REJECTED, "rejected", "", ["occluded"]),
        (True, OVERRULE_BICYCLE, "valid", "bicycle", []),
        (False, OVERRULE_BIRD, "valid", "bird", []),
        (False, OVERRULE_REJECTED, "rejected", "", ["occluded"]),
    ],
)
def test_an_overrule_is_a_new_ruling_on_top_with_its_explanation(
    valid: bool, ballot: Ballot, verdict: str, label: str, reasons: list[str], scene: Scene
) -> None:
    scene = scene if valid else scene.beside(valid=False)
    made, ruling = decided(scene.opened(), scene.members, ballot), scene.newest()
    assert (ruling.number, ruling.verdict, ruling.label, ruling.reasons) == (2, verdict, label, reasons)
    assert (ruling.decided_by, ruling.explanation, made.ruling) == (DecidedBy.BOARD, WHY, ruling)
    assert ruling.response_ids == scene.ruling.response_ids, "responses never change (R20)"


def test_an_overrule_needs_an_explanation_that_says_something(case: Case, scene: Scene) -> None:
    """R20."""
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    for explanation, code in (("   \n", "invalid"), ("Wrong.", "says_too_little"), ("no " * 30, "says_too_little")):
        refused(code, cast.decide, case, scene.members[0], explanation=explanation)
    assert Case.objects.get().state == CaseState.OPEN and not CaseDecision.objects.exists()


# More taskers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "verdict", "reasons", "told", "why"),
    [
        ([SURE, SURE, SURE], "valid", [], "valid, a bird", "unanimity covers all six, and the same is told too"),
        ([SURE, UNSURE, SURE], "rejected", ["uncertain"], "rejected: a tasker was not sure", "one new one is unsure"),
    ],
)
def test_more_taskers_join_the_panel_of_a_valid_verdict(
    said: list[dict[str, Any]], verdict: str, reasons: list[str], told: str, why: str, case: Case, scene: Scene
) -> None:
    """R19."""
    case_cast.joins(scene.red, "carla")
    made, panel = decided(case, scene.members, MORE), Panel.objects.get(image=scene.image)
    assert (made.panel, panel.size, panel.state) == (panel, 6, PanelState.OPEN)
    refused("being_decided", scene.opened, now=AFTER)
    refused("decided", cast.vote, made.case, scene.members[2], UPHOLD, AFTER)
    assert cases_close(now=AFTER) == 0, "nothing was ruled yet"
    ruling = cast.rule(panel, *said, now=AFTER)
    assert (ruling.verdict, ruling.reasons, len(ruling.response_ids)) == (verdict, reasons, 6), why
    assert (cases_close(now=AFTER), cases_close(now=AFTER)) == (1, 0)
    case.refresh_from_db()
    assert (case.state, case.result, case.closed_at) == (CaseState.CLOSED, ruling, AFTER)
    letters = Message.objects.filter(user__username="carla", kind="case_decided").order_by("pk")
    again = f"the taskers who were asked in addition have answered, and the ruling is {told}"
    assert [each.facts["outcome"] for each in letters] == ["more taskers are asked", again], why


@pytest.mark.parametrize(
    ("said", "verdict", "why"),
    [
        ([SURE, SURE, SURE], "valid", "the fresh panel agrees against the first, and replaces it"),
        ([SURE, SURE, UNSURE], "rejected", "the fresh panel finds the same"),
    ],
)
def test_a_fresh_panel_replaces_that_of_a_rejection(
    said: list[dict[str, Any]], verdict: str, why: str, rejected: Scene
) -> None:
    """R19; both panels stay on record."""
    panel = decided(rejected.opened(), rejected.members, MORE).panel
    assert (panel.number, panel.size) == (2, 3)
    ruling = cast.rule(panel, *said, now=AFTER)
    assert (ruling.number, ruling.verdict, len(ruling.response_ids)) == (2, verdict, 3), why
    assert cases_close(now=AFTER) == 1 and Panel.objects.filter(image=rejected.image).count() == 2


def keep_out(panel: Panel, by: User) -> Assignment:
    """A tasker reports the picture of a panel, and an organizer keeps it out; returns the tasker's assignment."""
    asked = factories.assignment(factories.tasker("rosa"), panel, state="expired")
    told = {"kind": ReportKind.OFFENSIVE, "words": "", "now": LATER}
    report_create(tasker=asked.tasker, assignment_id=asked.public_id, lease_token=asked.lease_token, **told)
    report_decide(image=panel.image, decision=ReportDecision.KEPT_OUT, reply="It shows a wound.", by=by, now=AFTER)
    return asked


def test_a_picture_that_is_kept_out_meanwhile_keeps_its_ruling_and_closes_the_case(
    case: Case, scene: Scene, olga: User
) -> None:
    panel = decided(case, scene.members, MORE).panel
    keep_out(panel, olga)
    assert cases_close(now=AFTER) == 1
    case.refresh_from_db()
    assert (case.state, case.result) == (CaseState.CLOSED, scene.ruling)


def test_a_case_waits_for_the_ruling_of_a_panel_that_was_full_when_its_picture_was_kept_out(
    case: Case, scene: Scene, olga: User
) -> None:
    panel = decided(case, scene.members, MORE).panel
    cast.answers(panel, *[SURE] * 2, UNSURE, now=LATER)
    keep_out(panel, olga)
    assert cases_close(now=AFTER) == 0
    ruling = cast.rule(panel, now=AFTER)
    assert cases_close(now=AFTER) == 1
    case.refresh_from_db()
    assert (case.result, ruling.verdict) == (ruling, "rejected")


def test_late_answers_about_a_picture_that_is_kept_out_leave_the_ruling_of_the_board(
    case: Case, scene: Scene, olga: User
) -> None:
    """R20: the reporter fills the last place, if it is free, and a ruling of the rules would be on top."""
    panel = decided(case, scene.members, MORE).panel
    cast.answers(panel, *[SURE] * 2, now=LATER)
    reporter = keep_out(panel, olga)
    cases_close(now=AFTER)
    made = decided(scene.opened(now=AFTER), scene.members, OVERRULE_REJECTED, AFTER)
    again = scene.opened(now=AFTER)
    assert not submit(reporter, AFTER).counted
    assert (panels_settle(policy_at=policy_in_force, now=AFTER), scene.newest()) == (0, made.ruling)
    assert decided(again, scene.members, UPHOLD, AFTER, "").case.result == made.ruling


def test_no_more_join_than_there_is_room_for(scene: Scene) -> None:
    for size in (6, 9):
        panel = decided(scene.opened(now=AFTER), scene.members, MORE, AFTER).panel
        assert panel.size == size
        cast.rule(panel, *[SURE] * 3, now=AFTER)
        cases_close(now=AFTER)
    refused("panel_too_large", decided, scene.opened(now=AFTER), scene.members, MORE, AFTER)


# Quorum, changes of mind, recusal -------------------------------------------------------------------------------------


def test_a_member_changes_their_vote_until_it_is_decided(case: Case, scene: Scene) -> None:
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    seen = count_of(case).mark
    cast.vote(case, scene.members[0], UPHOLD)
    assert count_of(case).decides == Ballot(UPHOLD), "one and one is a tie"
    refused("votes_changed", case_decide, case=case, seen=seen, explanation=WHY, by=scene.members[0], now=LATER)
    cast.vote(case, scene.members[1], UPHOLD)
    made = cast.decide(case, scene.members[1], explanation="")
    assert made.outcome == CaseOutcome.UPHOLD and [each["choice"] for each in made.votes] == ["uphold", "uphold"]
    assert Vote.objects.filter(case=case).count() == 4, "all votes stay on record"
    refused("decided", cast.vote, case, scene.members[0], MORE)


def test_a_tie_waits_for_who_may_still_vote_until_the_clock_is_over(case: Case, scene: Scene) -> None:
    cast.vote(case, scene.members[0], OVERRULE_REJECTED)
    cast.vote(case, scene.members[1], UPHOLD)
    refused("tie", cast.decide, case, scene.members[1])
    assert cast.decide(case, scene.members[1], case.due_at, explanation="").outcome == CaseOutcome.UPHOLD


def test_members_who_reject_for_different_reasons_reject(scene: Scene) -> None:
    """R20; reasons that add up to those of the ruling decide nothing."""
    for now in (LATER, AFTER):
        case = scene.opened(now=now)
        cast.vote(case, scene.members[0], OVERRULE_REJECTED, now)
        cast.vote(case, scene.members[1], Ballot(VoteChoice.OVERRULE, reasons=("truncated", "too_small")), now)
        if now == LATER:
            cast.vote(case, scene.members[2], UPHOLD, words="The bird is whole to me.", public=True)
            made = cast.decide(case, scene.members[0])
    assert made.reasons == scene.newest().reasons == ["too_small", "occluded", "truncated"]
    told = [(each["choice"], each["dissent"], each["words"]) for each in made.votes]
    assert told == [("overrule", False, ""), ("overrule", False, ""), ("uphold", True, "The bird is whole to me.")]
    refused("same", cast.decide, case, scene.members[0], AFTER)


def test_the_vote_of_who_steps_aside_afterwards_counts_no_more_and_quorum_is_lost(upheld: Case, scene: Scene) -> None:
    """R21."""
    cast.conflict(scene.members[0], scene.blue, since=LATER)
    assert [vote.member for vote in count_of(upheld).votes] == [scene.members[1]]
    refused("no_quorum", cast.decide, upheld, scene.members[1])
    with pytest.raises(Http404):
        cast.decide(upheld, scene.members[0])
    cast.vote(upheld, scene.members[2], UPHOLD)
    made = cast.decide(upheld, scene.members[1], explanation="")
    assert (len(made.votes), made.recused) == (2, 1)


def late_party(scene: Scene) -> Team:
    """A team whose defense the picture turns out to break, though nobody aimed at it."""
    green = money.team("green")
    money.broken(
        money.staked(money.defense("late", green), at=scene.attack.received_at + timedelta(hours=1)).defense,
        scene.attack,
    )
    return green


def test_a_team_that_the_case_is_about_by_now_counts_before_any_sweep(upheld: Case, scene: Scene) -> None:
    cast.conflict(scene.members[0], late_party(scene))
    refused("disclose_first", cast.decide, upheld, scene.members[1])
    parties_refresh(upheld.public_id, now=LATER)
    with pytest.raises(Http404):
        cast.decide(upheld, scene.members[0])


def test_nobody_looks_at_a_case_before_its_new_team_is_recorded(
    case: Case, scene: Scene, stan: User, signed_in: Any
) -> None:
    """Recording it is the sweep's work: looking at a page writes nothing, and hides the content meanwhile (R21)."""
    cast.tell(case, scene.members[0])
    late_party(scene)
    parties, client, stranger = CaseParty.objects.count(), signed_in(scene.members[0]), signed_in(stan)
    address = f"/board/cases/{case.public_id}/"
    for page in ("", "disclose/", "decide/"):
        answer = client.get(address + page)
        assert (answer.status_code, answer["Retry-After"], CaseParty.objects.count()) == (503, "15", parties)
        assert stranger.get(address + page).status_code in (403, 404)
    parties_refresh(case.public_id, now=LATER)
    answer = client.get(f"{address}disclose/")
    assert answer.status_code == 200 and "green" in answer.content.decode()


def test_an_appeal_that_came_after_the_votes_is_read_before_they_are_confirmed(upheld: Case, scene: Scene) -> None:
    seen, by = count_of(upheld).mark, scene.members[0]
    appeal_send(image=scene.image, team=scene.blue, argument=WHY, marks=[], by=factories.user("nora"), now=LATER)
    refused("votes_changed", case_decide, case=upheld, seen=seen, explanation="", by=by, now=LATER)
    assert cast.decide(upheld, by, explanation="").outcome == CaseOutcome.UPHOLD


def test_upheld_the_ruling_stays_and_remarks_beside_it_are_cleaned_and_bounded(upheld: Case, scene: Scene) -> None:
    refused("invalid", cast.decide, upheld, scene.members[0], explanation="x" * 4_001)
    made = cast.decide(upheld, scene.members[0], explanation=" It\x00 stands.\r\n")
    assert (made.outcome, made.explanation) == (CaseOutcome.UPHOLD, "It stands.")
    assert (made.case.state, made.case.result, scene.newest()) == (CaseState.CLOSED, scene.ruling, scene.ruling)


@pytest.mark.both("one open case of a picture and one decision of a case are constraints; facts have triggers")
def test_a_case_is_decided_once_and_the_database_says_so(case: Case, scene: Scene) -> None:
    """R19; forgetting a member keeps what they decided."""
    assert scene.opened() == case
    with pytest.raises(DatabaseError), transaction.atomic():
        Case.objects.create(
            opened_at=LATER, due_at=LATER, kind="picture", image=scene.image, ruling=scene.ruling, policy=case.policy
        )
    made = decided(case, scene.members, OVERRULE_REJECTED)
    refused("decided", cast.decide, case, scene.members[1])
    with pytest.raises(DatabaseError), transaction.atomic():
        CaseDecision.objects.create(
            case=case, outcome="uphold", votes=[], quorum=2, recused=0, policy=made.policy, decided_at=LATER
        )
    for fact in (made, Vote.objects.all()[0]):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            type(fact).objects.filter(pk=fact.pk).delete()
    scene.members[0].delete()
    assert CaseDecision.objects.get(case=case).confirmed_by is None
    assert Vote.objects.filter(case=case, member=None).count() == 1


@pytest.mark.parametrize(
    ("choice", "label", "reasons", "code", "why"),
    [
        (VoteChoice.OVERRULE, "", [], "invalid", "an overrule needs an outcome"),
        (VoteChoice.OVERRULE, "bird", ["occluded"], "invalid", "a class or reasons, not both"),
        (VoteChoice.OVERRULE, "cat", [], "invalid", "there are two classes"),
        (VoteChoice.OVERRULE, "", ["ugly"], "invalid", "the reasons are those of R15"),
        (VoteChoice.OVERRULE, "", ["known_bad"], "invalid", "this reason is of the dataset's rules alone (R17)"),
        (VoteChoice.OVERRULE, "bird", [], "same", "that is what the ruling says"),
        (VoteChoice.IN_FAVOUR, "", [], "invalid", "that is a vote on a motion"),
    ],
)
def test_what_cannot_be_voted_for(
    choice: VoteChoice, label: str, reasons: list[str], code: str, why: str, case: Case, scene: Scene
) -> None:
    cast.tell(case, scene.members[0])
    refused(code, vote_cast, case=case, by=scene.members[0], now=LATER, choice=choice, label=label, reasons=reasons)
    assert not Vote.objects.exists(), why


# The call by which members vote on an appeal and confirm the decision -------------------------------------------------


@pytest.fixture
def appeal(rejected: Scene) -> Appeal:
    return case_cast.disclosed(rejected)


def send(client: Client, appeal: str, **body: Any) -> Any:
    return client.post(f"/api/v1/appeals/{appeal}/decisions/", body, content_type="application/json")


OF_BIRD = {"choice": "overrule", "label": "bird", "reasons": []}
UPHELD = {"choice": "uphold", "label": "", "reasons": []}


def test_votes_are_cast_changed_and_confirmed_by_their_mark(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    first, second = (signed_in(member) for member in scene.members[:2])
    answer = send(first, appeal.public_id, **OF_BIRD, words="All of it is a bird.", public=True)
    told = {"case": appeal.case.public_id, "state": "open", "quorum": 2, "outcome": "", "vote": OF_BIRD}
    assert (answer.status_code, answer.json()) == (201, answer.json() | told)
    assert send(first, appeal.public_id, choice="uphold").json()["votes"] == [UPHELD]
    assert Vote.objects.filter(member=scene.members[0]).count() == 2
    send(first, appeal.public_id, **OF_BIRD)
    mark = send(second, appeal.public_id, **OF_BIRD).json()["mark"]
    answer = send(second, appeal.public_id, seen=mark, explanation=WHY)
    assert (answer.status_code, answer.json()["state"], answer.json()["outcome"]) == (201, "closed", "overrule")
    assert send(first, appeal.public_id, choice="uphold").json()["code"] == "decided"


REFUSED: list[tuple[dict[str, Any], int, str, set[str]]] = [
    ({}, 400, "invalid", {"choice"}),
    ({"choice": "uphold", "seen": "1"}, 400, "invalid", {"choice"}),
    ({"choice": "in_favour"}, 400, "invalid", {"choice"}),
    ({"choice": "overrule"}, 400, "invalid", {"outcome"}),
    ({"choice": "overrule", "label": "cat"}, 400, "invalid", {"label"}),
    ({"choice": "overrule", "reasons": ["ugly"]}, 400, "invalid", {"reasons"}),
    ({"choice": "uphold", "votes": 3}, 400, "invalid", {"votes"}),
    ({"seen": "none"}, 403, "no_vote", set()),
]


def test_what_the_call_refuses(appeal: Appeal, scene: Scene, signed_in: Any) -> None:
    client = signed_in(scene.members[0])
    for body, status, code, fields in REFUSED:
        answer = send(client, appeal.public_id, **body)
        found = (answer.status_code, answer.json()["code"], set(answer.json().get("fields", {})))
        assert found == (status, code, fields), body
    untold = send(signed_in(cast.member("nan")), appeal.public_id, choice="uphold")
    assert (untold.status_code, untold.json()["code"]) == (409, "disclose_first"), "they are told where to disclose"
    assert not Vote.objects.exists() and not CaseDecision.objects.exists()


def test_who_steps_aside_or_left_finds_no_such_appeal_and_their_vote_counts_for_nothing(
    appeal: Appeal, scene: Scene, signed_in: Any
) -> None:
    """R21."""
    first, second, third = (signed_in(member) for member in scene.members)
    for client in (first, second):
        send(client, appeal.public_id, **OF_BIRD)
    cast.conflict(scene.members[1], scene.red)
    hidden, nowhere = (send(second, name, choice="uphold") for name in (appeal.public_id, "L-000000"))
    assert (hidden.status_code, hidden.json()) == (404, nowhere.json())
    body = send(third, appeal.public_id, choice="uphold").json()
    assert (body["votes"], body["decides"]["choice"]) == ([OF_BIRD, UPHELD], VoteChoice.UPHOLD)
    scene.members[0].groups.clear()
    assert send(first, appeal.public_id, choice="uphold").status_code == 404
    assert [vote.choice for vote in count_of(appeal.case).votes] == [VoteChoice.UPHOLD]
