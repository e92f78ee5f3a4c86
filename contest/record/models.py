"""Models of stored leaderboards and their nightly checks."""

from django.db import models


class Leaderboard(models.Model):
    """Both tables by what was public at `at`. `week` names one that is over; the present tables have none.

    Made from facts and never read back by anything that decides: a copy for pages. `seen` is what had happened last
    when the facts were read.
    """

    week = models.CharField(max_length=8, blank=True, unique=True)
    at = models.DateTimeField()
    tables = models.JSONField()
    made_at = models.DateTimeField()
    seen = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"leaderboard of {self.week or 'now'}"


class LeaderboardCheck(models.Model):
    """A comparison of every stored table with one rebuilt from the facts: `differences` are sentences."""

    checked_at = models.DateTimeField(db_index=True)
    compared = models.PositiveIntegerField()
    differences = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{len(self.differences)} differences at {self.checked_at}"
