"""Second factors, recovery codes and addresses move into the tables of django-allauth."""

from typing import Any

from django.db import migrations


def _move(apps: Any, _: Any) -> None:
    authenticators = apps.get_model("mfa", "Authenticator").objects
    addresses = apps.get_model("account", "EmailAddress").objects
    for factor in apps.get_model("accounts", "SecondFactor").objects.select_related("user").iterator():
        app = {"secret": factor.secret, "last_step": factor.last_step}
        authenticators.create(user=factor.user, type="totp", data=app, created_at=factor.turned_on_at)
        codes = {
            "migrated_codes": list(factor.user.recovery_codes.order_by("pk").values_list("digest", flat=True)),
            "edition": 1,
            "wrong": factor.wrong,
            "wrong_at": factor.wrong_at and factor.wrong_at.timestamp(),
        }
        authenticators.create(user=factor.user, type="recovery_codes", data=codes, created_at=factor.turned_on_at)
    for user in apps.get_model("auth", "User").objects.exclude(email="").iterator():
        addresses.create(user=user, email=user.email.lower(), verified=True, primary=True)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
        ('account', '0009_emailaddress_unique_primary_email'),
        ('mfa', '0003_authenticator_type_uniq'),
    ]

    operations = [
        migrations.RunPython(_move),
        migrations.DeleteModel(name='RecoveryCode'),
        migrations.DeleteModel(name='SecondFactor'),
    ]
