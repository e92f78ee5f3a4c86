"""Pictures by the thousand, with all that hangs on them, and what a page costs PostgreSQL.

A picture is copied with every row that points to it, directly or through other rows: a table that comes to be later is
copied too. The copies are made inside the database, without triggers, and a millisecond apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import CharField, DateTimeField, Field, ForeignKey, Model, UniqueConstraint, UUIDField

from labeling.models import Image

_APART = 10_000_000  # numbers between a row and its copy, and between one copy and the next
_ROWS = 64  # of one table that hang on one picture, at most
Rows = dict[type[Model], list[int]]


class Original:
    """A picture with the rows that hang on it now: what copies are made of."""

    def __init__(self, image: Image) -> None:
        self._rows = _rows_of(image)

    def copy(self, first: int, last: int) -> None:
        """Make copies that are numbered from `first` to `last`, each number once."""
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            for model, numbers in self._rows.items():
                cursor.execute(_insert(model, numbers, self._rows), [first, last])
            cursor.execute("SET LOCAL session_replication_role = DEFAULT")


def _rows_of(image: Image) -> Rows:
    """Return the picture's row and all that hang on it, by their primary keys."""
    found: Rows = {Image: [image.pk]}
    while True:
        more = {model: rows for model in apps.get_models() if (rows := _hanging_on(model, found))}
        if more | {Image: found[Image]} == found:
            return found
        found = more | {Image: found[Image]}


def _hanging_on(model: type[Model], found: Rows) -> list[int]:
    if model is Image or model._meta.proxy:
        return []
    numbers: set[int] = set()
    for field in _keys(model):
        if (to := field.related_model) in found:
            rows = model._default_manager.filter(**{f"{field.name}__in": found[to]})
            numbers.update(rows.values_list("pk", flat=True))
    assert len(numbers) < _ROWS, model
    return sorted(numbers)


def _keys(model: type[Model]) -> list[Any]:
    return [field for field in model._meta.concrete_fields if isinstance(field, ForeignKey)]


def _insert(model: type[Model], numbers: Sequence[int], found: Rows) -> str:
    meta = model._meta
    fields = meta.concrete_fields
    columns = ", ".join(f'"{field.column}"' for field in fields)
    values = ", ".join(_value(field, found, field.name in _varied(model, found)) for field in fields)
    rows = f"SELECT t.*, row_number() OVER (ORDER BY {meta.pk.column}) AS place FROM {meta.db_table} t"
    chosen = f"{rows} WHERE {meta.pk.column} IN ({', '.join(map(str, numbers))})"
    return f"INSERT INTO {meta.db_table} ({columns}) SELECT {values} FROM ({chosen}) r, generate_series(%s, %s) AS k"


def _value(field: "Field[Any, Any]", found: Rows, varied: bool) -> str:
    """Return the SQL of a copy's column: `r` is the row, and `k` the number of the copy."""
    old = f'r."{field.column}"'
    to = field.related_model
    if isinstance(field, ForeignKey) and to in found:
        return f"CASE WHEN {old} IN ({', '.join(map(str, found[to]))}) THEN {old} + k::bigint * {_APART} ELSE {old} END"
    if field.primary_key:
        return f"{old} + k::bigint * {_APART}"
    if field.name == "response_ids":
        return f"(SELECT jsonb_agg(e::bigint + k::bigint * {_APART}) FROM jsonb_array_elements_text({old}) AS e)"
    if isinstance(field, DateTimeField):
        return f"{old} - k * interval '1 ms'"
    if not varied:
        return old
    if isinstance(field, UUIDField):
        return "gen_random_uuid()"
    number = f"(k::bigint * {_ROWS} + r.place)"
    if not isinstance(field, CharField):
        return f"{old} + {number}"
    if field.max_length == 64:
        return f"encode(sha256(({old} || '-' || {number})::bytea), 'hex')"
    return f"left({old}, 2) || lpad(upper(to_hex({number})), 8, '0')"


def _varied(model: type[Model], found: Rows) -> set[str]:
    """Return the columns whose values must not come twice, and that do not vary with the picture."""
    names = {field.name for field in model._meta.concrete_fields if field.unique and not isinstance(field, ForeignKey)}
    with_picture = {field.name for field in _keys(model) if field.related_model in found}
    for each in model._meta.constraints:
        if isinstance(each, UniqueConstraint) and not each.condition and not with_picture.intersection(each.fields):
            own = [name for name in each.fields if not isinstance(model._meta.get_field(name), ForeignKey)]
            names.update(own[-1:])
    return names


def blocks_read() -> Mapping[str, int]:
    """Return table or index -> the blocks that this transaction has read of it so far, out of memory or not."""
    sql = """SELECT relname, pg_stat_get_xact_blocks_fetched(oid) FROM pg_class
        WHERE relkind IN ('r', 'i') AND pg_stat_get_xact_blocks_fetched(oid) > 0 AND relname NOT LIKE 'pg\\_%'"""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return dict(cursor.fetchall())


def grown(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield what was read between two looks, the most first."""
    more = {name: number - before.get(name, 0) for name, number in after.items()}
    yield from sorted(((name, number) for name, number in more.items() if number), key=lambda each: -each[1])
