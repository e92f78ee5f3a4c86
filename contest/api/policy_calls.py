"""API view that lists the versions of the policy, which holds the contest's numbers."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.domain_clock import domain_now
from contest.policy_changes.selectors import PolicyState, PolicyVersionRow, policy_history
from policy.numbers import Policy

_EXAMPLE: dict[str, Any] = {
    "policies": [
        {
            "version": 2,
            "standing": "in force",
            "since": "2026-11-28T00:00:00Z",
            "until": None,
            "reason": "A quarter was more than the pictures need.",
            "changed": ["min_box_fraction"],
            "numbers": Policy().to_json() | {"min_box_fraction": "1/5"},
        }
    ]
}


class PolicyOut(serializers.Serializer[Any]):
    """One version. One that is `never in force` was called back before its time."""

    version = serializers.IntegerField()
    standing = serializers.ChoiceField(choices=[each.value for each in PolicyState])
    since = serializers.DateTimeField(help_text="From when on it holds, or would have.")
    until = serializers.DateTimeField(allow_null=True, help_text="When the next one holds, where one is recorded.")
    reason = serializers.CharField()
    changed = serializers.ListField(
        child=serializers.CharField(), help_text="The numbers that differ from those of the version before it."
    )
    numbers = serializers.DictField(help_text="Every number by its name; a share is a ratio, as 1/4.")


class PoliciesOut(serializers.Serializer[Any]):
    """Every version, newest first."""

    policies = PolicyOut(many=True)


class Policies(APIView):
    """The numbers that the rules use."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="policies",
        tags=["rules"],
        summary="The numbers of the rules",
        responses={200: PoliciesOut},
        examples=[OpenApiExample("answer", _EXAMPLE, response_only=True, status_codes=["200"])],
    )
    def get(self, request: Request) -> Response:
        """List every version of the policy, newest first: past ones, the one in force, and those that are to come.

        Rulings, runs and releases name the version they used. Nobody has to be signed in.
        """
        return Response(
            PoliciesOut({"policies": [_policy_version_json(each) for each in policy_history(now=domain_now())]}).data
        )


def _policy_version_json(each: PolicyVersionRow) -> dict[str, Any]:
    return {
        "version": each.version,
        "standing": each.state.value,
        "since": each.since,
        "until": each.until,
        "reason": each.row.reason,
        "changed": [change.number.name for change in each.changes],
        "numbers": each.policy.to_json(),
    }
