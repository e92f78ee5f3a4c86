"""The Django app."""

from django.apps import AppConfig


class ContestConfig(AppConfig):
    """Tables are `contest_*`."""

    name = "contest"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say below which pictures are public, so that the trials of defenses show no others where logs are kept."""
        from contest.publishing import published_images
        from scoring.trials.published import published_are

        published_are(published_images)
