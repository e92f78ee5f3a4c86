"""The public pages that say what the contest is."""

from django.urls import URLPattern, path

from contest.front import views

urlpatterns: list[URLPattern] = [
    path("front/", views.front_page, name="front"),
    path("rules/", views.rules, name="rules"),
    path("docs/defenses/", views.defenses, name="docs-defenses"),
    path("docs/status/", views.status, name="docs-status"),
    path("docs/release-format/", views.release_format, name="docs-release-format"),
]
