"""The Django app."""

from django.apps import AppConfig


class ContestConfig(AppConfig):
    """Tables are `contest_*`."""

    name = "contest"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say below which pictures are public, for the logs of trials; hear of accounts that are deleted."""
        from contest.publishing import published_images
        from contest.teams.leaving import account_forget
        from labeling.signals import account_leaving
        from scoring.trials.published import published_are

        published_are(published_images)
        account_leaving.connect(account_forget)
