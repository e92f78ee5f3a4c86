"""API calls of labeling: claim, draft, heartbeat, release, submit."""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from random import SystemRandom
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput, WrongFields
from common.web.body_limits import REPORT_BYTES, SMALL_BYTES, limit_body
from common.web.direct_view import DirectAnswer, DirectView
from common.web.error_status import error_body
from labeling import leases
from labeling.access import labeling_tasker, tasker_of
from labeling.answers import FIELDS
from labeling.enums import ReportKind
from labeling.models import Assignment, Draft
from labeling.my_work.drafts import SentDraft, draft_keep, draft_of
from labeling.notices import iso
from labeling.pages.shapes import (
    MAX_REVISION,
    AnsweredOut,
    AssignmentOut,
    DraftIn,
    DraftOut,
    ErrorOut,
    LeaseIn,
    LeaseOut,
    NextIn,
    ReleaseIn,
    ResponseIn,
)
from labeling.pictures.addresses import picture_url
from labeling.questions.services import report_create
from labeling.submission import SubmittedResponse, outline_gate_of, response_submit
from policy.enums import OutlineGate
from policy.selectors import only_outline_gate, policy_at, policy_in_force

RETRY_AFTER_SECONDS = 10
MAX_PROBLEM_CHARACTERS = 2000
# What an answer may ask for besides, without being part of it.
_OF_NEXT = frozenset({"next", "holding"})
_random = SystemRandom()


def assignment_json(assignment: Assignment) -> dict[str, Any]:
    """Return what a tasker may know of an assignment: the picture and the lease, nothing else (R8)."""
    image = assignment.image
    return {
        "id": str(assignment.public_id),
        "lease_token": assignment.lease_token,
        "expires_at": iso(assignment.expires_at),
        "form": "unambiguous",
        "image": {
            "url": picture_url(image, now=domain_now()),
            "width": image.width,
            "height": image.height,
        },
        "tie_break": assignment.tie_break,
        "outline_gate": _outline_gate(assignment),
        "instructions": assignment.instructions,
    }


def claimed_json(assignment: Assignment, *, now: datetime) -> dict[str, Any]:
    """Return an assignment claimed at `now`, with the draft that is kept of it."""
    draft = draft_of(assignment, now=now)
    return assignment_json(assignment) | ({"draft": draft_json(draft)} if draft else {})


def draft_json(draft: Draft) -> dict[str, Any]:
    """Return a draft with what was filled in."""
    return {"revision": draft.revision, "saved_at": iso(draft.saved_at), "form": json.loads(draft.form)}


def _outline_gate(assignment: Assignment) -> OutlineGate:
    # Where all versions agree, no panel has to be read at every claim.
    return only_outline_gate() or outline_gate_of(assignment, policy_at)


def response_receipt_json(submitted: SubmittedResponse) -> dict[str, Any]:
    """Return the receipt of a response."""
    response = submitted.response
    return {
        "id": str(response.assignment.public_id),
        "received_at": iso(response.submitted_at),
        "receipt": response.receipt,
        "counted": submitted.counted,
    }


def _body(data: Any, known: frozenset[str]) -> Mapping[str, Any]:
    """Return the body's object; unknown fields are refused by name."""
    if not isinstance(data, Mapping):
        raise InvalidInput(_("Send a JSON object."), "invalid")
    unknown = {
        name: _("The field '%(name)s' is not known.") % {"name": name} for name in sorted(set(map(str, data)) - known)
    }
    if unknown:
        raise WrongFields(unknown)
    return data


def _lease_token(data: Mapping[str, Any]) -> str:
    token = data.get("lease_token")
    if not isinstance(token, str) or not 0 < len(token) <= 64:
        raise InvalidInput(_("Send the lease_token that came with the assignment."), "invalid", field="lease_token")
    return token


def _holding(data: Mapping[str, Any]) -> frozenset[UUID]:
    value = data.get("holding", [])
    try:
        if not isinstance(value, list) or len(value) > 3:
            raise ValueError
        return frozenset(UUID(each) for each in value)
    except (ValueError, AttributeError, TypeError):
        message = _("Send holding as a list of at most 3 assignment ids.")
        raise InvalidInput(message, "invalid", field="holding") from None


