"""`./unanimous check_ledger`: add up the whole ledger; ends with 1 when a cent is lost."""

from typing import Any

from django.core.management.base import CommandError

from common.commands import ContestCommand
from contest.ledger.services import check_ledger_sums


class Command(ContestCommand):
    """Compare every balance with its entries, and the sum of all with zero (R34)."""

    help = "Adds up the ledger. Prints what is wrong, each in a line, and fails when anything is."
    example = "./unanimous check_ledger"

    def handle(self, *args: Any, **options: Any) -> None:
        """Check and print the result."""
        found = check_ledger_sums()
        for line in found.wrong:
            self.stderr.write(line)
        if found.wrong:
            raise CommandError(f"{len(found.wrong)} things are wrong in the ledger.")
        self.stdout.write(f"{found.accounts:,} accounts and {found.entries:,} entries: all of it adds up.")
