"""Serializers of defenses; contest.defenses validates."""

from typing import Any

from rest_framework import serializers

from contest.core.enums import DefenseStanding, StakeEnd, StakeKind
from scoring.trials.enums import EligibilityCondition

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
    """What stands on a defense. `unbroken_until` is null where no clock runs: it is over, or the source is closed."""

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
