"""API views of one picture and of its rulings."""

from typing import Any

from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from adjudication.enums import DecidedBy, Reason, Verdict
from adjudication.models import Ruling
from adjudication.schema import cells
from common.domain_clock import domain_now
from common.errors import InvalidInput, WrongFields
from contest.api.appeal_calls import Marks
from contest.api.lists import list_page
from contest.core.enums import AppealSide, CaseOutcome
from contest.core.picture_access import (
    KnownImage,
    Reader,
    is_picture_id,
    picture_known_to,
    picture_seen_by,
    rulings_seen_by,
)
from contest.record.closed_cases import appeals_json
from labeling.enums import Label, Origin
from labeling.notices import iso
from labeling.pages.shapes import ErrorOut, PictureOut
from labeling.pictures.addresses import picture_url

RULING = {
    "image": "P-7Q4M2K9X",
    "number": 1,
    "decided_at": "2026-11-22T10:12:44.120394Z",
    "decided_by": "rules",
    "panel": 1,
    "verdict": "valid",
    "label": "bird",
    "reasons": [],
    "smallest_box_fraction": "10403/35760",
    "policy_version": 3,
    "explanation": "",
}
PICTURE: dict[str, Any] = {
    "id": "P-7Q4M2K9X",
    "sha256_pixels": "5f1d7a84b1c2e0f39a6d4b8c7e2f1053a9b6c4d8e7f20113b5a7c9d1e3f50627",
    "origin": "attack",
    "received_at": "2026-11-20T23:41:12.482913Z",
    "week": "2026-W47",
    "public": True,
    "released": True,
    "picture": {"url": "/pictures/Xq3f0Zk9…", "width": 299, "height": 299},
    "attacks": [
        {
            "id": "A-7Q4M2K9X",
            "team": {"id": "G-7Q4M2", "name": "red"},
            "received_at": "2026-11-20T23:41:12.482913Z",
            "week": "2026-W47",
            "withdrawn_at": None,
        }
    ],
    "ruling": RULING,
    "appeals": [
        {
            "id": "L-7Q4M2K",
            "case": "C-4K7QX2",
            "team": {"id": "G-4K7QX", "name": "blue"},
            "side": "defender",
            "defense": "D-4K7QX2M9",
            "ruling": 1,
            "argument": "The object is a toy: the marked hinge holds the wheel to the wall behind it.",
            "marks": [{"x": 120, "y": 88, "width": 40, "height": 36, "words": "the hinge"}],
            "sent_at": "2026-11-26T09:12:44.120931Z",
            "outcome": "uphold",
            "explanation": "",
            "decided_at": "2026-12-01T15:02:10.551204Z",
        }
    ],
}


class RulingOut(serializers.Serializer[Any]):
    """A decision on a picture (R13-R17, R20); the one with the highest number holds."""

    image = serializers.CharField()
    number = serializers.IntegerField(help_text="From 1 on; nothing is ever changed or taken out.")
    decided_at = serializers.DateTimeField()
    decided_by = serializers.ChoiceField(choices=list(DecidedBy))
    panel = serializers.IntegerField(help_text="The number of the panel whose answers it counts.")
    verdict = serializers.ChoiceField(choices=list(Verdict))
    # `label` is taken: a serializer's own name.
    label = serializers.ChoiceField(choices=list(Label), allow_null=True)  # type: ignore[assignment]
    reasons = serializers.ListField(
        child=serializers.ChoiceField(choices=list(Reason)), help_text="Why it was rejected: all that apply, in order."
    )
    smallest_box_fraction = serializers.CharField(
        allow_null=True, help_text="The share of the picture, exactly, as a/b; null where nobody outlined anything."
    )
    policy_version = serializers.IntegerField()
    explanation = serializers.CharField(allow_blank=True, help_text="What the board published with its decision.")


class RulingsOut(serializers.Serializer[Any]):
    """A page of a picture's rulings, in their order."""

    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")
    results = RulingOut(many=True)


class SenderOut(serializers.Serializer[Any]):
    """A team."""

    id = serializers.CharField()
    name = serializers.CharField()


class SentOut(serializers.Serializer[Any]):
    """An attack by which a picture was sent."""

    id = serializers.CharField()
    team = SenderOut()
    received_at = serializers.DateTimeField()
    week = serializers.CharField()
    withdrawn_at = serializers.DateTimeField(allow_null=True)


class PublicAppealOut(serializers.Serializer[Any]):
    """An appeal against a ruling on the picture (R18), with what the board decided (R19)."""

    id = serializers.CharField()
    case = serializers.CharField()
    team = SenderOut()
    side = serializers.ChoiceField(choices=[each.value for each in AppealSide])
    defense = serializers.CharField(allow_null=True, help_text="A defender's that was at stake.")
    ruling = serializers.IntegerField(help_text="The number of the ruling that it is against.")
    argument = serializers.CharField()
    marks = Marks()
    sent_at = serializers.DateTimeField()
    outcome = serializers.ChoiceField(choices=[each.value for each in CaseOutcome])
    explanation = serializers.CharField(allow_blank=True, help_text="What the board published with its decision.")
    decided_at = serializers.DateTimeField()


