"""Django app configuration of adjudication: connects labeling's signal that a panel is full."""

from typing import Any

from django.apps import AppConfig


class AdjudicationConfig(AppConfig):
    """Tables are `adjudication_*`."""

    name = "adjudication"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Rule at once when a panel is full; if the signal or its job is lost, the next sweep does it."""
        from labeling.signals import panel_full

        panel_full.connect(_rule_soon, dispatch_uid="adjudication.rule_soon")


def _rule_soon(*, panel_id: int, **_: Any) -> None:
    from adjudication.tasks import settle_panel
    from common.queues import hint

    hint(settle_panel, panel_id=panel_id)
