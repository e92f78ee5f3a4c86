import django.db.models.deletion
from django.db import migrations, models

from common.database.append_only import allow_changes, append_only


class Migration(migrations.Migration):
    dependencies = [("scoring", "0001_initial")]

    operations = [
        allow_changes("scoring_superseded"),
        migrations.RenameModel("Superseded", "SupersededPrediction"),
        append_only("scoring_supersededprediction"),
        migrations.RenameModel("PlanMark", "PlanningProgress"),
        migrations.AlterField(
            "planningprogress",
            "defense",
            models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="scoring.defense"),
        ),
    ]
