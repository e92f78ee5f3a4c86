from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("core", "0002_plain_names"), ("outbox", "0001_initial")]

    operations = [migrations.RenameModel("Told", "NotifiedFact")]
