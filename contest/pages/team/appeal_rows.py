"""The rows of the pages of appeals. Another team is not named before it is public (R24)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from adjudication.enums import DecidedBy, Reason
from adjudication.models import Ruling
from adjudication.rules import REASONS
from contest.appeals.grounds import AppealGround, reader_for
from contest.appeals.services import (
    CaseClock,
    appeals_of,
    cases_of_party,
    clock_of,
    decision_of,
    is_changed,
    statement_of,
)
from contest.attacks.selectors import attacks_of_pictures
from contest.board.models import Appeal, AppealStatement, CaseDecision
from contest.core.embargo import public_attacks
from contest.core.enums import AppealSide, CaseOutcome, CaseState, VoteChoice
from contest.core.models import Attack, Case, Team
from contest.core.picture_access import rulings_seen_by
from contest.core.publication import is_released
from contest.core.teams import final_team, teams_counted_together
from contest.record.certificate import NEEDED, percent
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from policy.numbers import Policy

OUTCOMES = {
    CaseOutcome.UPHOLD: "The board upheld the ruling.",
    CaseOutcome.MORE_TASKERS: "The board asked more taskers.",
    CaseOutcome.OVERRULE: "The board overruled the ruling.",
}
VOTES = {
    VoteChoice.UPHOLD: "to uphold",
    VoteChoice.MORE_TASKERS: "for more taskers",
    VoteChoice.OVERRULE: "to overrule",
}
_WHO = {
    AppealSide.DEFENDER: "A team whose defense was at stake",
    AppealSide.ATTACKER: "A team that sent the picture",
}

# Rulings --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CertificateRow:
    """A rule, whether the picture met it, and its figures where the reader may know them."""

    needed: str
    met: bool
    note: str = ""


def certificate_of(ruling: Ruling, team: Team, *, now: datetime) -> list[CertificateRow]:
    """Return rule by rule what a ruling says, as far as a team may know it. Whose answers they were is public with the
    release, and so is the size of the smallest box of another team's picture. The board's rulings have no lines."""
    if ruling.decided_by == DecidedBy.BOARD:
        return []
    visible = rulings_seen_by(ruling.image, reader_for(team), now=now).filter(pk=ruling.pk).exists()
    return [_line(reason, ruling, visible) for reason in REASONS]


def _line(reason: Reason, ruling: Ruling, visible: bool) -> CertificateRow:
    note = _share(ruling) if reason is Reason.TOO_SMALL and visible else ""
    return CertificateRow(NEEDED[reason], reason.value not in ruling.reasons, note)


def _share(ruling: Ruling) -> str:
    numerator, denominator = ruling.smallest_box_numerator, ruling.smallest_box_denominator
    if numerator is None or denominator is None:
        return "Nobody outlined anything."
    least = Policy.from_json(ruling.policy.numbers).min_box_fraction
    return f"{percent(Fraction(numerator, denominator))} of at least {percent(least)}."


# What may be appealed -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroundRow:
    """A ruling that may be appealed, with its picture and the team's own receipts of it."""

    ground: AppealGround
    url: str
    receipts: tuple[Attack, ...]

    @property
    def words(self) -> str:
        """Return the ruling in words."""
        return self.ground.ruling.words


def ground_rows(grounds: Sequence[AppealGround], team: Team, *, now: datetime) -> list[GroundRow]:
    """Return their rows, in as many queries for a page as for one."""
    own: dict[int, list[Attack]] = {}
    images = [each.ruling.image_id for each in grounds]
    for attack in attacks_of_pictures(team, images):
        own.setdefault(attack.image_id, []).append(attack)
    return [
        GroundRow(each, picture_url(each.ruling.image, now=now), tuple(own.get(each.ruling.image_id, ())))
        for each in grounds
    ]


# Appeals and cases ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AppealStatus:
    """How far an appeal is: words, and the CSS class of its shape and colour."""

    words: str
    look: str


def status_of(appeal: Appeal) -> AppealStatus:
    """Return how far an appeal is."""
    case = appeal.case
    if case.state == CaseState.OPEN:
        return AppealStatus("before the board", "open")
    if case.state == CaseState.PANEL:
        return AppealStatus("more taskers are asked", "open")
    return AppealStatus("ruling changed", "valid") if is_changed(appeal) else AppealStatus("ruling upheld", "rejected")


