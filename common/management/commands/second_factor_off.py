"""Turn an account's second factor off: for somebody who lost the phone and the recovery codes."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.credentials import credentials_end
from common.second_factor import has_second_factor, second_factor_turn_off


class Command(BaseCommand):
    """Make sure that it is the owner who asks. Every session and token of the account ends."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the account."""
        parser.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Turn it off."""
        user = User.objects.filter(username=options["name"]).first()
        if user is None or not has_second_factor(user):
            raise CommandError(f"There is no account {options['name']!r} with a second factor.")
        second_factor_turn_off(user=user)
        credentials_end(user)
        self.stdout.write(f"{user.username} signs in with the password alone; every session and token has ended.")
