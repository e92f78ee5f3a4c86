"""URLs of the review board's pages."""

from django.urls import URLPattern, path

from contest.pages.board import (
    award_views,
    case_views,
    conflict_views,
    decision_views,
    disclosure_views,
    examination_views,
    framework_views,
    grant_views,
    stake_views,
    withholding_views,
)

urlpatterns: list[URLPattern] = [
    path("board/awards/", award_views.awards, name="awards"),
    path("board/awards/<int:number>/", award_views.award, name="award"),
    path("board/examinations/<str:public_id>/", examination_views.examination, name="board-examination"),
    path("board/", case_views.case_list, name="board-cases"),
    path("board/cases/<str:public_id>/", case_views.case_page, name="board-case"),
    path("board/cases/<str:public_id>/disclose/", disclosure_views.case_disclose, name="board-case-disclose"),
    path("board/cases/<str:public_id>/vote/", case_views.case_vote, name="board-case-vote"),
    path("board/cases/<str:public_id>/decide/", decision_views.case_decision, name="board-case-decide"),
    path("board/cases/<str:public_id>/drop/", case_views.case_drop, name="board-case-drop"),
    path("board/conflicts/", conflict_views.conflicts, name="board-conflicts"),
    path("organizer/conflicts/", conflict_views.organizer_conflicts, name="organizer-conflicts"),
    path("board/frameworks/", framework_views.frameworks, name="frameworks"),
    path("organizer/defenses/<str:public_id>/framework/", framework_views.framework, name="framework"),
    path("organizer/defenses/<str:public_id>/source.zip", framework_views.framework_source, name="framework-source"),
    path("board/withheld/", withholding_views.board_withheld, name="board-withheld"),
    path("board/stakes/", stake_views.stakes, name="board-stakes"),
    path("board/grants/", grant_views.grants, name="board-grants"),
]
