"""A database constraint: one role per account. Organizers, board members and contestants never label (R8).

Triggers on the three tables that give a role keep one row per account in `accounts_accountrole`. Its primary key is
the account, so that of two transactions that give two roles at once, the second waits and is then refused.

Migrations of higher apps run these statements with the names of their own tables. SQLite alters a column by copying the
table, which loses its triggers: a migration that alters the table of taskers ends with `run(taskers_again(TABLE))`, and
one that alters the table of members begins with `run(without_members(TABLE))` and ends with `run(for_members(TABLE))`.
"""

from collections.abc import Callable

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

# The group's name -> the role it gives; other groups give none.
GROUP_ROLES = {"organizers": "organizer", "review board": "board", "teams": "team"}
_REFUSED = "an account has one role"
_KEPT = "groups that give a role keep their names"
_CASES = " ".join(f"WHEN '{name}' THEN '{role}'" for name, role in GROUP_ROLES.items())
_NAMES = ", ".join(f"'{name}'" for name in GROUP_ROLES)
_RENAMED = f"OLD.name <> NEW.name AND (OLD.name IN ({_NAMES}) OR NEW.name IN ({_NAMES}))"
Statements = Callable[[str], list[str]]

_GROUPS = "auth_user_groups"
_OF_GROUP = f"(SELECT CASE g.name {_CASES} END FROM auth_group g WHERE g.id = ROW.group_id)"
_TASKER, _TEAM = "'tasker'", "'team'"


def _still_in_team(account: str, members: str = "") -> str:
    """Return the SQL that says whether `account` is in the teams: the one role that two tables give."""
    grouped = (
        "EXISTS (SELECT 1 FROM auth_user_groups m JOIN auth_group g ON g.id = m.group_id "
        f"WHERE m.user_id = {account} AND g.name = 'teams')"
    )
    return f"({grouped} OR EXISTS (SELECT 1 FROM {members} c WHERE c.user_id = {account}))" if members else grouped


_POSTGRES_FUNCTIONS = f"""
CREATE FUNCTION account_role_take(account integer, taken text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO accounts_accountrole (user_id, role) VALUES (account, taken) ON CONFLICT (user_id) DO NOTHING;
  IF (SELECT role FROM accounts_accountrole WHERE user_id = account) <> taken THEN
    RAISE EXCEPTION '{_REFUSED}' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
END $$;
CREATE FUNCTION account_role_drop(account integer, dropped text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Locked first: of two transactions that end the two reasons for a role, one has to see that none is left.
  PERFORM 1 FROM accounts_accountrole WHERE user_id = account FOR UPDATE;
  DELETE FROM accounts_accountrole WHERE user_id = account AND role = dropped
    AND NOT (dropped = 'team' AND account_in_team(account));
END $$;
"""


def _postgres_in_team(members: str = "") -> str:
    return (
        "CREATE OR REPLACE FUNCTION account_in_team(account integer) RETURNS boolean LANGUAGE plpgsql "
        f"AS $$ BEGIN RETURN {_still_in_team('account', members)}; END $$;"
    )


def _postgres_triggers(table: str, role: str) -> str:
    """Return PostgreSQL's triggers. `role` is SQL over a row called ROW: the role that the row gives, null for none."""
    new, old = role.replace("ROW", "NEW"), role.replace("ROW", "OLD")
    return f"""
CREATE FUNCTION {table}_gives_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.user_id IS NOT NULL AND {old} IS NOT NULL THEN
    PERFORM account_role_drop(OLD.user_id, {old});
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.user_id IS NOT NULL AND {new} IS NOT NULL THEN
    PERFORM account_role_take(NEW.user_id, {new});
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER {table}_one_role AFTER INSERT OR DELETE ON "{table}" FOR EACH ROW EXECUTE FUNCTION {table}_gives_role();
CREATE TRIGGER {table}_one_role_changed AFTER UPDATE ON "{table}" FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION {table}_gives_role();
"""


