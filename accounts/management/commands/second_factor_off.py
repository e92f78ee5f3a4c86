"""Turns an account's second factor off, for a user who lost the phone and the recovery codes."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from accounts.credentials import credentials_revoke
from accounts.second_factor import has_second_factor, second_factor_turn_off
from common.audit.origin import RecordedCommand
from common.audit.trail import audit


class Command(RecordedCommand):
    """Make sure that it is the owner who asks. Every session and token of the account ends."""

    help = __doc__
    example = "./unanimous second_factor_off ada"

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the account."""
        parser.add_argument("name", help="the name the account signs in with")

    def handle(self, *args: Any, **options: Any) -> None:
        """Turn it off."""
        user = User.objects.filter(username=options["name"]).first()
        if user is None or not has_second_factor(user):
            raise CommandError(f"There is no account {options['name']!r} with a second factor.")
        with transaction.atomic():
            second_factor_turn_off(user=user)
            credentials_revoke(user)
            audit("second_factor.off", by=None, subject={"account": [user.pk]}, now=timezone.now())
        self.stdout.write(f"{user.username} signs in with the password alone; every session and token has ended.")