class ImageOut(serializers.Serializer[Any]):
    """A picture, as far as the caller may know it (R24)."""

    id = serializers.CharField()
    sha256_pixels = serializers.CharField(help_text="Of the decoded pixels.")
    origin = serializers.ChoiceField(choices=list(Origin), help_text="Told in full with the release of its week.")
    received_at = serializers.DateTimeField(help_text="When it first came, as far as the caller may know.")
    week = serializers.CharField(help_text="The contest week of that time.")
    public = serializers.BooleanField(help_text="Whether its week has ended, so that it is no secret.")
    released = serializers.BooleanField(help_text="Whether the record of its week is published.")
    picture = PictureOut(help_text="Its address opens for an hour.")
    attacks = SentOut(many=True, help_text="By which it was sent, in the order of receipt.")
    ruling = RulingOut(allow_null=True, help_text="The one that holds; null where the caller may know of none.")
    appeals = PublicAppealOut(
        many=True, help_text="In the order of sending; public once their case is closed and the week is released."
    )


def image_json(known: KnownImage, url: str) -> dict[str, Any]:
    """Return a picture as the API writes it; `url` is an address of its pixels."""
    image = known.image
    return {
        "id": image.public_id,
        "sha256_pixels": image.pixels_sha256,
        "origin": known.origin,
        "received_at": iso(known.received_at),
        "week": known.week,
        "public": known.public,
        "released": known.released,
        "picture": {"url": url, "width": image.width, "height": image.height},
        "attacks": [
            {
                "id": attack.public_id,
                "team": {"id": attack.team.public_id, "name": attack.team.name},
                "received_at": iso(attack.received_at),
                "week": attack.week,
                "withdrawn_at": iso(attack.withdrawn_at) if attack.withdrawn_at else None,
            }
            for attack in known.attacks
        ],
        "ruling": ruling_json(known.ruling, image.public_id) if known.ruling else None,
        "appeals": appeals_json(image),
    }


def ruling_json(ruling: Ruling, image: str) -> dict[str, Any]:
    """Return a ruling on the picture with the ID `image` as the API writes it."""
    return {
        "image": image,
        "number": ruling.number,
        "decided_at": iso(ruling.decided_at),
        "decided_by": ruling.decided_by,
        "panel": ruling.panel.number,
        "verdict": ruling.verdict,
        "label": ruling.label or None,
        "reasons": ruling.reasons,
        "smallest_box_fraction": cells.share(ruling.smallest_box) or None,
        "policy_version": ruling.policy.version,
        "explanation": ruling.explanation,
    }


_PARAMETERS = ("image", "page")
_ASK = "Name one picture by its ID, for example ?image=P-7Q4M2K9X."
_REFUSALS: dict[Any, Any] = {(403, "application/json"): ErrorOut, (404, "application/json"): ErrorOut}


@method_decorator(never_cache, name="dispatch")
class ImageCall(APIView):
    """One picture."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="image",
        tags=["images"],
        summary="A picture",
        parameters=[
            OpenApiParameter("image_id", OpenApiTypes.STR, OpenApiParameter.PATH, description="Like P-7Q4M2K9X.")
        ],
        responses={200: ImageOut, **_REFUSALS},
        examples=[OpenApiExample("released", PICTURE, response_only=True, status_codes=["200"])],
    )
    def get(self, request: Request, image_id: str) -> Response:
        """Tell of one picture what you may know: your team's own from its receipt on, everybody's when its week has
        ended, its ruling with the release of that week. Organizers see all. Appeals are told to everybody alike: once
        the board's case is closed and the week is released.

        Nobody has to be signed in; taskers are refused (403 `not_for_taskers`). 404 `not_found` for a picture under
        embargo as for one that is not there.
        """
        reader, now = Reader.of(request.user), domain_now()
        known = picture_known_to(reader, image_id, now=now)
        return Response(image_json(known, picture_url(known.image, now=now)))


@method_decorator(never_cache, name="dispatch")
class RulingsCall(APIView):
    """The rulings on one picture."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="rulings",
        tags=["rulings"],
        summary="The rulings on a picture",
        parameters=[
            OpenApiParameter("image", str, required=True, description="The ID of the picture, like P-7Q4M2K9X."),
            OpenApiParameter("page", int, description="From 1 on; 50 rulings each."),
        ],
        responses={200: RulingsOut, (400, "application/json"): ErrorOut, **_REFUSALS},
        examples=[
            OpenApiExample(
                "one ruling",
                {"count": 1, "next": None, "results": [RULING]},
                response_only=True,
                status_codes=["200"],
            )
        ],
    )
    def get(self, request: Request) -> Response:
        """List the rulings on one picture, first to last; the last one holds (R16). Ask with `?image=` and its ID;
        `page` counts from 1 on, 50 rulings each.

        They are public with the release of the picture's week. Until then a picture that is public has an empty list,
        save for organizers and, once its week has ended, for the team that sent it. 404 `not_found` for a picture under
        embargo as for one that is not there; 400 names what is wrong with the address.
        """
        reader, now = Reader.of(request.user), domain_now()
        image = picture_seen_by(_picture_id_of(request), reader, now=now)
        rows = rulings_seen_by(image, reader, now=now)

        def write(rulings: list[Ruling]) -> list[dict[str, Any]]:
            return [ruling_json(each, image.public_id) for each in rulings]

        return Response(list_page(request, rows, "api-rulings", write, image=image.public_id))


def _picture_id_of(request: Request) -> str:
    """Return the ID of the requested picture; InvalidInput for none, several, or an invalid ID."""
    if unknown := sorted(set(request.query_params) - set(_PARAMETERS)):
        raise WrongFields({name: f"The parameter {name!r} is not known." for name in unknown})
    named = request.query_params.getlist("image")
    if len(named) != 1 or not named[0]:
        raise InvalidInput(_ASK, "invalid", field="image")
    if not is_picture_id(named[0]):
        raise InvalidInput(f"This is not the ID of a picture. {_ASK}", "invalid", field="image")
    return named[0]
