"""Services for appeals: sending them, answers of the other side, messages about them, and their state (R18)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse

from common.errors import Conflict, InvalidInput, NotFound, required
from common.times import absolute
from common.typed import MinimumText, validate_text
from contest.appeals.grounds import appeal_ground
from contest.board.case_messages import notify_case_opened, retract_messages
from contest.board.cases import case_seen_by, lock_image, open_case_of, parties_add, party_add, picture_case
from contest.board.models import Appeal, AppealStatement, CaseDecision
from contest.board.selectors import cases_visible_to, teams_informed
from contest.core.enums import CaseState, MessageKind, PartyRole
from contest.core.models import Case, Team
from contest.core.teams import final_team, teams_counted_together
from contest.outbox.writing import notify, was_notified
from labeling.models import Image
from policy.selectors import policy_in_force

# Limits for an argument, and for the other side's answer.
MIN_TEXT, MAX_ARGUMENT_CHARACTERS = MinimumText(characters=40, words=6), 8_000
MAX_MARKS, MAX_MARK_CHARACTERS = 20, 200
_SIDES = ("x", "y", "width", "height")

# Sending --------------------------------------------------------------------------------------------------------------


@transaction.atomic
def appeal_send(*, image: Image, team: Team, argument: str, marks: Sequence[Any], by: User, now: datetime) -> Appeal:
    """Record a team's appeal on a picture, in the case that it opens or joins.

    `marks` are `{"x", "y", "width", "height", "words"}` in whole pixels inside the picture. Raises what `appeal_ground`
    does, and InvalidInput at `argument` or `marks`.
    """
    said, drawn = validate_argument(argument), validate_marks(marks, image)
    held = lock_image(image.pk)
    final = final_team(Team.objects.get(pk=team.pk))
    ground = appeal_ground(held, final, now)
    opened = open_case_of(held) is None
    case = picture_case(image=held, ruling=ground.ruling, by=by, now=now)
    party_add(case, final, PartyRole.APPELLANT, now=now)
    if not opened:
        parties_add(case, now=now)
        retract_messages(case)
    appeal = Appeal.objects.create(
        case=case,
        team=final,
        image=held,
        ruling=ground.ruling,
        defense=ground.defense,
        side=ground.side,
        argument=said,
        marks=drawn,
        sent_at=now,
        sent_by=by,
    )
    notify_appeal(appeal, now=now)
    notify_case_opened(case, now=now)
    return appeal


def validate_argument(typed: str) -> str:
    """Return a cleaned argument; InvalidInput (`argument`) for one that says too little or is too long."""
    ask = "Write why the ruling is wrong."
    return validate_text(typed, field="argument", ask=ask, minimum=MIN_TEXT, max_length=MAX_ARGUMENT_CHARACTERS)


def validate_answer(typed: str) -> str:
    """Return the cleaned answer to an argument; InvalidInput (`words`) as for an argument."""
    ask = "Write what the board should know."
    return validate_text(typed, field="words", ask=ask, minimum=MIN_TEXT, max_length=MAX_ARGUMENT_CHARACTERS)


def validate_marks(typed: Sequence[Any], image: Image) -> list[dict[str, Any]]:
    """Return the marks on a picture as they are stored; InvalidInput (`marks`) says which one is wrong, and why."""
    if len(typed) > MAX_MARKS:
        raise _wrong_mark(f"Draw at most {MAX_MARKS} marks; there are {len(typed)}.")
    return [_mark(each, number, image) for number, each in enumerate(typed, 1)]


def _mark(typed: Any, number: int, image: Image) -> dict[str, Any]:
    if not isinstance(typed, Mapping) or set(typed) - {*_SIDES, "words"}:
        raise _wrong_mark(f"Mark {number} is not one: give x, y, width, height and words.")
    sides = [each for name in _SIDES if isinstance(each := typed.get(name), int) and not isinstance(each, bool)]
    if len(sides) < len(_SIDES):
        raise _wrong_mark(f"Mark {number}: give x, y, width and height as whole pixels.")
    x, y, width, height = sides
    if not (0 <= x < x + width <= image.width and 0 <= y < y + height <= image.height):
        raise _wrong_mark(
            f"Mark {number} is not inside the picture, which has {image.width} times {image.height} pixels."
        )
    words = typed.get("words", "")
    if not isinstance(words, str) or len(words := " ".join(words.replace("\x00", "").split())) > MAX_MARK_CHARACTERS:
        raise _wrong_mark(f"Mark {number}: write at most {MAX_MARK_CHARACTERS} characters.")
    return {"x": x, "y": y, "width": width, "height": height, "words": words}


def _wrong_mark(words: str) -> InvalidInput:
    return InvalidInput(words, "invalid", field="marks")


# The other side -------------------------------------------------------------------------------------------------------


@transaction.atomic
def statement_send(*, case: Case, team: Team, words: str, by: User, now: datetime) -> AppealStatement:
    """Record the one answer of a party of a case that did not appeal, while members vote.

    Raises NotFound for a team that is no party, InvalidInput (`words`), Conflict for a team that `appealed` or `stated`
    something before, and once the case is `decided`.
    """
    said = validate_answer(words)
    known = case_of_party(case.public_id, team, now=now)
    if known.image_id is not None:
        lock_image(known.image_id)
    held = Case.objects.select_for_update(of=("self",)).get(pk=known.pk)
    refuse_statement(held, team)
    return AppealStatement.objects.create(case=held, team=final_team(team), words=said, sent_at=now, sent_by=by)


def refuse_statement(case: Case, team: Team) -> None:
    """Raise Conflict if a team may not answer in a case: it `appealed` or `stated` before, or it is `decided`."""
    if Appeal.objects.filter(case=case, team__in=teams_counted_together(team)).exists():
        raise Conflict("Your team appealed in this case: its argument is on record, and there is one.", "appealed")
    if statement_of(case, team) is not None:
        raise Conflict("Your team has answered in this case already. Each team answers once.", "stated")
    if case.state != CaseState.OPEN:
        raise Conflict("The board has decided this case. Nothing more is taken for it.", "decided")


def statement_of(case: Case, team: Team) -> AppealStatement | None:
    """Return what a team, or one merged into it, answered in a case."""
    return statements_by_case([case], team).get(case.pk)


def statements_by_case(cases: Iterable[Case], team: Team) -> dict[int, AppealStatement]:
    """Return case -> the answer of a team, or of one merged into it, for cases in which it answered."""
    rows = AppealStatement.objects.filter(case__in=list(cases), team__in=teams_counted_together(team))
    return {each.case_id: each for each in rows.select_related("team").order_by("-pk")}


# Messages, written in the transaction of the appeal -------------------------------------------------------------------


def notify_appeal(appeal: Appeal, *, now: datetime) -> None:
    """Give the team its receipt, and tell the other teams of the case that may know of it; they may answer."""
    others = _may_answer(appeal.case, now)
    about = reverse("appeal", args=[appeal.public_id])
    receipt = _facts(appeal) | {"answer_until": _until(appeal, now) if others else ""}
    notify(appeal.team, MessageKind.APPEAL_RECEIVED, about=about, now=now, key=appeal.public_id, **receipt)
    for team in others:
        notify_appeal_against(appeal, team, now=now)


def notify_appeal_against(appeal: Appeal, team: Team, *, now: datetime) -> int:
    """Tell a team of an appeal in a case that is about it; return how many people are told."""
    about, told = reverse("appeal-case", args=[appeal.case.public_id]), _facts(appeal) | {"until": _until(appeal, now)}
    return notify(team, MessageKind.APPEAL_AGAINST, about=about, now=now, key=appeal.public_id, **told)


def notify_late_appeals(case: Case, team: Team, *, now: datetime) -> int:
    """Tell a team that may know of an open case only now of the appeals in it, if it may answer and did not get the
    messages before; return how many people get one."""
    if case.state != CaseState.OPEN or team not in _may_answer(case, now):
        return 0
    appeals = case.appeals.select_related("case", "image").order_by("pk")
    not_notified = [each for each in appeals if not was_notified(team, MessageKind.APPEAL_AGAINST, each.public_id)]
    return sum(notify_appeal_against(each, team, now=now) for each in not_notified)


def _facts(appeal: Appeal) -> dict[str, str]:
    return {
        "appeal": appeal.public_id,
        "case": appeal.case.public_id,
        "picture": appeal.image.public_id,
        "side": appeal.side,
    }


def _until(appeal: Appeal, now: datetime) -> str:
    return absolute(appeal.case.due_at, policy_in_force(now).policy.time_zone)


def _may_answer(case: Case, now: datetime) -> list[Team]:
    appellants = {final_team(each.team).pk for each in case.appeals.select_related("team__merged_into")}
    return [team for team in teams_informed(case, now=now) if team.pk not in appellants]


# Reading --------------------------------------------------------------------------------------------------------------


def appeals_of_team(team: Team) -> QuerySet[Appeal]:
    """Return what a team, and those merged into it, appealed; newest first."""
    rows = Appeal.objects.filter(team__in=teams_counted_together(team))
    related = ("case__decision", "case__result", "case__image", "image", "ruling", "defense", "team")
    return rows.select_related(*related).order_by("-sent_at", "-pk")


def appeal_seen_by(public_id: str, team: Team) -> Appeal:
    """Return the team's own appeal with this ID; NotFound for everybody else's."""
    found = appeals_of_team(team).filter(public_id=public_id).first() if public_id.isprintable() else None
    return required(found, NotFound("Your team has no appeal with this ID.", "not_found"))


def case_of_appeal(public_id: str, member: User) -> Case:
    """Return the case of an appeal, for a board member who is not recused; the same Http404 for a missing appeal and
    for recused members (R21)."""
    rows = Appeal.objects.select_related("case").filter(public_id=public_id)
    appeal = rows.first() if public_id.isprintable() else None
    return case_seen_by(member, appeal.case.public_id if appeal is not None else "")


def cases_of_party(team: Team, *, now: datetime) -> QuerySet[Case]:
    """Return the cases that a team may read: it is a party, it may know of them (R24), and they were appealed or
    decided. Until then, a case that a member opened is for the board only."""
    rows = cases_visible_to(team, now=now).filter(Q(appeals__isnull=False) | Q(decision__isnull=False)).distinct()
    return rows.select_related("decision", "result", "image", "ruling__policy", "ruling__panel")


def case_of_party(public_id: str, team: Team, *, now: datetime) -> Case:
    """Return a case that this team may read; NotFound for every other."""
    found = cases_of_party(team, now=now).filter(public_id=public_id).first() if public_id.isprintable() else None
    return required(found, NotFound("There is no case with this ID that is about your team.", "not_found"))


@dataclass(frozen=True, slots=True)
class CaseClock:
    """The state of a case in time: members vote until `due_at`, `late` once that is over; `decided_at`, `closed_at`."""

    state: CaseState
    due_at: datetime
    late: bool
    decided_at: datetime | None
    closed_at: datetime | None


def case_clock(case: Case, now: datetime) -> CaseClock:
    """Return the clock of a case (R19)."""
    decision = decision_of(case)
    state = CaseState(case.state)
    decided = decision.decided_at if decision else None
    return CaseClock(state, case.due_at, state is CaseState.OPEN and case.due_at <= now, decided, case.closed_at)


def decision_of(case: Case) -> CaseDecision | None:
    """Return what was decided on a case; None while members vote."""
    found: CaseDecision | None = getattr(case, "decision", None)
    return found


def is_changed(appeal: Appeal) -> bool:
    """Say whether an appeal led to another outcome than the ruling that it was against."""
    result = appeal.case.result
    return result is not None and (result.verdict, result.label) != (appeal.ruling.verdict, appeal.ruling.label)
