import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from common.append_only import append_only


class Migration(migrations.Migration):
    """What the board looked at before an award, and who called a payment off."""

    dependencies = [("contest", "0006_teams"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name="Examination",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("confirmed_by", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("defense", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="examinations", to="scoring.defense")),
                ("image", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="examinations", to="labeling.image")),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("image", "defense"), name="examination_once")]},
        ),
        migrations.AddField(
            "payment",
            "cancelled_by",
            models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL),
        ),
        append_only(["contest_examination"]),
    ]
