"""API view at the root of the API: lists all calls."""

from typing import Any

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from contest.api.docs import call_groups

_AUTHENTICATION = "Authorization: Token YOUR_TOKEN"
_EXAMPLE: dict[str, Any] = {
    "docs": "https://contest.example.org/api/docs/",
    "openapi": "https://contest.example.org/api/schema/",
    "authentication": _AUTHENTICATION,
    "calls": [{"method": "GET", "path": "/api/v1/me/", "summary": "Who you are", "signed_in": True}],
}


class CallOut(serializers.Serializer[Any]):
    """One call."""

    method = serializers.CharField()
    path = serializers.CharField(help_text="What is in braces is filled in.")
    summary = serializers.CharField()
    signed_in = serializers.BooleanField(help_text="Whether it needs a token or a session.")


class IndexOut(serializers.Serializer[Any]):
    """The calls, and where they are documented."""

    docs = serializers.URLField(help_text="The page for people.")
    openapi = serializers.URLField(help_text="The schema for programs.")
    authentication = serializers.CharField(help_text="The header that a token is sent in.")
    calls = CallOut(many=True)


class Index(APIView):
    """Every call by its path."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="index",
        tags=["index"],
        summary="Every call of this interface",
        responses=IndexOut,
        examples=[OpenApiExample("index", value=_EXAMPLE, response_only=True)],
    )
    def get(self, request: Request) -> Response:
        """List the calls, with the addresses of their documentation and of the schema."""
        calls = [call for group in call_groups().values() for call in group]
        found = {
            "docs": f"{settings.PUBLIC_URL}{reverse('api-docs')}",
            "openapi": f"{settings.PUBLIC_URL}{reverse('api-schema')}",
            "authentication": _AUTHENTICATION,
            "calls": calls,
        }
        return Response(IndexOut(found).data)
