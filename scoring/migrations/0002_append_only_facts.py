"""Facts are append-only; the database refuses the rest."""

from django.db import migrations

from common.database.append_only import append_only


class Migration(migrations.Migration):
    """Protect the facts of this app."""

    replaces = [
        ("scoring", "0007_fewer_indexes"),
    ]

    dependencies = [("scoring", "0001_tables")]
    operations = [append_only(["scoring_copyflag", "scoring_frameworkcheck", "scoring_prediction", "scoring_superseded"])]
