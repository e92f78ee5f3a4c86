"""Panels that more taskers join, or that a fresh one follows (R19); and one person is asked about a picture once."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

from labeling.enums import PanelState


class Migration(migrations.Migration):
    """Until now every picture had one panel, so no row is in the way of the constraint on pictures and persons."""

    dependencies = [("labeling", "0008_policy_recorded")]
    operations = [
        migrations.RemoveConstraint("assignment", "assignment_once_per_person_and_panel"),
        migrations.RemoveConstraint("panel", "panel_of_three_or_more"),
        migrations.AddField("panel", "joined", models.PositiveSmallIntegerField(db_default=0, default=0)),
        migrations.AddField("panel", "joined_at", models.DateTimeField(null=True)),
        migrations.AddField("panel", "ruled_through", models.PositiveSmallIntegerField(db_default=0, default=0)),
        migrations.AddField("panel", "urgent", models.BooleanField(db_default=False, default=False)),
        migrations.AlterField(
            "assignment",
            "image",
            models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="labeling.image"
            ),
        ),
        migrations.AlterField(
            "assignment",
            "panel",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="assignments", to="labeling.panel"
            ),
        ),
        migrations.AddIndex(
            "panel",
            models.Index(
                condition=Q(state=PanelState.OPEN, urgent=True), fields=["waiting_since", "id"], name="panel_urgent"
            ),
        ),
        migrations.AddConstraint(
            "assignment",
            models.UniqueConstraint(
                condition=Q(known__isnull=True),
                fields=("image", "person"),
                name="assignment_once_per_person_and_image",
            ),
        ),
        migrations.AddConstraint(
            "panel",
            models.CheckConstraint(
                condition=Q(joined=0, joined_at__isnull=True, ruled_through=0)
                | Q(joined__gt=0, joined_at__isnull=False, ruled_through__gte=3),
                name="panel_joined_at_a_time",
            ),
        ),
        migrations.AddConstraint(
            "panel",
            models.CheckConstraint(condition=Q(size__gte=F("joined") + 3), name="panel_of_three_or_more"),
        ),
    ]
