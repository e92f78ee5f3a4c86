"""Team pages of appeals: what the team may appeal, sending an appeal, its progress and decision (R18)."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.web.form_fields import SeeOther, redirect_with_message
from common.web.lists import page_of
from common.web.page import page
from contest.appeals import services
from contest.appeals.grounds import MAX_LISTED, AlreadyAppealed, appeal_ground, appeal_of, appealable, reader_for
from contest.board.models import Appeal, AppealStatement
from contest.core.enums import CaseState
from contest.core.models import Case, Team
from contest.core.picture_access import picture_seen_by
from contest.core.roles import own_team_of
from contest.pages.team import appeal_rows
from contest.pages.team.appeal_forms import AppealForm, StatementForm
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force

PAGE_SIZE = 50


@page(own_team_of)
def appeals_list(request: HttpRequest, team: Team) -> HttpResponse:
    """List rulings that a team may appeal now, its own appeals, and the appeals of others that concern it."""
    now = domain_now()
    found = appealable(team, now, limit=MAX_LISTED + 1)
    grounds = page_of(request, found[:MAX_LISTED], PAGE_SIZE)
    sent = page_of(request, services.appeals_of_team(team), PAGE_SIZE, name="sent")
    cases = page_of(request, appeal_rows.cases_of(team, now=now), PAGE_SIZE, name="cases")
    context = _common(team, now) | {
        "grounds": grounds,
        "more_grounds": len(found) > MAX_LISTED,
        "ground_rows": appeal_rows.ground_rows(list(grounds.object_list), team, now=now),
        "sent": sent,
        "sent_rows": appeal_rows.sent_appeal_rows(sent.object_list, now=now),
        "cases": cases,
        "case_rows": list(appeal_rows.concerned_case_rows(cases.object_list, team, now=now)),
    }
    return render(request, "appeals/appeals.html", context)


def _common(team: Team, now: datetime) -> dict[str, Any]:
    policy = policy_in_force(now).policy
    return {"team": team, "now": now, "zone": policy.time_zone, "policy": policy}


# Sending --------------------------------------------------------------------------------------------------------------


@page(own_team_of, "GET POST")
def appeal_new(request: HttpRequest, team: Team, image_id: str) -> HttpResponse:
    """Show the ruling of a picture that may be appealed, and take the appeal: typed, previewed, and sent."""
    now = domain_now()
    image = picture_seen_by(image_id, reader_for(team), now=now)
    earlier = appeal_of(team, image)
    if earlier is not None and request.method != "POST":
        return SeeOther(reverse("appeal", args=[earlier.public_id]))
    form = AppealForm.of(request)
    done = form.submit(image=image, team=team, by=request.user)
    if isinstance(done, Appeal):
        return redirect_with_message(
            request, f"Receipt {done.public_id}: your appeal is received.", "appeal", done.public_id
        )
    if isinstance(form.refused, AlreadyAppealed):
        messages.info(request, form.refused.message)
        return SeeOther(reverse("appeal", args=[form.refused.appeal.public_id]))
    ground = appeal_ground(image, team, now)
    context = _common(team, now) | {
        "ground": ground,
        "image": image,
        "url": picture_url(image, now=now),
        "words": ground.ruling.words,
        "lines": appeal_rows.team_certificate(ground.ruling, team, now=now),
        "receipts": appeal_rows.ground_rows([ground], team, now=now)[0]["receipts"],
        "form": form,
        "preview": done,
        "max_marks": services.MAX_MARKS,
        "script": _script(image, team),
    }
    return render(request, "appeals/new.html", context, status=form.status)


def _script(image: Image, team: Team) -> dict[str, Any]:
    return {
        "width": image.width,
        "height": image.height,
        "maxMarks": services.MAX_MARKS,
        "least": services.MIN_TEXT.characters,
        "most": services.MAX_ARGUMENT_CHARACTERS,
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


# Progress and decision ------------------------------------------------------------------------------------------------


@page(own_team_of)
def appeal(request: HttpRequest, team: Team, public_id: str) -> HttpResponse:
    """Show a team its appeal: the receipt, the board's progress, the arguments and the decision."""
    now = domain_now()
    found = services.appeal_seen_by(public_id, team)
    context = _case_context(found.case, team, now) | {
        "appeal": found,
        "state": appeal_rows.status_of(found),
        "ruling_words": found.ruling.words,
        "beside": appeal_rows.arguments_of(found.case, but=found, now=now),
        "draft": _script(found.image, team)["draft"],
    }
    return render(request, "appeals/appeal.html", context)


def _case_context(case: Case, team: Team, now: datetime) -> dict[str, Any]:
    assert case.image is not None, "a picture's case has one"
    return _common(team, now) | {
        "case": case,
        "image": case.image,
        "url": picture_url(case.image, now=now),
        "clock": services.case_clock(case, now),
        "decided": appeal_rows.decision_summary(case),
        "answers": appeal_rows.answers_of_others(case, team, now=now),
    }


@page(own_team_of, "GET POST")
def appeal_case(request: HttpRequest, team: Team, public_id: str) -> HttpResponse:
    """Show a team a case that concerns it, and take its one answer to the appeals: typed, previewed, and sent. Its own
    appeal has a page."""
    now = domain_now()
    case = services.case_of_party(public_id, team, now=now)
    own = services.appeals_of_team(team).filter(case=case).first()
    if own is not None:
        return SeeOther(reverse("appeal", args=[own.public_id]))
    form = StatementForm.of(request)
    done = form.submit(case=case, team=team, by=request.user)
    if isinstance(done, AppealStatement):
        return redirect_with_message(request, "Your answer is on record.", "appeal-case", case.public_id)
    case = services.case_of_party(public_id, team, now=now)
    assert case.ruling is not None, "a picture's case has one"
    statement, arguments = services.statement_of(case, team), appeal_rows.arguments_of(case, now=now)
    alone = arguments[0].appeal if len(arguments) == 1 else None
    context = _case_context(case, team, now) | {
        "arguments": arguments,
        "marks": alone.marks if alone is not None else [],
        "ruling": case.ruling,
        "ruling_words": case.ruling.words,
        "statement": statement,
        "may_answer": statement is None and case.state == CaseState.OPEN,
        "form": form,
        "preview": done,
    }
    return render(request, "appeals/case.html", context, status=form.status)
