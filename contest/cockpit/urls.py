"""The pages behind the cockpit; the cockpit itself is the organizers' overview."""

from django.urls import URLPattern, path

from contest.cockpit import views

urlpatterns: list[URLPattern] = [
    path("organizer/weeks/<str:week>/", views.week_left, name="organizer-week"),
    path("organizer/differing/", views.differing, name="organizer-differing"),
    path("organizer/cases/<str:public_id>/remind/", views.remind, name="organizer-case-remind"),
]
