"""Queries for a person's messages and the unread count."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.contrib.auth.models import User
from django.db.models import QuerySet

from common.errors import NotFound, required
from contest.core.enums import MessageGroup, MessageKind
from contest.outbox.kinds import KINDS, kinds_of
from contest.outbox.letters import WrittenMessage, look_of, message_text
from contest.outbox.models import Message

# More than so many unread ones are not counted: the header says "99+".
MAX_COUNTED = 99


@dataclass(frozen=True)
class MessageRow:
    """A message as a page shows it."""

    message: Message

    @cached_property
    def text(self) -> WrittenMessage:
        """Return its title and text."""
        return message_text(self.message)

    @property
    def look(self) -> str:
        """Return the state whose shape and colour stand for it."""
        return look_of(self.message)

    @property
    def words(self) -> str:
        """Return what kind of message it is."""
        return KINDS[MessageKind(self.message.kind)].words


def messages_of(user: User) -> QuerySet[Message]:
    """Return a person's messages, newest first."""
    return Message.objects.filter(user=user).select_related("team", "user").order_by("-made_at", "-pk")


def messages_about(messages: QuerySet[Message], group: MessageGroup) -> QuerySet[Message]:
    """Return those of the messages that are of one group."""
    return messages.filter(kind__in=kinds_of(group))


def unread_of(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Return those of the messages that were not read."""
    return messages.filter(read_at__isnull=True)


def message_of(user: User, number: int) -> Message:
    """Return a person's own message; NotFound for anybody else's."""
    return required(
        messages_of(user).filter(pk=number).first(), NotFound("There is no such message of yours.", "not_found")
    )


def unread_count(user: User) -> int:
    """Return how many messages a person has not read, at most one more than MAX_COUNTED."""
    return Message.objects.filter(user=user, read_at__isnull=True)[: MAX_COUNTED + 1].count()


def read_mark(messages: QuerySet[Message], *, now: datetime | None) -> int:
    """Mark messages as read at `now`, or as unread for None; return how many changed."""
    return messages.filter(read_at__isnull=now is not None).order_by().update(read_at=now)


def message_mark(message: Message, *, now: datetime | None) -> int:
    """Mark one message as read at `now`, or as unread for None; return how many changed."""
    return read_mark(Message.objects.filter(pk=message.pk), now=now)
