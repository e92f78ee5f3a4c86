"""The sweep before an award, picture by picture and by keyboard: confirm, open a case, or leave it for later (R37)."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput
from common.typed import whole_number
from common.web.error_status import http_status
from common.web.form_fields import go_to, text
from common.web.page import page
from contest.attacks.selectors import picture_sent
from contest.board.cases import case_open
from contest.board.examinations import may_examine, members_for, picture_confirm, queue_of
from contest.core.roles import board_member_of
from contest.prizes.examined_pictures import examined_share
from contest.record.picture_answers import NARROW, WIDE, answers_of, rulings_of, smallest_box_of, zoom_of
from contest.web.page_context import frame
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force
from scoring.models import Defense
from scoring.selectors import defense_named


@page(board_member_of, "GET POST")
def examination(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Show the next rejected picture that an award waits for; take what the member says of it.

    `?at=3` shows the fourth of those that are left: what was passed over comes again. Http404 for a defense of a team
    that the member steps aside for (R21).
    """
    defense, now = defense_named(public_id), domain_now()
    if not may_examine(member, defense, now=now):
        raise Http404("no such sweep for this member")
    if request.method != "POST":
        return _page(request, defense, member, now)
    try:
        return _do(request, defense, member, now)
    except DomainError as error:
        return _page(request, defense, member, now, error)


def _do(request: HttpRequest, defense: Defense, member: User, now: datetime) -> HttpResponse:
    image = picture_sent(text(request, "image"))
    if image is None:
        raise InvalidInput("The picture is not there. Go on with the next.", "invalid", field="image")
    if "case" in request.POST:
        case = case_open(image=image, by=member, now=now)
        return go_to("board-case", case.public_id)
    ruling = whole_number(text(request, "ruling")) or 0
    picture_confirm(image=image, defense=defense, ruling=ruling, by=member, now=now)
    messages.success(request, f"{image.public_id} is confirmed as invalid.")
    return HttpResponseRedirect(_at(defense, whole_number(text(request, "at"), digits=6) or 0))


def _at(defense: Defense, place: int) -> str:
    address = reverse("board-examination", args=[defense.public_id])
    return f"{address}?at={place}" if place else address


def _page(
    request: HttpRequest, defense: Defense, member: User, now: datetime, error: DomainError | None = None
) -> HttpResponse:
    queue = queue_of(defense, member, now=now)
    left = queue.mine.count()
    asked = request.POST.get("at", "") if request.method == "POST" else request.GET.get("at", "")
    # Behind the last one it begins again: what was passed over is still to be looked at.
    place = (whole_number(asked, digits=6) or 0) % left if left else 0
    image = queue.mine[place : place + 1].first()
    context: dict[str, Any] = {
        "defense": defense,
        "share": examined_share(defense, now=now),
        "queue": queue,
        "left": left,
        "place": place,
        "needed": policy_in_force(now).policy.examination_members,
        "wrong": error,
    }
    if image is not None:
        context |= _picture(image, defense, now)
        context |= {"after": _at(defense, place + 1), "before": _at(defense, (place - 1) % left)}
        following = queue.mine[place + 1 : place + 2].first()
        context["ahead"] = picture_url(following, now=now) if following is not None else ""
    status = http_status(error) if error else 200
    return render(request, "awards/examination.html", context | frame(now), status=status)


def _picture(image: Image, defense: Defense, now: datetime) -> dict[str, Any]:
    """Return the picture with its answers and the ruling that holds, as the page of a case shows them."""
    answers = answers_of(image)
    holds = rulings_of(image, answers)[-1]
    return {
        "image": image,
        "url": picture_url(image, now=now),
        "answers": [each for each in answers if each in holds.columns],
        "holds": holds,
        "smallest": smallest_box_of(holds, image),
        "confirmed": members_for(image, defense),
        "zoom": zoom_of(image.width, WIDE),
        "zoom_phone": zoom_of(image.width, NARROW),
    }
