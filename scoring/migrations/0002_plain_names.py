import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scoring", "0001_initial")]

    operations = [
        migrations.RenameModel("Superseded", "SupersededPrediction"),
        migrations.RenameModel("PlanMark", "PlanningProgress"),
        migrations.AlterField(
            "planningprogress",
            "defense",
            models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="scoring.defense"
            ),
        ),
    ]
