import django.db.models.deletion
from django.db import migrations, models

from common.database.append_only import allow_changes, append_only


class Migration(migrations.Migration):
    dependencies = [("labeling", "0001_initial")]

    operations = [
        allow_changes("labeling_watchevent"),
        migrations.RenameModel("Place", "PanelPlace"),
        migrations.RenameModel("WatchRule", "MonitoringRule"),
        migrations.RenameModel("WatchEvent", "MonitoringEvent"),
        migrations.AlterField(
            "monitoringevent",
            "tasker",
            models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="labeling.tasker"),
        ),
        # SQLite copied the tables that refer to a renamed one, which loses their triggers.
        append_only("labeling_monitoringevent", "labeling_response", forgetting={"labeling_statechange": "by_id"}),
    ]
