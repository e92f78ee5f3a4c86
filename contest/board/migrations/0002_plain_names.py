from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("board", "0001_initial"), ("core", "0002_plain_names")]

    operations = [
        migrations.RenameModel("Ties", "Affiliations"),
        migrations.RenameModel("Statement", "AppealStatement"),
    ]
