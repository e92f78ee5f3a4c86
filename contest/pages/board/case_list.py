"""The list of cases as one member of the board may see it: found, filtered, counted; what they step aside from is
nowhere in it (R21)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from contest.board.public_decisions import CHOICE_WORDS
from contest.board.recusal import cases_seen_by, disclosed
from contest.board.telling import OUTCOME_WORDS, what_of
from contest.core.enums import CaseKind, CaseOutcome, CaseState, VoteChoice
from contest.core.teams import final_team
from contest.models import Appeal, Case, CaseParty, Vote

LONGEST_FIND = 80


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is asked for: a state (empty: all), a kind (empty: both), and words to find."""

    state: str = CaseState.OPEN.value
    kind: str = ""
    find: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Asked":
        """Read an address; what no list has counts as not asked."""
        state = given.get("state", CaseState.OPEN.value)
        kind = given.get("kind", "")
        find = given.get("find", "").replace("\x00", "").strip()[:LONGEST_FIND]
        return cls(
            state if state in {*CaseState, "all"} else CaseState.OPEN.value, kind if kind in set(CaseKind) else "", find
        )


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case in the list. What it is about is told once the member said that nothing ties them to its teams."""

    case: Case
    disclosed: bool
    my_vote: str
    overdue: bool

    @property
    def about(self) -> str:
        """Return what the case is about."""
        if not self.disclosed:
            return "closed to you until you said whether anything ties you to its teams"
        return what_of(self.case)

    @property
    def outcome(self) -> str:
        """Return what was decided, empty before."""
        decision = getattr(self.case, "decision", None)
        return OUTCOME_WORDS[CaseOutcome(decision.outcome)] if decision is not None and self.disclosed else ""


def cases_asked(member: User, asked: Asked) -> QuerySet[Case]:
    """Return the cases that are asked for: open ones that wait for the member's vote first, then by their clocks;
    closed ones with the newest first."""
    mine = Vote.objects.filter(case=OuterRef("pk"), member=member)
    rows = _found(cases_seen_by(member), asked).annotate(
        voted=Exists(mine), my_choice=Subquery(mine.order_by("-pk").values("choice")[:1])
    )
    rows = rows if asked.state == "all" else rows.filter(state=asked.state)
    order = ("-closed_at", "-pk") if asked.state == CaseState.CLOSED else ("voted", "due_at", "pk")
    return rows.select_related("image", "decision").order_by(*order)


def _found(rows: QuerySet[Case], asked: Asked) -> QuerySet[Case]:
    if asked.kind:
        rows = rows.filter(kind=asked.kind)
    if not asked.find:
        return rows
    named = Appeal.objects.filter(public_id__iexact=asked.find).values("case")
    team = Q(team__public_id__iexact=asked.find) | Q(team__name__iexact=asked.find)
    about = CaseParty.objects.filter(team).values("case")
    ids = Q(public_id__iexact=asked.find) | Q(image__public_id__iexact=asked.find)
    return rows.filter(ids | Q(pk__in=named) | Q(pk__in=about))


def counts_of(member: User, asked: Asked) -> dict[str, int]:
    """Return how many cases of each state fit the rest of what is asked."""
    rows = _found(cases_seen_by(member), asked).values_list("state", flat=True)
    found = dict.fromkeys([*map(str, CaseState), "all"], 0)
    for state in rows:
        found[state] += 1
        found["all"] += 1
    return found


def rows_of(cases: Iterable[Case], member: User, *, now: datetime) -> list[CaseRow]:
    """Return cases of `cases_asked` as the list shows them."""
    shown = list(cases)
    closed = _undisclosed(shown, member)
    return [_row(case, case.pk not in closed, now) for case in shown]


def _row(case: Case, disclosed: bool, now: datetime) -> CaseRow:
    choice: str | None = case.my_choice  # type: ignore[attr-defined]  # annotated by cases_asked
    words = CHOICE_WORDS[VoteChoice(choice)] if choice else ""
    return CaseRow(case, disclosed, words, case.state == CaseState.OPEN and case.due_at <= now)


def _undisclosed(cases: list[Case], member: User) -> set[int]:
    """Return which of these cases still wait for the member's word about a team, in a few queries."""
    parties = CaseParty.objects.filter(case__in=cases).select_related("team__merged_into")
    told = disclosed(cases, member)
    return {each.case_id for each in parties if final_team(each.team).pk not in told[each.case_id]}


def to_vote_on(member: User) -> QuerySet[Case]:
    """Return the open cases that wait for the member's vote, the first due first."""
    mine = Vote.objects.filter(case=OuterRef("pk"), member=member)
    rows = cases_seen_by(member).filter(~Exists(mine), state=CaseState.OPEN)
    return rows.order_by("due_at", "pk")


def neighbours(case: Case, member: User) -> tuple[Case | None, Case | None]:
    """Return the open cases before and after this one by their clocks, as far as the member may know of them."""
    rows = cases_seen_by(member).filter(state=CaseState.OPEN).exclude(pk=case.pk)
    before = rows.filter(Q(due_at__lt=case.due_at) | Q(due_at=case.due_at, pk__lt=case.pk))
    after = rows.filter(Q(due_at__gt=case.due_at) | Q(due_at=case.due_at, pk__gt=case.pk))
    return before.order_by("-due_at", "-pk").first(), after.order_by("due_at", "pk").first()
