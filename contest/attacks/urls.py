"""The pages and calls of attacks."""

from django.urls import URLPattern, path

from contest.attacks import api, organizer_views, views
from contest.attacks.public_views import attack, week

urlpatterns: list[URLPattern] = [
    path("attacks/", views.attacks, name="attacks"),
    path("attacks/send/", views.send, name="attacks-send"),
    path("attacks/weeks/<str:name>/", week, name="attacks-of-week"),
    path("attacks/<str:public_id>/", attack, name="attack"),
    path("attacks/<str:public_id>/withdraw/", views.withdraw, name="attack-withdraw"),
    path("organizer/attacks/", organizer_views.all_attacks, name="organizer-attacks"),
    path("organizer/near-duplicates/", organizer_views.near_duplicates, name="near-duplicates"),
]
api_urlpatterns: list[URLPattern] = [path("attacks/", api.Attacks.as_view(), name="api-attacks")]
