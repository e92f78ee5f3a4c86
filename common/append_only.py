"""Facts are append-only, and the database itself says so.

Each function returns one SQL statement list for one table; migrations run them, and so does the test suite, which
has to empty tables between tests.
"""

from collections.abc import Sequence

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""


def protect(vendor: str, table: str) -> list[str]:
    """Return the statements that make `table` refuse UPDATE and DELETE on `vendor` (postgresql, sqlite)."""
    if vendor == "postgresql":
        return [
            _POSTGRES_FUNCTION,
            f'CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON "{table}" '
            "FOR EACH ROW EXECUTE FUNCTION refuse_change();",
        ]
    return [
        f"CREATE TRIGGER {table}_no_{operation.lower()} BEFORE {operation} ON {table} BEGIN "
        f"SELECT RAISE(ABORT, '{table} is append-only: {operation} refused'); END;"
        for operation in ("UPDATE", "DELETE")
    ]


def unprotect(vendor: str, table: str) -> list[str]:
    """Return the statements that take the protection away again."""
    if vendor == "postgresql":
        return [f'DROP TRIGGER IF EXISTS {table}_append_only ON "{table}";']
    return [f"DROP TRIGGER IF EXISTS {table}_no_{operation};" for operation in ("update", "delete")]


def append_only(tables: Sequence[str]) -> migrations.RunPython:
    """Return the migration step that protects `tables`."""

    def forwards(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        for table in tables:
            for statement in protect(editor.connection.vendor, table):
                editor.execute(statement, params=None)

    def backwards(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        for table in tables:
            for statement in unprotect(editor.connection.vendor, table):
                editor.execute(statement, params=None)

    return migrations.RunPython(forwards, backwards)
