"""The pages of the audit trail."""

from django.urls import URLPattern, path

from contest.audit import views

urlpatterns: list[URLPattern] = [
    path("organizer/audit/", views.trail, name="audit"),
    path("organizer/audit.csv", views.trail_csv, name="audit-csv"),
]
