"""Shared helpers of the rebuild: rows known while weeks are filled, and bulk inserts."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from django.db.models import Model

from contest.record.rebuild.contest_rows import ids_of
from policy.models import PolicyVersion
from scoring.models import Defense

CHUNK = 1_000
_M = TypeVar("_M", bound=Model)


@dataclass
class FilledTables:
    """Lookup tables that grow while the weeks are filled one after the other."""

    images: dict[str, int] = field(default_factory=dict)
    taskers: dict[str, int] = field(default_factory=dict)
    policies: dict[int, int] = field(default_factory=dict)
    defenses: dict[str, int] = field(default_factory=dict)
    attacks: dict[str, int] = field(default_factory=dict)
    runs: Counter[int] = field(default_factory=Counter)


def begin() -> FilledTables:
    """Return the lookup tables with the rows to which pictures refer, which were filled before."""
    return FilledTables(policies=dict(PolicyVersion.objects.values_list("version", "pk")), defenses=ids_of(Defense))


def in_chunks(model: type[_M], rows: Iterable[_M]) -> None:
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK)):
        model._default_manager.bulk_create(chunk)
