"""Template filters for amounts of money."""

from django import template

from common.times import hours_span
from contest.ledger.amounts import money

register = template.Library()
register.filter("money", money)
register.filter("hours_span", hours_span)
