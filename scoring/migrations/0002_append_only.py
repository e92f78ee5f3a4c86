"""Facts are append-only; the database refuses the rest."""

from django.db import migrations

from common.append_only import append_only


class Migration(migrations.Migration):
    """Protect the facts of this app."""

    dependencies = [("scoring", "0001_initial")]
    operations = [append_only(["scoring_prediction"])]
