"""Defenses as entries of teams, and what is staked on them (R31-R33, R36)."""

from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import Q

from adjudication.models import Ruling
from common.choices import choices
from common.ids import random_id
from contest.core.enums import StakeEnd, StakeKind
from contest.models.decisions import BoardDecision
from contest.models.teams import Team
from labeling.models import Image
from scoring.models import Defense


class Entry(models.Model):
    """A defense that a team handed in. `due_at`: by then it is published if it is eligible (R32).

    Without `opened_at` its source is closed: it can be attacked and staked and cannot win (R33). `training_code` is the
    SHA-256 of the archive handed in.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="entries")
    defense = models.OneToOneField(Defense, on_delete=models.PROTECT, related_name="entry")
    received_at = models.DateTimeField()
    due_at = models.DateTimeField()
    licence = models.CharField(max_length=200)
    training_code = models.CharField(max_length=64, blank=True)
    opened_at = models.DateTimeField(null=True)
    handed_in_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return f"{self.defense_id} of {self.team_id}"


class StakeBatch(models.Model):
    """Defenses that the board staked together, with the criteria: the unbroken ones of a batch share a prize (R36)."""

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "S", 5))
    criteria = models.TextField()
    decision = models.OneToOneField(BoardDecision, on_delete=models.PROTECT, related_name="batch")
    staked_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.public_id


class Stake(models.Model):
    """A defense at stake from `staked_at` on, for `cents` (R32). A paying team's begins when its money was received.

    `paid_by` is that team; `receipt` what the organizer noted of the payment. `ended_at` and `end` say when and how it
    was over. `clock_from` is where its 90 days begin: later than `staked_at` once a closed defense was opened (R33).
    `return_asked_at` is when the team asked the board to let it take the defense back.
    """

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="stakes")
    kind = models.CharField(max_length=5, choices=choices(StakeKind))
    batch = models.ForeignKey(StakeBatch, on_delete=models.PROTECT, null=True, related_name="stakes")
    paid_by = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="stakes_paid")
    cents = models.PositiveBigIntegerField()
    asked_at = models.DateTimeField()
    staked_at = models.DateTimeField(null=True)
    clock_from = models.DateTimeField(null=True)
    receipt = models.CharField(max_length=200, blank=True)
    received_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    return_asked_at = models.DateTimeField(null=True)
    return_reason = models.TextField(blank=True)
    ended_at = models.DateTimeField(null=True)
    end = models.CharField(max_length=9, choices=choices(StakeEnd), blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["defense"], condition=Q(ended_at__isnull=True), name="stake_one_at_a_time"),
            models.CheckConstraint(
                condition=Q(kind=StakeKind.BOARD.value, batch__isnull=False, paid_by__isnull=True)
                | Q(kind=StakeKind.TEAM.value, batch__isnull=True, paid_by__isnull=False),
                name="stake_of_board_or_team",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, end="") | (Q(ended_at__isnull=False) & ~Q(end="")),
                name="stake_ends_somehow",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cents} cents on {self.defense_id}"


class StakeChange(models.Model):
    """How a stake had ended by what was known from `known_at` on; nothing where it was in force. Append-only.

    A ruling that is overruled takes an end back (R22): the stake says how it stands now, its changes what was known
    when. One without any is as the stake itself says.
    """

    stake = models.ForeignKey(Stake, on_delete=models.PROTECT, related_name="changes")
    end = models.CharField(max_length=9, choices=choices(StakeEnd), blank=True)
    ended_at = models.DateTimeField(null=True)
    known_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, end="") | (Q(ended_at__isnull=False) & ~Q(end="")),
                name="stake_change_ends_somehow",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stake_id}: {self.end}"


class Award(models.Model):
    """The defender half, or a share of it, given to a defense by the board (R36-R38). Append-only."""

    stake = models.OneToOneField(Stake, on_delete=models.PROTECT, related_name="award")
    decision = models.ForeignKey(BoardDecision, on_delete=models.PROTECT, related_name="awards")
    cents = models.PositiveBigIntegerField()
    statement = models.TextField()
    conditions = models.JSONField()
    awarded_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.cents} cents for {self.stake_id}"


class Examination(models.Model):
    """A member of the board looked at a rejected picture and confirms that it is invalid (R37). Append-only but for
    forgetting the account.

    `defense` is the one whose award waits for it; `ruling` the rejection that was confirmed, so that another one is
    looked at anew.
    """

    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="examinations")
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="examinations")
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    ruling = models.ForeignKey(Ruling, on_delete=models.PROTECT, null=True, related_name="examinations")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["image", "defense", "ruling", "confirmed_by"], name="examination_once_per_member"
            )
        ]

    def __str__(self) -> str:
        return f"image {self.image_id} for {self.defense_id}"
