import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

_OPEN = Q(confirmed_at__isnull=True, cancelled_at__isnull=True)


def _by() -> models.ForeignKey:
    return models.ForeignKey(
        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
    )


class Migration(migrations.Migration):
    """Movements from and to outside that were recorded wrongly, and money that teams gave back."""

    dependencies = [("contest", "0012_taken_back"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name="Correction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cents", models.PositiveBigIntegerField()),
                ("reason", models.TextField()),
                ("asked_by", _by()),
                ("asked_at", models.DateTimeField()),
                ("confirmed_by", _by()),
                ("confirmed_at", models.DateTimeField(null=True)),
                ("cancelled_at", models.DateTimeField(null=True)),
                ("cancelled_by", _by()),
                (
                    "corrects",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="asked_corrections",
                        to="contest.ledgerentry",
                    ),
                ),
                (
                    "entry",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="correction",
                        to="contest.ledgerentry",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repayments",
                        to="contest.team",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=Q(cents__gt=0), name="correction_of_something"),
                    models.CheckConstraint(condition=~Q(reason=""), name="correction_has_reason"),
                    models.CheckConstraint(
                        condition=Q(corrects__isnull=False, team__isnull=True)
                        | Q(corrects__isnull=True, team__isnull=False),
                        name="correction_of_entry_or_team",
                    ),
                    models.CheckConstraint(
                        condition=Q(confirmed_by__isnull=True)
                        | Q(asked_by__isnull=True)
                        | ~Q(confirmed_by=F("asked_by")),
                        name="correction_by_two",
                    ),
                    models.UniqueConstraint(fields=["corrects"], condition=_OPEN, name="correction_one_open"),
                    models.UniqueConstraint(fields=["team"], condition=_OPEN, name="repayment_one_open"),
                ],
            },
        ),
    ]
