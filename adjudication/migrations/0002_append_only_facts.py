"""Facts are append-only; the database refuses the rest."""

from django.db import migrations

from common.database.append_only import append_only


class Migration(migrations.Migration):
    """Protect the facts of this app."""

    replaces = [
        ("adjudication", "0002_append_only"),
    ]

    dependencies = [("adjudication", "0001_tables")]
    operations = [append_only(["adjudication_ruling"])]
