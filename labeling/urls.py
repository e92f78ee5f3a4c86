"""The pages and calls of labeling."""

from django.urls import path

from labeling import api, picture_views, views

urlpatterns = [
    path("label/", views.label, name="label"),
    path("label/instructions/", views.instructions, name="instructions"),
    path("pictures/<str:token>.png", picture_views.picture, name="picture"),
]
api_urlpatterns = [
    path("assignments/next/", api.AssignmentNext.as_view(), name="assignment-next"),
    path(
        "assignments/<uuid:assignment_id>/heartbeat/",
        api.AssignmentHeartbeat.as_view(),
        name="assignment-heartbeat",
    ),
    path("assignments/<uuid:assignment_id>/release/", api.AssignmentRelease.as_view(), name="assignment-release"),
    path(
        "assignments/<uuid:assignment_id>/response/",
        api.AssignmentResponse.as_view(),
        name="assignment-response",
    ),
]
