"""Models of messages and their e-mails to contestants, board members and organizers."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from common.choices import choices
from contest.core.enums import MessageGroup, MessageKind, MessageRate
from contest.core.models import Team


class Posted(models.Model):
    """Base of e-mails that are to be sent, or were sent (contest.outbox.posting).

    `taken_at` is when a sweep took it for sending: then it is never sent again, unless it could not be rendered or the
    mail server refused it, which empties the field; it is due again at `not_before`. `sent_at` is when the mail server
    accepted it. Taken and not sent: its sweep was killed, or the mail server did not say whether it took it. `error` is
    why the last try failed, or that there is no reader.
    """

    taken_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        abstract = True


class Digest(Posted):
    """A person's one e-mail of a day with the messages that waited for it, which point to it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "day"], name="digest_once_a_day")]
        indexes = [models.Index(fields=["id"], name="digest_due", condition=Q(taken_at__isnull=True))]

    def __str__(self) -> str:
        return f"digest {self.pk} of {self.day}"


class Message(Posted):
    """A message to one person, stored in the transaction of the fact that it reports.

    `facts` has all values for its text, as they were then; `about` is the page that it links to. Messages to a team's
    members have the `team`. A person gets one message of a kind and `key`; without a key, one for each call. `rate` is
    how it is sent by e-mail: by itself, in a `digest`, or not at all.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="messages")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="messages")
    kind = models.CharField(max_length=24, choices=choices(MessageKind))
    key = models.CharField(max_length=80, blank=True, default="")
    facts = models.JSONField()
    about = models.CharField(max_length=200, blank=True, default="")
    made_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    rate = models.CharField(max_length=7, choices=choices(MessageRate), default=MessageRate.AT_ONCE.value)
    digest = models.ForeignKey(Digest, on_delete=models.SET_NULL, null=True, related_name="messages")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "kind", "key"], condition=~Q(key=""), name="message_told_once")
        ]
        indexes = [
            models.Index(fields=["user", "-made_at"], name="message_of_person"),
            models.Index(fields=["user"], name="message_unread", condition=Q(read_at__isnull=True)),
            models.Index(
                fields=["id"],
                name="message_due",
                condition=Q(rate=MessageRate.AT_ONCE.value, taken_at__isnull=True),
            ),
            models.Index(fields=["id"], name="message_failing", condition=Q(taken_at__isnull=True, tries__gt=0)),
            models.Index(
                fields=["user"],
                name="message_for_digest",
                condition=Q(rate=MessageRate.DIGEST.value, digest__isnull=True, taken_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} message {self.pk}"


class MessagePreference(models.Model):
    """A person's preference for e-mails of one group of kinds; without a row each is sent at once."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="message_preferences")
    group = models.CharField(max_length=10, choices=choices(MessageGroup))
    rate = models.CharField(max_length=7, choices=choices(MessageRate))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "group"], name="message_preference_once")]

    def __str__(self) -> str:
        return f"{self.group}: {self.rate}"


class NotifiedFact(models.Model):
    """A fact of which a team was notified, so that no sweep does it again; `fact` is the number of its row."""

    kind = models.CharField(max_length=24, choices=choices(MessageKind))
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    fact = models.BigIntegerField()
    told_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "fact", "team"], name="fact_told_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.fact} to {self.team_id}"
