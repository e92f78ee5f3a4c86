"""The pages and calls of learning."""

from django.urls import URLPattern, path

from labeling.learning import api, organizer_views, views

urlpatterns: list[URLPattern] = [
    path("learn/", views.learn, name="learn"),
    path("learn/<int:number>/", views.lesson, name="lesson"),
    path("qualification/", views.qualification, name="qualification"),
    path("qualification/picture/", views.picture, name="qualification-picture"),
    path("qualification/marks/<uuid:item_id>/", views.marks, name="qualification-marks"),
    path("qualification/tries/<int:number>/", views.attempt, name="qualification-try"),
    path("organizer/learning/", organizer_views.learning, name="organizer-learning"),
]
api_urlpatterns: list[URLPattern] = [
    path("qualification/next/", api.QualificationNext.as_view(), name="qualification-next"),
    path(
        "qualification/<uuid:item_id>/heartbeat/",
        api.QualificationHeartbeat.as_view(),
        name="qualification-heartbeat",
    ),
    path("qualification/<uuid:item_id>/release/", api.QualificationRelease.as_view(), name="qualification-release"),
    path("qualification/<uuid:item_id>/response/", api.QualificationResponse.as_view(), name="qualification-response"),
]
