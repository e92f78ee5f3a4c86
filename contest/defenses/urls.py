"""The pages of defenses."""

from django.urls import URLPattern, path

from contest.defenses import views

urlpatterns: list[URLPattern] = [
    path("defenses/", views.defense_list, name="defenses"),
    path("defenses/<str:public_id>/", views.defense_page, name="defense"),
    path("defenses/<str:public_id>/risk-coverage.csv", views.risk_coverage_csv, name="risk-coverage-csv"),
]
