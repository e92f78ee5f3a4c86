"""Breaks: a confident mistake of a published defense on a valid picture (R29)."""

from datetime import datetime

from django.db import transaction

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import newest_rulings
from contest.models import Break
from labeling.enums import Label
from scoring import services as scoring
from scoring.models import Prediction
from scoring.rules import is_confident_mistake
from scoring.selectors import predictions_of_run, runs_without_assessment

ASSESSED_AT_ONCE = 100


def breaks_record(*, now: datetime) -> int:
    """Assess every finished run, one transaction each. Returns how many; running it twice adds nothing."""
    ids = list(runs_without_assessment().values_list("pk", flat=True)[:ASSESSED_AT_ONCE])
    return sum(_assess(pk, now) for pk in ids)


@transaction.atomic
def _assess(run_id: int, now: datetime) -> bool:
    run = runs_without_assessment().select_for_update(skip_locked=True, of=("self",)).filter(pk=run_id).first()
    if run is None:
        return False
    predictions = predictions_of_run(run)
    rulings = newest_rulings({prediction.image_id for prediction in predictions})
    for prediction in predictions:
        _break_if_mistaken(prediction, rulings[prediction.image_id], now)
    scoring.run_assessed(run)
    return True


def _break_if_mistaken(prediction: Prediction, ruling: Ruling, now: datetime) -> None:
    if ruling.verdict != Verdict.VALID or not is_confident_mistake(Label(ruling.label), prediction.answer):
        return
    Break.objects.get_or_create(
        defense_id=prediction.defense_id,
        image_id=prediction.image_id,
        ruling=ruling,
        defaults={"prediction": prediction, "found_at": now},
    )
