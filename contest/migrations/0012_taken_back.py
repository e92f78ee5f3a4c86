import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F

from common.append_only import append_only

_STATES = ("asked", "question", "accepted", "refused", "withdrawn", "revoked")
_STEPS = ("asked", "question", "answer", "accepted", "refused", "withdrawn", "revoked")
_DECISIONS = ("stake", "grant", "revoke", "withhold", "award", "return", "end", "forfeit")


def _choices(words):
    return [(word, word) for word in words]


def note_the_originals(apps, editor):
    """Write down as which file each attack came, where that is known: of the one that the picture names."""
    attacks = apps.get_model("contest", "Attack").objects.filter(image__origin="attack")
    named = attacks.filter(image__source_id=F("team__public_id")).select_related("image")
    for each in named.iterator():
        each.original_sha256, each.original_format = each.image.original_sha256, each.image.original_format
        each.save(update_fields=["original_sha256", "original_format"])


class Migration(migrations.Migration):
    """Associations declared in error, entitlements revoked, and as which file each attack came."""

    dependencies = [("contest", "0011_stake_changes"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name="AssociationMistake",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.TextField()),
                ("declared_at", models.DateTimeField()),
                (
                    "association",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="mistake", to="contest.association"
                    ),
                ),
                (
                    "declared_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        append_only(["contest_associationmistake"]),
        migrations.AlterField(
            "entitlement",
            "state",
            models.CharField(choices=_choices(_STATES), default="asked", max_length=9),
        ),
        migrations.AlterField(
            "entitlementstep",
            "kind",
            models.CharField(choices=_choices(_STEPS), max_length=9),
        ),
        migrations.AlterField(
            "boarddecision",
            "kind",
            models.CharField(choices=_choices(_DECISIONS), max_length=8),
        ),
        migrations.AddField(
            "attack",
            "original_sha256",
            models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            "attack",
            "original_format",
            models.CharField(blank=True, db_default="", default="", max_length=8),
        ),
        migrations.RunPython(note_the_originals, migrations.RunPython.noop),
    ]
