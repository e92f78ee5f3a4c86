from django.db import migrations, models


class Migration(migrations.Migration):
    """The leaderboard as it is shown, and the nightly check of it."""

    dependencies = [("contest", "0008_record")]
    operations = [
        migrations.CreateModel(
            name="Leaderboard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("week", models.CharField(blank=True, max_length=8, unique=True)),
                ("at", models.DateTimeField()),
                ("tables", models.JSONField()),
                ("made_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="LeaderboardCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("checked_at", models.DateTimeField(db_index=True)),
                ("compared", models.PositiveIntegerField()),
                ("differences", models.JSONField(default=list)),
            ],
        ),
    ]
