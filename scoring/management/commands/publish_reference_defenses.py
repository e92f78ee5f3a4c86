"""`publish_reference_defenses`: publishes the defenses that are shipped with this project."""

from typing import Any

from common.audit.origin import RecordedCommand
from common.domain_clock import domain_now
from scoring.reference import REFERENCES
from scoring.services import reference_publish


class Command(RecordedCommand):
    """Registers and publishes each; running it again changes nothing while the files are the same."""

    help = "Publish the reference defenses shipped with this installation (idempotent)."
    example = "./unanimous publish_reference_defenses"

    def handle(self, *args: Any, **options: Any) -> None:
        """Publish each and say what changed."""
        for declared in REFERENCES:
            defense, changed = reference_publish(declared, now=domain_now())
            state = "published" if changed else "already in force"
            self.stdout.write(f"{defense.public_id} {defense.name} {defense.digest[:19]}: {state}")
