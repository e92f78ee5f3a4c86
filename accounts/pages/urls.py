"""URLs of accounts: sign-in, own account, joining, and the organizers' list of people."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path

from accounts.pages import account_views, factor_views, password_views, people_views, sign_in_views

urlpatterns: list[URLPattern] = [
    path("sign-in/", sign_in_views.SignIn.as_view(), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("account/", account_views.account, name="account"),
    path("account/settings/", account_views.account_settings, name="account-settings"),
    path("account/sessions/end/", account_views.end_sessions, name="account-sessions-end"),
    path("account/tokens/revoke/", account_views.revoke_token, name="account-token-revoke"),
    path("account/email/", account_views.email, name="account-email"),
    path("account/email/<str:token>/", account_views.email_confirm, name="account-email-confirm"),
    path("account/password/", password_views.password, name="account-password"),
    path("account/second-factor/", factor_views.second_factor, name="account-second-factor"),
    path("account/delete/", account_views.delete, name="account-delete"),
    path("language/", account_views.language, name="language"),
    path("password/", password_views.reset, name="password-reset"),
    path("password/<str:uid>/<str:token>/", password_views.reset_confirm, name="password-reset-confirm"),
    path("join/<str:token>/", people_views.join, name="join"),
    path("organizer/people/", people_views.people, name="people"),
    path("organizer/people/<str:public_id>/delete/", people_views.remove_person, name="remove-person"),
]
api_urlpatterns: list[URLPattern] = []
