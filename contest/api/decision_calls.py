"""API view for the review board: vote on the case of an appeal, and confirm the decision."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from adjudication.counting import CHOICES, Ballot
from adjudication.rules import REASONS
from adjudication.services import MAX_EXPLANATION_CHARACTERS
from common.domain_clock import domain_now
from common.errors import InvalidInput
from contest.api.bodies import Body
from contest.appeals.services import case_of_appeal
from contest.board.cases import (
    MAX_VOTE_CHARACTERS,
    MIN_TEXT,
    VoteCount,
    ballot_of,
    case_opened_by,
    count_of,
    vote_cast,
)
from contest.board.decisions import case_decide
from contest.core.enums import CaseKind, CaseOutcome, CaseState, VoteChoice
from contest.core.models import Case
from contest.core.roles import board_member_of
from labeling.enums import Label
from labeling.pages.shapes import ErrorOut

_OUTCOME = {"label": "bird", "reasons": []}
_EXAMPLE = {
    "case": "C-7Q4M2K",
    "state": "open",
    "vote": {"choice": "overrule", **_OUTCOME},
    "votes": [{"choice": "overrule", **_OUTCOME}, {"choice": "uphold", "label": "", "reasons": []}],
    "quorum": 2,
    "mark": "17-18",
    "decides": {"choice": "uphold", "label": "", "reasons": []},
    "outcome": "",
}


class DecisionIn(Body):
    """A vote: `choice`, and what goes with it. Or the confirmation of what the votes decide: `seen`, and the
    explanation."""

    choice = serializers.ChoiceField(
        choices=[each.value for each in CHOICES[CaseKind.PICTURE]],
        required=False,
        help_text="What you vote for; leave it out to confirm.",
    )
    label = serializers.ChoiceField(  # type: ignore[assignment]  # the name of the contract, of a field in the library
        choices=[each.value for each in Label], required=False, help_text="The class, of a vote to overrule."
    )
    reasons = serializers.ListField(
        child=serializers.ChoiceField(choices=[each.value for each in REASONS]),
        required=False,
        max_length=len(REASONS),
        help_text="The reasons of a rejection, of a vote to overrule.",
    )
    words = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_VOTE_CHARACTERS,
        help_text=f"Your own words on your vote: none, or {MIN_TEXT}.",
    )
    public = serializers.BooleanField(required=False, help_text="Publish your words with the decision.")
    seen = serializers.CharField(
        required=False, max_length=1000, help_text="The `mark` of the votes that you saw and confirm."
    )
    explanation = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_EXPLANATION_CHARACTERS,
        help_text="The public explanation; an overrule needs one that says something.",
    )


class BallotOut(serializers.Serializer[Any]):
    """What a vote is for."""

    choice = serializers.ChoiceField(choices=[each.value for each in CHOICES[CaseKind.PICTURE]])
    label = serializers.CharField(  # type: ignore[assignment]  # as above
        help_text="The class, of an overrule to valid; else empty."
    )
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Of an overrule to rejected; else empty.")


class DecisionOut(serializers.Serializer[Any]):
    """How the case stands after the call."""

    case = serializers.CharField()
    state = serializers.ChoiceField(choices=[each.value for each in CaseState])
    vote = BallotOut(help_text="Your vote that counts.")
    votes = BallotOut(many=True, help_text="All votes that count, in the order of casting, without names.")
    quorum = serializers.IntegerField(help_text="How many votes a decision needs.")
    mark = serializers.CharField(help_text="What to send as `seen` to confirm these votes.")
    decides = BallotOut(help_text="What these votes decide; a tie upholds the ruling.")
    outcome = serializers.CharField(help_text="What was decided; empty while the case is open.")


class Decisions(APIView):
    """The board on an appeal."""

    @extend_schema(
        operation_id="appeal_decide",
        tags=["appeals"],
        summary="Vote on an appeal, or confirm the decision",
        parameters=[
            OpenApiParameter("public_id", OpenApiTypes.STR, OpenApiParameter.PATH, description="Like L-7Q4M2K.")
        ],
        request=DecisionIn,
        responses={
            201: DecisionOut,
            (400, "application/json"): ErrorOut,
            (401, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
            (404, "application/json"): OpenApiResponse(
                ErrorOut, description="No appeal has this ID, or you step aside from its case (R21)"
            ),
            (409, "application/json"): ErrorOut,
        },
        examples=[
            OpenApiExample(
                "a vote",
                {"choice": "overrule", "label": "bird", "words": "All of it can be seen.", "public": True},
                request_only=True,
            ),
            OpenApiExample(
                "the confirmation",
                {"seen": "17-18", "explanation": "The wing that one tasker took for hidden is folded, not hidden."},
                request_only=True,
            ),
            OpenApiExample("how it stands", _EXAMPLE, response_only=True, status_codes=["201"]),
        ],
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Vote on the case of an appeal, as a member of the review board; or confirm what the votes decide.

        With `choice` it is a vote, which can be changed until the case is decided: an overrule names a `label`, or the
        `reasons` of a rejection. With `seen` it is the confirmation of the votes with that `mark`. 409
        `disclose_first`: first state on the page of the case any conflict of interest with its teams. 409
        `no_quorum`, `votes_changed`, `ruling_changed`, `decided`: nothing was decided by this call.
        """
        member = board_member_of(request.user)
        case = case_of_appeal(public_id, member)
        body = DecisionIn(data=request.data)
        body.is_valid(raise_exception=True)
        _act(case, body.validated_data, member)
        shown = case_opened_by(member, case.public_id)
        return Response(_standing(shown, count_of(shown), member), status=status.HTTP_201_CREATED)


def _act(case: Case, given: Mapping[str, Any], member: User) -> None:
    now = domain_now()
    if ("choice" in given) == ("seen" in given):
        raise InvalidInput(
            "Send `choice` to vote, or `seen` to confirm what the votes decide.", "invalid", field="choice"
        )
    if "seen" in given:
        case_decide(case=case, seen=given["seen"], explanation=given.get("explanation", ""), by=member, now=now)
        return
    vote_cast(
        case=case,
        by=member,
        choice=VoteChoice(given["choice"]),
        label=given.get("label", ""),
        reasons=given.get("reasons", ()),
        words=given.get("words", ""),
        public=given.get("public", False),
        now=now,
    )


def _standing(case: Case, count: VoteCount, member: User) -> dict[str, Any]:
    decision = getattr(case, "decision", None)
    mine = next(vote for vote in count.votes if vote.member_id == member.pk)
    return {
        "case": case.public_id,
        "state": case.state,
        "vote": _ballot(ballot_of(mine)),
        "votes": [_ballot(ballot_of(vote)) for vote in count.votes],
        "quorum": count.quorum,
        "mark": count.mark,
        "decides": _ballot(count.decides),
        "outcome": CaseOutcome(decision.outcome).value if decision is not None else "",
    }


def _ballot(ballot: Ballot) -> dict[str, Any]:
    return {"choice": ballot.choice.value, "label": ballot.label, "reasons": list(ballot.reasons)}
