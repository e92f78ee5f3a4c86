"""The Django app."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    """Who labels with care: gold, agreement, copying, pauses (R6)."""

    name = "monitoring"
