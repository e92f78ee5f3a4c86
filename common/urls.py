"""Signing in and out, and the sign of life."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from common import views

urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("healthz", views.healthz, name="healthz"),
]
