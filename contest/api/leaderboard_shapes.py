"""Serializers of the leaderboard."""

from typing import Any

from rest_framework import serializers

from contest.core.enums import DefenseStanding


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
