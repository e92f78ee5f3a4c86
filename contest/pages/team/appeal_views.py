"""The pages of appeals for teams: what may be appealed, sending an appeal, and what became of it (R18)."""

from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.errors import DomainError
from common.web.error_status import http_status
from common.web.form_fields import SeeOther
from common.web.page import page
from contest.appeals import services
from contest.appeals.grounds import Appealed, Ground, appeal_ground, appeal_of, appealable, reader_for
from contest.board.models import Appeal
from contest.core.enums import CaseState
from contest.core.models import Case, Team
from contest.core.picture_access import picture_seen_by
from contest.core.roles import own_team_of, refuse_other_team
from contest.pages.team import appeal_rows
from contest.web.typed_marks import TypedMark, typed_marks, with_empty_rows
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force

ON_A_PAGE = 50


@page(own_team_of)
def appeals_list(request: HttpRequest, team: Team) -> HttpResponse:
    """List what a team may appeal now, what it appealed, and the appeals of others that concern it."""
    now = domain_now()
    grounds = Paginator(appealable(team, now), ON_A_PAGE).get_page(request.GET.get("page"))
    sent = Paginator(services.appeals_of(team), ON_A_PAGE).get_page(request.GET.get("sent"))
    cases = Paginator(appeal_rows.cases_of(team, now=now), ON_A_PAGE).get_page(request.GET.get("cases"))
    context = _common(team, now) | {
        "grounds": grounds,
        "ground_rows": appeal_rows.grounds_shown(list(grounds.object_list), team, now=now),
        "sent": sent,
        "sent_rows": appeal_rows.appeals_shown(sent.object_list, now=now),
        "cases": cases,
        "case_rows": list(appeal_rows.cases_shown(cases.object_list, team, now=now)),
    }
    return render(request, "appeals/appeals.html", context)


def _common(team: Team, now: datetime) -> dict[str, Any]:
    policy = policy_in_force(now).policy
    return {"team": team, "now": now, "zone": policy.time_zone, "policy": policy}


# Sending --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Typed:
    """What the form had when it came, and what was wrong with it."""

    argument: str = ""
    marks: list[TypedMark] = field(default_factory=list)
    refused: DomainError | None = None
    preview: list[dict[str, Any]] | None = None


@page(own_team_of, "GET POST")
def appeal_new(request: HttpRequest, team: Team, image_id: str) -> HttpResponse:
    """Show what may be appealed of a picture and take the appeal: typed, looked at once more, and sent."""
    now = domain_now()
    image = picture_seen_by(image_id, reader_for(team), now=now)
    if request.method == "POST":
        return _posted(request, team, image, now)
    earlier = appeal_of(team, image)
    if earlier is not None:
        return SeeOther(reverse("appeal", args=[earlier.public_id]))
    return _form(request, team, appeal_ground(image, team, now), _Typed(), now)


def _posted(request: HttpRequest, team: Team, image: Image, now: datetime) -> HttpResponse:
    argument, marks, wish = request.POST.get("argument", ""), typed_marks(request.POST), request.POST.get("do")
    drawn: list[dict[str, Any]] = []
    try:
        refuse_other_team(request.POST.get("team", ""), team)
        if wish == "send":
            return _sent(request, team, image, argument, marks, now)
        if wish == "preview":
            argument = services.argument_said(argument)
            drawn = services.marks_said([each.value for each in marks], image)
    except Appealed as error:
        messages.info(request, error.message)
        return SeeOther(reverse("appeal", args=[error.appeal.public_id]))
    except DomainError as error:
        return _form(request, team, appeal_ground(image, team, now), _Typed(argument, marks, error), now)
    preview = drawn if wish == "preview" else None
    return _form(request, team, appeal_ground(image, team, now), _Typed(argument, marks, preview=preview), now)


def _sent(
    request: HttpRequest, team: Team, image: Image, argument: str, marks: list[TypedMark], now: datetime
) -> HttpResponse:
    appeal = services.appeal_send(
        image=image,
        team=team,
        argument=argument,
        marks=[each.value for each in marks],
        by=request.user,  # type: ignore[arg-type]  # a member is signed in
        now=now,
    )
    messages.success(request, f"Receipt {appeal.public_id}: your appeal is received.")
    return SeeOther(reverse("appeal", args=[appeal.public_id]))


def _form(request: HttpRequest, team: Team, ground: Ground, typed: _Typed, now: datetime) -> HttpResponse:
    image = ground.ruling.image
    context = _common(team, now) | {
        "ground": ground,
        "image": image,
        "url": picture_url(image, now=now),
        "words": ground.ruling.words,
        "lines": appeal_rows.certificate_of(ground.ruling, team, now=now),
        "receipts": appeal_rows.grounds_shown([ground], team, now=now)[0].receipts,
        "typed": typed,
        "rows": with_empty_rows(typed.marks),
        "fields": {typed.refused.field: typed.refused.message} if typed.refused and typed.refused.field else {},
        "least": services.MINIMUM_TEXT,
        "most": services.MOST_CHARACTERS,
        "most_marks": services.MOST_MARKS,
        "most_in_mark": services.MOST_IN_MARK,
        "script": _script(image, team),
    }
    status = http_status(typed.refused) if typed.refused else HTTPStatus.OK
    return render(request, "appeals/new.html", context, status=status)


