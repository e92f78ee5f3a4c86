from django.db import migrations, models


class Migration(migrations.Migration):
    """Every assignment says who it was given to."""

    dependencies = [("labeling", "0005_first_rows")]
    operations = [migrations.AlterField("assignment", "person", models.BigIntegerField())]
