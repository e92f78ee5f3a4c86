"""Who recorded a version of the policy, and when."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Versions from before were recorded by nobody known."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("labeling", "0007_one_role"),
    ]
    operations = [
        migrations.AddField(
            model_name="policyversion",
            name="recorded_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="policyversion",
            name="recorded_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
