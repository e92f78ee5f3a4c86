"""What is told to whoever keeps something of an account. Each receiver acts in the transaction of the sender."""

from django.dispatch import Signal

# An invitation to label was accepted, with `user`, `language`, `now` and `rng`.
tasker_invited = Signal()
# An account is about to be deleted, with `user` and `now`: whoever keeps something of the person forgets it. A receiver
# returns what the audit trail calls the person from now on, or None.
account_leaving = Signal()
