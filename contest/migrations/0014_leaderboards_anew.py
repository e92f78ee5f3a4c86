from django.db import migrations


def drop(apps, editor):
    """Let the sweep make them anew: they are copies, and each row now says when every team broke a defense."""
    apps.get_model("contest", "Leaderboard").objects.all().delete()


class Migration(migrations.Migration):
    """Stored leaderboards that do not say when each team broke a defense go."""

    dependencies = [("contest", "0013_corrections")]
    operations = [migrations.RunPython(drop, migrations.RunPython.noop)]
