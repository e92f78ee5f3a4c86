"""Gold names the panel of the ordinary picture it was dealt instead of, and what its receipt said."""

from datetime import timedelta
from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

# How long after its lease an answer to gold was said to count until now.
GRACE = timedelta(minutes=20)


def fill(apps: Any, editor: Any) -> None:
    """Gold went with the policy of its lease until now: the newest panel of that moment has the same."""
    if editor.connection.vendor == "postgresql":
        # PostgreSQL refuses to alter a table while checks of the changed rows wait for the end of the transaction.
        editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assignment, panel = apps.get_model("labeling", "Assignment"), apps.get_model("labeling", "Panel")
    gold = assignment.objects.filter(known__isnull=False)
    newest = panel.objects.filter(dealt_at__lte=OuterRef("leased_at")).order_by("-dealt_at", "-pk").values("pk")[:1]
    gold.update(stands_for=Coalesce(Subquery(newest), F("panel_id")))
    late = gold.filter(response__submitted_at__gt=F("expires_at") + GRACE)
    gold.filter(state="answered").update(seems_counted=True)
    assignment.objects.filter(pk__in=list(late.values_list("pk", flat=True))).update(seems_counted=False)


class Migration(migrations.Migration):
    dependencies = [("labeling", "0002_first_rows")]
    operations = [
        migrations.AddField(
            model_name="assignment",
            name="stands_for",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="labeling.panel",
            ),
        ),
        migrations.AddField(model_name="assignment", name="seems_counted", field=models.BooleanField(null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=Q(known__isnull=True, stands_for__isnull=True)
                | Q(known__isnull=False, stands_for__isnull=False),
                name="assignment_of_gold_stands_for_a_panel",
            ),
        ),
    ]
