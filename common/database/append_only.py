"""A migration operation that makes a table append-only by triggers."""

from collections.abc import Iterator, Mapping, Sequence

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""


def append_only(*tables: str, forgetting: Mapping[str, str] | None = None) -> migrations.RunPython:
    """Return the migration step that makes `tables` refuse UPDATE and DELETE; it may run more than once.

    `forgetting` lists further tables, each with its account column: that column may be emptied when the account is
    deleted, and nothing else of the row may change. SQLite adds or alters a column by copying the table, which loses
    its triggers: a migration that does so ends with this step for that table.
    """
    accounts = dict.fromkeys(tables, "") | dict(forgetting or {})

    def forwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        backwards(apps, editor)
        vendor = editor.connection.vendor
        if vendor == "postgresql":
            editor.execute(_POSTGRES_FUNCTION, params=None)
        for table, account in accounts.items():
            for statement in _protect(vendor, table, account, _columns(editor, table) if account else ()):
                editor.execute(statement, params=None)

    def backwards(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        for table in accounts:
            on = f' ON "{table}"' if editor.connection.vendor == "postgresql" else ""
            for operation in ("update", "delete"):
                editor.execute(f"DROP TRIGGER IF EXISTS {table}_no_{operation}{on};", params=None)

    return migrations.RunPython(forwards, backwards)


def allow_changes(*tables: str, forgetting: Mapping[str, str] | None = None) -> migrations.RunPython:
    """Return the migration step that undoes `append_only`, before a table is renamed."""
    step = append_only(*tables, forgetting=forgetting)
    return migrations.RunPython(step.reverse_code or migrations.RunPython.noop, step.code)


def _protect(vendor: str, table: str, account: str, columns: Sequence[str]) -> Iterator[str]:
    for operation, when in (("UPDATE", _when_refused(vendor, account, columns)), ("DELETE", "")):
        trigger = f'CREATE TRIGGER {table}_no_{operation.lower()} BEFORE {operation} ON "{table}"'
        if vendor == "postgresql":
            yield f"{trigger} FOR EACH ROW {when}EXECUTE FUNCTION refuse_change();"
        else:
            yield f"{trigger} {when}BEGIN SELECT RAISE(ABORT, '{table} is append-only: {operation} refused'); END;"


def _when_refused(vendor: str, account: str, columns: Sequence[str]) -> str:
    """Return the condition under which an UPDATE is refused: always, save for forgetting the account."""
    if not account:
        return ""
    differs = "IS DISTINCT FROM" if vendor == "postgresql" else "IS NOT"
    changed = " OR ".join(f'OLD."{column}" {differs} NEW."{column}"' for column in columns if column != account)
    return f"WHEN (NEW.{account} IS NOT NULL OR {changed}) "


def _columns(editor: BaseDatabaseSchemaEditor, table: str) -> list[str]:
    with editor.connection.cursor() as cursor:
        return [column.name for column in editor.connection.introspection.get_table_description(cursor, table)]