def _wants_next(data: Mapping[str, Any]) -> bool:
    wanted = data.get("next", False)
    if not isinstance(wanted, bool):
        raise InvalidInput(_("Send next as true or false."), "invalid", field="next")
    return wanted


def _problem(data: Mapping[str, Any]) -> str:
    problem = data.get("problem", "")
    if not isinstance(problem, str) or len(problem) > MAX_PROBLEM_CHARACTERS:
        message = _("Describe the problem in at most %(most)s characters.") % {"most": MAX_PROBLEM_CHARACTERS}
        raise InvalidInput(message, "invalid", field="problem")
    return problem.replace("\x00", "").strip()


def _kind(data: Mapping[str, Any]) -> ReportKind | None:
    if "kind" not in data:
        return None
    if data["kind"] not in list(ReportKind):
        message = _("Send kind as one of: %(kinds)s.") % {"kinds": ", ".join(ReportKind)}
        raise InvalidInput(message, "invalid", field="kind")
    return ReportKind(data["kind"])


def _browser(data: Mapping[str, Any]) -> UUID:
    try:
        return UUID(data["browser"])
    except (KeyError, ValueError, AttributeError, TypeError):
        raise InvalidInput(_("Send browser as a random UUID."), "invalid", field="browser") from None


def _revision(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_REVISION:
        return value
    words = _("Send %(name)s as a whole number from 0 on.") % {"name": name}
    raise InvalidInput(words, "invalid", field=name)


def _form(data: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(form := data.get("form"), Mapping):
        return form
    raise InvalidInput(_("Send form as an object."), "invalid", field="form")


def _claim(user: Any, holding: Collection[UUID], *, now: datetime) -> Assignment | leases.NothingLeft:
    tasker, policy = labeling_tasker(user, now=now), policy_in_force(now).policy
    return leases.assignment_next(tasker=tasker, holding=holding, policy=policy, now=now, rng=_random)


def _next_json(user: Any, holding: Collection[UUID], *, now: datetime) -> dict[str, Any]:
    """Return what goes with a receipt: the next picture, or why there is none. The answer is kept in either case."""
    try:
        found = _claim(user, holding, now=now)
    except DomainError as error:
        return {"next": None, "next_error": error_body(error)}
    if isinstance(found, leases.NothingLeft):
        return {"next": None, "retry_after": RETRY_AFTER_SECONDS if found.held else None}
    return {"next": claimed_json(found, now=now)}


def _headers_of(nothing: leases.NothingLeft) -> dict[str, str]:
    if nothing.held is None:
        return {}
    held = {"Held-By-Others": str(nothing.held.pictures), "Held-Until": iso(nothing.held.until)}
    return {"Retry-After": str(RETRY_AFTER_SECONDS), **held}


@limit_body(SMALL_BYTES)
class AssignmentNext(DirectView):
    """The next picture for this tasker."""

    @extend_schema(
        operation_id="assignment_next",
        summary="Get a picture to answer",
        request=NextIn,
        responses={
            200: AssignmentOut,
            204: OpenApiResponse(
                description="Nothing is left. When others hold pictures, Retry-After says when to ask again, "
                "Held-By-Others how many they are, and Held-Until when the last of those leases ends."
            ),
            (400, "application/json"): ErrorOut,
            (401, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
            (409, "application/json"): ErrorOut,
        },
    )
    def post(self, request: Request) -> Response:
        """Claim the next picture, or get the one already held again."""
        return self.answer(request.user, request.data).response()

    def answer(self, user: Any, data: Any) -> DirectAnswer:  # type: ignore[override]
        """Return the picture, or nothing."""
        now = domain_now()
        found = _claim(user, _holding(_body(data, frozenset({"holding"}))), now=now)
        if isinstance(found, leases.NothingLeft):
            return DirectAnswer(None, status.HTTP_204_NO_CONTENT, _headers_of(found))
        return DirectAnswer(claimed_json(found, now=now))


class AssignmentDraft(APIView):
    """What is filled in of a form that is not submitted yet."""

    @extend_schema(
        operation_id="assignment_draft",
        summary="Keep a draft",
        request=DraftIn,
        responses={
            200: DraftOut,
            204: OpenApiResponse(description="No draft is kept: revision 0 was sent, and none was kept before."),
            (400, "application/json"): ErrorOut,
            (404, "application/json"): ErrorOut,
            (409, "application/json"): ErrorOut,
        },
    )
    def post(self, request: Request, assignment_id: UUID) -> Response:
        """Keep it, so that the tasker can go on in another browser. Where a newer one is kept, that one comes back."""
        tasker = tasker_of(request.user)
        data = _body(request.data, frozenset({"lease_token", "browser", "revision", "base", "form"}))
        sent = SentDraft(_browser(data), _revision(data, "revision"), _revision(data, "base"), _form(data))
        draft = draft_keep(
            tasker=tasker,
            assignment_id=assignment_id,
            lease_token=_lease_token(data),
            sent=sent,
            now=domain_now(),
        )
        if draft is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        kept = draft_json(draft)
        if (draft.browser, draft.revision) == (sent.browser, sent.revision):
            del kept["form"]
        return Response(kept)


@limit_body(SMALL_BYTES)
class AssignmentHeartbeat(APIView):
    """A lease is renewed while the page is in use."""

    @extend_schema(
        operation_id="assignment_heartbeat",
        summary="Renew a lease",
        request=LeaseIn,
        responses={200: LeaseOut, (404, "application/json"): ErrorOut, (409, "application/json"): ErrorOut},
    )
    def post(self, request: Request, assignment_id: UUID) -> Response:
        """Renew the lease."""
        tasker = tasker_of(request.user)
        token = _lease_token(_body(request.data, frozenset({"lease_token"})))
        now = domain_now()
        policy = policy_in_force(now).policy
        expires_at = leases.assignment_heartbeat(
            tasker=tasker, assignment_id=assignment_id, lease_token=token, policy=policy, now=now
        )
        return Response({"expires_at": iso(expires_at)})


@limit_body(REPORT_BYTES)
class AssignmentRelease(APIView):
    """Give a picture back."""

    @extend_schema(
        operation_id="assignment_release",
        summary="Give a picture back",
        request=ReleaseIn,
        responses={204: None, (404, "application/json"): ErrorOut, (409, "application/json"): ErrorOut},
    )
    def post(self, request: Request, assignment_id: UUID) -> Response:
        """Give it back; with a `kind` or a `problem` something is wrong with it: an organizer looks at it."""
        tasker = tasker_of(request.user)
        data = _body(request.data, frozenset({"lease_token", "problem", "kind"}))
        problem, kind = _problem(data), _kind(data)
        token = _lease_token(data) if "lease_token" in data else None
        given: dict[str, Any] = {"tasker": tasker, "assignment_id": assignment_id, "lease_token": token}
        if problem or kind:
            report_create(**given, kind=kind or ReportKind.OTHER, words=problem, now=domain_now())
        else:
            leases.assignment_release(**given, problem="", now=domain_now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class AssignmentResponse(DirectView):
    """A tasker's answer."""

    @extend_schema(
        operation_id="assignment_response",
        summary="Answer",
        request=ResponseIn,
        responses={
            201: AnsweredOut,
            200: OpenApiResponse(AnsweredOut, description="The very same answer again: the same receipt."),
            (400, "application/json"): ErrorOut,
            (404, "application/json"): ErrorOut,
            (409, "application/json"): ErrorOut,
        },
    )
    def post(self, request: Request, assignment_id: UUID) -> Response:
        """Submit; the receipt says whether it counts.

        With `next` the next picture comes along, as `assignments/next/` would give it after this answer. When the
        reply is lost, the same again returns the same receipt and the same picture.
        """
        return self.answer(request.user, request.data, assignment_id).response()

    def answer(self, user: Any, data: Any, assignment_id: UUID) -> DirectAnswer:  # type: ignore[override]
        """Return the receipt, and what was asked for besides."""
        tasker = tasker_of(user)
        data = _body(data, FIELDS | _OF_NEXT)
        wants_next, holding = _wants_next(data), _holding(data)
        now = domain_now()
        submitted = response_submit(
            tasker=tasker,
            assignment_id=assignment_id,
            lease_token=_lease_token(data),
            data={name: value for name, value in data.items() if name in FIELDS},
            policy_at=policy_at,
            now=now,
        )
        receipt = response_receipt_json(submitted)
        if wants_next:
            receipt |= _next_json(user, holding, now=domain_now())
        return DirectAnswer(receipt, status.HTTP_200_OK if submitted.repeated else status.HTTP_201_CREATED)
