"""Serializers of labeling's API: shapes of requests and replies; labeling.answers validates a submitted form."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from labeling.enums import Answer, ReportKind, TieBreak
from policy.enums import OutlineGate

_LEASE_TOKEN = "9f2c41d07be84a6f8f3f0f1a5e6d7c8b"
MAX_REVISION = 2**31 - 1


def _example(**values: Any) -> Callable[[type], type]:
    return extend_schema_serializer(examples=[OpenApiExample("example", values)])


class NextIn(serializers.Serializer[Any]):
    """`holding` names the pictures already at hand, to be given another one."""

    holding = serializers.ListField(child=serializers.UUIDField(), max_length=3, required=False)


class PictureOut(serializers.Serializer[Any]):
    """Where to fetch the picture, and its size in pixels."""

    url = serializers.CharField()
    width = serializers.IntegerField()
    height = serializers.IntegerField()


_FORM = {"answers": {"contains_bird": "definitely_yes"}}


@_example(lease_token=_LEASE_TOKEN, browser="7d0e3f1c-9a52-4f5b-9a37-0c6f3f1d2b84", revision=7, base=5, form=_FORM)
class DraftIn(serializers.Serializer[Any]):
    """What is filled in so far. `revision` grows with every change; with 0 nothing is kept."""

    lease_token = serializers.CharField(max_length=64)
    browser = serializers.UUIDField(help_text="A random name of the browser, the same each time.")
    revision = serializers.IntegerField(min_value=0, max_value=MAX_REVISION)
    base = serializers.IntegerField(
        min_value=0,
        max_value=MAX_REVISION,
        help_text="The revision of the draft that came from the server, or 0.",
    )
    form = serializers.DictField(help_text="Any object. It comes back as it is.")


@_example(revision=7, saved_at="2026-11-20T23:41:12Z")
class DraftOut(serializers.Serializer[Any]):
    """The draft that is kept. `form` is there where it is not the one just sent."""

    revision = serializers.IntegerField()
    saved_at = serializers.DateTimeField()
    form = serializers.DictField(required=False)


@_example(
    id="3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84",
    lease_token=_LEASE_TOKEN,
    expires_at="2026-11-20T23:59:00Z",
    form="unambiguous",
    image={"url": "/pictures/Xq3f0Zk9…", "width": 299, "height": 299},
    tie_break="leftmost",
    outline_gate="best_guess_yes",
    instructions=1,
)
class AssignmentOut(serializers.Serializer[Any]):
    """A picture to answer, under a lease."""

    id = serializers.UUIDField()
    lease_token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    form = serializers.ChoiceField(choices=["unambiguous"])
    image = PictureOut()
    tie_break = serializers.ChoiceField(choices=list(TieBreak))
    outline_gate = serializers.ChoiceField(
        choices=list(OutlineGate), help_text="Which answers to questions 1 and 2 make the outline and question 4 asked."
    )
    instructions = serializers.IntegerField(help_text="The version of the instructions to answer under.")
    draft = DraftOut(required=False, help_text="What was filled in before, in this browser or another one.")


@_example(lease_token=_LEASE_TOKEN)
class LeaseIn(serializers.Serializer[Any]):
    """The token that came with the assignment."""

    lease_token = serializers.CharField(max_length=64)


@_example(expires_at="2026-11-20T23:59:00Z")
class LeaseOut(serializers.Serializer[Any]):
    """When the lease now ends."""

    expires_at = serializers.DateTimeField()


@_example(lease_token=_LEASE_TOKEN, kind="does_not_load", problem="The lower half of the picture is grey.")
class ReleaseIn(serializers.Serializer[Any]):
    """`kind` or `problem` says that something is wrong with the picture; `lease_token` is checked where it is sent."""

    lease_token = serializers.CharField(max_length=64, required=False)
    kind = serializers.ChoiceField(
        choices=list(ReportKind), required=False, help_text="`other` where only `problem` is sent."
    )
    problem = serializers.CharField(max_length=2000, required=False, allow_blank=True)


@_example(
    lease_token=_LEASE_TOKEN,
    contains_bird="definitely_yes",
    contains_bicycle="definitely_no",
    outline=[[[60, 40], [240.5, 52], [228, 251], [71, 238]]],
    complete=True,
    unoccluded=True,
    real=True,
    seconds=14.2,
)
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
    next = serializers.BooleanField(required=False, help_text="Whether the next picture comes with the receipt.")
    holding = serializers.ListField(
        child=serializers.UUIDField(), max_length=3, required=False, help_text="With `next`: as in `assignments/next/`."
    )


@_example(id=4711, received_at="2026-11-20T23:41:12Z", receipt="7c1e0b52a9d34f68", counted=True)
class ReceiptOut(serializers.Serializer[Any]):
    """Proof of receipt. `counted` is false for a surplus answer (R8)."""

    id = serializers.UUIDField()
    received_at = serializers.DateTimeField()
    receipt = serializers.CharField()
    counted = serializers.BooleanField()


class ErrorOut(serializers.Serializer[Any]):
    """Every refusal has this shape."""

    code = serializers.CharField()
    detail = serializers.CharField()
    fields = serializers.DictField(  # type: ignore[assignment]  # a declared field, which DRF takes off the class
        child=serializers.ListField(child=serializers.CharField()), required=False
    )


class AnsweredOut(ReceiptOut):
    """The receipt, and the next picture where it was asked for."""

    next = AssignmentOut(required=False, allow_null=True, help_text="Null: nothing is left, or `next_error` says why.")
    retry_after = serializers.IntegerField(
        required=False, allow_null=True, help_text="Seconds; null where nobody else holds a picture either."
    )
    next_error = ErrorOut(required=False)
