"""API calls of the labeling page for preferences, notices and questions."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_serializer
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from common.errors import InvalidInput
from common.web.body_limits import SMALL_BYTES, limit_body
from labeling.access import tasker_of
from labeling.notices import iso, notice_mark_seen, notices_json
from labeling.pages.shapes import ErrorOut
from labeling.preferences import preferences_change, tasker_preferences
from labeling.questions.services import MAX_QUESTION_CHARACTERS, question_send


class PreferencesIn(serializers.Serializer[Any]):
    """`keys` maps actions of the page to keys, those left out keep the usual one; `instructions` is a version read.

    `simplify` is how far a traced line may lie from its corners, in pixels of a picture 299 wide; `brightness` and
    `contrast` are in percent of the picture's own; `guides` are lines through the pointer.
    """

    keys = serializers.DictField(child=serializers.CharField(max_length=9), required=False)
    instructions = serializers.IntegerField(min_value=1, max_value=32767, required=False)
    smoothing = serializers.BooleanField(required=False)
    simplify = serializers.FloatField(min_value=0.25, max_value=6, required=False)
    brightness = serializers.IntegerField(min_value=50, max_value=200, required=False)
    contrast = serializers.IntegerField(min_value=50, max_value=200, required=False)
    guides = serializers.BooleanField(required=False)
    minimap = serializers.BooleanField(required=False)


class PreferencesOut(serializers.Serializer[Any]):
    """The key of every action, the newest instructions that were read, and how pictures and lines look."""

    keys = serializers.DictField(child=serializers.CharField())
    instructions = serializers.IntegerField()
    smoothing = serializers.BooleanField()
    simplify = serializers.FloatField()
    brightness = serializers.IntegerField()
    contrast = serializers.IntegerField()
    guides = serializers.BooleanField()
    minimap = serializers.BooleanField()


class NoticeOut(serializers.Serializer[Any]):
    """Something the tasker is told."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    told_at = serializers.DateTimeField()


def _object(request: Request) -> Mapping[str, Any]:
    if isinstance(request.data, Mapping):
        return request.data
    raise InvalidInput(_("Send a JSON object."), "invalid")


@limit_body(SMALL_BYTES)
class Preferences(APIView):
    """What the labeling page remembers for the tasker on every device."""

    @extend_schema(
        operation_id="preferences", tags=["account"], summary="Read my preferences", responses={200: PreferencesOut}
    )
    def get(self, request: Request) -> Response:
        """Tell the keys and the instructions read."""
        return Response(tasker_preferences(tasker_of(request.user)))

    @extend_schema(
        operation_id="preferences_change",
        tags=["account"],
        summary="Change my preferences",
        request=PreferencesIn,
        responses={200: PreferencesOut, (400, "application/json"): ErrorOut},
    )
    def post(self, request: Request) -> Response:
        """Keep what is named; the rest stays."""
        tasker = tasker_of(request.user)
        return Response(preferences_change(tasker=tasker, data=_object(request)))


class Notices(APIView):
    """What a tasker is told until they have seen it."""

    @extend_schema(
        operation_id="notices",
        tags=["account"],
        summary="List my notices",
        responses={200: NoticeOut(many=True)},
    )
    def get(self, request: Request) -> Response:
        """List what was not seen yet, oldest first."""
        return Response(notices_json(tasker_of(request.user)))


@limit_body(SMALL_BYTES)
class NoticeSeen(APIView):
    """A notice was read."""

    @extend_schema(
        operation_id="notice_seen",
        tags=["account"],
        summary="Put a notice away",
        request=None,
        responses={204: None, (404, "application/json"): ErrorOut},
    )
    def post(self, request: Request, notice_id: UUID) -> Response:
        """Mark it as seen; once more changes nothing."""
        notice_mark_seen(tasker=tasker_of(request.user), notice_id=notice_id, now=domain_now())
        return Response(status=status.HTTP_204_NO_CONTENT)


@extend_schema_serializer(examples=[OpenApiExample("example", {"text": "Does a bird's shadow count as a depiction?"})])
class QuestionIn(serializers.Serializer[Any]):
    """A question about the task, not about a single picture: one of those is reported."""

    text = serializers.CharField(max_length=MAX_QUESTION_CHARACTERS)


@extend_schema_serializer(examples=[OpenApiExample("example", {"id": 2, "asked_at": "2026-11-20T23:41:12Z"})])
class QuestionOut(serializers.Serializer[Any]):
    """The question as kept; `id` counts the tasker's own questions, and tells nothing of anybody else's."""

    id = serializers.IntegerField()
    asked_at = serializers.DateTimeField()


class Questions(APIView):
    """A tasker's questions to the organizers."""

    @extend_schema(
        operation_id="question_ask",
        tags=["questions"],
        summary="Ask a question",
        request=QuestionIn,
        responses={
            201: QuestionOut,
            (400, "application/json"): ErrorOut,
            (401, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
            (409, "application/json"): ErrorOut,
        },
    )
    def post(self, request: Request) -> Response:
        """Ask; the answer comes as a notice, or to everybody as a dated clarification of the instructions."""
        tasker = tasker_of(request.user)
        body = QuestionIn(data=request.data)
        body.is_valid(raise_exception=True)
        question = question_send(tasker=tasker, text=body.validated_data["text"], now=domain_now())
        number = tasker.questions.filter(pk__lte=question.pk).count()
        answer = {"id": number, "asked_at": iso(question.asked_at)}
        return Response(answer, status=status.HTTP_201_CREATED)
