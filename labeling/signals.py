"""Signals to apps above labeling."""

from django.dispatch import Signal

# A hint that nobody may rely on: something may be ready sooner than the next sweep. Sent inside the transaction that
# filled the panel, with `panel_id`.
panel_full = Signal()
