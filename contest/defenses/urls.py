"""The pages of defenses."""

from django.urls import URLPattern, path

from contest.defenses import framework_views, trial_views, views

urlpatterns: list[URLPattern] = [
    path("defenses/", views.defense_list, name="defenses"),
    path("defenses/<str:public_id>/", views.defense_page, name="defense"),
    path("defenses/<str:public_id>/risk-coverage.csv", views.risk_coverage_csv, name="risk-coverage-csv"),
    path("defenses/<str:public_id>/<str:name>", views.defense_file, name="defense-file"),
    path("board/frameworks/", framework_views.frameworks, name="frameworks"),
    path("organizer/defenses/<str:public_id>/trial/", trial_views.trial_new, name="trial-new"),
    path("organizer/defenses/<str:public_id>/framework/", framework_views.framework, name="framework"),
    path("organizer/defenses/<str:public_id>/source.zip", framework_views.framework_source, name="framework-source"),
]
