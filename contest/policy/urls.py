"""The addresses of the policy."""

from django.urls import URLPattern, path

from contest.policy import api, public_views, views

urlpatterns: list[URLPattern] = [
    path("organizer/policy/", views.policy, name="policy"),
    path("organizer/policy/new/", views.policy_new, name="policy-new"),
    path("rules/versions/<int:number>/", public_views.policy_version, name="policy-version"),
]
api_urlpatterns: list[URLPattern] = [
    path("policies/", api.Policies.as_view(), name="api-policies"),
]
