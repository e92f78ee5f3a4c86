"""The pages and calls of the review board."""

from django.urls import URLPattern, path

from contest.board import conflict_views, decisions_api, views

urlpatterns: list[URLPattern] = [
    path("board/", views.case_list, name="board-cases"),
    path("board/cases/<str:public_id>/", views.case_page, name="board-case"),
    path("board/cases/<str:public_id>/disclose/", views.case_disclose, name="board-case-disclose"),
    path("board/cases/<str:public_id>/vote/", views.case_vote, name="board-case-vote"),
    path("board/cases/<str:public_id>/decide/", views.case_decision, name="board-case-decide"),
    path("board/cases/<str:public_id>/drop/", views.case_drop, name="board-case-drop"),
    path("board/conflicts/", conflict_views.conflicts, name="board-conflicts"),
    path("organizer/conflicts/", conflict_views.organizer_conflicts, name="organizer-conflicts"),
]
api_urlpatterns: list[URLPattern] = [
    path("appeals/<str:public_id>/decisions/", decisions_api.Decisions.as_view(), name="api-appeal-decisions"),
]
