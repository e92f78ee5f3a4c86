"""`replay`: repeats a stored prediction of a defense and compares the results."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.commands import ContestCommand
from common.errors import DomainError
from defense_kit.faults import WORDS, RunnerFault
from scoring.arrays import WrongPicture
from scoring.enums import DefenseAnswer
from scoring.models import Prediction
from scoring.replay import Replay, replay
from scoring.scorers import device_of_command


class Command(ContestCommand):
    """Ends with status 1 when something else comes out than the row says, to the last bit."""

    help = __doc__
    example = "./unanimous replay D-BDGJQ P-CH6GBHF1 --round 2"

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the prediction."""
        parser.add_argument("defense", help="the defense's id, D-...")
        parser.add_argument("image", help="the picture's id, P-...")
        parser.add_argument("--round", type=int, default=1, help="which of the official runs, from 1")

    def handle(self, *args: Any, **options: Any) -> None:
        """Find the row, ask again, compare."""
        found = _asked_again(_prediction(options["defense"], options["image"], options["round"]))
        for what, said in (("recorded", _words(found.recorded)), ("now", _words(found.now)), ("on", found.device)):
            self.stdout.write(f"{what:9} {said}")
        if not found.same:
            raise CommandError("The answer differs: see the devices first, then whether the defense is randomised.")
        self.stdout.write("The same, to the last bit.")


def _prediction(defense: str, image: str, number: int) -> Prediction:
    rows = Prediction.objects.filter(defense__public_id=defense, image__public_id=image, round=number)
    newest = rows.select_related("item__run__defense", "item__image").order_by("-pk").first()
    if newest is None:
        raise CommandError("There is no such prediction: check both ids and the round.")
    return newest


def _asked_again(prediction: Prediction) -> Replay:
    runners = device_of_command("replay")
    try:
        return replay(prediction, find_runner=runners, device=runners.device)
    except RunnerFault as fault:
        raise CommandError(f"{WORDS[fault.fault].meaning} {fault.text}") from fault
    except (DomainError, WrongPicture) as error:
        raise CommandError(str(error)) from error


def _words(answer: tuple[int, float, float]) -> str:
    label, bicycle, bird = answer
    return f"{DefenseAnswer(label).name.lower():8} bicycle {bicycle!r}, bird {bird!r}"
