"""API views of appeals: send one, and list those of the caller's team."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    extend_schema,
    extend_schema_field,
    extend_schema_serializer,
)
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from common.web.json_parser import JSONParser
from contest.api.bodies import Body
from contest.api.lists import list_page
from contest.appeals.grounds import AlreadyAppealed, reader_for
from contest.appeals.services import (
    MAX_ARGUMENT_CHARACTERS,
    MAX_MARK_CHARACTERS,
    MAX_MARKS,
    MIN_TEXT,
    appeal_send,
    appeals_of_team,
    decision_of,
    is_changed,
)
from contest.board.models import Appeal
from contest.core.enums import AppealSide, CaseOutcome, CaseState
from contest.core.picture_access import picture_seen_by
from contest.core.roles import own_team_of
from labeling.notices import iso
from labeling.pages.shapes import ErrorOut

EXAMPLE = {
    "id": "L-7Q4M2K",
    "case": "C-4K7QX2",
    "image": "P-7Q4M2K9X",
    "side": "defender",
    "defense": "D-4K7QX2M9",
    "ruling": 1,
    "argument": "The object is a toy: the marked hinge holds the wheel to the wall behind it.",
    "marks": [{"x": 120, "y": 88, "width": 40, "height": 36, "words": "the hinge"}],
    "sent_at": "2026-11-26T09:12:44.120931Z",
    "state": "open",
    "due_at": "2026-12-10T09:12:44.120931Z",
    "outcome": None,
    "decided_at": None,
    "changed": None,
}


@extend_schema_serializer(component_name="Mark")
class Mark(serializers.Serializer[Any]):
    """A rectangle on the picture, in whole pixels, with what is to be seen there."""

    x = serializers.IntegerField(min_value=0)
    y = serializers.IntegerField(min_value=0)
    width = serializers.IntegerField(min_value=1)
    height = serializers.IntegerField(min_value=1)
    words = serializers.CharField(required=False, allow_blank=True, max_length=MAX_MARK_CHARACTERS)


@extend_schema_field(Mark(many=True))
class Marks(serializers.ListField):
    """What `contest.appeals.services.validate_marks` reads, as it came."""

    child = serializers.JSONField()


@extend_schema_serializer(component_name="AppealIn")
class AppealIn(Body):
    """An appeal against the ruling that holds on a picture."""

    image = serializers.CharField(max_length=16, help_text="The ID of the picture.")
    argument = serializers.CharField(
        trim_whitespace=True,
        help_text=f"Why the ruling is wrong: {MIN_TEXT}, and at most {MAX_ARGUMENT_CHARACTERS:,} characters.",
    )
    marks = Marks(
        required=False,
        help_text=f"At most {MAX_MARKS} rectangles inside the picture: x, y, width and height in whole pixels, and"
        f" up to {MAX_MARK_CHARACTERS} characters of words.",
    )


class AppealOut(serializers.Serializer[Any]):
    """An appeal, and how far the board is with its case."""

    id = serializers.CharField()
    case = serializers.CharField()
    image = serializers.CharField()
    side = serializers.ChoiceField(choices=[each.value for each in AppealSide])
    defense = serializers.CharField(allow_null=True, help_text="A defender's that is at stake.")
    ruling = serializers.IntegerField(help_text="The number of the ruling that it is against.")
    argument = serializers.CharField()
    marks = Mark(many=True)
    sent_at = serializers.DateTimeField()
    state = serializers.ChoiceField(
        choices=[each.value for each in CaseState],
        help_text="`open`: the board votes; `panel`: more taskers are asked; `closed`: nothing more comes of it.",
    )
    due_at = serializers.DateTimeField(help_text="By then the board should decide.")
    outcome = serializers.ChoiceField(choices=[each.value for each in CaseOutcome], allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    changed = serializers.BooleanField(
        allow_null=True, help_text="Whether another verdict or class holds; null while the case is not closed."
    )


class AppealsOut(serializers.Serializer[Any]):
    """A page of the team's appeals."""

    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    results = AppealOut(many=True)


class AppealedOut(serializers.Serializer[Any]):
    """A refusal, with the earlier receipt where there is one."""

    code = serializers.CharField()
    detail = serializers.CharField()
    receipt = serializers.CharField(required=False)


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

        A valid verdict is appealed by a team whose defense was put at stake before the ruling, unless its time was over
        or its stake returned when the picture was sent, and that did not send it; a rejection by a team that sent the
        picture. 400 `says_too_little` for an argument that is too short; 404 `not_found` for a picture that the caller
        may not see; 403 `wrong_side`; 409 `not_ruled`, `window_over`, `being_decided` while more taskers are asked, and
        `appealed` with the earlier receipt: a team has one appeal per picture, so that sending again after a lost
        answer is safe.
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
        """List what the caller's team appealed, newest first, with its state and outcome."""
        rows = appeals_of_team(own_team_of(request.user))
        return Response(list_page(request, rows, "api-appeals", lambda page: [appeal_json(each) for each in page]))


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
