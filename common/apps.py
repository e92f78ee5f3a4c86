"""The Django app that holds sessions and tokens."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class CommonConfig(AppConfig):
    """Named so that its tables are `common_*`."""

    name = "common"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have every new session remember its device."""
        from common.sessions import remember_device

        user_logged_in.connect(remember_device)
