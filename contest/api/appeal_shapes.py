"""Serializers of appeals."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from contest.appeals.services import MINIMUM_TEXT, MOST_CHARACTERS, MOST_IN_MARK, MOST_MARKS
from contest.core.enums import AppealSide, CaseOutcome, CaseState

EXAMPLE = {
    "id": "L-7Q4M2K",
    "case": "C-4K7QX2",
    "image": "P-7Q4M2K9X",
    "side": "defender",
    "defense": "D-4K7QX2M9",
    "ruling": 1,
    "argument": "The object is a toy: the marked hinge holds the wheel to the wall behind it.",
    "marks": [{"x": 120, "y": 88, "width": 40, "height": 36, "words": "the hinge"}],
    "sent_at": "2026-11-26T09:12:44.120931Z",
    "state": "open",
    "due_at": "2026-12-10T09:12:44.120931Z",
    "outcome": None,
    "decided_at": None,
    "changed": None,
}


@extend_schema_serializer(component_name="Mark")
class Mark(serializers.Serializer[Any]):
    """A rectangle on the picture, in whole pixels, with what is to be seen there."""

    x = serializers.IntegerField(min_value=0)
    y = serializers.IntegerField(min_value=0)
    width = serializers.IntegerField(min_value=1)
    height = serializers.IntegerField(min_value=1)
    words = serializers.CharField(required=False, allow_blank=True, max_length=MOST_IN_MARK)


@extend_schema_field(Mark(many=True))
class Marks(serializers.ListField):
    """What `contest.appeals.services.validate_marks` reads, as it came."""

    child = serializers.JSONField()


@extend_schema_serializer(component_name="AppealIn")
class AppealIn(serializers.Serializer[Any]):
    """An appeal against the ruling that holds on a picture."""

    image = serializers.CharField(max_length=16, help_text="The ID of the picture.")
    argument = serializers.CharField(
        trim_whitespace=True,
        help_text=f"Why the ruling is wrong: {MINIMUM_TEXT}, and at most {MOST_CHARACTERS:,} characters.",
    )
    marks = Marks(
        required=False,
        help_text=f"At most {MOST_MARKS} rectangles inside the picture: x, y, width and height in whole pixels, and"
        f" up to {MOST_IN_MARK} characters of words.",
    )

    def to_internal_value(self, data: Any) -> Any:
        """Refuse unknown fields by name, as every call does."""
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - set(self.fields))):
            raise serializers.ValidationError({name: [f"The field {name!r} is not known."] for name in unknown})
        return super().to_internal_value(data)


class AppealOut(serializers.Serializer[Any]):
    """An appeal, and how far the board is with its case."""

    id = serializers.CharField()
    case = serializers.CharField()
    image = serializers.CharField()
    side = serializers.ChoiceField(choices=[each.value for each in AppealSide])
    defense = serializers.CharField(allow_null=True, help_text="A defender's that is at stake.")
    ruling = serializers.IntegerField(help_text="The number of the ruling that it is against.")
    argument = serializers.CharField()
    marks = Mark(many=True)
    sent_at = serializers.DateTimeField()
    state = serializers.ChoiceField(
        choices=[each.value for each in CaseState],
        help_text="`open`: the board votes; `panel`: more taskers are asked; `closed`: nothing more comes of it.",
    )
    due_at = serializers.DateTimeField(help_text="By then the board should decide.")
    outcome = serializers.ChoiceField(choices=[each.value for each in CaseOutcome], allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    changed = serializers.BooleanField(
        allow_null=True, help_text="Whether another verdict or class holds; null while the case is not closed."
    )


class AppealsOut(serializers.Serializer[Any]):
    """A page of the team's appeals."""

    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    results = AppealOut(many=True)


class AppealedOut(serializers.Serializer[Any]):
    """A refusal, with the earlier receipt where there is one."""

    code = serializers.CharField()
    detail = serializers.CharField()
    receipt = serializers.CharField(required=False)
