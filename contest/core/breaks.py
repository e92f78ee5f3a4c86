"""Records and queries breaks: confident mistakes of published defenses on valid attacks (R29), as rulings change (R22).

A `Break` row is recorded for every confident mistake on a valid picture that is published sooner or later. Only this
module decides which of the rows are breaks: all other code reads them through these functions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import BigIntegerField, Case, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import newest_rulings
from common.database.lookups import Parameter, PreparedLookup
from contest.core.enums import RELEASED_ORIGINS
from contest.core.models import Attack, Break
from labeling.enums import Label, Origin
from labeling.models import Image
from scoring import services as scoring
from scoring.enums import DefenseAnswer, RunState
from scoring.models import Defense, Prediction
from scoring.rules import is_mistaken_outcome
from scoring.selectors import predictions_in_force, predictions_of_run, runs_without_assessment

ASSESSED_AT_ONCE = 100


def recorded_mistakes() -> QuerySet[Break]:
    """Return every confident mistake that is recorded: breaks, and mistakes outside the contest.

    The first rule book took them all for breaks, so money may name them.
    """
    return Break.objects.all()


def all_breaks() -> QuerySet[Break]:
    """Return all breaks, also those not in force: mistakes on a picture that an attack, not withdrawn, sent before the
    picture was to be labeled for another reason (R26, R29)."""
    return recorded_mistakes().filter(sent_as_attack())


def breaks_in_force() -> QuerySet[Break]:
    """Return the breaks in force: the newest ruling on the picture is valid with the same class as the break's (R22).

    A picture with several rulings of the same outcome may have a break under each of them: count pictures.
    """
    return _holding(all_breaks())


def mistakes_outside() -> QuerySet[Break]:
    """Return the mistakes outside the contest that hold: on pictures of the organizers that no attack sent first (R29).

    They end no stake and hinder no staking or award.
    """
    return _holding(recorded_mistakes().filter(~sent_as_attack(), image__origin=Origin.DATASET))


@dataclass(frozen=True, slots=True)
class PictureMistakes:
    """The confident mistakes of published defenses on one picture, each kind with the first found first."""

    recorded: tuple[Break, ...]
    breaks: tuple[Break, ...]
    breaks_in_force: tuple[Break, ...]
    outside: tuple[Break, ...]

    @classmethod
    def on(cls, image: Image) -> "PictureMistakes":
        """Read them in one query; each field has what the function of the same name returns for this picture."""
        recorded = tuple(_mistakes_on_picture(image=image.pk))
        # Both describe the picture, so they are the same in each row.
        sent, holds = (vars(recorded[0])[name] for name in ("sent", "holds")) if recorded else (False, "")
        holding = tuple(each for each in recorded if each.ruling.label == holds)
        return cls(
            recorded,
            breaks=recorded if sent else (),
            breaks_in_force=holding if sent else (),
            outside=holding if not sent and image.origin == Origin.DATASET else (),
        )


def _compose_mistakes_on_picture() -> QuerySet[Break]:
    of_image = Parameter("image", BigIntegerField())
    rows = recorded_mistakes().filter(image=of_image, defense__published_at__isnull=False)
    rows = rows.annotate(sent=sent_as_attack(), holds=_label_in_force())
    return rows.select_related("defense", "ruling").order_by("found_at", "pk")


_mistakes_on_picture = PreparedLookup("mistakes_on_picture", _compose_mistakes_on_picture)


def was_unknown() -> Q:
    """Condition for attacks whose picture was not to be labeled for another reason when it was sent (R26)."""
    return (
        Q(image__origin=Origin.ATTACK)
        | Q(image__label_from__isnull=True)
        | Q(image__label_from__gt=F("received_at"))
    )  # fmt: skip


def sent_as_attack() -> Exists:
    """Condition for rows with an `image` that an attack, not withdrawn, sent before it was to be labeled for another
    reason: only such pictures break a defense (R29)."""
    return Exists(Attack.objects.filter(was_unknown(), image=OuterRef("image"), withdrawn_at__isnull=True))


def _holding(rows: QuerySet[Break]) -> QuerySet[Break]:
    return rows.alias(holds=_label_in_force()).filter(ruling__label=F("holds"))


def _label_in_force() -> Subquery:
    # A picture that is not ruled valid has no label, and a break's ruling always has one.
    return Subquery(Ruling.objects.filter(image=OuterRef("image")).order_by("-number").values("label")[:1])


@dataclass(frozen=True, slots=True)
class SupposedRuling:
    """A hypothetical ruling on a picture, and the breaks that would be in force under it.

    `label` is empty for a rejection. A break that would be recorded then is never saved; its number is beyond all
    others, so that it sorts as the newest.
    """

    image: Image
    label: str
    breaks: tuple[Break, ...]


ON_PAPER = 2**62


def suppose_ruling(image: Image, label: str, *, now: datetime) -> SupposedRuling:
    """Return the breaks if the newest ruling on `image` were made `now` with the class `label`; nothing is
    written. It follows `breaks_in_force` and `breaks_derive` (R22, R29)."""
    if not label:
        return SupposedRuling(image, "", ())
    rows = all_breaks().filter(image=image, ruling__label=label).select_related("image", "ruling").order_by("pk")
    known = list(rows)
    recorded = {each.defense_id for each in known}
    wrong = DefenseAnswer.BICYCLE if label == Label.BIRD else DefenseAnswer.BIRD
    answered = predictions_in_force().filter(sent_as_attack(), image=image)
    mistaken = answered.filter(item__run__state=RunState.ASSESSED, answer=wrong)
    found = {each.defense_id: each for each in mistaken.order_by("-round")} if image.origin in RELEASED_ORIGINS else {}
    new = [
        Break(pk=ON_PAPER + defense, defense_id=defense, image=image, prediction=found[defense], found_at=now)
        for defense in sorted(found)
        if defense not in recorded
    ]
    return SupposedRuling(image, label, (*known, *new))


def broken_by(images: Iterable[int]) -> dict[int, tuple[Defense, ...]]:
    """Return picture -> the published defenses that it breaks, the first found first. Pass public pictures only."""
    rows = breaks_in_force().filter(image__in=list(images), defense__published_at__isnull=False)
    found: dict[int, dict[int, Defense]] = {}
    for each in rows.select_related("defense").order_by("found_at", "pk"):
        found.setdefault(each.image_id, {}).setdefault(each.defense_id, each.defense)
    return {image: tuple(defenses.values()) for image, defenses in found.items()}


def breaks_record(*, now: datetime) -> int:
    """Record the mistakes of every finished run, one transaction each, and those that later rulings reveal (R22).

    Returns how many runs and mistakes; running it twice adds nothing.
    """
    ids = list(runs_without_assessment().values_list("pk", flat=True)[:ASSESSED_AT_ONCE])
    return sum(_assess(pk, now) for pk in ids) + breaks_derive(now=now)


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


@transaction.atomic
def _break_if_mistaken(prediction: Prediction, ruling: Ruling, now: datetime) -> bool:
    if not _is_case(prediction, ruling) or not is_mistaken_outcome(Label(ruling.label), prediction.answer):
        return False
    # Staking locks the defense too: of the two transactions, the later one sees what the other did.
    Defense.objects.select_for_update(no_key=True).get(pk=prediction.defense_id)
    _, new = Break.objects.get_or_create(
        defense_id=prediction.defense_id,
        image_id=prediction.image_id,
        ruling=ruling,
        defaults={"prediction": prediction, "found_at": now},
    )
    return new


def _is_case(prediction: Prediction, ruling: Ruling) -> bool:
    """Say whether a mistake is recorded; on a picture that is never published nobody could check it (R6, R39)."""
    return ruling.verdict == Verdict.VALID and prediction.image.origin in RELEASED_ORIGINS


def breaks_derive(*, now: datetime) -> int:
    """Record the mistakes that follow from rulings made after a picture's runs were assessed; return how many (R22)."""
    found = {(each.defense_id, each.image_id): each for each in unrecorded_mistakes()}
    rulings = newest_rulings({image for _, image in found})
    # Each locks its defense, in the order of their numbers, as all code does (contest.defenses.stake_ends).
    in_order = sorted(found.values(), key=lambda each: (each.defense_id, each.image_id))
    return sum(_break_if_mistaken(each, rulings[each.image_id], now) for each in in_order)


def unrecorded_mistakes() -> QuerySet[Prediction]:
    """Return mistakes in assessed runs that are not recorded under the newer ruling, the first round last."""
    newer = Ruling.objects.filter(image=OuterRef("image"), number__gt=OuterRef("number"))
    later = Ruling.objects.filter(~Exists(newer), number__gt=1, verdict=Verdict.VALID)
    later = later.filter(image__origin__in=RELEASED_ORIGINS)
    wrong = Case(When(label=Label.BIRD, then=Value(int(DefenseAnswer.BICYCLE))), default=Value(int(DefenseAnswer.BIRD)))
    here = later.filter(image=OuterRef("image")).annotate(wrong=wrong)
    known = Break.objects.filter(defense=OuterRef("defense"), image=OuterRef("image"), ruling=OuterRef("holds"))
    answered = predictions_in_force().filter(image__in=later.values("image"), item__run__state=RunState.ASSESSED)
    mistaken = answered.annotate(holds=Subquery(here.values("pk")[:1]), wrong=Subquery(here.values("wrong")[:1]))
    return mistaken.select_related("image").filter(~Exists(known), answer=F("wrong")).order_by("-round")
