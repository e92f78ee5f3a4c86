"""API calls of appeals: sending one, and listing the team's own."""

from typing import Any

from django.core.paginator import Paginator
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from common.web.json_parser import JSONParser
from contest.api.appeal_shapes import EXAMPLE, AppealedOut, AppealIn, AppealOut, AppealsOut
from contest.appeals.grounds import AlreadyAppealed, reader_for
from contest.appeals.services import appeal_send, appeals_of, decision_of, is_changed
from contest.board.models import Appeal
from contest.core.enums import CaseState
from contest.core.picture_access import picture_seen_by
from contest.core.roles import own_team_of
from labeling.notices import iso
from labeling.pages.shapes import ErrorOut

ON_A_PAGE = 50
_APPEALED = {
    "code": "appealed",
    "detail": "Your team has appealed this picture: receipt L-7Q4M2K. A team has one appeal per picture.",
    "receipt": "L-7Q4M2K",
}


class Appeals(APIView):
    """The appeals of the caller's team."""

    parser_classes = (JSONParser,)

    @extend_schema(
        operation_id="appeal_send",
        tags=["appeals"],
        summary="Appeal a ruling",
        request=AppealIn,
        responses={
            201: AppealOut,
            (400, "application/json"): ErrorOut,
            (401, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
            (404, "application/json"): ErrorOut,
            (409, "application/json"): AppealedOut,
        },
        examples=[
            OpenApiExample(
                "with a mark",
                {name: EXAMPLE[name] for name in ("image", "argument", "marks")},
                request_only=True,
            ),
            OpenApiExample("received", EXAMPLE, response_only=True, status_codes=["201"]),
            OpenApiExample("appealed before", _APPEALED, response_only=True, status_codes=["409"]),
        ],
    )
    def post(self, request: Request) -> Response:
        """Appeal the ruling that holds on a picture (R18); the answer is the receipt.

        A valid verdict is appealed by a team whose defense was at stake when the ruling was made, unless its time was
        over when the picture was sent, and that did not send it; a rejection by a team that sent the picture. 400
        `says_too_little` for an argument that is too short; 404 `not_found` for a picture that the caller may not see;
        403 `wrong_side`; 409 `not_ruled`, `window_over`, `being_decided` while more taskers are asked, and `appealed`
        with the earlier receipt: a team has one appeal per picture, so that sending again after a lost answer is safe.
        """
        team, now = own_team_of(request.user), domain_now()
        body = AppealIn(data=request.data)
        body.is_valid(raise_exception=True)
        image = picture_seen_by(body.validated_data["image"], reader_for(team), now=now)
        try:
            appeal = appeal_send(
                image=image,
                team=team,
                argument=body.validated_data["argument"],
                marks=body.validated_data.get("marks", []),
                by=request.user,  # type: ignore[arg-type]  # a member is signed in
                now=now,
            )
        except AlreadyAppealed as error:
            told = {"code": error.code, "detail": error.message, "receipt": error.appeal.public_id}
            return Response(told, status=status.HTTP_409_CONFLICT)
        return Response(appeal_json(appeal), status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="appeal_list",
        tags=["appeals"],
        summary="My team's appeals",
        parameters=[OpenApiParameter("page", int, description="From 1 on; 50 appeals each.")],
        responses={
            200: AppealsOut,
            (401, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
            (404, "application/json"): ErrorOut,
        },
        examples=[
            OpenApiExample("one appeal", {"count": 1, "next": None, "results": [EXAMPLE]}, response_only=True),
        ],
    )
    def get(self, request: Request) -> Response:
        """List what the caller's team appealed, newest first, with what became of it."""
        page = Paginator(appeals_of(own_team_of(request.user)), ON_A_PAGE).get_page(request.query_params.get("page"))
        following = f"{reverse('api-appeals')}?page={page.next_page_number()}" if page.has_next() else None
        results = [appeal_json(each) for each in page.object_list]
        return Response({"count": page.paginator.count, "next": following, "results": results})


def appeal_json(appeal: Appeal) -> dict[str, Any]:
    """Return an appeal as the API writes it."""
    case, decision = appeal.case, decision_of(appeal.case)
    return {
        "id": appeal.public_id,
        "case": case.public_id,
        "image": appeal.image.public_id,
        "side": appeal.side,
        "defense": appeal.defense.public_id if appeal.defense else None,
        "ruling": appeal.ruling.number,
        "argument": appeal.argument,
        "marks": appeal.marks,
        "sent_at": iso(appeal.sent_at),
        "state": case.state,
        "due_at": iso(case.due_at),
        "outcome": decision.outcome if decision else None,
        "decided_at": iso(decision.decided_at) if decision else None,
        "changed": is_changed(appeal) if case.state == CaseState.CLOSED else None,
    }
