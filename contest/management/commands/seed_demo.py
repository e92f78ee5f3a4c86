"""Seed the demo contest, unless it is there already."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from common.mail import wait_until_sent
from contest.demo.seed import seed


class Command(BaseCommand):
    """In demo mode alone: its people have a password that everybody knows."""

    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed, and end when the letters of it are written."""
        if not settings.DEMO:
            raise CommandError("This is no demo: set DEMO=1 to seed one. Its passwords are published.")
        if seed(self.stdout.write):
            self.stdout.write("The demo contest is ready.")
        wait_until_sent()
