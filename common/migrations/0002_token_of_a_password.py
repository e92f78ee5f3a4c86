from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("common", "0001_initial")]

    operations = [
        # A token made before this belongs to no known password: it is over, and a new one has to be asked for.
        migrations.AddField("apitoken", "auth_hash", models.CharField(max_length=128, default=""), preserve_default=False),
        migrations.AlterField("apitoken", "expires_at", models.DateTimeField(db_index=True)),
    ]
