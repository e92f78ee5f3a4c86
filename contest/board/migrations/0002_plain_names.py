from django.db import migrations

from common.database.append_only import allow_changes, append_only


class Migration(migrations.Migration):
    dependencies = [("board", "0001_initial"), ("core", "0002_plain_names")]

    operations = [
        migrations.RenameModel("Ties", "Affiliations"),
        allow_changes(forgetting={"board_statement": "sent_by_id"}),
        migrations.RenameModel("Statement", "AppealStatement"),
        append_only(forgetting={"board_appealstatement": "sent_by_id"}),
    ]
