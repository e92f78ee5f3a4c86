"""Django app configuration of monitoring."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    """The app that measures taskers: gold, agreement, copying, pauses (R6)."""

    name = "monitoring"
