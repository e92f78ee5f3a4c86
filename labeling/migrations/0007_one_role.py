"""One role per account and one account per e-mail address, kept by the database; and facts forget who left."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from common.append_only import append_only_again
from labeling.one_role import GROUP_ROLES, for_taskers_and_groups, roles_of_rows, run, without_taskers_and_groups


def record(apps: Any, editor: Any) -> None:
    """Write the roles there are; two roles of one account stop the migration."""
    roles_of_rows(apps, apps.get_model("labeling", "Tasker").objects, "tasker")
    memberships = apps.get_model("auth", "User").groups.through.objects
    for name, role in GROUP_ROLES.items():
        roles_of_rows(apps, memberships.filter(group__name=name), role)


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("labeling", "0006_person_known"),
    ]
    operations = [
        migrations.CreateModel(
            name="AccountRole",
            fields=[
                ("user", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="account_role", serialize=False, to=settings.AUTH_USER_MODEL)),
                ("role", models.CharField(choices=[("tasker", "tasker"), ("organizer", "organizer"), ("board", "board"), ("team", "team")], max_length=9)),
            ],
        ),
        migrations.RunPython(record, migrations.RunPython.noop),
        run(for_taskers_and_groups, without_taskers_and_groups),
        migrations.RunSQL(
            "CREATE UNIQUE INDEX account_once_per_address ON auth_user (lower(email)) WHERE email <> ''",
            "DROP INDEX account_once_per_address",
        ),
        append_only_again(["labeling_statechange", "labeling_voiding"]),
    ]
