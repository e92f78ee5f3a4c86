"""The pages and calls of asking and reporting."""

from django.urls import URLPattern, path

from labeling.asking import api, views

urlpatterns: list[URLPattern] = [
    path("questions/", views.questions, name="questions"),
    path("organizer/questions/", views.organizer_questions, name="organizer-questions"),
    path("organizer/reports/", views.reports, name="reports"),
]
api_urlpatterns: list[URLPattern] = [path("questions/", api.Questions.as_view(), name="question-ask")]
