"""The addresses where a policy is tried."""

from django.urls import path

from contest.what_if import views

urlpatterns = [
    path("organizer/what-if/", views.what_if, name="what-if"),
    path("organizer/what-if/part/", views.part, name="what-if-part"),
]
