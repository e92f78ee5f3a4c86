"""Queries of the audit trail for organizers: filtered entries, each worded as a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.urls import reverse

from adjudication.schema import cells
from common.audit.chain import canonical
from common.audit.trail import PLATFORM
from common.models import AuditCheck, AuditEntry
from contest.operations.audit_words import action_words, kind_words

_PAGES = {
    "tasker": "organizer-tasker",
    "team": "organizer-team",
    "defense": "defense",
    "rerun": "rerun",
    "payment": "payment",
    "correction": "correction",
    "link": "link-end",
}
COLUMNS = (
    "number", "at", "who", "role", "action", "subject", "why", "origin", "place", "public", "private", "sha256"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SubjectLink:
    """A subject of an audited action, with its page where it has one."""

    words: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of the trail in words. `number` is its number in the chain, None before it is sealed."""

    entry: AuditEntry
    number: int | None
    who: str
    did: str
    names: tuple[tuple[str, tuple[SubjectLink, ...]], ...]
    origin: str
    place: str
    facts: Mapping[str, Any]


def audit_rows() -> QuerySet[AuditEntry]:
    """Return all rows, newest first."""
    return AuditEntry.objects.select_related("user", "seal", "place").order_by("-pk")


def rows_by(rows: QuerySet[AuditEntry], username: str) -> QuerySet[AuditEntry]:
    """Return the rows of an account, or those of `platform`."""
    return rows.filter(role=PLATFORM) if username == PLATFORM else rows.filter(user__username__iexact=username)


def rows_on(rows: QuerySet[AuditEntry], day: date, zone: str) -> QuerySet[AuditEntry]:
    """Return the rows of a day in the time zone `zone`."""
    begin = datetime.combine(day, time.min, ZoneInfo(zone))
    return rows.filter(at__gte=begin, at__lt=datetime.combine(day + timedelta(days=1), time.min, ZoneInfo(zone)))


def rows_containing(rows: QuerySet[AuditEntry], text: str) -> QuerySet[AuditEntry]:
    """Return the rows with `text` in a part, or with this digest of a client's address."""
    parts = ("subject", "public", "private")
    rows = rows.annotate(**{f"{part}_text": Cast(part, TextField()) for part in parts})
    matches = Q(why__icontains=text) | Q(origin__icontains=text) | Q(place__digest=text.lower())
    for part in parts:
        matches |= Q(**{f"{part}_text__icontains": text})
    return rows.filter(matches)


def actions() -> list[str]:
    """Return the kinds of actions that occur in the trail."""
    return list(AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct())


def anything_recorded() -> bool:
    """Say whether the trail has any row."""
    return AuditEntry.objects.exists()


def recorded_since(check: AuditCheck | None) -> int:
    """Return how many rows the check did not reach; without a check the number of all rows."""
    return AuditEntry.objects.count() - (check.through if check else 0)


def row_of(entry: AuditEntry, names: Mapping[int, str]) -> AuditRow:
    """Return a row in words; `names` are those of the accounts that `accounts_named` found."""
    return AuditRow(
        entry=entry,
        number=entry.seal.number if hasattr(entry, "seal") else None,
        who=_who(entry),
        did=action_words(entry.action),
        names=tuple(_subject(entry.subject, names)),
        origin=entry.origin,
        place=entry.place.digest if hasattr(entry, "place") else "",
        facts={**entry.public, **entry.private},
    )


def _who(entry: AuditEntry) -> str:
    if entry.user is not None:
        return entry.user.get_username()
    if entry.role == PLATFORM:
        return "Somebody on the server" if entry.origin.startswith(("command", "shell")) else "The platform"
    return "Somebody whose account is deleted"


def accounts_named(rows: Sequence[AuditEntry]) -> dict[int, str]:
    """Return number -> user name of the accounts that these rows name and that still exist."""
    numbers = {number for row in rows for number in row.subject.get("account", [])}
    return dict(User.objects.filter(pk__in=numbers).values_list("pk", "username"))


def _subject(
    subject: Mapping[str, list[Any]], names: Mapping[int, str]
) -> Iterator[tuple[str, tuple[SubjectLink, ...]]]:
    for kind, found in sorted(subject.items()):  # a database may store them in another order
        yield kind_words(kind, len(found)), tuple(_name(kind, each, names) for each in found)


def _name(kind: str, each: str | int, names: Mapping[int, str]) -> SubjectLink:
    if kind == "account":
        return SubjectLink(names.get(int(each), f"{each} (deleted)"))
    return SubjectLink(str(each), reverse(_PAGES[kind], args=[each]) if kind in _PAGES else "")


def audit_columns(row: AuditRow) -> list[str]:
    """Return a row of the CSV file."""
    entry = row.entry
    return [
        str(row.number or ""),
        cells.time(entry.at),
        cells.text(row.who),
        entry.role,
        entry.action,
        canonical(entry.subject),
        cells.text(entry.why),
        entry.origin,
        row.place,
        canonical(entry.public),
        canonical(entry.private),
        entry.seal.sha256 if row.number else "",
    ]
