"""API call of the leaderboard."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from contest.api.leaderboard_shapes import LeaderboardOut
from contest.record.leaderboard import snapshots
from labeling.pages.shapes import ErrorOut
from policy.selectors import policy_in_force

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
        now = domain_now()
        found = snapshots.leaderboard_tables(request.query_params.get("week", ""), now=now)
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
