"""Models of the review board: parties of cases, appeals, votes, decisions, and what members declare (R18-R21)."""

from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import Q

from adjudication.models import Ruling
from common.choices import choices
from common.ids import random_id
from contest.core.enums import AppealSide, CaseOutcome, PartyRole, VoteChoice
from contest.core.models import Case, Team
from labeling.enums import Label
from labeling.models import Image, Panel
from policy.models import PolicyVersion
from scoring.models import Defense


class Affiliations(models.Model):
    """What a board member declares, so that a sweep finds conflicts (R21): domains of their institutions,
    addresses of recent co-authors, advisors and advisees, and the arXiv IDs of recent papers."""

    member = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="ties")
    domains = models.JSONField(default=list)
    people = models.JSONField(default=list)
    papers = models.JSONField(default=list)
    told_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"ties of {self.member_id}"


class CaseParty(models.Model):
    """A team that a case is about: whoever has a conflict with it steps aside (R21)."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="parties", db_index=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="case_parts")
    role = models.CharField(max_length=9, choices=choices(PartyRole))
    added_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "team"], name="case_party_once")]

    def __str__(self) -> str:
        return f"{self.team_id} in {self.case_id}"


class Disclosure(models.Model):
    """A member declares no conflict with a team of a case; without it, the content of the case is closed to them."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="disclosures", db_index=False)
    member = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="disclosures")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "member", "team"], name="disclosure_once")]

    def __str__(self) -> str:
        return f"{self.member_id} of {self.team_id} in {self.case_id}"


class Appeal(models.Model):
    """A team's appeal against a ruling (R18), one per picture. Append-only but for forgetting the account.

    `defense` is the appealing defender's defense at stake. `marks` are rectangles that the team drew on the picture:
    `[{"x", "y", "width", "height", "words"}, …]` in whole pixels.
    """

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "L", 6))
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="appeals")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="appeals", db_index=False)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="appeals")
    ruling = models.ForeignKey(Ruling, on_delete=models.PROTECT, related_name="appeals")
    defense = models.ForeignKey(Defense, on_delete=models.PROTECT, null=True, related_name="appeals")
    side = models.CharField(max_length=8, choices=choices(AppealSide))
    argument = models.TextField()
    marks = models.JSONField(default=list)
    sent_at = models.DateTimeField(db_index=True)
    sent_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "image"], name="appeal_once_per_team_and_image"),
            models.CheckConstraint(condition=~Q(argument=""), name="appeal_has_argument"),
            models.CheckConstraint(
                condition=Q(side=AppealSide.DEFENDER.value, defense__isnull=False)
                | Q(side=AppealSide.ATTACKER.value, defense__isnull=True),
                name="appeal_of_defender_names_defense",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class AppealStatement(models.Model):
    """The one answer of a team of the other side to an appeal. Append-only but for forgetting the account."""

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="statements", db_index=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    words = models.TextField()
    sent_at = models.DateTimeField()
    sent_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["case", "team"], name="statement_once"),
            models.CheckConstraint(condition=~Q(words=""), name="statement_says_something"),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} on {self.case_id}"


class Vote(models.Model):
    """A member's vote; their newest vote on a case counts (R19). Append-only but for forgetting the account.

    An overrule has a class, or the reasons of a rejection. `words` are the member's own; with `public` they are
    published with the decision, as the explanation they offer or as their dissent.
    """

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="votes")
    member = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    choice = models.CharField(max_length=12, choices=choices(VoteChoice))
    label = models.CharField(max_length=8, choices=choices(Label), blank=True)
    reasons = models.JSONField(default=list)
    words = models.TextField(blank=True)
    public = models.BooleanField(default=False)
    cast_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=(Q(choice=VoteChoice.OVERRULE.value) & (~Q(label="") | ~Q(reasons=[])))
                | (~Q(choice=VoteChoice.OVERRULE.value) & Q(label="", reasons=[])),
                name="vote_overrules_with_outcome",
            )
        ]

    def __str__(self) -> str:
        return f"{self.choice} on {self.case_id}"


class CaseDecision(models.Model):
    """The board's one decision on a case, with the count of its votes (R19-R21). Append-only but
    for forgetting the account.

    `votes` are `[{"choice", "label", "reasons", "words"}, …]` without names, in the order of casting; `words` only
    if their member published them. `recused` is the number of recused members.
    """

    case = models.OneToOneField(Case, on_delete=models.PROTECT, related_name="decision")
    outcome = models.CharField(max_length=12, choices=choices(CaseOutcome))
    label = models.CharField(max_length=8, choices=choices(Label), blank=True)
    reasons = models.JSONField(default=list)
    explanation = models.TextField(blank=True)
    votes = models.JSONField()
    quorum = models.PositiveSmallIntegerField()
    recused = models.PositiveSmallIntegerField()
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")
    ruling = models.OneToOneField(Ruling, on_delete=models.PROTECT, null=True, related_name="made_by")
    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, null=True, related_name="+")
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=(Q(outcome=CaseOutcome.OVERRULE.value, ruling__isnull=False) & ~Q(explanation=""))
                | (~Q(outcome=CaseOutcome.OVERRULE.value) & Q(ruling__isnull=True)),
                name="case_decision_overrules_by_ruling",
            ),
            models.CheckConstraint(
                condition=Q(outcome=CaseOutcome.MORE_TASKERS.value, panel__isnull=False)
                | (~Q(outcome=CaseOutcome.MORE_TASKERS.value) & Q(panel__isnull=True)),
                name="case_decision_asks_a_panel",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} on {self.case_id}"
