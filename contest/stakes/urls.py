"""The pages and calls of entries and stakes."""

from django.urls import URLPattern, path

from contest.stakes import api, board_views, organizer_views, team_views

urlpatterns: list[URLPattern] = [
    path("team/defenses/", team_views.defenses, name="team-defenses"),
    path("team/defenses/new/", team_views.defense_new, name="team-defense-new"),
    path("team/defenses/<str:public_id>/", team_views.defense, name="team-defense"),
    path("team/defenses/<str:public_id>/source/", team_views.defense_open, name="team-defense-open"),
    path("team/defenses/<str:public_id>/<slug:name>/", team_views.defense_do, name="team-defense-do"),
    path("board/stakes/", board_views.stakes, name="board-stakes"),
    path("organizer/stakes/", organizer_views.stakes, name="organizer-stakes"),
]
api_urlpatterns: list[URLPattern] = [path("defenses/", api.Defenses.as_view(), name="api-defenses")]
