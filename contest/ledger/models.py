"""Models of the ledger of prize money: accounts, entries, payments and corrections, in integer cents (R34)."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from common.choices import choices
from contest.core.enums import AccountKind
from contest.core.models import BoardDecision, Stake, Team


class Account(models.Model):
    """An account of the ledger. `balance_cents` is the sum of its entries; a database trigger updates it with each
    entry, and a constraint keeps it from falling below zero, except for `outside`."""

    kind = models.CharField(max_length=9, choices=choices(AccountKind))
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="accounts")
    stake = models.OneToOneField(Stake, on_delete=models.PROTECT, null=True, related_name="account")
    balance_cents = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind"], condition=Q(team=None, stake=None), name="account_of_kind_once"),
            models.UniqueConstraint(fields=["team"], condition=Q(team__isnull=False), name="account_of_team_once"),
            models.CheckConstraint(
                condition=Q(kind=AccountKind.TEAM.value, team__isnull=False, stake__isnull=True)
                | Q(kind=AccountKind.STAKE.value, team__isnull=True, stake__isnull=False)
                | (~Q(kind__in=[AccountKind.TEAM.value, AccountKind.STAKE.value]) & Q(team=None, stake=None)),
                name="account_of_whom",
            ),
            models.CheckConstraint(
                condition=Q(balance_cents__gte=0) | Q(kind=AccountKind.OUTSIDE.value), name="account_not_overdrawn"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.team_id or self.stake_id or ''}".strip()


class LedgerEntry(models.Model):
    """Money that went from `source` to `target`: what one loses the other gains, so that the sum of all accounts is
    zero by construction. Append-only.

    `rule` is the number of the rule, `causes` names the rows that led to it (`{"break": [7], "attack": [3]}`),
    `corrects` is the entry that this one takes back, wholly or in part.
    """

    source = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="entries_out")
    target = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="entries_in")
    cents = models.PositiveBigIntegerField()
    rule = models.CharField(max_length=8)
    why = models.TextField()
    causes = models.JSONField()
    corrects = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="corrections")
    decision = models.ForeignKey(BoardDecision, on_delete=models.PROTECT, null=True, related_name="entries")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(cents__gt=0), name="ledger_entry_moves_something"),
            models.CheckConstraint(condition=~Q(source=F("target")), name="ledger_entry_between_two"),
            models.CheckConstraint(condition=~Q(rule="") & ~Q(why=""), name="ledger_entry_says_why"),
        ]

    def __str__(self) -> str:
        return f"{self.cents} cents by {self.rule}"


class Payment(models.Model):
    """A payment of money to a team: requested by one organizer, marked as paid by another (R34, R38).

    `entry` moves it out of the team's account when it is marked. `reference` is the reference of the bank.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="payments")
    cents = models.PositiveBigIntegerField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField()
    paid_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    paid_at = models.DateTimeField(null=True)
    reference = models.CharField(max_length=200, blank=True)
    entry = models.OneToOneField(LedgerEntry, on_delete=models.PROTECT, null=True, related_name="payment")
    cancelled_at = models.DateTimeField(null=True)
    cancelled_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(cents__gt=0), name="payment_of_something"),
            models.CheckConstraint(
                condition=Q(paid_by__isnull=True) | Q(asked_by__isnull=True) | ~Q(paid_by=F("asked_by")),
                name="payment_by_two",
            ),
            models.UniqueConstraint(
                fields=["team"], condition=Q(paid_at__isnull=True, cancelled_at__isnull=True), name="payment_one_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cents} cents to {self.team_id}"

    @property
    def back_cents(self) -> int:
        """Return how many cents of it came back, by the corrections of its entry."""
        return sum(each.cents for each in self.entry.corrections.all()) if self.entry else 0


class Correction(models.Model):
    """A correction of a wrongly recorded movement from or to outside, or a team's repayment: requested by one organizer
    with a public reason, confirmed by another (R34).

    `corrects` is the entry that it takes back, wholly or in part; None: `team` repaid what it owes. `entry` is the
    entry posted at the confirmation.
    """

    corrects = models.ForeignKey(LedgerEntry, on_delete=models.PROTECT, null=True, related_name="asked_corrections")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="repayments")
    cents = models.PositiveBigIntegerField()
    reason = models.TextField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField()
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    confirmed_at = models.DateTimeField(null=True)
    entry = models.OneToOneField(LedgerEntry, on_delete=models.PROTECT, null=True, related_name="correction")
    cancelled_at = models.DateTimeField(null=True)
    cancelled_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(cents__gt=0), name="correction_of_something"),
            models.CheckConstraint(condition=~Q(reason=""), name="correction_has_reason"),
            models.CheckConstraint(
                condition=Q(corrects__isnull=False, team__isnull=True) | Q(corrects__isnull=True, team__isnull=False),
                name="correction_of_entry_or_team",
            ),
            models.CheckConstraint(
                condition=Q(confirmed_by__isnull=True) | Q(asked_by__isnull=True) | ~Q(confirmed_by=F("asked_by")),
                name="correction_by_two",
            ),
            models.UniqueConstraint(
                fields=["corrects"],
                condition=Q(confirmed_at__isnull=True, cancelled_at__isnull=True),
                name="correction_one_open",
            ),
            models.UniqueConstraint(
                fields=["team"],
                condition=Q(confirmed_at__isnull=True, cancelled_at__isnull=True),
                name="repayment_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"correction of {self.cents} cents"
