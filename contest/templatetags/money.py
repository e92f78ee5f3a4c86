"""How pages write money."""

from django import template

from contest.money.words import money

register = template.Library()
register.filter("money", money)
