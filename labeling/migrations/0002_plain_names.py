import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0001_initial")]

    operations = [
        migrations.RenameModel("Place", "PanelPlace"),
        migrations.RenameModel("WatchRule", "MonitoringRule"),
        migrations.RenameModel("WatchEvent", "MonitoringEvent"),
        migrations.AlterField(
            "monitoringevent",
            "tasker",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="labeling.tasker"
            ),
        ),
    ]
