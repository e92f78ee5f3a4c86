"""URL patterns of the contest's pages and API."""

from contest.api import urls as api_urls
from contest.pages.account import urls as account_urls
from contest.pages.board import urls as board_urls
from contest.pages.organizer import urls as organizer_urls
from contest.pages.public import urls as public_urls
from contest.pages.team import urls as team_urls

urlpatterns = [
    *account_urls.urlpatterns,
    *team_urls.urlpatterns,
    *board_urls.urlpatterns,
    *organizer_urls.urlpatterns,
    *api_urls.urlpatterns,
    # Last: `attacks/<ID>/` of the public pages also matches `attacks/send/`, a page of teams.
    *public_urls.urlpatterns,
]
api_urlpatterns = api_urls.api_urlpatterns
