"""`demo_clock`: moves the demo's time forward by +12h, +5d, +2w or next-week. Without an amount, shows it.

Everything that falls due on the way happens in its order, a day or the rest of a week at a time.
"""

from typing import Any

from django.core.management.base import CommandParser

from common.audit.origin import RecordedCommand
from common.mail import wait_until_sent
from contest.demo import clock


class Command(RecordedCommand):
    """In demo mode alone. A move that was killed is finished by the next one."""

    help = __doc__
    example = "./unanimous demo_clock next-week"

    def add_arguments(self, parser: CommandParser) -> None:
        """Take how far the clock moves."""
        parser.add_argument("amount", nargs="?", help="+12h, +5d, +2w or next-week; without it the time is shown")

    def run_from_argv(self, argv: list[str]) -> None:
        """Run the command; -5d is an amount to refuse in a sentence, and no option."""
        back = [word for word in argv[2:] if word[:1] == "-" and word[1:2].isdigit()]
        super().run_from_argv([*(word for word in argv if word not in back), *(["--", *back] if back else [])])

    def handle(self, *args: Any, amount: str | None, **options: Any) -> None:
        """Move the clock, or show it."""
        if amount is None:
            self.stdout.write(clock.clock_in_words())
        else:
            clock.clock_move(amount, say=self.stdout.write)
        wait_until_sent()
