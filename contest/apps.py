"""The Django app."""

from django.apps import AppConfig


class ContestConfig(AppConfig):
    """Tables are `contest_*`."""

    name = "contest"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say below which pictures are public, which are attacks and which programs the demo knows; hear of accounts
        that are deleted, and of policies that are recorded."""
        from django.db.models.signals import pre_save

        from accounts.signals import account_leaving
        from contest.core.embargo import pictures_of_public_attacks
        from contest.core.publication import published_images
        from contest.demo.trusted_runner import known_runner
        from contest.ledger.currency_lock import currency_keep
        from contest.teams.services import account_forget
        from policy.models import PolicyVersion
        from scoring.trials.published import register_published
        from scoring.trusted_programs import register_trusted_programs

        register_published(published_images, pictures_of_public_attacks)
        register_trusted_programs(known_runner)
        account_leaving.connect(account_forget)
        pre_save.connect(currency_keep, sender=PolicyVersion)
