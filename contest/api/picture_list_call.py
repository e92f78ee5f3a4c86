"""API view that lists the pictures of a released week."""

from typing import Any

from django.db.models import prefetch_related_objects
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from adjudication.enums import Verdict
from adjudication.selectors import newest_rulings
from common.domain_clock import domain_now
from common.errors import WrongFields
from contest.api.lists import list_page
from contest.api.picture_calls import PICTURE, RulingOut, ruling_json
from contest.core.enums import RELEASED_ORIGINS
from contest.core.weeks import week_called
from contest.record.week_pictures import released_pictures
from labeling.models import Image
from labeling.notices import iso
from labeling.pages.shapes import ErrorOut, PictureOut
from labeling.pictures.addresses import picture_url
from policy.calendar import Week

_ORIGINS = [each.value for each in RELEASED_ORIGINS]
_VERDICTS = [each.value for each in Verdict]
_PARAMETERS = ("week", "origin", "verdict", "page")
_TOLD = ("id", "sha256_pixels", "origin", "received_at", "week", "picture", "ruling")


class ListedImageOut(serializers.Serializer[Any]):
    """A picture of a released week."""

    id = serializers.CharField()
    sha256_pixels = serializers.CharField(help_text="Of the decoded pixels.")
    origin = serializers.ChoiceField(choices=_ORIGINS)
    received_at = serializers.DateTimeField()
    week = serializers.CharField()
    picture = PictureOut(help_text="Its address opens for an hour; the release has the file for ever.")
    ruling = RulingOut(allow_null=True, help_text="The one that holds; null where there is none.")


class ImagesOut(serializers.Serializer[Any]):
    """A page of pictures, in the order of receipt."""

    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")
    results = ListedImageOut(many=True)


@method_decorator(never_cache, name="dispatch")
class ImagesCall(APIView):
    """The pictures of a released week."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="image_list",
        tags=["images"],
        summary="The pictures of a week",
        parameters=[
            OpenApiParameter("week", str, required=True, description="The week that they were received in."),
            OpenApiParameter("origin", str, enum=_ORIGINS, description="Only pictures of this origin."),
            OpenApiParameter(
                "verdict", str, enum=_VERDICTS, description="Only pictures whose ruling in force has this verdict."
            ),
            OpenApiParameter("page", int, description="From 1 on; 50 pictures each."),
        ],
        responses={200: ImagesOut, (400, "application/json"): ErrorOut, (403, "application/json"): ErrorOut},
        examples=[
            OpenApiExample(
                "one picture",
                {"count": 1, "next": None, "results": [{name: PICTURE[name] for name in _TOLD}]},
                response_only=True,
                status_codes=["200"],
            )
        ],
    )
    def get(self, request: Request) -> Response:
        """List the pictures of a released week with the rulings that hold, in the order of receipt. Of a week that is
        not released the list is empty, for organizers too: `/api/v1/images/{image_id}/` tells of one picture what you
        may know.

        Nobody has to be signed in; taskers are refused (403 `not_for_taskers`). 400 names what is wrong with the
        address.
        """
        asked = _checked(request)
        rows = released_pictures(**asked)
        return Response(list_page(request, rows, "api-images", lambda page: _written(page, asked["week"]), **asked))


def _written(images: list[Image], week: str) -> list[dict[str, Any]]:
    now = domain_now()
    rulings = newest_rulings(image.pk for image in images)
    prefetch_related_objects(list(rulings.values()), "panel", "policy")
    return [
        {
            "id": image.public_id,
            "sha256_pixels": image.pixels_sha256,
            "origin": image.origin,
            "received_at": iso(image.received_at),
            "week": week,
            "picture": {"url": picture_url(image, now=now), "width": image.width, "height": image.height},
            "ruling": ruling_json(rulings[image.pk], image.public_id) if image.pk in rulings else None,
        }
        for image in images
    ]


def _checked(request: Request) -> dict[str, str]:
    """Return the filters as they were sent; WrongFields names each invalid one."""
    sent = {name: request.query_params[name] for name in request.query_params}
    wrong = {name: f"The parameter {name!r} is not known." for name in sorted(set(sent) - set(_PARAMETERS))}
    if _week(sent.get("week", "")) is None:
        wrong["week"] = "Name a week, for example ?week=2026-W47."
    for name, known in (("origin", _ORIGINS), ("verdict", _VERDICTS)):
        if name in sent and sent[name] not in known:
            wrong[name] = f"It is {' or '.join(known)}."
    if wrong:
        raise WrongFields(wrong)
    return {name: value for name, value in sent.items() if name != "page"}


def _week(name: str) -> Week | None:
    try:
        return week_called(name)
    except ValueError:
        return None