def _script(image: Image, team: Team) -> dict[str, Any]:
    return {
        "width": image.width,
        "height": image.height,
        "mostMarks": services.MOST_MARKS,
        "least": services.MINIMUM_TEXT.characters,
        "most": services.MOST_CHARACTERS,
        "draft": f"appeal {team.public_id} {image.public_id}",
        "words": WORDS,
    }


WORDS = {
    "counter": "{count} of {most} characters",
    "short": "{count} characters, {missing} more to go",
    "mark": "Mark {number}",
    "where": "Mark {number}: {width} x {height} pixels at {x}, {y}",
    "full": "There are {most} marks, which is the most.",
    "removed": "Mark {number} is removed.",
    "restored": "What you wrote before is here again.",
    "remove": "Remove",
    "draw": "Draw a mark on the picture",
    "drawing": "Drag over the picture now",
}


# What became of it ----------------------------------------------------------------------------------------------------


@page(own_team_of)
def appeal(request: HttpRequest, team: Team, public_id: str) -> HttpResponse:
    """Show a team its appeal: the receipt, how far the board is, and what was said and decided."""
    now = domain_now()
    found = services.appeal_seen_by(public_id, team)
    context = _case_context(found.case, team, now) | {
        "appeal": found,
        "state": appeal_rows.state_of(found),
        "ruling_words": found.ruling.words,
        "beside": appeal_rows.said_by_appellants(found.case, but=found, now=now),
        "draft": _script(found.image, team)["draft"],
    }
    return render(request, "appeals/appeal.html", context)


def _case_context(case: Case, team: Team, now: datetime) -> dict[str, Any]:
    assert case.image is not None, "a picture's case has one"
    return _common(team, now) | {
        "case": case,
        "image": case.image,
        "url": picture_url(case.image, now=now),
        "clock": services.clock_of(case, now),
        "decided": appeal_rows.decision_shown(case),
        "answers": appeal_rows.said_by_others(case, team, now=now),
    }


@page(own_team_of, "GET POST")
def appeal_case(request: HttpRequest, team: Team, public_id: str) -> HttpResponse:
    """Show a team a case that concerns it, and take its one answer to the appeals: typed, looked at once more, and
    sent. Its own appeal has a page."""
    now = domain_now()
    case = services.case_of_party(public_id, team, now=now)
    own = _own_appeal(case, team)
    if own is not None:
        return SeeOther(reverse("appeal", args=[own.public_id]))
    if request.method != "POST" or request.POST.get("do") == "change":
        return _case_page(request, case, team, now)
    try:
        return _answered(request, case, team, now)
    except DomainError as error:
        return _case_page(request, services.case_of_party(public_id, team, now=now), team, now, refused=error)


def _answered(request: HttpRequest, case: Case, team: Team, now: datetime) -> HttpResponse:
    """Show an answer as it will be read; send it when that was looked at."""
    refuse_other_team(request.POST.get("team", ""), team)
    words = request.POST.get("words", "")
    if request.POST.get("do") != "send":
        services.refuse_statement(case, team)
        return _case_page(request, case, team, now, preview=services.answer_said(words))
    services.statement_send(
        case=case,
        team=team,
        words=words,
        by=request.user,  # type: ignore[arg-type]  # a member is signed in
        now=now,
    )
    messages.success(request, "Your answer is on record.")
    return SeeOther(reverse("appeal-case", args=[case.public_id]))


def _own_appeal(case: Case, team: Team) -> Appeal | None:
    return services.appeals_of(team).filter(case=case).first()


def _case_page(
    request: HttpRequest,
    case: Case,
    team: Team,
    now: datetime,
    *,
    refused: DomainError | None = None,
    preview: str = "",
) -> HttpResponse:
    assert case.ruling is not None, "a picture's case has one"
    statement, said = services.statement_of(case, team), appeal_rows.said_by_appellants(case, now=now)
    alone = said[0].appeal if len(said) == 1 else None
    context = _case_context(case, team, now) | {
        "said": said,
        "marks": alone.marks if alone is not None else [],
        "ruling": case.ruling,
        "ruling_words": case.ruling.words,
        "statement": statement,
        "may_answer": statement is None and case.state == CaseState.OPEN,
        "refused": refused,
        "typed": request.POST.get("words", ""),
        "preview": preview,
        "least": services.MINIMUM_TEXT,
        "most": services.MOST_CHARACTERS,
    }
    return render(request, "appeals/case.html", context, status=http_status(refused) if refused else HTTPStatus.OK)
