"""What the board decides about a picture, and that it does so once (R19-R22)."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.http import Http404
from django.urls import reverse

from adjudication.counting import Ballot
from adjudication.enums import DecidedBy
from adjudication.models import Ruling
from common.errors import Conflict, DomainError, InvalidInput, NotAllowed
from contest.board.appeals import appeal_send
from contest.board.cases import count_of, parties_refresh, vote_cast
from contest.board.deciding import case_decide, cases_close
from contest.enums import CaseOutcome, CaseState, VoteChoice
from contest.models import Case, CaseDecision, CaseParty, Member, Message, Team, Vote
from labeling.enums import PanelState
from labeling.models import Panel, Report
from tests import factories
from tests.contest.board import cast
from tests.contest.board.cast import LATER, OVERRULE_BICYCLE, OVERRULE_BIRD, OVERRULE_REJECTED, SURE, UNSURE, Scene
from tests.contest.money import cast as money

pytestmark = pytest.mark.django_db
UPHOLD, MORE = VoteChoice.UPHOLD, VoteChoice.MORE_TASKERS
AFTER = LATER + timedelta(hours=5)


def newest(scene: Scene) -> Ruling:
    return Ruling.objects.filter(image=scene.image).order_by("-number")[0]


def refused(code: str, call: Any, *args: Any, **more: Any) -> DomainError:
    with pytest.raises(DomainError) as found:
        call(*args, **more)
    assert found.value.code == code
    return found.value


def test_upheld_the_ruling_stays_and_the_case_is_closed() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], UPHOLD)
    made = cast.decide(case, scene.members[0], explanation="")
    case.refresh_from_db()
    assert (made.outcome, case.state, case.result) == (CaseOutcome.UPHOLD, CaseState.CLOSED, scene.ruling)
    assert newest(scene) == scene.ruling


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
    valid: bool, ballot: Ballot, verdict: str, label: str, reasons: list[str]
) -> None:
    scene = Scene.make(valid=valid)
    case = scene.opened()
    cast.votes(case, scene.members[:2], ballot)
    made = cast.decide(case, scene.members[1])
    ruling = newest(scene)
    assert (ruling.number, ruling.verdict, ruling.label, ruling.reasons) == (2, verdict, label, reasons)
    assert (ruling.decided_by, ruling.explanation, made.ruling) == (DecidedBy.BOARD, cast.WHY, ruling)
    assert ruling.response_ids == scene.ruling.response_ids, "responses never change (R20)"


def test_an_overrule_can_be_overruled() -> None:
    scene = Scene.make()
    first = scene.opened()
    cast.votes(first, scene.members[:2], OVERRULE_REJECTED)
    cast.decide(first, scene.members[0])
    second = scene.opened(now=AFTER)
    assert second.ruling == newest(scene) and second != first
    cast.votes(second, scene.members[1:], OVERRULE_BIRD, AFTER)
    cast.decide(second, scene.members[1], AFTER)
    assert [(each.number, each.label) for each in scene.image.rulings.order_by("number")] == [
        (1, "bird"), (2, ""), (3, "bird"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("explanation", "code"),
    [("", "invalid"), ("   \n", "invalid"), ("Wrong.", "says_too_little"), ("no " * 30, "says_too_little")],
)
def test_an_overrule_without_an_explanation_that_says_something_is_refused(explanation: str, code: str) -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    error = refused(code, cast.decide, case, scene.members[0], explanation=explanation)
    assert isinstance(error, InvalidInput)
    case.refresh_from_db()
    assert case.state == CaseState.OPEN and not CaseDecision.objects.exists()


# More taskers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "verdict", "reasons", "why"),
    [
        ([SURE, SURE, SURE], "valid", [], "unanimity covers all six"),
        ([SURE, UNSURE, SURE], "rejected", ["uncertain"], "one of the new ones is uncertain"),
    ],
)
def test_more_taskers_join_the_panel_of_a_valid_verdict(
    said: list[dict[str, Any]], verdict: str, reasons: list[str], why: str
) -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], MORE)
    made = cast.decide(case, scene.members[0])
    panel = Panel.objects.get(image=scene.image)
    assert (made.panel, panel.size, panel.state) == (panel, 6, PanelState.OPEN)
    assert cases_close(now=AFTER) == 0, "nothing was ruled yet"
    cast.answers(panel, *said, now=AFTER)
    ruling = cast.rule(panel, now=AFTER)
    assert (ruling.verdict, ruling.reasons, len(ruling.response_ids)) == (verdict, reasons, 6), why
    assert (cases_close(now=AFTER), cases_close(now=AFTER)) == (1, 0)
    case.refresh_from_db()
    assert (case.state, case.result, case.closed_at) == (CaseState.CLOSED, ruling, AFTER)


def test_what_more_taskers_led_to_is_told_also_where_it_is_the_same() -> None:
    scene = Scene.make()
    captain = factories.user("carla", "teams")
    Member.objects.create(team=scene.red, user=captain)
    case = scene.opened()
    cast.votes(case, scene.members[:2], MORE)
    panel = cast.decide(case, scene.members[0]).panel
    assert panel is not None
    panel.refresh_from_db()
    cast.answers(panel, SURE, SURE, SURE, now=AFTER)
    cast.rule(panel, now=AFTER)
    cases_close(now=AFTER)
    told = Message.objects.filter(user=captain, kind="case_decided").order_by("pk")
    assert [each.facts["outcome"] for each in told] == [
        "more taskers are asked",
        "the taskers who were asked in addition have answered, and the ruling is valid, a bird",
    ]


@pytest.mark.parametrize(
    ("said", "verdict", "why"),
    [
        ([SURE, SURE, SURE], "valid", "the fresh panel agrees against the first, and replaces it"),
        ([SURE, SURE, UNSURE], "rejected", "the fresh panel finds the same"),
    ],
)
def test_a_fresh_panel_replaces_that_of_a_rejection(said: list[dict[str, Any]], verdict: str, why: str) -> None:
    scene = Scene.make(valid=False)
    case = scene.opened()
    cast.votes(case, scene.members[:2], MORE)
    made = cast.decide(case, scene.members[0])
    assert made.panel is not None and (made.panel.number, made.panel.size) == (2, 3)
    cast.answers(made.panel, *said, now=AFTER)
    ruling = cast.rule(made.panel, now=AFTER)
    assert (ruling.number, ruling.verdict, len(ruling.response_ids)) == (2, verdict, 3), why
    assert cases_close(now=AFTER) == 1
    assert Panel.objects.filter(image=scene.image).count() == 2, "both panels stay on record"


def test_a_picture_that_is_kept_out_meanwhile_keeps_its_ruling_and_closes_the_case(olga: User) -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], MORE)
    cast.decide(case, scene.members[0])
    rosa = factories.tasker("rosa")
    asked = factories.assignment(rosa, Panel.objects.get(image=scene.image), state="released")
    told = {"reported_at": LATER, "decided_at": AFTER, "decided_by": olga, "decision": "kept_out"}
    Report.objects.create(assignment=asked, image=scene.image, tasker=rosa, kind="offensive", **told)
    assert cases_close(now=AFTER) == 1
    case.refresh_from_db()
    assert (case.state, case.result) == (CaseState.CLOSED, scene.ruling)


def test_no_more_join_than_there_is_room_for() -> None:
    scene = Scene.make()
    for asked, size in ((3, 6), (3, 9)):
        case = scene.opened(now=AFTER)
        cast.votes(case, scene.members[:2], MORE, AFTER)
        panel = cast.decide(case, scene.members[0], AFTER).panel
        assert panel is not None and panel.size == size
        cast.answers(panel, *[SURE] * asked, now=AFTER)
        cast.rule(panel, now=AFTER)
        cases_close(now=AFTER)
    case = scene.opened(now=AFTER)
    cast.votes(case, scene.members[:2], MORE, AFTER)
    refused("panel_too_large", cast.decide, case, scene.members[0], AFTER)


def test_while_taskers_are_asked_nothing_else_is_decided_about_the_picture() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], MORE)
    cast.decide(case, scene.members[0])
    refused("being_decided", scene.opened, now=AFTER)
    refused("decided", cast.vote, case, scene.members[2], UPHOLD, AFTER)


# Quorum, changes of mind, recusal -------------------------------------------------------------------------------------


def test_one_vote_is_no_quorum() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.vote(case, scene.members[0], UPHOLD)
    error = refused("no_quorum", cast.decide, case, scene.members[0])
    assert "1 more" in error.message and Vote.objects.count() == 1


def test_a_member_changes_their_vote_until_it_is_decided() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    cast.vote(case, scene.members[0], UPHOLD)
    assert count_of(case).decides == Ballot(UPHOLD), "one and one is a tie"
    cast.vote(case, scene.members[1], UPHOLD)
    made = cast.decide(case, scene.members[1], explanation="")
    assert made.outcome == CaseOutcome.UPHOLD and [each["choice"] for each in made.votes] == ["uphold", "uphold"]
    assert Vote.objects.filter(case=case).count() == 4, "all votes stay on record"
    refused("decided", cast.vote, case, scene.members[0], MORE)


def test_a_tie_waits_for_who_may_still_vote_until_the_clock_is_over() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.vote(case, scene.members[0], OVERRULE_REJECTED)
    cast.vote(case, scene.members[1], UPHOLD)
    refused("tie", cast.decide, case, scene.members[1])
    made = cast.decide(case, scene.members[1], case.due_at, explanation="")
    assert made.outcome == CaseOutcome.UPHOLD


def test_members_who_reject_for_different_reasons_reject() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.vote(case, scene.members[0], OVERRULE_REJECTED)
    cast.vote(case, scene.members[1], Ballot(VoteChoice.OVERRULE, reasons=("truncated", "too_small")))
    cast.vote(case, scene.members[2], UPHOLD)
    made = cast.decide(case, scene.members[0])
    assert made.reasons == newest(scene).reasons == ["too_small", "occluded", "truncated"]
    assert [each["dissent"] for each in made.votes] == [False, False, True]


def test_reasons_that_add_up_to_those_of_the_ruling_decide_nothing() -> None:
    scene = Scene.make()
    first = scene.opened()
    cast.votes(first, scene.members[:2], Ballot(VoteChoice.OVERRULE, reasons=("occluded", "truncated")))
    cast.decide(first, scene.members[0])
    case = scene.opened(now=AFTER)
    cast.vote(case, scene.members[0], OVERRULE_REJECTED, AFTER)
    cast.vote(case, scene.members[1], Ballot(VoteChoice.OVERRULE, reasons=("truncated",)), AFTER)
    refused("same", cast.decide, case, scene.members[0], AFTER)


def test_votes_that_changed_since_are_not_confirmed_unseen() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    seen = count_of(case).mark
    cast.vote(case, scene.members[1], UPHOLD)
    told = {"seen": seen, "explanation": cast.WHY, "by": scene.members[0], "now": LATER}
    refused("votes_changed", case_decide, case=case, **told)


def test_only_who_voted_confirms() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], UPHOLD)
    cast.tell(case, scene.members[2])
    assert isinstance(refused("no_vote", cast.decide, case, scene.members[2]), NotAllowed)


def test_nobody_votes_before_they_said_that_nothing_ties_them() -> None:
    scene = Scene.make()
    case = scene.opened()
    refused("disclose_first", vote_cast, case=case, by=scene.members[0], choice=UPHOLD, now=LATER)


@pytest.mark.parametrize("side", ["red", "blue"])
def test_who_steps_aside_cannot_vote_and_the_case_is_not_there_for_them(side: str) -> None:
    scene = Scene.make()
    cast.conflict(scene.members[0], getattr(scene, side))
    case = scene.opened()
    with pytest.raises(Http404):
        vote_cast(case=case, by=scene.members[0], choice=UPHOLD, now=LATER)


def test_the_vote_of_who_steps_aside_afterwards_counts_no_more_and_quorum_is_lost() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], UPHOLD)
    cast.conflict(scene.members[0], scene.blue, since=LATER)
    assert [vote.member for vote in count_of(case).votes] == [scene.members[1]]
    refused("no_quorum", cast.decide, case, scene.members[1])
    with pytest.raises(Http404):
        cast.decide(case, scene.members[0])
    cast.vote(case, scene.members[2], UPHOLD)
    made = cast.decide(case, scene.members[1], explanation="")
    assert (len(made.votes), made.recused) == (2, 1)


def late_party(scene: Scene) -> Team:
    """A team whose defense the picture turns out to break, though nobody aimed at it."""
    green = money.team("green")
    late = money.staked(money.defense("late", green), at=scene.attack.received_at + timedelta(hours=1))
    money.broken(late.defense, scene.attack)
    return green


def test_a_team_that_the_case_is_about_by_now_counts_before_any_sweep() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], UPHOLD)
    cast.conflict(scene.members[0], late_party(scene))
    refused("disclose_first", cast.decide, case, scene.members[1])
    parties_refresh(case.public_id, now=LATER)
    with pytest.raises(Http404):
        cast.decide(case, scene.members[0])


@pytest.mark.parametrize(
    ("days", "party", "why"),
    [
        (1, True, "later in the week of the attack, which is paid for breaking it (R35)"),
        (7, False, "in the week after"),
    ],
)
def test_a_team_whose_stake_began_in_the_week_of_the_attack_is_part_of_its_case(
    days: int, party: bool, why: str
) -> None:
    scene = Scene.make()
    case = scene.opened()
    green = money.team("green")
    money.staked(money.defense("late", green), at=scene.attack.received_at + timedelta(days=days))
    parties_refresh(case.public_id, now=LATER)
    assert CaseParty.objects.filter(case=case, team=green).exists() is party, why


@pytest.mark.parametrize("page", ["board-case", "board-case-disclose", "board-case-decide"])
def test_nobody_looks_at_a_case_before_its_new_team_is_recorded(page: str, stan: User, signed_in: Any) -> None:
    """Recording it is the sweep's work: looking at a page writes nothing, and hides the content meanwhile (R21)."""
    scene = Scene.make()
    case = scene.opened()
    cast.tell(case, scene.members[0])
    late_party(scene)
    parties, address = CaseParty.objects.count(), reverse(page, args=[case.public_id])
    answer = signed_in(scene.members[0]).get(address)
    assert (answer.status_code, answer["Retry-After"], CaseParty.objects.count()) == (503, "15", parties)
    assert signed_in(stan).get(address).status_code in (403, 404)
    parties_refresh(case.public_id, now=LATER)
    answer = signed_in(scene.members[0]).get(reverse("board-case-disclose", args=[case.public_id]))
    assert answer.status_code == 200 and "green" in answer.content.decode()


