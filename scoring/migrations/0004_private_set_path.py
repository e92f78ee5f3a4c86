"""A private set says which folder or manifest it is imported from."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the path; of the sets of today it is unknown."""

    dependencies = [("scoring", "0003_copied_defenses")]

    operations = [
        migrations.AddField(model_name="privateset", name="path", field=models.TextField(default="")),
    ]
