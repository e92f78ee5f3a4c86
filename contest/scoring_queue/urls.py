"""The organizers' pages of scoring."""

from django.urls import URLPattern, path

from contest.scoring_queue import rerun_views, views

urlpatterns: list[URLPattern] = [
    path("organizer/scoring/", views.scoring_queue, name="scoring-queue"),
    path("organizer/scoring/now/", views.scoring_queue_now, name="scoring-queue-now"),
    path("organizer/scoring/retry/", views.runs_try_again, name="runs-try-again"),
    path("organizer/scoring/retry-trials/", views.trials_try_again, name="trials-try-again"),
    path("organizer/reruns/new/<str:public_id>/", rerun_views.rerun_new, name="rerun-new"),
    path("organizer/reruns/<int:number>/", rerun_views.rerun_page, name="rerun"),
    path("organizer/reruns/<int:number>/now/", rerun_views.rerun_now, name="rerun-now"),
    path("organizer/reruns/<int:number>/<slug:name>/", rerun_views.rerun_action, name="rerun-action"),
]
