"""The pages of a tasker's own work."""

from django.urls import URLPattern, path

from labeling.my_work import views

urlpatterns: list[URLPattern] = [
    path("my-work/", views.my_work, name="my-work"),
    path("my-work/download/", views.my_download, name="my-download"),
    path("my-work/checks/", views.my_checks, name="my-checks"),
    path("my-work/<uuid:assignment_id>/", views.my_answer, name="my-answer"),
    path(".well-known/unanimous-signing-keys.json", views.signing_keys, name="signing-keys"),
]
api_urlpatterns: list[URLPattern] = []
