"""The Django app of scoring: defenses, their runs and their predictions."""

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    """Tables are `scoring_*`."""

    name = "scoring"
    default_auto_field = "django.db.models.BigAutoField"
