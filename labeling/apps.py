"""The Django app."""

from django.apps import AppConfig


class LabelingConfig(AppConfig):
    """Tables are `labeling_*`."""

    name = "labeling"
    default_auto_field = "django.db.models.BigAutoField"