def test_a_vote_counts_once_its_member_spoke_about_every_team() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], UPHOLD)
    late_party(scene)
    parties_refresh(case.public_id, now=LATER)
    cast.tell(case, scene.members[1])
    count = count_of(case)
    assert ([vote.member for vote in count.votes], count.waiting) == ([scene.members[1]], 1)
    refused("no_quorum", cast.decide, case, scene.members[1])
    cast.tell(case, scene.members[0])
    assert cast.decide(case, scene.members[1], explanation="").outcome == CaseOutcome.UPHOLD


def test_an_appeal_that_came_after_the_votes_is_read_before_they_are_confirmed() -> None:
    scene = Scene.make()
    case = scene.opened(by=scene.members[0])
    cast.votes(case, scene.members[:2], UPHOLD)
    seen = count_of(case).mark
    by = factories.user("nora")
    appeal_send(image=scene.image, team=scene.blue, argument=cast.WHY, marks=[], by=by, now=LATER)
    told = {"seen": seen, "explanation": "", "by": scene.members[0], "now": LATER}
    refused("votes_changed", case_decide, case=case, **told)
    assert cast.decide(case, scene.members[0], explanation="").outcome == CaseOutcome.UPHOLD


def test_remarks_beside_a_decision_are_cleaned_and_bounded() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], UPHOLD)
    refused("invalid", cast.decide, case, scene.members[0], explanation="x" * 4_001)
    assert cast.decide(case, scene.members[0], explanation=" It\x00 stands.\r\n").explanation == "It stands."


