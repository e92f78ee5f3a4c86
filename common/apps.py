"""The Django app of shared models and commands."""

from django.apps import AppConfig


class CommonConfig(AppConfig):
    """Named so that its tables are `common_*`."""

    name = "common"
    default_auto_field = "django.db.models.BigAutoField"
