"""The pages, files, feeds and calls of the record."""

from django.urls import URLPattern, path
from django.views.generic import RedirectView

from contest.record import (
    api,
    feeds,
    mail_views,
    organizer_views,
    overrule_views,
    picture_api,
    picture_views,
    search_views,
    views,
)

urlpatterns: list[URLPattern] = [
    path("releases/", views.release_list, name="releases"),
    path("releases/mail/", mail_views.ask, name="release-mail"),
    path("releases/mail/confirm/<str:token>/", mail_views.confirm, name="release-mail-confirm"),
    path("releases/mail/end/<str:key>/", mail_views.end, name="release-mail-end"),
    path("releases/<str:name>.zip", views.release_zip, name="release-zip"),
    path("releases/<str:name>/", views.release_page, name="release"),
    path("releases/<str:name>/<path:path>", views.release_file, name="release-part"),
    path("weeks/<str:name>/", views.week_page, name="week"),
    path("record/", RedirectView.as_view(pattern_name="search"), name="record"),
    path("record/<str:public_id>/", picture_views.picture_record, name="picture-record"),
    path("overrules/", overrule_views.overrules, name="overrules"),
    path("overrules.csv", overrule_views.overrules_csv, name="overrules-csv"),
    path("search/", search_views.search, name="search"),
    path("feeds/overrules.atom", feeds.decisions_atom, name="overrules-atom"),
    path("feeds/overrules.json", feeds.decisions_json, name="overrules-json"),
    path("feeds/releases.atom", feeds.atom, name="releases-atom"),
    path("feeds/releases.json", feeds.json_feed, name="releases-json"),
    path("organizer/releases/", organizer_views.releases, name="organizer-releases"),
    path("organizer/releases/now/", organizer_views.releases_now, name="organizer-releases-now"),
    path("organizer/releases/<str:name>/", organizer_views.build, name="organizer-release-build"),
]
api_urlpatterns: list[URLPattern] = [
    path("releases/", api.Releases.as_view(), name="api-releases"),
    path("releases/<str:week>/", api.ReleaseOfWeek.as_view(), name="api-release"),
    path("images/<str:image_id>/", picture_api.ImageCall.as_view(), name="api-image"),
    path("rulings/", picture_api.RulingsCall.as_view(), name="api-rulings"),
]
