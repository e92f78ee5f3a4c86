"""A defense that was read from a release is marked: its program is not here."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the mark; no defense of today has it."""

    dependencies = [("scoring", "0002_append_only_facts")]

    operations = [
        migrations.AddField(model_name="defense", name="copied", field=models.BooleanField(default=False)),
    ]
