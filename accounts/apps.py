"""Django app configuration of accounts."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class AccountsConfig(AppConfig):
    """Connects signal receivers when the app is loaded."""

    name = "accounts"

    def ready(self) -> None:
        """Connect the receiver that records the device in every new session."""
        from accounts.session_store import remember_device

        user_logged_in.connect(remember_device)
