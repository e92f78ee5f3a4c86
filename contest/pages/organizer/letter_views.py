"""Organizers' pages of letters, the e-mails that the system sends."""

from csp.constants import NONE, SELF, UNSAFE_INLINE
from csp.decorators import csp, csp_update
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_sameorigin

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.form_fields import redirect_with_message, text
from common.web.lists import page_of
from common.web.page import page
from contest.operations import made_letters
from policy.selectors import policy_in_force

PAGE_SIZE = 50
MAX_FILED = 50
# A letter's HTML has inline styles and loads nothing; scripts in it never run.
_OF_A_LETTER = {
    "default-src": [NONE],
    "style-src": [UNSAFE_INLINE],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": [SELF],
    "sandbox": ["allow-popups"],
}


@page(organizer_of, "GET POST")
def letters(request: HttpRequest, organizer: User) -> HttpResponse:
    """List letters; a POST makes failed ones due at once: the named one, or all."""
    now = domain_now()
    if request.method == "POST":
        name = text(request, "letter", 40)
        tried = (
            made_letters.send_again(made_letters.letter_by_name(name, now=now))
            if name
            else made_letters.retry_given_up()
        )
        return redirect_with_message(
            request,
            f"{tried} letter{' is' if tried == 1 else 's are'} tried again with the next sweep.",
            "message-outbox",
        )
    page = page_of(request, made_letters.letter_rows(now=now), PAGE_SIZE)
    rows = made_letters.read_letter(page.object_list, now=now)
    context = {
        "page": page,
        "rows": rows,
        "failed": any(row.again for row in rows),
        "all": made_letters.shows_all_letters(),
        "filed": made_letters.filed_letters(MAX_FILED) if page.number == 1 else [],
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "messages/outbox.html", context)


@page(organizer_of)
@csp_update({"frame-src": [SELF]})  # type: ignore[arg-type]  # its types know views of one argument alone
def letter(request: HttpRequest, organizer: User, name: str) -> HttpResponse:
    """Show one letter as it is sent, where all letters are listed."""
    found, now = _letter_or_404(name), domain_now()
    mail = found.mail()
    context = {
        "letter": found,
        "mail": mail,
        "html": _html(mail),
        "now": now,
        "zone": policy_in_force(now).policy.time_zone,
    }
    return render(request, "messages/letter.html", context)


@page(organizer_of)
@csp(_OF_A_LETTER)  # type: ignore[arg-type]  # as above
@xframe_options_sameorigin
def letter_html(request: HttpRequest, organizer: User, name: str) -> HttpResponse:
    """Return a letter's HTML part as a page without any permission."""
    html = _html(_letter_or_404(name).mail())
    if not html:
        raise Http404("no such part")
    return HttpResponse(html)


def _letter_or_404(name: str) -> made_letters.LetterRow:
    if not made_letters.shows_all_letters():
        raise Http404("letters are read by those they are for")
    return made_letters.letter_by_name(name, now=domain_now())


def _html(mail: object) -> str:
    parts = getattr(mail, "alternatives", [])
    return str(parts[0][0]) if parts else ""
