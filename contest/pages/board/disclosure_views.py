"""Board page on which a member discloses conflicts of interest before a case opens (R21)."""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from common.domain_clock import domain_now
from common.errors import DomainError
from common.web.form_fields import go_to, redirect_with_message
from common.web.page import page
from contest.board.cases import case_seen_by, parties_refresh, refuse_missing_parties
from contest.board.recusal import DISCLOSURE_VALID_FOR
from contest.core.models import Case
from contest.core.roles import board_member_of
from contest.pages.board.disclosure_forms import ASIDE, DisclosureForm
from contest.web.page_context import money_context


@page(board_member_of, "GET POST")
def case_disclose(request: HttpRequest, member: User, public_id: str) -> HttpResponse:
    """Ask for the member's conflicts with the teams of a case, before the case is visible (R21)."""
    now = domain_now()
    if request.method == "POST":
        parties_refresh(public_id, now=now)
    case = case_seen_by(member, public_id)
    if request.method != "POST":
        refuse_missing_parties(case, now=now)
    form = DisclosureForm.of(request, case=case, member=member)
    answer = form.submit()
    if answer == ASIDE:
        words = f"You stepped aside from case {public_id}. It is closed to you now, and others decide it. Thank you."
        return redirect_with_message(request, words, "board-cases")
    if answer:
        return go_to("board-case", public_id)
    if form.refused is not None:
        # The teams of the case may have changed, or the member may have lost access.
        again = DisclosureForm.of(request, case=case_seen_by(member, public_id), member=member)
        again.refuse(form.refused)
        form = again
    return _page(request, form)


def disclose_first(request: HttpRequest, case: Case, member: User, error: DomainError, *, kept: str) -> HttpResponse:
    """Show the disclosure page in place of a page that needs it; `kept` is what the member typed there."""
    form = DisclosureForm(case=case, member=member)
    form.refuse(error)
    return _page(request, form, kept=kept)


def _page(request: HttpRequest, form: DisclosureForm, *, kept: str = "") -> HttpResponse:
    if not form.teams and form.refused is None:
        return redirect("board-case", form.case.public_id)
    context = {"case": form.case, "form": form, "days": DISCLOSURE_VALID_FOR.days, "kept": kept}
    return render(request, "board/disclose.html", context | money_context(domain_now()), status=form.status)
