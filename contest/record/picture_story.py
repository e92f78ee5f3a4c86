"""All that a reader may know of one picture, from its upload to what followed, as one timeline (R24, R39).

Rulings are told as `contest.core.picture_access` says, answers and outputs with the release of the week, appeals and
decisions once their case is public (`contest.record.closed_cases`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from adjudication.enums import DecidedBy
from adjudication.models import Ruling
from contest.board.case_messages import OUTCOME_WORDS
from contest.board.models import Appeal, CaseDecision, Statement
from contest.board.public_decisions import public_decision
from contest.core.breaks import all_breaks, mistakes_outside, recorded_mistakes, standing_breaks
from contest.core.enums import AppealSide, CaseOutcome
from contest.core.models import Attack, Break, Case, Release
from contest.core.picture_access import Known, Reader, known_of, rulings_seen_by
from contest.core.weeks import week_called
from contest.record.picture_answers import (
    NARROW,
    WIDE,
    AnswerShown,
    MarkShown,
    RulingShown,
    answers_of,
    rulings_of,
    smallest_box_of,
    zoom_of,
)
from contest.record.picture_events import Entry, Evidence, Said
from contest.record.picture_money import money_events
from defense_kit.faults import WORDS
from labeling.enums import PanelState
from labeling.models import Image, Panel, Report
from labeling.pictures.addresses import picture_url
from scoring.enums import Fault, Outcome, RunState
from scoring.models import Defense, Prediction, RunItem
from scoring.rules import DEFENSE_FAULTS
from scoring.selectors import official_predictions, places_in_force

# What comes first of things that happened at the same moment: the board decides, and a panel or a ruling follows.
_ORDER = ("sent", "week", "case", "appeal", "statement", "decision", "panel", "ruling", "outputs", "break", "money")


def picture_content(image: Image, reader: Reader, *, now: datetime) -> dict[str, Any]:
    """Return what the page of a picture that the reader may see shows; the timeline has the newest last."""
    known = known_of(image, reader, now=now)
    all_told = known.in_record or reader.organizer
    answers, rulings = _answers_and_rulings(image, reader, known, now)
    said = Said.about(image)
    holds = rulings[-1] if rulings else None
    return {
        "image": image,
        "known": known,
        "hidden": _hidden(known, reader, now),
        "ended": any(_ended(each, now) for each in known.attacks),
        "url": picture_url(image, now=now),
        "answers": answers,
        "holds": holds,
        "smallest": smallest_box_of(holds, image) if holds and holds.columns else None,
        "marks": said.marks(),
        "zoom": zoom_of(image.width, WIDE),
        "zoom_phone": zoom_of(image.width, NARROW),
        "story": _story(known, rulings, said, all_told, now),
        "defenses": _broken(image) if all_told else [],
        "release": _release(known),
    }


def _hidden(known: Known, reader: Reader, now: datetime) -> str:
    """Return why others do not see this page; empty where they do.

    Of a picture that is kept out for good its sender learns no more than of one that is kept out for a while (R5, R6).
    """
    if known.public:
        return ""
    if known.attacks and all(each.withdrawn_at is not None for each in known.attacks):
        return "It was withdrawn: it is never labeled nor published."
    if any(each.withdrawn_at is None and not _ended(each, now) for each in known.attacks):
        return "Under embargo until its week has ended: only organizers and the team that sent it see this page."
    return "Not public: only organizers see all of this page."


def _ended(attack: Attack, now: datetime) -> bool:
    return attack.withdrawn_at is None and week_called(attack.week).end <= now


# Answers and rulings --------------------------------------------------------------------------------------------------


def _answers_and_rulings(
    image: Image, reader: Reader, known: Known, now: datetime
) -> tuple[list[AnswerShown], list[RulingShown]]:
    """Return the answers that the reader may know of, and the rulings, each with its certificate where its answers are
    among them."""
    seen = set(rulings_seen_by(image, reader, now=now).values_list("number", flat=True))
    if not seen:
        return [], []
    answers = answers_of(image)
    rulings = [each for each in rulings_of(image, answers) if each.ruling.number in seen]
    if reader.organizer:
        return answers, rulings
    kept = set() if known.in_record else {each.response.panel_id for each in answers}
    kept |= _being_asked(image, known.week)
    told = [each for each in answers if each.response.panel_id not in kept]
    return told, [_without_answers(each) if each.ruling.panel_id in kept else each for each in rulings]


def _being_asked(image: Image, week: str) -> set[int]:
    """Return the panels on which somebody still has to answer, who shall not read what others did (R8). What stood in
    a release before others joined a panel is not taken back (R19)."""
    undecided = Report.objects.filter(image=image, decided_at__isnull=True)
    room = Q(state=PanelState.OPEN) | Q(Exists(undecided), state=PanelState.HELD)
    ruled = Ruling.objects.filter(panel=OuterRef(OuterRef("pk")), decided_at__lte=OuterRef("released_at"))
    before = Release.objects.filter(Exists(ruled), week=week, released_at__lt=OuterRef("joined_at"))
    return set(Panel.objects.filter(room, ~Exists(before), image=image).values_list("pk", flat=True))


def _without_answers(shown: RulingShown) -> RulingShown:
    return replace(shown, columns=(), rows=(), lines=(), as_answered=True, same_as=0)


# The timeline ---------------------------------------------------------------------------------------------------------


def _story(
    known: Known, rulings: Sequence[RulingShown], said: Said, all_told: bool, now: datetime
) -> tuple[Entry, ...]:
    made_by = {each.ruling_id: each.case for each in said.decisions if each.ruling_id is not None}
    ruled = (_ruling(each, made_by.get(each.ruling.pk)) for each in rulings)
    parts = [_sent(known), _weeks(known, now), _panels(rulings), ruled, _argued(said)]
    if all_told:
        parts += [_outputs(known.image), _told_breaks(_of_published(all_breaks(), known.image), rulings)]
        parts += [_told_mistakes(_of_published(mistakes_outside(), known.image))]
        parts += [money_events(_of_published(recorded_mistakes(), known.image), now)]
    found = [each for part in parts for each in part]
    return tuple(sorted([*found, *_published(known)], key=_place))


def _place(entry: Entry) -> tuple[datetime, int]:
    return entry.at, _ORDER.index(entry.kind) if entry.kind in _ORDER else len(_ORDER)


def _sent(known: Known) -> Iterator[Entry]:
    for attack in known.attacks:
        yield _attack(attack)
    if not known.attacks:
        image = known.image
        by = f", by {image.author}" if image.author else ""
        licence = f", licence {image.licence}" if image.licence else ""
        yield Entry(
            known.received_at, "sent", "received", f"The organizers took it in from {image.source}{by}{licence}."
        )


def _attack(attack: Attack) -> Entry:
    evidence = [Evidence(attack.public_id, reverse("attack", args=[attack.public_id])), _team(attack)]
    words = f"Team {attack.team.name} sent it in week {attack.week}."
    if attack.withdrawn_at is not None:
        words = f"Team {attack.team.name} sent it in week {attack.week}, and withdrew it."
    return Entry(attack.received_at, "sent", f"attack-{attack.public_id}", words, "embargo", tuple(evidence))


def _team(of: Attack | Appeal | Statement) -> Evidence:
    return Evidence(f"Team {of.team.name}", reverse("team-public", args=[of.team.public_id]))


def _weeks(known: Known, now: datetime) -> Iterator[Entry]:
    for name in dict.fromkeys(each.week for each in known.attacks if each.withdrawn_at is None):
        week = week_called(name)
        if week.end <= now:
            link = Evidence("its pictures", reverse("week", args=[name]))
            words = f"Week {name} ended: its attacks became public."
            yield Entry(week.end, "week", f"week-{name}", words, evidence=(link,))


def _panels(rulings: Sequence[RulingShown]) -> Iterator[Entry]:
    """Yield the panels that the rulings counted. Who is asked at present is nobody's affair (R8)."""
    last = {each.ruling.panel: each.ruling.decided_at for each in rulings}
    for panel, ruled_at in last.items():
        asked = panel.size - panel.joined
        words = f"Panel {panel.number}: {asked} taskers were asked."
        if panel.number > 1:
            words += " It takes the place of the panel before (R19)."
        yield Entry(panel.dealt_at, "panel", f"panel-{panel.number}", words)
        if panel.joined_at is not None and panel.joined_at <= ruled_at:
            words = f"{panel.joined} more taskers were asked to join panel {panel.number} (R19)."
            yield Entry(panel.joined_at, "panel", f"joined-{panel.number}", words)


