"""The pages and calls of labeling."""

from django.urls import path

import labeling.asking.urls
import labeling.learning.urls
import labeling.my_work.urls
from labeling.pages import assignment_calls, label_views, picture_views, preference_calls

_parts = (
    labeling.asking.urls,
    labeling.learning.urls,
    labeling.my_work.urls,
)
urlpatterns = [
    path("label/", label_views.label, name="label"),
    path("label/instructions/", label_views.instructions, name="instructions"),
    path("label/instructions/news/", label_views.instructions_news, name="instructions-news"),
    path("pictures/<str:token>.png", picture_views.picture, name="picture"),
    *(pattern for part in _parts for pattern in part.urlpatterns),
]
api_urlpatterns = [
    path("assignments/next/", assignment_calls.AssignmentNext.as_view(), name="assignment-next"),
    path(
        "assignments/<uuid:assignment_id>/heartbeat/",
        assignment_calls.AssignmentHeartbeat.as_view(),
        name="assignment-heartbeat",
    ),
    path(
        "assignments/<uuid:assignment_id>/release/",
        assignment_calls.AssignmentRelease.as_view(),
        name="assignment-release",
    ),
    path(
        "assignments/<uuid:assignment_id>/response/",
        assignment_calls.AssignmentResponse.as_view(),
        name="assignment-response",
    ),
    path("preferences/", preference_calls.Preferences.as_view(), name="preferences"),
    path("notices/", preference_calls.Notices.as_view(), name="notices"),
    path("notices/<uuid:notice_id>/seen/", preference_calls.NoticeSeen.as_view(), name="notice-seen"),
    *(pattern for part in _parts for pattern in part.api_urlpatterns),
]
