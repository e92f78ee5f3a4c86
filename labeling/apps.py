"""Django app configuration of labeling."""

from django.apps import AppConfig


class LabelingConfig(AppConfig):
    """Tables are `labeling_*`."""

    name = "labeling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect the receivers of accounts' signals about people who join and leave."""
        from accounts.signals import account_leaving, tasker_invited
        from labeling.taskers import invited_join, tasker_leave

        tasker_invited.connect(invited_join)
        account_leaving.connect(tasker_leave)
