"""Django signal to apps that depend on labeling: a panel is full."""

from django.dispatch import Signal

# Only a hint to rule before the next sweep; receivers must not rely on it. Sent inside the transaction that filled the
# panel, with `panel_id`.
panel_full = Signal()
