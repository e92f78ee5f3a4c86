"""Board page that decides a case, with a preview of the decision's impact (R22)."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from common.domain_clock import domain_now
from common.errors import Conflict, DomainError
from common.web.form_fields import redirect_with_message
from common.web.page import page
from contest.board.case_messages import OUTCOME_WORDS, describe_case
from contest.board.cases import (
    VoteCount,
    case_opened_by,
    case_seen_by,
    count_of,
    parties_refresh,
    refuse_missing_parties,
)
from contest.board.decisions import refuse_undecided
from contest.board.impact_preview import preview_impact
from contest.board.motion_handlers import motion_check
from contest.board.public_decisions import ballot_words, decision_to_come
from contest.board.recusal import teams_of_case, undisclosed
from contest.core.enums import CaseKind, CaseOutcome, CaseState, VoteChoice
from contest.core.models import Case
from contest.core.roles import board_member_of
from contest.pages.board.case_views import show_refused, vote_of, vote_rows
from contest.pages.board.case_words import Sentence, impact_sentences, motion_content, sums_awarded
from contest.pages.board.disclosure_views import disclose_first
from contest.pages.board.vote_forms import CaseDecisionForm
from contest.web.page_context import money_context


@page(board_member_of, "GET POST")
def case_decision(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Show the votes' outcome, its consequences and its public text; take the confirmation."""
    if request.method == "POST":
        parties_refresh(public_id, now=domain_now())
    case, kept = case_seen_by(member, public_id), request.POST.get("explanation", "")
    refuse_missing_parties(case, now=domain_now())
    try:
        case = case_opened_by(member, public_id)
    except Conflict as error:
        if request.method == "POST":
            return disclose_first(request, case, member, error, kept=kept)
        return redirect("board-case-disclose", public_id)
    form = CaseDecisionForm.of(request, count=count_of(case))
    if request.method != "POST":
        return _page(request, case, member, form)
    if not form.is_previewed:
        # A decision can be confirmed only after a preview of its public text.
        return _page(request, case, member, form, previewed=True)
    made = form.submit(case=case, by=member)
    if made is None:
        again = case_seen_by(member, public_id)
        if undisclosed(again, member):
            return show_refused(request, public_id, member, form, kept=kept)
        return _page(request, again, member, form)
    return redirect_with_message(
        request, f"Decided: {OUTCOME_WORDS[CaseOutcome(made.outcome)]}.", "board-case", public_id
    )


def _page(
    request: HttpRequest, case: Case, member: User, form: CaseDecisionForm, *, previewed: bool = False
) -> HttpResponse:
    """Show the outcome of the present votes; redirect to the case if it is decided or the member has not voted."""
    count = count_of(case)
    if case.state != CaseState.OPEN or vote_of(count, member) is None:
        if form.refused is None:
            return redirect("board-case", case.public_id)
        return show_refused(request, case.public_id, member, form, kept=request.POST.get("explanation", ""))
    framed = money_context(domain_now())
    explanation = str(form.fields["explanation"].to_python(form["explanation"].value()))
    context = {
        "case": case,
        "what": describe_case(case),
        "count": count,
        "votes": vote_rows(count, member),
        "missing": max(count.quorum - len(count.votes), 0),
        "decides": ballot_words(count.decides),
        "form": form,
        "preview": decision_to_come(count, explanation),
        "previewed": previewed,
        **_impact(case, count, member, framed),
    }
    return render(request, "board/decide.html", context | framed, status=form.status)


def _impact(case: Case, count: VoteCount, member: User, framed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the consequences of the votes' outcome, or why it cannot be carried out now."""
    currency, now = framed["currency"], framed["now"]
    try:
        refuse_undecided(case, count, now=now)
        if case.kind == CaseKind.PICTURE:
            found = preview_impact(case, count.decides, now=now)
            return {"impact": impact_sentences(found, teams_of_case(case), currency=currency)}
        content = motion_content(case, currency=currency)
        if count.decides.choice is not VoteChoice.IN_FAVOUR:
            return content | {"impact": [Sentence("The motion is lost, and nothing changes.")]}
        motion_check(case, now=now)
        return content | {"impact": [Sentence(content["does"]), *sums_awarded(case, currency=currency)]}
    except DomainError as error:
        return {"cannot": error.message}
