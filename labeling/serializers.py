"""The shapes of the API of labeling, for its schema; what is right and wrong is decided in labeling.answers."""

from rest_framework import serializers

from labeling.enums import Answer, TieBreak


class NextIn(serializers.Serializer):
    """`holding` names the pictures already at hand, to be given another one."""

    holding = serializers.ListField(child=serializers.UUIDField(), max_length=3, required=False)


class PictureOut(serializers.Serializer):
    """Where to fetch the picture, and its size in pixels."""

    url = serializers.CharField()
    width = serializers.IntegerField()
    height = serializers.IntegerField()


class AssignmentOut(serializers.Serializer):
    """A picture to answer, under a lease."""

    id = serializers.UUIDField()
    lease_token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    form = serializers.ChoiceField(choices=["unambiguous"])
    image = PictureOut()
    tie_break = serializers.ChoiceField(choices=list(TieBreak))


class LeaseIn(serializers.Serializer):
    """The token that came with the assignment."""

    lease_token = serializers.CharField(max_length=64)


class LeaseOut(serializers.Serializer):
    """When the lease now ends."""

    expires_at = serializers.DateTimeField()


class ReleaseIn(LeaseIn):
    """`problem` reports a broken picture in words."""

    problem = serializers.CharField(max_length=2000, required=False, allow_blank=True)


class ResponseIn(LeaseIn):
    """The form. Questions 3 and 4 are sent exactly when they were asked (R10)."""

    contains_bird = serializers.ChoiceField(choices=list(Answer))
    contains_bicycle = serializers.ChoiceField(choices=list(Answer))
    outline = serializers.ListField(
        child=serializers.ListField(
            child=serializers.ListField(child=serializers.FloatField(), min_length=2, max_length=2)
        ),
        allow_null=True,
        required=False,
        help_text="Rings of [x, y] corners in image pixels, or null.",
    )
    complete = serializers.BooleanField(allow_null=True, required=False)
    unoccluded = serializers.BooleanField(allow_null=True, required=False)
    real = serializers.BooleanField(allow_null=True, required=False)
    seconds = serializers.FloatField(min_value=0, max_value=24 * 3600, required=False)


class ReceiptOut(serializers.Serializer):
    """Proof of receipt. `counted` is false for a surplus answer (R8)."""

    id = serializers.IntegerField()
    received_at = serializers.DateTimeField()
    receipt = serializers.CharField()
    counted = serializers.BooleanField()


class ErrorOut(serializers.Serializer):
    """Every refusal has this shape."""

    code = serializers.CharField()
    detail = serializers.CharField()
    fields = serializers.DictField(child=serializers.ListField(child=serializers.CharField()), required=False)

    def get_fields(self) -> dict[str, serializers.Field]:
        """Return the declared fields; one of them is called `fields`, so the class attribute is read by name."""
        return {name: self._declared_fields[name] for name in ("code", "detail", "fields")}


class CredentialsIn(serializers.Serializer):
    """Name and password of an account."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=128)


class TokenOut(serializers.Serializer):
    """A token for `Authorization: Token …`, shown once."""

    token = serializers.CharField()


class MeOut(serializers.Serializer):
    """Who is asking."""

    username = serializers.CharField()
    roles = serializers.ListField(child=serializers.CharField())
    tasker_id = serializers.CharField(allow_null=True)
    teams = serializers.ListField(child=serializers.CharField())
    quota_left = serializers.IntegerField(allow_null=True)
