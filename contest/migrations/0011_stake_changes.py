import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from common.append_only import append_only

_DECISIONS = ("stake", "grant", "withhold", "award", "return", "end", "forfeit")
_ENDS = ("broken", "won", "overtaken", "withdrawn", "void")


def note_the_ends(apps, editor):
    """Write down how the stakes there are ended: as if each had ended once, at the moment that it says."""
    changes = apps.get_model("contest", "StakeChange")
    ended = apps.get_model("contest", "Stake").objects.filter(staked_at__isnull=False, ended_at__isnull=False)
    changes.objects.bulk_create(
        changes(stake_id=pk, end=end, ended_at=at, known_at=at)
        for pk, end, at in ended.order_by("pk").values_list("pk", "end", "ended_at")
    )


class Migration(migrations.Migration):
    """What was known when of how stakes ended; two more kinds of decisions."""

    dependencies = [("contest", "0010_team_letters")]
    operations = [
        migrations.CreateModel(
            name="StakeChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("end", models.CharField(blank=True, choices=[(end, end) for end in _ENDS], max_length=9)),
                ("ended_at", models.DateTimeField(null=True)),
                ("known_at", models.DateTimeField()),
                (
                    "stake",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="changes", to="contest.stake"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(ended_at__isnull=True, end="") | (Q(ended_at__isnull=False) & ~Q(end="")),
                        name="stake_change_ends_somehow",
                    )
                ]
            },
        ),
        migrations.AlterField(
            "boarddecision",
            "kind",
            models.CharField(choices=[(kind, kind) for kind in _DECISIONS], max_length=8),
        ),
        migrations.RunPython(note_the_ends, migrations.RunPython.noop),
        append_only(["contest_stakechange"]),
    ]