def _sqlite_triggers(table: str, role: str, members: str = "") -> list[str]:
    new, old = role.replace("ROW", "NEW"), role.replace("ROW", "OLD")
    take = f"""
  SELECT RAISE(ABORT, '{_REFUSED}') WHERE EXISTS (
    SELECT 1 FROM accounts_accountrole r WHERE r.user_id = NEW.user_id AND r.role <> {new});
  INSERT OR IGNORE INTO accounts_accountrole (user_id, role)
    SELECT NEW.user_id, {new} WHERE NEW.user_id IS NOT NULL AND {new} IS NOT NULL;"""
    # Taskers' triggers name no other table that gives a role, so that they can be created again on their own.
    in_team = _still_in_team("OLD.user_id", members)
    kept = "" if role == _TASKER else f" AND NOT (role = 'team' AND {in_team})"
    drop = f"\n  DELETE FROM accounts_accountrole WHERE user_id = OLD.user_id AND role = {old}{kept};"
    return [
        *_sqlite_none(table),
        f"CREATE TRIGGER {table}_one_role_given AFTER INSERT ON {table} BEGIN {take} END;",
        f"CREATE TRIGGER {table}_one_role_changed AFTER UPDATE ON {table} "
        f"WHEN OLD.user_id IS NOT NEW.user_id OR {old} IS NOT {new} BEGIN {drop} {take} END;",
        f"CREATE TRIGGER {table}_one_role_ended AFTER DELETE ON {table} BEGIN {drop} END;",
    ]


def _sqlite_none(table: str) -> list[str]:
    return [f"DROP TRIGGER IF EXISTS {table}_one_role_{name};" for name in ("given", "changed", "ended")]


def _groups_keep_their_names(vendor: str) -> list[str]:
    if vendor == "postgresql":
        return [
            "CREATE FUNCTION auth_group_keeps_name() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"RAISE EXCEPTION '{_KEPT}' USING ERRCODE = 'integrity_constraint_violation'; END $$;",
            f"CREATE TRIGGER auth_group_keeps_name BEFORE UPDATE ON auth_group FOR EACH ROW WHEN ({_RENAMED}) "
            "EXECUTE FUNCTION auth_group_keeps_name();",
        ]
    return [
        f"CREATE TRIGGER auth_group_keeps_name BEFORE UPDATE ON auth_group WHEN {_RENAMED} BEGIN "
        f"SELECT RAISE(ABORT, '{_KEPT}'); END;"
    ]


def for_taskers_and_groups(taskers: str) -> Statements:
    """Return the statements that keep the roles of groups, and of taskers in the table `taskers`."""

    def statements(vendor: str) -> list[str]:
        names = _groups_keep_their_names(vendor)
        if vendor == "postgresql":
            triggers = [_postgres_triggers(taskers, _TASKER), _postgres_triggers(_GROUPS, _OF_GROUP)]
            return [_postgres_in_team(), _POSTGRES_FUNCTIONS, *triggers, *names]
        return [*_sqlite_triggers(taskers, _TASKER), *_sqlite_triggers(_GROUPS, _OF_GROUP), *names]

    return statements


def without_taskers_and_groups(taskers: str) -> Statements:
    """Return the statements that remove the triggers of `for_taskers_and_groups`."""

    def statements(vendor: str) -> list[str]:
        if vendor == "postgresql":
            functions = [f"{taskers}_gives_role()", f"{_GROUPS}_gives_role()", "auth_group_keeps_name()"]
            functions += [
                "account_role_take(integer, text)",
                "account_role_drop(integer, text)",
                "account_in_team(integer)",
            ]
            return [f"DROP FUNCTION {function} CASCADE;" for function in functions]
        return [*_sqlite_none(taskers), *_sqlite_none(_GROUPS), "DROP TRIGGER auth_group_keeps_name;"]

    return statements


def taskers_again(taskers: str) -> Statements:
    """Return the statements that create the triggers of taskers again, whether or not they exist."""
    return lambda vendor: _sqlite_triggers(taskers, _TASKER) if vendor == "sqlite" else []


def for_members(members: str) -> Statements:
    """Return the statements that keep the role of team members too, after those for taskers and groups."""

    def statements(vendor: str) -> list[str]:
        if vendor == "postgresql":
            return [_postgres_in_team(members), _postgres_triggers(members, _TEAM)]
        return [*_sqlite_triggers(_GROUPS, _OF_GROUP, members), *_sqlite_triggers(members, _TEAM, members)]

    return statements


def without_members(members: str) -> Statements:
    """Return the statements that remove the triggers of team members; those of taskers and groups stay."""

    def statements(vendor: str) -> list[str]:
        if vendor == "postgresql":
            return [_postgres_in_team(), f"DROP FUNCTION {members}_gives_role() CASCADE;"]
        return [*_sqlite_none(members), *_sqlite_triggers(_GROUPS, _OF_GROUP)]

    return statements


def _step(statements: Statements) -> Callable[[StateApps, BaseDatabaseSchemaEditor], None]:
    def execute(_: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        for statement in statements(editor.connection.vendor):
            editor.execute(statement, params=None)

    return execute


def sql_step(statements: Statements, backwards: Statements = lambda vendor: []) -> migrations.RunPython:
    """Return the migration step that runs `statements` for the database at hand, and `backwards` to undo them."""
    return migrations.RunPython(_step(statements), _step(backwards))
