"""The Django app of what belongs to no other."""

from django.apps import AppConfig
from django.db.models.signals import pre_migrate


class CommonConfig(AppConfig):
    """Named so that its tables are `common_*`."""

    name = "common"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have nothing migrate a database whose tables are laid out otherwise."""
        from common.database.pending_migrations import refuse_former_tables

        pre_migrate.connect(refuse_former_tables, sender=self)
