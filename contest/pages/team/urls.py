"""URLs of teams' pages, of registration and of joining a team."""

from django.urls import URLPattern, path

from contest.pages.team import appeal_views, attack_views, defense_views, join_views, money_views, team_views

urlpatterns: list[URLPattern] = [
    path("attacks/", attack_views.attacks, name="attacks"),
    path("attacks/send/", attack_views.send, name="attacks-send"),
    path("attacks/<str:public_id>/withdraw/", attack_views.withdraw, name="attack-withdraw"),
    path("appeals/", appeal_views.appeals_list, name="appeals"),
    path("appeals/new/<str:image_id>/", appeal_views.appeal_new, name="appeal-new"),
    path("appeals/case/<str:public_id>/", appeal_views.appeal_case, name="appeal-case"),
    path("appeals/<str:public_id>/", appeal_views.appeal, name="appeal"),
    path("team/money/", money_views.team_money, name="team-money"),
    path("team/defenses/", defense_views.defenses, name="team-defenses"),
    path("team/defenses/new/", defense_views.defense_new, name="team-defense-new"),
    path("team/defenses/pieces/<slug:field>/<slug:file>/", defense_views.defense_piece, name="team-defense-piece"),
    path("team/defenses/<str:public_id>/", defense_views.defense, name="team-defense"),
    path("team/defenses/<str:public_id>/source/", defense_views.defense_open, name="team-defense-open"),
    path("team/defenses/<str:public_id>/<slug:name>/", defense_views.defense_do, name="team-defense-do"),
    path("register/", join_views.register, name="register"),
    path("register/<str:token>/", join_views.register_confirm, name="register-confirm"),
    path("team/", team_views.team_page, name="team"),
    path("team/join/<str:token>/", join_views.team_join, name="team-join"),
]
