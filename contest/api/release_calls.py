"""API views of the weekly releases: the list, and the file of a week."""

from typing import Any

from django.http import HttpResponseRedirect
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from contest.releases.selectors import listed_releases, newest_part, published_releases
from labeling.pages.shapes import ErrorOut

_EXAMPLE = {
    "name": "release-2026-W47",
    "week": "2026-W47",
    "part": 0,
    "released_at": "2026-11-24T08:00:00.000000Z",
    "bytes": 48_213_991,
    "counts": {"images": 1204, "responses": 3630, "rulings": 1204},
    "manifest_sha256": "9f2c" * 16,
    "previous_sha256": "41d0" * 16,
    "page": "https://contest.example.org/releases/release-2026-W47/",
    "file": "https://contest.example.org/releases/release-2026-W47.zip",
    "signature": "https://contest.example.org/releases/release-2026-W47/manifest.sig",
}


class ReleaseOut(serializers.Serializer[Any]):
    """One release. `previous_sha256` is the hash of the manifest published before it, empty for the first."""

    name = serializers.CharField()
    week = serializers.CharField()
    part = serializers.IntegerField(help_text="0 for the release of the week, n for its n-th errata.")
    released_at = serializers.CharField(help_text="UTC with microseconds.")
    bytes = serializers.IntegerField(help_text="Size of the zip.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Rows of each table.")
    manifest_sha256 = serializers.CharField()
    previous_sha256 = serializers.CharField()
    page = serializers.CharField()
    file = serializers.CharField()
    signature = serializers.CharField(help_text="The signed checkpoint; empty while the release is unsigned.")


class ReleasesOut(serializers.Serializer[Any]):
    """Every release, in the order of publication."""

    releases = ReleaseOut(many=True)


class Releases(APIView):
    """What is published."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="releases",
        tags=["releases"],
        summary="List the releases",
        responses={200: ReleasesOut},
        examples=[OpenApiExample("list", {"releases": [_EXAMPLE]}, response_only=True, status_codes=["200"])],
    )
    def get(self, request: Request) -> Response:
        """List every release in the order of publication, which is the order of the chain: each `previous_sha256` is
        the `manifest_sha256` before it. `python3 -m adjudication.mirror` copies and checks all of them.
        """
        return Response({"releases": [listed_releases(release) for release in published_releases()]})


class ReleaseOfWeek(APIView):
    """The way to a week's file."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="release_of_week",
        tags=["releases"],
        summary="Go to the release of a week",
        parameters=[OpenApiParameter("week", OpenApiTypes.STR, OpenApiParameter.PATH, description="Like 2026-W47.")],
        responses={
            302: OpenApiResponse(description="`Location` is the zip of the week's newest part."),
            (404, "application/json"): OpenApiResponse(ErrorOut, description="No release of this week is published"),
        },
    )
    def get(self, request: Request, week: str) -> HttpResponseRedirect:
        """Redirect to the zip of the newest part of the week's record. The zip takes `Range`, so that a broken
        download goes on where it stopped.
        """
        response = HttpResponseRedirect(reverse("release-zip", args=[newest_part(week).name]))
        response["Cache-Control"] = "no-store"
        return response
