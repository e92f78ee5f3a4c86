import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

KINDS = ["defense_published", "defense_staked", "stake_changed", "money_posted", "money_paid"]


class Migration(migrations.Migration):
    """Letters to members of teams, written down with what they tell of."""

    dependencies = [("contest", "0009_leaderboard"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name="TeamLetter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[(kind, kind.replace("_", " ")) for kind in KINDS], max_length=20)),
                ("facts", models.JSONField()),
                ("made_at", models.DateTimeField()),
                ("taken_at", models.DateTimeField(null=True)),
                ("not_before", models.DateTimeField(null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="letters", to="contest.team"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["id"], name="team_letter_due", condition=models.Q(("taken_at__isnull", True)))
                ],
            },
        ),
    ]
