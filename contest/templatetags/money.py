"""How pages write money."""

from django import template

from contest.money.words import money
from contest.stakes.shown import hours_span

register = template.Library()
register.filter("money", money)
register.filter("hours_span", hours_span)
