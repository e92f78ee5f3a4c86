"""Reads the public list of board decisions on pictures: filters, entries and CSV rows (R20)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from adjudication.models import Ruling
from adjudication.schema import cells
from adjudication.selectors import newest_rulings
from common.database.grouping import grouped
from contest.board.models import Appeal, CaseDecision
from contest.board.public_decisions import PublicDecision, public_decision
from contest.core.breaks import all_breaks
from contest.core.enums import CaseOutcome
from contest.core.models import Break
from contest.core.weeks import week_at
from contest.record.closed_cases import public_appeals
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from scoring.models import Defense

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


def decisions_containing(rows: QuerySet[CaseDecision], find: str) -> QuerySet[CaseDecision]:
    """Return those of `rows` with these words, of this team, or with this ID."""
    team = Q(team__public_id__iexact=find) | Q(team__name__iexact=find)
    argued = public_appeals().filter(Q(public_id__iexact=find) | Q(argument__icontains=find) | team)
    ids = Q(case__public_id__iexact=find) | Q(case__image__public_id__iexact=find)
    return rows.filter(ids | Q(explanation__icontains=find) | Q(case__in=argued.values("case")))


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
    """Return decisions as rows of the page, with as many queries for many as for one, and none for none."""
    if not decisions:
        return []
    images = [each.case.image for each in decisions if each.case.image is not None]
    holding = newest_rulings([each.pk for each in images])
    appeals = _appeals(decisions)
    breaks = _breaks(images)
    return [_overrule_entry(each, holding, appeals, breaks, now) for each in decisions]


def _overrule_entry(
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
    appeals = public_appeals().filter(case__in=[decision.case_id for decision in decisions])
    return grouped((each.case_id, each) for each in appeals)


def _breaks(images: Sequence[Image]) -> dict[int, list[Break]]:
    rows = all_breaks().filter(image__in=images, defense__published_at__isnull=False)
    ordered = rows.select_related("defense", "ruling").order_by("found_at", "pk")
    return grouped((each.image_id, each) for each in ordered)


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
        cells.share(after.smallest_box), tally, str(decision.quorum),
        str(decision.recused), cells.text(decision.explanation), dissents,
        "; ".join(each.public_id for each in appeals), named,
    )  # fmt: skip


def _csv_ruling(ruling: Ruling) -> tuple[str, str, str, str]:
    return str(ruling.number), ruling.verdict, ruling.label, ";".join(ruling.reasons)
