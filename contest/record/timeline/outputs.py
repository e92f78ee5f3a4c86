"""Timeline events about defenses: their predictions, faults, mistakes and breaks (R29)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from django.db.models import BigIntegerField, Q, QuerySet

from adjudication.models import Ruling
from common.database.lookups import Parameter, PreparedLookup
from contest.core.models import Break
from contest.record.picture_answers import RulingShown
from contest.record.timeline import events
from contest.record.timeline.events import Event
from defense_kit.faults import WORDS
from labeling.models import Image
from scoring.enums import DefenseAnswer, Fault, RunState
from scoring.models import Defense, Prediction, RunItem
from scoring.selectors import DEFENSE_FAULT, official_predictions, places_in_force


def output_events(image: Image) -> Iterator[Event]:
    """Yield what each published defense answered, and each fault that kept it from answering in a round."""
    rows = _outputs_of_picture(image=image.pk)
    answered = (each for each in rows if each.run.state == RunState.ASSESSED)
    for defense, items in groupby(answered, key=lambda each: each.defense):
        yield _answers_event(defense, [each.prediction for each in items])
    for item in sorted((each for each in rows if each.run.state == RunState.DEAD), key=lambda each: each.pk):
        yield _fault_event(item)


def _compose_outputs_of_picture() -> QuerySet[RunItem]:
    """The places whose answer is official, and those of published defenses that ended with a fault of the defense."""
    image = Parameter("image", BigIntegerField())
    faults = places_in_force().filter(DEFENSE_FAULT, image=image, defense__published_at__isnull=False)
    answers = official_predictions().filter(image=image)
    rows = RunItem.objects.filter(Q(pk__in=faults.values("pk")) | Q(pk__in=answers.values("item")), image=image)
    return rows.select_related("run", "defense", "prediction").order_by("defense__pk", "round")


_outputs_of_picture = PreparedLookup("outputs_of_picture", _compose_outputs_of_picture)


def _answers_event(defense: Defense, answers: Sequence[Prediction]) -> Event:
    given = [(each.round, DefenseAnswer(each.answer).name.lower()) for each in answers]
    if len({answer for _, answer in given}) == 1:
        rounds = "its only round" if len(given) == 1 else f"all {len(given)} rounds"
        words = f"{defense.name} answered {given[0][1]} in {rounds}."
    else:
        listed = ", ".join(f"{answer} in round {number}" for number, answer in given)
        words = f"{defense.name} answered {listed}."
    at = max(each.predicted_at for each in answers)
    anchor = f"outputs-{defense.public_id}"
    return Event(at, "outputs", anchor, words, links=(events.defense_link(defense),), text=_scores(answers))


def _scores(answers: Sequence[Prediction]) -> str:
    given = [f"bird {each.score_bird:.3g}, bicycle {each.score_bicycle:.3g}" for each in answers]
    if len(set(given)) == 1:
        return f"Scores: {given[0]}."
    rounds = (f"round {each.round} {words}" for each, words in zip(answers, given, strict=True))
    return f"Scores: {'; '.join(rounds)}."


def _fault_event(item: RunItem) -> Event:
    words = f"{item.defense.name} gave no answer in round {item.round}: {WORDS[Fault(item.run.fault)].meaning}"
    at = item.run.finished_at or item.run.created_at
    anchor = f"fault-{item.defense.public_id}-{item.round}"
    return Event(at, "outputs", anchor, words, links=(events.defense_link(item.defense),))


def mistake_events(mistakes: Iterable[Break]) -> Iterator[Event]:
    """Yield the first mistake of each defense outside the contest: it breaks nothing (R29)."""
    for each in first_by_defense(mistakes):
        words = (
            f"{each.defense.name} was confidently wrong on a valid {each.ruling.label}. No attack sent the picture "
            "first, so this is a mistake outside the contest and breaks nothing (R29)."
        )
        links = (events.defense_link(each.defense), events.ruling_link(each.ruling))
        yield Event(each.found_at, "outputs", f"mistake-{each.defense.public_id}", words, links=links)


def first_by_defense(mistakes: Iterable[Break]) -> list[Break]:
    """Return the first of each defense's mistakes, in their order."""
    first: dict[int, Break] = {}
    for each in mistakes:
        first.setdefault(each.defense_id, each)
    return list(first.values())


def break_events(breaks: Iterable[Break], rulings: Sequence[RulingShown]) -> Iterator[Event]:
    """Yield each break, with the later ruling that ended it."""
    for each in breaks:
        ended_by = next((row.ruling for row in rulings if _ends(row.ruling, each)), None)
        event = events.defense_broken(each, ended_by=ended_by)
        yield replace(event, links=(*event.links, events.ruling_link(each.ruling)))


def _ends(ruling: Ruling, found: Break) -> bool:
    return ruling.number > found.ruling.number and ruling.label != found.ruling.label
