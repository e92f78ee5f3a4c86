"""Repeats a prediction from its row: same defense, same plan, same batch (R29)."""

from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from scoring import plan, selectors
from scoring.arrays import load_arrays
from scoring.models import Prediction
from scoring.runner import check_answers
from scoring.warm_session import FindRunner, WarmSession


@dataclass(frozen=True, slots=True)
class Replay:
    """The stored and the repeated prediction: an answer of -1, 0, 1 and the two scores [bicycle, bird]."""

    recorded: tuple[int, float, float]
    now: tuple[int, float, float]
    device: str

    @property
    def same(self) -> bool:
        """Whether both are equal, to the last bit."""
        return self.recorded == self.now


def replay(prediction: Prediction, *, find_runner: FindRunner, device: str) -> Replay:
    """Have the defense predict the batch again, in the order and with the other pictures of its run.

    `device` is cpu or cuda; on another one than the row's the scores may differ in their last digits. Raises
    RunnerFault when the defense does not answer, WrongPicture or PictureMissing when a picture is not as it was.
    """
    run = prediction.item.run
    items = selectors.run_items(run)
    batch = next(islice(plan.picture_batches(items, batch_size=prediction.batch_size), prediction.batch, None))
    size = prediction.item.image.width
    images = load_arrays([item.pixels_sha256 for item in batch.rows], size)
    with closing(WarmSession(find_runner, device)) as warm:
        session = warm.session(run, size)
        session.send(images)
        answers = check_answers(session.receive(), len(batch.rows))
        recorded = (prediction.answer, prediction.score_bicycle, prediction.score_bird)
        bicycle, bird = answers.scores[prediction.row].tolist()
        return Replay(recorded, (int(answers.labels[prediction.row]), bicycle, bird), session.device)
