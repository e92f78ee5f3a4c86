"""API views of attacks: send one, and list those of the caller's team."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from common.errors import InvalidInput
from common.web.body_limits import limit_body
from contest.api.bodies import Body
from contest.api.lists import list_page
from contest.attacks import quota
from contest.attacks.attack_states import AttackState, attack_statuses
from contest.attacks.receipts import attack_receipt, attack_receipt_json, refusal_json
from contest.attacks.selectors import attacks_by_team
from contest.attacks.services import MAX_NAME_CHARACTERS, SentBefore, attack_receive
from contest.attacks.uploads import MAX_ENTRIES
from contest.core.models import Attack, Team
from contest.core.roles import own_team_of
from contest.web.attack_uploads import MAX_UPLOAD_BYTES, uploading
from labeling.pages.shapes import ErrorOut
from policy.selectors import policy_in_force

EXAMPLE = {
    "id": "A-7Q4M2K9X",
    "received_at": "2026-11-20T23:41:12.482913Z",
    "week": "2026-W47",
    "week_ends_at": "2026-11-21T00:00:00Z",
    "time_zone": "UTC",
    "image": "P-7Q4M2K9X",
    "sha256_pixels": "5f1d7a84b1c2e0f39a6d4b8c7e2f1053a9b6c4d8e7f20113b5a7c9d1e3f50627",
    "file_name": "heron-on-a-fence.png",
    "of_quota": 3,
    "defenses": ["D-4K7QX2M9"],
    "warnings": [],
    "copy_of": None,
    "withdrawn_at": None,
}


@extend_schema_serializer(component_name="AttackIn")
class AttackIn(Body):
    """A picture, and the defenses it is meant for."""

    image = serializers.FileField(allow_empty_file=True, help_text="The file: one picture, PNG if every pixel counts.")
    defenses = serializers.ListField(
        child=serializers.CharField(max_length=16, allow_blank=True),
        required=False,
        max_length=MAX_ENTRIES,
        help_text="IDs of defenses at stake whose time is not over, one field each; none means all of them.",
    )


class AttackOut(serializers.Serializer[Any]):
    """The receipt of an attack (R26)."""

    id = serializers.CharField()
    received_at = serializers.DateTimeField(help_text="When the last byte had arrived.")
    week = serializers.CharField(help_text="The contest week it counts for.")
    week_ends_at = serializers.DateTimeField(help_text="Until then it is under embargo and may be withdrawn.")
    time_zone = serializers.CharField(help_text="The IANA zone the week is counted in.")
    image = serializers.CharField(help_text="The ID of the picture: its own call tells more of it.")
    sha256_pixels = serializers.CharField()
    file_name = serializers.CharField(max_length=MAX_NAME_CHARACTERS, allow_blank=True)
    of_quota = serializers.IntegerField(help_text="The how many-th picture of the team's day.")
    defenses = serializers.ListField(
        child=serializers.CharField(), help_text="Empty: all that were at stake when it was received."
    )
    warnings = serializers.ListField(child=serializers.CharField())
    copy_of = serializers.CharField(
        allow_null=True, help_text="The first receipt of the same pixels, another team's, once that one is public."
    )
    withdrawn_at = serializers.DateTimeField(allow_null=True)


class AttackReceiptOut(AttackOut):
    """The receipt of a new attack."""

    quota_left = serializers.IntegerField(help_text="What is left for the team on this day.")


class AttackStateOut(AttackOut):
    """A receipt with what became of the picture."""

    state = serializers.ChoiceField(choices=[state.value for state in AttackState])


class AttacksOut(serializers.Serializer[Any]):
    """A page of receipts, newest first."""

    count = serializers.IntegerField()
    quota_left = serializers.IntegerField()
    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")
    results = AttackStateOut(many=True)


class SentBeforeOut(serializers.Serializer[Any]):
    """A picture that the team has sent before; `receipt` is the earlier one."""

    code = serializers.CharField()
    detail = serializers.CharField()
    receipt = serializers.CharField()


_SENT_BEFORE = {"code": "sent_before", "detail": "Your team has sent exactly this picture before: receipt A-7Q4M2K9X."}


def _refuse_several(request: Request) -> None:
    """Raise InvalidInput (`several_pictures`): of several parts with one name the library silently keeps the last."""
    if len(request.FILES.getlist("image")) > 1:
        raise InvalidInput("Send one picture per call: each has its own receipt.", "several_pictures", field="image")


@limit_body(MAX_UPLOAD_BYTES)
class Attacks(APIView):
    """The attacks of the caller's team."""

    parser_classes = (MultiPartParser,)

    @extend_schema(
        operation_id="attack_send",
        tags=["attacks"],
        summary="Send an attack",
        request={"multipart/form-data": AttackIn},
        responses={
            201: AttackReceiptOut,
            (400, "application/json"): ErrorOut,
            (401, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
            (404, "application/json"): ErrorOut,
            (409, "application/json"): SentBeforeOut,
            (415, "application/json"): OpenApiResponse(ErrorOut, description="The body is not multipart/form-data"),
            (429, "application/json"): ErrorOut,
            (503, "application/json"): ErrorOut,
        },
        examples=[
            OpenApiExample("receipt", EXAMPLE | {"quota_left": 7}, response_only=True, status_codes=["201"]),
            OpenApiExample(
                "sent before",
                _SENT_BEFORE | {"receipt": "A-7Q4M2K9X"},
                response_only=True,
                status_codes=["409"],
            ),
        ],
    )
    def post(self, request: Request) -> Response:
        """Send one picture as `multipart/form-data`; the receipt says when its last byte had arrived.

        It must be exactly as large as the contest's pictures, RGB, 8 bits, one frame: 400 names what to change, and a
        refused picture costs nothing. One call takes one picture: several parts called `image` are 400
        `several_pictures`. 403 `not_entitled` where the team may not attack yet, 429 `quota_used` when
        nothing is left for the day, 429 `too_many_refused` after too many refusals in an hour, 503 `busy` while too
        many pictures arrive at once, each with `Retry-After`. 409 `sent_before` with the earlier receipt for a picture
        that was sent already: sending again after a lost answer is safe.
        """
        with uploading(request.user) as team:
            return self._take(request, team)

    def _take(self, request: Request, team: Team) -> Response:
        body = AttackIn(data=request.data)
        # The body has been read to its end, which is the moment that counts (R23).
        now = domain_now()
        _refuse_several(request)
        body.is_valid(raise_exception=True)
        file, policy = body.validated_data["image"], policy_in_force(now).policy
        try:
            attack = attack_receive(
                team=team,
                data=file.read(),
                policy=policy,
                now=now,
                by=request.user,  # type: ignore[arg-type]  # a member is signed in
                targets=body.validated_data.get("defenses", []),
                file_name=file.name or "",
            )
        except SentBefore as error:
            return Response(refusal_json(error, error.attack), status=status.HTTP_409_CONFLICT)
        receipt = attack_receipt_json(attack_receipt(attack, unrestricted=False, now=now))
        left = quota.quota_left(team, policy=policy, now=now)
        return Response(receipt | {"quota_left": left}, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="attack_list",
        tags=["attacks"],
        summary="My team's attacks",
        parameters=[OpenApiParameter("page", int, description="From 1 on; 50 receipts each.")],
        responses={
            200: AttacksOut,
            (401, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
            (404, "application/json"): ErrorOut,
        },
        examples=[
            OpenApiExample(
                "one attack",
                {
                    "count": 1,
                    "quota_left": 7,
                    "next": None,
                    "results": [EXAMPLE | {"state": "under embargo"}],
                },
                response_only=True,
            )
        ],
    )
    def get(self, request: Request) -> Response:
        """List what the caller's team sent, newest first, with its state and outcome."""
        team, now = own_team_of(request.user), domain_now()

        def write(attacks: list[Attack]) -> list[dict[str, Any]]:
            found = attack_statuses(attacks, unrestricted=False, now=now)
            receipts = ((attack_receipt(each, unrestricted=False, now=now), found[each.pk]) for each in attacks)
            return [attack_receipt_json(receipt, state=state) for receipt, state in receipts]

        left = quota.quota_left(team, policy=policy_in_force(now).policy, now=now)
        return Response({**list_page(request, attacks_by_team(team), "api-attacks", write), "quota_left": left})
