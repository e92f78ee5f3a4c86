"""Signals for apps that keep data of an account. Receivers run in the sender's transaction."""

from django.dispatch import Signal

# An invitation to label was accepted, with `user`, `language`, `now` and `rng`.
tasker_invited = Signal()
# An account is about to be deleted, with `user` and `now`: whoever keeps something of the person forgets it. A receiver
# returns what the audit trail calls the person from now on, or None.
account_leaving = Signal()
