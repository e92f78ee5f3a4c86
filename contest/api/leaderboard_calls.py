"""API view of the leaderboard."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from contest.core.enums import DefenseStanding
from contest.record.leaderboard import snapshots
from labeling.pages.shapes import ErrorOut
from policy.selectors import policy_in_force


class TeamNameOut(serializers.Serializer[Any]):
    """A team as others see it."""

    id = serializers.CharField()
    name = serializers.CharField()


class BreakerOut(TeamNameOut):
    """A team that broke a defense."""

    at = serializers.DateTimeField(help_text="When its first picture that broke the defense was received.")


class EligibilityOut(serializers.Serializer[Any]):
    """Totals on the private set (R31): the pictures are in exactly one of the four parts."""

    pictures = serializers.IntegerField()
    right = serializers.IntegerField()
    wrong = serializers.IntegerField()
    abstained = serializers.IntegerField()
    faults = serializers.IntegerField()


class DefenseRowOut(serializers.Serializer[Any]):
    """A published defense."""

    rank = serializers.IntegerField(allow_null=True, help_text="Null for one that was never staked.")
    id = serializers.CharField()
    name = serializers.CharField()
    demo = serializers.BooleanField(help_text="Whether it is no real contender.")
    team = TeamNameOut(allow_null=True)
    state = serializers.ChoiceField(choices=[each.value for each in DefenseStanding])
    staked_since = serializers.DateTimeField(allow_null=True)
    days_unbroken = serializers.IntegerField(allow_null=True, help_text="Whole days of 24 hours since the stake began.")
    survived = serializers.IntegerField(
        allow_null=True, help_text="Valid attacks of other teams since the stake began that did not break it."
    )
    cents = serializers.IntegerField(
        help_text="What is staked on it. From `clock_ends` on it waits for the board: what is sent then wins nothing."
    )
    clock_ends = serializers.DateTimeField(allow_null=True, help_text="When it wins if it stays unbroken.")
    eligibility = EligibilityOut(allow_null=True)
    open_source = serializers.BooleanField()
    randomised = serializers.BooleanField()
    broken_at = serializers.DateTimeField(
        allow_null=True, help_text="When the first picture that broke it was received."
    )
    broken_week = serializers.CharField(allow_blank=True)
    broken_by = BreakerOut(
        many=True,
        help_text="The teams whose pictures broke it in that week, in the order of receipt.",
    )
    warmup = serializers.FloatField(
        allow_null=True,
        help_text="Accuracy at 80 % coverage, 0 to 1, with the worst answer of the fixed attacks to each picture "
        "(R40); null without a run by the newest version of them that any defense was measured by.",
    )
    warmup_warnings = serializers.ListField(
        child=serializers.CharField(),
        help_text="Why `warmup` may mean little: the codes of the report's warnings, and `other pictures` where the "
        "newest warm-up of any defense had others.",
    )


class TeamRowOut(serializers.Serializer[Any]):
    """A team that attacks."""

    rank = serializers.IntegerField()
    id = serializers.CharField()
    name = serializers.CharField()
    unpaid = serializers.BooleanField(help_text="Whether it was associated with the contest (R27).")
    sent = serializers.IntegerField()
    valid = serializers.IntegerField(help_text="Pictures ruled valid that it was the first to send.")
    breaks = serializers.IntegerField(help_text="Pairs of such a picture and a defense of others that it broke.")
    defenses = serializers.IntegerField(help_text="Defenses of others that it broke.")
    cents = serializers.IntegerField(
        help_text="Prizes won by attacks, without what the board withholds. Awards of defenders are none of them."
    )


class LeaderboardOut(serializers.Serializer[Any]):
    """Both tables by what was public at `at`."""

    week = serializers.CharField(allow_blank=True, help_text="Empty for the present tables.")
    at = serializers.DateTimeField()
    made_at = serializers.DateTimeField()
    currency = serializers.CharField()
    defenses = DefenseRowOut(many=True)
    attackers = TeamRowOut(many=True)


_TEAM = {"id": "G-7Q4M2", "name": "red"}
_EXAMPLE: dict[str, Any] = {
    "week": "2026-W47",
    "at": "2026-11-21T00:00:00Z",
    "made_at": "2026-11-21T00:00:42Z",
    "currency": "USD",
    "defenses": [
        {
            "rank": 1,
            "id": "D-3K9TX",
            "name": "wide margin",
            "demo": False,
            "team": {"id": "G-2B8WN", "name": "blue"},
            "state": "staked",
            "staked_since": "2026-10-01T12:00:00Z",
            "days_unbroken": 50,
            "survived": 212,
            "cents": 100_000,
            "clock_ends": "2026-12-30T12:00:00Z",
            "eligibility": {"pictures": 1000, "right": 871, "wrong": 0, "abstained": 129, "faults": 0},
            "open_source": True,
            "randomised": False,
            "broken_at": None,
            "broken_week": "",
            "broken_by": [],
            "warmup": 0.945,
            "warmup_warnings": [],
        }
    ],
    "attackers": [
        {"rank": 1, **_TEAM, "unpaid": False, "sent": 140, "valid": 96, "breaks": 3, "defenses": 2, "cents": 150_000}
    ],
}


class LeaderboardCall(APIView):
    """The two tables."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="leaderboard",
        tags=["leaderboard"],
        summary="Defenses and attackers",
        parameters=[
            OpenApiParameter("week", str, description="A week that is over, for example 2026-W47; none for now.")
        ],
        responses={200: LeaderboardOut, (403, "application/json"): ErrorOut, (404, "application/json"): ErrorOut},
        examples=[OpenApiExample("answer", _EXAMPLE, response_only=True, status_codes=["200"])],
    )
    def get(self, request: Request) -> Response:
        """Tell both tables by what was public at the end of a week, or is now, each in the order of its ranks.

        Verdicts and breaks are public with the release of their week. Nobody has to be signed in; taskers are refused
        (403 `not_for_taskers`). 404 `unknown_week` for a week that is not over.
        """
        found = snapshots.leaderboard_tables(request.query_params.get("week", ""), now=domain_now())
        tables = found.tables
        answer = {
            "week": found.week,
            "at": tables.at,
            "made_at": found.made_at,
            "currency": policy_in_force(tables.at).policy.currency,
            "defenses": tables.defenses,
            "attackers": tables.attackers,
        }
        return Response(LeaderboardOut(answer).data)
