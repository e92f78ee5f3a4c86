"""`check_audit`: seals the pending entries of the audit trail and checks all of it."""

from typing import Any

from django.core.management.base import CommandError

from common.audit.seals import chain_check, seal_entries
from common.commands import ContestCommand
from common.domain_clock import domain_now


class Command(ContestCommand):
    """Exit status 0: the chain holds; 1: the first row that differs is named."""

    help = "Check that nothing of the audit trail was changed, left out or put in since it was sealed."
    example = "./unanimous check_audit"

    def handle(self, *args: Any, **options: Any) -> None:
        """Read the trail from the first row on."""
        while seal_entries():
            pass
        found = chain_check(now=domain_now())
        self.stdout.write(f"The chain holds through row {found.through:,}, {found.sha256}.")
        if found.by_hash_alone:
            self.stdout.write(f"Of {found.by_hash_alone:,} rows the private part is known by its hash alone.")
        if found.wrong:
            raise CommandError(found.wrong, returncode=1)
