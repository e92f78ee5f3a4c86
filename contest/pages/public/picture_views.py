"""Public page of one picture: its whole history, with permanent links (R24, R39)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.domain_clock import domain_now
from common.web.page import page
from contest.core.picture_access import Reader, picture_known_to
from contest.record.picture_page import public_picture_content
from policy.selectors import policy_in_force


@page()
def picture_record(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show a picture as far as the reader may see it; NotFound for one under embargo as for an unknown one."""
    reader, now = Reader.of(request.user), domain_now()
    known = picture_known_to(reader, public_id, now=now)
    context = {"now": now, "zone": policy_in_force(now).policy.time_zone}
    return render(request, "record/picture.html", context | public_picture_content(known, reader, now=now))
