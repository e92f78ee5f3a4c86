"""The pages of monitoring."""

from django.urls import URLPattern, path

from monitoring.pages import gold_views, paused_views, rule_views, tasker_views

urlpatterns: list[URLPattern] = [
    path("paused/", paused_views.paused, name="paused"),
    path("organizer/taskers/", tasker_views.tasker_list, name="organizer-taskers"),
    path("organizer/taskers.csv", tasker_views.tasker_list_csv, name="organizer-taskers-csv"),
    path("organizer/taskers/<str:public_id>/", tasker_views.tasker_detail, name="organizer-tasker"),
    path("organizer/taskers/<str:public_id>/settled/", tasker_views.settled_answers, name="tasker-settled"),
    path("organizer/taskers/<str:public_id>/<slug:name>/", tasker_views.tasker_action, name="tasker-action"),
    path("organizer/links/<int:link_id>/", tasker_views.link_end, name="link-end"),
    path("organizer/watching/", rule_views.watching, name="watching"),
    path("organizer/gold/", gold_views.gold_list, name="gold"),
    path("organizer/gold/candidates/", gold_views.gold_candidates, name="gold-candidates"),
    path("organizer/gold/new/<str:image_id>/", gold_views.gold_new, name="gold-new"),
    path("organizer/gold/<uuid:public_id>/", gold_views.gold_change, name="gold-change"),
]
