"""Root URLs."""

from django.urls import URLPattern, URLResolver, include, path

import accounts.pages.urls
import contest.urls
import labeling.pages.urls
import monitoring.pages.urls

# Patterns are tried in order, so the calls made for every label come before some 370 others.
api_urlpatterns = [*labeling.pages.urls.api_urlpatterns, *contest.urls.api_urlpatterns]
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include(api_urlpatterns)),
    path("", include(accounts.pages.urls)),
    path("", include(labeling.pages.urls)),
    path("", include(monitoring.pages.urls)),
    path("", include(contest.urls)),
]
handler400 = "config.pages.bad_request"
handler403 = "config.pages.permission_denied"
handler404 = "config.pages.not_found"
handler500 = "config.pages.server_error"
