"""The demo's clock: one row that goes forward only."""

from django.db import migrations, models
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


class Migration(migrations.Migration):
    """Add the row's table, and the triggers that refuse to turn it back."""

    dependencies = [("common", "0002_append_only_facts")]
    operations = [
        migrations.CreateModel(
            name="DemoClock",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("ahead_seconds", models.BigIntegerField(default=0)),
                ("target_seconds", models.BigIntegerField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="demo_clock_one_row"),
                    models.CheckConstraint(condition=models.Q(("ahead_seconds__gte", 0)), name="demo_clock_never_behind"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("target_seconds", None), ("target_seconds__gte", models.F("ahead_seconds")), _connector="OR"
                        ),
                        name="demo_clock_goes_forward",
                    ),
                ],
            },
        ),
        migrations.RunPython(_forwards, _backwards),
    ]
