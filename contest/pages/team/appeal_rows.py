"""Data of the teams' appeal pages. Another team is not named before it is public (R24)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from django.db.models import QuerySet

from adjudication.enums import DecidedBy, Reason
from adjudication.models import Ruling
from adjudication.rules import REASONS
from common.database.grouping import grouped
from contest.appeals.grounds import AppealGround, reader_for
from contest.appeals.services import (
    appeals_of_team,
    case_clock,
    cases_of_party,
    decision_of,
    is_changed,
    statements_by_case,
)
from contest.attacks.selectors import attacks_of_pictures
from contest.board.models import Appeal
from contest.core.embargo import public_attacks
from contest.core.enums import AppealSide, CaseOutcome, CaseState, VoteChoice
from contest.core.models import Case, Team
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


def team_certificate(ruling: Ruling, team: Team, *, now: datetime) -> list[dict[str, Any]]:
    """Return for each rule whether the picture met it, with a note, as far as a team may see it.

    The taskers' public IDs become public with the release, as does the size of the smallest box of another team's
    picture. A ruling of the board has no certificate.
    """
    if ruling.decided_by == DecidedBy.BOARD:
        return []
    visible = rulings_seen_by(ruling.image, reader_for(team), now=now).filter(pk=ruling.pk).exists()
    notes = {Reason.TOO_SMALL: _share(ruling)} if visible else {}
    return [
        {"needed": NEEDED[each], "met": each.value not in ruling.reasons, "note": notes.get(each, "")}
        for each in REASONS
    ]


def _share(ruling: Ruling) -> str:
    numerator, denominator = ruling.smallest_box_numerator, ruling.smallest_box_denominator
    if numerator is None or denominator is None:
        return "Nobody outlined anything."
    least = Policy.from_json(ruling.policy.numbers).min_box_fraction
    return f"{percent(Fraction(numerator, denominator))} of at least {percent(least)}."


# Rulings to appeal ----------------------------------------------------------------------------------------------------


def ground_rows(grounds: Sequence[AppealGround], team: Team, *, now: datetime) -> list[dict[str, Any]]:
    """Return rulings that may be appealed, each with its picture and the team's own receipts of it, in as many queries
    for a page as for one."""
    attacks = attacks_of_pictures(team, [each.ruling.image_id for each in grounds])
    own = grouped((attack.image_id, attack) for attack in attacks)
    return [
        {"ground": each, "url": picture_url(each.ruling.image, now=now), "receipts": own.get(each.ruling.image_id, [])}
        for each in grounds
    ]


# Appeals and cases ----------------------------------------------------------------------------------------------------


def status_of(appeal: Appeal) -> tuple[str, str]:
    """Return the state of an appeal: words, and the CSS class of its shape and colour."""
    state = appeal.case.state
    if state != CaseState.CLOSED:
        return "before the board" if state == CaseState.OPEN else "more taskers are asked", "open"
    return ("ruling changed", "valid") if is_changed(appeal) else ("ruling upheld", "rejected")


def sent_appeal_rows(appeals: Iterable[Appeal], *, now: datetime) -> list[dict[str, Any]]:
    """Return appeals as their team sees them in a list."""
    return [
        {
            "appeal": each,
            "state": status_of(each),
            "clock": case_clock(each.case, now),
            "url": picture_url(each.image, now=now),
        }
        for each in appeals
    ]


def cases_of(team: Team, *, now: datetime) -> QuerySet[Case]:
    """Return the cases that a team may read and did not appeal in, newest first."""
    rows = cases_of_party(team, now=now).exclude(pk__in=appeals_of_team(team).values("case"))
    return rows.order_by("-opened_at", "-pk")


def concerned_case_rows(cases: Iterable[Case], team: Team, *, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield rows of cases that another team or the board opened, for the team that they concern."""
    listed = list(cases)
    statements = statements_by_case(listed, team)
    for case in listed:
        assert case.image is not None, "a picture's case has one"
        clock, statement, url = case_clock(case, now), statements.get(case.pk), picture_url(case.image, now=now)
        may_answer = clock.state is CaseState.OPEN and statement is None
        yield {"case": case, "clock": clock, "statement": statement, "may_answer": may_answer, "url": url}


@dataclass(frozen=True, slots=True)
class TeamText:
    """What a team wrote in a case: `who` in words, and the team once it is public."""

    who: str
    team: Team | None
    at: datetime
    text: str
    appeal: Appeal | None = None


def arguments_of(case: Case, *, but: Appeal | None = None, now: datetime) -> list[TeamText]:
    """Return the appeals of a case, except one, in their order."""
    rows = case.appeals.select_related("team__merged_into", "image").order_by("sent_at", "pk")
    return [
        TeamText(
            _WHO[AppealSide(each.side)], _public_team(each.team, each.image, now), each.sent_at, each.argument, each
        )
        for each in rows
        if but is None or each.pk != but.pk
    ]


def answers_of_others(case: Case, reader: Team, *, now: datetime) -> list[TeamText]:
    """Return the answers of other teams in a case once it is decided, so that nobody argues against them meanwhile."""
    if decision_of(case) is None or case.image is None:
        return []
    own = {each.pk for each in teams_counted_together(reader)}
    return [
        TeamText("The other side", _public_team(each.team, case.image, now), each.sent_at, each.words)
        for each in case.statements.select_related("team__merged_into").order_by("sent_at", "pk")
        if each.team_id not in own
    ]


def _public_team(team: Team, image: Image, now: datetime) -> Team | None:
    """Return a team of a case if it is public, by its attack or by the release (R24)."""
    known = public_attacks(now=now).filter(team__in=teams_counted_together(team), image=image).exists()
    return final_team(team) if known or is_released(image) else None


def decision_summary(case: Case) -> dict[str, Any] | None:
    """Return the decision of a picture's case, with the votes and the new ruling; None while members vote."""
    decision = decision_of(case)
    if decision is None:
        return None
    votes = Counter(VOTES[VoteChoice(vote["choice"])] for vote in decision.votes)
    return {
        "decision": decision,
        "words": OUTCOMES[CaseOutcome(decision.outcome)],
        "tally": ", ".join(f"{count} {words}" for words, count in votes.items()),
        "result": case.result,
    }
