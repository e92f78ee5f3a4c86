"""A migration operation: the demo's clock can only go forward."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_TABLE = "common_democlock"
_BACK = "NEW.ahead_seconds < OLD.ahead_seconds"
_REFUSED = "the clock of the demo goes forward only"
_FUNCTION = f"""
CREATE OR REPLACE FUNCTION refuse_clock_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '{_REFUSED}' USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""


def _forwards(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    refused = (("back", "UPDATE", f"WHEN ({_BACK}) "), ("gone", "DELETE", ""))
    if editor.connection.vendor == "postgresql":
        editor.execute(_FUNCTION, params=None)
    for name, operation, when in refused:
        if editor.connection.vendor == "postgresql":
            does = f"FOR EACH ROW {when}EXECUTE FUNCTION refuse_clock_back();"
        else:
            does = f"{when}BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END;"
        editor.execute(f"CREATE TRIGGER {_TABLE}_not_{name} BEFORE {operation} ON {_TABLE} {does}", params=None)


def _backwards(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    on = f" ON {_TABLE}" if editor.connection.vendor == "postgresql" else ""
    for name in ("back", "gone"):
        editor.execute(f"DROP TRIGGER IF EXISTS {_TABLE}_not_{name}{on};", params=None)


def forward_clock() -> migrations.RunPython:
    """Return the migration step that refuses to turn the demo's clock back, and to delete it."""
    return migrations.RunPython(_forwards, _backwards)
