from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("core", "0002_plain_names"), ("defenses", "0001_initial"), ("scoring", "0002_plain_names")]

    operations = [migrations.RenameModel("Entry", "DefenseEntry")]
