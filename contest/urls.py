"""The pages and calls of the contest."""

from contest.api import urls as api
from contest.pages.account import urls as account
from contest.pages.board import urls as board
from contest.pages.organizer import urls as organizer
from contest.pages.public import urls as public
from contest.pages.team import urls as team

urlpatterns = [
    *account.urlpatterns,
    *team.urlpatterns,
    *board.urlpatterns,
    *organizer.urlpatterns,
    *api.urlpatterns,
    # Last: `attacks/<ID>/` is anybody's page, and `attacks/send/` is none of an attack.
    *public.urlpatterns,
]
api_urlpatterns = api.api_urlpatterns
