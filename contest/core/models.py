"""Models shared by all packages of the contest: teams, attacks, breaks, stakes, cases, decisions, releases."""

from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower

from adjudication.models import Ruling
from common.choices import choices
from common.ids import random_id
from contest.core.enums import CaseKind, CaseState, ConflictKind, DecisionKind, StakeEnd, StakeKind
from labeling.models import Image
from policy.models import PolicyVersion
from scoring.models import Defense, Prediction


class Team(models.Model):
    """A team that attacks or defends. A merged team stays in the record and points to the team it is part of."""

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "G", 5))
    name = models.CharField(max_length=80, unique=True)
    created_at = models.DateTimeField()
    merged_into = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="merged")
    merged_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="team_name_once")]

    def __str__(self) -> str:
        return self.name


class Member(models.Model):
    """A person's membership in a team; a person is in one team at a time, and one member is the captain."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="members")
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="membership")
    captain = models.BooleanField(default=False)
    joined_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team"], condition=Q(captain=True), name="member_one_captain")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.team_id}"


class Case(models.Model):
    """A case of the board: about a picture, and then `ruling` is the one in force when it was opened, or a motion with
    its kind, subject, and the mover's reason.

    `result` is the ruling that the case led to. `due_at` is the deadline of the decision. `told_at` is when organizers
    learned that too few members are left to decide it; empty while there are enough.
    """

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "C", 6))
    kind = models.CharField(max_length=7, choices=choices(CaseKind))
    state = models.CharField(max_length=6, choices=choices(CaseState), default=CaseState.OPEN.value)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, related_name="cases")
    ruling = models.ForeignKey(Ruling, on_delete=models.PROTECT, null=True, related_name="cases")
    motion = models.CharField(max_length=8, choices=choices(DecisionKind), blank=True)
    subject = models.JSONField(default=dict)
    details = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")
    opened_at = models.DateTimeField(db_index=True)
    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    due_at = models.DateTimeField()
    told_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    result = models.ForeignKey(Ruling, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["image"], condition=~Q(state=CaseState.CLOSED.value), name="case_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(kind=CaseKind.PICTURE.value, image__isnull=False, ruling__isnull=False, motion="")
                | (Q(kind=CaseKind.MOTION.value, image__isnull=True, ruling__isnull=True) & ~Q(motion="")),
                name="case_of_picture_or_motion",
            ),
            models.CheckConstraint(
                condition=Q(state=CaseState.CLOSED.value, closed_at__isnull=False)
                | (~Q(state=CaseState.CLOSED.value) & Q(closed_at__isnull=True)),
                name="case_closed_at_some_time",
            ),
        ]
        indexes = [models.Index(fields=["due_at"], name="case_undecided", condition=Q(state=CaseState.OPEN.value))]

    def __str__(self) -> str:
        return self.public_id


class ConflictOfInterest(models.Model):
    """A member of the board and a team that they do not judge, from `since` on and before `until` (R21).

    `found` says that a sweep found it; it counts like a declared one until an organizer dismisses it with a reason.
    `words` are for organizers only.
    """

    member = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conflicts")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="conflicts")
    kind = models.CharField(max_length=11, choices=choices(ConflictKind))
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    words = models.TextField(blank=True)
    found = models.BooleanField(default=False)
    declared_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    declared_at = models.DateTimeField()
    dismissed_at = models.DateTimeField(null=True)
    dismissed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    dismissed_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(until__isnull=True) | Q(until__gt=F("since")), name="conflict_ends_after"
            ),
            models.CheckConstraint(
                condition=Q(dismissed_at__isnull=True) | ~Q(dismissed_reason=""), name="conflict_dismissed_with_reason"
            ),
            models.UniqueConstraint(
                fields=["member", "team", "kind"], condition=Q(found=True), name="conflict_found_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.member_id} and {self.team_id}: {self.kind}"


class BoardDecision(models.Model):
    """A decision of the board with its public reason. Append-only but for forgetting the account.

    `subject` names the rows it is about (`{"defense": [3, 4]}`), `details` what was decided about them. `case` is the
    motion that was carried (R21); decisions of before the board voted on them have none.
    """

    kind = models.CharField(max_length=8, choices=choices(DecisionKind))
    subject = models.JSONField()
    details = models.JSONField(default=dict)
    reason = models.TextField()
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField()
    case = models.ForeignKey(Case, on_delete=models.PROTECT, null=True, related_name="made")

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(reason=""), name="board_decision_has_reason")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class Attack(models.Model):
    """A picture a team sent (R26). `received_at` is when the last byte had arrived (R23), `week` the one it fell in.

    `policy` decided the week, the quota and the size. `of_quota` is its number among the team's pictures of that day,
    from 1 on. Without targets it is against all staked defenses. `copy_of` is the first attack with the same pixels, of
    another team, which gets the credit. Pictures sent together have the same `upload`. `original_*` describe the file
    as this team sent it (R2); the picture has those of the team with the credit.
    """

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "A", 8))
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="attacks")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="attacks")
    received_at = models.DateTimeField(db_index=True)
    week = models.CharField(max_length=8)
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, null=True, related_name="+")
    of_quota = models.PositiveSmallIntegerField(default=0)
    upload = models.CharField(max_length=32, blank=True)
    file_name = models.CharField(max_length=200, blank=True)
    original_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")
    original_format = models.CharField(max_length=8, blank=True, default="", db_default="")
    warnings = models.JSONField(default=list)
    copy_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="copies")
    targets = models.ManyToManyField(Defense, related_name="attacks", through="AttackTarget")
    sent_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "image"], name="attack_once_per_team_and_image")]
        indexes = [models.Index(fields=["week", "id"], name="attack_of_week")]

    def __str__(self) -> str:
        return self.public_id


class AttackTarget(models.Model):
    """A staked defense that an attack was sent against."""

    attack = models.ForeignKey(Attack, on_delete=models.PROTECT)
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attack", "defense"], name="attack_target_once")]

    def __str__(self) -> str:
        return f"{self.attack_id} at {self.defense_id}"


class Break(models.Model):
    """A confident mistake of a defense on a valid image: the ruling and the prediction that prove it.

    It breaks the defense only if an attack sent the image (R29): `contest.core.breaks` selects those rows.
    """

    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, related_name="breaks")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="breaks")
    ruling = models.ForeignKey(Ruling, on_delete=models.PROTECT, related_name="breaks")
    prediction = models.ForeignKey(Prediction, on_delete=models.PROTECT, related_name="+")
    found_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["defense", "image", "ruling"], name="break_once_per_ruling"),
        ]

    def __str__(self) -> str:
        return f"image {self.image_id} breaks {self.defense_id}"


class Release(models.Model):
    """A published part of the record of one week (R39). Part 0 is the release, part n its n-th errata.

    `last_audit_number` is the number of the last row of the audit trail in it, 0 where it has none. It is None for a
    part of before this was recorded: the number then follows from the end of the week.
    """

    week = models.CharField(max_length=8)
    part = models.PositiveSmallIntegerField(default=0)
    manifest_sha256 = models.CharField(max_length=64)
    previous_sha256 = models.CharField(max_length=64, blank=True)
    counts = models.JSONField()
    bytes = models.PositiveBigIntegerField()
    released_at = models.DateTimeField()
    last_audit_number = models.PositiveBigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["week", "part"], name="release_part_once")]

    @property
    def name(self) -> str:
        """Return the folder's name, for example `release-2026-W47-errata-1`."""
        return f"release-{self.week}" + (f"-errata-{self.part}" if self.part else "")

    def __str__(self) -> str:
        return self.name


class StakeBatch(models.Model):
    """Defenses that the board staked together, with its criteria; the unbroken ones of a batch share a prize (R36)."""

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "S", 5))
    criteria = models.TextField()
    decision = models.OneToOneField(BoardDecision, on_delete=models.PROTECT, related_name="batch")
    staked_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.public_id


class Stake(models.Model):
    """A defense at stake from `staked_at` on, for `cents` (R32). One that a team pays for begins when the money came.

    `paid_by` is that team; `receipt` is the organizer's note about the payment. `ended_at` and `end` say when and how
    it ended. `clock_from` is the beginning of its 90 days: later than `staked_at` if a closed defense was opened (R33).
    `return_asked_at` is when the team requested that the board returns the defense.
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

    @property
    def begun_at(self) -> datetime:
        """Return when it began; while its money has not come in, when the team requested it."""
        return self.staked_at or self.asked_at


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
