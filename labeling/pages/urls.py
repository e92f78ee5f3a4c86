"""URLs of labeling."""

from django.urls import path

from labeling.pages import (
    assignment_calls,
    label_views,
    learning_calls,
    learning_organizer_views,
    learning_views,
    my_work_views,
    picture_views,
    preference_calls,
    question_views,
)

urlpatterns = [
    path("label/", label_views.label, name="label"),
    path("label/instructions/", label_views.instructions, name="instructions"),
    path("label/instructions/news/", label_views.instructions_news, name="instructions-news"),
    path("pictures/<str:token>.png", picture_views.picture, name="picture"),
    path("questions/", question_views.questions, name="questions"),
    path("organizer/questions/", question_views.organizer_questions, name="organizer-questions"),
    path("organizer/reports/", question_views.reports, name="reports"),
    path("learn/", learning_views.learn, name="learn"),
    path("learn/<int:number>/", learning_views.lesson, name="lesson"),
    path("qualification/", learning_views.qualification, name="qualification"),
    path("qualification/picture/", learning_views.picture, name="qualification-picture"),
    path("qualification/marks/<uuid:item_id>/", learning_views.marks, name="qualification-marks"),
    path("qualification/tries/<int:number>/", learning_views.attempt, name="qualification-try"),
    path("organizer/learning/", learning_organizer_views.learning, name="organizer-learning"),
    path("my-work/", my_work_views.my_work, name="my-work"),
    path("my-work/download/", my_work_views.my_download, name="my-download"),
    path("my-work/checks/", my_work_views.my_checks, name="my-checks"),
    path("my-work/<uuid:assignment_id>/", my_work_views.my_answer, name="my-answer"),
    path(".well-known/unanimous-signing-keys.json", my_work_views.signing_keys, name="signing-keys"),
]
api_urlpatterns = [
    path("assignments/next/", assignment_calls.AssignmentNext.as_view(), name="assignment-next"),
    path(
        "assignments/<uuid:assignment_id>/draft/",
        assignment_calls.AssignmentDraft.as_view(),
        name="assignment-draft",
    ),
    path(
        "assignments/<uuid:assignment_id>/heartbeat/",
        assignment_calls.AssignmentHeartbeat.as_view(),
        name="assignment-heartbeat",
    ),
    path(
        "assignments/<uuid:assignment_id>/release/",
        assignment_calls.AssignmentRelease.as_view(),
        name="assignment-release",
    ),
    path(
        "assignments/<uuid:assignment_id>/response/",
        assignment_calls.AssignmentResponse.as_view(),
        name="assignment-response",
    ),
    path("preferences/", preference_calls.Preferences.as_view(), name="preferences"),
    path("notices/", preference_calls.Notices.as_view(), name="notices"),
    path("notices/<uuid:notice_id>/seen/", preference_calls.NoticeSeen.as_view(), name="notice-seen"),
    path("questions/", preference_calls.Questions.as_view(), name="question-ask"),
    path("qualification/next/", learning_calls.QualificationNext.as_view(), name="qualification-next"),
    path(
        "qualification/<uuid:item_id>/heartbeat/",
        learning_calls.QualificationHeartbeat.as_view(),
        name="qualification-heartbeat",
    ),
    path(
        "qualification/<uuid:item_id>/release/",
        learning_calls.QualificationRelease.as_view(),
        name="qualification-release",
    ),
    path(
        "qualification/<uuid:item_id>/response/",
        learning_calls.QualificationResponse.as_view(),
        name="qualification-response",
    ),
]
