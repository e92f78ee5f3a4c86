"""The Django app."""

from django.apps import AppConfig


class ContestConfig(AppConfig):
    """Tables are `contest_*`."""

    name = "contest"
    default_auto_field = "django.db.models.BigAutoField"
