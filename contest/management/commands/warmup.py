"""`warmup DEFENSE`: measures a defense against the fixed attacks, and records what they found (R40)."""

import sqlite3
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connection

from common.audit.origin import RecordedCommand
from common.domain_clock import domain_now
from common.errors import DomainError
from contest.defenses.warmups import warmup_record, why_not_recorded
from defense_kit.faults import WORDS, RunnerFault
from defense_kit.warmup.arguments import add_arguments, max_pictures
from scoring.models import Defense
from scoring.runner import DefenseRunner
from scoring.scorers import device_of_command


class Command(RecordedCommand):
    """Exit status 0: measured, and recorded where all attacks ran; 1: a fault of the defense, or nothing to go on with;
    130: stopped with Ctrl-C, and what is done is kept."""

    help = (
        "Measure a defense against the fixed attacks of the warm-up, sealed as in the contest, and record the result: "
        "it is public when the defense is. The pictures are those of the organizers' dataset whose week is released, "
        "or those of a folder: such a run is not recorded, nor is one of some attacks or of some of the pictures."
    )
    example = "./unanimous warmup D-BDGJQ --resume"

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the defense, and the options of the kit's command."""
        parser.add_argument("defense", help="the defense's ID, D-...")
        add_arguments(parser, of_contest=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure, write the report, record it."""
        from contest.defenses.warmup_pictures import contest_pictures
        from defense_kit.warmup.command import measure
        from defense_kit.warmup.pictures import UnusablePictures, read_pictures
        from defense_kit.warmup.results import UnusableResults

        given = Namespace(**options)
        defense = Defense.objects.filter(public_id=given.defense).first()
        if defense is None:
            raise CommandError(f"There is no defense {given.defense}: its page shows the ID.")
        given.out = given.out or settings.DATA_DIR / "warmup" / defense.public_id
        reason = _why_not_recorded(given)
        if reason:
            self.stderr.write(f"This run will not be recorded: {reason}")  # checked before it runs for hours
        try:
            most = max_pictures(given)
            pictures = read_pictures(given.pictures, most) if given.pictures else contest_pictures(most)
            report = measure(given, _opened(defense, given.batch_size), pictures, defense.digest)
        except (UnusablePictures, UnusableResults, sqlite3.Error) as error:
            raise CommandError(str(error)) from error
        except RunnerFault as fault:
            raise CommandError(f"{WORDS[fault.fault].meaning} {fault.text}\n{fault.log}".strip()) from fault
        if reason:
            self.stdout.write(f"Not recorded: {reason}")
        else:
            self._record(defense, report)

    def _record(self, defense: Defense, report: dict[str, Any]) -> None:
        if not connection.is_usable():  # the connection's last use may be days ago
            connection.close()
        try:
            warmup_record(defense, report, now=domain_now())
        except DomainError as error:
            self.stdout.write(error.message)
        else:
            self.stdout.write(f"Recorded for {defense.public_id}.")


def _why_not_recorded(given: Namespace) -> str:
    if given.pictures or given.images:
        return "only a run on all pictures of the contest is."
    return why_not_recorded(given.attacks, given.mode)


@contextmanager
def _opened(defense: Defense, batch: int) -> Iterator[tuple[str, str, DefenseRunner]]:
    """Open the defense on this machine's device."""
    from defense_kit.frames import WARMUP_PIXELS
    from defense_kit.harness import never_stopped
    from defense_kit.warmup.attacks import SIDE

    runners = device_of_command("warmup")
    session = runners(defense).open(
        defense,
        device=runners.device,
        image_size=SIDE,
        batch_size=batch,
        seed=0,
        attempt="warm-up",
        cancelled=never_stopped,
        pixels=WARMUP_PIXELS,
    )
    try:
        yield defense.name, session.device, session
    finally:
        session.close()
