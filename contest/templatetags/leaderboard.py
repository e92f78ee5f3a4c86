"""Template filters of the leaderboard and the front page."""

import re
from datetime import datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from contest.core.enums import DefenseStanding
from contest.defenses.stake_rows import LOOKS
from contest.ledger.amounts import money
from contest.record.leaderboard.rows import DefenseRank

register = template.Library()
register.filter("money", money)
_WITH_ADDRESS = re.compile(r"(.+?),? +(https?://\S+)")


@register.filter
def state_look(state: DefenseStanding) -> str:
    """Return the class of a state's colour and shape."""
    return LOOKS[state]


@register.filter
def is_over(row: DefenseRank, at: datetime) -> bool:
    """Say whether the time of a row's stake was over at `at`, so that a picture sent then wins nothing of it."""
    return row.is_over(at)


@register.filter
def licence(text: str) -> SafeString | str:
    """Return the name of a licence, as a link where its address is given behind it."""
    found = _WITH_ADDRESS.fullmatch(text)
    return format_html('<a href="{}">{}</a>', found[2], found[1]) if found else text
