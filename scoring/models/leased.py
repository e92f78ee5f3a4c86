"""The base of work that a scorer does under a lease."""

from django.db import models
from django.db.models import Q

from common.choices import choices
from scoring.enums import Fault, RunState


class Leased(models.Model):
    """A piece of work for one scorer at a time, with fencing: a write needs the current `attempt`.

    A scorer that lost its lease can change nothing. `tries` counts what the platform's faults cost. `worker` is the
    name of the scorer (Scorer.name) that has it or had it last; `device` says what did the work, in words.
    """

    state = models.CharField(max_length=8, choices=choices(RunState), default=RunState.QUEUED.value)
    attempt = models.PositiveSmallIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    fault = models.CharField(max_length=20, choices=choices(Fault), blank=True)
    fault_text = models.TextField(blank=True)
    device = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


def lease_while_running(name: str) -> models.CheckConstraint:
    """Return the constraint, called `name`, that work in progress has an end of its lease."""
    return models.CheckConstraint(condition=~Q(state=RunState.RUNNING) | Q(lease_until__isnull=False), name=name)


class Scorer(models.Model):
    """A process that scores: one name, one device, alive while `seen_at` is young.

    `held` says in words what it does now, empty when it waits. The row is for the overview; leases decide.
    """

    name = models.CharField(max_length=80, unique=True)
    device = models.CharField(max_length=120)
    runtime = models.CharField(max_length=20)
    held = models.CharField(max_length=120, blank=True)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
