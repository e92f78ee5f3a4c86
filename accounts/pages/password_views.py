"""Views for changing a password and for resetting a forgotten one."""

from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from accounts import passwords
from accounts.access import signed_in
from accounts.pages.forms import PasswordForm, ResetForm, ResetRequestForm
from accounts.rate_limits import count_wrong_link, may_send_letter
from common.errors import NotFound
from common.web.form_fields import redirect_with_message, text
from common.web.page import page


@page(signed_in, "GET POST")
def password(request: HttpRequest, user: User) -> HttpResponse:
    """Change the password; every other session and every token ends."""
    form = PasswordForm.of(request, request=request, user=user)
    if form.submit():
        update_session_auth_hash(request, user)
        return redirect_with_message(
            request, _("Your password is changed. Every other session and every token has ended."), "account"
        )
    return render(request, "accounts/password.html", {"form": form}, status=form.status)


@page(methods="GET POST")
def reset(request: HttpRequest) -> HttpResponse:
    """Request a link to reset the password. The page is the same whether or not the account exists."""
    if request.method == "POST" and not may_send_letter(request, text(request, "email")):
        return HttpResponse(status=429)
    form = ResetRequestForm.of(request)
    if address := form.submit(request=request):
        return render(request, "accounts/reset_sent.html", {"address": address})
    return render(request, "accounts/reset.html", {"form": form}, status=form.status)


@page(methods="GET POST")
def reset_confirm(request: HttpRequest, uid: str, token: str) -> HttpResponse:
    """Choose a new password; every session and every token ends."""
    try:
        user = passwords.user_of_reset(uid, token)
    except NotFound as error:
        count_wrong_link(request)
        return render(request, "accounts/link_over.html", {"error": error, "again": "password-reset"}, status=404)
    form = ResetForm.of(request)
    if form.submit(user=user):
        return redirect_with_message(request, _("Your password is changed. Sign in with it."), "sign-in")
    return render(request, "accounts/reset_confirm.html", {"owner": user, "form": form}, status=form.status)
