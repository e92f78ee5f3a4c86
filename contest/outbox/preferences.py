"""A person's preferences per group of messages: at once, daily digest, or on the site only."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from common.errors import InvalidInput, required
from contest.core.enums import MessageGroup, MessageRate
from contest.core.roles import Roles
from contest.outbox.kinds import GROUPS, KINDS, GroupWords, kinds_of
from contest.outbox.models import Message, MessagePreference

_OF_TEAMS = (MessageGroup.ATTACKS, MessageGroup.DEFENSES, MessageGroup.TEAM, MessageGroup.MONEY, MessageGroup.CASES)


@dataclass(frozen=True, slots=True)
class GroupPreference:
    """A group of messages with a person's preference for it."""

    name: MessageGroup
    group: GroupWords
    rate: MessageRate


def groups_for(roles: Roles) -> tuple[MessageGroup, ...]:
    """Return the groups of which somebody with these roles gets messages, in their order."""
    if roles.organizer:
        return (MessageGroup.CASES, MessageGroup.ORGANIZING)
    return (MessageGroup.CASES,) if roles.board else _OF_TEAMS


def letter_preferences(user: User, roles: Roles) -> list[GroupPreference]:
    """Return a person's preference for each group; `at_once` if they set none."""
    said = dict(MessagePreference.objects.filter(user=user).values_list("group", "rate"))
    return [
        GroupPreference(name, GROUPS[name], MessageRate(said.get(name, MessageRate.AT_ONCE)))
        for name in groups_for(roles)
    ]


@transaction.atomic
def preferences_set(user: User, wishes: Mapping[MessageGroup, str]) -> None:
    """Store a person's preferences; unsent messages follow them too.

    Raises InvalidInput (at the group) for a rate that the group does not offer.
    """
    for name, typed in wishes.items():
        rate = required(
            next((each for each in GROUPS[name].rates if each.value == typed), None),
            InvalidInput("Choose one of the ways that are offered for this.", "invalid", field=name.value),
        )
        MessagePreference.objects.update_or_create(user=user, group=name, defaults={"rate": rate})
        kinds = [kind for kind in kinds_of(name) if not KINDS[kind].urgent]
        waiting = Message.objects.filter(user=user, kind__in=kinds, taken_at__isnull=True, digest__isnull=True)
        waiting.exclude(rate=MessageRate.APP).update(rate=rate)
