"""`seed_demo`: seeds the demo contest, unless it exists."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from common.commands import ContestCommand
from common.mail import wait_until_sent
from common.progress import still_working
from contest.demo.seed import seed


class Command(ContestCommand):
    """In demo mode alone: its people have a password that everybody knows."""

    help = __doc__
    example = "./unanimous seed_demo"

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed, and end when the letters of it are written."""
        if not settings.DEMO:
            raise CommandError("This is no demo: set DEMO=1 to seed one. Its passwords are published.")
        with still_working(self.stdout.write) as begin:
            begin("Seeding the demo contest")
            new = seed(self.stdout.write)
        self.stdout.write("The demo contest is ready." if new else "The demo contest is here already.")
        wait_until_sent()
