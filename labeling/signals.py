"""Hints to whoever stands above: something may be ready sooner than the next sweep. Nobody may rely on them."""

from django.dispatch import Signal

# Sent inside the transaction that filled the panel, with `panel_id`.
panel_full = Signal()
