"""The pages and calls of the contest."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

import contest.attacks.urls
import contest.audit.urls
import contest.awards.urls
import contest.board.team_urls
import contest.board.urls
import contest.cockpit.urls
import contest.defenses.urls
import contest.front.urls
import contest.leaderboard.urls
import contest.messages.urls
import contest.money.urls
import contest.policy.urls
import contest.record.urls
import contest.scoring_queue.urls
import contest.stakes.urls
import contest.teams.urls
import contest.what_if.urls
from contest import api, health, views
from contest.api_docs import api_docs
from contest.front.views import home

urlpatterns = [
    path("", home, name="home"),
    path("organizer/", views.overview, name="overview"),
    path("organizer/now/", views.overview_now, name="overview-now"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/docs/", api_docs, name="api-docs"),
    *contest.attacks.urls.urlpatterns,
    *contest.audit.urls.urlpatterns,
    *contest.awards.urls.urlpatterns,
    *contest.board.team_urls.urlpatterns,
    *contest.board.urls.urlpatterns,
    *contest.cockpit.urls.urlpatterns,
    *contest.defenses.urls.urlpatterns,
    *contest.front.urls.urlpatterns,
    *contest.leaderboard.urls.urlpatterns,
    *contest.record.urls.urlpatterns,
    *contest.messages.urls.urlpatterns,
    *contest.money.urls.urlpatterns,
    *contest.policy.urls.urlpatterns,
    *contest.scoring_queue.urls.urlpatterns,
    *contest.stakes.urls.urlpatterns,
    *contest.teams.urls.urlpatterns,
    *contest.what_if.urls.urlpatterns,
]
api_urlpatterns = [
    path("token/", api.Token.as_view(), name="token"),
    path("me/", api.Me.as_view(), name="me"),
    *contest.leaderboard.urls.api_urlpatterns,
    *contest.record.urls.api_urlpatterns,
    *contest.attacks.urls.api_urlpatterns,
    *contest.board.team_urls.api_urlpatterns,
    *contest.board.urls.api_urlpatterns,
    *contest.stakes.urls.api_urlpatterns,
    *contest.policy.urls.api_urlpatterns,
]
