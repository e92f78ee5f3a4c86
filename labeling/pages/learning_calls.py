"""API calls of the qualification, with the same shape as those of labeling (R5)."""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from common.errors import Conflict, InvalidInput
from common.web.body_limits import SMALL_BYTES, limit_body
from labeling.access import tasker_of
from labeling.learning import selectors
from labeling.learning.services import MarkedAnswer, item_answer
from labeling.models import QualificationItem
from labeling.notices import iso
from labeling.pages.shapes import AssignmentOut, ErrorOut, LeaseIn, LeaseOut, NextIn, ReceiptOut, ReleaseIn, ResponseIn
from labeling.pictures.addresses import picture_url
from policy.numbers import Policy
from policy.selectors import policy_at, policy_in_force


class MarkedReceiptOut(ReceiptOut):
    """Proof of receipt; `go` is the page with the marks."""

    go = serializers.CharField()


def item_json(item: QualificationItem, *, policy: Policy, now: datetime) -> dict[str, Any]:
    """Return the JSON of a picture of an attempt before it is marked, in the shape of an assignment."""
    image = item.known.image
    return {
        "id": str(item.public_id),
        "lease_token": item.public_id.hex,
        "expires_at": iso(_kept_until(policy, now)),
        "form": "unambiguous",
        "image": {"url": picture_url(image, now=now), "width": image.width, "height": image.height},
        "tie_break": item.tie_break,
        "outline_gate": policy_at(item.attempt.started_at).outline_gate,
        "instructions": item.attempt.instructions,
    }


def _kept_until(policy: Policy, now: datetime) -> datetime:
    # No other tasker waits for a picture of an attempt; the time is there because the form expects one.
    return now + timedelta(seconds=policy.lease_seconds)


def qualification_receipt_json(answered: MarkedAnswer) -> dict[str, Any]:
    """Return the receipt of an answer in a try, and where its marks are."""
    item = answered.item
    return {
        "id": str(item.public_id),
        "received_at": iso(item.answered_at or domain_now()),
        "receipt": qualification_receipt(item),
        "counted": True,
        "go": reverse("qualification-marks", args=[item.public_id]),
    }


def qualification_receipt(item: QualificationItem) -> str:
    """Return 12 hexadecimal digits that a tasker can quote."""
    said = (item.answers or {}).get("sha256", "")
    digits = hashlib.sha256(f"{item.public_id} {said}".encode()).hexdigest()[:12].upper()
    return "-".join(digits[at : at + 4] for at in (0, 4, 8))


def _holding(data: Any) -> list[str]:
    value = data.get("holding", []) if isinstance(data, Mapping) else None
    if not isinstance(value, list):
        raise InvalidInput("Send holding as a list of ids.", "invalid", field="holding")
    return [str(each) for each in value]


@limit_body(SMALL_BYTES)
class QualificationNext(APIView):
    """The next picture of a try."""

    @extend_schema(
        operation_id="qualification_next",
        tags=["qualification"],
        summary="Get a picture of the qualification",
        request=NextIn,
        responses={
            200: AssignmentOut,
            204: OpenApiResponse(
                description="All pictures of the try are answered or at hand; or no try is begun, which a person does "
                "on the page /qualification/ when the lessons at /learn/ are done."
            ),
            (400, "application/json"): ErrorOut,
            (401, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
        },
    )
    def post(self, request: Request) -> Response:
        """Get the first picture of the try without an answer."""
        tasker, holding, now = tasker_of(request.user), _holding(request.data), domain_now()
        attempt = selectors.open_attempt(tasker)
        item = selectors.next_item(attempt) if attempt else None
        if item is None or str(item.public_id) in holding:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(item_json(item, policy=policy_in_force(now).policy, now=now))


@limit_body(SMALL_BYTES)
class QualificationHeartbeat(APIView):
    """A picture of a try is kept for its tasker in any case."""

    @extend_schema(
        operation_id="qualification_heartbeat",
        tags=["qualification"],
        summary="Keep a picture of the qualification",
        request=LeaseIn,
        responses={200: LeaseOut, (404, "application/json"): ErrorOut},
    )
    def post(self, request: Request, item_id: UUID) -> Response:
        """Answer as in labeling."""
        now = domain_now()
        selectors.item_of(tasker_of(request.user), item_id)
        return Response({"expires_at": iso(_kept_until(policy_in_force(now).policy, now))})


@limit_body(SMALL_BYTES)
class QualificationRelease(APIView):
    """A picture of a try cannot be given back."""

    @extend_schema(
        operation_id="qualification_release",
        tags=["qualification"],
        summary="Refused: pictures of the qualification are not given back",
        request=ReleaseIn,
        responses={(404, "application/json"): ErrorOut, (409, "application/json"): ErrorOut},
    )
    def post(self, request: Request, item_id: UUID) -> Response:
        """Refuse, and say what to do instead."""
        selectors.item_of(tasker_of(request.user), item_id)
        raise Conflict(
            _("A picture of the qualification cannot be given back: answer as well as you can."),
            "not_in_qualification",
        )


class QualificationResponse(APIView):
    """An answer in a try, marked at once."""

    @extend_schema(
        operation_id="qualification_response",
        tags=["qualification"],
        summary="Answer a picture of the qualification",
        request=ResponseIn,
        responses={
            201: MarkedReceiptOut,
            200: OpenApiResponse(MarkedReceiptOut, description="The very same answer again: the same receipt."),
            (400, "application/json"): ErrorOut,
            (404, "application/json"): ErrorOut,
            (409, "application/json"): ErrorOut,
        },
    )
    def post(self, request: Request, item_id: UUID) -> Response:
        """Submit; the receipt leads to the marks."""
        tasker = tasker_of(request.user)
        if not isinstance(request.data, Mapping):
            raise InvalidInput("Send a JSON object.", "invalid")
        answered = item_answer(tasker=tasker, item_id=item_id, data=request.data, policy_at=policy_at, now=domain_now())
        code = status.HTTP_200_OK if answered.repeated else status.HTTP_201_CREATED
        return Response(qualification_receipt_json(answered), status=code)
