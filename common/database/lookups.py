"""Prepared queries for the labeling loop: composed once per process, planned once per database connection.

The ORM composes the SQL of a query at each call, and PostgreSQL plans it at each call; for the joins of labeling both
take longer than executing it. A `PreparedLookup` is an ordinary queryset, a
`PreparedUpdate` an ordinary `update`, with a `Parameter` wherever a value differs from call to call; a `PreparedInsert`
is an ordinary `create`; `PreparedTogether` is an insert with the updates that go with it, in one round trip; a
`PreparedStatement` is SQL that the ORM cannot write.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count
from operator import attrgetter, methodcaller
from types import NoneType
from typing import Any, Generic, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.query import get_related_populators
from django.db.models.sql import InsertQuery, UpdateQuery

Row = TypeVar("Row", bound=Model)
Values = tuple[Any, ...]

# Raw connection -> names of what it has planned. PostgreSQL plans again by itself when statistics or tables change.
_planned: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def _connection() -> Any:
    # The thread's own connection: each attribute of the proxy `django.db.connection` costs time.
    return connections[DEFAULT_DB_ALIAS]


# The Python type that PostgreSQL stores unchanged for fields of a kind: with these, and with None,
# `Field.get_db_prep_value` only takes time. Times have a zone.
_STORED_AS_IT_IS: dict[str, type] = {
    **dict.fromkeys(("BigAutoField", "BigIntegerField", "IntegerField"), int),
    **dict.fromkeys(("PositiveIntegerField", "PositiveSmallIntegerField"), int),
    **dict.fromkeys(("CharField", "TextField"), str),
    "BooleanField": bool,
    "DateTimeField": datetime,
    "UUIDField": UUID,
}


class Parameter(Expression):
    """A value that each call passes by name, of the type that `output_field` stores."""

    def __init__(self, name: str, output_field: "Field[Any, Any]") -> None:
        super().__init__(output_field=output_field)
        self.name, self._field = name, output_field
        kind = getattr(output_field, "target_field", output_field).get_internal_type()
        self._as_it_is = (NoneType, _STORED_AS_IT_IS[kind]) if kind in _STORED_AS_IT_IS else ()

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        """Return itself as the placeholder among the parameters, until a call passes the value."""
        return "%s", [self]

    def stored(self, given: dict[str, Any], connection: Any) -> Any:
        """Return the value as the database takes it."""
        value = given[self.name]
        if type(value) in self._as_it_is and connection.vendor == "postgresql":
            return value
        return self._field.get_db_prep_value(value, connection)


class PreparedStatement:
    """SQL with a `%s` for each of `parameters`: a `Parameter`, or a value that is always the same.

    `name` is its name in PostgreSQL, and must be unique. A constant is part of the plan, so that an index on
    part of a table is found. The plan is one for all values: no parameter belongs in a LIKE, a LIMIT, or the condition
    of such an index.
    """

    def __init__(self, name: str, sql: str, parameters: Sequence[Any]) -> None:
        self.name, self.sql, self.parameters = name, sql, parameters
        self._given = [each for each in parameters if isinstance(each, Parameter)]
        self._call = f"EXECUTE {name}" + (f" ({', '.join(['%s'] * len(self._given))})" if self._given else "")

    def rows(self, **given: Any) -> list[Values]:
        """Return the rows for these values."""
        rows: list[Values] = self._execute(given, methodcaller("fetchall"))
        return rows

    def changed(self, **given: Any) -> int:
        """Return how many rows were changed."""
        return int(self._execute(given, attrgetter("rowcount")))

    def _execute(self, given: dict[str, Any], read: Callable[[Any], Any]) -> Any:
        """Execute with these values and return what `read` takes from the cursor."""
        connection = _connection()
        if connection.vendor != "postgresql":
            values = (
                each.stored(given, connection) if isinstance(each, Parameter) else each for each in self.parameters
            )
            with connection.cursor() as cursor:
                cursor.execute(self.sql, list(values))
                return read(cursor)
        stored = [each.stored(given, connection) for each in self._given]
        if connection.queries_logged or connection.execute_wrappers:
            with connection.cursor() as cursor:
                self._plan(connection)
                cursor.execute(self._call, stored)
                return read(cursor)
        # As `cursor()` and `execute` do where nobody watches; their layers take a third of a short statement's time.
        connection.validate_thread_sharing()
        connection.validate_no_broken_transaction()
        connection.close_if_health_check_failed()
        connection.ensure_connection()
        with connection.wrap_database_errors, connection.create_cursor() as cursor:
            self._plan(connection)
            cursor.execute(self._call, stored)
            return read(cursor)

    def _plan(self, connection: Any) -> None:
        planned = _planned.setdefault(connection.connection, set())
        if self.name not in planned:
            constants = [each for each in self.parameters if not isinstance(each, Parameter)]
            with connection.wrap_database_errors, connection.connection.cursor() as cursor:
                cursor.execute(f"PREPARE {self.name} AS {self._numbered()}", constants)
            planned.add(self.name)

    def _numbered(self) -> str:
        """Return the SQL with $1, $2, … where a value is given; constants keep their %s."""
        numbers = count(1)
        marks = [f"${next(numbers)}" if isinstance(each, Parameter) else "%s" for each in self.parameters]
        first, *others = self.sql.split("%s")
        return first + "".join(mark + text for mark, text in zip(marks, others, strict=True))


class PreparedLookup(Generic[Row]):
    """A queryset of one model, with what `select_related`, `only` and `annotate` name, composed at its first
    use."""

    def __init__(self, name: str, compose: Callable[[], QuerySet[Row]]) -> None:
        self._name, self._compose = name, compose
        self._composed: tuple[PreparedStatement, Callable[[list[Values]], list[Row]]] | None = None

    def __call__(self, **given: Any) -> list[Row]:
        """Return the rows for these values; every `Parameter` of the queryset has to be given."""
        if self._composed is None:
            self._composed = _composed(self._name, self._compose())
        statement, read = self._composed
        return read(statement.rows(**given))


def _composed(name: str, queryset: QuerySet[Row]) -> tuple[PreparedStatement, Callable[[list[Values]], list[Row]]]:
    """Return the queryset's statement, and a function that makes instances from its rows as the queryset would."""
    compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
    statement = PreparedStatement(name, *compiler.as_sql())
    kind, columns = compiler.klass_info, compiler.select
    first, last = kind["select_fields"][0], kind["select_fields"][-1] + 1
    attributes = [column.target.attname for column, _, _ in columns[first:last]]
    converters = compiler.get_converters([column for column, _, _ in columns])
    related: list[Any] = get_related_populators(kind, columns, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
    annotated = list(compiler.annotation_col_map.items())

    def read(rows: list[Values]) -> list[Row]:
        return [row_of(values) for values in (compiler.apply_converters(rows, converters) if converters else rows)]

    def row_of(values: Sequence[Any]) -> Row:
        row: Row = kind["model"].from_db(DEFAULT_DB_ALIAS, attributes, values[first:last])
        for populator in related:
            populator.populate(values, row)
        for name, place in annotated:
            setattr(row, name, values[place])
        return row

    return statement, read


class PreparedUpdate:
    """`queryset.update(**values)`, composed at its first use."""

    def __init__(self, name: str, compose: Callable[[], tuple[QuerySet[Any], dict[str, Any]]]) -> None:
        self._name, self._compose = name, compose
        self._statement: PreparedStatement | None = None

    def __call__(self, **given: Any) -> int:
        """Change the rows for these values and return how many there were."""
        return self.statement().changed(**given)

    def statement(self) -> PreparedStatement:
        """Return the statement."""
        if self._statement is None:
            queryset, values = self._compose()
            query: Any = queryset.query.chain(UpdateQuery)
            query.add_update_values(values)
            self._statement = PreparedStatement(self._name, *query.get_compiler(DEFAULT_DB_ALIAS).as_sql())
        return self._statement


class PreparedInsert(Generic[Row]):
    """`model.objects.create(**values)`, composed at its first use. No signal of a save is sent.

    `looked_up` are columns whose value the database finds while it adds the row, each by an expression with Parameters.
    """

    def __init__(self, name: str, model: type[Row], **looked_up: Expression) -> None:
        self._name, self._model, self._looked_up = name, model, looked_up
        self._names = {each for field in model._meta.concrete_fields for each in (field.name, field.attname)}
        self._statement: PreparedStatement | None = None
        self.returned = ("id", *looked_up)

    def __call__(self, values: dict[str, Any], **given: Any) -> Row:
        """Add a row of these values; return it with its defaults, its primary key and what was looked up."""
        row = self.unsaved(values)
        (returned,) = self.statement().rows(**vars(row), **given)
        return self.added(row, returned)

    def statement(self) -> PreparedStatement:
        """Return the statement."""
        if self._statement is None:
            self._statement = self._composed()
        return self._statement

    def _composed(self) -> PreparedStatement:
        fields = {field.attname: field for field in self._model._meta.concrete_fields}
        values = {name: Parameter(name, field) for name, field in fields.items() if not field.primary_key}
        query = InsertQuery(self._model)
        query.insert_values([fields[name] for name in values], [self._model(**values | self._looked_up)])
        compiler: Any = query.get_compiler(DEFAULT_DB_ALIAS)
        compiler.returning_fields = [fields[name] for name in self.returned]
        ((sql, parameters),) = compiler.as_sql()
        return PreparedStatement(self._name, sql, parameters)

    def unsaved(self, values: dict[str, Any]) -> Row:
        """Return the row with its defaults, before it is added; raises TypeError for a name without a field.

        Arguments by position halve the time to create a row.
        """
        columns: list[Any] = []
        related: list[tuple[Any, Any]] = []
        for field in self._model._meta.concrete_fields:
            if field.attname in values:
                columns.append(values[field.attname])
            elif field.name in values:
                other = values[field.name]
                columns.append(other and other.pk)
                related.append((field, other))
            else:
                columns.append(field.get_default())
        if unknown := values.keys() - self._names:
            raise TypeError(f"{self._model.__name__} has no {', '.join(sorted(unknown))}")
        row = self._model(*columns)
        for relation, other in related:
            relation.set_cached_value(row, other)
        return row

    def added(self, row: Row, returned: Values) -> Row:
        """Return the row as it is stored."""
        for name, value in zip(self.returned, returned, strict=True):
            setattr(row, name, value)
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
        return row


class PreparedTogether(Generic[Row]):
    """An insert and the updates that go with it: one statement of PostgreSQL, elsewhere one after the other.

    The updates begin when the row is there, and none changes what another one changes. Their values and those of the
    row have different names.
    """

    def __init__(self, name: str, insert: PreparedInsert[Row], *updates: PreparedUpdate) -> None:
        self._name, self._insert, self._updates = name, insert, updates
        self._statement: PreparedStatement | None = None

    def __call__(self, values: dict[str, Any], **given: Any) -> tuple[Row, list[int]]:
        """Add the row of these values; return it, and how many rows each update changed."""
        if _connection().vendor != "postgresql":
            return self._insert(values, **given), [update(**given) for update in self._updates]
        row = self._insert.unsaved(values)
        if self._statement is None:
            self._statement = self._composed()
        (values_found,) = self._statement.rows(**vars(row), **given)
        number = len(self._insert.returned)
        return self._insert.added(row, values_found[:number]), list(values_found[number:])

    def _composed(self) -> PreparedStatement:
        insert, updates = self._insert.statement(), [update.statement() for update in self._updates]
        parts = {"added": insert.sql}
        for number, update in enumerate(updates):
            # They read from the inserted row, and so run after it: PostgreSQL promises no order of the parts of a WITH.
            parts[f"changed_{number}"] = f"{update.sql} AND EXISTS (SELECT FROM added) RETURNING 1"
        named = ", ".join(f"{name} AS ({sql})" for name, sql in parts.items())
        counts = [f"(SELECT count(*) FROM changed_{number})" for number in range(len(updates))]
        sql = f"WITH {named} SELECT {', '.join([*self._insert.returned, *counts])} FROM added"
        return PreparedStatement(
            self._name, sql, [parameter for each in (insert, *updates) for parameter in each.parameters]
        )
