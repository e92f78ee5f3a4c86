"""Views of a tasker's own work, its signed download, and the public keys."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control

from common.domain_clock import domain_now
from common.errors import NotFound
from common.web.lists import DayFilter, ListFilter
from common.web.page import page
from labeling.access import tasker_of
from labeling.models import Response, Tasker
from labeling.my_work import answer_words, selectors
from labeling.my_work.answer_status import standing_reader
from labeling.my_work.feedback import GoldShare, retired_marks, weekly_shares
from labeling.my_work.keys import public_keys, signing_key
from labeling.my_work.record import record_lines
from labeling.my_work.signing import signed_lines
from labeling.pictures.addresses import picture_url
from policy.enums import GoldFeedback
from policy.numbers import Policy
from policy.selectors import policy_in_force

# How many lines of a download are sent at once: one chunk for each line would be slow.
_LINES_AT_ONCE = 200


class AnswerFilter(ListFilter):
    """Own answers by the day they were sent."""

    day = DayFilter(
        label=gettext_lazy("Day"),
        method="of_day",
        wrong=gettext_lazy("Choose a day as year-month-day, such as 2026-11-20."),
    )

    def of_day(self, rows: QuerySet[Response], name: str, day: date) -> QuerySet[Response]:
        """Filter by day."""
        return selectors.answers_of_day(rows, day, timezone.get_current_timezone())


@page(tasker_of)
def my_work(request: HttpRequest, tasker: Tasker) -> HttpResponse:
    """Show a tasker their own answers, newest first, and totals."""
    now, before, own = domain_now(), _before(request), selectors.own_answers(tasker)
    last, filtered = selectors.answer_to(own, before) if before else None, AnswerFilter(request, own)
    answers, older = selectors.answers_page(filtered.rows, last)
    is_first = before is None and not filtered.query
    context = {
        "answers": _answer_rows(tasker, answers, now),
        "older": older,
        "filter": filtered,
        "day": filtered.form.cleaned_data.get("day"),
        "is_first": is_first,
        **(_first_page(tasker, now) if is_first else {}),
    }
    return render(request, "my_work/my_work.html", context, status=filtered.form.status)


def _before(request: HttpRequest) -> UUID | None:
    text = request.GET.get("before", "")
    try:
        return UUID(text) if text else None
    except ValueError:
        raise NotFound(_("There is no such answer of yours."), "not_found") from None


def _answer_rows(tasker: Tasker, answers: Iterable[Response], now: datetime) -> list[dict[str, Any]]:
    """Own answers with all that their rows and pages show."""
    standing = standing_reader(tasker)
    return [
        {
            "response": response,
            "picture": picture_url(response.image, now=now),
            "polygons": answer_words.svg_polygons(response.outline),
            "said": answer_words.answers_in_words(response),
            "spent": answer_words.duration(response.milliseconds),
            "standing": answer_words.standing_in_words(standing(response)),
        }
        for response in answers
    ]


def _first_page(tasker: Tasker, now: datetime) -> dict[str, Any]:
    policy = policy_in_force(now).policy
    sums = selectors.sums_of(tasker, zone=timezone.get_current_timezone(), now=now)
    return {
        "sums": sums,
        "today": _today(sums.days, now),
        "time_in_all": answer_words.duration(sums.milliseconds),
        "days": _with_durations(sums.days),
        "weeks": _with_durations(sums.weeks),
        "shares": _shares(tasker, policy, now),
        "minimum": policy.gold_minimum,
        "shares_told": policy.gold_feedback is not GoldFeedback.NONE,
        "retired_told": policy.gold_feedback is GoldFeedback.RETIRED,
    }


def _today(days: Iterable[selectors.PeriodTotals], now: datetime) -> tuple[int, str] | None:
    today = timezone.localtime(now).date()
    found = next((each for each in days if each.first == today), None)
    return (found.answers, answer_words.duration(found.milliseconds)) if found else None


def _with_durations(spans: Iterable[selectors.PeriodTotals]) -> list[tuple[selectors.PeriodTotals, str]]:
    return [(span, answer_words.duration(span.milliseconds)) for span in spans]


def _shares(tasker: Tasker, policy: Policy, now: datetime) -> list[tuple[date, date, GoldShare]]:
    if policy.gold_feedback is GoldFeedback.NONE:
        return []
    shares = weekly_shares(tasker, minimum=policy.gold_minimum, zone=ZoneInfo(policy.time_zone), now=now)
    return [(share.first.date(), share.last.date() + timedelta(days=6), share) for share in shares]


@page(tasker_of)
def my_answer(request: HttpRequest, tasker: Tasker, assignment_id: UUID) -> HttpResponse:
    """Show one own answer, its picture large."""
    now = domain_now()
    response = selectors.answer_to(selectors.own_answers(tasker), assignment_id)
    return render(request, "my_work/my_answer.html", {"answer": _answer_rows(tasker, [response], now)[0]})


@page(tasker_of)
def my_checks(request: HttpRequest, tasker: Tasker) -> HttpResponse:
    """Show own answers to retired known pictures, if the policy allows this feedback (R6)."""
    now = domain_now()
    if policy_in_force(now).policy.gold_feedback is not GoldFeedback.RETIRED:
        raise Http404("the policy tells nobody of these")
    shown = [
        {
            "mark": mark,
            "picture": picture_url(mark.known.image, now=now),
            "given": answer_words.svg_polygons(mark.response.outline),
            "expected": answer_words.svg_polygons(mark.known.outline),
            "said": answer_words.answers_in_words(mark.response),
            "right_answers": answer_words.expected_in_words(mark.known),
            "marks": answer_words.marks_in_words(mark.marks),
        }
        for mark in retired_marks(tasker)
    ]
    return render(request, "my_work/my_checks.html", {"checks": shown})


@page(tasker_of)
def my_download(request: HttpRequest, tasker: Tasker) -> StreamingHttpResponse:
    """Send a tasker all their answers as one signed file, as they are read."""
    now = domain_now()
    lines = signed_lines(record_lines(tasker=tasker, site=settings.PUBLIC_URL, now=now), signing_key())
    answer = StreamingHttpResponse(_in_pieces(lines), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="my-work-{tasker.public_id}-{now:%Y-%m-%d}.json"'
    return answer


def _in_pieces(lines: Iterable[bytes]) -> Iterable[bytes]:
    piece: list[bytes] = []
    for line in lines:
        piece.append(line)
        if len(piece) == _LINES_AT_ONCE:
            yield b"".join(piece)
            piece = []
    yield b"".join(piece)


@page(cache=cache_control(public=True, max_age=3600))
def signing_keys(request: HttpRequest) -> JsonResponse:
    """Publish the keys that check what this site has signed, as a JSON Web Key Set."""
    return JsonResponse(public_keys())
