"""The pages and calls of appeals, for teams."""

from django.urls import URLPattern, path

from contest.board import appeals_api, team_views

urlpatterns: list[URLPattern] = [
    path("appeals/", team_views.appeals_list, name="appeals"),
    path("appeals/new/<str:image_id>/", team_views.appeal_new, name="appeal-new"),
    path("appeals/case/<str:public_id>/", team_views.appeal_case, name="appeal-case"),
    path("appeals/<str:public_id>/", team_views.appeal, name="appeal"),
]
api_urlpatterns: list[URLPattern] = [path("appeals/", appeals_api.Appeals.as_view(), name="api-appeals")]
