"""What is told to whoever stands above."""

from django.dispatch import Signal

# A hint that nobody may rely on: something may be ready sooner than the next sweep. Sent inside the transaction that
# filled the panel, with `panel_id`.
panel_full = Signal()