def test_who_left_the_board_counts_no_more() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], UPHOLD)
    scene.members[0].groups.clear()
    refused("no_quorum", cast.decide, case, scene.members[1])


def test_a_case_is_decided_once_and_the_database_says_so() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    made = cast.decide(case, scene.members[0])
    refused("decided", cast.decide, case, scene.members[1])
    with pytest.raises(DatabaseError), transaction.atomic():
        CaseDecision.objects.create(
            case=case, outcome="uphold", votes=[], quorum=2, recused=0, policy=made.policy, decided_at=LATER
        )
    for fact in (made, Vote.objects.all()[0]):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            type(fact).objects.filter(pk=fact.pk).delete()


def test_forgetting_a_member_keeps_what_they_decided() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    cast.decide(case, scene.members[0])
    scene.members[0].delete()
    assert CaseDecision.objects.get(case=case).confirmed_by is None
    assert Vote.objects.filter(case=case, member=None).count() == 1


def test_one_case_of_a_picture_at_a_time() -> None:
    scene = Scene.make()
    case = scene.opened()
    assert scene.opened() == case
    with pytest.raises(DatabaseError), transaction.atomic():
        Case.objects.create(
            kind="picture", image=scene.image, ruling=scene.ruling, policy=case.policy, opened_at=LATER, due_at=LATER
        )


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
def test_what_cannot_be_voted_for(choice: VoteChoice, label: str, reasons: list[str], code: str, why: str) -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.tell(case, scene.members[0])
    told = {"choice": choice, "label": label, "reasons": reasons}
    refused(code, vote_cast, case=case, by=scene.members[0], now=LATER, **told)
    assert not Vote.objects.exists(), why


def test_dissent_is_published_where_its_member_says_so() -> None:
    scene = Scene.make()
    case = scene.opened()
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    cast.vote(case, scene.members[2], UPHOLD, words="The bird is whole to me.", public=True)
    made = cast.decide(case, scene.members[0])
    told = [(each["choice"], each["dissent"], each["words"]) for each in made.votes]
    assert told == [("overrule", False, ""), ("overrule", False, ""), ("uphold", True, "The bird is whole to me.")]
    with pytest.raises(Conflict):
        cast.vote(case, scene.members[2], UPHOLD)
