"""API calls of a picture and its rulings."""

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from common.errors import InvalidInput, WrongFields
from contest.api.picture_shapes import PICTURE, RULING, ImageOut, RulingsOut, image_json, ruling_json
from contest.core.picture_access import Reader, is_picture_id, known_of, picture_seen_by, rulings_seen_by
from labeling.pages.shapes import ErrorOut
from labeling.pictures.addresses import picture_url

ON_A_PAGE = 50
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
        image = picture_seen_by(image_id, reader, now=now)
        return Response(image_json(known_of(image, reader, now=now), picture_url(image, now=now)))


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
        image = picture_seen_by(_asked(request), reader, now=now)
        page = Paginator(rulings_seen_by(image, reader, now=now), ON_A_PAGE).get_page(request.query_params.get("page"))
        words = {"image": image.public_id, "page": page.next_page_number()} if page.has_next() else {}
        return Response(
            {
                "count": page.paginator.count,
                "next": f"{reverse('api-rulings')}?{urlencode(words)}" if words else None,
                "results": [ruling_json(each, image.public_id) for each in page.object_list],
            }
        )


def _asked(request: Request) -> str:
    """Return the ID of the picture that is asked about; InvalidInput for none, several, or what is no ID."""
    if unknown := sorted(set(request.query_params) - set(_PARAMETERS)):
        raise WrongFields({name: f"The parameter {name!r} is not known." for name in unknown})
    named = request.query_params.getlist("image")
    if len(named) != 1 or not named[0]:
        raise InvalidInput(_ASK, "invalid", field="image")
    if not is_picture_id(named[0]):
        raise InvalidInput(f"This is not the ID of a picture. {_ASK}", "invalid", field="image")
    return named[0]