def _ruling(shown: RulingShown, case: Case | None) -> Entry:
    """Return the entry of a ruling; the explanation of one that the board made stands with its decision."""
    ruling = shown.ruling
    by = "The board" if ruling.decided_by == DecidedBy.BOARD else "The rules"
    words = f"Ruling {ruling.number}. {by}: {shown.words}."
    look = "valid" if ruling.label else "rejected"
    evidence = (Evidence(f"case {case.public_id}", f"#case-{case.public_id}"),) if case else ()
    text = "" if case else ruling.explanation
    return Entry(ruling.decided_at, "ruling", f"ruling-{ruling.number}", words, look, evidence, text, ruling=shown)


def _argued(said: Said) -> Iterator[Entry]:
    appealed = {each.case_id for each in said.appeals}
    for case in said.cases:
        if case.pk not in appealed and case.ruling is not None:
            words = f"A member of the board opened case {case.public_id} on ruling {case.ruling.number}."
            yield Entry(case.opened_at, "case", f"opened-{case.public_id}", words)
    yield from map(_appeal, said.appeals, _marks_by_appeal(said))
    for each in said.statements:
        words = f"Team {each.team.name} answered in case {each.case.public_id}."
        anchor = f"answer-{each.case.public_id}-{each.team.public_id}"
        yield Entry(each.sent_at, "statement", anchor, words, evidence=(_team(each),), text=each.words)
    yield from map(_decision, said.decisions)


