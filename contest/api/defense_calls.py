"""API views of defenses: submit one, and list them."""

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.datastructures import MultiValueDict
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from common.errors import InvalidInput, WrongFields
from common.queues import hint
from common.web.body_limits import limit_body
from common.web.json_parser import JSONParser
from contest.api.lists import list_page
from contest.core.enums import DefenseStanding, StakeEnd, StakeKind, UploadKind
from contest.core.models import Break
from contest.core.roles import own_team_of, roles_of
from contest.core.upload_rates import count_refusals
from contest.defenses import entries, selectors
from contest.defenses.eligibility import eligibilities_waiting, failures
from contest.defenses.stake_rows import defense_json, newest_stake_rows
from contest.record.defense_figures import defense_breaks
from contest.web.defense_uploads import FILES, MAX_SUBMISSION_BYTES, TEXTS, expect_upload, read_submission
from labeling.pages.shapes import ErrorOut
from policy.selectors import policy_in_force
from scoring.enums import EligibilityCondition
from scoring.models import Defense
from scoring.tasks import plan_trials

EXAMPLE_STAKE = {
    "by": "board",
    "batch": "S-4QX7M",
    "cents": 100000,
    "currency": "USD",
    "staked_at": "2026-11-28T10:00:00Z",
    "clock_from": "2026-11-28T10:00:00Z",
    "unbroken_until": "2027-02-26T10:00:00Z",
    "ended_at": None,
    "end": None,
}
EXAMPLE = {
    "id": "D-7Q4M2",
    "name": "steadfast",
    "state": "staked",
    "team": "blue",
    "open_source": True,
    "licence": "Apache-2.0",
    "digest": "sha256:9f2c41d07be84a6f8f3f0f1a5e6d7c8b9f2c41d07be84a6f8f3f0f1a5e6d7c8b",
    "description": "A small net that abstains where it is not sure.",
    "published_at": "2026-11-24T09:00:00Z",
    "received_at": None,
    "due_at": None,
    "failed": [],
    "stake": EXAMPLE_STAKE,
}
EXAMPLE_RECEIVED = EXAMPLE | {
    "state": "received",
    "published_at": None,
    "received_at": "2026-11-18T12:00:00Z",
    "due_at": "2026-11-28T00:00:00Z",
    "stake": None,
}
EXAMPLE_NOT_ELIGIBLE = EXAMPLE_RECEIVED | {
    "state": "not eligible",
    "due_at": None,
    "failed": [
        {
            "condition": "private",
            "words": "5 of 10 right. At least 80 % is needed: 8.",
            "advice": "Let it abstain where it is not sure, and answer more of the clear pictures.",
        }
    ],
}


class FailureOut(serializers.Serializer[Any]):
    """A condition of publication that a defense failed (R31), in totals: no picture is named."""

    condition = serializers.ChoiceField(choices=[condition.value for condition in EligibilityCondition])
    words = serializers.CharField()
    advice = serializers.CharField()


class StakeOut(serializers.Serializer[Any]):
    """The stake on a defense. `unbroken_until` is null where no clock runs: it is over, or the source is closed."""

    by = serializers.ChoiceField(choices=[kind.value for kind in StakeKind])
    batch = serializers.CharField(allow_null=True)
    cents = serializers.IntegerField()
    currency = serializers.CharField()
    staked_at = serializers.DateTimeField()
    clock_from = serializers.DateTimeField()
    unbroken_until = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    end = serializers.ChoiceField(choices=[end.value for end in StakeEnd], allow_null=True)


class DefenseOut(serializers.Serializer[Any]):
    """A defense. `received_at`, `due_at` and `failed` are for its team and for organizers.

    `due_at`: until then it is published if it is eligible. `failed`: why it is `not eligible`, empty otherwise. A new
    private set repeats the trial by itself where `private` and `speed` alone failed.
    """

    id = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=[standing.value for standing in DefenseStanding])
    team = serializers.CharField(allow_null=True)
    open_source = serializers.BooleanField()
    licence = serializers.CharField()
    digest = serializers.CharField()
    description = serializers.CharField()
    published_at = serializers.DateTimeField(allow_null=True)
    received_at = serializers.DateTimeField(allow_null=True)
    due_at = serializers.DateTimeField(allow_null=True)
    failed = FailureOut(many=True)
    stake = StakeOut(allow_null=True)


class DefensesOut(serializers.Serializer[Any]):
    """A page of defenses, by name."""

    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")
    results = DefenseOut(many=True)


class DefenseIn(serializers.Serializer[Any]):
    """A hand-in: `archive`, or `image` in a registry; without `source` it is closed and cannot win."""

    name = serializers.CharField(max_length=80)
    licence = serializers.CharField(max_length=200)
    description = serializers.CharField(required=False, max_length=4000)
    image = serializers.CharField(required=False, help_text="name@sha256:…, in a registry that is in use here")
    archive = serializers.FileField(required=False, help_text="what docker save writes, uncompressed")
    source = serializers.FileField(  # type: ignore[assignment]  # a declared field, which DRF takes off the class
        required=False, help_text="a zip"
    )
    training_code = serializers.FileField(required=False, help_text="a zip")
    weights = serializers.FileField(required=False)


