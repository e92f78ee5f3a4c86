"""Team members have one role too (R8), kept by the database."""

from typing import Any

from django.db import migrations

from labeling.one_role import for_members, roles_of_rows, run, without_members


def record(apps: Any, editor: Any) -> None:
    """Write the roles of the members there are; another role of one of them stops the migration."""
    roles_of_rows(apps, apps.get_model("contest", "Member").objects, "team")


class Migration(migrations.Migration):
    dependencies = [("contest", "0002_append_only"), ("labeling", "0007_one_role")]
    operations = [migrations.RunPython(record, migrations.RunPython.noop), run(for_members, without_members)]