def _marks_by_appeal(said: Said) -> Iterator[tuple[MarkShown, ...]]:
    left = iter(said.marks())
    return (tuple(next(left) for _ in each.marks) for each in said.appeals)


def _appeal(appeal: Appeal, marks: tuple[MarkShown, ...]) -> Entry:
    side = "as sender, against the rejection"
    evidence = [_team(appeal)]
    if appeal.side == AppealSide.DEFENDER and appeal.defense is not None:
        side = f"for its defense {appeal.defense.name}, against the valid verdict"
        evidence.append(Evidence(appeal.defense.name, reverse("defense", args=[appeal.defense.public_id])))
    words = f"Team {appeal.team.name} appealed {side} of ruling {appeal.ruling.number}: {appeal.public_id}."
    anchor = f"appeal-{appeal.public_id}"
    return Entry(appeal.sent_at, "appeal", anchor, words, "open", tuple(evidence), text=appeal.argument, marks=marks)


def _decision(decision: CaseDecision) -> Entry:
    case = decision.case
    words = f"Case {case.public_id}: {OUTCOME_WORDS[CaseOutcome(decision.outcome)]}."
    listed = reverse("overrules") + f"?outcome=all&find={case.public_id}"
    told = public_decision(decision)
    anchor = f"case-{case.public_id}"
    evidence = (Evidence("in the list of decisions", listed),)
    return Entry(decision.decided_at, "decision", anchor, words, "open", evidence, decision=told)


def _published(known: Known) -> Iterator[Entry]:
    release = _release(known)
    if release is not None:
        words = f"The record of week {release.week} was published."
        link = Evidence(release.name, reverse("release", args=[release.name]))
        yield Entry(release.released_at, "release", f"release-{release.week}", words, evidence=(link,))


def _release(known: Known) -> Release | None:
    return Release.objects.filter(week=known.week, part=0).first() if known.in_record else None


# What defenses say, and what follows ----------------------------------------------------------------------------------


