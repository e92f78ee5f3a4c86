"""API call that sends a question."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_serializer
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from labeling.access import tasker_of
from labeling.pages.shapes import ErrorOut
from labeling.questions.services import MOST_QUESTION_CHARACTERS, question_send


@extend_schema_serializer(examples=[OpenApiExample("example", {"text": "Does a bird's shadow count as a depiction?"})])
class QuestionIn(serializers.Serializer[Any]):
    """A question about the task, not about a single picture: one of those is reported."""

    text = serializers.CharField(max_length=MOST_QUESTION_CHARACTERS)


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
        answer = {"id": number, "asked_at": question.asked_at.isoformat().replace("+00:00", "Z")}
        return Response(answer, status=status.HTTP_201_CREATED)
