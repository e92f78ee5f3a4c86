"""Base serializer of the API's request bodies."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers


class Body(serializers.Serializer[Any]):
    """What a call takes. Unknown fields are refused by name, as every call does."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the fields; ValidationError for what is wrong with them."""
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - set(self.fields))):
            raise serializers.ValidationError({name: [f"The field {name!r} is not known."] for name in unknown})
        return super().to_internal_value(data)
