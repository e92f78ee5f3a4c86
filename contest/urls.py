"""The pages and calls of the contest."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

import contest.defenses.urls
import contest.scoring_queue.urls
from contest import api, health, views

urlpatterns = [
    path("", views.home, name="home"),
    path("organizer/", views.overview, name="overview"),
    path("organizer/now/", views.overview_now, name="overview-now"),
    path("organizer/releases/<str:name>.zip", views.release_file, name="release-file"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/docs/", views.api_docs, name="api-docs"),
    *contest.defenses.urls.urlpatterns,
    *contest.scoring_queue.urls.urlpatterns,
]
api_urlpatterns = [
    path("token/", api.Token.as_view(), name="token"),
    path("me/", api.Me.as_view(), name="me"),
]
