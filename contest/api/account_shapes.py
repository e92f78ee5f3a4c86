"""Serializers of the account calls."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers


class CredentialsIn(serializers.Serializer[Any]):
    """Who wants a token."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1000, trim_whitespace=False)
    otp = serializers.CharField(
        required=False,
        max_length=40,
        help_text="The code of the second factor, or a recovery code: where the account has one.",
    )

    def to_internal_value(self, data: Any) -> Any:
        """Refuse unknown fields by name, as every call does."""
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - set(self.fields))):
            raise serializers.ValidationError({name: [f"The field {name!r} is not known."] for name in unknown})
        return super().to_internal_value(data)


class TokenOut(serializers.Serializer[Any]):
    """A token for programs; it is shown once."""

    token = serializers.CharField()


class TeamOut(serializers.Serializer[Any]):
    """A team of the caller."""

    id = serializers.CharField()
    name = serializers.CharField()


class MeOut(serializers.Serializer[Any]):
    """Who the caller is. `quota_left` is null for who sends no attacks."""

    username = serializers.CharField()
    roles = serializers.ListField(child=serializers.ChoiceField(choices=["tasker", "organizer", "board", "team"]))
    tasker_id = serializers.CharField(allow_null=True, help_text="The public ID, for example T-7Q4M2.")
    teams = TeamOut(many=True)
    quota_left = serializers.IntegerField(allow_null=True)
