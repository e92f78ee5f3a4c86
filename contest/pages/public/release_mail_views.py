"""Views to subscribe to release e-mails, confirm the address, and unsubscribe with one click."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

from accounts.rate_limits import count_letter, count_wrong_link, may_send_letter
from common.domain_clock import domain_now
from common.errors import NotFound
from common.web.forms import Form, TextField
from common.web.page import page
from contest.releases import announcements


class AddressForm(Form):
    """The e-mail address to subscribe."""

    email = TextField("E-mail address", max_length=254, type="email", autocomplete="email")

    def save(self) -> bool:
        """Send the confirmation letter."""
        announcements.subscription_request(email=self.cleaned_data["email"])
        return True


@page(methods="GET POST")
def ask(request: HttpRequest) -> HttpResponse:
    """Take an address and send it a confirmation link; the subscription begins only with that link."""
    form = AddressForm.of(request)
    if form.is_valid():
        typed = form.cleaned_data["email"]
        if not may_send_letter(request, typed):
            return HttpResponse(status=429)
        count_letter(request, typed)
        if form.submit():
            return render(request, "record/mail.html", {"step": "asked", "typed": typed})
    return render(request, "record/mail.html", {"step": "ask", "form": form}, status=form.status)


@page(methods="GET POST")
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Confirm an address by a button, because mail programs open links by themselves."""
    try:
        address = announcements.address_from_link(token)
    except NotFound as error:
        count_wrong_link(request)
        return render(request, "record/mail.html", {"step": "over", "error": error}, status=404)
    if request.method != "POST":
        return render(request, "record/mail.html", {"step": "confirm", "typed": address})
    announcements.subscription_confirm(token=token, now=domain_now())
    return render(request, "record/mail.html", {"step": "confirmed", "typed": address})


@page(methods="GET POST")
@csrf_exempt  # mail programs post here without having seen a page (RFC 8058); the key in the link is the permission
def unsubscribe(request: HttpRequest, key: str) -> HttpResponse:
    """End the subscription; opening the link again gives the same page."""
    if request.method == "POST":
        announcements.subscription_end(key=key)
        return render(request, "record/mail.html", {"step": "ended"})
    there = announcements.subscriber_of(key) is not None
    return render(request, "record/mail.html", {"step": "end" if there else "ended", "key": key})
