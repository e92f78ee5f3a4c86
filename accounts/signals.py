"""Django signals to apps that store data about an account. Receivers run in the sender's transaction."""

from django.dispatch import Signal

# An invitation to label was accepted, with `user`, `language`, `now` and `rng`.
tasker_invited = Signal()
# An account is about to be deleted, with `user` and `now`: receivers delete what they store about the person. A
# receiver returns the name by which the audit trail refers to the person from now on, or None.
account_leaving = Signal()
