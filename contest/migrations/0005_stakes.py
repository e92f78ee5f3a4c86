from django.db import migrations, models


class Migration(migrations.Migration):
    """When and why a team asked the board to let it take a staked defense back."""

    dependencies = [("contest", "0004_money")]
    operations = [
        migrations.AddField("stake", "return_asked_at", models.DateTimeField(null=True)),
        migrations.AddField("stake", "return_reason", models.TextField(blank=True, default=""), preserve_default=False),
    ]
