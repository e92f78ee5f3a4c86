"""URLs of the API."""

from django.urls import URLPattern, path
from drf_spectacular.views import SpectacularAPIView

from contest.api import (
    account_calls,
    appeal_calls,
    attack_calls,
    decision_calls,
    defense_calls,
    docs,
    index_call,
    leaderboard_calls,
    picture_calls,
    picture_list_call,
    policy_calls,
    release_calls,
)

urlpatterns: list[URLPattern] = [
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/docs/", docs.api_docs, name="api-docs"),
    path("api/unanimous_client.py", docs.client, name="api-client"),
]
api_urlpatterns: list[URLPattern] = [
    path("", index_call.Index.as_view(), name="api-index"),
    path("token/", account_calls.Token.as_view(), name="token"),
    path("me/", account_calls.Me.as_view(), name="me"),
    path("attacks/", attack_calls.Attacks.as_view(), name="api-attacks"),
    path("appeals/", appeal_calls.Appeals.as_view(), name="api-appeals"),
    path("appeals/<str:public_id>/decisions/", decision_calls.Decisions.as_view(), name="api-appeal-decisions"),
    path("leaderboard/", leaderboard_calls.LeaderboardCall.as_view(), name="api-leaderboard"),
    path("policies/", policy_calls.Policies.as_view(), name="api-policies"),
    path("releases/", release_calls.Releases.as_view(), name="api-releases"),
    path("releases/<str:week>/", release_calls.ReleaseOfWeek.as_view(), name="api-release"),
    path("images/", picture_list_call.ImagesCall.as_view(), name="api-images"),
    path("images/<str:image_id>/", picture_calls.ImageCall.as_view(), name="api-image"),
    path("rulings/", picture_calls.RulingsCall.as_view(), name="api-rulings"),
    path("defenses/", defense_calls.Defenses.as_view(), name="api-defenses"),
]
