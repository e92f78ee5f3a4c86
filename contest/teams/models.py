"""Models of teams: past members, invitations, entitlements, associations and merges (R8, R25, R27)."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from contest.core.enums import EntitlementKind, EntitlementState, EntitlementStepKind, SamePersonBy
from contest.core.models import BoardDecision, Team


class PastMember(models.Model):
    """A person who was in a team. Append-only but for forgetting the account."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="past_members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    joined_at = models.DateTimeField(null=True)
    left_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user_id} was in {self.team_id}"


class TeamInvitation(models.Model):
    """A link by which one person may join a team once. The link itself is kept nowhere, only its hash."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="invitations")
    email = models.EmailField()
    token_sha256 = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    invited_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "email"],
                condition=Q(accepted_at__isnull=True, withdrawn_at__isnull=True),
                name="team_invitation_once_per_address",
            )
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk} to {self.team_id}"


class Association(models.Model):
    """A time in which a team is associated with the contest: it may compete and is never paid (R27)."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="associations")
    reason = models.TextField()
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    declared_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    declared_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(until__isnull=True) | Q(until__gt=models.F("since")), name="association_ends_after"
            )
        ]

    def __str__(self) -> str:
        return f"{self.team_id} since {self.since}"


class AssociationMistake(models.Model):
    """Records that an association was declared in error: since then it does not count, also for the past. Append-only,
    as money was computed by the association before."""

    association = models.OneToOneField(Association, on_delete=models.PROTECT, related_name="mistake")
    reason = models.TextField()
    declared_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    declared_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.association_id} in error"


class Entitlement(models.Model):
    """Why a team may attack: a paper of a member's, checked by an organizer, or a grant of the board (R25).

    `author` is the member whose confirmed address `email` was, and stands on the paper. Both are forgotten with the
    account. What was asked, answered and decided, and why it was revoked, is in the steps; `decision` is the grant.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="entitlements")
    kind = models.CharField(max_length=5, choices=choices(EntitlementKind))
    state = models.CharField(max_length=9, choices=choices(EntitlementState), default=EntitlementState.ASKED.value)
    arxiv_id = models.CharField(max_length=40, blank=True)
    email = models.EmailField(blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField()
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    decision = models.ForeignKey(BoardDecision, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(kind=EntitlementKind.PAPER.value)
                | (~Q(arxiv_id="") & (~Q(email="") | Q(author__isnull=True))),
                name="entitlement_names_paper",
            ),
            models.CheckConstraint(
                condition=~Q(kind=EntitlementKind.GRANT.value) | Q(decision__isnull=False), name="entitlement_granted"
            ),
            models.UniqueConstraint(
                fields=["team"],
                condition=Q(state__in=[EntitlementState.ASKED.value, EntitlementState.QUESTION.value]),
                name="entitlement_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.team_id}: {self.state}"


class EntitlementStep(models.Model):
    """One step of a request: what was asked, answered or decided, and by whom."""

    entitlement = models.ForeignKey(Entitlement, on_delete=models.PROTECT, related_name="steps")
    kind = models.CharField(max_length=9, choices=choices(EntitlementStepKind))
    words = models.TextField(blank=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.kind} on {self.entitlement_id}"

    @property
    def by_team(self) -> bool:
        """Say whether the team took this step, not an organizer."""
        return self.kind in {EntitlementStepKind.ASKED, EntitlementStepKind.ANSWER, EntitlementStepKind.WITHDRAWN}


class SamePersonHint(models.Model):
    """A hint for organizers that two accounts are one person, without automatic effect. Append-only."""

    first = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    by = models.CharField(max_length=8, choices=choices(SamePersonBy))
    figures = models.JSONField(default=dict)
    found_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second", "by"], name="same_person_once"),
            models.CheckConstraint(condition=Q(first__lt=models.F("second")), name="same_person_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id} by {self.by}"


class TeamMerge(models.Model):
    """Records that one team became part of another, to which its quota and prizes count since. Append-only."""

    team = models.OneToOneField(Team, on_delete=models.PROTECT, related_name="merge")
    into = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="merges")
    reason = models.TextField()
    merged_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    merged_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.team_id} into {self.into_id}"
