"""The pages and calls of labeling."""

from django.urls import path

import labeling.asking.urls
import labeling.learning.urls
import labeling.my_work.urls
from labeling import api, page_api, picture_views, views

_parts = (
    labeling.asking.urls,
    labeling.learning.urls,
    labeling.my_work.urls,
)
urlpatterns = [
    path("label/", views.label, name="label"),
    path("label/instructions/", views.instructions, name="instructions"),
    path("label/instructions/news/", views.instructions_news, name="instructions-news"),
    path("pictures/<str:token>.png", picture_views.picture, name="picture"),
    *(pattern for part in _parts for pattern in part.urlpatterns),
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
    path("preferences/", page_api.Preferences.as_view(), name="preferences"),
    path("notices/", page_api.Notices.as_view(), name="notices"),
    path("notices/<uuid:notice_id>/seen/", page_api.NoticeSeen.as_view(), name="notice-seen"),
    *(pattern for part in _parts for pattern in part.api_urlpatterns),
]
