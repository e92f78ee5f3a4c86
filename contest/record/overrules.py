"""The public list of decisions on pictures: filters, entries and CSV (R20)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.db.models import Q, QuerySet

from adjudication.enums import Reason, Verdict
from adjudication.models import Ruling
from adjudication.selectors import newest_rulings
from adjudication.verifier import cells
from contest.board.models import Appeal, CaseDecision
from contest.board.public_decisions import PublicDecision, public_decision
from contest.core.breaks import all_breaks
from contest.core.enums import CaseOutcome
from contest.core.models import Break
from contest.core.weeks import week_at, week_called
from contest.record.closed_cases import public_appeals, public_decisions
from labeling.enums import Label
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from scoring.models import Defense

LONGEST_FIND = 80
OUTCOMES = {
    CaseOutcome.OVERRULE.value: "overruled",
    CaseOutcome.UPHOLD.value: "upheld",
    CaseOutcome.MORE_TASKERS.value: "more taskers asked",
    "all": "all decisions",
}
CSV_COLUMNS = (
    "case", "decided_at", "outcome", "image", "week", "ruling_before", "verdict_before", "label_before",
    "reasons_before", "ruling_after", "verdict_after", "label_after", "reasons_after", "smallest_box_fraction",
    "votes", "quorum", "recused", "explanation", "dissents", "appeals", "teams",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OverruleFilter:
    """What the list is asked for, as in its address; empty is not asked. `outcome` is one of OUTCOMES."""

    outcome: str = CaseOutcome.OVERRULE.value
    before: str = ""
    after: str = ""
    label: str = ""
    reason: str = ""
    week: str = ""
    find: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "OverruleFilter":
        """Read an address; what the list does not have counts as not asked."""
        return cls(
            outcome=_one_of(given, "outcome", OUTCOMES) or CaseOutcome.OVERRULE.value,
            before=_one_of(given, "before", set(Verdict)),
            after=_one_of(given, "after", set(Verdict)),
            label=_one_of(given, "label", set(Label)),
            reason=_one_of(given, "reason", set(Reason)),
            week=_week(given.get("week", "")),
            find=given.get("find", "").replace("\x00", "").strip()[:LONGEST_FIND],
        )

    @property
    def is_narrow(self) -> bool:
        """Say whether anything but the outcome is asked for."""
        return any(value for name, value in asdict(self).items() if name != "outcome")

    @property
    def query(self) -> str:
        """Return it as the query of an address, without a page."""
        return urlencode({name: value for name, value in asdict(self).items() if value})


def _one_of(given: Mapping[str, str], name: str, known: Iterable[str]) -> str:
    value = given.get(name, "")
    return value if value in known else ""


def _week(name: str) -> str:
    try:
        return week_called(name.strip()).name
    except ValueError:
        return ""


def _received_in(name: str) -> Q:
    week = week_called(name)
    return Q(case__image__received_at__gte=week.start, case__image__received_at__lt=week.end)


def _has_reason(reason: str) -> Q:
    # Reasons are stored as a list of such words: as text they are between quotation marks.
    named = f'"{reason}"'
    return Q(case__ruling__reasons__icontains=named) | Q(case__result__reasons__icontains=named)


def _found(find: str) -> Q:
    team = Q(team__public_id__iexact=find) | Q(team__name__iexact=find)
    argued = public_appeals().filter(Q(public_id__iexact=find) | Q(argument__icontains=find) | team)
    ids = Q(case__public_id__iexact=find) | Q(case__image__public_id__iexact=find)
    return ids | Q(explanation__icontains=find) | Q(case__in=argued.values("case"))


# What each part of an OverruleFilter asks of a decision.
_CONDITIONS: Mapping[str, Callable[[str], Q]] = {
    "outcome": lambda outcome: Q() if outcome == "all" else Q(outcome=outcome),
    "before": lambda verdict: Q(case__ruling__verdict=verdict),
    "after": lambda verdict: Q(case__result__verdict=verdict),
    "label": lambda label: Q(case__ruling__label=label) | Q(case__result__label=label),
    "reason": _has_reason,
    "week": _received_in,
    "find": _found,
}


def filtered_decisions(asked: OverruleFilter) -> QuerySet[CaseDecision]:
    """Return the public decisions that are asked for, the newest first."""
    return public_decisions().filter(*(_CONDITIONS[name](value) for name, value in asdict(asked).items() if value))


# As the page shows it -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OverruleEntry:
    """A decision with its picture, the rulings before and after, the appeals, and what followed. `holds` is the ruling
    that holds now; `broke` and `broke_no_more` are defenses."""

    decision: CaseDecision
    image: Image
    url: str
    before: Ruling
    after: Ruling
    holds: Ruling
    public: PublicDecision
    appeals: tuple[Appeal, ...]
    broke: tuple[Defense, ...]
    broke_no_more: tuple[Defense, ...]

    @property
    def changed(self) -> bool:
        """Say whether another verdict, class or reason came of it."""
        return (self.before.label, self.before.reasons) != (self.after.label, self.after.reasons)

    @property
    def week(self) -> str:
        """Return the week of the picture."""
        return week_at(self.image.received_at).name


def decision_entries(decisions: Sequence[CaseDecision], *, now: datetime) -> list[OverruleEntry]:
    """Return decisions as the page shows them: as many questions for many as for one, and for none none."""
    if not decisions:
        return []
    images = [each.case.image for each in decisions if each.case.image is not None]
    holding = newest_rulings([each.pk for each in images])
    appeals = _appeals(decisions)
    breaks = _breaks(images)
    return [_decided(each, holding, appeals, breaks, now) for each in decisions]


def _decided(
    decision: CaseDecision,
    holding: Mapping[int, Ruling],
    appeals: Mapping[int, list[Appeal]],
    breaks: Mapping[int, list[Break]],
    now: datetime,
) -> OverruleEntry:
    case = decision.case
    image, before, after = case.image, case.ruling, case.result
    assert image is not None and before is not None and after is not None, "the closed case of a picture has all three"
    found = breaks.get(image.pk, [])
    new = {each.defense: None for each in found if each.ruling.label == after.label != before.label}
    gone = {each.defense: None for each in found if each.ruling.label == before.label != after.label}
    return OverruleEntry(
        decision=decision,
        image=image,
        url=picture_url(image, now=now),
        before=before,
        after=after,
        holds=holding[image.pk],
        public=public_decision(decision),
        appeals=tuple(appeals.get(case.pk, ())),
        broke=tuple(new),
        broke_no_more=tuple(gone),
    )


def _appeals(decisions: Sequence[CaseDecision]) -> dict[int, list[Appeal]]:
    found: dict[int, list[Appeal]] = {}
    for each in public_appeals().filter(case__in=[decision.case_id for decision in decisions]):
        found.setdefault(each.case_id, []).append(each)
    return found


def _breaks(images: Sequence[Image]) -> dict[int, list[Break]]:
    rows = all_breaks().filter(image__in=images, defense__published_at__isnull=False)
    found: dict[int, list[Break]] = {}
    for each in rows.select_related("defense", "ruling").order_by("found_at", "pk"):
        found.setdefault(each.image_id, []).append(each)
    return found


# As a file ------------------------------------------------------------------------------------------------------------


def csv_rows(decisions: Sequence[CaseDecision]) -> Iterator[Sequence[str]]:
    """Yield decisions as rows of CSV_COLUMNS."""
    appeals = _appeals(decisions)
    yield from (_csv_row(each, appeals.get(each.case_id, [])) for each in decisions)


def _csv_row(decision: CaseDecision, appeals: Sequence[Appeal]) -> Sequence[str]:
    case, public = decision.case, public_decision(decision)
    image, before, after = case.image, case.ruling, case.result
    assert image is not None and before is not None and after is not None, "the closed case of a picture has all three"
    tally = "; ".join(f"{number} x {words}" for words, number in public.tally)
    named = "; ".join(dict.fromkeys(each.team.public_id for each in appeals))
    dissents = cells.text("\n".join(each.words for each in public.remarks if each.dissent))
    return (
        case.public_id, cells.time(decision.decided_at), decision.outcome, image.public_id,
        week_at(image.received_at).name, *_csv_ruling(before), *_csv_ruling(after),
        cells.share(after.smallest_box), tally,
        str(decision.quorum),
        str(decision.recused), cells.text(decision.explanation), dissents,
        "; ".join(each.public_id for each in appeals), named,
    )  # fmt: skip


def _csv_ruling(ruling: Ruling) -> tuple[str, str, str, str]:
    return str(ruling.number), ruling.verdict, ruling.label, ";".join(ruling.reasons)
