"""Facts are append-only, and the database itself says so.

Each function returns one SQL statement list for one table; migrations run them, and so does the test suite, which
has to empty tables between tests.
"""

from collections.abc import Collection, Sequence

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""


# Facts that name an account: (the column that may be emptied when the account goes, every other column).
FORGETTING: dict[str, tuple[str, tuple[str, ...]]] = {
    "common_auditentry": (
        "user_id",
        ("id", "at", "role", "action", "subject", "why", "origin", "published", "public", "private", "salt"),
    ),
    "labeling_statechange": (
        "by_id",
        ("id", "tasker_id", "before", "after", "code", "reason", "event_id", "changed_at"),
    ),
    "scoring_frameworkcheck": ("checked_by_id", ("id", "defense_id", "passed", "reason", "checked_at")),
    "contest_boarddecision": (
        "decided_by_id",
        ("id", "kind", "subject", "details", "reason", "policy_id", "decided_at", "case_id"),
    ),
    "contest_ledgerentry": (
        "made_by_id",
        ("id", "source_id", "target_id", "cents", "rule", "why", "causes", "corrects_id", "decision_id", "made_at"),
    ),
    "contest_examination": ("confirmed_by_id", ("id", "image_id", "defense_id", "ruling_id", "at")),
    "contest_appeal": (
        "sent_by_id",
        (
            "id",
            "public_id",
            "case_id",
            "team_id",
            "image_id",
            "ruling_id",
            "defense_id",
            "side",
            "argument",
            "marks",
            "sent_at",
        ),
    ),
    "contest_statement": ("sent_by_id", ("id", "case_id", "team_id", "words", "sent_at")),
    "contest_vote": (
        "member_id",
        ("id", "case_id", "choice", "label", "reasons", "words", "public", "cast_at"),
    ),
    "contest_casedecision": (
        "confirmed_by_id",
        (
            "id",
            "case_id",
            "outcome",
            "label",
            "reasons",
            "explanation",
            "votes",
            "quorum",
            "recused",
            "policy_id",
            "ruling_id",
            "panel_id",
            "decided_at",
        ),
    ),
    "contest_associationmistake": ("declared_by_id", ("id", "association_id", "reason", "declared_at")),
    "contest_pastmember": ("user_id", ("id", "team_id", "joined_at", "left_at")),
    "contest_teammerge": ("merged_by_id", ("id", "team_id", "into_id", "reason", "merged_at")),
    "labeling_voiding": ("voided_by_id", ("id", "tasker_id", "reason", "since", "voided_at")),
}


def _when_refused(vendor: str, table: str, there: Collection[str] | None) -> str:
    """Return the condition under which an UPDATE is refused: always, save for forgetting who did it."""
    if table not in FORGETTING:
        return ""
    who, columns = FORGETTING[table]
    kept = [column for column in columns if there is None or column in there]
    differs = "IS DISTINCT FROM" if vendor == "postgresql" else "IS NOT"
    changed = " OR ".join(f'OLD."{column}" {differs} NEW."{column}"' for column in kept)
    return f"WHEN (NEW.{who} IS NOT NULL OR {changed}) "


def protect(vendor: str, table: str, there: Collection[str] | None = None) -> list[str]:
    """Return the statements that make `table` refuse UPDATE and DELETE on `vendor` (postgresql, sqlite).

    `there` are its columns, where a migration may have some still to add; None: all of them.
    """
    refused = {"UPDATE": _when_refused(vendor, table, there), "DELETE": ""}
    if vendor == "postgresql":
        return [_POSTGRES_FUNCTION] + [
            f'CREATE TRIGGER {table}_no_{operation.lower()} BEFORE {operation} ON "{table}" FOR EACH ROW {when}'
            "EXECUTE FUNCTION refuse_change();"
            for operation, when in refused.items()
        ]
    return [
        f"CREATE TRIGGER {table}_no_{operation.lower()} BEFORE {operation} ON {table} {when}BEGIN "
        f"SELECT RAISE(ABORT, '{table} is append-only: {operation} refused'); END;"
        for operation, when in refused.items()
    ]


def unprotect(vendor: str, table: str) -> list[str]:
    """Return the statements that take the protection away again."""
    on = f' ON "{table}"' if vendor == "postgresql" else ""
    return [f"DROP TRIGGER IF EXISTS {table}_no_{operation}{on};" for operation in ("update", "delete")]


def _columns(editor: BaseDatabaseSchemaEditor, table: str) -> set[str]:
    with editor.connection.cursor() as cursor:
        return {column.name for column in editor.connection.introspection.get_table_description(cursor, table)}


def append_only(tables: Sequence[str]) -> migrations.RunPython:
    """Return the migration step that protects `tables`, whether they were protected or not.

    SQLite makes a table anew to add or alter a column and leaves its triggers behind: a migration that does so ends
    with this step for that table.
    """

    def forwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        backwards(apps, editor)
        for table in tables:
            for statement in protect(editor.connection.vendor, table, _columns(editor, table)):
                editor.execute(statement, params=None)

    def backwards(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        for table in tables:
            for statement in unprotect(editor.connection.vendor, table):
                editor.execute(statement, params=None)

    return migrations.RunPython(forwards, backwards)
