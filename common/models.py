"""Models: audit entries, the demo's clock, hourly counts, and the runs of sweeps (periodic jobs)."""

from django.conf import settings
from django.db import models


class AuditEntry(models.Model):
    """A recorded decision or action of a person, sweep or command. Append-only but for forgetting the account; see
    common.audit.trail.

    `subject` and `why` are public where `published` says so. Without a `salt` only the hash of the private
    part is known: the row comes from a release.
    """

    at = models.DateTimeField(db_index=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    role = models.CharField(max_length=9, blank=True)
    action = models.CharField(max_length=41, db_index=True)
    subject = models.JSONField(default=dict)
    why = models.TextField(blank=True)
    origin = models.CharField(max_length=60)
    published = models.BooleanField()
    public = models.JSONField(default=dict)
    private = models.JSONField(default=dict)
    salt = models.CharField(max_length=32, blank=True)

    def __str__(self) -> str:
        return f"{self.action} {self.at}"


class AuditSeal(models.Model):
    """A row of the audit trail in its place in the chain, 1, 2, 3 and so on without a gap. Append-only."""

    number = models.BigIntegerField(primary_key=True)
    entry = models.OneToOneField(AuditEntry, on_delete=models.PROTECT, related_name="seal")
    private_sha256 = models.CharField(max_length=64)
    previous = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64, unique=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(number__gte=1), name="audit_seal_counts_from_one")]

    def __str__(self) -> str:
        return f"{self.number} {self.sha256}"


class AuditUnsealed(models.Model):
    """A row of the audit trail that waits for its seal. A separate table, so that an idle sweep reads an empty one."""

    entry = models.OneToOneField(AuditEntry, primary_key=True, on_delete=models.PROTECT, related_name="unsealed")

    def __str__(self) -> str:
        return f"{self.entry_id} waits"


class AuditPlace(models.Model):
    """The keyed digest of the client address of an action: removed after 90 days and with the account."""

    entry = models.OneToOneField(AuditEntry, primary_key=True, on_delete=models.PROTECT, related_name="place")
    digest = models.CharField(max_length=12)
    noted_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"place of {self.entry_id}"


class AuditCheck(models.Model):
    """The result of a check of the audit trail: how far the chain is valid, and the error in the next row in words."""

    checked_at = models.DateTimeField(db_index=True)
    through = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    by_hash_alone = models.BigIntegerField()
    wrong = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"checked {self.checked_at}"


class DemoClock(models.Model):
    """How far the demo's time is ahead of the machine's; see common.domain_clock. The table has one row.

    The database refuses to move it back or to delete it. `target_seconds` is the target of an unfinished move.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    ahead_seconds = models.BigIntegerField(default=0)
    target_seconds = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="demo_clock_one_row"),
            models.CheckConstraint(condition=models.Q(ahead_seconds__gte=0), name="demo_clock_never_behind"),
            models.CheckConstraint(
                condition=models.Q(target_seconds=None) | models.Q(target_seconds__gte=models.F("ahead_seconds")),
                name="demo_clock_goes_forward",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.ahead_seconds} seconds ahead"


class HourCount(models.Model):
    """How often something happened in the clock hour that begins at `hour`; `key` names the event and its owner."""

    key = models.CharField(max_length=100, unique=True)
    hour = models.DateTimeField(db_index=True)
    count = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.count} of {self.key} since {self.hour}"


class SweepRun(models.Model):
    """When a sweep ran last, by the machine's clock, and since when it fails; see common.sweep_runs."""

    name = models.CharField(max_length=60, primary_key=True)
    first_ran_at = models.DateTimeField()
    ran_at = models.DateTimeField()
    failing_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} ran {self.ran_at}"