def _outputs(image: Image) -> Iterator[Entry]:
    rows = official_predictions().filter(image=image).select_related("defense").order_by("defense__pk", "round")
    for defense, answers in groupby(rows, key=lambda each: each.defense):
        yield _output(defense, list(answers))
    fault = {"run__state": RunState.DEAD, "run__fault__in": DEFENSE_FAULTS, "defense__published_at__isnull": False}
    for item in places_in_force().filter(image=image, **fault).select_related("run", "defense"):
        yield _fault(item)


def _output(defense: Defense, answers: Sequence[Prediction]) -> Entry:
    said = [(each.round, Outcome(each.answer).name.lower()) for each in answers]
    if len({answer for _, answer in said}) == 1:
        rounds = "its only round" if len(said) == 1 else f"all {len(said)} rounds"
        words = f"{defense.name} answered {said[0][1]} in {rounds}."
    else:
        words = f"{defense.name} answered " + ", ".join(f"{answer} in round {number}" for number, answer in said) + "."
    at = max(each.predicted_at for each in answers)
    anchor = f"outputs-{defense.public_id}"
    return Entry(at, "outputs", anchor, words, evidence=(_defense(defense),), text=_scores(answers))


def _scores(answers: Sequence[Prediction]) -> str:
    told = [f"bird {each.score_bird:.3g}, bicycle {each.score_bicycle:.3g}" for each in answers]
    if len(set(told)) == 1:
        return f"Scores: {told[0]}."
    rounds = (f"round {each.round} {words}" for each, words in zip(answers, told, strict=True))
    return f"Scores: {'; '.join(rounds)}."


def _fault(item: RunItem) -> Entry:
    words = f"{item.defense.name} gave no answer in round {item.round}: {WORDS[Fault(item.run.fault)].meaning}"
    at = item.run.finished_at or item.run.created_at
    anchor = f"fault-{item.defense.public_id}-{item.round}"
    return Entry(at, "outputs", anchor, words, evidence=(_defense(item.defense),))


def _defense(defense: Defense) -> Evidence:
    return Evidence(defense.name, reverse("defense", args=[defense.public_id]))


def _of_published(mistakes: QuerySet[Break], image: Image) -> list[Break]:
    """Return those of an image that published defenses made, the first found first."""
    rows = mistakes.filter(image=image, defense__published_at__isnull=False)
    return list(rows.select_related("defense", "ruling").order_by("found_at", "pk"))


def _broken(image: Image) -> list[Defense]:
    """Return the defenses that it breaks by the ruling that holds."""
    return list(dict.fromkeys(each.defense for each in _of_published(standing_breaks(), image)))


def _told_mistakes(mistakes: Iterable[Break]) -> Iterator[Entry]:
    """Yield the first mistake of each defense outside the contest: it breaks nothing (R29)."""
    first: dict[int, Break] = {}
    for each in mistakes:
        first.setdefault(each.defense_id, each)
    for each in first.values():
        words = (
            f"{each.defense.name} was confidently wrong on a valid {each.ruling.label}. No attack sent the picture "
            "first, so this is a mistake outside the contest and breaks nothing (R29)."
        )
        evidence = (_defense(each.defense), Evidence(f"ruling {each.ruling.number}", f"#ruling-{each.ruling.number}"))
        yield Entry(each.found_at, "outputs", f"mistake-{each.defense.public_id}", words, evidence=evidence)


def _told_breaks(found: Iterable[Break], rulings: Sequence[RulingShown]) -> Iterator[Entry]:
    for each in found:
        ended = next((row.ruling for row in rulings if _ends(row.ruling, each)), None)
        words = f"It broke {each.defense.name}: confidently wrong on a valid {each.ruling.label} (R29)."
        if ended is not None:
            words += f" Since ruling {ended.number} it holds no more (R22)."
        evidence = (_defense(each.defense), Evidence(f"ruling {each.ruling.number}", f"#ruling-{each.ruling.number}"))
        anchor = f"break-{each.defense.public_id}-{each.ruling.number}"
        yield Entry(each.found_at, "break", anchor, words, "broken", evidence)


def _ends(ruling: Ruling, found: Break) -> bool:
    return ruling.number > found.ruling.number and ruling.label != found.ruling.label
