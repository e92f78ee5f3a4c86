"""Board page to examine rejected pictures before an award, by keyboard: confirm, open a case, or skip (R37)."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from adjudication.selectors import rulings_with_panels
from common.domain_clock import domain_now
from common.errors import InvalidInput, required
from common.typed import whole_number
from common.web.form_fields import SeeOther
from common.web.forms import Form
from common.web.page import page
from contest.attacks.selectors import picture_sent
from contest.board.cases import case_open
from contest.board.examinations import may_examine, members_for, picture_confirm, queue_of
from contest.core.roles import board_member_of
from contest.prizes.examined_pictures import examined_share
from contest.record.picture_answers import (
    NARROW,
    WIDE,
    panel_answers,
    rulings_with_answers,
    smallest_box_of,
    zoom_of,
)
from contest.web.page_context import money_context
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force
from scoring.models import Defense
from scoring.selectors import defense_named


@page(board_member_of, "GET POST")
def examination(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Show the next rejected picture that an award waits for; confirm it, or open a case.

    `?at=3` shows the fourth picture that is left: skipped pictures come again. Http404 for a defense of a team
    that the member steps aside for (R21).
    """
    defense, now = defense_named(public_id), domain_now()
    if not may_examine(member, defense, now=now):
        raise Http404("no such sweep for this member")
    form = ExaminationForm.of(request)
    if address := form.submit(defense=defense, by=member):
        if form.confirms:
            messages.success(request, f"{form.cleaned_data['image']} is confirmed as invalid.")
        return SeeOther(address)
    return _page(request, defense, member, form)


class ExaminationForm(Form):
    """A member's answer about a picture: the ruling is right, or (button `case`) the board shall vote on it.

    `ruling` is the number of the ruling that they saw, `at` the place of the picture in their list.
    """

    image = forms.CharField(required=False)
    ruling = forms.CharField(required=False)
    at = forms.CharField(required=False)

    @property
    def confirms(self) -> bool:
        """Say whether the ruling is right."""
        return "case" not in self.data

    def save(self, *, defense: Defense, by: User) -> str:
        """Record the answer; return the address of the next picture, or of the case that `case` opened."""
        now, data = domain_now(), self.cleaned_data
        image = required(
            picture_sent(data["image"]), InvalidInput("The picture is not there. Go on with the next.", "invalid")
        )
        if not self.confirms:
            return reverse("board-case", args=[case_open(image=image, by=by, now=now).public_id])
        picture_confirm(image=image, defense=defense, ruling=whole_number(data["ruling"]) or 0, by=by, now=now)
        return _at(defense, whole_number(data["at"], digits=6) or 0)


def _at(defense: Defense, place: int) -> str:
    address = reverse("board-examination", args=[defense.public_id])
    return f"{address}?at={place}" if place else address


def _page(request: HttpRequest, defense: Defense, member: User, form: ExaminationForm) -> HttpResponse:
    now = domain_now()
    queue = queue_of(defense, member, now=now)
    left = queue.number
    given = (request.POST if form.is_bound else request.GET).get("at", "")
    # After the last picture the list starts again: skipped pictures still have to be examined.
    place = (whole_number(given, digits=6) or 0) % left if left else 0
    pictures = list(queue.mine[place : place + 2])
    context: dict[str, Any] = {
        "defense": defense,
        "share": examined_share(defense, now=now),
        "queue": queue,
        "left": left,
        "place": place,
        "needed": policy_in_force(now).policy.examination_members,
        "form": form,
    }
    if pictures:
        context |= _picture(pictures[0], defense, now)
        context |= {"after": _at(defense, place + 1), "before": _at(defense, (place - 1) % left)}
        context["ahead"] = picture_url(pictures[1], now=now) if pictures[1:] else ""
    return render(request, "awards/examination.html", context | money_context(now), status=form.status)


def _picture(image: Image, defense: Defense, now: datetime) -> dict[str, Any]:
    """Return the picture with its answers and the ruling in force, as on the page of a case."""
    rulings = rulings_with_panels(image)
    answers = panel_answers(image, rulings)
    holds = rulings_with_answers(image, rulings, answers)[-1]
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