@dataclass(frozen=True, slots=True)
class SentAppealRow:
    """An appeal as its team sees it in a list."""

    appeal: Appeal
    state: AppealStatus
    clock: CaseClock
    url: str

    @property
    def words(self) -> str:
        """Return the ruling it is against in words."""
        return self.appeal.ruling.words


def sent_appeal_rows(appeals: Iterable[Appeal], *, now: datetime) -> list[SentAppealRow]:
    """Return rows of a list of appeals."""
    return [
        SentAppealRow(each, status_of(each), clock_of(each.case, now), picture_url(each.image, now=now))
        for each in appeals
    ]


@dataclass(frozen=True, slots=True)
class ConcernedCaseRow:
    """A case that others opened, another team or the board, as the team that it concerns sees it in a list."""

    case: Case
    clock: CaseClock
    statement: AppealStatement | None
    url: str

    @property
    def may_answer(self) -> bool:
        """Say whether the team may still answer."""
        return self.clock.state is CaseState.OPEN and self.statement is None


def cases_of(team: Team, *, now: datetime) -> list[Case]:
    """Return the cases that a team may read and did not appeal in, newest first."""
    rows = cases_of_party(team, now=now).exclude(pk__in=appeals_of(team).values("case"))
    return list(rows.order_by("-opened_at", "-pk"))


def concerned_case_rows(cases: Iterable[Case], team: Team, *, now: datetime) -> Iterator[ConcernedCaseRow]:
    """Yield rows of a list of cases."""
    for case in cases:
        assert case.image is not None, "a picture's case has one"
        yield ConcernedCaseRow(case, clock_of(case, now), statement_of(case, team), picture_url(case.image, now=now))


@dataclass(frozen=True, slots=True)
class TeamText:
    """What a team wrote in a case: `who` in words, and the team once it is public."""

    who: str
    team: Team | None
    at: datetime
    text: str
    appeal: Appeal | None = None


def arguments_of(case: Case, *, but: Appeal | None = None, now: datetime) -> list[TeamText]:
    """Return the appeals of a case, but one, in their order."""
    rows = case.appeals.select_related("team__merged_into", "image").order_by("sent_at", "pk")
    return [
        TeamText(_WHO[AppealSide(each.side)], _named(each.team, each.image, now), each.sent_at, each.argument, each)
        for each in rows
        if but is None or each.pk != but.pk
    ]


def answers_of_others(case: Case, reader: Team, *, now: datetime) -> list[TeamText]:
    """Return the answers of other teams in a case once it is decided, so that nobody argues against them meanwhile."""
    if decision_of(case) is None or case.image is None:
        return []
    own = {each.pk for each in teams_counted_together(reader)}
    rows = case.statements.select_related("team__merged_into").order_by("sent_at", "pk")
    return [
        TeamText("The other side", _named(each.team, case.image, now), each.sent_at, each.words)
        for each in rows
        if each.team_id not in own
    ]


def _named(team: Team, image: Image, now: datetime) -> Team | None:
    """Return a team of a case where it is public: by its attack, or by the release (R24)."""
    together = teams_counted_together(team)
    known = public_attacks(now=now).filter(team__in=together, image=image).exists()
    return final_team(team) if known or is_released(image) else None


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """What the board decided, how many voted how, and the ruling in force since."""

    decision: CaseDecision
    words: str
    tally: str
    result: Ruling | None

    @property
    def result_words(self) -> str:
        """Return the ruling that came of it in words."""
        return self.result.words if self.result is not None else ""


def decision_summary(case: Case) -> DecisionSummary | None:
    """Return what was decided on a picture's case; None while members vote."""
    decision = decision_of(case)
    if decision is None:
        return None
    return DecisionSummary(decision, OUTCOMES[CaseOutcome(decision.outcome)], _tally(decision.votes), case.result)


def _tally(votes: Sequence[dict[str, Any]]) -> str:
    counts: dict[str, int] = {}
    for vote in votes:
        words = VOTES[VoteChoice(vote["choice"])]
        counts[words] = counts.get(words, 0) + 1
    return ", ".join(f"{count} {words}" for words, count in counts.items())
