"""The Django app of accounts."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class AccountsConfig(AppConfig):
    """Named so that its signal has a receiver once the app is loaded."""

    name = "accounts"

    def ready(self) -> None:
        """Have every new session remember its device."""
        from accounts.session_store import remember_device

        user_logged_in.connect(remember_device)