@limit_body(MAX_SUBMISSION_BYTES)
class Defenses(APIView):
    """The defenses of the contest."""

    parser_classes = (MultiPartParser, JSONParser)

    def get_permissions(self) -> Sequence[Any]:
        """Let everybody read; who hands in is signed in."""
        request: Request | None = self.request  # there is none at first when the schema is made
        reads = request is not None and request.method in ("GET", "HEAD")
        return [AllowAny()] if reads else super().get_permissions()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Let the files stream to the disk, and look at their length before anything is read."""
        if request.method == "POST":
            expect_upload(request._request)
        super().initial(request, *args, **kwargs)

    @extend_schema(
        operation_id="defense_hand_in",
        tags=["defenses"],
        summary="Hand in a defense",
        request={"multipart/form-data": DefenseIn, "application/json": DefenseIn},
        responses={
            200: OpenApiResponse(DefenseOut, description="Handed in before"),
            201: DefenseOut,
            (400, "application/json"): ErrorOut,
            (403, "application/json"): ErrorOut,
            (404, "application/json"): ErrorOut,
            (409, "application/json"): ErrorOut,
            (415, "application/json"): OpenApiResponse(ErrorOut, description="The body is no form and no JSON"),
            (429, "application/json"): ErrorOut,
        },
        examples=[
            OpenApiExample(
                "by its digest",
                {"name": "steadfast", "licence": "Apache-2.0", "image": "ghcr.io/blue/steadfast@sha256:" + "0" * 64},
                request_only=True,
            ),
            OpenApiExample("received", EXAMPLE_RECEIVED, response_only=True, status_codes=["201"]),
        ],
    )
    def post(self, request: Request) -> Response:
        """Hand in a defense of your team; its trials begin by themselves, and `due_at` says until when it is published.

        As multipart/form-data with the archive that `docker save` writes, or as either kind with `image`, the name and
        digest of an image in a registry. Sending the very same again is safe: 200 with the same defense, and nothing
        counts twice. 409 `differs`: this name and image were handed in before with another source, training code,
        weights, licence or description; nothing was changed. 409 `name_taken`: each defense and each version has a name
        of its own. 429 `quota_used`: a team hands in so many a week, because each is asked about the private set; no
        body is read then, and the list of defenses says what was received.
        429 `too_many_refused`: so many were refused in this hour; `Retry-After` says when there are more.
        """
        team, now = own_team_of(request.user), domain_now()
        policy = policy_in_force(now).policy
        entries.refuse_beyond_quota(team, policy, now)
        with count_refusals(team, UploadKind.DEFENSE):
            texts, files = _parts(request)
            given = read_submission(texts, files, request._request)
            now = domain_now()  # The body has been read to its end: this is the time of receipt (R23).
            entry, new = entries.submit_defense(team, given, by=request.user, policy=policy, now=now)  # type: ignore[arg-type]
        hint(plan_trials.task)
        (body,) = _defenses_json([entry.defense], {entry.defense_id}, now=now)
        return Response(body, status=status.HTTP_201_CREATED if new else status.HTTP_200_OK)

    @extend_schema(
        operation_id="defense_list",
        tags=["defenses"],
        summary="The defenses",
        parameters=[OpenApiParameter("page", int, description="From 1 on; 50 defenses each.")],
        responses={200: DefensesOut, (403, "application/json"): ErrorOut},
        examples=[
            OpenApiExample(
                "one at stake, one that failed a condition",
                {"count": 2, "next": None, "results": [EXAMPLE, EXAMPLE_NOT_ELIGIBLE]},
                response_only=True,
            ),
        ],
    )
    def get(self, request: Request) -> Response:
        """List the published defenses, your team's own whatever their state, and all of them to organizers."""
        roles, now = roles_of(request.user), domain_now()
        submitted = selectors.submissions_of(own_team_of(request.user)) if roles.team else ()
        own = {entry.defense_id for entry in submitted}
        rows = [each for each in selectors.defenses_by_name() if each.published_at or roles.organizer or each.pk in own]
        unrestricted = {each.pk for each in rows} if roles.organizer else own
        breaks = defense_breaks(public=not roles.organizer)

        def write(page: list[Defense]) -> list[dict[str, Any]]:
            return _defenses_json(page, unrestricted, now=now, breaks=breaks)

        return Response(list_page(request, rows, "api-defenses", write))


def _defenses_json(
    rows: Sequence[Defense], unrestricted: Container[int], *, now: datetime, breaks: QuerySet[Break] | None = None
) -> list[dict[str, Any]]:
    """Return defenses as the API writes them; of those in `unrestricted` the caller may know all."""
    known, stakes = eligibilities_waiting(rows, now=now), newest_stake_rows(rows, now)
    standings = selectors.defense_states(rows, now=now, breaks=breaks, known=known)
    failed = failures(rows, now=now, known=known)
    return [
        defense_json(
            each,
            standings[each.pk],
            stakes.get(each.pk),
            failed=failed.get(each.pk, ()),
            unrestricted=each.pk in unrestricted,
        )
        for each in rows
    ]


def _parts(request: Request) -> tuple[Mapping[str, Any], MultiValueDict[str, Any]]:
    """Return the texts and the files of a body; WrongFields for names that are not known."""
    data = request.data
    if not isinstance(data, Mapping):
        raise InvalidInput("Send a form, or a JSON object.", "invalid")
    unknown = sorted(set(map(str, data)) - {*TEXTS, *FILES})
    if unknown:
        raise WrongFields({name: f"The field '{name}' is not known." for name in unknown})
    texts = {name: data[name] for name in TEXTS if name in data}
    if sent_as_text := [name for name in FILES if name in data and name not in request.FILES]:
        raise WrongFields(dict.fromkeys(sent_as_text, "Send a file."))
    return texts, request.FILES
