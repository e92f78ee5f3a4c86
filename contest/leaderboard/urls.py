"""The pages and the call of the leaderboard."""

from django.urls import URLPattern, path

from contest.leaderboard import api, views

urlpatterns: list[URLPattern] = [
    path("leaderboard/", views.leaderboard, name="leaderboard"),
    path("leaderboard.csv", views.leaderboard_csv, name="leaderboard-csv"),
    path("organizer/leaderboard/", views.leaderboard_check, name="leaderboard-check"),
]
api_urlpatterns: list[URLPattern] = [
    path("leaderboard/", api.LeaderboardCall.as_view(), name="api-leaderboard"),
]
