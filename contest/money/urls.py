"""The pages of money."""

from django.urls import URLPattern, path

from contest.money import board_views, correction_views, organizer_views, views
from contest.money.team_views import team_money

urlpatterns: list[URLPattern] = [
    path("money/", views.money, name="money"),
    path("team/money/", team_money, name="team-money"),
    path("organizer/money/", organizer_views.organizer_money, name="organizer-money"),
    path("organizer/money/payables.csv", organizer_views.payables_csv, name="payables-csv"),
    path("organizer/money/receipts.csv", organizer_views.receipts_csv, name="receipts-csv"),
    path("organizer/money/ask/<str:public_id>/", organizer_views.payment_new, name="payment-new"),
    path("organizer/money/payments/<int:number>/", organizer_views.payment, name="payment"),
    path("organizer/money/corrections/", correction_views.corrections, name="corrections"),
    path("organizer/money/corrections/<int:number>/", correction_views.correction, name="correction"),
    path("board/withheld/", board_views.board_withheld, name="board-withheld"),
]
api_urlpatterns: list[URLPattern] = []
