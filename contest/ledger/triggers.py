"""Database triggers that keep the balances of accounts (R34).

Each new entry changes the balances of both its accounts in the statement that writes it. A balance below zero would
violate the check constraint of its row, and the entry is not written. Migrations run these statements.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_MOVE = (
    "UPDATE ledger_account SET balance_cents = balance_cents + "
    "CASE id WHEN NEW.source_id THEN -NEW.cents ELSE NEW.cents END WHERE id IN (NEW.source_id, NEW.target_id);"
)
_POSTGRES = f"""
CREATE FUNCTION ledger_entry_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- In one order always, so that two entries between the same accounts do not wait for each other.
  PERFORM 1 FROM ledger_account WHERE id IN (NEW.source_id, NEW.target_id) ORDER BY id FOR UPDATE;
  {_MOVE}
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_entry_moves AFTER INSERT ON ledger_ledgerentry
  FOR EACH ROW EXECUTE FUNCTION ledger_entry_moves();
"""
_SQLITE = f"CREATE TRIGGER ledger_entry_moves AFTER INSERT ON ledger_ledgerentry BEGIN {_MOVE} END;"
_BACK = {
    "postgresql": ["DROP TRIGGER ledger_entry_moves ON ledger_ledgerentry;", "DROP FUNCTION ledger_entry_moves();"],
    "sqlite": ["DROP TRIGGER ledger_entry_moves;"],
}


def moving_balances() -> migrations.RunPython:
    """Return the migration step that lets entries move balances."""

    def forwards(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        editor.execute(_POSTGRES if editor.connection.vendor == "postgresql" else _SQLITE, params=None)

    def backwards(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        for statement in _BACK[editor.connection.vendor]:
            editor.execute(statement, params=None)

    return migrations.RunPython(forwards, backwards)
