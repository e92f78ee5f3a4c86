"""The stored leaderboards are made again: by rule book 2 only attacks break (R29). They are copies of facts."""

from typing import Any

from django.db import migrations, models


def forget_tables(apps: Any, schema_editor: Any) -> None:
    """Delete every stored table; the next sweep makes those of all weeks from the facts."""
    apps.get_model("contest", "Leaderboard").objects.all().delete()


class Migration(migrations.Migration):
    """Delete the copies, and add what each copy had seen."""

    dependencies = [("contest", "0002_kept_by_the_database")]

    operations = [
        migrations.RunPython(forget_tables, migrations.RunPython.noop),
        migrations.AddField(model_name="leaderboard", name="seen", field=models.JSONField(default=dict)),
    ]
