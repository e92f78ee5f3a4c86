"""What every row has that stands for a letter."""

from django.db import models


class Posted(models.Model):
    """A letter that is to leave, or left (contest.outbox.posting).

    `taken_at` is when a sweep took it to send it: then it is never sent again, unless it could not be made or the mail
    server refused it, which empties the field until `not_before`. `sent_at` is when the mail server had it; taken and
    not sent, without an `error`, is what a sweep held that was killed. `error` is why it did not leave the last time.
    """

    taken_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        abstract = True
