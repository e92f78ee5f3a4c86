"""Serializers of attacks."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from contest.attacks.attack_states import AttackState
from contest.attacks.services import LONGEST_NAME
from contest.attacks.uploads import MOST_ENTRIES

EXAMPLE = {
    "id": "A-7Q4M2K9X",
    "received_at": "2026-11-20T23:41:12.482913Z",
    "week": "2026-W47",
    "week_ends_at": "2026-11-21T00:00:00Z",
    "time_zone": "UTC",
    "image": "P-7Q4M2K9X",
    "sha256_pixels": "5f1d7a84b1c2e0f39a6d4b8c7e2f1053a9b6c4d8e7f20113b5a7c9d1e3f50627",
    "file_name": "heron-on-a-fence.png",
    "of_quota": 3,
    "defenses": ["D-4K7QX2M9"],
    "warnings": [],
    "copy_of": None,
    "withdrawn_at": None,
}


@extend_schema_serializer(component_name="AttackIn")
class AttackIn(serializers.Serializer[Any]):
    """A picture, and the defenses it is meant for."""

    image = serializers.FileField(allow_empty_file=True, help_text="The file: one picture, PNG if every pixel counts.")
    defenses = serializers.ListField(
        child=serializers.CharField(max_length=16, allow_blank=True),
        required=False,
        max_length=MOST_ENTRIES,
        help_text="IDs of defenses at stake whose time is not over, one field each; none means all of them.",
    )

    def to_internal_value(self, data: Any) -> Any:
        """Refuse unknown fields by name, as every call does."""
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - set(self.fields))):
            raise serializers.ValidationError({name: [f"The field {name!r} is not known."] for name in unknown})
        return super().to_internal_value(data)


class AttackOut(serializers.Serializer[Any]):
    """The receipt of an attack (R26)."""

    id = serializers.CharField()
    received_at = serializers.DateTimeField(help_text="When the last byte had arrived.")
    week = serializers.CharField(help_text="The contest week it counts for.")
    week_ends_at = serializers.DateTimeField(help_text="Until then it is under embargo and may be withdrawn.")
    time_zone = serializers.CharField(help_text="The IANA zone the week is counted in.")
    image = serializers.CharField(help_text="The ID of the picture: its own call tells more of it.")
    sha256_pixels = serializers.CharField()
    file_name = serializers.CharField(max_length=LONGEST_NAME, allow_blank=True)
    of_quota = serializers.IntegerField(help_text="The how many-th picture of the team's day.")
    defenses = serializers.ListField(
        child=serializers.CharField(), help_text="Empty: all that were at stake when it was received."
    )
    warnings = serializers.ListField(child=serializers.CharField())
    copy_of = serializers.CharField(
        allow_null=True, help_text="The first receipt of the same pixels, another team's, once that one is public."
    )
    withdrawn_at = serializers.DateTimeField(allow_null=True)


class AttackReceiptOut(AttackOut):
    """The receipt of a new attack."""

    quota_left = serializers.IntegerField(help_text="What is left for the team on this day.")


class AttackStateOut(AttackOut):
    """A receipt with what became of the picture."""

    state = serializers.ChoiceField(choices=[state.value for state in AttackState])


class AttacksOut(serializers.Serializer[Any]):
    """A page of receipts, newest first."""

    count = serializers.IntegerField()
    quota_left = serializers.IntegerField()
    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")
    results = AttackStateOut(many=True)


class SentBeforeOut(serializers.Serializer[Any]):
    """A picture that the team has sent before; `receipt` is the earlier one."""

    code = serializers.CharField()
    detail = serializers.CharField()
    receipt = serializers.CharField()
