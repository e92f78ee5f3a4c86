"""The pages of awards."""

from django.urls import URLPattern, path

from contest.awards import sweep_views, views

urlpatterns: list[URLPattern] = [
    path("board/awards/", views.awards, name="awards"),
    path("board/awards/<int:number>/", views.award, name="award"),
    path("board/examinations/<str:public_id>/", sweep_views.examination, name="board-examination"),
]
api_urlpatterns: list[URLPattern] = []
