"""Writes audit entries (who, what, when, why, from where) in the transaction of the action.

`audit` adds a row; a sweep seals the rows into a chain later (`common.audit.seals`), so that no act waits for another.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from common.audit import origin
from common.audit.chain import canonical
from common.models import AuditEntry, AuditPlace, AuditUnsealed

# The role of actions without a person: a sweep, or a command of the server.
PLATFORM = "platform"
_ACTION = re.compile(r"[a-z_]{1,20}\.[a-z_]{1,20}")
Subject = Mapping[str, Sequence[str | int]]
Facts = Mapping[str, Any]


def audit(
    action: str,
    *,
    by: User | None,
    subject: Subject,
    now: datetime,
    why: str = "",
    public: Facts | None = None,
    private: Facts | None = None,
    published: bool = False,
) -> AuditEntry:
    """Record in the transaction of the act that `by` did `action` to `subject`: public IDs, or numbers, by kind.

    `by` is None for an action without a person. The action, the time, the role and the facts of `public` are public;
    with `published` the subject and the reason too, where they are public anyway. Everything else is private: only
    its hash is published. No part may name a person: accounts are named by number.
    """
    if _ACTION.fullmatch(action) is None:
        raise ValueError(f"{action!r} is no action such as `response.void`")
    acting = origin.origin()
    entry = AuditEntry(
        at=now,
        user=by,
        role=role_of(by),
        action=action,
        subject={kind: list(names) for kind, names in subject.items() if names},
        why=why.replace("\r\n", "\n").replace("\r", "\n"),  # as a release writes it
        origin=acting.words,
        published=published,
        public=dict(public or {}),
        private=dict(private or {}),
        salt=secrets.token_hex(16),
    )
    canonical([entry.subject, entry.public, entry.private])  # first, so that a row that cannot be sealed is refused
    entry.save(force_insert=True)
    AuditUnsealed.objects.create(entry=entry)
    if acting.place:
        AuditPlace.objects.create(entry=entry, digest=acting.place, noted_at=now)
    return entry


def role_of(user: User | None) -> str:
    """Return an account's present role in a word; empty for an account without one."""
    if user is None:
        return PLATFORM
    role: str = import_string(settings.AUDIT_ROLE_OF)(user)
    return role


def forget_origins(user: User) -> None:
    """Delete the digests of the client addresses of an account's actions, when the account is deleted."""
    AuditPlace.objects.filter(entry__user=user).delete()
