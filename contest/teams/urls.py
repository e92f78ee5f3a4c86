"""The pages of teams: a team's own, what everybody sees, the organizers' and the board's."""

from django.urls import URLPattern, path

from contest.teams import board_views, join_views, organizer_views, public_views, views

urlpatterns: list[URLPattern] = [
    path("register/", join_views.register, name="register"),
    path("register/<str:token>/", join_views.register_confirm, name="register-confirm"),
    path("team/", views.team_page, name="team"),
    path("team/join/<str:token>/", join_views.team_join, name="team-join"),
    path("teams/<str:public_id>/", public_views.team_public, name="team-public"),
    path("organizer/teams/", organizer_views.teams, name="organizer-teams"),
    path("organizer/teams/same-person/", organizer_views.same_person, name="same-person"),
    path("organizer/teams/requests/<int:number>/", organizer_views.entitlement, name="organizer-entitlement"),
    path("organizer/teams/<str:public_id>/", organizer_views.team, name="organizer-team"),
    path("board/grants/", board_views.grants, name="board-grants"),
]
api_urlpatterns: list[URLPattern] = []
